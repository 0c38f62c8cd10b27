"""Matrix products: for small and narrow matrices, for AMX, and by BLAS."""
