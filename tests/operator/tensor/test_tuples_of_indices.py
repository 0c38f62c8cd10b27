"""gather_nd and scatter_nd by negative indices, empty axes of one_hot and index_array."""

import numpy as np
import pytest

import cynet as mx
from cynet import autograd, nd
from cynet.base.errors import ArgumentError, BoundsError

X = np.arange(24.0).reshape(2, 3, 4)
INDEX = np.array([[0, -1, 1, -2], [-3, 2, -1, 0]])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "int8"])
@pytest.mark.parametrize("axes", [1, 2])
def test_gather(axes, dtype):
    """The values that MXNet 1.9.1 and NumPy give, and a gradient that MXNet loses."""
    index = INDEX[:axes] if axes == 2 else INDEX[:1]
    data, places = nd.array(X), nd.array(index, dtype=dtype)
    data.attach_grad()
    with autograd.record():
        y = nd.gather_nd(data, places)
    head = np.arange(1.0, y.size + 1).reshape(y.shape)
    y.backward(nd.array(head))
    assert y.asnumpy().tolist() == X[tuple(index)].tolist()
    wanted = np.zeros_like(X)
    np.add.at(wanted, tuple(index), head)
    assert data.grad.asnumpy().tolist() == wanted.tolist()


def test_scatter():
    values = nd.array([1, 2, 3, 4])
    values.attach_grad()
    with autograd.record():
        y = nd.scatter_nd(values, nd.array(INDEX), shape=(2, 3))
    y.backward(nd.array([[1, 2, 3], [4, 5, 6]]))
    wanted = np.zeros((2, 3))
    wanted[tuple(INDEX)] = [1, 2, 3, 4]
    assert y.asnumpy().tolist() == wanted.tolist()
    assert values.grad.asnumpy().tolist() == [1, 6, 6, 1]


@pytest.mark.parametrize("index, words", [(-3, "index -3 is .* axis 0 of length 2"), (2, "2 is")])
def test_beyond(index, words):
    with pytest.raises(BoundsError, match=words):
        nd.gather_nd(nd.array(X), nd.array([[0, index]])).wait_to_read()


def test_no_classes():
    assert nd.one_hot(nd.array([0, 1]), depth=0).shape == (2, 0)
    assert nd.one_hot(nd.array([[0, 1]]), 0, dtype="int8").asnumpy().shape == (1, 2, 0)
    net = mx.sym.one_hot(mx.sym.var("x"), depth=0)
    assert net.bind(mx.cpu(), {"x": nd.array([0, 1, 2])}).forward()[0].shape == (3, 0)
    with pytest.raises(ArgumentError, match="parameter 'depth' takes an int >= 0, got -1"):
        nd.one_hot(nd.array([0, 1]), depth=-1)


def test_no_axes_of_index_array():
    assert nd.contrib.index_array(nd.zeros((2, 3)), axes=()).shape == (2, 3, 0)
    found = nd.contrib.index_array(nd.zeros((2, 3)), axes=(-1, 0)).asnumpy()
    assert found.tolist() == [[[j, i] for j in range(3)] for i in range(2)]
    with pytest.raises(ArgumentError, match="axis 2 is out of range for an array of 2 axes"):
        nd.contrib.index_array(nd.zeros((2, 3)), axes=(2,))


def test_where_of_integers_has_a_numeric_gradient():
    net = mx.sym.where(*map(mx.sym.var, "cxy"))
    arrays = [np.array(each) for each in ([[1, 0], [0, 1]], [[1, 2], [3, 4]], [[5, 6], [7, 8]])]
    for dtype in (np.float32, np.float64):
        mx.test_utils.check_numeric_gradient(net, arrays, grad_nodes=["x", "y"], dtype=dtype)
        mx.test_utils.check_numeric_gradient(net, arrays, dtype=dtype)
    square = mx.sym.var("x") ** 2
    with pytest.raises(
        AssertionError, match="NUMERICAL_x and BACKWARD_x differ in 2 of 2 entries"
    ):  # integers are checked, not passed over
        mx.test_utils.check_numeric_gradient(
            mx.sym.BlockGrad(square), [np.array([3, 4])], grad_nodes=["x"]
        )
