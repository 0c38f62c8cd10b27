"""CUDA support: kernels, and the backend for GPUs (docs/architecture/cuda.md)."""
