"""Matrix products: small and skinny ones, those of AMX, BLAS."""
