"""Layers of neural networks."""

from . import activation, batch_norm, convolution, flatten, fully_connected, pooling, softmax
