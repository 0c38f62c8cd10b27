"""Pooling and softmax by cuDNN (contract in cudnn_maps.pxd).

Numbers of enumerations are those of cuDNN 9's documentation.
"""

from ..._typedefs cimport kFloat64
from .cudnn cimport TensorDesc, check, handle_of, library, scalar

from ...base.dtype import dtype_flag
from .cudnn import at_least_2d, at_least_4d

cdef enum:
    PROPAGATE_NAN = 1  # CUDNN_PROPAGATE_NAN: the maximum with NaN is NaN
    SOFTMAX_ACCURATE = 1  # exp of differences to the largest entry: no overflow
    SOFTMAX_LOG = 2  # CUDNN_SOFTMAX_LOG: log_softmax
    MODE_INSTANCE = 0     # over all axes but the first
    MODE_CHANNEL = 1      # over the second axis

cdef dict _POOLING_MODES = {"avg": 1, "sum": 1, "avg_exclude": 2}  # cudnnPoolingMode_t


cdef class UnaryLayer:  # a layer with one input and one output
    cdef int forward(self, const RunContext* run, const void* x, void* y,
                     bint add) except -1 nogil:
        with gil:
            raise NotImplementedError(f"{type(self).__name__}.forward")

    cdef int backward(self, const RunContext* run, const void* y, const void* dy, void* dx,
                      bint add) except -1 nogil:
        with gil:
            raise NotImplementedError(f"{type(self).__name__}.backward")


cdef class Pooling(UnaryLayer):
    """Windows over one to three axes, reduced by `pool_type`.

    dtype: str
    pool_type (str): 'avg' (padding counts), 'avg_exclude' (it does not) or 'sum'.
    data, out (tuple of int): Shapes (N, C, *size) and (N, C, *size'), size' rounded down.
    kernel, stride, pad: tuple of int
    """

    def __init__(self, dtype, pool_type, data, out, kernel, stride, pad):
        cdef int window[3]
        cdef int border[3]
        cdef int steps[3]
        cdef int size = 1
        self.x, self.y = TensorDesc(dtype, at_least_4d(data)), TensorDesc(dtype, at_least_4d(out))
        self.dtype = dtype_flag(dtype)
        axes = zip(at_least_2d(kernel, 1), at_least_2d(pad, 0), at_least_2d(stride, 1))
        for i, values in enumerate(axes):
            window[i], border[i], steps[i] = values
            size *= window[i]
        self.float_factor = self.double_factor = size if pool_type == "sum" else 1
        self.factor = &self.float_factor
        if self.dtype == kFloat64:
            self.factor = &self.double_factor
        check(library().pooling_create(&self.desc), "CreatePoolingDescriptor")
        check(library().pooling_set(self.desc, _POOLING_MODES[pool_type], PROPAGATE_NAN,
                                    len(self.x.shape) - 2, window, border, steps),
              "SetPoolingNdDescriptor", f"kernel {kernel}, pad {pad}, stride {stride}")

    def __dealloc__(self):
        if self.desc != NULL:
            library().pooling_destroy(self.desc)

    cdef int forward(self, const RunContext* run, const void* x, void* y,
                     bint add) except -1 nogil:
        cdef int status = library().pool(
            handle_of(run), self.desc, self.factor, self.x.desc, x, scalar(self.dtype, add),
            self.y.desc, y)
        if status != 0:
            with gil:
                check(status, "PoolingForward", f"{self.x.shape} to {self.y.shape}")
        return 0

    cdef int backward(self, const RunContext* run, const void* y, const void* dy, void* dx,
                      bint add) except -1 nogil:
        cdef int status
        # cuDNN takes addresses of y and x, and reads them for maxima only
        status = library().pool_gradient(
            handle_of(run), self.desc, self.factor, self.y.desc, dy, self.y.desc, dy, self.x.desc,
            dx, scalar(self.dtype, add), self.x.desc, dx)
        if status != 0:
            with gil:
                check(status, "PoolingBackward", f"{self.x.shape} to {self.y.shape}")
        return 0


cdef class Softmax(UnaryLayer):
    """Softmax along the middle axis, or its logarithm.

    dtype (str): 'float32', 'float64', 'float16' or 'bfloat16'.
    sizes (tuple of int): (outer, n, inner), each 1 at least.
    log_of: bool
    """

    def __init__(self, dtype, sizes, log_of):
        self.x, self.dtype = TensorDesc(dtype, sizes), dtype_flag(dtype)
        self.algorithm = SOFTMAX_LOG if log_of else SOFTMAX_ACCURATE
        self.mode = MODE_INSTANCE if sizes[2] == 1 else MODE_CHANNEL

    cdef int forward(self, const RunContext* run, const void* x, void* y,
                     bint add) except -1 nogil:
        cdef int status = library().softmax(
            handle_of(run), self.algorithm, self.mode, scalar(self.dtype, True), self.x.desc, x,
            scalar(self.dtype, add), self.x.desc, y)
        if status != 0:
            with gil:
                check(status, "SoftmaxForward", f"shape {self.x.shape[:3]}")
        return 0

    cdef int backward(self, const RunContext* run, const void* y, const void* dy, void* dx,
                      bint add) except -1 nogil:
        cdef int status = library().softmax_gradient(
            handle_of(run), self.algorithm, self.mode, scalar(self.dtype, True), self.x.desc, y,
            self.x.desc, dy, scalar(self.dtype, add), self.x.desc, dx)
        if status != 0:
            with gil:
                check(status, "SoftmaxBackward", f"shape {self.x.shape[:3]}")
        return 0
