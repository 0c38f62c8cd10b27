# distutils: extra_compile_args = -Os
"""DLPack: arrays handed to and taken from other frameworks without a copy."""

from cpython.pycapsule cimport (
    PyCapsule_GetPointer, PyCapsule_IsValid, PyCapsule_New, PyCapsule_SetName)
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint64_t
from libc.stdlib cimport free as c_free
from libc.stdlib cimport malloc as c_malloc

from .._core.face cimport ND, Face
from .._ndarray cimport NDArrayBase, wrap_memory
from .._typedefs cimport MAX_NDIM, dtype_size, kCPU, kGPU

from .._core.saved_values import expose_memory
from ..base.dtype import FLAGS, NAMES
from ..base.errors import ArgumentError, ArgumentTypeError, OutOfMemoryError, ShapeError, shown

# The structures of the DLPack standard, version 0 (capsules named "dltensor").
cdef struct DLTensor:  # DLPack's struct
    void* data
    int32_t device_type
    int32_t device_id
    int32_t ndim
    uint8_t code
    uint8_t bits
    uint16_t lanes
    int64_t* shape
    int64_t* strides
    uint64_t byte_offset

cdef struct DLManagedTensor:  # DLPack's struct
    DLTensor tensor
    void* manager
    void (*deleter)(DLManagedTensor*) noexcept nogil

cdef struct ExportedArray:  # what an exported capsule owns
    DLManagedTensor managed
    int64_t shape[8]
    int64_t strides[8]

cdef enum:
    DL_INT = 0  # DLPack's type code of signed integers
    DL_UINT = 1  # type code of unsigned integers
    DL_FLOAT = 2  # type code of floats
    DL_BFLOAT = 4  # type code of bfloat16
    DL_BOOL = 6  # type code of bools
    DL_CPU = 1  # device type of the host
    DL_CUDA = 2  # device type of GPUs

cdef int* _TYPE_CODES = [DL_FLOAT, DL_FLOAT, DL_FLOAT, DL_UINT, DL_INT, DL_INT, DL_INT, DL_BOOL,
                         -1, -1, -1, -1, DL_BFLOAT]  # DLPack's type codes by type flag


cdef void _release_export(DLManagedTensor* managed) noexcept nogil:
    with gil:
        Py_DECREF(<object>managed.manager)
    c_free(managed)


cdef void _free_capsule(object capsule) noexcept:
    cdef DLManagedTensor* managed
    if PyCapsule_IsValid(capsule, b"dltensor"):  # no consumer took the capsule
        managed = <DLManagedTensor*>PyCapsule_GetPointer(capsule, b"dltensor")
        managed.deleter(managed)


def device_of(NDArrayBase array):
    """The value of ``__dlpack_device__``: (DLPack device code, index)."""
    return (DL_CUDA if array.blob.dev_type == kGPU else DL_CPU,
            array.blob.dev_id if array.blob.dev_type == kGPU else 0)


def export_capsule(NDArrayBase array):
    """A DLPack capsule over the array's memory; waits for readers, as the consumer may write."""
    cdef ExportedArray* out
    cdef int64_t stride = 1
    cdef int i
    expose_memory(array)
    array.wait_write()
    out = <ExportedArray*>c_malloc(sizeof(ExportedArray))
    if out == NULL:
        raise OutOfMemoryError("no memory for an exported array")
    for i in range(array.blob.ndim - 1, -1, -1):
        out.shape[i] = array.blob.shape[i]
        out.strides[i] = stride
        stride *= array.blob.shape[i]
    out.managed.tensor.data = array.blob.data
    out.managed.tensor.device_type, out.managed.tensor.device_id = device_of(array)
    out.managed.tensor.ndim = array.blob.ndim
    out.managed.tensor.code = _TYPE_CODES[array.blob.dtype]
    out.managed.tensor.bits = 8 * dtype_size(array.blob.dtype)
    out.managed.tensor.lanes = 1
    out.managed.tensor.shape = out.shape
    out.managed.tensor.strides = out.strides
    out.managed.tensor.byte_offset = 0
    out.managed.manager = <void*>array
    out.managed.deleter = _release_export
    Py_INCREF(array)
    try:
        return PyCapsule_New(&out.managed, b"dltensor", <void (*)(object) noexcept>_free_capsule)
    except BaseException:
        _release_export(&out.managed)
        raise


cdef int _dtype_flag_of(const DLTensor* tensor) except -1:
    cdef int flag
    for flag in NAMES:
        if (tensor.code == _TYPE_CODES[flag] and tensor.bits == 8 * dtype_size(flag)
                and tensor.lanes == 1):
            return flag
    raise ArgumentTypeError(f"from_dlpack: DLPack type code {tensor.code} of {tensor.bits} bits; "
                            f"expected one of {', '.join(FLAGS)}")


cdef class ImportedMemory:  # keeps another framework's memory alive
    """Keeps another framework's memory alive and gives it back at the end."""

    cdef DLManagedTensor* managed

    def __dealloc__(self):
        if self.managed != NULL and self.managed.deleter != NULL:
            self.managed.deleter(self.managed)


def import_memory(source, Face face=ND):
    """An NDArray over the memory of a capsule, or of an object with ``__dlpack__``; no copy is
    made.

    Raises ArgumentError when the memory is not on the CPU or not contiguous, or the capsule was
    used before.
    """
    cdef DLManagedTensor* managed
    cdef ImportedMemory owner
    cdef int64_t stride = 1
    cdef int i, flag
    cdef bint empty = False
    capsule = source
    if hasattr(source, "__dlpack__"):
        try:
            capsule = source.__dlpack__()
        except BufferError as error:
            raise ArgumentError(f"from_dlpack: {type(source).__name__} gives no memory: {error}"
                                ) from error
    if not PyCapsule_IsValid(capsule, b"dltensor"):
        raise ArgumentError("from_dlpack takes an unused DLPack capsule or an object with "
                            "__dlpack__, "
                            f"got {shown(source)}")
    managed = <DLManagedTensor*>PyCapsule_GetPointer(capsule, b"dltensor")
    if managed.tensor.device_type != DL_CPU:
        raise ArgumentError("from_dlpack: the memory is on DLPack device "
                            f"{managed.tensor.device_type}, "
                            f"only the CPU (1) is supported")
    if managed.tensor.ndim > MAX_NDIM:
        raise ShapeError(f"an NDArray has at most {MAX_NDIM} axes, got {managed.tensor.ndim}")
    flag = _dtype_flag_of(&managed.tensor)
    for i in range(managed.tensor.ndim):
        empty = empty or managed.tensor.shape[i] == 0
    for i in range(managed.tensor.ndim - 1, -1, -1):
        if (managed.tensor.strides != NULL and managed.tensor.shape[i] > 1
                and managed.tensor.strides[i] != stride and not empty):
            raise ArgumentError(
                "from_dlpack: the memory is not contiguous; make a contiguous copy first")
        stride *= managed.tensor.shape[i]
    PyCapsule_SetName(capsule, b"used_dltensor")
    owner = ImportedMemory.__new__(ImportedMemory)
    owner.managed = managed
    return wrap_memory(face, <char*>managed.tensor.data + managed.tensor.byte_offset,
                       managed.tensor.shape, managed.tensor.ndim, flag, kCPU, 0, owner)
