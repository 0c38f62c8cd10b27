"""Operators of NumPy's functions that ``mx.nd`` of MXNet lacks."""

from . import of_elements
