# distutils: extra_compile_args = -O1
# cython: wraparound=True
"""SoftmaxOutput: softmax forward, gradient of cross-entropy backward; out has data's shape."""

from cython cimport floating
from libc.string cimport memset

from ..._typedefs cimport TBlob, dtype_size, kAddTo, kFloat32, kNullOp
from ...kernels.reduce.softmax cimport softmax_forward
from ...kernels.reduce.softmax_output cimport SoftmaxLoss, scaled_difference, softmax_loss_gradient
from .._base cimport Operator, OpContext

from math import prod

from ...base.errors import ShapeError
from .._base import register_operator
from ..checks.dtypes import require_float_cpu
from ..graph_hooks import GraphHooks
from ..parameters import Bool, Enum, Float
from ..property import OperatorProperty, merge_shapes

_NORMALIZATION = {"null": 0, "batch": 1, "valid": 2}


class SoftmaxOutputProperty(OperatorProperty):
    """Softmax whose gradient is that of the cross-entropy with `label`.

    Forward gives ``out = softmax(data)``, over all axes but the first; along axis 1 with
    `multi_output` and along the last with `preserve_shape`. Backward does not look at the gradient
    of `out` (unless `out_grad`): ``grad = grad_scale * (out - onehot(label))``, divided by what
    `normalization` says and, with `multi_output`, without normalization, by the number of
    positions. A label of data's own shape is taken as probabilities, and ``grad = grad_scale * (out
    - label)``.
    """

    grad_scale = Float(1.0, doc="Factor of the gradient.")
    ignore_label = Float(-1.0, low=-(1 << 31), high=(1 << 31) - 1,
                         doc="Rows with this label get no gradient, with use_ignore.")
    multi_output = Bool(
        False, doc="Softmax along axis 1, a label for each position of the other axes.")
    use_ignore = Bool(False, doc="Whether ignore_label is looked at.")
    preserve_shape = Bool(False, doc="Softmax along the last axis.")
    normalization = Enum(tuple(_NORMALIZATION), "null",
                         doc="Divide the gradient by the number of labels ('batch'), of those that "
                             "are not ignore_label, regardless of use_ignore ('valid'), or not "
                             "('null').")
    out_grad = Bool(False, doc="Multiply the gradient by that of out, elementwise.")
    smooth_alpha = Float(0.0, low=0.0, high=1.0,
                         doc="Part of the target that the other classes share; not with "
                             "multi_output.")

    graph = GraphHooks(float32_beside_half=(), loss_labels=(1,))
    inputs_doc = {
        "data": "Scores.",
        "label": "Class of each row: data's shape without the class axis; or probabilities in "
                 "data's shape.",
    }

    def ignored_class(self):
        """`ignore_label` as labels are read, truncated; what no label is where it fits none."""
        fits = -(2.0 ** 31) < self.ignore_label < 2.0 ** 31
        return int(self.ignore_label) if fits else -(2 ** 31)

    def infer_shape(self, in_shapes, out_shapes):
        label = in_shapes[1]
        data = merge_shapes(in_shapes[0], out_shapes[0])
        if data is None:
            return [None, label], [None], []
        if len(data) < 2:
            raise ShapeError(f"data has shape {data}, expected at least 2 axes")
        if self.multi_output:
            rest = data[2:]
            flat = (data[0], prod(rest))
            allowed = [flat, (data[0], *rest), (data[0], 1, *rest), data]
        else:
            flat = data[:-1]
            allowed = [flat, data]
        if label is None:
            label = flat
        else:
            for shape in allowed:
                if len(shape) == len(label) and not any(a and b and a != b for a,
                                                        b in zip(shape, label)):
                    label = merge_shapes(shape, label)
                    break
            else:
                expected = " or ".join(str(shape) for shape in dict.fromkeys(allowed))
                raise ShapeError(f"label has shape {tuple(label)}, expected {expected}")
        return [data, label], [data], []

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [*(out_grad if self.out_grad else ()), in_data[1], out_data[0]]

    def forward_inplace_option(self, in_data, out_data):
        return [(in_data[0], out_data[0])]

    def backward_inplace_option(self, out_grad, in_data, out_data, in_grad):
        return [(out_data[0], in_grad[0])]

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, self.list_arguments(), in_types)
        return SoftmaxOutputOperator(self, *in_shapes)


cdef class SoftmaxOutputOperator(Operator):
    cdef SoftmaxLoss loss
    cdef bint probabilities, with_gradient

    def __init__(self, prop, data, label):
        cdef SoftmaxLoss* s = &self.loss
        if prop.multi_output:
            s.outer, s.n, s.inner = data[0], data[1], prod(data[2:])
        elif prop.preserve_shape:
            s.outer, s.n, s.inner = prod(data[:-1]), data[-1], 1
        else:
            s.outer, s.n, s.inner = data[0], prod(data[1:]), 1
        s.labels = prod(label)
        s.use_ignore = prop.use_ignore
        s.ignore_label = prop.ignored_class()
        s.normalization = _NORMALIZATION[prop.normalization]
        s.scale = prop.grad_scale
        s.smooth = 0 if prop.multi_output else prop.smooth_alpha
        self.with_gradient = prop.out_grad
        self.probabilities = tuple(label) == tuple(data)

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef SoftmaxLoss* s = &self.loss
        if req[0] == kNullOp:
            return 0
        if in_data[0].dtype == kFloat32:
            softmax_forward(<const float*>in_data[0].data, <float*>out_data[0].data, s.outer, s.n,
                            s.inner, 1, False, NULL, False, req[0] == kAddTo)
        else:
            softmax_forward(<const double*>in_data[0].data, <double*>out_data[0].data, s.outer,
                            s.n, s.inner, 1, False, NULL, False, req[0] == kAddTo)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        if req[1] != kNullOp and req[1] != kAddTo:
            memset(in_grad[1].data, 0, in_grad[1].size * dtype_size(in_grad[1].dtype))
        if req[0] == kNullOp:
            return 0
        if out_data[0].dtype == kFloat32:
            self._gradient(<float*>NULL, out_grad, in_data, out_data, in_grad, req[0] == kAddTo)
        else:
            self._gradient(<double*>NULL, out_grad, in_data, out_data, in_grad, req[0] == kAddTo)
        return 0

    cdef void _gradient(self, floating* kind, const TBlob* out_grad, const TBlob* in_data,
                        const TBlob* out_data, TBlob* in_grad, bint add) noexcept nogil:
        cdef const floating* y = <const floating*>out_data[0].data
        cdef const floating* label = <const floating*>in_data[1].data
        cdef const floating* dy = <const floating*>(out_grad[0].data if self.with_gradient
                                                    else NULL)
        cdef floating* dx = <floating*>in_grad[0].data
        if self.probabilities:
            scaled_difference(y, label, dy, self.loss.scale, dx, out_data[0].size, add)
        else:
            softmax_loss_gradient(&self.loss, y, label, dy, dx, add)


register_operator("SoftmaxOutput", SoftmaxOutputProperty, aliases=("Softmax",))
