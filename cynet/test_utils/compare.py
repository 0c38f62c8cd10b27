"""Random arrays, and comparison of arrays with tolerances for their dtypes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ndarray as nd
from ..base.dtype import BFLOAT16
from ..base.errors import ArgumentError, ArgumentTypeError, shown
from ..base.kinds import to_index
from ..context import Context, current_context
from ..operator.custom.callback_checks import MAX_NDIM

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..typing import ArrayLike, DTypeLike, NDArray, NumpyArray, Shape

__all__ = ["almost_equal", "assert_almost_equal", "assert_exception", "default_context"]
__all__ += ["default_dtype", "get_atol", "get_rtol", "get_tols", "rand_ndarray", "rand_shape_2d"]
__all__ += ["rand_shape_3d", "rand_shape_nd", "random_arrays", "same", "set_default_context"]

RTOL = {"bfloat16": 8e-2, "float16": 1e-2, "float32": 1e-4, "float64": 1e-5}  # relative tolerances
ATOL = {"bfloat16": 1e-1, "float16": 1e-1, "float32": 1e-3, "float64": 1e-20}  # absolute tolerances


def default_context() -> Context:
    """Return the context that tests run on: the current context.

    Examples
    --------
    >>> with mx.cpu(1):
    ...     mx.test_utils.default_context()
    cpu(1)
    """
    return current_context()


def set_default_context(ctx: Context) -> None:
    """Set the context that tests run on: this thread's default outside of ``with``.

    Parameters
    ----------
    ctx : Context
        The device on which arrays are made from now on.

    Raises
    ------
    ArgumentTypeError
        If it is not a Context.

    Examples
    --------
    >>> mx.test_utils.set_default_context("cpu")
    Traceback (most recent call last):
        ...
    cynet.errors.ArgumentTypeError: set_default_context takes a Context, got 'cpu'
    """
    if not isinstance(ctx, Context):
        raise ArgumentTypeError(f"set_default_context takes a Context, got {shown(ctx)}")
    Context.default_ctx = ctx


def default_dtype() -> type:
    """Return the dtype that tests use: float32.

    Examples
    --------
    >>> mx.test_utils.default_dtype()
    <class 'numpy.float32'>
    """
    return np.float32


def rand_shape_2d(dim0: int = 10, dim1: int = 10, allow_zero_size: bool = False) -> tuple[int, int]:
    """Draw a random shape of two axes from ``numpy.random``.

    Parameters
    ----------
    dim0, dim1 : int
        The largest lengths.

    Examples
    --------
    >>> rows, columns = mx.test_utils.rand_shape_2d(3, 5)
    >>> 1 <= rows <= 3, 1 <= columns <= 5
    (True, True)
    """
    return rand_shape_nd(2, (dim0, dim1), allow_zero_size)


def rand_shape_3d(
    dim0: int = 10, dim1: int = 10, dim2: int = 10, allow_zero_size: bool = False
) -> tuple[int, int, int]:
    """Draw a random shape of three axes from ``numpy.random``.

    Parameters
    ----------
    dim0, dim1, dim2 : int
        The largest lengths.

    Examples
    --------
    >>> shape = mx.test_utils.rand_shape_3d(4, 4, 4)
    >>> len(shape), max(shape) <= 4
    (3, True)
    """
    return rand_shape_nd(3, (dim0, dim1, dim2), allow_zero_size)


def rand_shape_nd(num_dim: int, dim: int = 10, allow_zero_size: bool = False) -> Shape:
    """Draw a random shape from ``numpy.random``.

    Parameters
    ----------
    num_dim : int
        Number of axes, from 0 to 8.
    dim : int or sequence of int
        Largest length, one for all axes or one for each.

    Raises
    ------
    ArgumentError
        If an NDArray has no such number of axes.

    Examples
    --------
    >>> shape = mx.test_utils.rand_shape_nd(4, dim=(2, 3, 4, 5))
    >>> len(shape), all(1 <= n <= most for n, most in zip(shape, (2, 3, 4, 5)))
    (4, True)
    """
    if not 0 <= to_index("rand_shape_nd: num_dim", num_dim) <= MAX_NDIM:
        raise ArgumentError(
            f"rand_shape_nd: num_dim must be from 0 to {MAX_NDIM}, the most axes of an NDArray, "
            f"got {shown(num_dim)}"
        )
    high = np.broadcast_to(dim, num_dim)
    return tuple(int(np.random.randint(0 if allow_zero_size else 1, top + 1)) for top in high)


def random_arrays(*shapes: Shape) -> Any:
    """Draw float32 arrays with normal entries from ``numpy.random``.

    Parameters
    ----------
    *shapes : tuple of int
        Shape of each array.

    Returns
    -------
    numpy.ndarray or list of numpy.ndarray
        The array of a single shape, else a list.

    Examples
    --------
    >>> a, b = mx.test_utils.random_arrays((2, 3), (3,))
    >>> a.shape, b.shape, a.dtype
    ((2, 3), (3,), dtype('float32'))
    """
    arrays = [np.random.randn(*shape).astype(np.float32) for shape in shapes]
    return arrays[0] if len(arrays) == 1 else arrays


def rand_ndarray(
    shape: Shape,
    stype: str = "default",
    density: Any = None,
    dtype: DTypeLike | None = None,
    modifier_func: Callable[..., Any] | None = None,
    shuffle_csr_indices: bool = False,
    distribution: str | None = None,
    ctx: Context | None = None,
) -> NDArray:
    """Draw an NDArray of random entries from -1 to 1 from ``numpy.random``.

    Parameters
    ----------
    shape : tuple of int
        Shape of the array.
    stype : str
        Storage type: ``'default'``, ``'csr'`` or ``'row_sparse'``.
    density, shuffle_csr_indices, distribution
        Of sparse arrays, see `rand_sparse_ndarray`.
    dtype : numpy dtype, optional
        Element type; float32 by default.
    modifier_func : callable, optional
        Applied to the entries first.
    ctx : Context, optional
        Device of the array; by default that of `default_context`.

    Examples
    --------
    >>> drawn = mx.test_utils.rand_ndarray((2, 3), modifier_func=np.abs)
    >>> drawn.shape, bool((drawn >= 0).asnumpy().all())
    ((2, 3), True)
    >>> mx.test_utils.rand_ndarray((4, 5), "csr", density=0.5).stype
    'csr'
    """
    if not isinstance(stype, str) or stype != "default":
        from .sparse import random_sparse_array

        return random_sparse_array(
            shape, stype, density, dtype, modifier_func, shuffle_csr_indices, distribution, ctx
        )
    values = np.random.uniform(-1, 1, shape)
    if modifier_func is not None:
        values = modifier_func(values)
    return nd.array(values, ctx=ctx or default_context(), dtype=dtype or default_dtype())


def to_numpy(array: Any) -> NumpyArray:
    """Convert an NDArray, an array or a number to a NumPy array."""
    return array.asnumpy() if isinstance(array, nd.NDArray) else np.asarray(array)


def _dtype_name(dtype):
    dtype = np.dtype(dtype)
    return "bfloat16" if dtype == BFLOAT16 else dtype.name


def get_rtol(rtol: float | None = None, dtype: Any = np.float64) -> float:
    """Return `rtol`, or the default relative tolerance of a dtype (0 unless it is a float).

    Parameters
    ----------
    rtol : float, optional
        The tolerance; by default that of `dtype`.
    dtype : numpy dtype
        Type that decides by default.

    Examples
    --------
    >>> mx.test_utils.get_rtol(dtype="float32"), mx.test_utils.get_rtol(0.5, "float32")
    (0.0001, 0.5)
    """
    return RTOL.get(_dtype_name(dtype), 0) if rtol is None else rtol


def get_atol(atol: float | None = None, dtype: Any = np.float64) -> float:
    """Return `atol`, or the default absolute tolerance of a dtype (0 unless it is a float).

    Parameters
    ----------
    atol : float, optional
        The tolerance; by default that of `dtype`.
    dtype : numpy dtype
        Type that decides by default.

    Examples
    --------
    >>> mx.test_utils.get_atol(dtype="float16"), mx.test_utils.get_atol(dtype="int32")
    (0.1, 0)
    """
    return ATOL.get(_dtype_name(dtype), 0) if atol is None else atol


def get_tols(
    x: Any, y: Any, rtol: float | None = None, atol: float | None = None
) -> tuple[float, float]:
    """Return (rtol, atol) for the less precise dtype of two arrays.

    Parameters
    ----------
    x, y : array_like
        The arrays.
    rtol, atol : float, optional
        Tolerances; those that are given are returned as they are.

    Examples
    --------
    >>> mx.test_utils.get_tols(np.ones(2, "float64"), mx.nd.ones((2,), dtype="float16"))
    (0.01, 0.1)
    """
    dtypes = [getattr(each, "dtype", None) or np.asarray(each).dtype for each in (x, y)]
    return (
        max(get_rtol(rtol, dtype) for dtype in dtypes),
        max(get_atol(atol, dtype) for dtype in dtypes),
    )


def same(a: ArrayLike, b: ArrayLike) -> bool:
    """Return whether two arrays are equal in shape and every entry.

    Parameters
    ----------
    a, b : NDArray or array_like
        The arrays.

    Examples
    --------
    >>> mx.test_utils.same(mx.nd.ones((2,)), np.ones(2)), mx.test_utils.same([1, 2], [1, 3])
    (True, False)
    """
    return np.array_equal(to_numpy(a), to_numpy(b))


def almost_equal(
    a: ArrayLike,
    b: ArrayLike,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    use_broadcast: bool = True,
) -> bool:
    """Return whether two arrays are equal within tolerances.

    Parameters
    ----------
    a, b : NDArray or array_like
        What was found, what was expected.
    rtol, atol : float, optional
        Entries may differ by ``atol + rtol * abs(b)``; by default as the dtype allows: 1e-4 and
        1e-3 for float32.

    Examples
    --------
    >>> a = mx.nd.array([1, 2])
    >>> mx.test_utils.almost_equal(a, [1.0005, 2]), mx.test_utils.almost_equal(a, [1.1, 2])
    (True, False)
    """
    rtol, atol = get_tols(a, b, rtol, atol)
    a, b = to_numpy(a), to_numpy(b)
    if not use_broadcast and a.shape != b.shape:
        return False
    return np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)


def assert_almost_equal(
    a: ArrayLike,
    b: ArrayLike,
    rtol: float | None = None,
    atol: float | None = None,
    names: tuple[str, str] = ("a", "b"),
    equal_nan: bool = False,
    use_broadcast: bool = True,
    mismatches: tuple[int, int] = (10, 10),
) -> None:
    """Raise AssertionError, with the worst entries, unless two arrays are equal within tolerances.

    Parameters
    ----------
    a, b : NDArray, numpy.ndarray or number
        What was found, what was expected.
    rtol, atol : float, optional
        Entries may differ by ``atol + rtol * abs(b)``; by default as the dtype allows: 1e-4 and
        1e-3 for float32.

    Raises
    ------
    AssertionError
        If they are not; the message has the places that are furthest off.

    Examples
    --------
    >>> from cynet.test_utils import assert_almost_equal
    >>> assert_almost_equal(mx.nd.array([1, 2]), np.array([1, 2.0001]))
    >>> assert_almost_equal(np.float32([1, 2, 4]), np.float32([1, 3, 4]), names=("found", "due"))
    Traceback (most recent call last):
        ...
    AssertionError: found and due differ in 1 of 3 entries (rtol=0.0001, atol=0.001):
      at (1,): found=np.float32(2.0), due=np.float32(3.0), 769 times the tolerance
    """
    rtol, atol = get_tols(a, b, rtol, atol)
    a, b = to_numpy(a), to_numpy(b)
    if a.shape != b.shape:
        if not use_broadcast:
            raise AssertionError(f"{names[0]} has shape {a.shape}, {names[1]} has shape {b.shape}")
        a, b = np.broadcast_arrays(a, b)
    wrong = ~np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)
    if not wrong.any():
        return
    with np.errstate(all="ignore"):
        excess = np.abs(a.astype(np.float64) - b) / (atol + rtol * np.abs(b.astype(np.float64)))
    indices = np.argwhere(wrong)
    order = np.argsort([-np.nan_to_num(excess[tuple(place)], nan=np.inf) for place in indices])
    lines = [
        f"{names[0]} and {names[1]} differ in {len(indices)} of {a.size} entries"
        f" (rtol={rtol:g}, atol={atol:g}):"
    ]
    for place in indices[order[: mismatches[0]]]:
        at = tuple(int(i) for i in place)
        lines.append(
            f"  at {at}: {names[0]}={a[at]!r}, {names[1]}={b[at]!r},"
            f" {excess[at]:.3g} times the tolerance"
        )
    raise AssertionError("\n".join(lines))


def assert_exception(
    f: Callable[..., Any], exception_type: type[BaseException], *args: Any, **kwargs: Any
) -> None:
    """Check that a call raises an exception of a class.

    Parameters
    ----------
    f : callable
        The function to call.
    exception_type : type
        The expected class.
    *args, **kwargs
        Arguments of `f`.

    Raises
    ------
    AssertionError
        If it raises nothing. An exception of another class is passed on.

    Examples
    --------
    >>> mx.test_utils.assert_exception(mx.nd.array, TypeError, "text")
    """
    try:
        f(*args, **kwargs)
    except exception_type:
        return
    raise AssertionError(f"{f} did not raise {exception_type.__name__}")
