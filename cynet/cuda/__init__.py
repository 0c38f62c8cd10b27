"""Everything that knows CUDA: kernels, backend for GPUs (docs/architecture/cuda.md)."""
