"""NDArray, the public array class, with a method for each operator."""

from .._core.copy import copy_array, copy_into
from .._core.face import legacy_face
from .._ndarray import empty as empty_array
from ..base.dtype import dtype_flag, name_of
from ..base.errors import ArgumentTypeError, GradientError, NotFoundError, shown, warn_user
from ..base.kinds import check_flag
from ..context import Context, read_context
from ..operator import get_operator
from ..operator.array_methods import METHODS
from . import _dlpack, _tape
from ._call import invoke
from ._indexing import NDArrayIndexing, from_host
from .methods import NumpyMethods, ShapeMethods

_walk_module = None  # module autograd._walk, set when it is imported


class _MissingAttr:  # hides an attribute: ``hasattr`` is False
    """An attribute that other packages' arrays have; ``hasattr`` returns False."""

    def __init__(self, text):
        self.text = text

    def __get__(self, instance, owner=None):
        raise NotFoundError(self.text)


class NDArray(ShapeMethods, NumpyMethods, NDArrayIndexing):
    """An array on a device; its operations are run by the engine, asynchronously.

    Arrays are made by ``mx.nd.array``, ``zeros``, ``ones`` and the like, and by every operator.
    Operators return at once; ``asnumpy``, ``asscalar`` and printing wait for the values. Arithmetic
    broadcasts as in NumPy, results keep the operands' dtype, comparisons give 0 and 1 of that
    dtype.

    ``x[i]``, ``x[i:j]`` and ``reshape`` are views of the same memory.

    Examples
    --------
    >>> x = mx.nd.array([[1, 2], [3, 4]])
    >>> x[0] += 10
    >>> (x * 2).asnumpy().tolist()
    [[22.0, 24.0], [6.0, 8.0]]
    >>> x.stype, x.grad is None
    ('default', True)
    >>> x.T
    [[11.  3.]
     [12.  4.]]
    <NDArray 2x2 @cpu(0)>
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y = (x * x).sum()
    ...
    >>> y.backward()
    >>> x.grad
    [[22. 24.]
     [ 6.  8.]]
    <NDArray 2x2 @cpu(0)>

    Operators return before they are done; these wait:

    >>> y.wait_to_read()
    >>> y.wait_to_write()
    >>> float(y.asscalar()), float((y + 1).asscalar())
    (290.0, 291.0)
    >>> x.host_copy()[1], x[0].shares_memory(x), (x + 0).shares_memory(x)
    (array([3., 4.], dtype=float32), True, False)
    """

    __slots__ = ()
    view = _MissingAttr("an NDArray has no 'view'; reshape(shape) gives a view of the same memory")
    __array_priority__ = 1000.0  # `np.float32(2) * x` calls the array's __rmul__

    @property
    def T(self):
        """The array with its axes reversed (a copy, as in MXNet)."""
        return self.copy() if self.ndim < 2 else self.transpose()

    @property
    def stype(self):
        """Storage type: ``'default'`` (dense), ``'csr'`` or ``'row_sparse'``."""
        return "default"

    def __repr__(self):
        return f"\n{self.asnumpy()}\n<NDArray {'x'.join(map(str, self.shape))} @{self.context}>"

    __str__ = __repr__

    def _repr_html_(self):
        from ..base.reprs import html_of_array  # imported late: only notebooks need it

        return html_of_array(self)

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
        return _dlpack.export_capsule(self.copy() if copy else self)

    def __dlpack_device__(self):
        return _dlpack.device_of(self)

    def to_dlpack_for_read(self):
        """A DLPack capsule over the array's memory, after waiting for it.

        Examples
        --------
        >>> capsule = mx.nd.array([1, 2]).to_dlpack_for_read()
        >>> mx.nd.from_dlpack(capsule)
        [1. 2.]
        <NDArray 2 @cpu(0)>
        """
        return _dlpack.export_capsule(self)

    to_dlpack_for_write = to_dlpack_for_read

    def copy(self):
        """A copy on the same device.

        Examples
        --------
        >>> x = mx.nd.array([1, 2])
        >>> y = x.copy()
        >>> y[0] = 9
        >>> x
        [1. 2.]
        <NDArray 2 @cpu(0)>
        """
        return _record_copy(self, copy_array(self))

    def copyto(self, other):
        """Copy the values into an array of the same shape, or to a new array on a device.

        Parameters
        ----------
        other : NDArray or Context
            The array to write, or the device of a new one.

        Returns
        -------
        NDArray
            `other`, or the new array.

        Raises
        ------
        ShapeError
            When the shapes differ.

        Examples
        --------
        >>> x = mx.nd.array([1, 2])
        >>> y = mx.nd.zeros(2)
        >>> x.copyto(y) is y, y.asnumpy().tolist()
        (True, [1.0, 2.0])
        """
        if isinstance(other, NDArray) and other.stype != "default":
            return other.assign_copy_of(self)
        if isinstance(other, Context):
            out = empty_array(
                self.shape, self.dtype_flag, other.device_typeid, other.device_id, True, self._face
            )
        elif isinstance(other, NDArray):
            if other is self:
                warn_user("copyto: source and target are one array", RuntimeWarning)
                return other
            _tape.check_writable(other)
            out = other
        else:
            raise ArgumentTypeError(
                f"copyto takes an NDArray or a Context, got {type(other).__name__}"
            )
        copy_into(self, out)
        return _record_copy(self, out)

    def as_in_context(self, context):
        """The array itself when it is on `context`, else a copy there.

        Parameters
        ----------
        context : Context
            The device.

        Examples
        --------
        >>> x = mx.nd.array([1, 2])
        >>> x.as_in_context(mx.cpu()) is x, x.as_in_context(mx.cpu(1)).context
        (True, cpu(1))
        """
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

        Examples
        --------
        >>> mx.nd.array([1.5, 2.5]).astype("int32")
        [1 2]
        <NDArray 2 @cpu(0)>
        """
        flag = dtype_flag(dtype)
        if copy is not True:
            check_flag("astype", "copy", copy)
            if not copy and flag == self.dtype_flag:
                return self
        return _record_copy(self, copy_array(self, flag))

    def tostype(self, stype):
        """Give a copy of the array in a storage type.

        Parameters
        ----------
        stype : str
            ``'csr'`` or ``'row_sparse'``, which wait for the array's values, or ``'default'``.

        Returns
        -------
        NDArray, CSRNDArray or RowSparseNDArray

        Raises
        ------
        ArgumentError
            If there is no such storage type, or not of as many axes.

        Examples
        --------
        >>> dense = mx.nd.array([[0, 1, 0], [0, 0, 0]])
        >>> dense.tostype("csr").indices.asnumpy(), dense.tostype("default") is dense
        (array([1]), False)
        """
        if isinstance(stype, str) and stype == "default":
            return self.copy()
        from .sparse.arrays import cast_storage

        return cast_storage(self, stype)

    def as_nd_ndarray(self):
        """The array itself.

        Examples
        --------
        >>> x = mx.nd.array([1, 2])
        >>> x.as_nd_ndarray() is x
        True
        """
        return self

    def as_np_ndarray(self):
        """The same memory, and gradient, as an array of ``mx.np``.

        Examples
        --------
        >>> x = mx.nd.array([1, 2])
        >>> y = x.as_np_ndarray()
        >>> y += 1
        >>> x.asnumpy().tolist(), (y > 2).dtype
        ([2.0, 3.0], dtype('bool'))
        """
        from ..numpy.multiarray import as_np_ndarray

        return as_np_ndarray(self)

    def attach_grad(self, grad_req="write", stype=None):
        """Give the array a gradient, zeros at first, which `backward` computes; what the array was
        computed from is forgotten.

        Parameters
        ----------
        grad_req : str
            What each backward does with the gradient: ``'write'`` overwrites it, ``'add'`` adds to
            it, ``'null'`` computes none.
        stype : str, optional
            Storage type of the gradient, by default that of the array. A ``'row_sparse'`` one
            holds only the rows that a backward by rows touches, as Embedding's.

        Raises
        ------
        ArgumentError
            `grad_req` is not one of those, or `stype` is not a storage type.

        Examples
        --------
        >>> x = mx.nd.array([1, 2, 3])
        >>> x.attach_grad()
        >>> with mx.autograd.record():
        ...     y = x * x
        >>> y.backward()
        >>> x.grad.asnumpy().tolist()
        [2.0, 4.0, 6.0]
        """
        if not isinstance(grad_req, str):
            raise ArgumentTypeError(f"attach_grad: grad_req must be a str, got {shown(grad_req)}")
        if stype is not None:
            from .sparse.arrays import check_stype

            check_stype(stype)
        grad = None
        if grad_req != "null":
            grad = initial_gradient(self, self.stype if stype is None else stype)
        _tape.mark_variable(self, grad, grad_req)

    def register_hook(self, hook):
        """Call ``hook(gradient)`` in each backward, with the whole gradient of the array.

        The array has a gradient (`attach_grad`), or was computed from one that has. What the hook
        returns stands in place of the gradient, for the array's own ``.grad`` and for what it was
        computed from. Of grad_req ``'add'`` a hook sees the part of this backward. Graphs of
        hybridized Blocks are one step: hooks of their inputs, outputs and parameters are called.

        Parameters
        ----------
        hook : callable
            Takes an NDArray of this array's shape, and returns another one, or None.

        Returns
        -------
        HookHandle
            Its ``detach`` takes the hook away.

        Raises
        ------
        GradientError
            No gradient goes to the array, as to those of a Module.

        Examples
        --------
        >>> x = mx.nd.array([1, 2, 3])
        >>> x.attach_grad()
        >>> handle = x.register_hook(lambda grad: mx.nd.clip(grad, -4, 4))
        >>> with mx.autograd.record():
        ...     y = x * x
        >>> y.backward()
        >>> x.grad.asnumpy().tolist()
        [2.0, 4.0, 4.0]
        >>> handle.detach()
        """
        from ..autograd import hooks

        return hooks.register_hook(self, hook)

    @property
    def grad(self):
        """The gradient from `attach_grad`, an NDArray of its shape and dtype, or None."""
        leaf = _tape.leaf_of(self)
        return None if leaf is None else leaf.grad

    def detach(self):
        """An array of the same memory, through which no gradient flows.

        Examples
        --------
        >>> x = mx.nd.array([2, 3])
        >>> x.attach_grad()
        >>> with mx.autograd.record():
        ...     y = x * x.detach()
        ...
        >>> y.backward()
        >>> x.grad
        [2. 3.]
        <NDArray 2 @cpu(0)>
        """
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
            Part of MXNet's signature: each operator runs in the mode that it was recorded in.

        Raises
        ------
        GradientError
            When the array was not computed in a record scope, its graph is gone, or an array that
            backward reads was changed since.
        ShapeError
            When `out_grad` has another shape.

        Examples
        --------
        >>> x = mx.nd.array([1, 2])
        >>> x.attach_grad()
        >>> with mx.autograd.record():
        ...     y = x * x
        ...
        >>> y.backward(mx.nd.array([1, 10]))
        >>> x.grad
        [ 2. 40.]
        <NDArray 2 @cpu(0)>
        """
        global _walk_module
        if _walk_module is None:  # an import statement takes a microsecond at each call
            from ..autograd import _walk as _walk_module
        grads = None if out_grad is None else [out_grad]
        _walk_module.backward([self], grads, retain_graph, train_mode)

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


def initial_gradient(array, stype):
    """Zeros like `array`, of storage type `stype`: the initial gradient."""
    context = array.context
    if stype != "default":
        from .sparse.creation import zeros

        return zeros(stype, array.shape, context, name_of(array.dtype))
    grad = empty_array(
        array.shape, array.dtype_flag, context.device_typeid, context.device_id, False, array._face
    )
    grad[:] = 0
    return grad


def _record_copy(source, target):
    """Record that `target` is a copy of `source`, if autograd records; returns `target`."""
    _tape.record_copy_of(source, target)
    return target


def _restore(values, device_type, device_id):
    context = Context(device_type, device_id)
    return from_host(values, dtype_flag(values.dtype), context.device_typeid, context.device_id)


def _operator_method(name, entry):
    def method(self, *args, **kwargs):
        return invoke(entry, (self, *args), kwargs)

    method.__name__ = name
    method.__qualname__ = f"NDArray.{name}"
    method.__doc__ = (
        f"``mx.nd.{name}`` of this array: {(entry.doc or name).strip().splitlines()[0]}"
    )
    return method


for _name in (name for name in METHODS if not hasattr(NumpyMethods, name)):
    setattr(NDArray, _name, _operator_method(_name, get_operator(_name)))
legacy_face.set_array_class(NDArray)
