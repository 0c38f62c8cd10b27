"""Tensor operators: elementwise, broadcasting, reductions, products, shapes, indexing, creation."""

from . import binary, binary_scalar, broadcast, unary
