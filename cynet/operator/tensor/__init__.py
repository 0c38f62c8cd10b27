"""Tensor operators: elementwise, broadcasting, reductions, products, shapes, indexing, creation."""

from . import (
    arg,
    binary,
    binary_scalar,
    broadcast,
    dot,
    joining,
    reduce,
    repeating,
    reshape,
    slicing,
    transpose,
    unary,
)
