"""Helpers of tests and examples: comparing, checking gradients, data sets."""

from .check import (
    check_consistency,
    check_numeric_gradient,
    check_symbolic_backward,
    check_symbolic_forward,
    list_gpus,
    numeric_grad,
    simple_forward,
)
from .compare import (
    almost_equal,
    assert_almost_equal,
    assert_exception,
    default_context,
    default_dtype,
    get_atol,
    get_rtol,
    get_tols,
    rand_ndarray,
    rand_shape_2d,
    rand_shape_3d,
    rand_shape_nd,
    random_arrays,
    same,
    set_default_context,
)
from .datasets import download, get_mnist, get_mnist_iterator

__all__ = [
    "almost_equal", "assert_almost_equal", "assert_exception", "check_consistency",
    "check_numeric_gradient", "check_symbolic_backward", "check_symbolic_forward",
    "default_context", "default_dtype", "download", "get_atol", "get_mnist", "get_mnist_iterator",
    "get_rtol", "get_tols", "list_gpus", "numeric_grad", "rand_ndarray", "rand_shape_2d",
    "rand_shape_3d", "rand_shape_nd", "random_arrays", "same", "set_default_context",
    "simple_forward",
]
