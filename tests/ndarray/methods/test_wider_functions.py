"""Functions that take more than the operator that answers first."""

import numpy as np
import pytest
from cynet.errors import ArgumentError, ArgumentTypeError, CynetError, ShapeError

import cynet as mx


class Drawn(mx.gluon.HybridBlock):
    def forward(self, x):
        noise = mx.nd.random.uniform(2, 3, shape=(4,)) + mx.nd.random.normal(9, 0.5, (4,))
        return x * 0 + noise, mx.nd.where(x > 0, x, -1), x.mean(axis=0), x.mean(dtype="float64")


@pytest.mark.parametrize("hybridized", [False, True])
def test_in_a_block_and_its_graph(hybridized):
    block = Drawn()
    block.initialize()
    if hybridized:
        block.hybridize()
    x = mx.nd.array([1, -2, 3, -5])
    (one, chosen, mean, wide), (other, *_) = block(x), block(x)
    assert (one.asnumpy() != other.asnumpy()).all()  # drawn at each run
    assert one.asnumpy().min() > 8 and one.asnumpy().max() < 15
    assert chosen.asnumpy().tolist() == [1, -1, 3, -1]
    assert mean.asscalar() == wide.asscalar() == -0.75 and wide.dtype == np.float64


def test_what_the_operator_refuses():
    x = mx.nd.array([[1, 2], [3, 6]])
    assert x.mean(None).asscalar() == x.mean(axis=None, keepdims=False).asscalar() == 3
    assert x.mean(1, True).shape == (2, 1) and x.mean(dtype="int32").dtype == np.int32
    out = mx.nd.zeros((2,))
    assert x.mean(axis=0, out=out) is out and out.asnumpy().tolist() == [2, 4]
    out[:] = 0  # by place it was the operator's name
    assert x.mean(0, False, False, None, out) is out and out.asnumpy().tolist() == [2, 4]
    assert mx.nd.where(x > 2, 1, 0).asnumpy().tolist() == [[0, 0], [1, 1]]
    assert mx.nd.where(condition=x > 2, x=x, y=x, out=mx.nd.zeros((2, 2))).asnumpy()[1, 1] == 6
    assert mx.nd.random.uniform().shape == (1,)
    assert mx.nd.random.uniform(0, 1, (2,), "float64", mx.cpu()).dtype == np.float64
    assert mx.nd.random.normal(x, x).shape == (2, 2)


@pytest.mark.parametrize(
    "call, kind, text",
    [
        (lambda x: x.mean(axis=5), CynetError, "mean"),
        (lambda x: x.mean(axes=0), ArgumentTypeError, "axes"),
        (lambda x: mx.nd.where(x, x), ArgumentError, "where"),
        (lambda x: mx.nd.where(x, x, mx.nd.ones(7)), ShapeError, "where"),
        (lambda x: mx.nd.random.uniform(0, 1, lw=2), ArgumentTypeError, "lw"),
        (lambda x: mx.nd.random.normal(0, "x"), ArgumentError, "scale must be a number"),
    ],
)
def test_refusals(call, kind, text):
    with pytest.raises(kind, match=text):
        call(mx.nd.ones((2, 3)))
