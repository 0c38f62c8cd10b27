"""Layers of neural networks."""

from . import activation, convolution, flatten, fully_connected, pooling
