# distutils: extra_compile_args = -O1
"""smooth_l1, a SimpleOp of two C functions: the reference for operators written that way.

``f(x) = (sigma x)^2 / 2`` where ``|x| < 1 / sigma^2``, else ``|x| - 1 / (2 sigma^2)``, and so
``f'(x) = sigma^2 x`` within, ``sign(x)`` without (Girshick, "Fast R-CNN", 2015, equation 3, with
the turning point moved). Both scalar functions stand in kernels/elementwise/functors.h.
"""

from ..._typedefs cimport (
    RunContext, TBlob, kAddTo, kBool, kFloat64, kInt8, kInt32, kInt64, kUint8)
from ...kernels.elementwise.elementwise cimport Kernel, run_binary, run_cast, run_grad
from ...kernels.table cimport find_binary, find_binary_grad
from .._elementwise cimport NUMBER_IS_WIDE
from .._simple cimport EnvArguments, unary_function, unary_gradient_T2

from ...base.errors import ArgumentError
from ..custom import simple
from .._base import get_operator


cdef Kernel _forward[8][2]   # by dtype, add
cdef Kernel _backward[8][2]


cdef _find():
    cdef int dtype, add
    for dtype in range(8):
        for add in range(2):
            if dtype in (kUint8, kInt32, kInt8, kInt64):  # which sigma need not be one of
                _forward[dtype][add] = find_binary("smooth_l1", dtype, False)
                _backward[dtype][add] = find_binary_grad("smooth_l1_grad", dtype, False)
                _forward[dtype][add].add = _backward[dtype][add].add = NUMBER_IS_WIDE | add
            else:
                _forward[dtype][add] = find_binary("smooth_l1", dtype, add)
                _backward[dtype][add] = find_binary_grad("smooth_l1_grad", dtype, add)


cdef int _sigma(const EnvArguments* env, int dtype, void* out) except -1 nogil:
    """The scalar as the loops take it: in the array's dtype, of integers as it is."""
    cdef double value = env.scalar
    if dtype == kBool:
        with gil:
            raise ArgumentError("smooth_l1 does not take arrays of bool; cast them first")
    run_cast(kFloat64, kFloat64 if dtype in (kUint8, kInt32, kInt8, kInt64) else dtype, &value,
             out, 1)
    return 0


cdef int forward(const TBlob* src, const EnvArguments* env, TBlob* ret, int req,
                 RunContext* ctx) except -1 nogil:
    cdef double sigma = 0  # the bytes of a number of any dtype
    _sigma(env, src.dtype, &sigma)
    run_binary(&_forward[src.dtype][req == kAddTo], src.data, 1, &sigma, 0, ret.data, ret.size)
    return 0


cdef int backward(const TBlob* out_grad, const TBlob* in_data0, const EnvArguments* env,
                  TBlob* in_grad, int req, RunContext* ctx) except -1 nogil:
    cdef double sigma = 0  # the bytes of a number of any dtype
    _sigma(env, in_data0.dtype, &sigma)
    run_grad(&_backward[in_data0.dtype][req == kAddTo], out_grad.data, 1, in_data0.data, 1, &sigma,
             0, in_grad.data, in_grad.size)
    return 0


_find()
(simple.register("smooth_l1")
 .set_function("cpu", unary_function(forward), simple.kInplaceInOut)
 .set_gradient("cpu", unary_gradient_T2(backward), simple.kInplaceOutIn)
 .set_enable_scalar(True, default=1.0)
 .set_pure(True)
 .describe("Smooth L1 loss: ``(scalar * data) ** 2 / 2`` where ``|data| < 1 / scalar ** 2``, else "
           "``|data| - 1 / (2 * scalar ** 2)``; every shape."))
get_operator("smooth_l1").prop.users = False
