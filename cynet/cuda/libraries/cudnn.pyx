"""cuDNN's functions and descriptors (contract in cudnn.pxd).

Numbers of enumerations are those of cuDNN 9's documentation; a DType is its cudnnDataType_t.
"""

from ..._typedefs cimport kFloat64
from .library cimport Handles, load_functions, store_handle

from math import prod

from ...base.dtype import dtype_flag
from ...base.errors import ArgumentError, CynetError
from .library import open_library

LIBRARY_FILES = ("libcudnn.so.9",)
PIP_PACKAGES = ("nvidia-cudnn-cu13", "nvidia-cudnn-cu12")

# names of functions in the order of CudnnTable
FUNCTION_NAMES = tuple("cudnn" + name for name in (
    "Create", "SetStream", "GetErrorString", "GetLastErrorString",
    "CreateTensorDescriptor", "SetTensorNdDescriptor", "DestroyTensorDescriptor",
    "CreateFilterDescriptor", "SetFilterNdDescriptor", "DestroyFilterDescriptor",
    "CreateConvolutionDescriptor", "SetConvolutionNdDescriptor", "SetConvolutionGroupCount",
    "SetConvolutionMathType", "GetConvolutionNdForwardOutputDim", "DestroyConvolutionDescriptor",
    "GetConvolutionForwardAlgorithm_v7", "GetConvolutionBackwardDataAlgorithm_v7",
    "GetConvolutionBackwardFilterAlgorithm_v7",
    "FindConvolutionForwardAlgorithm", "FindConvolutionBackwardDataAlgorithm",
    "FindConvolutionBackwardFilterAlgorithm",
    "ConvolutionForward", "ConvolutionBackwardData", "ConvolutionBackwardFilter",
    "AddTensor",
    "CreatePoolingDescriptor", "SetPoolingNdDescriptor", "DestroyPoolingDescriptor",
    "PoolingForward", "PoolingBackward", "SoftmaxForward", "SoftmaxBackward",
    "BatchNormalizationForwardInference", "BatchNormalizationForwardTraining",
    "BatchNormalizationBackward",
    "CreateRNNDescriptor", "SetRNNDescriptor_v8", "RNNSetClip_v8", "DestroyRNNDescriptor",
    "CreateRNNDataDescriptor", "SetRNNDataDescriptor", "DestroyRNNDataDescriptor",
    "GetRNNTempSpaceSizes", "GetRNNWeightSpaceSize", "GetRNNWeightParams",
    "RNNForward", "RNNBackwardData_v8", "RNNBackwardWeights_v8"))

cdef enum:
    NCHW = 0  # CUDNN_TENSOR_NCHW, the layout of filters
    MAX_ELEMENTS = 2147483647  # cuDNN counts dimensions and strides in int

cdef CudnnTable _dnn
cdef Handles _handles
cdef float _float_scale[2]
cdef double _double_scale[2]
_float_scale[0], _float_scale[1] = 0, 1
_double_scale[0], _double_scale[1] = 0, 1
_loaded_library = None  # the ctypes library, or None before it is opened


def open_cudnn():
    """Open the library unless it is open; CynetError if it is missing."""
    global _loaded_library
    if _loaded_library is None:
        opened = open_library("cuDNN", LIBRARY_FILES, PIP_PACKAGES)
        load_functions(<void**>&_dnn, opened, FUNCTION_NAMES, "cuDNN")
        _loaded_library = opened


cdef CudnnTable* library() noexcept nogil:
    return &_dnn


cdef int check(int status, str call, str what="") except -1:  # raises cuDNN's error
    cdef char text[512]
    if status != 0:
        text[0] = 0
        _dnn.last_error(text, sizeof(text))
        text[sizeof(text) - 1] = 0
        detail = (<bytes>text).decode(errors="replace").strip()
        raise CynetError(f"cudnn{call}{f' of {what}' if what else ''}: "
                         f"{_dnn.error_string(status).decode()} ({status})"
                         f"{f': {detail}' if detail else ''}")
    return 0


cdef const void* scalar(int dtype, bint one) noexcept nogil:  # address of 0 or 1
    if dtype == kFloat64:
        return &_double_scale[one]
    return &_float_scale[one]


cdef void* _make_handle(const RunContext* run) except NULL with gil:
    cdef void* handle = NULL
    open_cudnn()
    check(_dnn.create(&handle), "Create", f"a handle on gpu({run.dev_id})")
    check(_dnn.set_stream(handle, run.stream), "SetStream", f"a handle on gpu({run.dev_id})")
    store_handle(&_handles, run, handle, "cuDNN")
    return handle


cdef void* handle_of(const RunContext* run) except NULL nogil:
    cdef void* handle = _handles.find(run.dev_id, run.stream)
    return handle if handle != NULL else _make_handle(run)


def is_cudnn_countable(shape):
    """True if cuDNN can count the elements of `shape`: each axis 1 at least, 2^31 - 1 in all."""
    return min(shape) >= 1 and prod(shape) <= MAX_ELEMENTS


def check_dimensions(shape):
    """Raise ArgumentError unless `shape` is `is_cudnn_countable`."""
    if not is_cudnn_countable(shape):
        raise ArgumentError(f"cuDNN takes tensors of 1 to 2^31 - 1 elements, not of shape {shape}")


def cudnn_data_type(dtype):
    """The cudnnDataType_t of a floating dtype."""
    return 9 if dtype == "bfloat16" else dtype_flag(dtype)  # other dtypes have the same codes


def at_least_2d(values, fill):
    """Lengths, strides or pads of a window's axes; for one axis those of a row of height 1, since
    cuDNN has no 1-D windows."""
    return (fill, *values) if len(values) == 1 else tuple(values)


def at_least_4d(shape):
    """(N, C, *size) with at least two axes behind the channels."""
    return (*shape[:2], *at_least_2d(shape[2:], 1))


cdef class TensorDesc:  # cuDNN's descriptor of a tensor
    """The descriptor of a tensor of `shape`, with axes of 1 appended up to four, or to `least`.

    dtype: str
    shape: tuple of int
    least (int): 3 or 4.
    """

    def __cinit__(self, dtype, shape, least=4):
        cdef int dims[8]
        cdef int strides[8]
        cdef int i, step = 1
        open_cudnn()
        check_dimensions(shape)
        self.shape = (*shape, *(1,) * (least - len(shape)))
        for i in range(len(self.shape) - 1, -1, -1):
            dims[i], strides[i] = self.shape[i], step
            step *= dims[i]
        check(_dnn.tensor_create(&self.desc), "CreateTensorDescriptor")
        check(_dnn.tensor_set(self.desc, cudnn_data_type(dtype), len(self.shape), dims, strides),
              "SetTensorNdDescriptor", f"shape {shape}")

    def __dealloc__(self):
        if self.desc != NULL:
            _dnn.tensor_destroy(self.desc)


cdef class Filter:  # descriptor of convolution weights
    """The descriptor of weights (F, C / groups, *kernel), `kernel` with two or three axes.

    dtype: str
    shape: tuple of int
    """

    def __cinit__(self, dtype, shape):
        cdef int dims[8]
        open_cudnn()
        check_dimensions(shape)
        for i, n in enumerate(shape):
            dims[i] = n
        check(_dnn.filter_create(&self.desc), "CreateFilterDescriptor")
        check(_dnn.filter_set(self.desc, cudnn_data_type(dtype), NCHW, len(shape), dims),
              "SetFilterNdDescriptor", f"shape {shape}")

    def __dealloc__(self):
        if self.desc != NULL:
            _dnn.filter_destroy(self.desc)
