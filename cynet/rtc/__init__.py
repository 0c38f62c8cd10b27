"""mx.rtc: CUDA kernels written in Python; the module can be called, too."""

from .rtc import CudaKernel, CudaModule, Rtc

__all__ = ["CudaKernel", "CudaModule", "Rtc"]
