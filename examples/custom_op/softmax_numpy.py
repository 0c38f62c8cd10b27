"""Softmax loss as a NumpyOp: an instance called on symbols; arrays are views of the real memory."""

import numpy as np
from training import main

import cynet as mx


class Softmax(mx.operator.NumpyOp):
    """Names, shapes and computation in one object."""

    def __init__(self):
        super().__init__(need_top_grad=False)

    def list_arguments(self):
        return ["data", "label"]

    def list_outputs(self):
        return ["output"]

    def infer_shape(self, in_shape):
        return [in_shape[0], (in_shape[0][0],)], [in_shape[0]]

    def forward(self, in_data, out_data):
        x, y = in_data[0], out_data[0]
        np.exp(x - x.max(axis=1, keepdims=True), out=y)
        y /= y.sum(axis=1, keepdims=True)

    def backward(self, out_grad, in_data, out_data, in_grad):
        labels, dx = in_data[1].astype(int), in_grad[0]
        dx[:] = out_data[0]
        dx[np.arange(len(labels)), labels] -= 1


def softmax(scores):
    """The loss of `scores`."""
    return Softmax()(data=scores, name="softmax")


if __name__ == "__main__":
    main(softmax, __doc__, "softmax_numpy")
