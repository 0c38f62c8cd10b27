"""Operators that MXNet has in `contrib` and that are of no other family."""

from . import allclose, count_sketch, fft, index_array, index_copy, polynomial
