"""NDArray core: memory, views, waits and host access (contract in _ndarray.pxd)."""

cimport numpy as cnp
from cpython.buffer cimport PyBUF_FORMAT, PyBUF_WRITABLE
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int64_t
from cython.operator cimport dereference
from libc.string cimport memcpy, memset
from libcpp.unordered_map cimport unordered_map
from libcpp.unordered_set cimport unordered_set

from . cimport _engine
from ._core.face cimport ND, Face
from ._storage cimport Handle, alloc, free as storage_free
from .engine cimport deferred
from .engine.live_objects cimport count_live, live_counter
from ._typedefs cimport (
    MAX_NDIM, TBlob, dtype_size, kBfloat16, kCPU, kCPUPinned, kCPUShared, kGPU, kUint8)
from .cuda.transfer cimport download, copy_on_gpu
from .kernels.movement.strided_copy cimport StridedCopy, copy_strided

import numpy as np
from .context import Context
from .cuda.driver import opened_devices, synchronize
from .base.dtype import BFLOAT16, SCALAR_TYPES
from .base.errors import (
    ArgumentError, ArgumentTypeError, HostMemoryError, OperatorError, OutOfMemoryError, ShapeError,
    SizeError, shown)

# The maximum size of an array: so many doubles have a size in bytes that fits into 63 bits.
MAX_ELEMENTS = 1 << 56  # elements of an array
cdef double _MAX_ELEMENTS_AS_DOUBLE = MAX_ELEMENTS
live_chunks = live_counter()  # function: number of Chunks alive, in debug builds

cnp.import_array()

cdef extern from *:
    """
    // An object without memory would be a trap: __cinit__ refuses unless this says that _ndarray
    // makes it; in this thread, and put back: finalizers that the allocation runs may make arrays.
    static thread_local int cynet_making = 0;
    static PyObject* cynet_new(PyObject* type, PyObject* args) {
        const int before = cynet_making;
        cynet_making = 1;
        PyObject* out = ((PyTypeObject*)type)->tp_new((PyTypeObject*)type, args, NULL);
        cynet_making = before;
        return out;
    }
    """
    bint cynet_making
    object cynet_new(object type, object args)

cdef const char** _BUFFER_FORMATS = [b"f", b"d", b"e", b"B", b"i", b"b", b"q", b"?"]  # by type flag
cdef tuple _DEVICE_NAMES = (None, "cpu", "gpu", "cpu_pinned", None, "cpu_shared")  # by device code
cdef tuple _SCALAR_TYPES = tuple([SCALAR_TYPES.get(flag) for flag in range(kBfloat16 + 1)])
cdef int* _NUMPY_TYPES = [cnp.NPY_FLOAT32, cnp.NPY_FLOAT64, cnp.NPY_FLOAT16, cnp.NPY_UINT8,
                          cnp.NPY_INT32, cnp.NPY_INT8, cnp.NPY_INT64, cnp.NPY_BOOL]
cdef dict _contexts = {}  # (device code, index) -> Context


def array_without_memory(cls):
    """Return an array of class `cls` without memory; its face is that of the class."""
    cdef NDArrayBase out = cynet_new(cls, ())
    out.face = cls._face
    return out


# --- chunks ---------------------------------------------------------------------------------------
cdef void _free_chunk(void* arg) noexcept nogil:
    # Called when the engine has deleted the variable, on any thread.
    cdef Chunk* chunk = <Chunk*>arg
    cdef RowSet* rows
    if chunk.handle.ptr != NULL:
        storage_free(&chunk.handle)
    if chunk.owner != NULL:
        with gil:
            Py_DECREF(<object>chunk.owner)
    rows = chunk.rows.load()
    if rows != NULL:
        del rows
    del chunk
    count_live(-1)


cdef Chunk* _new_chunk() except NULL:
    cdef Chunk* chunk = new Chunk()
    chunk.references.store(1)
    chunk.owner, chunk.var, chunk.written = NULL, NULL, True
    chunk.exposed.store(False)
    chunk.rows.store(NULL)
    memset(&chunk.handle, 0, sizeof(Handle))
    try:
        chunk.var = _engine.new_variable()
    except BaseException:
        del chunk
        raise
    count_live(1)
    return chunk


cdef void _release_chunk(void* chunk) noexcept:
    if (<Chunk*>chunk).references.fetch_sub(1) == 1:
        _engine.delete_variable((<Chunk*>chunk).var, _free_chunk, chunk)


deferred.release_chunk = _release_chunk


cdef inline NDArrayBase _new_bare_array(Face face):
    cdef NDArrayBase out = <NDArrayBase>cynet_new(face.array_class, ())
    out.face = face
    return out


cdef inline int _set_blob_shape(TBlob* blob, const int64_t* shape, int ndim) except -1:
    cdef int64_t size = 1
    cdef double product = 1
    cdef int i
    if ndim > MAX_NDIM:
        raise ShapeError(f"an NDArray has at most {MAX_NDIM} axes, got {ndim}")
    for i in range(ndim):
        blob.shape[i] = shape[i]
        product *= shape[i]
        if product > _MAX_ELEMENTS_AS_DOUBLE:
            raise SizeError(f"an array of {product:g} elements is more than any memory holds")
        size *= shape[i]
    blob.ndim, blob.size = ndim, size
    return 0


cdef NDArrayBase new_array(Face face, const int64_t* shape, int ndim, int dtype, int dev_type,
                           int dev_id):
    cdef NDArrayBase out = _new_bare_array(face)
    cdef size_t nbytes
    _set_blob_shape(&out.blob, shape, ndim)
    out.blob.dtype = dtype
    out.blob.dev_type = dev_type
    out.blob.dev_id = dev_id
    out.chunk = _new_chunk()
    nbytes = out.blob.size * dtype_size(dtype)
    alloc(nbytes if nbytes else 1, dev_type, dev_id, &out.chunk.handle)
    out.blob.data = out.chunk.handle.ptr
    return out


cdef NDArrayBase new_view(NDArrayBase base, const int64_t* shape, int ndim, int64_t offset):
    cdef NDArrayBase out = _new_bare_array(base.face)
    _set_blob_shape(&out.blob, shape, ndim)
    out.blob.dtype = base.blob.dtype
    out.blob.dev_type = base.blob.dev_type
    out.blob.dev_id = base.blob.dev_id
    out.blob.data = <char*>base.blob.data + offset * <int64_t>dtype_size(base.blob.dtype)
    base.chunk.references.fetch_add(1)
    out.chunk = base.chunk
    if out.chunk.owner != NULL:
        _add_view_to_loan(out)
    return out


def with_face(NDArrayBase base not None, Face face not None):
    """Return an array of another face with the same memory and the same node of autograd."""
    cdef NDArrayBase out = _new_bare_array(face)
    out.blob, out.grad_entry = base.blob, base.grad_entry
    base.chunk.references.fetch_add(1)
    out.chunk = base.chunk
    if out.chunk.owner != NULL:
        _add_view_to_loan(out)
    return out


cdef NDArrayBase wrap_memory(Face face, void* data, const int64_t* shape, int ndim, int dtype,
                             int dev_type, int dev_id, object owner):
    cdef NDArrayBase out = _new_bare_array(face)
    _set_blob_shape(&out.blob, shape, ndim)
    out.blob.dtype = dtype
    out.blob.dev_type = dev_type
    out.blob.dev_id = dev_id
    out.chunk = _new_chunk()
    Py_INCREF(owner)
    out.chunk.owner = <void*>owner
    out.chunk.exposed.store(True)
    out.blob.data = data
    return out


cdef tuple blob_shape(const TBlob* blob):
    cdef int ndim = blob.ndim
    if ndim == 1:
        return (blob.shape[0],)
    if ndim == 2:
        return (blob.shape[0], blob.shape[1])
    return tuple([blob.shape[i] for i in range(ndim)])


cdef int read_shape(object shape, int64_t* out) except -1:
    cdef int n = 0
    cdef int64_t size = 1
    if type(shape) is int and 0 <= shape < 1 << 40:
        out[0] = shape
        return 1
    if type(shape) is not tuple and hasattr(shape, "tolist"):  # NumPy's arrays and numbers
        shape = shape.tolist()
    if hasattr(shape, "__index__") or isinstance(shape, str):
        shape = (shape,)
    try:
        sizes = [each if type(each) is int else each.__index__() for each in shape]
    except (TypeError, AttributeError):
        raise ArgumentTypeError(f"a shape is a tuple of ints, got {shown(shape)}") from None
    if len(sizes) > MAX_NDIM:
        raise ShapeError(f"an NDArray has at most {MAX_NDIM} axes, got shape {tuple(sizes)}")
    for each in sizes:
        if each < 0:
            raise ShapeError(f"expected sizes of at least 0 in a shape, got {shown(tuple(sizes))}")
        if each and size > MAX_ELEMENTS // each:
            raise SizeError(f"shape {shown(tuple(sizes))} is more than any memory holds")
        out[n] = each
        size *= each if each else 1
        n += 1
    return n


cdef bint is_on_host(const TBlob* blob) noexcept nogil:
    return blob.dev_type == kCPU or blob.dev_type == kCPUPinned or blob.dev_type == kCPUShared


def empty(shape, int dtype, int dev_type, int dev_id, bint promised=False, Face face=None):
    """Return an array with uninitialised memory; `dtype` is a type flag, `dev_type` a device code.

    `promised`: the engine will write it; reading it raises when that fails. By default of mx.nd.
    """
    cdef int64_t sizes[MAX_NDIM]
    cdef int ndim = read_shape(shape, sizes)
    cdef NDArrayBase out = new_array(face or ND, sizes, ndim, dtype, dev_type, dev_id)
    out.chunk.written = not promised or out.blob.size == 0
    return out


cdef void _copy_bytes(void* to, const void* source, size_t nbytes) noexcept nogil:
    """Copy bytes; with several threads where page faults of new memory take most of the time."""
    cdef StridedCopy all_of_it
    if nbytes < 4 << 20:
        memcpy(to, source, nbytes)
        return
    all_of_it.dst, all_of_it.src = to, source
    all_of_it.dst_type = all_of_it.src_type = kUint8
    all_of_it.ndim = 1
    all_of_it.shape[0] = nbytes
    all_of_it.dst_stride[0] = all_of_it.src_stride[0] = 1
    copy_strided(&all_of_it, False)


def waitall():
    """Wait until everything pushed to the engine is done; raise the first error not raised yet."""
    with nogil:
        _engine.wait_for_all()
    for device in opened_devices():
        synchronize(device)


def device_context(int dev_type, int dev_id):
    """Return the Context of a device code and index, the same object each time."""
    context = _contexts.get((dev_type, dev_id))
    if context is None:
        context = _contexts.setdefault((dev_type, dev_id), Context(_DEVICE_NAMES[dev_type], dev_id))
    return context


# --- loans ----------------------------------------------------------------------------------------
cdef cppclass Loan:
    # Memory that an operator's Python code lends to an array for one call (custom/_borrow.pyx).
    unordered_set[void*] arrays  # the arrays that use the lent memory, borrowed
    void* memory
    size_t nbytes
    bint is_target               # Python code may write to the array

ctypedef Loan* LoanPointer

cdef unordered_map[void*, LoanPointer] _loans  # chunk -> its Loan; guarded by the GIL


cdef inline Loan* _loan_of(Chunk* chunk) noexcept:  # of foreign memory, or NULL
    place = _loans.find(chunk)
    return <Loan*>NULL if place == _loans.end() else dereference(place).second


cdef void _add_view_to_loan(NDArrayBase view) noexcept:
    cdef Loan* loan = _loan_of(view.chunk)
    if loan != NULL:
        loan.arrays.insert(<void*>view)


cdef void _drop_view_from_loan(NDArrayBase view) noexcept:
    cdef Loan* loan = _loan_of(view.chunk)
    if loan == NULL:
        return
    loan.arrays.erase(<void*>view)
    if loan.arrays.empty():  # no array is left that could end the loan
        _loans.erase(view.chunk)
        del loan


def begin_loan(NDArrayBase array, bint is_target):  # of foreign memory
    """Mark the foreign memory of `array`, which has no views yet, as lent until `end_loan`. With
    `is_target` the written values are copied back then."""
    cdef Loan* loan = new Loan()
    loan.arrays.insert(<void*>array)
    loan.memory, loan.nbytes = array.blob.data, array.blob.size * dtype_size(array.blob.dtype)
    loan.is_target = is_target
    _loans[array.chunk] = loan


def end_loan(list arrays, Py_ssize_t place):  # of foreign memory
    """End the loan of the memory of ``arrays[place]``, which becomes None. Where somebody has it or
    a view of it, these get memory of their own with the same values."""
    cdef NDArrayBase array = arrays[place]
    cdef Chunk* chunk = array.chunk
    cdef Loan* loan = _loan_of(chunk)
    arrays[place] = None
    if loan == NULL:
        return
    chunk.references.fetch_add(1)
    loan.arrays.insert(NULL)  # an entry that is no array, so that the loan ends here
    try:
        if array.blob.data != loan.memory:  # the array moved to memory of its own
            if loan.is_target:
                _move_bytes(array, loan.memory, array.blob.data, loan.nbytes)
        else:
            array = None  # an array that is still referenced stays in the set
            loan.arrays.erase(NULL)
            if not loan.arrays.empty():
                move_to_own_memory(<NDArrayBase>dereference(loan.arrays.begin()))
    finally:
        _loans.erase(chunk)
        del loan
        _release_chunk(chunk)


def move_to_own_memory(NDArrayBase array):
    """Move `array` and its views from lent memory to memory of their own, before a pointer into it
    is handed out. Waits for pending functions. Other arrays are left unchanged."""
    cdef Loan* loan = _loan_of(array.chunk)
    cdef NDArrayBase each
    cdef Handle handle
    cdef char* begin
    if loan == NULL or loan.arrays.empty():
        return
    array.wait_write()
    if _loan_of(array.chunk) != loan or loan.arrays.empty():  # another thread ended the loan
        return
    memset(&handle, 0, sizeof(Handle))
    alloc(loan.nbytes if loan.nbytes else 1, array.blob.dev_type, array.blob.dev_id, &handle)
    begin = <char*>loan.memory
    _move_bytes(array, handle.ptr, begin, loan.nbytes)
    for item in loan.arrays:
        each = <NDArrayBase>item
        each.blob.data = <char*>handle.ptr + (<char*>each.blob.data - begin)
    loan.arrays.clear()
    owner = <object>array.chunk.owner
    array.chunk.handle, array.chunk.owner = handle, NULL
    Py_DECREF(owner)


cdef int _move_bytes(NDArrayBase array, void* to, const void* source, size_t nbytes) except -1:
    """Copy bytes on the array's device."""
    if array.blob.dev_type == kGPU:
        copy_on_gpu(array.blob.dev_id, to, source, nbytes)
    else:
        memcpy(to, source, nbytes)
    return 0


# --- the class ------------------------------------------------------------------------------------
cdef class NDArrayBase:
    """A tensor whose operations the engine runs; base of the public NDArray."""

    def __cinit__(self):
        if not cynet_making:
            raise ArgumentTypeError("an NDArray is made by mx.nd.array, zeros, ..., operators")

    def __dealloc__(self):
        if self.chunk != NULL:
            if self.chunk.owner != NULL:
                _drop_view_from_loan(self)
            _release_chunk(self.chunk)
            self.chunk = NULL

    cdef int wait_read(self) except -1:
        with nogil:
            _engine.wait_for_var(self.chunk.var)
        if not self.chunk.written:
            _raise_no_values(self)
        return 0

    cdef int wait_write(self) except -1:
        with nogil:
            _engine.wait_to_write(self.chunk.var)
        return 0

    @property
    def shape(self):
        """Tuple of int."""
        return blob_shape(&self.blob)

    @property
    def size(self):
        """Number of elements."""
        return self.blob.size

    @property
    def ndim(self):
        """Number of axes."""
        return self.blob.ndim

    @property
    def dtype(self):
        """The NumPy scalar type, e.g. ``numpy.float32``; of bfloat16 a dtype that is MXNet's."""
        return _SCALAR_TYPES[self.blob.dtype]

    @property
    def dtype_flag(self):
        """The type flag of the dtype, an int, as in ``.params`` files."""
        return self.blob.dtype

    @property
    def context(self):
        """The device the array is on."""
        return device_context(self.blob.dev_type, self.blob.dev_id)

    @property
    def ctx(self):
        """The device the array is on."""
        return device_context(self.blob.dev_type, self.blob.dev_id)

    @property
    def data_ptr(self):
        """Address of the first element, an int. What is written there without the engine's
        knowledge is seen from the next run on."""
        from ._core.saved_values import expose_memory
        expose_memory(self)
        return <size_t>self.blob.data

    def wait_to_read(self):
        """Wait until all writes of this array are done; raise the error of a failed one."""
        self.wait_read()
        if self.blob.dev_type == kGPU:
            synchronize(self.blob.dev_id)

    def wait_to_write(self):
        """Wait until all reads and writes of this array are done; raise the error of a failed
        one."""
        self.wait_write()
        if self.blob.dev_type == kGPU:
            synchronize(self.blob.dev_id)

    def asnumpy(self):
        """Return a copy as a writable NumPy array of the same shape and dtype (bfloat16 gives
        float32); waits for pending writes."""
        out = self.host_copy()
        if self.blob.dtype != kBfloat16:
            return out
        out = out.view(np.uint16).astype(np.uint32)
        out <<= 16
        return out.view(np.float32)

    def host_copy(self):
        """Like `asnumpy`, but bfloat16 gives an array of `BFLOAT16`, which holds the bits."""
        cdef size_t nbytes = self.blob.size * dtype_size(self.blob.dtype)
        cdef void* to
        cdef cnp.npy_intp sizes[MAX_NDIM]
        cdef int i
        for i in range(self.blob.ndim):
            sizes[i] = self.blob.shape[i]
        number = cnp.NPY_UINT16 if self.blob.dtype == kBfloat16 else _NUMPY_TYPES[self.blob.dtype]
        out = cnp.PyArray_SimpleNew(self.blob.ndim, sizes, number)
        to = cnp.PyArray_DATA(<cnp.ndarray>out)
        with nogil:
            _engine.wait_for_var(self.chunk.var)
            if self.chunk.written:
                if self.blob.dev_type == kGPU:
                    download(self.blob.dev_id, to, self.blob.data, nbytes)
                else:
                    _copy_bytes(to, self.blob.data, nbytes)
        if not self.chunk.written:
            _raise_no_values(self)
        return out.view(BFLOAT16) if self.blob.dtype == kBfloat16 else out

    def asscalar(self):
        """Return the only element as a NumPy scalar of its dtype (bfloat16 gives float32)."""
        if self.blob.size != 1:
            raise ArgumentError(f"asscalar takes an array of one element, not shape {self.shape}")
        return self.asnumpy().reshape(1)[0]

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ArgumentError("a copy is needed to make a NumPy array of an NDArray here")
        return self.asnumpy() if dtype is None else self.asnumpy().astype(dtype, copy=False)

    def __getbuffer__(self, Py_buffer* view, int flags):
        # The view gets copies of shape and strides as Py_ssize_t, which are freed with it.
        cdef Py_ssize_t* sizes
        cdef Py_ssize_t i, stride = dtype_size(self.blob.dtype)
        if not is_on_host(&self.blob):
            raise HostMemoryError(f"the host cannot read this {self.stype} array on {self.context}")
        if self.blob.dtype == kBfloat16:  # NumPy would read the bits as integers
            raise HostMemoryError("bfloat16 has no form in the buffer protocol; use asnumpy()")
        move_to_own_memory(self)
        if flags & PyBUF_WRITABLE:
            from ._core.saved_values import expose_memory
            expose_memory(self)
            self.wait_write()
        self.wait_read()
        sizes = <Py_ssize_t*>PyMem_Malloc(2 * (MAX_NDIM + 1) * sizeof(Py_ssize_t))
        if sizes == NULL:
            raise OutOfMemoryError("no memory for a view")
        for i in range(self.blob.ndim - 1, -1, -1):
            sizes[i] = self.blob.shape[i]
            sizes[MAX_NDIM + i] = stride
            stride *= self.blob.shape[i]
        view.buf = self.blob.data
        view.obj = self
        view.itemsize = dtype_size(self.blob.dtype)
        view.len = self.blob.size * view.itemsize
        view.readonly = 0 if flags & PyBUF_WRITABLE else 1
        view.ndim = self.blob.ndim
        view.format = <char*>_BUFFER_FORMATS[self.blob.dtype] if flags & PyBUF_FORMAT else NULL
        view.shape = sizes
        view.strides = sizes + MAX_NDIM
        view.suboffsets = NULL
        view.internal = sizes

    def __releasebuffer__(self, Py_buffer* view):
        PyMem_Free(view.internal)

    def _view(self, shape, int64_t offset=0):
        """Return a view of the memory from element `offset` on, under another shape."""
        cdef int64_t sizes[MAX_NDIM]
        cdef int i, ndim = read_shape(shape, sizes)
        cdef int64_t size = 1
        for i in range(ndim):
            size *= sizes[i]
        if offset < 0 or offset + size > self.blob.size:
            raise ShapeError(f"a view of shape {shown(shape)} from element {offset} on does not "
                             f"fit into an array of shape {blob_shape(&self.blob)}")
        return new_view(self, sizes, ndim, offset)

    def _plain_reshape(self, tuple shape):
        """Return a view under `shape` if it has only sizes and at most one -1, else None."""
        cdef int64_t sizes[MAX_NDIM]
        cdef int64_t size = 1, n
        cdef int i, unknown = -1, ndim
        if len(shape) == 1 and type(shape[0]) is tuple:
            shape = shape[0]
        ndim = <int>len(shape)
        if ndim == 0 or ndim > MAX_NDIM:
            return None
        for i in range(ndim):
            if type(shape[i]) is not int or not -1 <= shape[i] <= self.blob.size:
                return None
            n = shape[i]
            if n == -1 and unknown < 0:
                unknown = i
            elif n > 0:
                size *= n
                sizes[i] = n
            else:
                return None
            if size > self.blob.size:
                return None
        if unknown >= 0:
            sizes[unknown] = self.blob.size // size
            size *= sizes[unknown]
        return new_view(self, sizes, ndim, 0) if size == self.blob.size else None

    def shares_memory(self, other):
        """Return whether both are views of one piece of memory and have a byte in common.

        Parameters
        ----------
        other : NDArray
            Possibly a view of the same memory.
        """
        if isinstance(other, NDArrayBase):
            return do_overlap(self, other)
        raise ArgumentTypeError(f"shares_memory takes an NDArray, got {shown(other)}")

    def __len__(self):
        if self.blob.ndim:
            return self.blob.shape[0]
        raise ArgumentTypeError("len() of an array without axes")


cdef int _raise_no_values(NDArrayBase array) except -1:
    raise OperatorError(f"this array of shape {blob_shape(&array.blob)} has no values: "
                        "what was to compute it failed")


cdef bint do_overlap(NDArrayBase a, NDArrayBase b) noexcept:
    cdef char* a0 = <char*>a.blob.data
    cdef char* b0 = <char*>b.blob.data
    return (a.chunk == b.chunk and a0 < b0 + b.blob.size * <int64_t>dtype_size(b.blob.dtype)
            and b0 < a0 + a.blob.size * <int64_t>dtype_size(a.blob.dtype))
