"""mx.np.ndarray: the array class of mx.np, and its members."""

import numpy as onp

from .._core.face import legacy_face
from .._ndarray import with_face
from ..base.dtype import name_of
from ..base.errors import ArgumentError, ArgumentTypeError, shown
from ..ndarray.ndarray import NDArray
from . import elementwise, reductions, shapes
from ._call import NP, ops, refuse_order, refuse_unsafe_cast

_FUNCTION_OF_METHOD = {  # operator method without underscores -> function
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "true_divide",
    "mod": "mod",
    "pow": "power",
    "floordiv": "floor_divide",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
}
_COMPARISONS = {  # comparison method without underscores -> function
    "eq": "equal",
    "ne": "not_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "lt": "less",
    "le": "less_equal",
}


def define_operators(cls, method):
    """Add Python's operators to a class; ``method(name, reflected)`` makes the method of one."""
    for sign, name in _FUNCTION_OF_METHOD.items():
        setattr(cls, f"__{sign}__", method(name, False))
        setattr(cls, f"__r{sign}__", method(name, True))
    for sign, name in _COMPARISONS.items():
        setattr(cls, f"__{sign}__", method(name, False))


class ArrayMembers(elementwise.NumpyDtypeMethods):  # shared by arrays and symbols of mx.np
    """The methods and properties that arrays of mx.np share with their symbols."""

    __slots__ = ()

    # --- shapes -----------------------------------------------------------------------------------
    def reshape(self, *shape, order="C", newshape=None):
        """See ``mx.np.reshape``."""
        if newshape is not None:
            shape = newshape
        elif len(shape) == 1 and not hasattr(shape[0], "__index__"):
            (shape,) = shape
        return shapes.reshape(self, shape, order)

    def reshape_view(self, *shape, order="C"):
        """See ``mx.np.reshape``; shares memory."""
        return ArrayMembers.reshape(self, *shape, order=order)

    def transpose(self, *axes):
        """See ``mx.np.transpose``."""
        if len(axes) == 1 and (axes[0] is None or not hasattr(axes[0], "__index__")):
            (axes,) = axes
        return shapes.transpose(self, axes or None)

    @property
    def T(self):
        """The array with its axes reversed."""
        return shapes.transpose(self)

    @property
    def mT(self):
        """The array with its last two axes exchanged."""
        return shapes.matrix_transpose(self)

    def flatten(self, order="C"):
        """The elements in one axis, as a copy."""
        return shapes.ravel(self, order).copy()

    def ravel(self, order="C"):
        """The elements in one axis."""
        return shapes.ravel(self, order)

    def swapaxes(self, axis1, axis2):
        """See ``mx.np.swapaxes``."""
        return shapes.swapaxes(self, axis1, axis2)

    def squeeze(self, axis=None):
        """See ``mx.np.squeeze``."""
        return shapes.squeeze(self, axis)

    def expand_dims(self, axis):
        """See ``mx.np.expand_dims``."""
        return shapes.expand_dims(self, axis)

    def broadcast_to(self, shape):
        """See ``mx.np.broadcast_to``."""
        return shapes.broadcast_to(self, shape)

    def broadcast_like(self, other):
        """The array repeated to the shape of another."""
        return shapes.broadcast_to(self, other.shape)

    def repeat(self, repeats, axis=None):
        """See ``mx.np.repeat``."""
        return shapes.repeat(self, repeats, axis)

    def tile(self, reps):
        """See ``mx.np.tile``."""
        return shapes.tile(self, reps)

    def split(self, indices_or_sections, axis=0):
        """See ``mx.np.split``."""
        return shapes.split(self, indices_or_sections, axis)

    def take(self, indices, axis=None, mode="raise", out=None):
        """See ``mx.np.take``."""
        return shapes.take(self, indices, axis, mode, out)

    # --- reductions -------------------------------------------------------------------------------
    def sum(self, axis=None, dtype=None, out=None, keepdims=False):
        """See ``mx.np.sum``."""
        return reductions.sum(self, axis, dtype, out, keepdims)

    def prod(self, axis=None, dtype=None, out=None, keepdims=False):
        """See ``mx.np.prod``."""
        return reductions.prod(self, axis, dtype, out, keepdims)

    def mean(self, axis=None, dtype=None, out=None, keepdims=False):
        """See ``mx.np.mean``."""
        return reductions.mean(self, axis, dtype, out, keepdims)

    def std(self, axis=None, dtype=None, out=None, ddof=0, keepdims=False, correction=None):
        """See ``mx.np.std``."""
        return reductions.std(self, axis, dtype, out, ddof, keepdims, correction)

    def var(self, axis=None, dtype=None, out=None, ddof=0, keepdims=False, correction=None):
        """See ``mx.np.var``."""
        return reductions.var(self, axis, dtype, out, ddof, keepdims, correction)

    def max(self, axis=None, out=None, keepdims=False):
        """See ``mx.np.max``."""
        return reductions.max(self, axis, out, keepdims)

    def min(self, axis=None, out=None, keepdims=False):
        """See ``mx.np.min``."""
        return reductions.min(self, axis, out, keepdims)

    def ptp(self, axis=None, out=None, keepdims=False):
        """See ``mx.np.ptp``."""
        return reductions.ptp(self, axis, out, keepdims)

    def any(self, axis=None, out=None, keepdims=False):
        """See ``mx.np.any``."""
        return reductions.any(self, axis, out, keepdims)

    def all(self, axis=None, out=None, keepdims=False):
        """See ``mx.np.all``."""
        return reductions.all(self, axis, out, keepdims)

    def argmax(self, axis=None, out=None, keepdims=False):
        """See ``mx.np.argmax``."""
        return reductions.argmax(self, axis, out, keepdims)

    def argmin(self, axis=None, out=None, keepdims=False):
        """See ``mx.np.argmin``."""
        return reductions.argmin(self, axis, out, keepdims)

    def cumsum(self, axis=None, dtype=None, out=None):
        """See ``mx.np.cumsum``."""
        return reductions.cumsum(self, axis, dtype, out)

    # --- others -----------------------------------------------------------------------------------
    def abs(self):
        """The absolute values."""
        return ops.abs(self)

    def __pos__(self):
        return self

    def __invert__(self):
        return elementwise.FUNCTIONS["bitwise_not"](self)

    def __round__(self, digits=0):
        return self.round(0 if digits is None else digits)

    def __floor__(self):
        return ops.floor(self)

    def __ceil__(self):
        return ops.ceil(self)

    def __trunc__(self):
        return ops.trunc(self)

    def __divmod__(self, other):
        return self // other, self % other

    def __rdivmod__(self, other):
        return other // self, other % self

    def __matmul__(self, other):
        from . import products

        return products.matmul(self, other)

    def __rmatmul__(self, other):
        from . import products

        return products.matmul(other, self)

    def dot(self, b, out=None):
        """See ``mx.np.dot``."""
        from . import products

        return products.dot(self, b, out)

    def clip(self, min=None, max=None, out=None):
        """See ``mx.np.clip``."""
        from . import selection

        return selection.clip(self, min, max, out)

    def round(self, decimals=0, out=None):
        """See ``mx.np.round``."""
        from . import selection

        return selection.round(self, decimals, out)

    def argsort(self, axis=-1, kind=None, order=None, descending=False, stable=True):
        """See ``mx.np.argsort``."""
        from . import selection

        return selection.argsort(self, axis, kind, order, descending, stable)

    def nonzero(self):
        """See ``mx.np.nonzero``."""
        from . import selection

        return selection.nonzero(self)

    def diagonal(self, offset=0, axis1=0, axis2=1):
        """See ``mx.np.diagonal``."""
        from . import products

        return products.diagonal(self, offset, axis1, axis2)

    def trace(self, offset=0, axis1=0, axis2=1):
        """See ``mx.np.trace``."""
        from . import products

        return products.trace(self, offset, axis1, axis2)


class ndarray(ArrayMembers, NDArray):
    """An array with NumPy's semantics: its operations are run by the engine, asynchronously.

    It is made by ``mx.np.array``, ``zeros``, ``arange`` and their like. Results have the dtypes
    that NumPy's rules give, with float32 where NumPy has float64; comparisons give bools, what has
    no axes left has the shape (), and arrays of bool are masks.

    Examples
    --------
    >>> x = mx.np.array([[1, 2], [3, 4]])
    >>> x[x > 1.5]
    array([2., 3., 4.])
    >>> x.sum(), x.argmax(axis=1), (x > 2).dtype
    (array(10.), array([1, 1], dtype=int64), dtype('bool'))
    """

    __slots__ = ()

    @staticmethod
    def symbol_class():
        """The class of symbols that represent such arrays while a Block is traced."""
        from ..gluon.block.traced_numpy import TracedNumpy

        return TracedNumpy

    @property
    def dtype(self):
        """The element type, a numpy.dtype."""
        return onp.dtype(NDArray.dtype.__get__(self))

    def __hash__(self):
        return NDArray.__hash__(self)

    def __repr__(self):
        return array_text(self)

    def __str__(self):
        return str(self.asnumpy())

    def __format__(self, spec):
        return format(self.item(), spec) if spec and self.size == 1 else super().__format__(spec)

    def __bool__(self):
        if self.size > 1:
            raise ArgumentError(
                "The truth value of an ndarray with multiple elements is ambiguous. Use a.any() or "
                f"a.all(); this one has shape {self.shape}"
            )
        return bool(self.asnumpy().any())

    def __reduce__(self):
        return _restored, (self.host_copy(), self.context)

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **kwargs):
        from .dispatch import call_ufunc

        return call_ufunc(ufunc, method, inputs, out, kwargs)

    def __array_function__(self, func, types, args, kwargs):
        from .dispatch import call_function

        return call_function(func, args, kwargs)

    def __array_namespace__(self, *, api_version=None):
        """The namespace of the array API standard for such arrays, ``mx.np.array_api``.

        Raises
        ------
        ArgumentError
            It has another version of the standard.
        """
        from . import array_api

        if api_version not in (None, *array_api.VERSIONS):
            raise ArgumentError(
                f"mx.np: api_version is one of {', '.join(array_api.VERSIONS)}, "
                f"got {shown(api_version)}"
            )
        return array_api

    def __iadd__(self, other):
        return self._update_in_place("add", other)

    def __isub__(self, other):
        return self._update_in_place("subtract", other)

    def __imul__(self, other):
        return self._update_in_place("multiply", other)

    def __itruediv__(self, other):
        return self._update_in_place("true_divide", other)

    def __imod__(self, other):
        return self._update_in_place("mod", other)

    def __ipow__(self, other):
        return self._update_in_place("power", other)

    def __ifloordiv__(self, other):
        return self._update_in_place("floor_divide", other)

    def __iand__(self, other):
        return self._update_in_place("bitwise_and", other)

    def __ior__(self, other):
        return self._update_in_place("bitwise_or", other)

    def __ixor__(self, other):
        return self._update_in_place("bitwise_xor", other)

    def __ilshift__(self, other):
        return self._update_in_place("bitwise_left_shift", other)

    def __irshift__(self, other):
        return self._update_in_place("bitwise_right_shift", other)

    def __imatmul__(self, other):
        return self._check_and_assign("matmul", self @ other)

    def _update_in_place(self, name, other):
        return self._check_and_assign(name, elementwise.FUNCTIONS[name](self, other))

    def _check_and_assign(self, name, value):
        refuse_unsafe_cast(value.dtype, self.dtype, f"mx.np {name} in place: the array is of")
        if value.shape != self.shape:
            raise ArgumentError(
                f"mx.np {name}: an array of shape {self.shape} does not hold {value.shape}"
            )
        self[...] = value
        return self

    # --- values -----------------------------------------------------------------------------------
    def item(self, *args):
        """An element as a Python number: the only one, or the one at an index.

        Raises
        ------
        ArgumentError
            There are several, and no index.
        """
        return self.asnumpy().item(*args)

    def tolist(self):
        """The elements as nested lists of Python numbers."""
        return self.asnumpy().tolist()

    def fill(self, value):
        """Set all elements to a number."""
        self[...] = value

    def sort(self, axis=-1, kind=None, order=None):
        """Sort in place along an axis."""
        from . import selection

        self[...] = selection.sort(self, axis, kind, order)

    @property
    def itemsize(self):
        """Bytes of an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self):
        """Bytes of all elements."""
        return self.size * self.itemsize

    @property
    def device(self):
        """The device the array is on."""
        return self.context

    def to_device(self, device, /, *, stream=None):
        """The array on a device: itself where it is there."""
        return self.as_in_ctx(device)

    # --- copies -----------------------------------------------------------------------------------
    def as_np_ndarray(self):
        """The array itself."""
        return self

    def as_nd_ndarray(self):
        """The same memory, and gradient, as an array of mx.nd."""
        return with_face(self, legacy_face)

    def astype(self, dtype, order="K", casting="unsafe", subok=True, copy=True):
        """The elements as another dtype, in a new array unless `copy` is False.

        Raises
        ------
        ArgumentTypeError
            `casting` does not allow it.
        """
        refuse_order(order, "mx.np astype")
        name = (
            name_of(onp.dtype(dtype) if dtype is not bool else "bool")
            if not isinstance(dtype, str)
            else dtype
        )
        if casting != "unsafe" and not onp.can_cast(self.dtype, onp.dtype(name), casting):
            raise ArgumentTypeError(
                f"mx.np astype: {self.dtype} to {name} is not allowed by casting {shown(casting)}"
            )
        return NDArray.astype(self, name, copy)

    @property
    def grad(self):
        """The gradient array from `attach_grad`, an array of mx.np, or None."""
        found = NDArray.grad.__get__(self)
        return None if found is None else found.as_np_ndarray()


def array_text(array):
    """The text of ``repr``."""
    host = array.asnumpy()
    body = onp.array2string(host, separator=", ", prefix="array(")
    if host.size == 0:
        body = "[]" + f", shape={host.shape}"
    if array.dtype != onp.float32 and not (host.dtype == bool and host.size):
        body += f", dtype={name_of(array.dtype)}"
    if array.context.device_type == "gpu":
        body += f", ctx={array.context}"
    return f"array({body})"


def _restored(values, context):
    from .creation import array

    return array(values, values.dtype, context)


def as_np_ndarray(array):
    """The same memory, and gradient, as an array of mx.np."""
    return with_face(array, NP)


NP.set_array_class(ndarray)
__all__ = ["ndarray"]
