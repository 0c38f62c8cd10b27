"""leaky: data where it is positive, slope * data elsewhere; float32, any shape."""

from libc.stdint cimport int64_t

from cynet._typedefs cimport TBlob
from cynet.kernels.clones cimport cloned
from cynet.kernels.parallel cimport parallel_ranges, threads_for
from cynet.operator._base cimport OpContext, Operator
from cynet.operator._simple cimport assign

import cynet as mx

cdef struct Loop:
    const float* x
    const float* g  # values to pass on where x > 0: x, or the output's gradient
    float* out
    int req
    float slope

cdef cloned loop(const Loop* given, int64_t begin, int64_t end) noexcept nogil:
    cdef Loop w = given[0]
    cdef int64_t i
    for i in range(begin, end):
        assign(&w.out[i], w.req, w.g[i] * (1 if w.x[i] > 0 else w.slope))

cdef void part(void* given, int64_t begin, int64_t end) noexcept nogil:
    loop(<Loop*>given, begin, end)


cdef class LeakyOperator(Operator):
    cdef float slope

    def __init__(self, slope):
        self.slope = slope

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef const float* x = <const float*>in_data[0].data
        cdef Loop work = Loop(x, x, <float*>out_data[0].data, req[0], self.slope)
        parallel_ranges(threads_for(in_data[0].size), in_data[0].size, part, &work)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef Loop work = Loop(<const float*>in_data[0].data, <const float*>out_grad[0].data,
                              <float*>in_grad[0].data, req[0], self.slope)
        parallel_ranges(threads_for(in_data[0].size), in_data[0].size, part, &work)
        return 0


@mx.operator.register("leaky")
class LeakyProperty(mx.operator.OperatorProperty):
    """Leaky rectifier: ``data`` where it is positive, ``slope * data`` elsewhere."""

    slope = mx.operator.Float(default=0.25, doc="Slope where data is negative.")
    inputs_doc = {"data": "Input of any shape, float32."}
    dtypes = ("float32",)  # dtypes of the arrays; ("float32",) is the default, too
    pure = True  # nothing but the output changes: graph passes may merge and fold it
    honours_req = True  # backward adds to gradients where requested

    def infer_type(self, in_types, out_types):
        return ["float32"], ["float32"], []

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [out_grad[0], in_data[0]]

    def forward_inplace_option(self, in_data, out_data):
        return [(in_data[0], out_data[0])]

    def backward_inplace_option(self, out_grad, in_data, out_data, in_grad):
        return [(out_grad[0], in_grad[0])]

    def create_operator(self, ctx, in_shapes, in_types):
        return LeakyOperator(self.slope)
