"""SimpleOps of C functions, one of each kind, compiled by
tests/operator/custom/test_simple_cython.py."""

from libc.math cimport exp, fabs
from libc.stdint cimport int64_t
from libc.stdlib cimport atof

from cynet._resource cimport get_space
from cynet._typedefs cimport RunContext, TBlob, kFloat32, kNullOp
from cynet.operator._simple cimport (
    EnvArguments, assign, binary_function, binary_gradient_T0, binary_gradient_T2, binary_shape,
    keyword, unary_function, unary_gradient_T0, unary_gradient_T1, unary_gradient_T2, unary_shape
)

from cynet import simple_op
from cynet.base.errors import ArgumentError
from cynet.operator import ResourceRequest


# --- the smooth L1 walk-through: gradient of the input, scalar ------------------------------------
cdef int smooth_forward(const TBlob* src, const EnvArguments* env, TBlob* ret, int req,
                        RunContext* ctx) except -1 nogil:
    cdef const float* x = <const float*>src.data
    cdef float* y = <float*>ret.data
    cdef float s = <float>(env.scalar * env.scalar), size
    cdef int64_t i
    for i in range(src.size):
        size = <float>fabs(x[i])
        assign(&y[i], req, size - 0.5 / s if size > 1 / s else <float>0.5 * s * size * size)
    return 0


cdef int smooth_backward(const TBlob* out_grad, const TBlob* in_data0, const EnvArguments* env,
                         TBlob* in_grad, int req, RunContext* ctx) except -1 nogil:
    cdef const float* g = <const float*>out_grad.data
    cdef const float* x = <const float*>in_data0.data
    cdef float* dx = <float*>in_grad.data
    cdef float s = <float>(env.scalar * env.scalar)
    cdef int64_t i
    for i in range(in_grad.size):
        assign(&dx[i], req, g[i] * (1 if x[i] > 1 / s else -1 if x[i] < -1 / s else s * x[i]))
    return 0


simple_op.register("c_smooth_l1") \
    .set_function("cpu", unary_function(smooth_forward), simple_op.kNoInplace) \
    .set_gradient("cpu", unary_gradient_T2(smooth_backward), simple_op.kInplaceOutIn) \
    .set_enable_scalar(True) \
    .describe("Calculates smooth L1 loss (data, scalar).")


# --- gradient of nothing but out_grad; keywords; in place -----------------------------------------
cdef int times_forward(const TBlob* src, const EnvArguments* env, TBlob* ret, int req,
                       RunContext* ctx) except -1 nogil:
    cdef const char* text = keyword(env, "factor")
    cdef float factor = <float>(atof(text) if text != NULL else 1)
    cdef int64_t i
    if keyword(env, "fail") != NULL:
        with gil:
            raise ZeroDivisionError(f"asked to fail, with {env.n_kwargs} keywords")
    for i in range(src.size):
        assign(&(<float*>ret.data)[i], req, factor * (<const float*>src.data)[i])
    return 0


cdef int times_backward(const TBlob* out_grad, const EnvArguments* env, TBlob* in_grad, int req,
                        RunContext* ctx) except -1 nogil:
    return times_forward(out_grad, env, in_grad, req, ctx)


simple_op.register("c_times") \
    .set_function("cpu", unary_function(times_forward), simple_op.kInplaceInOut) \
    .set_gradient("cpu", unary_gradient_T0(times_backward), simple_op.kInplaceOutIn) \
    .set_enable_kwargs(True)


# --- gradient of the output; double too -----------------------------------------------------------
cdef int exp_forward(const TBlob* src, const EnvArguments* env, TBlob* ret, int req,
                     RunContext* ctx) except -1 nogil:
    cdef int64_t i
    for i in range(src.size):
        if src.dtype == kFloat32:
            assign(&(<float*>ret.data)[i], req, <float>exp((<const float*>src.data)[i]))
        else:
            assign(&(<double*>ret.data)[i], req, exp((<const double*>src.data)[i]))
    return 0


cdef int exp_backward(const TBlob* out_grad, const TBlob* out_value, const EnvArguments* env,
                      TBlob* in_grad, int req, RunContext* ctx) except -1 nogil:
    cdef int64_t i
    for i in range(in_grad.size):
        if in_grad.dtype == kFloat32:
            assign(&(<float*>in_grad.data)[i], req,
                   (<const float*>out_grad.data)[i] * (<const float*>out_value.data)[i])
        else:
            assign(&(<double*>in_grad.data)[i], req,
                   (<const double*>out_grad.data)[i] * (<const double*>out_value.data)[i])
    return 0


simple_op.register("c_exp") \
    .set_function("cpu", unary_function(exp_forward), simple_op.kInplaceInOut) \
    .set_gradient("cpu", unary_gradient_T1(exp_backward)).set_pure(True) \
    .set_dtypes("float32", "float64")


# --- binary: the outer product, with a shape function and temporary space -------------------------
cdef int outer_shape(const TBlob* lhs, const TBlob* rhs, const EnvArguments* env,
                     int64_t* out) except -1:
    if lhs.ndim != 1 or rhs.ndim != 1:
        raise ArgumentError(f"c_outer takes vectors, got {lhs.ndim} and {rhs.ndim} axes")
    out[0], out[1] = lhs.shape[0], rhs.shape[0]
    return 2


cdef int outer_forward(const TBlob* lhs, const TBlob* rhs, const EnvArguments* env, TBlob* ret,
                       int req, RunContext* ctx) except -1 nogil:
    cdef float* space = <float*>get_space(env.resource, rhs.size * sizeof(float))
    cdef int64_t i, j
    for j in range(rhs.size):
        space[j] = (<const float*>rhs.data)[j]
    for i in range(lhs.size):
        for j in range(rhs.size):
            assign(&(<float*>ret.data)[i * rhs.size + j], req,
                   (<const float*>lhs.data)[i] * space[j])
    return 0


cdef int outer_backward(const TBlob* out_grad, const TBlob* lhs, const TBlob* rhs,
                        const EnvArguments* env, TBlob* lhs_grad, TBlob* rhs_grad,
                        int req_lhs_grad, int req_rhs_grad, RunContext* ctx) except -1 nogil:
    cdef const float* g = <const float*>out_grad.data
    cdef int64_t i, j, n = lhs.size, m = rhs.size
    cdef float total
    for i in range(n if req_lhs_grad != kNullOp else 0):
        total = 0
        for j in range(m):
            total += g[i * m + j] * (<const float*>rhs.data)[j]
        assign(&(<float*>lhs_grad.data)[i], req_lhs_grad, total)
    for j in range(m if req_rhs_grad != kNullOp else 0):
        total = 0
        for i in range(n):
            total += g[i * m + j] * (<const float*>lhs.data)[i]
        assign(&(<float*>rhs_grad.data)[j], req_rhs_grad, total)
    return 0


simple_op.register("c_outer") \
    .set_shape_function(binary_shape(outer_shape)) \
    .set_function("cpu", binary_function(outer_forward)) \
    .set_gradient("cpu", binary_gradient_T2(outer_backward)) \
    .set_resource_request(ResourceRequest.temp_space)


# --- binary, gradient of nothing but out_grad -----------------------------------------------------
cdef int minus_forward(const TBlob* lhs, const TBlob* rhs, const EnvArguments* env, TBlob* ret,
                       int req, RunContext* ctx) except -1 nogil:
    cdef int64_t i
    for i in range(ret.size):
        assign(&(<float*>ret.data)[i], req,
               (<const float*>lhs.data)[i] - (<const float*>rhs.data)[i])
    return 0


cdef int minus_backward(const TBlob* out_grad, const EnvArguments* env, TBlob* lhs_grad,
                        TBlob* rhs_grad, int req_lhs_grad, int req_rhs_grad,
                        RunContext* ctx) except -1 nogil:
    cdef const float* g = <const float*>out_grad.data
    cdef int64_t i
    cdef float value
    for i in range(out_grad.size):
        value = g[i]  # lhs_grad may be out_grad's memory
        if req_rhs_grad != kNullOp:
            assign(&(<float*>rhs_grad.data)[i], req_rhs_grad, -value)
        if req_lhs_grad != kNullOp:
            assign(&(<float*>lhs_grad.data)[i], req_lhs_grad, value)
    return 0


simple_op.register("c_minus") \
    .set_function("cpu", binary_function(minus_forward), simple_op.kInplaceLhsOut) \
    .set_gradient("cpu", binary_gradient_T0(minus_backward), simple_op.kInplaceOutLhs)


# --- a unary shape function, and what must be refused ---------------------------------------------
cdef int first_shape(const TBlob* src, const EnvArguments* env, int64_t* out) except -1:
    out[0] = <int64_t>env.scalar
    return 1


cdef int first_forward(const TBlob* src, const EnvArguments* env, TBlob* ret, int req,
                       RunContext* ctx) except -1 nogil:
    cdef int64_t i
    for i in range(ret.size):
        assign(&(<float*>ret.data)[i], req, (<const float*>src.data)[i])
    return 0


simple_op.register("c_first") \
    .set_shape_function(unary_shape(first_shape)) \
    .set_function("cpu", unary_function(first_forward)) \
    .set_enable_scalar(True)

function = unary_function(first_forward)
gradient = binary_gradient_T0(minus_backward)
