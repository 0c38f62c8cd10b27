"""SimpleOp from Cython (contract in _simple.pxd): wrapped C functions and their operator."""

from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset, strcmp

from .._typedefs cimport TBlob, MAX_NDIM, kCPU, kNullOp
from ._base cimport Operator, OpContext

from ..base.errors import ArgumentError


cdef class CFunction:  # a C function for cynet.simple_op
    """A C function for cynet.simple_op; Cython code creates it (_simple.pxd).

    `parameters` are the names that a Python function of its kind would have.
    """

    def __init__(self):
        raise TypeError("a CFunction is made in Cython, by unary_function and its like")

    def __repr__(self):
        return f"<C function ({', '.join(self.parameters)})>"

    def infer_shape(self, tuple shapes, Env env):
        """Call the shape function with these input shapes; return the output's shape."""
        cdef TBlob blobs[2]
        cdef int64_t out[8]
        cdef int ndim, k
        memset(blobs, 0, sizeof(blobs))
        for i, shape in enumerate(shapes):
            blobs[i].ndim, blobs[i].size, blobs[i].dev_type = len(shape), 1, kCPU
            for k, n in enumerate(shape):
                blobs[i].shape[k] = n
                blobs[i].size *= n
        if len(shapes) == 1:
            ndim = (<UnaryShape>self.address)(blobs, &env.env, out)
        else:
            ndim = (<BinaryShape>self.address)(blobs, blobs + 1, &env.env, out)
        if ndim < 1 or ndim > MAX_NDIM:
            raise ArgumentError(f"a shape of {ndim} axes; expected 1 to {MAX_NDIM}")
        return tuple([out[k] for k in range(ndim)])


cdef CFunction _wrap_fn(void* address, str parameters):
    cdef CFunction out = CFunction.__new__(CFunction)
    out.address = address
    out.parameters = tuple(parameters.split())
    return out


cdef CFunction unary_function(UnaryFunction function):  # wraps a forward of one input
    return _wrap_fn(<void*>function, "src env ret req ctx")


cdef CFunction binary_function(BinaryFunction function):  # wraps a forward of two inputs
    return _wrap_fn(<void*>function, "lhs rhs env ret req ctx")


cdef CFunction unary_gradient_T0(UnaryGradientT0 function):  # reads out_grad only
    return _wrap_fn(<void*>function, "out_grad env in_grad req ctx")


cdef CFunction unary_gradient_T1(UnaryGradientT1 function):  # reads out_grad, output
    return _wrap_fn(<void*>function, "out_grad out_value env in_grad req ctx")


cdef CFunction unary_gradient_T2(UnaryGradientT2 function):  # reads out_grad, input
    return _wrap_fn(<void*>function, "out_grad in_data0 env in_grad req ctx")


cdef CFunction binary_gradient_T0(BinaryGradientT0 function):  # reads out_grad only
    return _wrap_fn(<void*>function, "out_grad env lhs_grad rhs_grad req_lhs_grad req_rhs_grad ctx")


cdef CFunction binary_gradient_T2(BinaryGradientT2 function):  # reads out_grad, inputs
    return _wrap_fn(<void*>function, "out_grad lhs rhs env lhs_grad rhs_grad "
                    "req_lhs_grad req_rhs_grad ctx")


cdef CFunction unary_shape(UnaryShape function):  # wraps an inference of shapes
    return _wrap_fn(<void*>function, "src env")


cdef CFunction binary_shape(BinaryShape function):  # wraps an inference of shapes
    return _wrap_fn(<void*>function, "lhs rhs env")


cdef const char* keyword(const EnvArguments* env, const char* key) noexcept nogil:  # value or NULL
    cdef int i
    for i in range(env.n_kwargs):
        if strcmp(env.keys[i], key) == 0:
            return env.values[i]
    return NULL


cdef class Env:  # an operator's scalar and keywords, for C functions
    """The EnvArguments of one operator: its scalar and keywords in the form for C functions."""

    cdef EnvArguments env
    cdef list texts

    def __cinit__(self, double scalar, dict kwargs):
        cdef Py_ssize_t n = len(kwargs)
        self.env.scalar = scalar
        self.env.n_kwargs = <int>n
        self.env.keys = <const char**>malloc((2 * n + 1) * sizeof(char*))
        if self.env.keys == NULL:
            raise MemoryError()
        self.env.values = self.env.keys + n
        self.texts = [(key.encode(), value.encode()) for key, value in kwargs.items()]
        for i, (key, value) in enumerate(self.texts):
            self.env.keys[i], self.env.values[i] = <bytes>key, <bytes>value

    def __dealloc__(self):
        free(self.env.keys)


cdef class CSimpleOperator(Operator):  # calls a simple operator's two C functions
    """Calls the two C functions of a simple operator."""

    cdef Env env
    cdef void* function
    cdef void* gradient
    cdef int operands
    cdef int reads  # what the gradient reads: 0 out_grad only, 1 the output too, 2 the inputs too

    def __init__(self, Env env not None, int operands, CFunction function not None,
                 CFunction gradient, int reads):
        self.env = env
        self.operands = operands
        self.function = function.address
        self.gradient = NULL if gradient is None else gradient.address
        self.reads = reads

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef EnvArguments env = self.env.env
        env.n_resource, env.resource = ctx.n_requested, ctx.requested
        if req[0] == kNullOp:
            return 0
        if self.operands == 1:
            return (<UnaryFunction>self.function)(in_data, &env, out_data, req[0], &ctx.run_ctx)
        return (<BinaryFunction>self.function)(in_data, in_data + 1, &env, out_data, req[0],
                                               &ctx.run_ctx)

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef EnvArguments env = self.env.env
        env.n_resource, env.resource = ctx.n_requested, ctx.requested
        if self.gradient == NULL:
            with gil:
                raise ArgumentError("this simple operator has no gradient on this device")
        if self.operands == 1:
            if req[0] == kNullOp:
                return 0
            if self.reads == 0:
                return (<UnaryGradientT0>self.gradient)(out_grad, &env, in_grad, req[0],
                                                        &ctx.run_ctx)
            return (<UnaryGradientT2>self.gradient)(
                out_grad, out_data if self.reads == 1 else in_data, &env, in_grad, req[0],
                &ctx.run_ctx)
        if self.reads == 0:
            return (<BinaryGradientT0>self.gradient)(out_grad, &env, in_grad, in_grad + 1, req[0],
                                                     req[1], &ctx.run_ctx)
        return (<BinaryGradientT2>self.gradient)(out_grad, in_data, in_data + 1, &env, in_grad,
                                                 in_grad + 1, req[0], req[1], &ctx.run_ctx)
