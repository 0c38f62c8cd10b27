"""The team of threads that shares out the loops of kernels."""
