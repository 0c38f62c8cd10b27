"""Matrix products: small and narrow ones, those of AMX, BLAS."""
