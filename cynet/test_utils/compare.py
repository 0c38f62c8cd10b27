"""Random arrays, and comparing arrays with tolerances that fit their dtypes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ndarray as nd
from ..base.dtype import BFLOAT16
from ..base.errors import ArgumentError, ArgumentTypeError, shown
from ..base.guard import guarded
from ..base.kinds import to_index
from ..context import Context, current_context
from ..operator.custom.callback_checks import MAX_NDIM

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..typing import ArrayLike, DTypeLike, NDArray, NumpyArray, Shape

RTOL = {"bfloat16": 8e-2, "float16": 1e-2, "float32": 1e-4, "float64": 1e-5}
ATOL = {"bfloat16": 1e-1, "float16": 1e-1, "float32": 1e-3, "float64": 1e-20}
_chosen = []


def default_context() -> Context:
    """The context that tests run on: the one set last, else the current one."""
    return _chosen[-1] if _chosen else current_context()


@guarded
def set_default_context(ctx: Context) -> None:
    """Set the context that tests run on."""
    if not isinstance(ctx, Context):
        raise ArgumentTypeError(f"set_default_context takes a Context, got {shown(ctx)}")
    _chosen[:] = [ctx]


def default_dtype() -> type:
    """The dtype that tests use: float32."""
    return np.float32


@guarded
def rand_shape_2d(dim0: int = 10, dim1: int = 10, allow_zero_size: bool = False) -> tuple[int, int]:
    """A random shape with at most these extents, drawn from ``numpy.random``."""
    return rand_shape_nd(2, (dim0, dim1), allow_zero_size)


@guarded
def rand_shape_3d(
    dim0: int = 10, dim1: int = 10, dim2: int = 10, allow_zero_size: bool = False
) -> tuple[int, int, int]:
    """A random shape with at most these extents, drawn from ``numpy.random``."""
    return rand_shape_nd(3, (dim0, dim1, dim2), allow_zero_size)


@guarded
def rand_shape_nd(num_dim: int, dim: int = 10, allow_zero_size: bool = False) -> Shape:
    """A random shape of `num_dim` extents, each at most `dim`, drawn from ``numpy.random``."""
    if not 0 <= to_index("rand_shape_nd: num_dim", num_dim) <= MAX_NDIM:
        raise ArgumentError(
            f"rand_shape_nd: num_dim must be from 0 to {MAX_NDIM}, the most axes of an NDArray, "
            f"got {shown(num_dim)}"
        )
    high = np.broadcast_to(dim, num_dim)
    return tuple(int(np.random.randint(0 if allow_zero_size else 1, top + 1)) for top in high)


@guarded
def random_arrays(*shapes: Shape) -> Any:
    """float32 arrays with normal entries: a list, or for a single shape the array."""
    arrays = [np.random.randn(*shape).astype(np.float32) for shape in shapes]
    return arrays[0] if len(arrays) == 1 else arrays


@guarded
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
    """An NDArray of random entries from -1 to 1, drawn from ``numpy.random``.

    Parameters
    ----------
    shape : tuple of int
    stype : str
        ``'default'``, ``'csr'`` or ``'row_sparse'``.
    dtype : numpy dtype, optional
        float32 by default.
    modifier_func : callable, optional
        Applied to the entries first.
    density, shuffle_csr_indices, distribution
        Of sparse arrays, see `rand_sparse_ndarray`.
    ctx : Context, optional
    """
    if stype != "default":
        from .sparse import rand_ndarray_of

        return rand_ndarray_of(
            shape, stype, density, dtype, modifier_func, shuffle_csr_indices, distribution, ctx
        )
    values = np.random.uniform(-1, 1, shape)
    if modifier_func is not None:
        values = modifier_func(values)
    return nd.array(values, ctx=ctx or default_context(), dtype=dtype or default_dtype())


def to_numpy(array: Any) -> NumpyArray:
    """A NumPy array from an NDArray, an array or a number."""
    return array.asnumpy() if isinstance(array, nd.NDArray) else np.asarray(array)


def _name(dtype):
    dtype = np.dtype(dtype)
    return "bfloat16" if dtype == BFLOAT16 else dtype.name


@guarded
def get_rtol(rtol: float | None = None, dtype: Any = np.float64) -> float:
    """`rtol`, or the relative tolerance of a dtype."""
    return RTOL.get(_name(dtype), 0) if rtol is None else rtol


@guarded
def get_atol(atol: float | None = None, dtype: Any = np.float64) -> float:
    """`atol`, or the absolute tolerance of a dtype."""
    return ATOL.get(_name(dtype), 0) if atol is None else atol


@guarded
def get_tols(
    x: Any, y: Any, rtol: float | None = None, atol: float | None = None
) -> tuple[float, float]:
    """Tolerances that suit the coarser of two arrays' dtypes: (rtol, atol)."""
    dtypes = [getattr(each, "dtype", None) or np.asarray(each).dtype for each in (x, y)]
    return (
        max(get_rtol(rtol, dtype) for dtype in dtypes),
        max(get_atol(atol, dtype) for dtype in dtypes),
    )


@guarded
def same(a: ArrayLike, b: ArrayLike) -> bool:
    """Whether two arrays are equal in shape and every entry."""
    return np.array_equal(to_numpy(a), to_numpy(b))


@guarded
def almost_equal(
    a: ArrayLike,
    b: ArrayLike,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    use_broadcast: bool = True,
) -> bool:
    """Whether two arrays are equal within tolerances (by dtype where none are given)."""
    rtol, atol = get_tols(a, b, rtol, atol)
    a, b = to_numpy(a), to_numpy(b)
    if not use_broadcast and a.shape != b.shape:
        return False
    return np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)


@guarded
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
    """Raise AssertionError, with the worst places, unless two arrays are equal within tolerances.

    Parameters
    ----------
    a, b : NDArray, numpy.ndarray or number
        What was found, what was expected.
    rtol, atol : float, optional
        By dtype where none are given: 1e-4 and 1e-3 for float32.
    names : pair of str
        What to call `a` and `b`.
    equal_nan : bool
        Whether nan equals nan.
    use_broadcast : bool
        Whether shapes may differ that broadcast together.
    mismatches : pair of int
        How many places are shown: the first number.
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
    places = np.argwhere(wrong)
    order = np.argsort([-np.nan_to_num(excess[tuple(place)], nan=np.inf) for place in places])
    lines = [
        f"{names[0]} and {names[1]} differ in {len(places)} of {a.size} entries"
        f" (rtol={rtol:g}, atol={atol:g}):"
    ]
    for place in places[order[: mismatches[0]]]:
        at = tuple(int(i) for i in place)
        lines.append(
            f"  at {at}: {names[0]}={a[at]!r}, {names[1]}={b[at]!r},"
            f" {excess[at]:.3g} times the tolerance"
        )
    raise AssertionError("\n".join(lines))


@guarded
def assert_exception(
    f: Callable[..., Any], exception_type: type[BaseException], *args: Any, **kwargs: Any
) -> None:
    """Raise AssertionError unless ``f(*args, **kwargs)`` raises `exception_type`."""
    try:
        f(*args, **kwargs)
    except exception_type:
        return
    raise AssertionError(f"{f} did not raise {exception_type.__name__}")
