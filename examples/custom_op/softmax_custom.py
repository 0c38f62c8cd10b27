"""Softmax loss as a CustomOp: NDArrays in and out, a class that can be saved by name."""

import numpy as np
from training import main

import cynet as mx


class Softmax(mx.operator.CustomOp):
    """Computes on NumPy arrays; any nd function would do as well."""

    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        y = np.exp(x - x.max(axis=1, keepdims=True))
        y /= y.sum(axis=1, keepdims=True)
        self.assign(out_data[0], req[0], mx.nd.array(y))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        labels = in_data[1].asnumpy().astype(int)
        dx = out_data[0].asnumpy()
        dx[np.arange(len(labels)), labels] -= 1
        self.assign(in_grad[0], req[0], mx.nd.array(dx))


@mx.operator.register("softmax")
class SoftmaxProp(mx.operator.CustomOpProp):
    """Names and shapes of the loss; its gradient needs none from above."""

    def __init__(self):
        super().__init__(need_top_grad=False)

    def list_arguments(self):
        return ["data", "label"]

    def list_outputs(self):
        return ["output"]

    def infer_shape(self, in_shape):
        return [in_shape[0], (in_shape[0][0],)], [in_shape[0]], []

    def create_operator(self, ctx, shapes, dtypes):
        return Softmax()


def softmax(scores):
    """The loss of `scores`."""
    return mx.sym.Custom(data=scores, name="softmax", op_type="softmax")


if __name__ == "__main__":
    main(softmax, __doc__, "softmax_custom")
