"""Convolution and batch normalization by cuDNN (contract in cudnn_layers.pxd).

Numbers of enumerations are those of cuDNN 9's documentation.
"""

from ..._typedefs cimport kFloat32, kFloat64
from .cudnn cimport AlgorithmPerf, Filter, CudnnTable, TensorDesc, check, handle_of, library, scalar

from ...base import config
from ...base.dtype import dtype_flag, is_narrow
from ...base.errors import ArgumentError, CynetError
from .cudnn import at_least_2d, at_least_4d

cdef enum:
    CROSS_CORRELATION = 1  # CUDNN_CROSS_CORRELATION: filters are not flipped
    DEFAULT_MATH = 0  # CUDNN_DEFAULT_MATH
    TENSOR_OP_MATH = 1  # CUDNN_TENSOR_OP_MATH: tensor cores
    FMA_MATH = 3  # CUDNN_FMA_MATH: no tensor cores
    BATCHNORM_SPATIAL = 1  # statistics over all axes but the channels
    BATCHNORM_SPATIAL_PERSISTENT = 2  # training that reads each element once
    MAX_ALGORITHMS = 16  # maximum number of algorithms that cuDNN may propose

cdef tuple _CALL_NAMES = ("Forward", "BackwardData", "BackwardFilter")  # by Direction


cdef class Convolution:  # of cuDNN, with its descriptors
    """The three directions of a convolution and its bias.

    dtype (str): 'float32', 'float64', 'float16' or 'bfloat16' (both summed in float32).
    data, weight, out (tuple of int): Shapes (N, C, *size), (F, C / groups, *kernel), (N, F,
        *size').
    stride, dilate, pad: tuple of int
    groups: int
    limit (int): Most workspace in bytes.
    tune (bool): Choose the algorithm by timing all of them, not by cuDNN's estimate.
    transposed (bool): The bias is added to x.
    """

    def __init__(self, dtype, data, weight, out, stride, dilate, pad, groups, limit, tune,
                 transposed=False):
        cdef int steps[3]
        cdef int spread[3]
        cdef int border[3]
        cdef int found[8]
        cdef int i
        cdef CudnnTable* dnn
        self.x, self.y = TensorDesc(dtype, at_least_4d(data)), TensorDesc(dtype, at_least_4d(out))
        self.w = Filter(dtype, at_least_4d(weight))
        self.biased = self.x if transposed else self.y
        self.bias = TensorDesc(dtype, (1, self.biased.shape[1], *(1,) * (len(self.x.shape) - 2)))
        self.dtype, self.limit, self.tune = dtype_flag(dtype), limit, tune
        self.tf32 = config.get("CYNET_CUDA_TF32") != "none"
        self.what = (f"a convolution of {tuple(data)} by {tuple(weight)}, {dtype}, stride {stride},"
                     f" dilate {dilate}, pad {pad}, {groups} groups")
        axes = zip(at_least_2d(stride, 1), at_least_2d(dilate, 1), at_least_2d(pad, 0))
        for i, values in enumerate(axes):
            steps[i], spread[i], border[i] = values
        dnn = library()
        n = len(self.x.shape) - 2
        for i in range(3):
            check(dnn.convolution_create(&self.desc[i]), "CreateConvolutionDescriptor")
            check(dnn.convolution_set(
                self.desc[i], n, border, steps, spread, CROSS_CORRELATION,
                kFloat64 if self.dtype == kFloat64 else kFloat32),
                "SetConvolutionNdDescriptor", self.what)
            check(dnn.convolution_groups(self.desc[i], groups), "SetConvolutionGroupCount",
                  self.what)
        check(dnn.convolution_output(self.desc[0], self.x.desc, self.w.desc, n + 2, found),
              "GetConvolutionNdForwardOutputDim", self.what)
        if tuple([found[i] for i in range(n + 2)]) != self.y.shape:
            raise ArgumentError(f"cuDNN: {self.what} gives "
                                f"{tuple([found[i] for i in range(n + 2)])}, not {self.y.shape}")

    def __dealloc__(self):
        cdef int i
        for i in range(3):
            if self.desc[i] != NULL:
                library().convolution_destroy(self.desc[i])

    cdef int choose_algorithm(self, const RunContext* run, int direction) except -1 nogil:
        if not self.chosen[direction]:
            with gil:
                _choose_algorithm(self, run, direction)
        return 0

    cdef int run(self, const RunContext* run, int direction, const void* a, const void* b,
                 void* out, bint add, void* space) except -1 nogil:
        cdef void* handle = handle_of(run)
        cdef void* tensors[3]
        cdef int status
        _get_call_descriptors(self, direction, tensors)
        status = library().convolve[direction](
            handle, scalar(self.dtype, True), tensors[0], a, tensors[1], b, self.desc[direction],
            self.algorithm[direction], space, self.space[direction], scalar(self.dtype, add),
            tensors[2], out)
        if status != 0:
            with gil:
                check(status, "Convolution" + _CALL_NAMES[direction], self.what)
        return 0

    cdef int add_bias(self, const RunContext* run, const void* bias, void* out) except -1 nogil:
        cdef const void* one = scalar(self.dtype, True)
        cdef int status = library().add(handle_of(run), one, self.bias.desc, bias, one,
                                        self.biased.desc, out)
        if status != 0:
            with gil:
                check(status, "AddTensor", self.what)
        return 0


cdef inline void _get_call_descriptors(Convolution self, int direction, void** out) noexcept nogil:
    # descriptors of a, b and out, in the order of the calls
    out[0], out[1], out[2] = self.x.desc, self.w.desc, self.y.desc
    if direction == kToData:
        out[0], out[1], out[2] = self.w.desc, self.y.desc, self.x.desc
    elif direction == kToWeight:
        out[1], out[2] = self.y.desc, self.w.desc


cdef int _choose_algorithm(Convolution self, const RunContext* run, int direction) except -1:
    """Take the fastest algorithm that the workspace's limit and CYNET_CUDA_TF32 allow."""
    cdef AlgorithmPerf results[MAX_ALGORITHMS]
    cdef void* tensors[3]
    cdef void* handle = handle_of(run)
    cdef CudnnTable* dnn = library()
    cdef int i, found = 0, math = DEFAULT_MATH
    cdef bint exact = self.dtype == kFloat32 and not self.tf32
    name = _CALL_NAMES[direction]
    if self.dtype != kFloat32:
        math = FMA_MATH if self.dtype == kFloat64 else TENSOR_OP_MATH
    elif exact:
        math = FMA_MATH
    check(dnn.convolution_math(self.desc[direction], math), "SetConvolutionMathType", self.what)
    _get_call_descriptors(self, direction, tensors)
    if self.tune:
        check(dnn.time[direction](handle, tensors[0], tensors[1], self.desc[direction], tensors[2],
                                  MAX_ALGORITHMS, &found, results),
              f"FindConvolution{name}Algorithm", self.what)
    else:
        check(dnn.guess[direction](handle, tensors[0], tensors[1], self.desc[direction],
                                   tensors[2], MAX_ALGORITHMS, &found, results),
              f"GetConvolution{name}Algorithm_v7", self.what)
    least = None
    for i in range(found):
        if results[i].status != 0 or exact and results[i].math not in (DEFAULT_MATH, FMA_MATH):
            continue
        if results[i].memory <= self.limit:
            if not exact:
                math = results[i].math
            check(dnn.convolution_math(self.desc[direction], math), "SetConvolutionMathType",
                  self.what)
            self.algorithm[direction] = results[i].algorithm
            self.space[direction] = results[i].memory
            self.chosen[direction] = True
            return 0
        least = min(results[i].memory, least or results[i].memory)
    if least is None:
        raise CynetError(f"cuDNN has no algorithm (Convolution{name}) for {self.what}")
    raise CynetError(f"cuDNN needs at least {least} bytes of workspace (Convolution{name}) for "
                     f"{self.what}; parameter workspace allows {self.limit}")


cdef class BatchNorm:  # of cuDNN, with its descriptors
    """Normalization of the channels of (outer, channels, inner).

    dtype (str): 'float32', 'float64', 'float16' or 'bfloat16', beside which two gamma, beta and the
        statistics are float32.
    outer, channels, inner: int
    eps (float): Added to the variance.
    """

    def __init__(self, dtype, outer, channels, inner, eps):
        self.x = TensorDesc(dtype, (outer, channels, inner))
        self.parameter = TensorDesc("float32" if is_narrow(dtype) else dtype, (1, channels))
        self.dtype, self.eps = dtype_flag(dtype), eps

    cdef int forward(self, const RunContext* run, const void* x, const void* gamma,
                     const void* beta, void* y, bint add, void* mean,
                     void* inv_std) except -1 nogil:
        cdef int status = library().normalize(
            handle_of(run), BATCHNORM_SPATIAL_PERSISTENT, scalar(self.dtype, True),
            scalar(self.dtype, add),
            self.x.desc, x, self.x.desc, y, self.parameter.desc, gamma, beta, 0, NULL, NULL,
            self.eps, mean, inv_std)
        return _raise_norm_error(self, status, 0) if status != 0 else 0

    cdef int forward_inference(self, const RunContext* run, const void* x, const void* gamma,
                               const void* beta, const void* mean, const void* variance, void* y,
                               bint add) except -1 nogil:
        cdef int status = library().normalize_given(
            handle_of(run), BATCHNORM_SPATIAL, scalar(self.dtype, True), scalar(self.dtype, add),
            self.x.desc, x, self.x.desc, y, self.parameter.desc, gamma, beta, mean, variance,
            self.eps)
        return _raise_norm_error(self, status, 1) if status != 0 else 0

    cdef int backward(self, const RunContext* run, const void* x, const void* dy,
                      const void* gamma, const void* mean, const void* inv_std, void* dx,
                      bint add, void* dgamma, void* dbeta, bint add_parameters) except -1 nogil:
        cdef const void* one = scalar(self.dtype, True)
        cdef int status = library().normalize_gradient(
            handle_of(run), BATCHNORM_SPATIAL_PERSISTENT, one, scalar(self.dtype, add), one,
            scalar(self.dtype, add_parameters), self.x.desc, x, self.x.desc, dy, self.x.desc, dx,
            self.parameter.desc, gamma, dgamma, dbeta, self.eps, mean, inv_std)
        return _raise_norm_error(self, status, 2) if status != 0 else 0

    cdef int copy_data(self, const RunContext* run, const void* source, void* to, bint whole,
                       bint add) except -1 nogil:
        cdef void* desc = self.x.desc if whole else self.parameter.desc
        cdef int status = library().add(handle_of(run), scalar(self.dtype, True), desc, source,
                                        scalar(self.dtype, add), desc, to)
        return _raise_norm_error(self, status, 3) if status != 0 else 0


cdef int _raise_norm_error(BatchNorm self, int status, int call) except -1 with gil:
    name = ("BatchNormalizationForwardTraining", "BatchNormalizationForwardInference",
            "BatchNormalizationBackward", "AddTensor")[call]
    return check(status, name, f"shape {self.x.shape[:3]}")
