"""Elements of arrays of mx.np that are chosen, ordered or limited."""

from typing import Any

import numpy as onp

from ..base.errors import ArgumentTypeError, ShapeError, shown
from ..ndarray._fill import filled_array
from ..ndarray.ndarray import NDArray
from ._call import (
    NP,
    NUMBERS,
    array_of,
    fill_out,
    is_traced,
    make_array,
    ops,
    refuse_field_order,
    refuse_traced,
    with_aliases,
)
from .elementwise import FUNCTIONS, with_ufunc_arguments
from .reductions import axes_of
from .reductions import sum as total_of
from .shapes import broadcast_to, ravel, reshape_view, to_common_dtype, transpose


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """Elements of `x` where `condition` is not 0, else of `y`; without both, as `nonzero`."""
    condition = array_of(condition, "where")
    if x is None and y is None:
        return nonzero(condition)
    if isinstance(x, NUMBERS) and isinstance(y, NUMBERS):
        kind = "bool" if type(x) is bool and type(y) is bool else "float32"
        x, y = array_of(x, "where", kind), array_of(y, "where", kind)
    x = _convert_operand_like(x, y)
    y = _convert_operand_like(y, x)
    x, y = to_common_dtype([x, y], "where")
    parts = [condition, x, y]
    if not condition.shape == x.shape == y.shape:
        shape = onp.broadcast_shapes(condition.shape, x.shape, y.shape)
        parts = [e if e.shape == shape else broadcast_to(e, shape) for e in parts]
    if onp.dtype(x.dtype).kind == "b":
        parts[1:] = [e.astype("uint8") for e in parts[1:]]
        return ops.where(*parts).astype("bool")
    return ops.where(*parts)


def _convert_operand_like(value, other):
    """Convert an operand; a Python number takes the result dtype of arithmetic with `other`."""
    if not isinstance(value, NUMBERS):
        return array_of(value, "where")
    other = array_of(other, "where")
    kind = onp.dtype(other.dtype)
    if kind.kind in "biu" and isinstance(value, (float, onp.floating)):
        kind = onp.dtype("float32")
    elif kind.kind == "b" and not isinstance(value, (bool, onp.bool_)):
        kind = onp.dtype("int64")
    if kind.kind == "f" and not is_traced(other):
        return filled_array(other.shape, float(value), other.context, kind, NP)
    return make_array(value, kind, None, "where")


def clip(a, a_min=None, a_max=None, out=None):
    """The elements, at least `a_min` and at most `a_max`."""
    a = array_of(a, "clip")
    a_min, a_max = _fit_bound_to_dtype(a_min, a.dtype), _fit_bound_to_dtype(a_max, a.dtype)
    if a_min is not None:
        a = FUNCTIONS["maximum"](a, a_min)
    if a_max is not None:
        a = FUNCTIONS["minimum"](a, a_max)
    return fill_out(a.copy() if a_min is None and a_max is None else a, out)


def _fit_bound_to_dtype(bound, dtype):
    """Clip an int bound to the range of an integer dtype."""
    if type(bound) is not int or onp.dtype(dtype).kind not in "iu":
        return bound
    limits = onp.iinfo(dtype)
    return int(onp.clip(onp.array(bound, object), int(limits.min), int(limits.max)))


@with_aliases(x="a")
def round(a, decimals=0, out=None):
    """The elements rounded to a number of decimals, ties to even."""
    a = array_of(a, "round")
    if onp.dtype(a.dtype).kind in "biu" and decimals >= 0:
        return fill_out(a.copy(), out)
    scale = 10.0**decimals
    scaled = a * scale if decimals else a
    low = FUNCTIONS["floor"](scaled)
    rest = scaled - low
    odd = (low - 2 * FUNCTIONS["floor"](low / 2)) > 0
    up = FUNCTIONS["logical_or"](rest > 0.5, FUNCTIONS["logical_and"](rest == 0.5, odd))
    nearest = low + up.astype(low.dtype)
    nearest = nearest / scale if decimals else nearest
    return fill_out(FUNCTIONS["copysign"](nearest, a), out)


around = round_ = round


@with_ufunc_arguments
def rint(x, out=None):
    """The nearest whole numbers, a tie to the even one."""
    x = array_of(x, "rint")
    return round(x.astype("float32") if onp.dtype(x.dtype).kind in "biu" else x, 0, out)


def _array_and_sort_axis(a, axis, where):
    a = array_of(a, where)
    if axis is None:
        a, axis = ravel(a), -1
    if a.ndim == 0:
        a = reshape_view(a, (1,))
    return a, axes_of(axis, a.ndim, where)[0]


def sort(a, axis=-1, kind=None, order=None, descending=False, stable=True):
    """The elements in order along an axis."""
    refuse_field_order(order, "mx.np.sort")
    ndim = 1 if axis is None else array_of(a, "sort").ndim
    a, axis = _array_and_sort_axis(a, axis, "sort")
    own = onp.dtype(a.dtype)
    out = ops.sort(a.astype("uint8") if own.kind == "b" else a, axis=axis, is_ascend=not descending)
    out = out.astype("bool") if own.kind == "b" else out
    return reshape_view(out, ()) if ndim == 0 else out


def argsort(a, axis=-1, kind=None, order=None, descending=False, stable=True):
    """The indices that sort the elements along an axis, int64."""
    refuse_field_order(order, "mx.np.argsort")
    a, axis = _array_and_sort_axis(a, axis, "argsort")
    if onp.dtype(a.dtype).kind == "b":
        a = a.astype("uint8")
    return ops.argsort(a, axis=axis, is_ascend=not descending, dtype="int32").astype("int64")


def host_values(array, where):
    """The values as a NumPy array, for functions that NumPy computes."""
    refuse_traced(where, "the shape of the result", array)
    return array_of(array, where).asnumpy()


def nonzero(a):
    """The indices of elements that are not 0: a tuple of int64 arrays, one per axis."""
    array = array_of(a, "nonzero")
    return tuple(
        make_array(e, "int64", array.ctx, "nonzero")
        for e in host_values(array, "nonzero").nonzero()
    )


def flatnonzero(a):
    """The indices of elements that are not 0, in the flattened array."""
    return nonzero(ravel(array_of(a, "flatnonzero")))[0]


def argwhere(a):
    """The indices of elements that are not 0, as rows."""
    array = array_of(a, "argwhere")
    return make_array(onp.argwhere(host_values(array, "argwhere")), "int64", array.ctx, "argwhere")


def take_along_axis(arr, indices, axis=-1):
    """Elements at indices along an axis, each row with indices of its own."""
    arr, axis = (ravel(arr), 0) if axis is None else (array_of(arr, "take_along_axis"), axis)
    indices = array_of(indices, "take_along_axis", "int64")
    axis = axes_of(axis, arr.ndim, "take_along_axis")[0]
    if indices.ndim != arr.ndim:
        raise ShapeError(f"mx.np.take_along_axis: shapes {arr.shape} and {indices.shape}")
    keys = []
    for i in range(arr.ndim):
        shape = [1] * arr.ndim
        shape[i] = -1
        indices_of_axis = onp.arange(arr.shape[i]).reshape(shape)
        keys.append(indices if i == axis else array_of(indices_of_axis, "take_along_axis"))
    full = onp.broadcast_shapes(*(k.shape for k in keys))
    return arr[tuple(k if k.shape == full else broadcast_to(k, full) for k in keys)]


def tril(m, k=0):
    """The elements at and below a diagonal; zeros above."""
    return _mask_triangle(m, k, onp.tri)


def triu(m, k=0):
    """The elements at and above a diagonal; zeros below."""
    return _mask_triangle(m, k, lambda rows, columns, k: 1 - onp.tri(rows, columns, k - 1))


def _mask_triangle(m, k, mask):
    m = array_of(m, "tril")
    if m.ndim < 1:
        raise ShapeError("mx.np.tril takes an array of one axis at least")
    rows, columns = m.shape[-2:] if m.ndim > 1 else m.shape * 2  # a vector is repeated
    inside = array_of(mask(rows, columns, k).astype(bool), "tril")
    return where(inside, m, m * 0 if onp.dtype(m.dtype).kind != "b" else False)


@with_aliases(array="v")
def diag(v, k=0):
    """A diagonal of a matrix, or a matrix with a vector as its diagonal."""
    from .products import diagonal

    v = array_of(v, "diag")
    if v.ndim == 2:
        return diagonal(v, k)
    if v.ndim != 1:
        raise ShapeError(f"mx.np.diag takes one or two axes, got shape {v.shape}")
    from .creation import zeros

    n = v.size + abs(k)
    if not v.size:
        found = zeros((n, n), v.dtype)
        return found + total_of(v) if onp.dtype(v.dtype).kind == "f" else found
    eye = array_of(onp.eye(v.size, n, k if k > 0 else 0, dtype=bool), "diag")
    wide = where(
        eye, reshape_view(v, (v.size, 1)), array_of(onp.zeros(1, onp.dtype(v.dtype)), "diag")
    )
    if k < 0:
        from .shapes import concatenate

        below = where(
            array_of(onp.eye(v.size, dtype=bool), "diag"),
            reshape_view(v, (v.size, 1)),
            array_of(onp.zeros(1, onp.dtype(v.dtype)), "diag"),
        )
        top = zeros((-k, n), v.dtype)
        right = zeros((v.size, -k), v.dtype)
        return concatenate([top, concatenate([below, right], 1)], 0)
    return wide if k == 0 else _append_zero_rows(wide, n)


def _append_zero_rows(wide, n):
    from .creation import zeros
    from .shapes import concatenate

    return concatenate([wide, zeros((n - wide.shape[0], n), wide.dtype)], 0)


@with_aliases(array="v")
def diagflat(v, k=0):
    """A matrix with all elements as its diagonal."""
    return diag(ravel(array_of(v, "diagflat")), k)


def meshgrid(*xi, indexing="xy", sparse=False, copy=True):
    """The coordinates of a grid: each vector, repeated along the axes of the others."""
    vectors = [ravel(array_of(each, "meshgrid")) for each in xi]
    n = len(vectors)
    grids = [
        reshape_view(
            v,
            tuple(-1 if i == k else 1 for k in range(n))
            if v.size
            else tuple(0 if i == k else 1 for k in range(n)),
        )
        for i, v in enumerate(vectors)
    ]
    grids = [
        g
        if g.shape[i] == vectors[i].size
        else reshape_view(vectors[i], tuple(vectors[i].size if i == k else 1 for k in range(n)))
        for i, g in enumerate(grids)
    ]
    if indexing == "xy" and n > 1:
        grids = [transpose(g, (1, 0, *range(2, n))) for g in grids]
    elif indexing not in ("xy", "ij"):
        raise ArgumentTypeError(f"mx.np.meshgrid: indexing is 'xy' or 'ij', got {shown(indexing)}")
    if sparse:
        return grids
    shape = onp.broadcast_shapes(*(g.shape for g in grids)) if grids else ()
    return [broadcast_to(g, shape) for g in grids]


def diff(a, n=1, axis=-1, prepend=None, append=None):
    """Differences of neighbours along an axis, n times."""
    a = array_of(a, "diff")
    if not hasattr(n, "__index__") or n < 0:
        raise ArgumentTypeError(f"mx.np.diff: n is an int that is not negative, got {shown(n)}")
    if a.ndim == 0:
        raise ShapeError("mx.np.diff takes an array of one axis at least")
    axis = axes_of(axis, a.ndim, "diff")[0]
    if n and (prepend is not None or append is not None):
        from .shapes import concatenate

        edge = (*a.shape[:axis], 1, *a.shape[axis + 1 :])
        ends = [
            e if e is None or e.ndim else broadcast_to(e, edge)
            for e in (
                None if e is None else array_of(e, "diff", a.dtype) for e in (prepend, append)
            )
        ]
        a = concatenate([e for e in (ends[0], a, ends[1]) if e is not None], axis)
    front = (slice(None),) * axis
    for _ in range(n):
        later, earlier = a[(*front, slice(1, None))], a[(*front, slice(None, -1))]
        a = later != earlier if onp.dtype(a.dtype).kind == "b" else later - earlier
    return a


def ediff1d(ary, to_end=None, to_begin=None):
    """Differences of neighbours of the flattened array, with values around them."""
    from .shapes import concatenate

    parts = [diff(ravel(array_of(ary, "ediff1d")))]
    if to_begin is not None:
        parts.insert(0, ravel(array_of(to_begin, "ediff1d")))
    if to_end is not None:
        parts.append(ravel(array_of(to_end, "ediff1d")))
    return concatenate(parts)


def isposinf(x, out=None):
    """Return whether elements are infinite and positive."""
    x = array_of(x, "isposinf")
    return fill_out(x == float("inf") if onp.dtype(x.dtype).kind == "f" else x != x, out)


def isneginf(x, out=None):
    """Return whether elements are infinite and negative."""
    x = array_of(x, "isneginf")
    return fill_out(x == float("-inf") if onp.dtype(x.dtype).kind == "f" else x != x, out)


def isclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Return whether elements are equal within tolerances."""
    a, b = array_of(a, "isclose"), array_of(b, "isclose")
    a, b = (e.astype("float32") if onp.dtype(e.dtype).kind != "f" else e for e in (a, b))
    near = FUNCTIONS["absolute"](a - b) <= atol + rtol * FUNCTIONS["absolute"](b)
    finite = FUNCTIONS["logical_and"](FUNCTIONS["isfinite"](a), FUNCTIONS["isfinite"](b))
    close = FUNCTIONS["logical_or"](FUNCTIONS["logical_and"](near, finite), a == b)
    if equal_nan:
        close = FUNCTIONS["logical_or"](
            close, FUNCTIONS["logical_and"](FUNCTIONS["isnan"](a), FUNCTIONS["isnan"](b))
        )
    return close


def allclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Return whether all elements are equal within tolerances, a bool."""
    refuse_traced("allclose", "a Python bool (isclose(a, b).all() is an array)", a, b)
    return bool(isclose(a, b, rtol, atol, equal_nan).all())


def array_equal(a1, a2, equal_nan=False):
    """Return whether two arrays have one shape and the same elements, a bool."""
    a1, a2 = array_of(a1, "array_equal"), array_of(a2, "array_equal")
    refuse_traced("array_equal", "a Python bool ((a1 == a2).all() is an array)", a1, a2)
    if a1.shape != a2.shape:
        return False
    same = a1 == a2
    if equal_nan:
        same = same | ((a1 != a1) & (a2 != a2))
    return bool(same.all())


def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    """The elements with numbers in place of NaN and infinities."""
    x = array_of(x, "nan_to_num")
    if onp.dtype(x.dtype).kind != "f":
        return x.copy() if copy else x
    limits = onp.finfo(x.dtype)
    out = where(FUNCTIONS["isnan"](x), nan, x)
    out = where(isposinf(x), float(limits.max) if posinf is None else posinf, out)
    out = where(isneginf(x), float(limits.min) if neginf is None else neginf, out)
    if copy:
        return out
    x[...] = out
    return x


def array_equiv(a1, a2):
    """Return whether two arrays have the same elements once they are broadcast, a bool."""
    a1, a2 = array_of(a1, "array_equiv"), array_of(a2, "array_equiv")
    refuse_traced("array_equiv", "a Python bool ((a1 == a2).all() is an array)", a1, a2)
    try:
        return bool((a1 == a2).all())
    except ShapeError:
        return False


@with_aliases(val="x")
@with_ufunc_arguments
def positive(x, out=None):
    """The elements themselves."""
    return fill_out(array_of(x, "positive").copy(), out)


real = positive


@with_ufunc_arguments
def float_power(x1, x2, out=None):
    """Powers in floats, also of integers."""
    x1 = array_of(x1, "float_power")
    x1 = x1.astype("float32") if onp.dtype(x1.dtype).kind != "f" else x1
    return fill_out(FUNCTIONS["power"](x1, x2), out)


def divmod(x1, x2):
    """Quotients rounded down, and remainders."""
    return FUNCTIONS["floor_divide"](x1, x2), FUNCTIONS["mod"](x1, x2)


def modf(x):
    """The fractions and the whole parts of the elements."""
    x = array_of(x, "modf")
    whole = FUNCTIONS["trunc"](x)
    return x - whole, whole


def ix_(*args):
    """Index arrays that pick the rows, columns and so on of a grid."""
    found, n = [], len(args)
    for i, each in enumerate(args):
        each = array_of(each, "ix_", "int64")
        each = nonzero(each)[0] if onp.dtype(each.dtype).kind == "b" else each.astype("int64")
        found.append(reshape_view(each, tuple(each.size if k == i else 1 for k in range(n))))
    return tuple(found)


@with_ufunc_arguments
def fabs(x, out=None):
    """The absolute values, in floats."""
    x = array_of(x, "fabs")
    x = x.astype("float32") if onp.dtype(x.dtype).kind != "f" else x
    return FUNCTIONS["absolute"](x, out)


def msort(a):
    """The elements in order along the first axis."""
    return sort(a, 0)


def shares_memory(a, b, max_work=None):
    """Return whether two arrays have a byte in common."""
    return isinstance(a, NDArray) and isinstance(b, NDArray) and NDArray.shares_memory(a, b)


may_share_memory = shares_memory


def copy(a, out=None):
    """A new array with the same elements."""
    return fill_out(array_of(a, "copy").copy(), out)


__all__ = [
    "allclose",
    "argsort",
    "argwhere",
    "around",
    "array_equal",
    "array_equiv",
    "clip",
    "copy",
    "diag",
    "diagflat",
    "diff",
    "divmod",
    "ediff1d",
    "fabs",
    "flatnonzero",
    "float_power",
    "isclose",
    "isneginf",
    "isposinf",
    "ix_",
    "may_share_memory",
    "meshgrid",
    "modf",
    "msort",
    "nan_to_num",
    "nonzero",
    "positive",
    "real",
    "rint",
    "round",
    "round_",
    "shares_memory",
    "sort",
    "take_along_axis",
    "tril",
    "triu",
    "where",
]
