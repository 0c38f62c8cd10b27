"""Operators with NumPy's semantics of dtypes and shapes, for ``mx.np``."""

from . import reductions, rows, shapes
