# cython: wraparound=True
"""Activation: an elementwise nonlinearity; data and out have one shape."""

from ..._typedefs cimport TBlob, kAddTo, kFloat32, kNullOp
from ...kernels.activation cimport (activation_backward, activation_forward, kReLU, kSigmoid, kSoftReLU,
                                    kSoftSign, kTanh)
from .._base cimport Operator, OpContext

from .._base import register_operator
from ..floats import require_float_cpu
from ..parameters import Enum
from ..property import OperatorProperty

_KINDS = {"relu": kReLU, "sigmoid": kSigmoid, "tanh": kTanh, "softrelu": kSoftReLU, "softsign": kSoftSign}


class ActivationProperty(OperatorProperty):
    """Elementwise nonlinearity, by `act_type`.

    - relu: ``max(x, 0)``
    - sigmoid: ``1 / (1 + exp(-x))``
    - tanh: ``tanh(x)``
    - softrelu: ``log(1 + exp(x))``
    - softsign: ``x / (1 + |x|)``
    """

    act_type = Enum(tuple(_KINDS), doc="Which function.")

    inputs_doc = {"data": "Input of any shape."}

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [out_grad[0], out_data[0]]

    def forward_inplace_option(self, in_data, out_data):
        return [(in_data[0], out_data[0])]

    def backward_inplace_option(self, out_grad, in_data, out_data, in_grad):
        return [(out_grad[0], in_grad[0])]

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, self.list_arguments(), in_types)
        return ActivationOperator(_KINDS[self.act_type])


cdef class ActivationOperator(Operator):
    cdef int kind

    def __init__(self, kind):
        self.kind = kind

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef bint add = req[0] == kAddTo
        if req[0] == kNullOp:
            return 0
        if in_data[0].dtype == kFloat32:
            activation_forward(self.kind, <const float*>in_data[0].data, <float*>out_data[0].data,
                               in_data[0].size, add)
        else:
            activation_forward(self.kind, <const double*>in_data[0].data, <double*>out_data[0].data,
                               in_data[0].size, add)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef bint add = req[0] == kAddTo
        if req[0] == kNullOp:
            return 0
        if out_data[0].dtype == kFloat32:
            activation_backward(self.kind, <const float*>out_grad[0].data, <const float*>out_data[0].data,
                                <float*>in_grad[0].data, out_data[0].size, add)
        else:
            activation_backward(self.kind, <const double*>out_grad[0].data, <const double*>out_data[0].data,
                                <double*>in_grad[0].data, out_data[0].size, add)
        return 0


register_operator("Activation", ActivationProperty)
