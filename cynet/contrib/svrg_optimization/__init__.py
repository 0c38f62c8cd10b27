"""mx.contrib.svrg_optimization: stochastic gradients of smaller variance."""

from .svrg_module import SVRGModule

__all__ = ["SVRGModule"]
