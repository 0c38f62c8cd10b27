"""Methods of NDArray that are not operators."""

from .numpy_like import NumpyMethods, einsum, matmul
from .shapes import ShapeMethods

__all__ = ["NumpyMethods", "ShapeMethods", "einsum", "matmul"]
