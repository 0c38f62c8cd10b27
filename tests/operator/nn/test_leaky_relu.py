"""LeakyReLU: PReLU with slopes of two axes, for data of two axes."""

import numpy as np
import pytest

import cynet as mx

X = np.arange(6.0).reshape(2, 3) - 3
DY = np.arange(6.0).reshape(2, 3) + 1


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(2, 3), (1, 3), (2, 1), (1, 1), (3,), (1,)])
@pytest.mark.parametrize("req", ["write", "add"])
def test_slopes(shape, dtype, req):
    """Forward and both gradients, as NumPy computes them of slopes that broadcast."""
    slopes = np.arange(1.0, np.prod(shape) + 1).reshape(shape)
    symbol = mx.sym.LeakyReLU(mx.sym.Variable("x"), mx.sym.Variable("g"), act_type="prelu")
    assert symbol.infer_shape(x=(2, 3), g=shape)[0] == [(2, 3), shape]
    args = {"x": mx.nd.array(X, dtype=dtype), "g": mx.nd.array(slopes, dtype=dtype)}
    grads = {name: mx.nd.ones(each.shape, dtype=dtype) for name, each in args.items()}
    executor = symbol.bind(mx.cpu(), args, grads, req)
    out = executor.forward(is_train=True)[0].asnumpy()
    np.testing.assert_array_equal(out, np.where(X > 0, X, X * slopes))
    executor.backward(mx.nd.array(DY, dtype=dtype))
    of_slopes = np.where(X > 0, 0, X) * DY
    for axis, length in enumerate((1,) * (2 - len(shape)) + shape):
        if length == 1:
            of_slopes = of_slopes.sum(axis=axis, keepdims=True)
    start = 1 if req == "add" else 0
    np.testing.assert_array_equal(
        executor.grad_dict["x"].asnumpy(), start + np.where(X > 0, DY, DY * slopes)
    )
    np.testing.assert_array_equal(
        executor.grad_dict["g"].asnumpy(), start + of_slopes.reshape(shape)
    )


@pytest.mark.parametrize("shape", [(6,), (2, 2), (3, 3), (2, 3, 1)])
def test_slopes_that_do_not_fit(shape):
    with pytest.raises(mx.MXNetError, match="gamma"):
        mx.nd.LeakyReLU(mx.nd.ones((2, 3)), mx.nd.ones(shape), act_type="prelu").wait_to_read()
    with pytest.raises(mx.MXNetError, match="gamma"):
        mx.nd.LeakyReLU(mx.nd.ones((2, 3, 2, 2)), mx.nd.ones((2, 3)), act_type="prelu")
