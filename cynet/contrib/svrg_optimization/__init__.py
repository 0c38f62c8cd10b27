"""mx.contrib.svrg_optimization: stochastic variance reduced gradients (SVRG)."""

from .svrg_module import SVRGModule

__all__ = ["SVRGModule"]
