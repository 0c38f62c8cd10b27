# cython: wraparound=True
"""FullyConnected: out = data weight^T + bias; data (N, K), weight (M, K), bias (M,), out (N, M)."""

from cython cimport floating
from libc.stdint cimport int64_t

from ...._typedefs cimport TBlob, kAddTo, kFloat32, kNullOp
from ....kernels.gemm.blas cimport gemm
from ....kernels.reduce.row_sums cimport spread_rows, sum_rows
from ..._base cimport Operator, OpContext

from math import prod

from ....base.errors import ShapeError
from ....kernels.conv import onednn
from ....kernels.gemm.blas import check_sizes
from ..._base import register_operator
from ...checks.dtypes import require_float_cpu
from ...parameters import Bool, Int
from ...property import OperatorProperty, ResourceRequest
from ...checks.shapes import agree
from ..fused_activation import FoldsActivation, FoldsActivationHooks

SMALL = 4096  # multiplications that take less time than the call of a oneDNN primitive


class FullyConnectedHooks(FoldsActivationHooks):
    """Products of our own mask the gradient."""

    def applies(self, prop, act_type, in_shapes, in_types):
        single = in_types[0] == "float32" and onednn.available()
        return single and onednn.has_activation(act_type)

    def masks(self, prop, in_shapes, in_types):
        return in_types[0] == "float32" and prop._suits_products(in_shapes)


class FullyConnectedProperty(FoldsActivation, OperatorProperty):
    """Linear map of the last axis (or of all axes but the first): ``out = data . weight^T + bias``.

    With `flatten`, data of shape (N, d1, d2, ...) is read as (N, d1*d2*...) and out is (N,
    num_hidden). Without it the map is applied along the last axis: (d0, ..., K) becomes (d0, ...,
    num_hidden).
    """

    num_hidden = Int(doc="Number of outputs of the map.", low=1)
    no_bias = Bool(False, doc="Leave out the bias.")
    flatten = Bool(True, doc="Collapse all axes but the first before the map.")

    graph = FullyConnectedHooks(float32_beside_half=())
    inputs_doc = {
        "data": "Input, at least 1-d.",
        "weight": "Matrix (num_hidden, input size).",
        "bias": "Vector (num_hidden,).",
    }

    def list_arguments(self):
        return ["data", "weight"] if self.no_bias else ["data", "weight", "bias"]

    def infer_shape(self, in_shapes, out_shapes):
        data, weight = in_shapes[0], in_shapes[1]
        out = out_shapes[0]
        hidden = self.num_hidden
        weight = agree("weight", weight, (hidden, 0))
        if data is not None:
            if len(data) == 0:
                raise ShapeError("data must have at least one axis")
            units = prod(data[1:]) if self.flatten else data[-1]
            weight = agree("weight", weight, (hidden, units))
            out = agree("output", out, (data[0], hidden) if self.flatten else (*data[:-1], hidden))
            if self.flatten:
                if out[0] and not data[0]:
                    data = (out[0], *data[1:])
                if len(data) == 2:
                    data = (data[0], data[1] or weight[1])
            else:
                data = (*out[:-1], data[-1] or weight[1])
        elif out is not None:
            out = agree("output", out, (0, hidden) if self.flatten else (*(0,) * (len(out) - 1),
                                                                         hidden))
            if not self.flatten:
                data = (*out[:-1], weight[1])
        shapes = [data, weight]
        if not self.no_bias:
            shapes.append(agree("bias", in_shapes[2], (hidden,)))
        return shapes, [out], []

    def forward_resource(self, in_shapes):
        return [ResourceRequest.temp_space]

    def backward_resource(self, in_shapes):
        return [ResourceRequest.temp_space]

    def rows(self, data):
        """How many vectors the map is applied to in data of this shape."""
        return data[0] if self.flatten else prod(data[:-1])

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, self.list_arguments(), in_types)
        rows = self.rows(in_shapes[0])
        if in_types[0] == "float32" and onednn.available():
            from .onednn import MatmulFullyConnected
            from .gemm import ProductFullyConnected

            sizes = rows, in_shapes[1][1], self.num_hidden
            if self._suits_products(in_shapes):
                return ProductFullyConnected(self, *sizes)
            if self.activation is not None or prod(sizes) > SMALL:
                return MatmulFullyConnected(self, *sizes)
        check_sizes(f"operator {self.op_name}", rows, *in_shapes[1])
        return FullyConnectedOperator(self, in_shapes)

    def _suits_products(self, in_shapes):
        """Whether products of our own compute it best, in float32."""
        from .gemm import suits

        if not onednn.available():
            return False
        return suits(
            self.rows(in_shapes[0]), in_shapes[1][1], self.num_hidden)


cdef class FullyConnectedOperator(Operator):
    """Two shapes, three products."""

    cdef int64_t rows, units, hidden
    cdef bint has_bias

    def __init__(self, prop, in_shapes):
        self.hidden, self.units = in_shapes[1]
        self.rows = prod(in_shapes[0]) // self.units
        self.has_bias = not prop.no_bias

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        if in_data[0].dtype == kFloat32:
            self._forward(<float*>NULL, in_data, req, out_data)
        else:
            self._forward(<double*>NULL, in_data, req, out_data)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        if out_grad[0].dtype == kFloat32:
            self._backward(<float*>NULL, out_grad, in_data, req, in_grad)
        else:
            self._backward(<double*>NULL, out_grad, in_data, req, in_grad)
        return 0

    cdef void _forward(self, floating* kind, const TBlob* in_data, const int* req,
                       TBlob* out_data) noexcept nogil:
        cdef floating* out = <floating*>out_data[0].data
        cdef floating beta = 1
        if req[0] == kNullOp:
            return
        if self.has_bias:
            spread_rows(<const floating*>in_data[2].data, self.rows, self.hidden, out,
                        req[0] == kAddTo)
        elif req[0] != kAddTo:
            beta = 0
        gemm(False, True, self.rows, self.hidden, self.units, <floating>1,
             <const floating*>in_data[0].data, self.units, <const floating*>in_data[1].data,
             self.units, beta, out, self.hidden)

    cdef void _backward(self, floating* kind, const TBlob* out_grad, const TBlob* in_data,
                        const int* req, TBlob* in_grad) noexcept nogil:
        cdef const floating* grad = <const floating*>out_grad[0].data
        cdef floating zero = 0, one = 1
        if req[1] != kNullOp:
            gemm(True, False, self.hidden, self.units, self.rows, one, grad, self.hidden,
                 <const floating*>in_data[0].data, self.units,
                 one if req[1] == kAddTo else zero, <floating*>in_grad[1].data, self.units)
        if self.has_bias and req[2] != kNullOp:
            sum_rows(grad, self.rows, self.hidden, <floating*>in_grad[2].data, req[2] == kAddTo)
        if req[0] != kNullOp:
            gemm(False, False, self.rows, self.units, self.hidden, one, grad, self.hidden,
                 <const floating*>in_data[1].data, self.units,
                 one if req[0] == kAddTo else zero, <floating*>in_grad[0].data, self.units)


register_operator("FullyConnected", FullyConnectedProperty)
