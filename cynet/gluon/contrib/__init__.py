"""mx.gluon.contrib: layers and helpers beside the main ones."""

from . import nn

__all__ = ["nn"]
