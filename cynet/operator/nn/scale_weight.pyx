# cython: wraparound=True
"""The absorb pass's own operator: weights and bias that compute a BatchNorm, too.

With s = gamma / sqrt(var + eps) for each filter, weight' = s weight and bias' = (bias - mean) s +
beta. weight (F, ...), the others (F,), all float32 or float64.
"""

from cython cimport floating
from cython.parallel cimport prange
from libc.math cimport sqrt
from libc.stdint cimport int64_t

from ..._typedefs cimport TBlob, kFloat32
from ...kernels.parallel cimport threads_for
from .._base cimport Operator, OpContext

from math import prod

from ..parameters import Bool, Float
from ..property import OperatorProperty


class ScaleWeight(OperatorProperty):
    """(weight[, bias], gamma, beta, mean, var) to weight and bias of a step that absorbs a
    BatchNorm; made by the absorb pass, always written."""

    op_name = "_scale_weight"
    eps = Float(1e-3, doc="Added to the variance.", low=0.0)
    fix_gamma = Bool(True, doc="Take gamma as 1.")
    no_bias = Bool(False, doc="There is no bias among the inputs.")

    def list_arguments(self):
        bias = [] if self.no_bias else ["bias"]
        return ["weight", *bias, "gamma", "beta", "mean", "var"]

    def list_outputs(self):
        return ["weight", "bias"]

    def create_operator(self, ctx, in_shapes, in_types):
        return ScaleWeightOperator(self, in_shapes[0][0], prod(in_shapes[0][1:]))


cdef class ScaleWeightOperator(Operator):
    cdef double eps
    cdef bint fixed, has_bias
    cdef int64_t filters, each

    def __init__(self, prop, filters, each):
        self.eps, self.fixed, self.has_bias = prop.eps, prop.fix_gamma, not prop.no_bias
        self.filters, self.each = filters, each

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        if in_data[0].dtype == kFloat32:
            self._scale(<float*>NULL, in_data, out_data)
        else:
            self._scale(<double*>NULL, in_data, out_data)
        return 0

    cdef void _scale(self, floating* kind, const TBlob* in_data, TBlob* out_data) noexcept nogil:
        cdef const TBlob* rest = in_data + (2 if self.has_bias else 1)
        cdef const floating* weight = <const floating*>in_data[0].data
        cdef const floating* bias = <const floating*>(in_data[1].data if self.has_bias else NULL)
        cdef const floating* gamma = <const floating*>(NULL if self.fixed else rest[0].data)
        cdef const floating* beta = <const floating*>rest[1].data
        cdef const floating* mean = <const floating*>rest[2].data
        cdef const floating* variance = <const floating*>rest[3].data
        cdef floating* to = <floating*>out_data[0].data
        cdef floating* shift = <floating*>out_data[1].data
        cdef int64_t f, n = self.each
        cdef double scale
        cdef int threads = threads_for(self.filters * n)
        for f in prange(self.filters, num_threads=threads, schedule="static"):
            scale = 1 / sqrt(<double>variance[f] + self.eps)
            if gamma != NULL:
                scale = scale * gamma[f]
            _times(weight + f * n, <floating>scale, to + f * n, n)
            shift[f] = <floating>(
                ((<double>bias[f] if bias != NULL else 0) - mean[f]) * scale + beta[f])


cdef void _times(const floating* x, floating scale, floating* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = x[i] * scale
