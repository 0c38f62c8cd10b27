"""Operators that run: Operator, Blob and OpEntry (contract in _base.pxd), and their table."""

from cpython.buffer cimport PyBUF_FORMAT

from ..engine.python_tasks cimport PyRunContext
from .._resource cimport Resource, kRandom
from .._typedefs cimport TBlob, dtype_size, kBfloat16, kCPU, kCPUPinned, kCPUShared

import numpy as np

from ..storage.block import Memory
from ..context import Context
from ..base.dtype import numpy_dtype
from ..base.errors import ArgumentTypeError, HostMemoryError, NotFoundError, OperatorError
from ..registry import Registry
from .custom.callback_checks import Callback, CallbackChecker

OPERATORS = Registry("operator")  # all, by name
_HOST = Context("cpu")  # the device of a Python operator's temporary memory

cdef const char** _BUFFER_FORMATS = [b"f", b"d", b"e", b"B", b"i", b"b", b"q", b"?"]  # by dtype
cdef tuple _DEVICE_NAMES = (None, "cpu", "gpu", "cpu_pinned", None, "cpu_shared")  # by device type


cdef class Operator:  # forward and backward for fixed shapes and dtypes
    """An operator instance: the computation for fixed shapes and dtypes.

    In Python, define ``forward(self, ctx, in_data, req, out_data, aux_states)`` and, for a
    gradient, ``backward(self, ctx, out_grad, in_data, out_data, req, in_grad, aux_states)``: the
    data are lists of `Blob` (None where `declare_backward_dependency` does not name it), `req` a
    list of `OpReq` numbers and `ctx` has `is_train`, `run_ctx` and `requested`.

    What the framework asks of an operator besides is below and among the fields of ``_base.pxd``:
    `stateful`, `memory_owner`, `rows_of` (with ``OpContext.rows``), `replays_random`, `waits` and
    `with_scalar`. The answers here fit any operator.

    Examples
    --------
    >>> class Reverse(mx.operator.Operator):
    ...     def forward(self, ctx, in_data, req, out_data, aux_states):
    ...         mx.operator.simple.assign(out_data[0], req[0], np.asarray(in_data[0])[::-1])
    >>> @mx.operator.register("doctest_reverse")
    ... class ReverseProperty(mx.operator.OperatorProperty):
    ...     def create_operator(self, ctx, in_shapes, in_types):
    ...         return Reverse()
    >>> mx.nd.doctest_reverse(mx.nd.array([1, 2, 3])).asnumpy()
    array([3., 2., 1.], dtype=float32)
    """

    # True: on a GPU, each replay of a recorded CUDA graph gets new random numbers in both passes.
    replays_random = False

    def __cinit__(self, *args, **kwargs):
        self.runs_python = hasattr(type(self), "forward")
        self.stateful = self.runs_python

    @property
    def rows_of(self):
        """Index of the input whose gradient's nonzero rows backward reports, or 0."""
        return self._rows_of

    def waits(self, bint backward):
        """Return whether, on a GPU, the host waits for the device while it launches this pass.

        No graph can record that.

        Parameters
        ----------
        backward : bool
            Whether backward is meant, or forward.

        Returns
        -------
        bool
            False unless a subclass says otherwise.

        Examples
        --------
        >>> mx.operator.Operator().waits(False)
        False
        """
        return False

    def with_scalar(self, value):
        """Return the same operator for another value of its parameter `scalar`.

        An imperative call with a new number asks for it.

        Parameters
        ----------
        value : object
            The new value.

        Returns
        -------
        Operator or None
            None where it has to be made anew, as it is unless a subclass says otherwise.

        Examples
        --------
        >>> mx.operator.Operator().with_scalar(3) is None
        True
        """
        return None

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        with gil:
            _call_python_method(self, "forward", (
                PyOpContext.make(ctx), _blob_list(self, in_data, ctx.n_in),
                _request_list(req, ctx.n_out), _blob_list(self, out_data, ctx.n_out),
                _blob_list(self, aux_states, ctx.n_aux)))
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        with gil:
            _call_python_method(self, "backward", (
                PyOpContext.make(ctx), _blob_list(self, out_grad, ctx.n_out),
                _blob_list(self, in_data, ctx.n_in), _blob_list(self, out_data, ctx.n_out),
                _request_list(req, ctx.n_in), _blob_list(self, in_grad, ctx.n_in),
                _blob_list(self, aux_states, ctx.n_aux)))
        return 0


cdef int _call_python_method(Operator op, str name, tuple args) except -1:
    method = getattr(op, name, None)
    if method is None:
        raise OperatorError(f"{type(op).__name__} defines no {name}")
    try:
        method(*args)
    except OperatorError:  # an OperatorError already names the callback and the line
        raise
    except Exception as error:
        failure = CallbackChecker(type(op).__name__).callback_error(Callback(method, name), error)
    else:
        return 0
    raise failure


cdef list _blob_list(Operator op, const TBlob* blobs, int n):
    cdef list out = []
    cdef OwnedBlob blob
    cdef int i
    for i in range(n):
        blob = None if blobs[i].data == NULL else Blob.wrap(&blobs[i])
        if blob is not None:
            blob.owner = op.memory_owner
        out.append(blob)
    return out


cdef list _request_list(const int* req, int n):
    return [req[i] for i in range(n)]


cdef class Blob:  # a tensor (TBlob) for Python code
    """A tensor the engine hands to an operator: ``np.asarray(blob)`` is a writable view of it.

    It is valid for the call it was handed to. It cannot be made.

    Attributes
    ----------
    shape : tuple of int
        Lengths of the axes.
    dtype : numpy.dtype
        Element type; for bfloat16 one that holds its bits.
    ctx : Context
        The device the memory is on.
    data : memoryview
        The elements.
    data_ptr : int
        Address of the first element.

    Examples
    --------
    >>> class Look(mx.operator.Operator):
    ...     def forward(self, ctx, in_data, req, out_data, aux_states):
    ...         print(in_data[0], in_data[0].data.nbytes, "bytes")
    ...         np.asarray(out_data[0])[...] = in_data[0]
    >>> @mx.operator.register("doctest_look")
    ... class LookProperty(mx.operator.OperatorProperty):
    ...     def create_operator(self, ctx, in_shapes, in_types):
    ...         return Look()
    >>> mx.nd.doctest_look(mx.nd.ones((2, 3))).wait_to_read()
    <Blob (2, 3) float32 @cpu(0)> 24 bytes
    """

    def __init__(self):
        raise ArgumentTypeError("a Blob is handed to an operator; it cannot be made")

    @staticmethod
    cdef Blob wrap(const TBlob* blob):
        cdef Blob self = OwnedBlob.__new__(OwnedBlob)
        cdef Py_ssize_t stride = dtype_size(blob.dtype)
        cdef int i
        self.blob = blob[0]
        for i in range(blob.ndim - 1, -1, -1):
            self._shape[i] = blob.shape[i]
            self._strides[i] = stride
            stride *= blob.shape[i]
        return self

    @property
    def shape(self):
        """Tuple of int."""
        return tuple([self._shape[i] for i in range(self.blob.ndim)])

    @property
    def dtype(self):
        """The NumPy dtype."""
        return numpy_dtype(self.blob.dtype)

    @property
    def ctx(self):
        """The device the memory is on."""
        return Context(_DEVICE_NAMES[self.blob.dev_type], self.blob.dev_id)

    @property
    def data(self):
        """A memoryview of the memory."""
        return memoryview(self)

    @property
    def data_ptr(self):
        """Address of the first element, an int."""
        return <size_t>self.blob.data

    @property
    def __cuda_array_interface__(self):
        if self.blob.dev_type in (kCPU, kCPUPinned, kCPUShared):
            raise NotFoundError(f"this blob is on {self.ctx}, not on a GPU")
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (self.data_ptr, False),
                "version": 3}

    def __getbuffer__(self, Py_buffer* view, int flags):
        if self.blob.dev_type not in (kCPU, kCPUPinned, kCPUShared):
            raise HostMemoryError(f"this blob is on {self.ctx}: the host cannot read its memory")
        if self.blob.dtype == kBfloat16:
            raise HostMemoryError("bfloat16 has no form in the buffer protocol")
        view.buf = self.blob.data
        view.obj = self
        view.len = self.blob.size * dtype_size(self.blob.dtype)
        view.itemsize = dtype_size(self.blob.dtype)
        view.readonly = 0
        view.ndim = self.blob.ndim
        view.format = <char*>_BUFFER_FORMATS[self.blob.dtype] if flags & PyBUF_FORMAT else NULL
        view.shape = self._shape
        view.strides = self._strides
        view.suboffsets = NULL
        view.internal = NULL

    def __releasebuffer__(self, Py_buffer* view):
        pass

    def __repr__(self):
        return f"<Blob {self.shape} {self.dtype} @{self.ctx}>"


cdef class OwnedBlob(Blob):  # its memory lives as long as it
    # A Blob whose memory lives at least as long as it does, and as any view of it.
    cdef object owner


cdef class PyResource:  # a requested resource, for Python code
    """A resource an operator requested: get_space or get_random."""

    cdef Resource resource

    def get_space(self, shape, dtype="float32"):
        """Uninitialised temporary memory of the pool, as a NumPy array that gives it back."""
        dtype = np.dtype(dtype)
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        cdef size_t nbytes = dtype.itemsize
        for n in shape:
            nbytes *= n
        if self.resource.type == kRandom:
            raise ArgumentTypeError("get_space: this resource was requested as random")
        # a separate block, not the thread's buffer: operators that this one calls run on the same
        # thread
        memory = Memory(nbytes if nbytes else 1, _HOST)
        return np.asarray(memory)[:nbytes].view(dtype).reshape(shape)

    def get_random(self):
        """A ``numpy.random.Generator`` over this run's stream of the seeded Philox generator."""
        if self.resource.type != kRandom:
            raise ArgumentTypeError("get_random: this resource was requested as temp_space")
        return np.random.Generator(
            np.random.Philox(key=self.resource.seed, counter=[0, 0, self.resource.stream, 0]))


cdef class PyOpContext:  # an OpContext for Python code
    """The `ctx` a Python operator gets: ``is_train``, ``run_ctx``, ``requested``."""

    cdef readonly bint is_train
    cdef readonly PyRunContext run_ctx
    cdef readonly list requested

    @staticmethod
    cdef PyOpContext make(OpContext* ctx):
        cdef PyOpContext self = PyOpContext.__new__(PyOpContext)
        cdef PyResource resource
        self.is_train = ctx.is_train
        self.run_ctx = PyRunContext.wrap_context(&ctx.run_ctx)
        self.requested = []
        for i in range(ctx.n_requested):
            resource = PyResource.__new__(PyResource)
            resource.resource = ctx.requested[i]
            self.requested.append(resource)
        return self


cdef class OpEntry:  # a registered operator
    """One registered operator: its canonical name, aliases and OperatorProperty subclass."""

    def __init__(self, str name, prop, tuple aliases=(), str doc=""):
        self.name = name
        self.prop = prop
        self.aliases = aliases
        self.doc = doc
        self.cache = {}

    def __repr__(self):
        return f"<operator {self.name}>"

    def __reduce__(self):
        return get_operator, (self.name,)


def register_operator(str name, prop, aliases=()):
    """Register a property class as an operator, under a name and aliases.

    Operators of users are registered with `register`, which checks the class and may replace.

    Parameters
    ----------
    name : str
        Name of the operator, and of the functions in ``mx.nd`` and ``mx.sym``.
    prop : type
        A subclass of `OperatorProperty`. Its docstring is the operator's.
    aliases : sequence of str
        Further names. The first whose lower case differs matters only to automatic names.

    Returns
    -------
    OpEntry
        With `name`, `prop`, `aliases` and `doc`.

    Raises
    ------
    ArgumentError
        If a name is taken.

    Examples
    --------
    >>> class Mine(mx.operator.OperatorProperty):
    ...     '''Another one.'''
    >>> mx.operator.register_operator("Pooling", Mine)
    Traceback (most recent call last):
        ...
    cynet.errors.ArgumentError: operator name 'Pooling' is already taken by <operator Pooling>
    """
    entry = OpEntry(name, prop, tuple(aliases), prop.__doc__ or "")
    OPERATORS.register(name, entry, aliases)
    prop.op_name = name  # set last: if the name is refused, the class stays unchanged
    return entry


def get_operator(str name):
    """Find an operator by its name or an alias.

    Parameters
    ----------
    name : str
        Name or alias of the operator.

    Returns
    -------
    OpEntry
        With `name`, `prop` (a class, its definition), `aliases` and `doc`.

    Raises
    ------
    NotFoundError
        If there is none; the message has near names.

    Examples
    --------
    >>> entry = mx.operator.get_operator("flatten")
    >>> entry.name, list(entry.prop.fields)
    ('Flatten', [])
    >>> mx.operator.get_operator("Convolutoin")
    Traceback (most recent call last):
        ...
    cynet.errors.NotFoundError: no operator is named 'Convolutoin'; did you mean 'Convolution' or
        'Convolution_v1' or 'Deconvolution'?
    """
    return OPERATORS.get(name)
