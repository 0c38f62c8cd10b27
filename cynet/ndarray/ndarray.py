"""NDArray, the public array class: what is not an operator slot, plus a method for each
operator."""

from .._core.copy import copied, copy_into
from .._ndarray import empty as empty_array
from .._ndarray import set_public_class
from ..base.dtype import dtype_flag
from ..base.errors import (
    ArgumentError,
    ArgumentTypeError,
    GradientError,
    NotFoundError,
    ShapeError,
    shown,
    warn_user,
)
from ..base.guard import guarded
from ..base.kinds import check_flag
from ..context import Context, read_context
from ..operator import OPERATORS, get_operator
from . import _dlpack, _tape
from ._call import invoke
from ._indexing import NDArrayIndexing, from_host, recorded_reshape
from .numpy_like import NumpyMethods

_heads = None  # autograd.heads, which stands on a floor above

# Operators that are methods of every array: the array is their first input.
METHODS = (
    "abs",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctanh",
    "argmax",
    "argmax_channel",
    "argmin",
    "argsort",
    "broadcast_axes",
    "broadcast_like",
    "cbrt",
    "ceil",
    "clip",
    "cos",
    "cosh",
    "degrees",
    "depth_to_space",
    "diag",
    "exp",
    "expm1",
    "fix",
    "flip",
    "floor",
    "log",
    "log10",
    "log1p",
    "log2",
    "log_softmax",
    "max",
    "mean",
    "min",
    "nanprod",
    "nansum",
    "norm",
    "one_hot",
    "ones_like",
    "pad",
    "pick",
    "prod",
    "radians",
    "rcbrt",
    "reciprocal",
    "relu",
    "repeat",
    "reshape_like",
    "rint",
    "round",
    "rsqrt",
    "shape_array",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "size_array",
    "slice",
    "slice_axis",
    "slice_like",
    "softmax",
    "softmin",
    "sort",
    "space_to_depth",
    "split",
    "sqrt",
    "square",
    "sum",
    "swapaxes",
    "take",
    "tan",
    "tanh",
    "tile",
    "topk",
    "trunc",
    "zeros_like",
)


class _Absent:
    """An attribute that other packages' arrays have; ``hasattr`` says False."""

    def __init__(self, text):
        self.text = text

    def __get__(self, instance, owner=None):
        raise NotFoundError(self.text)


class NDArray(NumpyMethods, NDArrayIndexing):
    """An array on a device; its operations are run by the engine, asynchronously.

    Arrays are made by ``mx.nd.array``, ``zeros``, ``ones`` and the like, and by every operator.
    Operators return at once; ``asnumpy``, ``asscalar`` and printing wait for the values. Arithmetic
    broadcasts as in NumPy, results keep the operands' dtype, comparisons give 0 and 1 of that
    dtype.

    ``x[i]``, ``x[i:j]`` and ``reshape`` are views of the same memory.

    Examples
    --------
    >>> import cynet as mx
    >>> x = mx.nd.array([[1, 2], [3, 4]])
    >>> x[0] += 10
    >>> (x * 2).asnumpy().tolist()
    [[22.0, 24.0], [6.0, 8.0]]
    """

    __slots__ = ()
    view = _Absent("an NDArray has no 'view'; reshape(shape) gives a view of the same memory")
    __array_priority__ = 1000.0  # so that NumPy scalars leave `np.float32(2) * x` to the array

    @property
    def T(self):
        """The array with its axes reversed (a copy, as in MXNet)."""
        return self if self.ndim < 2 else self.transpose()

    @property
    def stype(self):
        """Storage type: ``'default'`` (dense), ``'csr'`` or ``'row_sparse'``."""
        return "default"

    def __repr__(self):
        return f"\n{self.asnumpy()}\n<NDArray {'x'.join(map(str, self.shape))} @{self.context}>"

    __str__ = __repr__

    def __format__(self, spec):
        """The text of the array, or its one element formatted: ``f"{loss:.3f}"``."""
        if not spec:
            return str(self)
        if self.size != 1:
            raise ArgumentTypeError(
                f"format {shown(spec)} takes an array of one element, this one has shape "
                f"{self.shape}; use asnumpy() or reduce it first"
            )
        return format(self.asscalar(), spec)

    def __iter__(self):
        if self.ndim == 0:
            raise ArgumentTypeError("iteration over an array without axes")
        for i in range(len(self)):
            yield self[i]

    def __reduce__(self):
        return _restore, (self.host_copy(), self.context.device_type, self.context.device_id)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        return _dlpack.export(self.copy() if copy else self)

    def __dlpack_device__(self):
        return _dlpack.device_of(self)

    def to_dlpack_for_read(self):
        """A DLPack capsule over the array's memory, after waiting for it."""
        return _dlpack.export(self)

    to_dlpack_for_write = to_dlpack_for_read

    # --- copies -----------------------------------------------------------------------------------
    def copy(self):
        """A copy on the same device."""
        return _noted(self, copied(self))

    def copyto(self, other):
        """Copy the values into an array of the same shape, or to a new array on a device.

        Parameters
        ----------
        other : NDArray or Context

        Returns
        -------
        NDArray
            `other`, or the new array.

        Raises
        ------
        ShapeError
            When the shapes differ.
        """
        if isinstance(other, NDArray) and other.stype != "default":
            return other.copied_from(self)
        if isinstance(other, Context):
            out = empty_array(
                self.shape, self.dtype_flag, other.device_typeid, other.device_id, True
            )
        elif isinstance(other, NDArray):
            if other is self:
                warn_user("copyto: source and target are one array", RuntimeWarning)
                return other
            _tape.check_written(other)
            out = other
        else:
            raise ArgumentTypeError(
                f"copyto takes an NDArray or a Context, got {type(other).__name__}"
            )
        copy_into(self, out)
        return _noted(self, out)

    def as_in_context(self, context):
        """The array itself when it is on `context`, else a copy there."""
        context = read_context(context)
        return self if context == self.context else self.copyto(context)

    as_in_ctx = as_in_context

    def astype(self, dtype, copy=True):
        """A copy with another element type.

        Parameters
        ----------
        dtype : str or numpy.dtype or type
            ``'float32'``, ``numpy.int32``, ...
        copy : bool
            False returns the array itself when it has that dtype already.
        """
        flag = dtype_flag(dtype)
        if copy is not True:
            check_flag("astype", "copy", copy)
            if not copy and flag == self.dtype_flag:
                return self
        return _noted(self, copied(self, flag))

    def tostype(self, stype):
        """The array in another storage type: ``'csr'`` or ``'row_sparse'``, which wait for its
        values; the array itself for ``'default'``."""
        if isinstance(stype, str) and stype == "default":
            return self
        from .sparse.arrays import cast

        return cast(self, stype)

    def as_nd_ndarray(self):
        """The array itself."""
        return self

    # --- gradients --------------------------------------------------------------------------------
    def attach_grad(self, grad_req="write", stype=None):
        """Give the array a gradient, zeros at first, which `backward` computes; what the array was
        computed from is forgotten.

        Parameters
        ----------
        grad_req : str
            ``'write'``: each backward overwrites it; ``'add'``: adds to it; ``'null'``: there is
            none.
        stype : str, optional
            Its storage type: ``'default'`` is the only one.

        Examples
        --------
        >>> import cynet as mx
        >>> x = mx.nd.array([1, 2, 3])
        >>> x.attach_grad()
        >>> with mx.autograd.record():
        ...     y = x * x
        >>> y.backward()
        >>> x.grad.asnumpy().tolist()
        [2.0, 4.0, 6.0]
        """
        if stype not in (None, "default"):
            raise ArgumentError(
                f"attach_grad: a gradient of storage type {shown(stype)} is not supported yet, "
                "only 'default'"
            )
        if not isinstance(grad_req, str):
            raise ArgumentTypeError(f"attach_grad: grad_req must be a str, got {shown(grad_req)}")
        grad = None
        if grad_req != "null":
            context = self.context
            grad = empty_array(
                self.shape, self.dtype_flag, context.device_typeid, context.device_id
            )
            grad[:] = 0
        _tape.mark(self, grad, grad_req)

    @property
    def grad(self):
        """The gradient that `attach_grad` gave the array, an NDArray of its shape and dtype, or
        None."""
        leaf = _tape.leaf_of(self)
        return None if leaf is None else leaf.grad

    def detach(self):
        """The same memory as another array, which no gradient goes through."""
        return self._view(self.shape)

    def backward(self, out_grad=None, retain_graph=False, train_mode=True):
        """Compute the gradients of the arrays that this one was computed from in a record scope.

        Parameters
        ----------
        out_grad : NDArray, optional
            The gradient of this array, of its shape; by default ones.
        retain_graph : bool
            Keep the graph for another backward.
        train_mode : bool
            Kept for MXNet's signature: each operator goes back in the mode it ran in.

        Raises
        ------
        GradientError
            When the array was not computed in a record scope, its graph is gone, or an array that
            backward reads was changed since.
        ShapeError
            When `out_grad` has another shape.
        """
        global _heads
        if _heads is None:  # an import statement takes a microsecond at each call
            from ..autograd import heads as _heads
        grads = None if out_grad is None else [out_grad]
        _heads.run_backward([self], grads, retain_graph, train_mode)

    @property
    def _fresh_grad(self):
        leaf = _tape.leaf_of(self)
        return leaf is not None and leaf.fresh

    @_fresh_grad.setter
    def _fresh_grad(self, value):
        leaf = _tape.leaf_of(self)
        if leaf is None:
            raise GradientError("an array without a gradient has no fresh one; call attach_grad")
        leaf.fresh = value

    # --- shapes -----------------------------------------------------------------------------------
    def reshape(self, *shape, **kwargs):
        """A view of the same memory under another shape.

        Parameters
        ----------
        shape : tuple of int, or ints
            Sizes, with MXNet's codes: 0 keeps the size, -1 is inferred, -2 keeps all that remain,
            -3 joins two axes, -4 splits one into the two sizes that follow.
        reverse : bool
            Read the codes from the last axis to the first.

        Raises
        ------
        ShapeError
            When the sizes do not fit.

        Examples
        --------
        >>> import cynet as mx
        >>> mx.nd.zeros((2, 3, 4)).reshape((0, -1)).shape
        (2, 12)
        """
        if not kwargs:
            try:
                out = self._plain_reshape(shape)
            except OverflowError:
                out = None  # said below
            if out is not None:
                return self._reshaped(out.shape) if _tape.follows(self) else out
        reverse = kwargs.pop("reverse", False)
        if "shape" in kwargs:
            if shape:
                raise ArgumentTypeError("reshape: the shape is given twice")
            shape = (kwargs.pop("shape"),)
        if kwargs:
            raise ArgumentTypeError(f"reshape takes shape and reverse, got {', '.join(kwargs)}")
        if not shape:
            raise ArgumentTypeError("reshape: the shape is missing")
        if len(shape) == 1 and not hasattr(shape[0], "__index__"):
            shape = shape[0]
        try:
            sizes = tuple(n.__index__() for n in shape)
        except (AttributeError, TypeError):
            raise ArgumentTypeError(
                f"reshape: a shape is a tuple of ints, got {shown(shape)}"
            ) from None
        if not sizes or min(sizes) <= 0:
            sizes = self._infer_reshape(sizes, reverse)
        if _product(sizes) != self.size:
            raise ShapeError(
                f"reshape: an array of shape {self.shape} cannot take shape {shown(sizes)}"
            )
        return self._reshaped(sizes)

    def _reshaped(self, sizes):
        if _tape.follows(self) and self.size:
            return recorded_reshape(self, sizes)
        return self._view(sizes)

    def _infer_reshape(self, sizes, reverse):
        if not sizes:
            return ()
        prop = get_operator("Reshape").prop(shape=sizes, reverse=reverse)
        return prop.output_shapes([self.shape])[0]

    def transpose(self, *order, axes=None):
        """A copy with the axes in the given order, or reversed without one.

        Parameters
        ----------
        *order : int, or one tuple of int
            Axis of this array for each axis of the result.
        axes : tuple of int, optional
            The same by name.
        """
        if order and axes is not None:
            raise ArgumentTypeError("transpose: the axes are given twice")
        if len(order) == 1 and not hasattr(order[0], "__index__"):
            order = order[0]
        given = order if axes is None else axes
        if hasattr(given, "__len__"):
            given = tuple(given) or None
        params = {} if given is None else {"axes": given}
        return invoke(get_operator("transpose"), (self,), params)

    @guarded
    def slice_assign(self, rhs, begin, end, step):
        """Put `rhs` into the part of this array that ``mx.nd.slice`` takes; this array."""
        self[_part(begin, end, step)] = rhs
        return self

    @guarded
    def slice_assign_scalar(self, value, begin, end, step):
        """Put a number into the part of this array that ``mx.nd.slice`` takes; this array."""
        self[_part(begin, end, step)] = value
        return self

    def _same_bytes(self, operator, inplace, **params):
        """`operator`, which changes nothing but the shape, as a copy or as a view."""
        check_flag(operator, "inplace", inplace)
        entry = get_operator(operator)
        if not inplace:
            return invoke(entry, (self,), params)
        return self._reshaped(entry.prop(**params).infer_shape([self.shape], [None])[1][0])

    def expand_dims(self, axis, inplace=False):
        """A copy with an axis of length 1 at place `axis`; with `inplace` a view of the same
        memory."""
        return self._same_bytes("expand_dims", inplace, axis=axis)

    def squeeze(self, axis=None, inplace=False):
        """A copy without its axes of length 1, or without those of `axis`; with `inplace` a view of
        the same memory."""
        return self._same_bytes("squeeze", inplace, **({} if axis is None else {"axis": axis}))

    def flatten(self, inplace=False):
        """A copy with two axes, the first one and all others joined; with `inplace` a view of the
        same memory."""
        return self._same_bytes("Flatten", inplace)

    def split_v2(self, indices_or_sections, axis=0, squeeze_axis=False):
        """See ``mx.nd.split_v2``."""
        from .creation import split_v2

        return split_v2(self, indices_or_sections, axis, squeeze_axis)

    def broadcast_to(self, shape):
        """A copy whose axes of size 1 are repeated up to `shape`; missing leading axes are
        added."""
        try:
            shape = tuple(shape)
        except TypeError:  # a number
            shape = (shape,)
        array = self
        if len(shape) > self.ndim:
            array = self._reshaped((1,) * (len(shape) - self.ndim) + self.shape)
        return invoke(get_operator("broadcast_to"), (array,), {"shape": shape})


def _noted(source, target):
    """`target`, a copy of `source`, which belongs to the graph where autograd records."""
    _tape.note_copy(source, target)
    return target


def _part(begin, end, step):
    """The slices of ``mx.nd.slice``'s parameters; a `step` of () or None is one of 1."""
    steps = step or (None,) * len(begin)
    if not len(begin) == len(end) == len(steps):
        raise ArgumentError(
            f"slice_assign: begin {begin}, end {end} and step {step} must be as long as each other"
        )
    return tuple(map(slice, begin, end, steps))


def _product(sizes):
    out = 1
    for n in sizes:
        out *= n
    return out


def _restore(values, device_type, device_id):
    context = Context(device_type, device_id)
    return from_host(values, dtype_flag(values.dtype), context.device_typeid, context.device_id)


def _method(name, entry):
    def method(self, *args, **kwargs):
        return invoke(entry, (self, *args), kwargs)

    method.__name__ = name
    method.__qualname__ = f"NDArray.{name}"
    method.__doc__ = (
        f"``mx.nd.{name}`` of this array: {(entry.doc or name).strip().splitlines()[0]}"
    )
    return method


for _name in METHODS:
    if _name in OPERATORS:
        setattr(NDArray, _name, _method(_name, get_operator(_name)))
set_public_class(NDArray)
# The slots just taken have no matrix product.
NDArray.__matmul__, NDArray.__rmatmul__ = NumpyMethods.__matmul__, NumpyMethods.__rmatmul__
