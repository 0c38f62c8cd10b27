"""Symbols that behave as the arrays of mx.np they stand for, while a Block is traced with them."""

import numpy as np

from ...base.errors import BoundsError, shown
from ...base.tracing import active
from ...ndarray import NDArray
from ...numpy import elementwise, shapes
from ...numpy._call import array_of, ops
from ...numpy.multiarray import Members
from ...operator.functions.numpy_rows import operators_of
from ...symbol import Symbol
from ...symbol.register import add_symbol_class
from .traced import Traced, UntraceableError


class TracedNumpy(Members, Traced):
    """A symbol with the face of an array of mx.np."""

    __slots__ = ()

    def __init__(self, entries):
        super().__init__(entries)
        for node, _ in entries:
            if node.op is not None and node.prop.no_axes:  # what has no axes left has none here
                node.prop = node.prop.changed(no_axes=())

    @property
    def dtype(self):
        """The element type, a numpy.dtype."""
        return np.dtype(active().dtype(self))

    def as_np_ndarray(self):
        """The symbol itself."""
        return self

    as_nd_ndarray = as_np_ndarray

    def item(self, *args):
        """Refused."""
        self._refuse("item")

    def tolist(self):
        """Refused."""
        self._refuse("tolist")

    def astype(self, dtype, order="K", casting="unsafe", subok=True, copy=True):
        """See ``mx.np.ndarray.astype``."""
        return ops.cast(self, dtype=np.dtype(dtype).name)

    def copy(self):
        """A copy."""
        return ops.identity(self)

    @property
    def device(self):
        """The device of the call that is traced."""
        return active().context

    def __getitem__(self, key):
        """A part of the array, as of ``mx.np.ndarray``."""
        if len(self.entries) != 1:
            return TracedNumpy(Symbol.__getitem__(self, key).entries)
        keys = list(key) if isinstance(key, tuple) else [key]
        arrays = [each for each in keys if isinstance(each, (NDArray, Symbol, np.ndarray, list))]
        if arrays:
            return self._picked(keys, arrays)
        if any(each is Ellipsis for each in keys):
            at = next(i for i, each in enumerate(keys) if each is Ellipsis)
            count = sum(each is not None and each is not Ellipsis for each in keys)
            keys[at : at + 1] = [slice(None)] * (self.ndim - count)
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
        out = self
        if not whole and sizes:
            out = ops.slice(self, begin=tuple(begins), end=tuple(ends), step=tuple(steps))
        return shapes.reshaped(out, tuple(result))

    def _picked(self, keys, arrays):
        """The rows of an array of numbers, the only key or one behind whole axes."""
        front = keys.index(arrays[0]) if len(keys) > 1 else 0
        kind = getattr(arrays[0], "dtype", None)
        if (
            len(arrays) > 1
            or any(k != slice(None) for k in keys[:front] + keys[front + 1 :])
            or (kind is not None and np.dtype(kind).kind == "b")
        ):
            raise UntraceableError(
                "an index of a traced array is of ints, slices and one array of ints; masks have "
                "no shape that a graph can know"
            )
        return shapes.take(self, array_of(arrays[0], "take", "int64"), axis=front, mode="clip")


def _binary(name, turned):
    operators = operators_of(name)

    def method(self, other):
        pair = (other, self) if turned else (self, other)
        return elementwise.traced_binary(operators, *pair)

    method.__doc__ = f"``mx.np.{name}``."
    return method


_SIGNS = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "true_divide", "mod": "mod",
    "pow": "power", "floordiv": "floor_divide", "and": "bitwise_and", "or": "bitwise_or",
    "xor": "bitwise_xor", "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift",
}  # fmt: skip
_COMPARED = {
    "eq": "equal", "ne": "not_equal", "gt": "greater", "ge": "greater_equal", "lt": "less",
    "le": "less_equal",
}  # fmt: skip
for _sign, _name in _SIGNS.items():
    setattr(TracedNumpy, f"__{_sign}__", _binary(_name, False))
    setattr(TracedNumpy, f"__r{_sign}__", _binary(_name, True))
for _sign, _name in _COMPARED.items():
    setattr(TracedNumpy, f"__{_sign}__", _binary(_name, False))
TracedNumpy.__neg__ = lambda self: ops.negative(self)
TracedNumpy.__abs__ = lambda self: ops.abs(self)
TracedNumpy.__hash__ = None
add_symbol_class(TracedNumpy)
