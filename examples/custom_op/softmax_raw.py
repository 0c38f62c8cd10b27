"""Softmax loss on the raw interface: registered, it is an operator like the built-ins."""

import numpy as np
from training import main

import cynet as mx


@mx.operator.register("raw_softmax")
class SoftmaxProperty(mx.operator.OperatorProperty):
    """Softmax of each row, with the gradient of its cross-entropy times ``grad_scale``."""

    grad_scale = mx.operator.Float(default=1.0, low=0.0, doc="Multiplies the gradient.")
    inputs_doc = {"data": "Scores, (N, K).", "label": "Classes, (N,)."}

    def infer_shape(self, in_shapes, out_shapes):
        scores = in_shapes[0] or out_shapes[0]  # both ways: the output's shape will do
        if scores is None:
            return in_shapes, out_shapes, []
        return [scores, (scores[0],)], [scores], []

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [in_data[1], out_data[0]]

    def forward_inplace_option(self, in_data, out_data):
        return [(in_data[0], out_data[0])]

    def backward_inplace_option(self, out_grad, in_data, out_data, in_grad):
        return [(out_data[0], in_grad[0])]

    def forward_resource(self, in_shapes):
        return [mx.operator.ResourceRequest.temp_space]

    def backward_resource(self, in_shapes):
        return [mx.operator.ResourceRequest.temp_space]

    def create_operator(self, ctx, in_shapes, in_types):
        return SoftmaxOperator(self.grad_scale)


class SoftmaxOperator(mx.operator.Operator):
    """Computes on views of the memory; temporary space comes from the pool."""

    def __init__(self, grad_scale):
        self.grad_scale = grad_scale

    def forward(self, ctx, in_data, req, out_data, aux_states):
        x = np.asarray(in_data[0])
        y = ctx.requested[0].get_space(x.shape, x.dtype)
        np.exp(x - x.max(axis=1, keepdims=True), out=y)
        y /= y.sum(axis=1, keepdims=True)
        mx.simple_op.assign(out_data[0], req[0], y)

    def backward(self, ctx, out_grad, in_data, out_data, req, in_grad, aux_states):
        labels = np.asarray(in_data[1]).astype(int)
        y = np.asarray(out_data[0])
        dx = ctx.requested[0].get_space(y.shape, y.dtype)
        dx[:] = y
        dx[np.arange(len(labels)), labels] -= 1
        dx *= self.grad_scale
        mx.simple_op.assign(in_grad[0], req[0], dx)
        mx.simple_op.assign(in_grad[1], req[1], 0)  # labels have no gradient


def softmax(scores):
    """The loss of `scores`."""
    return mx.sym.raw_softmax(data=scores, name="softmax")


if __name__ == "__main__":
    main(softmax, __doc__, "softmax_raw")
