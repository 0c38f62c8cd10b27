"""Methods of NDArray that are not operators."""

from .numpy_like import NumpyMethods, einsum, matmul
from .shapes import ShapeMethods
from . import common_parameters  # imported last: it completes docstrings

__all__ = ["NumpyMethods", "ShapeMethods", "einsum", "matmul"]
