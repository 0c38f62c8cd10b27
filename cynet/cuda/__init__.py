"""Everything that knows CUDA: the emulator, devices and the project's own kernels."""
