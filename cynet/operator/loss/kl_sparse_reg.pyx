"""IdentityAttachKLSparseReg: data itself, whose gradient is drawn to sparse activations.

data (n, k, ...) with values in (0, 1). A running mean r (k) of each unit's activation is kept, r =
momentum r + (1 - momentum) mean(data); backward gives, with target t,
in_grad = out_grad + penalty * ((1 - t) / (1 - r) - t / r).
"""

from libc.stdint cimport int64_t

from ..._typedefs cimport TBlob, kAddTo, kFloat32, kNullOp
from ...kernels.parallel cimport threads_for
from .._base cimport Operator, OpContext

from cython.parallel cimport prange

from ...base.errors import ShapeError
from .._base import register_operator
from ..checks.dtypes import NARROW, require_float_cpu
from ..graph_hooks import GraphHooks
from ..parameters import Float
from ..property import OperatorProperty, merge_shapes
from ..tensor.axes import split_at

ctypedef fused real:
    float
    double


class KlSparseRegProperty(OperatorProperty):
    """The input itself; backward adds the gradient of a divergence from sparse activations.

    The running mean of each unit's activation (second axis of data) is kept in `moving_avg`, which
    a forward pass in training moves on.
    """

    inputs_doc = {"data": "Activations in (0, 1), shape (n, k, ...)."}
    unlisted = ("moving_avg",)
    graph = GraphHooks(float32_beside_half=("moving_avg",))
    sparseness_target = Float(0.1, doc="Mean activation that is aimed at.", low=0, high=1)
    penalty = Float(0.001, doc="Weight of the divergence.")
    momentum = Float(0.9, doc="How much of the running mean is kept.", low=0, high=1)

    def list_auxiliary_states(self):
        return ["moving_avg"]

    def infer_shape(self, in_shapes, out_shapes):
        shape = merge_shapes(in_shapes[0], out_shapes[0])
        if shape is None:
            return [None], [None], [None]
        if len(shape) < 2:
            raise ShapeError(f"operator {self.op_name}: 'data' has shape {tuple(shape)}, expected "
                             "at least two axes")
        return [shape], [shape], [(shape[1],)]

    def infer_type(self, in_types, out_types):
        in_types, out_types, aux = super().infer_type(in_types, out_types)
        return in_types, out_types, ["float32" if t in NARROW else t for t in aux]

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return out_grad

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, self.list_arguments(), in_types)
        return KlSparseRegOperator(self, *split_at(in_shapes[0], 1))


cdef class KlSparseRegOperator(Operator):
    """(outer, units, inner) numbers."""

    cdef double target, penalty, momentum
    cdef int64_t outer, n, inner

    def __init__(self, prop, outer, n, inner):
        self.target, self.penalty = prop.sparseness_target, prop.penalty
        self.momentum = prop.momentum
        self.outer, self.n, self.inner = outer, n, inner

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        if in_data[0].dtype == kFloat32:
            _forward[float](self, ctx.is_train, <float*>in_data[0].data, req[0],
                            <float*>out_data[0].data, <float*>aux_states[0].data)
        else:
            _forward[double](self, ctx.is_train, <double*>in_data[0].data, req[0],
                             <double*>out_data[0].data, <double*>aux_states[0].data)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        if req[0] == kNullOp:
            return 0
        if out_grad[0].dtype == kFloat32:
            _backward[float](self, <float*>out_grad[0].data, req[0] == kAddTo,
                             <float*>in_grad[0].data, <float*>aux_states[0].data)
        else:
            _backward[double](self, <double*>out_grad[0].data, req[0] == kAddTo,
                              <double*>in_grad[0].data, <double*>aux_states[0].data)
        return 0


cdef void _forward(KlSparseRegOperator self, bint training, const real* x, int req, real* y,
                   real* mean) noexcept nogil:
    cdef int64_t size = self.outer * self.n * self.inner, i, o, k, at
    cdef int threads = threads_for(size)
    cdef double total
    if training:
        for k in prange(self.n, num_threads=threads, schedule="static"):
            total = 0
            for o in range(self.outer):
                at = (o * self.n + k) * self.inner
                for i in range(self.inner):
                    total = total + x[at + i]
            mean[k] = <real>(self.momentum * mean[k] + (1 - self.momentum) * total
                             / (self.outer * self.inner))
    if req == kNullOp:
        return
    for i in prange(size, num_threads=threads, schedule="static"):
        y[i] = y[i] + x[i] if req == kAddTo else x[i]


cdef void _backward(KlSparseRegOperator self, const real* g, bint add, real* dx,
                    const real* mean) noexcept nogil:
    cdef int64_t row, i, k
    cdef int threads = threads_for(self.outer * self.n * self.inner)
    cdef real push
    for row in prange(self.outer * self.n, num_threads=threads, schedule="static"):
        k = row % self.n
        push = <real>(self.penalty * ((1 - self.target) / (1 - mean[k]) - self.target / mean[k]))
        for i in range(row * self.inner, (row + 1) * self.inner):
            dx[i] = (dx[i] if add else 0) + g[i] + push


register_operator("IdentityAttachKLSparseReg", KlSparseRegProperty)
