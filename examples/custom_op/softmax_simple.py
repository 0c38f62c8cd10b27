"""Softmax as a SimpleOp: a function and a gradient; the loss is composed of built-ins.

A SimpleOp is differentiated by the chain rule, so it does not fit a loss that ignores the gradient
from above: here the operator is the softmax itself, and ``MakeLoss`` begins the backward pass.
"""

import numpy as np
from training import main

import cynet as mx
from cynet import simple_op


def forward(src, env, ret, req, ctx):
    """``y = exp(x) / sum(exp(x))``, row by row."""
    x = np.asarray(src)
    y = np.exp(x - x.max(axis=1, keepdims=True))
    simple_op.assign(ret, req, y / y.sum(axis=1, keepdims=True))


def backward(out_grad, out_value, env, in_grad, req, ctx):
    """``dx = y * (dy - sum(dy * y))``; reading the output makes it a gradient of kind T1."""
    dy, y = np.asarray(out_grad), np.asarray(out_value)
    simple_op.assign(in_grad, req, y * (dy - (dy * y).sum(axis=1, keepdims=True)))


(
    simple_op.register("simple_softmax")
    .set_function("cpu", forward, simple_op.kInplaceInOut)
    .set_gradient("cpu", backward, simple_op.kInplaceOutIn)
    .describe("Softmax of each row of a matrix.")
)


def softmax(scores):
    """Probabilities, and the cross-entropy of each row as the loss."""
    probability = mx.sym.simple_softmax(scores, name="softmax")
    picked = mx.sym.pick(probability, mx.sym.Variable("softmax_label"))
    loss = mx.sym.MakeLoss(-mx.sym.log(picked + 1e-30), name="loss")
    return mx.sym.Group([mx.sym.BlockGrad(probability), loss])


if __name__ == "__main__":
    main(softmax, __doc__, "softmax_simple")
