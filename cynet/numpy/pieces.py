"""Functions of mx.np that assemble arrays from parts of others, and piecewise functions."""

import math

import numpy as onp

from ..base.errors import ArgumentError, ShapeError, shown
from ..ndarray.ndarray import NDArray
from . import reductions, shapes
from ._call import NUMBERS, array_of, fill_out, is_traced, ops, refuse_other_than_floats
from .dispatch import call_numpy
from .elementwise import FUNCTIONS, with_ufunc_arguments
from .selection import host_values
from .selection import where as choose


def _host_values(value, where):
    """The values of indices; raises for symbols, which have none."""
    return host_values(value, where) if isinstance(value, NDArray) or is_traced(value) else value


def _array_and_axis(arr, axis, name):  # for axis None: flattened
    arr = array_of(arr, name)
    if axis is None:
        return shapes.ravel(arr), 0
    return arr, reductions.axes_of(axis, arr.ndim, name)[0]


def delete(arr, obj, axis=None):
    """The array without the elements that `obj` selects: indices, a slice or a mask."""
    arr, axis = _array_and_axis(arr, axis, "delete")
    obj = obj if isinstance(obj, (slice, int)) else _host_values(obj, "delete")
    return shapes.take(arr, onp.delete(onp.arange(arr.shape[axis]), obj), axis)


def insert(arr, obj, values, axis=None):
    """The array with values before the elements that `obj` selects: indices, a slice or a mask."""
    arr, axis = _array_and_axis(arr, axis, "insert")
    obj = obj if isinstance(obj, (slice, int)) else _host_values(obj, "insert")
    n = arr.shape[axis]
    single = onp.ndim(obj) == 0 and not isinstance(obj, slice)
    values = array_of(values, "insert").astype(arr.dtype)
    values = shapes.reshape_view(values, (1,) * (arr.ndim - values.ndim) + values.shape)
    if single:
        values = shapes.moveaxis(values, 0, axis)
        count = values.shape[axis]
        obj = [int(onp.asarray(obj))] * count if count != 1 else obj
    else:
        count = onp.insert(onp.arange(n), obj, 0).size - n
    full = (*arr.shape[:axis], count, *arr.shape[axis + 1 :])
    values = values if values.shape == full else shapes.broadcast_to(values, full)
    indices = onp.insert(onp.arange(n), obj, n + onp.arange(count))
    return shapes.take(shapes.concatenate([arr, values], axis), indices, axis)


def compress(condition, a, axis=None, out=None):
    """The parts along an axis for which a condition holds."""
    a, axis = _array_and_axis(a, axis, "compress")
    (indices,) = onp.asarray(_host_values(condition, "compress")).nonzero()
    return fill_out(shapes.take(a, indices, axis), out)


def extract(condition, arr):
    """The elements for which a condition holds, in one axis."""
    (indices,) = onp.asarray(_host_values(condition, "extract")).reshape(-1).nonzero()
    return shapes.take(shapes.ravel(array_of(arr, "extract")), indices, 0)


def resize(a, new_shape):
    """The elements in another shape, repeated as often as needed."""
    a = shapes.ravel(array_of(a, "resize"))
    sizes = (new_shape,) if hasattr(new_shape, "__index__") else tuple(new_shape)
    if any(n < 0 for n in sizes):
        raise ShapeError(f"mx.np.resize: a length in {shown(new_shape)} is negative")
    count = math.prod(sizes)
    if not a.shape[0] or not count:
        from .creation import zeros

        return zeros(sizes, a.dtype)
    return shapes.reshape_view(shapes.take(a, onp.arange(count) % a.shape[0], 0), sizes)


def select(condlist, choicelist, default=0):
    """For each position, the choice of the first condition that holds, else `default`."""
    if len(condlist) != len(choicelist) or not condlist:
        raise ArgumentError(
            f"mx.np.select: as many choices as conditions are needed, one at least, got "
            f"{len(choicelist)} and {len(condlist)}"
        )
    found = default
    for condition, value in reversed(list(zip(condlist, choicelist))):
        found = choose(condition, value, found)
    return found


def piecewise(x, condlist, funclist, *args, **kw):
    """For each element the function, or constant, of the last condition that holds there."""
    x = array_of(x, "piecewise")
    listed = isinstance(condlist, (list, tuple)) and not (
        condlist and isinstance(condlist[0], (bool, onp.bool_))
    )
    conditions = [
        array_of(each, "piecewise").astype("bool") for each in (condlist if listed else [condlist])
    ]
    pieces = list(funclist)
    if len(pieces) == len(conditions) + 1:
        found = conditions[0]
        for each in conditions[1:]:
            found = FUNCTIONS["logical_or"](found, each)
        conditions.append(~found)
    if len(pieces) != len(conditions):
        raise ArgumentError(
            f"mx.np.piecewise: {len(conditions)} or {len(conditions) + 1} functions are needed, "
            f"got {len(pieces)}"
        )
    found = x * 0 if onp.dtype(x.dtype).kind != "b" else x
    for condition, piece in zip(conditions, pieces):
        value = piece(x, *args, **kw) if callable(piece) else piece
        value = value if isinstance(value, NUMBERS) else array_of(value, "piecewise")
        found = choose(condition, value, found).astype(x.dtype)
    return found


def block(arrays):
    """Assemble an array from nested lists of blocks; innermost lists join along the last axis."""

    def depth_of(value):
        if not isinstance(value, list):
            return 0
        if not value:
            raise ArgumentError("mx.np.block: a list is empty")
        depths = {depth_of(each) for each in value}
        if len(depths) > 1:
            raise ArgumentError("mx.np.block: the lists are not nested alike")
        return 1 + depths.pop()

    def leaf_arrays(value):
        if isinstance(value, list):
            for each in value:
                yield from leaf_arrays(each)
        else:
            yield array_of(value, "block")

    depth = depth_of(arrays)
    ndim = max(depth, *(each.ndim for each in leaf_arrays(arrays)))

    def join_blocks(value, level):
        if isinstance(value, list):
            return shapes.concatenate([join_blocks(e, level + 1) for e in value], level - depth)
        value = array_of(value, "block")
        return shapes.reshape_view(value, (1,) * (ndim - value.ndim) + value.shape)

    return join_blocks(arrays, 0).copy()


def trim_zeros(filt, trim="fb"):
    """A vector without leading ('f') and trailing ('b') zeros."""
    filt = array_of(filt, "trim_zeros")
    host = _host_values(filt, "trim_zeros")
    if host.ndim != 1:
        raise ShapeError(f"mx.np.trim_zeros takes an array of one axis, got shape {host.shape}")
    indices = host.nonzero()[0]
    if not indices.size:
        return filt[:0].copy()
    first = int(indices[0]) if "f" in trim.lower() else 0
    last = int(indices[-1]) + 1 if "b" in trim.lower() else host.size
    return filt[first:last].copy()


def sinc(x):
    """``sin(pi x) / (pi x)``, 1 at 0."""
    x = array_of(x, "sinc")
    x = x if onp.dtype(x.dtype).kind == "f" else x.astype("float32")
    wide = choose(x == 0, 1.0, x) * math.pi
    return choose(x == 0, 1.0, FUNCTIONS["sin"](wide) / wide)


@with_ufunc_arguments
def heaviside(x1, x2, out=None):
    """0 below 0, 1 above, `x2` at 0."""
    if isinstance(x1, NUMBERS) and isinstance(x2, NUMBERS):
        return onp.heaviside(x1, x2)
    operands = [e if isinstance(e, NUMBERS) else array_of(e, "heaviside") for e in (x1, x2)]
    kind = shapes.to_common_dtype([e for e in operands if not isinstance(e, NUMBERS)], "")[0].dtype
    kind = kind if onp.dtype(kind).kind == "f" else "float32"
    x1, x2 = (
        array_of(e, "heaviside", kind) if isinstance(e, NUMBERS) else e.astype(kind)
        for e in operands
    )
    step = (x1 > 0).astype(x1.dtype) + choose(FUNCTIONS["isnan"](x1), x1, 0.0)
    return fill_out(choose(x1 == 0, x2, step), out)


def i0(x):
    """The modified Bessel function of the first kind, of order 0.

    Up to 20 it is summed by powers of ``x**2 / 4``, beyond by those of ``1 / x``.
    """
    x = array_of(x, "i0")
    x = x if onp.dtype(x.dtype).kind == "f" else x.astype("float32")
    wide = x.astype("float32") if onp.dtype(x.dtype) == "float16" else x
    size = FUNCTIONS["absolute"](wide)
    small = size <= 20.0
    quarter = choose(small, wide, 0.0) * choose(small, wide, 0.0) / 4.0
    near = quarter * 0 + 1.0
    for k in range(60, 0, -1):
        near = near * quarter / float(k * k) + 1.0
    beyond = choose(small, 20.0, size)
    far = beyond * 0 + 1.0
    for k in range(25, 0, -1):
        far = far * ((2 * k - 1) ** 2 / (8.0 * k)) / beyond + 1.0
    # computed in two factors: their product overflows only if the result does
    half = FUNCTIONS["exp"](beyond / 2)
    far = half / FUNCTIONS["sqrt"](beyond * (2 * math.pi)) * far * half
    return choose(small, near, far).astype(x.dtype)


def frexp(x):
    """Mantissas, from 0.5 to below 1 in absolute value, and exponents of 2."""
    x = array_of(x, "frexp")
    x = x if onp.dtype(x.dtype).kind == "f" else x.astype("float32")
    ldexp, given = FUNCTIONS["ldexp"], x
    x = x.astype("float32") if onp.dtype(x.dtype) == "float16" else x
    fixed = ops.BlockGrad(x)
    usual = FUNCTIONS["isfinite"](fixed) & (fixed != 0)
    size = choose(usual, FUNCTIONS["absolute"](fixed), 1.0)
    power = FUNCTIONS["floor"](FUNCTIONS["log"](size) / math.log(2)) + 1.0
    fraction = ldexp(size, -power)
    power = power + (fraction >= 1.0).astype(x.dtype) - (fraction < 0.5).astype(x.dtype)
    power = choose(usual, power, 0.0)
    return ldexp(x, -power).astype(given.dtype), power.astype("int32")


@with_ufunc_arguments
def spacing(x, out=None):
    """The distances to the next number of the dtype, away from 0."""
    x = array_of(x, "spacing")
    x = ops.BlockGrad(x if onp.dtype(x.dtype).kind == "f" else x.astype("float32"))
    limits = onp.finfo(onp.dtype(x.dtype))
    kind = "float32" if limits.bits == 16 else x.dtype
    least = int(limits.minexp) + 1
    power = choose(x == 0, least, FUNCTIONS["maximum"](frexp(x)[1], least)).astype(kind)
    gap = FUNCTIONS["ldexp"](power * 0 + 1.0, power - (limits.nmant + 1.0)).astype(x.dtype)
    gap = choose(FUNCTIONS["absolute"](x) == float(limits.max), float("inf"), gap)
    gap = choose(FUNCTIONS["isfinite"](x), gap, float("nan"))
    return fill_out(choose(x < 0, -gap, gap), out)


def apply_along_axis(func1d, axis, arr, *args, **kwargs):
    """Apply a function to each vector along an axis; its result takes the place of the axis.

    Raises
    ------
    ShapeError
        There is no vector, or results have several shapes.
    """
    arr = array_of(arr, "apply_along_axis")
    (axis,) = reductions.axes_of(axis, arr.ndim, "apply_along_axis")
    rest = (*arr.shape[:axis], *arr.shape[axis + 1 :])
    if 0 in rest:
        raise ShapeError(f"mx.np.apply_along_axis: shape {arr.shape} has no vector along {axis}")
    rows = shapes.reshape_view(shapes.moveaxis(arr, axis, -1), (math.prod(rest), arr.shape[axis]))
    found = [_result_array(func1d(rows[i], *args, **kwargs)) for i in range(rows.shape[0])]
    found = shapes.stack(shapes.to_common_dtype(found, "apply_along_axis"))
    inner = found.shape[1:]
    found = shapes.reshape_view(found, (*rest, *inner))
    own = tuple(range(len(rest), len(rest) + len(inner)))
    return shapes.moveaxis(found, own, tuple(axis + i for i in range(len(inner))))


def _result_array(value):
    """The result of a function, as an array; an int and a bool keep their kind."""
    kind = {int: "int64", bool: "bool"}.get(type(value))
    return array_of(value, "apply_along_axis", kind)


def apply_over_axes(func, a, axes):
    """Apply a function of an array and an axis for each axis in turn; axes stay with length 1.

    Raises
    ------
    ShapeError
        A result has not as many axes, or one less.
    """
    a = array_of(a, "apply_over_axes")
    for axis in reductions.axes_of(axes, a.ndim, "apply_over_axes"):
        found = array_of(func(a, axis), "apply_over_axes")
        found = shapes.expand_dims(found, axis) if found.ndim == a.ndim - 1 else found
        if found.ndim != a.ndim:
            raise ShapeError(
                f"mx.np.apply_over_axes: of {a.ndim} axes the function made {found.ndim}"
            )
        a = found
    return a


def _matrix_shape(arr, name):
    arr = array_of(arr, name)
    if arr.ndim != 2:
        raise ShapeError(f"mx.np.{name} takes an array of two axes, got shape {arr.shape}")
    return arr.shape


def tril_indices_from(arr, k=0):
    """The indices of the lower triangle of a matrix, one int64 array per axis."""
    rows, columns = _matrix_shape(arr, "tril_indices_from")
    return call_numpy(onp.tril_indices, (rows, k, columns), {})


def triu_indices_from(arr, k=0):
    """The indices of the upper triangle of a matrix, one int64 array per axis."""
    rows, columns = _matrix_shape(arr, "triu_indices_from")
    return call_numpy(onp.triu_indices, (rows, k, columns), {})


def diag_indices_from(arr):
    """The indices of the diagonal of an array with equal axes, one int64 array per axis."""
    arr = array_of(arr, "diag_indices_from")
    if arr.ndim < 2 or len(set(arr.shape)) != 1:
        raise ShapeError(
            f"mx.np.diag_indices_from takes two axes at least, all of one length, got {arr.shape}"
        )
    return call_numpy(onp.diag_indices, (arr.shape[0], arr.ndim), {})


def isrealobj(x):
    """Return whether an array has real numbers alone, as all of mx.np have."""
    return array_of(x, "isrealobj") is not None


def iscomplexobj(x):
    """Return whether an array has complex numbers: never, for arrays of mx.np."""
    return not isrealobj(x)


def unwrap(p, discont=None, axis=-1, *, period=2 * math.pi):
    """Angles without jumps: each differs from the one before by less than half a period."""
    from .selection import diff

    p = array_of(p, "unwrap")
    if onp.dtype(p.dtype).kind != "f":
        p = p.astype("float32")
    (axis,) = reductions.axes_of(axis, p.ndim, "unwrap")
    half = period / 2
    jump = diff(p, axis=axis)
    within = FUNCTIONS["mod"](jump + half, period) - half
    within = choose(FUNCTIONS["logical_and"](within == -half, jump > 0), half, within)
    small = FUNCTIONS["absolute"](jump) < (half if discont is None else max(discont, half))
    fixed = reductions.cumsum(choose(small, 0.0, within - jump), axis)
    front = (slice(None),) * axis
    first = p[(*front, slice(None, 1))]
    return shapes.concatenate([first, p[(*front, slice(1, None))] + fixed], axis)


def interp(x, xp, fp, left=None, right=None, period=None):
    """Linear interpolation between values `fp` at ascending coordinates `xp`."""
    number = isinstance(x, NUMBERS)
    x, xp, fp = (array_of(each, "interp") for each in (x, xp, fp))
    x, xp, fp = (e if onp.dtype(e.dtype).kind == "f" else e.astype("float32") for e in (x, xp, fp))
    if xp.ndim != 1 or fp.shape != xp.shape or not xp.shape[0]:
        raise ShapeError(
            f"mx.np.interp: xp and fp are of one axis and one length, got {xp.shape}, {fp.shape}"
        )
    if period is not None:
        if not period:
            raise ArgumentError("mx.np.interp: period is 0")
        period, left, right = abs(period), None, None
        x, xp = FUNCTIONS["mod"](x, period), FUNCTIONS["mod"](xp, period)
        order = _call_argsort(xp)
        xp, fp = shapes.take(xp, order, 0), shapes.take(fp, order, 0)
        xp = shapes.concatenate([xp[-1:] - period, xp, xp[:1] + period])
        fp = shapes.concatenate([fp[-1:], fp, fp[:1]])
    count = xp.shape[0]
    if count == 1:
        between = shapes.broadcast_to(fp, x.shape) if x.ndim else fp.reshape(())
    else:
        behind = (shapes.expand_dims(x, -1) >= xp).astype("int64")
        place = FUNCTIONS["minimum"](
            FUNCTIONS["maximum"](reductions.sum(behind, -1) - 1, 0), count - 2
        )
        x0, x1, f0, f1 = (
            ops.take(each, at, axis=0, mode="clip")
            for each in (xp, fp)
            for at in (place, place + 1)
        )
        slope = (f1 - f0) / (x1 - x0)
        between = f0 + slope * (x - x0)
    between = choose(x < xp[0], fp[0] if left is None else left, between)
    between = choose(x > xp[-1], fp[-1] if right is None else right, between)
    between = choose(x == xp[-1], fp[-1], between)
    return between.reshape(()) if number else between


def _call_argsort(a):
    from .selection import argsort

    return argsort(a)


def gradient(f, *varargs, axis=None, edge_order=1):
    """Slopes along axes, from both neighbours; at the ends from one side."""
    f = array_of(f, "gradient")
    f = f if onp.dtype(f.dtype).kind == "f" else f.astype("float32")
    axes = tuple(range(f.ndim)) if axis is None else reductions.axes_of(axis, f.ndim, "gradient")
    steps = list(varargs) or [1.0]
    steps = steps * len(axes) if len(steps) == 1 else steps
    if len(steps) != len(axes):
        raise ArgumentError(f"mx.np.gradient: {len(varargs)} spacings for {len(axes)} axes")
    if edge_order not in (1, 2):
        raise ArgumentError(f"mx.np.gradient: edge_order is 1 or 2, got {shown(edge_order)}")
    found = [_gradient_axis(f, each, step, edge_order) for each, step in zip(axes, steps)]
    return found[0] if len(axes) == 1 else tuple(found)


def _gradient_axis(f, axis, step, edge_order):
    n = f.shape[axis]
    if n < edge_order + 1:
        raise ShapeError(
            f"mx.np.gradient: axis {axis} of length {n} has too few elements for edge_order "
            f"{edge_order}"
        )
    f = shapes.moveaxis(f, axis, -1)
    if isinstance(step, NUMBERS) or getattr(step, "ndim", 1) == 0:
        step = step if isinstance(step, NUMBERS) else array_of(step, "gradient")
        inner = (f[..., 2:] - f[..., :-2]) / (2.0 * step)
        h0 = h1 = g0 = g1 = step
    else:
        x = array_of(step, "gradient").astype(f.dtype)
        if x.shape != (n,):
            raise ShapeError(f"mx.np.gradient: coordinates of shape {x.shape} for {n} elements")
        gaps = x[1:] - x[:-1]
        a, b = gaps[:-1], gaps[1:]
        inner = (
            -b / (a * (a + b)) * f[..., :-2]
            + (b - a) / (a * b) * f[..., 1:-1]
            + a / (b * (a + b)) * f[..., 2:]
        )
        h0, h1, g0, g1 = gaps[0], gaps[min(1, n - 2)], gaps[n - 2], gaps[max(n - 3, 0)]
    if edge_order == 1:
        first, last = (f[..., 1:2] - f[..., :1]) / h0, (f[..., -1:] - f[..., -2:-1]) / g0
    else:
        first = _first_point_slope(f[..., :1], f[..., 1:2], f[..., 2:3], h0, h1)
        last = -_first_point_slope(f[..., -1:], f[..., -2:-1], f[..., -3:-2], g0, g1)
    return shapes.moveaxis(shapes.concatenate([first, inner, last], -1), -1, axis)


def _first_point_slope(x, y, z, a, b):
    """The slope at the first of three points with distances `a` and `b`."""
    return -(2.0 * a + b) / (a * (a + b)) * x + (a + b) / (a * b) * y - a / (b * (a + b)) * z


def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None):
    """The covariances of variables, which are rows, or columns without `rowvar`."""
    m = _observation_matrix(m, y, rowvar, dtype)
    count = m.shape[1]
    ddof = (0 if bias else 1) if ddof is None else ddof
    weights = None
    for each in (fweights, aweights):
        if each is not None:
            each = array_of(each, "cov").astype(m.dtype)
            weights = each if weights is None else weights * each
    if weights is None:
        centred = m - reductions.mean(m, 1, keepdims=True)
        factor, weighted = count - ddof, centred
    else:
        total = reductions.sum(weights)
        centred = m - shapes.expand_dims(reductions.sum(m * weights, 1) / total, 1)
        weighted = centred * weights
        factor = total - ddof * (
            1
            if aweights is None
            else reductions.sum(weights * array_of(aweights, "cov").astype(m.dtype)) / total
        )
    from .products import matmul

    found = matmul(weighted, shapes.matrix_transpose(centred))
    if isinstance(factor, int):
        factor = max(factor, 0) or float("nan")
    return shapes.squeeze(found / factor)


def _observation_matrix(m, y, rowvar, dtype):
    refuse_other_than_floats(dtype, "mx.np.cov")
    parts = []
    for each in (m,) if y is None else (m, y):
        each = array_of(each, "cov")
        if each.ndim > 2:
            raise ShapeError(f"mx.np.cov takes one or two axes, got shape {each.shape}")
        if onp.dtype(each.dtype).kind != "f":
            each = each.astype("float32")
        each = shapes.atleast_2d(each if dtype is None else each.astype(dtype))
        parts.append(each if rowvar or each.shape[0] == 1 else shapes.matrix_transpose(each))
    return parts[0] if y is None else shapes.concatenate(parts, 0)


def corrcoef(x, y=None, rowvar=True, *, dtype=None):
    """The coefficients of correlation of variables."""
    found = cov(x, y, rowvar, dtype=dtype)
    if found.ndim == 0:
        return found / found
    spread = FUNCTIONS["sqrt"](shapes.ravel(_diagonal_values(found)))
    found = found / shapes.expand_dims(spread, 1) / shapes.expand_dims(spread, 0)
    return FUNCTIONS["minimum"](FUNCTIONS["maximum"](found, -1.0), 1.0)


def _diagonal_values(a):
    from .products import diagonal

    return diagonal(a)


__all__ = [
    "apply_along_axis",
    "apply_over_axes",
    "block",
    "compress",
    "corrcoef",
    "cov",
    "delete",
    "diag_indices_from",
    "extract",
    "frexp",
    "gradient",
    "heaviside",
    "i0",
    "insert",
    "interp",
    "iscomplexobj",
    "isrealobj",
    "piecewise",
    "resize",
    "select",
    "sinc",
    "spacing",
    "tril_indices_from",
    "trim_zeros",
    "triu_indices_from",
    "unwrap",
]
