"""Everything that knows CUDA: kernels, emulator, backend for GPUs (docs/architecture/cuda.md)."""
