"""AdaGrad with one number of history for each row of a weight.

``history += mean(g ** 2)`` over each row, ``output = weight - lr * g / sqrt(history + epsilon)``
with the gradient ``g`` scaled and clipped. weight and grad are (n, ...), history is (n, 1).
"""

from libc.stdint cimport int64_t

from ..._typedefs cimport TBlob, kAddTo, kNullOp
from ...kernels.parallel cimport threads_for
from .._base cimport Operator, OpContext

from ...base.errors import ShapeError
from .._base import register_operator
from ..checks.dtypes import GPU_FLOATS, require_floats
from ..parameters import Float
from ..property import OperatorProperty, merge_shapes


cdef extern from "update/group_adagrad.h" namespace "cynet" nogil:
    struct GroupAdaGrad:
        double lr
        double rescale
        double clip
        double epsilon
    void group_adagrad(int threads, int dtype, const GroupAdaGrad& given, const void* weight,
                       const void* grad, void* history, void* out, int64_t rows, int64_t length,
                       bint add) noexcept


class GroupAdaGradProperty(OperatorProperty):
    """AdaGrad with one number for each row: ``history += mean(g ** 2)`` over a row, ``output =
    weight - lr * g / sqrt(history + epsilon)`` with ``g = rescale_grad * grad``, clipped."""

    lr = Float(doc="Learning rate.")
    rescale_grad = Float(1.0, doc="Factor of the gradient.")
    clip_gradient = Float(-1.0, doc="Bound of the scaled gradient; negative: none.")
    epsilon = Float(1e-5, doc="Added under the root.")
    differentiable = False
    inputs_doc = {
        "weight": "The weight, of two axes or more.",
        "grad": "Its gradient, of the same shape.",
        "history": "(n, 1) for a weight (n, ...); moves.",
    }

    def list_auxiliary_states(self):
        return ["history"]

    def infer_shape(self, in_shapes, out_shapes):
        shape = merge_shapes(*in_shapes, *out_shapes)
        if shape is not None and len(shape) < 2:
            raise ShapeError(f"the weight has shape {shape}, expected two axes or more")
        history = None if shape is None else (shape[0], *(1 for _ in shape[1:]))
        return [shape] * 2, [shape], [history]

    def forward_inplace_option(self, in_data, out_data):
        return [(in_data[0], out_data[0])]

    def create_operator(self, ctx, in_shapes, in_types):
        require_floats(self, self.list_arguments(), in_types, GPU_FLOATS)
        return GroupAdaGradOperator(self)


cdef class GroupAdaGradOperator(Operator):
    cdef GroupAdaGrad given

    def __init__(self, prop):
        self.given.lr, self.given.rescale = prop.lr, prop.rescale_grad
        self.given.clip, self.given.epsilon = prop.clip_gradient, prop.epsilon

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef int64_t rows = in_data[0].shape[0]
        if req[0] != kNullOp:
            group_adagrad(threads_for(2 * in_data[0].size), in_data[0].dtype, self.given,
                          in_data[0].data, in_data[1].data, aux_states[0].data, out_data[0].data,
                          rows, in_data[0].size // rows, req[0] == kAddTo)
        return 0


register_operator("_contrib_group_adagrad_update", GroupAdaGradProperty)
