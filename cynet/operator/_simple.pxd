"""SimpleOp from Cython: operators that are a C function and its gradient.

A function gets tensors in memory and says in one expression what the operator computes; it runs
without the GIL. `unary_function` and the others wrap its address for the builder of
``cynet.simple_op``, which takes such a wrapper wherever it takes a Python function:

    (simple_op.register("my_op").set_function("cpu", unary_function(forward))
     .set_gradient("cpu", unary_gradient_T2(backward), simple_op.kInplaceOutIn))

Promises:
- Tensors are contiguous; `req` is one of OpReq, and `assign` honours it.
- A function returns 0, or -1 with an exception set (``with gil: raise ...``), which is raised where
  the result is awaited. It may run in several threads at once.
"""

from cython cimport floating
from libc.stdint cimport int64_t

from .._resource cimport Resource
from .._typedefs cimport RunContext, TBlob, kAddTo, kNullOp

cdef struct EnvArguments:  # what a call passes beside tensors
    double scalar        # the scalar of the call (set_enable_scalar), or 0
    int n_kwargs         # set_enable_kwargs: keyword i is keys[i]=values[i], UTF-8
    const char** keys
    const char** values
    int n_resource       # number of resources from set_resource_request
    Resource* resource

ctypedef int (*UnaryFunction)(const TBlob* src, const EnvArguments* env, TBlob* ret, int req,
                              RunContext* ctx) except -1 nogil
ctypedef int (*BinaryFunction)(const TBlob* lhs, const TBlob* rhs, const EnvArguments* env,
                               TBlob* ret, int req, RunContext* ctx) except -1 nogil
# Gradients: T0 reads the output's gradient only, T1 the output too, T2 the inputs too.
ctypedef int (*UnaryGradientT0)(const TBlob* out_grad, const EnvArguments* env, TBlob* in_grad,
                                int req, RunContext* ctx) except -1 nogil
ctypedef int (*UnaryGradientT1)(const TBlob* out_grad, const TBlob* out_value,
                                const EnvArguments* env, TBlob* in_grad, int req,
                                RunContext* ctx) except -1 nogil
ctypedef int (*UnaryGradientT2)(const TBlob* out_grad, const TBlob* in_data0,
                                const EnvArguments* env, TBlob* in_grad, int req,
                                RunContext* ctx) except -1 nogil
ctypedef int (*BinaryGradientT0)(const TBlob* out_grad, const EnvArguments* env, TBlob* lhs_grad,
                                 TBlob* rhs_grad, int req_lhs_grad, int req_rhs_grad,
                                 RunContext* ctx) except -1 nogil
ctypedef int (*BinaryGradientT2)(const TBlob* out_grad, const TBlob* lhs, const TBlob* rhs,
                                 const EnvArguments* env, TBlob* lhs_grad, TBlob* rhs_grad,
                                 int req_lhs_grad, int req_rhs_grad,
                                 RunContext* ctx) except -1 nogil
# Shapes: the inputs' `data` is NULL; fill `out` (8 elements) and return the number of axes.
ctypedef int (*UnaryShape)(const TBlob* src, const EnvArguments* env, int64_t* out) except -1
ctypedef int (*BinaryShape)(const TBlob* lhs, const TBlob* rhs, const EnvArguments* env,
                            int64_t* out) except -1

cdef class CFunction:  # a C function for cynet.simple_op
    # A C function for the builder `SimpleOp`; `parameters` names its type.
    cdef void* address
    cdef readonly tuple parameters

cdef CFunction unary_function(UnaryFunction function)  # wraps a forward of one input
cdef CFunction binary_function(BinaryFunction function)  # wraps a forward of two inputs
cdef CFunction unary_gradient_T0(UnaryGradientT0 function)  # reads out_grad only
cdef CFunction unary_gradient_T1(UnaryGradientT1 function)  # reads out_grad, output
cdef CFunction unary_gradient_T2(UnaryGradientT2 function)  # reads out_grad, input
cdef CFunction binary_gradient_T0(BinaryGradientT0 function)  # reads out_grad only
cdef CFunction binary_gradient_T2(BinaryGradientT2 function)  # reads out_grad, inputs
cdef CFunction unary_shape(UnaryShape function)  # wraps an inference of shapes
cdef CFunction binary_shape(BinaryShape function)  # wraps an inference of shapes

# Return the value of keyword `key`, or NULL.
cdef const char* keyword(const EnvArguments* env, const char* key) noexcept nogil  # value or NULL

cdef inline void assign(floating* out, int req, floating value) noexcept nogil:  # as `req` says
    """Write `value` to one element according to `req`."""
    if req == kAddTo:
        out[0] += value
    elif req != kNullOp:
        out[0] = value
