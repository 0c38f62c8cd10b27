# cython: wraparound=True
"""SVMOutput: scores forward, the gradient of the hinge loss of their classes backward."""

from cython cimport floating
from cython.parallel cimport prange
from libc.stdint cimport int64_t
from libc.string cimport memset

from ..._typedefs cimport TBlob, dtype_size, kAddTo, kFloat32, kNullOp
from ...kernels.elementwise.elementwise cimport Kernel, run_unary
from ...kernels.parallel cimport threads_for
from ...kernels.table cimport find_unary
from .._base cimport Operator, OpContext

from math import prod

from ...base.dtype import dtype_flag
from ...base.errors import ShapeError
from .._base import register_operator
from ..checks.dtypes import require_float_cpu
from ..graph_hooks import GraphHooks
from ..parameters import Bool, Float
from ..property import OperatorProperty, merge_shapes
from ..checks.shapes import agree


class SVMOutputProperty(OperatorProperty):
    """Output of a support vector machine: ``out = data``; backward gives a hinge loss's gradient.

    With t = 1 for the class of the label and -1 for the others, the loss of a score x is
    ``max(0, margin - t * x)``, squared unless `use_linear`, times `regularization_coefficient`. The
    gradient of out is not looked at.
    """

    margin = Float(1.0, doc="Margin between a score and the boundary.")
    regularization_coefficient = Float(1.0, doc="Factor of the loss.")
    use_linear = Bool(False, doc="Linear loss in place of the squared one.")

    graph = GraphHooks(float32_beside_half=(), loss_labels=(1,))
    inputs_doc = {"data": "Scores (N, ..., classes).", "label": "Class of each row, (N, ...)."}

    def infer_shape(self, in_shapes, out_shapes):
        data, label = merge_shapes(in_shapes[0], out_shapes[0]), in_shapes[1]
        if data is not None:
            if len(data) < 2:
                raise ShapeError(f"data has shape {data}, expected at least 2 axes")
            label = agree("label", label, data[:-1])
        return [data, label], [data], []

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [in_data[1], out_data[0]]

    def forward_inplace_option(self, in_data, out_data):
        return [(in_data[0], out_data[0])]

    def backward_inplace_option(self, out_grad, in_data, out_data, in_grad):
        return [(out_data[0], in_grad[0])]

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, self.list_arguments(), in_types)
        return SVMOutputOperator(self, in_shapes[0], in_types[0])


cdef class SVMOutputOperator(Operator):
    cdef Kernel write, add
    cdef int64_t rows, classes
    cdef double margin, scale
    cdef bint linear

    def __init__(self, prop, shape, dtype):
        self.write = find_unary(b"identity", dtype_flag(dtype), False)
        self.add = find_unary(b"identity", dtype_flag(dtype), True)
        self.rows, self.classes = shape[0], prod(shape[1:])
        self.margin = prop.margin
        self.scale = prop.regularization_coefficient
        self.linear = prop.use_linear

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        if req[0] != kNullOp:
            run_unary(&self.add if req[0] == kAddTo else &self.write, in_data[0].data,
                      out_data[0].data, out_data[0].size)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        if req[1] != kNullOp and req[1] != kAddTo:
            memset(in_grad[1].data, 0, in_grad[1].size * dtype_size(in_grad[1].dtype))
        if req[0] == kNullOp:
            return 0
        if out_data[0].dtype == kFloat32:
            self._gradient(<const float*>out_data[0].data, <const float*>in_data[1].data,
                           <float*>in_grad[0].data, req[0] == kAddTo)
        else:
            self._gradient(<const double*>out_data[0].data, <const double*>in_data[1].data,
                           <double*>in_grad[0].data, req[0] == kAddTo)
        return 0

    cdef void _gradient(self, const floating* y, const floating* label, floating* dx,
                        bint add) noexcept nogil:
        cdef int64_t i, classes = self.classes
        cdef int threads = threads_for(self.rows * classes * 2)
        cdef floating margin = <floating>self.margin, scale = <floating>self.scale
        cdef bint linear = self.linear
        for i in prange(self.rows, num_threads=threads, schedule="static"):
            _row(y + i * classes, label[i], dx + i * classes, classes, margin, scale, linear, add)


cdef void _row(const floating* y, floating label, floating* dx, int64_t n, floating margin,
               floating scale, bint linear, bint add) noexcept nogil:
    """First as of a row of wrong classes, then the right one. dx may be y."""
    cdef int64_t k
    cdef floating value
    cdef bint has_label = 0 <= label < n and label == <floating><int64_t>label
    cdef int64_t right = <int64_t>label if has_label else 0
    cdef floating score = y[right] if has_label else 0
    cdef floating before = dx[right] if add and has_label else 0
    for k in range(n):
        value = _slope(margin + y[k], scale, linear)
        dx[k] = dx[k] + value if add else value
    if has_label:
        value = -_slope(margin - score, scale, linear)
        dx[right] = before + value if add else value


cdef inline floating _slope(floating room, floating scale, bint linear) noexcept nogil:
    """Of the loss of a class whose margin lacks `room`."""
    if room > 0:
        return scale if linear else scale * (2 * room)
    return 0


register_operator("SVMOutput", SVMOutputProperty)
