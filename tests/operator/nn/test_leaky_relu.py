"""LeakyReLU: PReLU with slopes of several axes."""

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
        mx.nd.LeakyReLU(mx.nd.ones((2, 3, 2, 2)), mx.nd.ones((2, 2)), act_type="prelu")


@pytest.mark.parametrize(
    "data, shape",
    [((2, 3, 2, 2), shape) for shape in [(2, 3), (1, 3), (2, 1), (1, 3, 1, 1), (1, 3, 2)]]
    + [((2, 3, 4), (2, 3, 4)), ((2, 1, 3), (2, 1, 3)), ((2, 3, 2), (1, 1, 2))],
)
def test_slopes_before_the_first_axes(data, shape):
    """MXNet 1.9.1 takes those of two axes, and the same follows for more."""
    rng = np.random.default_rng(0)
    x, dy = rng.normal(size=data), rng.normal(size=data)
    slopes = rng.uniform(0.1, 0.9, shape)
    arrays = [mx.nd.array(each, dtype="float64") for each in (x, slopes)]
    for each in arrays:
        each.attach_grad()
    with mx.autograd.record():
        y = mx.nd.LeakyReLU(*arrays, act_type="prelu")
    y.backward(mx.nd.array(dy, dtype="float64"))
    spread = slopes.reshape(shape + (1,) * (len(data) - len(shape)))
    np.testing.assert_allclose(y.asnumpy(), np.where(x > 0, x, x * spread), rtol=1e-12)
    np.testing.assert_allclose(arrays[0].grad.asnumpy(), np.where(x > 0, dy, dy * spread), 1e-12)
    gone = tuple(i for i, n in enumerate(spread.shape) if n == 1)
    of_slopes = (np.where(x > 0, 0, x) * dy).sum(axis=gone, keepdims=True).reshape(shape)
    np.testing.assert_allclose(arrays[1].grad.asnumpy(), of_slopes, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("shape", [(2, 1, 2, 1), (2, 1, 1, 2), (2, 3, 2, 2, 1)])
def test_slopes_with_a_gap_are_refused(shape):
    with pytest.raises(mx.MXNetError, match="gamma has shape"):
        mx.nd.LeakyReLU(mx.nd.ones((2, 3, 2, 2)), mx.nd.ones(shape), act_type="prelu")
