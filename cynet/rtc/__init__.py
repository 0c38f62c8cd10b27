"""mx.rtc: CUDA kernels as source text in a script; the module itself is callable."""

from .rtc import CudaKernel, CudaModule, Rtc

__all__ = ["CudaKernel", "CudaModule", "Rtc"]
