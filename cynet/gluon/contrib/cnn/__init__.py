"""mx.gluon.contrib.cnn: convolutions whose windows are moved by offsets that they learn."""

from . import conv_layers
from .conv_layers import DeformableConvolution, ModulatedDeformableConvolution

__all__ = ["DeformableConvolution", "ModulatedDeformableConvolution", "conv_layers"]
