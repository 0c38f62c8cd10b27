"""Operators with NumPy's semantics of dtypes and shapes, those of ``mx.np``."""

from . import reductions, rows, shapes
