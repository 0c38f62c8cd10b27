"""The GPU form of an operator that is a cuDNN layer with one input and one output."""

from ..._typedefs cimport TBlob, kAddTo, kNullOp
from ...cuda.libraries.cudnn_maps cimport UnaryLayer
from .._base cimport OpContext
from .launch cimport DeviceOperator


cdef class CudnnForm(DeviceOperator):  # a cuDNN layer of one input as an operator
    """An operator whose first output, and first input's gradient, are a cuDNN layer's.

    device: Device
    layer: UnaryLayer
    backward (Steps, optional): The gradients of all inputs, if they are not the layer's.
    """

    cdef UnaryLayer layer
    cdef bint own_gradients

    def __init__(self, device, UnaryLayer layer, backward=None):
        self.layer, self.own_gradients = layer, backward is not None
        if backward is None:
            super().__init__(device)
        else:
            super().__init__(device, (), backward.steps, (), backward.spaces)

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        if req[0] == kNullOp:
            return 0
        return self.layer.forward(&ctx.run_ctx, in_data[0].data, out_data[0].data, req[0] == kAddTo)

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        if self.own_gradients:
            return self.run(1, ctx, in_data, out_data, out_grad, in_grad, aux_states, req)
        if req[0] == kNullOp:
            return 0
        return self.layer.backward(&ctx.run_ctx, out_data[0].data, out_grad[0].data,
                                   in_grad[0].data, req[0] == kAddTo)
