"""Shapes of arrays of mx.np: reordering, joining and repeating elements."""

import itertools
import operator
from math import prod

import numpy as onp

from ..base.dtype import dtype_flag
from ..base.errors import ArgumentTypeError, BoundsError, ShapeError, shown
from ..ndarray._tape import is_tracked
from ..ndarray.ndarray import NDArray
from ..operator.numpy.promotion import promote_dtypes
from ._call import NP, array_of, fill_out, is_traced, ops, refuse_order
from .reductions import axes_of

_NEW_AXIS = {axis: (*(slice(None),) * axis, None) for axis in range(9)}  # keys that add a new axis
_NEW_AXIS |= {~after: (..., *_NEW_AXIS[after][::-1]) for after in range(9)}
_INDEX_DTYPES = (dtype_flag("int32"), dtype_flag("int64"))  # of arrays that index


def _as_ints(value, where):
    try:
        return tuple(operator.index(each) for each in value)
    except TypeError:
        pass
    try:
        return (operator.index(value),)
    except TypeError:
        raise ArgumentTypeError(
            f"mx.np.{where} takes an int or a tuple of ints, got {shown(value)}"
        ) from None


def _check_axis(axis, ndim, where):
    return axes_of(operator.index(axis), ndim, where)[0]


def reshape(a, newshape=None, order="C", shape=None, out=None):
    """The elements under another shape, in which one length may be -1."""
    a = array_of(a, "reshape")
    refuse_order(order, "mx.np.reshape")
    sizes = list(_as_ints(newshape if shape is None else shape, "reshape"))
    own, known = prod(a.shape), prod(n for n in sizes if n != -1)
    if sizes.count(-1) == 1 and known and own % known == 0:
        sizes[sizes.index(-1)] = own // known
    if prod(sizes) != own or any(n < 0 for n in sizes):
        raise ShapeError(f"mx.np.reshape: shape {a.shape} does not become {tuple(sizes)}")
    return fill_out(reshape_view(a, tuple(sizes)), out)


def reshape_view(a, sizes):
    """A view of `a` with another shape of as many elements."""
    return ops._np_reshape(a, newshape=sizes)


def ravel(x, order="C"):
    """The elements in one axis."""
    return reshape(x, (-1,), order)


def transpose(a, axes=None):
    """The array with its axes in another order, by default reversed."""
    a = array_of(a, "transpose")
    order = (
        tuple(range(a.ndim))[::-1] if axes is None else axes_of(tuple(axes), a.ndim, "transpose")
    )
    if len(order) != a.ndim:
        raise ShapeError(f"mx.np.transpose: axes {axes} for an array of {a.ndim} axes")
    return a.copy() if a.ndim < 2 else ops.transpose(a, axes=order)


permute_dims = transpose


def swapaxes(a, axis1, axis2):
    """The array with two axes exchanged."""
    a = array_of(a, "swapaxes")
    order = list(range(a.ndim))
    i, k = _check_axis(axis1, a.ndim, "swapaxes"), _check_axis(axis2, a.ndim, "swapaxes")
    order[i], order[k] = order[k], order[i]
    return transpose(a, order)


def matrix_transpose(x):
    """The array with its last two axes exchanged."""
    return swapaxes(x, -1, -2)


def moveaxis(a, source, destination):
    """The array with axes moved to other positions."""
    a = array_of(a, "moveaxis")
    old = axes_of(_as_ints(source, "moveaxis"), a.ndim, "moveaxis")
    new = axes_of(_as_ints(destination, "moveaxis"), a.ndim, "moveaxis")
    order = [i for i in range(a.ndim) if i not in old]
    for place, axis in sorted(zip(new, old)):
        order.insert(place, axis)
    return transpose(a, order)


def rollaxis(a, axis, start=0):
    """The array with an axis rolled back until it comes before another."""
    a = array_of(a, "rollaxis")
    axis = _check_axis(axis, a.ndim, "rollaxis")
    start = start + a.ndim if start < 0 else start
    if start > axis:
        start -= 1
    return moveaxis(a, axis, start)


def expand_dims(a, axis):
    """A view of the array with new axes of length 1."""
    if (
        type(axis) is int
        and isinstance(a, NDArray)
        and a._face is NP
        and -a.ndim - 1 <= axis <= a.ndim
        and not is_tracked(a)
    ):
        return a[_NEW_AXIS[axis]]
    a = array_of(a, expand_dims.__name__)
    shape = a.shape
    new_axes = _as_ints(axis, expand_dims.__name__)
    ndim = len(shape) + len(new_axes)
    new = axes_of(new_axes, ndim, expand_dims.__name__)
    lengths = iter(shape)
    sizes = tuple(1 if i in new else next(lengths) for i in range(ndim))
    if is_traced(a) or is_tracked(a):
        return reshape_view(a, sizes)
    return a._view(sizes)


def squeeze(a, axis=None, out=None):
    """The array without axes of length 1."""
    a = array_of(a, "squeeze")
    if axis is None:
        return fill_out(reshape_view(a, tuple(n for n in a.shape if n != 1)), out)
    gone = axes_of(_as_ints(axis, "squeeze"), a.ndim, "squeeze")
    if any(a.shape[i] != 1 for i in gone):
        raise ShapeError(f"mx.np.squeeze: axis {axis} of shape {a.shape} is not of length 1")
    rest = tuple(n for i, n in enumerate(a.shape) if i not in gone)
    return fill_out(reshape_view(a, rest), out)


def broadcast_to(array, shape, subok=False):
    """The array with its elements repeated to a shape."""
    array, sizes = array_of(array, broadcast_to.__name__), _as_ints(shape, broadcast_to.__name__)
    try:
        fits = onp.broadcast_shapes(array.shape, sizes) == sizes
    except ValueError:
        fits = False
    if not fits:
        raise ShapeError(f"mx.np.broadcast_to: shape {array.shape} does not broadcast to {sizes}")
    if array.shape == sizes:
        return array.copy()
    wide = reshape_view(array, (1,) * (len(sizes) - array.ndim) + array.shape)
    if prod(sizes):
        return ops.broadcast_to(wide, shape=sizes)
    return reshape_view(ravel(array)[:0], sizes)  # an empty result, part of the graph


def broadcast_arrays(*args):
    """The arrays, each repeated to the shape they have in common."""
    arrays = [array_of(each, "broadcast_arrays") for each in args]
    shape = onp.broadcast_shapes(*(each.shape for each in arrays))
    return [each if each.shape == shape else broadcast_to(each, shape) for each in arrays]


def to_common_dtype(arrays, where):
    """The arrays in the dtype that holds all."""
    kinds = [each.dtype for each in arrays]
    if all(each is kinds[0] for each in kinds):
        return arrays
    names = [onp.dtype(each).name for each in kinds]
    kind = names[0]
    for each in names[1:]:
        kind = promote_dtypes(kind, each)
    return [a if name == kind else a.astype(kind) for a, name in zip(arrays, names)]


def _as_array_list(arrays, where):
    if isinstance(arrays, NDArray) or is_traced(arrays):
        arrays = list(arrays)
    if not isinstance(arrays, (list, tuple)) or not arrays:
        raise ArgumentTypeError(f"mx.np.{where} takes a list of arrays, got {shown(arrays)}")
    return to_common_dtype([array_of(each, where) for each in arrays], where)


def _can_join_directly(arrays, axis, more):
    """Return whether an operator can join these arrays directly: several nonempty mx.np arrays of
    equal dtype and ndim, `axis` valid; `more`: axes added."""
    if type(arrays) not in (list, tuple) or len(arrays) < 2 or type(axis) is not int:
        return False
    first = arrays[0]
    kind = type(first)
    if getattr(kind, "symbol_class", None) is None or first._face is not NP:
        return False
    ndim, flag = first.ndim, first.dtype_flag
    if not ndim or not -ndim - more <= axis < ndim + more or not first.size:
        return False
    for each in arrays:
        if type(each) is not kind or each.dtype_flag != flag or each.ndim != ndim:
            return False
    return True


def concatenate(seq, axis=0, out=None, dtype=None):
    """Concatenate arrays along an axis; None flattens them first."""
    if out is None and dtype is None and _can_join_directly(seq, axis, 0):
        return ops.Concat(*seq, dim=axis)
    arrays = _as_array_list(seq, "concatenate")
    if axis is None:
        arrays, axis = [ravel(each) for each in arrays], 0
    if any(each.ndim == 0 for each in arrays):
        raise ShapeError("mx.np.concatenate: an array without axes cannot be joined")
    axis = _check_axis(axis, arrays[0].ndim, "concatenate")
    result = ops.Concat(*arrays, dim=axis) if len(arrays) > 1 else arrays[0].copy()
    return fill_out(result if dtype is None else result.astype(dtype), out)


concat = concatenate


def stack(arrays, axis=0, out=None):
    """Join arrays of one shape along a new axis."""
    if out is None and _can_stack_directly(arrays, axis):
        return ops.stack(*arrays, axis=axis)
    arrays = _as_array_list(arrays, "stack")
    if any(each.shape != arrays[0].shape for each in arrays):
        raise ShapeError(f"mx.np.stack: shapes {[each.shape for each in arrays]} are not one")
    axis = _check_axis(axis, arrays[0].ndim + 1, "stack")
    wide = [expand_dims(each, axis) for each in arrays]
    return fill_out(concatenate(wide, axis), out)


def _can_stack_directly(arrays, axis):
    return _can_join_directly(arrays, axis, 1) and len({each.shape for each in arrays}) == 1


def atleast_1d(*arys):
    """Each array, with one axis at least."""
    return _apply_to_each(arys, lambda a: reshape_view(a, (1,)) if a.ndim == 0 else a)


def atleast_2d(*arys):
    """Each array, with two axes at least."""
    return _apply_to_each(
        arys,
        lambda a: (
            reshape_view(a, (1, -1)[: 2 - a.ndim] + a.shape if a.ndim else (1, 1))
            if a.ndim < 2
            else a
        ),
    )


def atleast_3d(*arys):
    """Each array, with three axes at least."""

    def to_three_axes(a):
        if a.ndim == 0:
            return reshape_view(a, (1, 1, 1))
        if a.ndim == 1:
            return reshape_view(a, (1, a.shape[0], 1))
        return reshape_view(a, (*a.shape, 1)) if a.ndim == 2 else a

    return _apply_to_each(arys, to_three_axes)


def _apply_to_each(arrays, function):
    found = [function(array_of(each, "atleast")) for each in arrays]
    return found[0] if len(found) == 1 else found


def vstack(arrays, out=None):
    """The arrays as rows, one below the other."""
    if out is None and _can_stack_directly(arrays, 0) and arrays[0].ndim == 1:
        return ops.stack(*arrays, axis=0)
    rows = [atleast_2d(each) for each in _as_array_list(arrays, "vstack")]
    return fill_out(concatenate(rows, 0), out)


row_stack = vstack


def hstack(arrays):
    """Join arrays along the second axis, or the only one."""
    parts = [atleast_1d(each) for each in _as_array_list(arrays, "hstack")]
    return concatenate(parts, 0 if parts[0].ndim == 1 else 1)


def dstack(arrays):
    """The arrays along the third axis."""
    return concatenate([atleast_3d(each) for each in _as_array_list(arrays, "dstack")], 2)


def column_stack(tup):
    """Vectors as the columns of a matrix."""
    parts = _as_array_list(tup, "column_stack")
    return concatenate(
        [reshape_view(p, (-1, 1)[:0] + (p.size, 1)) if p.ndim < 2 else p for p in parts], 1
    )


def split(ary, indices_or_sections, axis=0):
    """Equal parts along an axis, or the parts between indices."""
    ary = array_of(ary, "split")
    if isinstance(indices_or_sections, int):
        length = ary.shape[_check_axis(axis, ary.ndim, "split")]
        if indices_or_sections <= 0 or length % indices_or_sections:
            raise ShapeError(
                f"mx.np.split: axis {axis} of length {length} has no "
                f"{indices_or_sections} equal parts"
            )
    return array_split(ary, indices_or_sections, axis)


def array_split(ary, indices_or_sections, axis=0):
    """Parts along an axis, as equal as they can be, or those between indices."""
    ary = array_of(ary, "array_split")
    axis = _check_axis(axis, ary.ndim, "array_split")
    length = ary.shape[axis]
    if isinstance(indices_or_sections, int):
        n = indices_or_sections
        each, more = divmod(length, n)
        sizes = [each + 1] * more + [each] * (n - more)
        bounds = onp.cumsum([0, *sizes]).tolist()
    else:
        bounds = [0, *_as_ints(indices_or_sections, "split"), length]
    front = (slice(None),) * axis
    return [ary[(*front, slice(a, b))] for a, b in itertools.pairwise(bounds)]


def hsplit(ary, indices_or_sections):
    """Parts along the second axis, or the only one."""
    ary = array_of(ary, "hsplit")
    if ary.ndim == 0:
        raise ShapeError("mx.np.hsplit takes an array of one axis at least")
    return split(ary, indices_or_sections, 0 if ary.ndim == 1 else 1)


def vsplit(ary, indices_or_sections):
    """Parts along the first axis of an array of two axes at least."""
    ary = array_of(ary, "vsplit")
    if ary.ndim < 2:
        raise ShapeError("mx.np.vsplit takes an array of two axes at least")
    return split(ary, indices_or_sections, 0)


def dsplit(ary, indices_or_sections):
    """Parts along the third axis."""
    ary = array_of(ary, "dsplit")
    if ary.ndim < 3:
        raise ShapeError("mx.np.dsplit takes an array of three axes at least")
    return split(ary, indices_or_sections, 2)


def unstack(x, axis=0):
    """The parts of length 1 along an axis, without that axis."""
    x = array_of(x, "unstack")
    front = (slice(None),) * _check_axis(axis, x.ndim, "unstack")
    return tuple(x[(*front, i)] for i in range(x.shape[len(front)]))


def tile(A, reps):
    """The array repeated along each axis."""
    A, reps = array_of(A, "tile"), _as_ints(reps, "tile")
    ndim = A.ndim if A.ndim > len(reps) else len(reps)
    A = reshape_view(A, (1,) * (ndim - A.ndim) + A.shape)
    reps = (1,) * (ndim - len(reps)) + reps
    if any(n < 0 for n in reps):
        raise ShapeError(f"mx.np.tile: a number of repeats in {reps} is negative")
    for axis, n in enumerate(reps):
        if n != 1:
            A = concatenate([A] * n, axis) if n else A[(slice(None),) * axis + (slice(0, 0),)]
    return A if ndim and any(n != 1 for n in reps) else A.copy()


def repeat(a, repeats, axis=None):
    """Repeat each element along an axis, or of the flattened array."""
    a = array_of(a, "repeat")
    if axis is None:
        a, axis = ravel(a), 0
    axis = _check_axis(axis, a.ndim, "repeat")
    counts = onp.broadcast_to(onp.asarray(repeats), (a.shape[axis],))
    rows = onp.repeat(onp.arange(a.shape[axis]), counts)
    return take(a, rows, axis)


def flip(m, axis=None, out=None):
    """The array with axes in the other direction, by default all."""
    m = array_of(m, "flip")
    axes = axes_of(axis, m.ndim, "flip")
    axes = range(m.ndim) if axes is None else axes
    if m.ndim == 0 or m.size == 0:
        return fill_out(m.copy(), out)
    key = tuple(slice(None, None, -1) if i in axes else slice(None) for i in range(m.ndim))
    return fill_out(m[key], out)


def fliplr(m):
    """The array with its columns in the other direction."""
    return flip(m, 1)


def flipud(m):
    """The array with its rows in the other direction."""
    return flip(m, 0)


def roll(a, shift, axis=None):
    """Shift elements along axes; elements beyond the end return at the front."""
    a = array_of(a, "roll")
    if axis is None:
        return reshape_view(roll(ravel(a), shift, 0), a.shape)
    axes = _as_ints(axis, "roll")
    shifts = onp.broadcast_to(onp.asarray(shift), (len(axes),)).tolist()
    for each, by in zip(axes, shifts):
        each = _check_axis(each, a.ndim, "roll")
        n = a.shape[each]
        by = by % n if n else 0
        if by:
            front = (slice(None),) * each
            parts = [a[(*front, slice(n - by, n))], a[(*front, slice(0, n - by))]]
            a = concatenate(parts, each)
    return a


def rot90(m, k=1, axes=(0, 1)):
    """The array turned by 90 degrees in the plane of two axes, k times."""
    m = array_of(m, "rot90")
    a, b = axes_of(tuple(axes), m.ndim, "rot90")
    k %= 4
    if k == 0:
        return m.copy()
    if k == 2:
        return flip(m, (a, b))
    turned = swapaxes(flip(m, b) if k == 1 else m, a, b)
    return turned if k == 1 else flip(turned, b)


def _is_index_array(indices):
    """Return whether an object is an array of int32 or int64."""
    if not isinstance(indices, NDArray) or indices._face is not NP:
        return False
    return indices.dtype_flag in _INDEX_DTYPES and indices.size > 0


def _are_in_range(indices, n):
    """Return whether all indices are integers from 0 to n - 1, which an operator takes
    unchanged."""
    if indices.context.device_type == "cpu":
        host = onp.frombuffer(indices, indices.dtype)
    else:
        host = indices.asnumpy()
    return bool(host.view(f"u{host.itemsize}").max() < n)  # unsigned: negative indices are large


def take(a, indices, axis=None, mode="raise", out=None):
    """Elements at indices along an axis, or of the flattened array."""
    a = array_of(a, "take")
    apart = not is_traced(a) and not is_tracked(a)  # the result needs no graph entry
    if axis is None:
        a, axis = (a._view((a.size,)) if apart else ravel(a)), 0
    axis = _check_axis(axis, a.ndim, "take")
    if mode == "raise" and out is None and _is_index_array(indices):
        if axis == 0 and apart:
            try:
                return a[indices]
            except IndexError:
                pass  # the message below names the function
        elif _are_in_range(indices, a.shape[axis]):
            return ops.take(a, indices, axis=axis, mode="clip")
    if not is_traced(indices):
        host = onp.asarray(indices.asnumpy() if isinstance(indices, NDArray) else indices)
        whole = host.dtype.kind in "iu" or (host.dtype.kind == "f" and (host % 1 == 0).all())
        if host.size and not whole:
            odd = host[host % 1 != 0][:1] if host.dtype.kind == "f" else host.reshape(-1)[:1]
            raise ArgumentTypeError(
                f"mx.np.take: indices are ints, got {host.dtype} with {odd.tolist()[0]}"
            )
        host = host.astype("int64")
        n = a.shape[axis]
        if mode == "raise" and host.size and (host.min() < -n or host.max() >= n):
            raise BoundsError(
                f"mx.np.take: an index is out of bounds for axis {axis} of length {n}"
            )
        if not n and not host.size:
            sizes = a.shape[:axis] + host.shape + a.shape[axis + 1 :]
            return fill_out(reshape_view(a, sizes), out)
        if mode == "clip":
            host = onp.clip(host, 0, n - 1)
        if n:
            host = host % n
        indices = array_of(host, "take")
    return fill_out(ops.take(a, indices, axis=axis, mode="clip"), out)


def append(arr, values, axis=None):
    """An array with values appended."""
    if axis is None:
        return concatenate([ravel(arr), ravel(values)])
    return concatenate([arr, values], axis)


__all__ = [
    name
    for name, value in list(vars().items())
    if getattr(value, "__module__", "") == __name__
    and name not in ("to_common_dtype", "reshape_view")
    and not name.startswith("_")
]
