"""autograd.Function: values as MXNet 1.9.1 gives them; errors say more than there."""

import numpy as np
import pytest

import cynet as mx
from cynet import autograd as ag
from cynet import nd


def leaf(values, req="write"):
    x = nd.array(values)
    x.attach_grad(req)
    return x


def is_grad(x, values):
    np.testing.assert_allclose(x.grad.asnumpy(), np.asarray(values, dtype=x.dtype), 1e-6)


class Sigmoid(ag.Function):
    def forward(self, x):
        self.flags = ag.is_recording(), ag.is_training()
        y = 1 / (1 + nd.exp(-x))
        self.save_for_backward(y)
        return y

    def backward(self, dy):
        (y,) = self.saved_tensors
        return dy * y * (1 - y)


def test_function():
    x = leaf([0, 1])
    function = Sigmoid()
    with ag.record():
        y = function(x)
    y.backward()
    np.testing.assert_allclose(y.asnumpy(), np.array([0.5, 0.7310586], "float32"), 1e-6)
    is_grad(x, [0.25, 0.1966119])
    assert function.flags == (False, True)
    with pytest.raises(AssertionError, match="is called once"):
        function(x)
    assert Sigmoid()(x).shape == (2,)


def test_function_of_two_outputs():
    class Two(ag.Function):
        def forward(self, x):
            return x * 2, x * 3

        def backward(self, a, b):
            return a * 2 + b * 3

    x = leaf([1])
    with ag.record():
        y = Two()(x)[1] * 10
    y.backward()
    is_grad(x, [30])


@pytest.mark.parametrize(
    "gradients, message",
    [
        (lambda x: (x, x), "returned 2 gradients, expected one for each of 1 inputs"),
        (lambda x: None, "Wrong.backward returned None for input 0"),
        (lambda x: nd.ones(1), r"gradient of shape \(1,\) for input 0, which has shape \(2,\)"),
        (lambda x: 1 / 0, "Wrong.backward, recorded at .*ZeroDivisionError"),
    ],
)
def test_function_whose_backward_is_wrong(gradients, message):
    class Wrong(ag.Function):
        def forward(self, x):
            return x * 1

        def backward(self, dy):
            return gradients(dy)

    x = leaf([1, 2])
    with ag.record():
        y = Wrong()(x)
    with pytest.raises(mx.MXNetError, match=message):
        y.backward()


def test_function_whose_forward_fails():
    class Fails(ag.Function):
        def forward(self, x):
            raise ValueError("boom")

    with pytest.raises(ValueError, match="boom"), ag.record():
        Fails()(leaf([1]))
    assert not ag.is_recording() and not ag.is_training()
    with pytest.raises(TypeError, match="input 0 must be an NDArray"):
        Sigmoid()(3)


def test_function_adds():
    """MXNet leaves 0."""
    x = leaf([1], "add")
    for _ in range(2):
        with ag.record():
            y = Sigmoid()(x - 1) * 8
        y.backward()
    is_grad(x, [4])
