"""Symbols that behave as the arrays of mx.np they represent, while a Block is traced with them."""

import numpy as np

from ...base.errors import BoundsError, shown
from ...base.tracing import active_trace
from ...ndarray import NDArray
from ...numpy import elementwise, shapes
from ...numpy._call import array_of, ops, refuse_order, refuse_unknown_cast
from ...numpy.dispatch import call_function, call_ufunc
from ...numpy.multiarray import ArrayMembers, define_operators
from ...operator.functions.numpy_rows import operators_of
from ...symbol import Symbol
from ...symbol.register import add_symbol_class
from .traced import Traced, UntraceableError

_HOST_INDEX_TYPES = (list, range, np.ndarray)  # indices whose values are known


class TracedNumpy(ArrayMembers, Traced):  # symbol in place of an mx.np array
    """A symbol with the methods of an mx.np array."""

    __slots__ = ()

    def __init__(self, entries):
        super().__init__(entries)
        for node, _ in entries:
            if node.op is not None and node.prop.no_axes:  # mx.np has shape ()
                node.prop = node.prop.changed(no_axes=())

    @property
    def dtype(self):
        """The element type, a numpy.dtype."""
        return np.dtype(active_trace().dtype(self))

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **kwargs):
        return call_ufunc(ufunc, method, inputs, out, kwargs)

    def __array_function__(self, func, types, args, kwargs):
        return call_function(func, args, kwargs)

    def as_np_ndarray(self):
        """The symbol itself."""
        return self

    as_nd_ndarray = as_np_ndarray

    def item(self, *args):
        """Refused."""
        self._refuse_value_read("item")

    def tolist(self):
        """Refused."""
        self._refuse_value_read("tolist")

    def astype(self, dtype, order="K", casting="unsafe", subok=True, copy=True):
        """See ``mx.np.ndarray.astype``."""
        refuse_order(order, "mx.np astype")
        refuse_unknown_cast(casting, "mx.np astype in a graph")
        return ops.cast(self, dtype=np.dtype(dtype).name)

    def copy(self):
        return ops.identity(self)

    @property
    def device(self):
        """The device of the call that is traced."""
        return active_trace().context

    def __getitem__(self, key):
        """Return a part of the array; see ``mx.np.ndarray``."""
        if len(self.entries) != 1:
            return TracedNumpy(Symbol.__getitem__(self, key).entries)
        keys = list(key) if isinstance(key, tuple) else [key]
        if any(each is Ellipsis for each in keys):
            at = next(i for i, each in enumerate(keys) if each is Ellipsis)
            count = sum(len(_normalize_subscript(each)) for each in keys if each is not None) - 1
            keys[at : at + 1] = [slice(None)] * (self.ndim - count)
        if any(isinstance(each, (NDArray, Symbol, *_HOST_INDEX_TYPES)) for each in keys):
            return self._take_elements(keys)
        keys += [slice(None)] * (self.ndim - sum(each is not None for each in keys))
        sizes, begins, ends, steps, result, axis = self.shape, [], [], [], [], 0
        if axis + sum(each is not None for each in keys) > len(sizes):
            raise BoundsError(f"too many indices ({len(keys)}) for an array of {self.ndim} axes")
        for each in keys:
            if each is None:
                result.append(1)
                continue
            n = sizes[axis]
            if isinstance(each, slice):
                start, stop, step = each.indices(n)
                result.append(len(range(start, stop, step)))
                stop = None if stop < 0 else stop
            elif hasattr(each, "__index__") and not isinstance(each, (bool, np.bool_)):
                start = each.__index__()
                if not -n <= start < n:
                    raise BoundsError(f"index {start} is out of bounds for axis {axis} of {n}")
                start %= n
                stop, step = start + 1, 1
            else:
                raise UntraceableError(f"an index of a traced array cannot be {shown(each)}")
            begins.append(start)
            ends.append(stop)
            steps.append(step)
            axis += 1
        whole = all(
            (b, e, s) in ((0, n, 1), (0, None, 1)) for b, e, s, n in zip(begins, ends, steps, sizes)
        )
        if 0 in result and not whole:  # the operator raises an error for an empty result
            return ops._zeros(shape=tuple(result), dtype=self.dtype.name)
        out = self
        if not whole and sizes:
            out = ops.slice(self, begin=tuple(begins), end=tuple(ends), step=tuple(steps))
        return shapes.reshape_view(out, tuple(result))

    def _take_elements(self, keys):
        """Index adjacent axes by ints and arrays of ints, and other axes by slices."""
        keys = [part for each in keys for part in _normalize_subscript(each)]
        keys += [slice(None)] * (self.ndim - len(keys))
        chosen = [i for i, each in enumerate(keys) if not isinstance(each, slice)]
        first, count = chosen[0], len(chosen)
        if any(each is None for each in keys) or chosen != list(range(first, first + count)):
            raise UntraceableError(
                "an index of a traced array has its arrays of ints in axes side by side, and None "
                "not beside them"
            )
        if len(keys) > self.ndim:
            raise BoundsError(f"too many indices ({len(keys)}) for an array of {self.ndim} axes")
        indices = [_normalize_index(keys[i], self.shape[i], i) for i in chosen]
        whole = [slice(None) if i in chosen else each for i, each in enumerate(keys)]
        out = self if all(each == slice(None) for each in whole) else self[tuple(whole)]
        if count == 1:
            return shapes.take(out, indices[0], axis=first, mode="clip")
        indices = shapes.stack(shapes.broadcast_arrays(*indices))
        order = [*chosen, *(i for i in range(self.ndim) if i not in chosen)]
        found = ops.gather_nd(out if first == 0 else shapes.transpose(out, order), indices)
        if first == 0:
            return found
        wide = indices.ndim - 1
        back = [*range(wide, wide + first), *range(wide), *range(wide + first, found.ndim)]
        return shapes.transpose(found, back)


def _normalize_subscript(key):
    """Convert an indexing key; a mask with known values becomes the indices where it is true."""
    if isinstance(key, NDArray) and np.dtype(key.dtype).kind == "b":
        key = key.asnumpy()
    if isinstance(key, _HOST_INDEX_TYPES):
        key = np.asarray(key)
        return key.nonzero() if key.dtype == bool else [key]
    if isinstance(key, Symbol) and np.dtype(key.dtype).kind == "b":
        raise UntraceableError(
            "an index of a traced array is of ints, slices and arrays of ints; what a mask that is "
            "computed of inputs picks has no shape that a graph can know"
        )
    return [key]


def _normalize_index(indices, n, axis):
    """Convert negative indices along an axis of length `n` to non-negative ones."""
    if isinstance(indices, (NDArray, Symbol)):
        indices = array_of(indices, "take").astype("int64")
        return indices + (indices < 0).astype("int64") * n
    indices = np.asarray(indices)
    wrong = (indices < -n) | (indices >= n)
    if wrong.any():
        wrong_index = indices[wrong].ravel()[0]
        raise BoundsError(f"index {wrong_index} is out of bounds for axis {axis} of {n}")
    return array_of(indices % n if n else indices, "take", "int64")


def _binary_method(name, swapped):
    operators = operators_of(name)

    def method(self, other):
        pair = (other, self) if swapped else (self, other)
        return elementwise.call_traced_binary(operators, *pair)

    method.__doc__ = f"``mx.np.{name}``."
    return method


define_operators(TracedNumpy, _binary_method)
TracedNumpy.__neg__ = lambda self: ops.negative(self)
TracedNumpy.__abs__ = lambda self: ops.abs(self)
TracedNumpy.__hash__ = None
add_symbol_class(TracedNumpy)
