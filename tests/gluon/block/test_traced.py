"""What a plain ``forward`` may call on arrays, hybridized: functions of mx.nd, methods."""

import numpy as np
import pytest

import cynet as mx
from cynet import nd

X = nd.array([[1, 2, 3], [4, 5, 6]])
FUNCTIONS = {
    "add": lambda x: nd.add(x, x),
    "subtract": lambda x: nd.subtract(x, 1),
    "multiply": lambda x: nd.multiply(2, x),
    "divide": lambda x: nd.divide(x, x[:, :1]),
    "true_divide": lambda x: nd.true_divide(2, x),
    "modulo": lambda x: nd.modulo(x, 2),
    "power": lambda x: nd.power(2, x),
    "maximum": lambda x: nd.maximum(x, 2),
    "minimum": lambda x: nd.minimum(x, x[:1]),
    "equal": lambda x: nd.equal(x, 2),
    "not_equal": lambda x: nd.not_equal(x, nd.array([1, 0, 3])),
    "greater": lambda x: nd.greater(3, x),
    "greater_equal": lambda x: nd.greater_equal(x, 3),
    "lesser": lambda x: nd.lesser(nd.array([[2, 2, 4]]), x),
    "lesser_equal": lambda x: nd.lesser_equal(3, x),
    "logical_and": lambda x: nd.logical_and(x - 1, x - 2),
    "logical_or": lambda x: nd.logical_or(x - 1, 0),
    "logical_xor": lambda x: nd.logical_xor(1, x - 2),
    "zeros_like": lambda x: nd.zeros_like(x) + x,
    "ones_like": lambda x: nd.ones_like(x) * x,
    "concatenate": lambda x: nd.concatenate([x, x], axis=1),
    "concatenate one": lambda x: nd.concatenate([x]),
    "split_v2": lambda x: nd.split_v2(x, (1,), axis=1)[1],
    "moveaxis": lambda x: nd.moveaxis(x, 0, 1),
    "arrays made inside": lambda x: x + nd.arange(3) + nd.zeros((1, 3), ctx=x.context),
    "an array of its context": lambda x: nd.array([1, 2, 3], ctx=x.ctx) * x,
    "where": lambda x: nd.where(x > 2, x, nd.zeros_like(x)),
    "operators": lambda x: (1 - x) * x[0] / 2**x + -x % 2,
    "methods": lambda x: x.clip(2, 4).astype("float64").sum(axis=1, keepdims=True).expand_dims(0),
    "a part of an output": lambda x: nd.split(x, num_outputs=3, axis=1)[1][0] + nd.topk(x, k=1)[1],
    "outputs": lambda x: sum(each[:, 0].max() for each in nd.split(x, num_outputs=3, axis=1)),
    "shapes": lambda x: x.reshape((x.shape[1], -1)).T.flatten().swapaxes(0, 1),
    "reshape": lambda x: x.reshape(shape=(3, -1)) + x.reshape(3, 2) * x.reshape([-1, 2]),
    "transpose": lambda x: x.transpose() + x.transpose(1, 0) * x.transpose(axes=(1, 0)),
    "transpose of a tuple": lambda x: x.expand_dims(0).transpose((2, 0, 1)),
    "broadcast_to": lambda x: x[:1].broadcast_to((4, 3)) + x[0].broadcast_to((2, 4, 3)),
    "broadcast_to a number": lambda x: x[0, :1].broadcast_to(5),
    "copies": lambda x: x.copy() + x.detach() + x.as_in_context(x.ctx) + x.as_nd_ndarray(),
    "index by an array": lambda x: x[nd.array([1, 0, 1])] - x.T[x[0] - 1].sum(),
    "take": lambda x: x.take(nd.array([2, 0, 5]), axis=1),
    "take, wrapped": lambda x: x.take(nd.array([4, 1, -1]), mode="wrap"),
    "indices from behind": lambda x: x[-1] + x[:, -1:] + x[-2, 0] * x[..., -2].sum(),
    "slices": lambda x: x[:, ::2] - x[:, ::-2] * x[-2:, 1:3],
    "new axes": lambda x: x[None, 0] * x[:, None, 1:2] + x[..., None][0],
    "one number": lambda x: x[1, 2] + x[0, -3],
}
# What needs the values: such a Block runs operator by operator, and says so.
OF_VALUES = {
    "float": lambda x: x * float(x[0, 0]),
    "int": lambda x: x * int(x[1, 2]),
    "index": lambda x: x * list(range(9))[x[0, 1].astype("int32")],
    "bool": lambda x: x if x[0, 0] == 1 else -x,
    "asscalar": lambda x: x * x[0, 2].asscalar(),
    "asnumpy": lambda x: x * float(x.asnumpy().sum()),
    "array": lambda x: x + float(np.asarray(x)[1, 1]),
    "setitem": lambda x: changed(x.copy()),
    "wait": lambda x: (x.wait_to_read(), x + 1)[1],
    "out": lambda x: nd.relu(x, out=nd.zeros((2, 3))),
    "a list of indices": lambda x: x[[1, 0]],
}


def changed(x):
    x[0] = 9
    return x


def block(function):
    class Call(mx.gluon.HybridBlock):
        def forward(self, x):
            return function(x)

    return Call()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_same_eager_and_hybridized(name):
    """Without a warning, which would say that the Block runs operator by operator."""
    wanted = FUNCTIONS[name](X)
    net = block(FUNCTIONS[name])
    net.hybridize()
    for _ in range(2):
        found = net(X)
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found.asnumpy(), wanted.asnumpy())


@pytest.mark.parametrize("name", OF_VALUES)
def test_what_needs_values_runs_operator_by_operator(name):
    wanted = OF_VALUES[name](X).asnumpy()
    net = block(OF_VALUES[name])
    net.hybridize()
    with pytest.warns(UserWarning, match="runs operator by operator"):
        found = net(X)
    np.testing.assert_array_equal(found.asnumpy(), wanted)
    doubled = net(2 * X).asnumpy()  # nothing of the first call is left
    np.testing.assert_array_equal(doubled, OF_VALUES[name](2 * X).asnumpy())


@pytest.mark.parametrize("index", [2, -3, (0, 3), (1, -4)])
def test_indices_out_of_bounds(index):
    net = block(lambda x: x[index])
    net.hybridize()
    with (
        pytest.warns(UserWarning, match="index -?[234] is out of bounds for axis . of [23]"),
        pytest.raises(IndexError, match="out of bounds"),
    ):
        net(X)


def test_no_gradient_goes_through_what_is_detached():
    net = block(lambda x: x * x.detach() + x.copy())
    for _ in range(2):
        x = X.copy()
        x.attach_grad()
        with mx.autograd.record():
            y = net(x)
        y.backward()
        np.testing.assert_array_equal(x.grad.asnumpy(), X.asnumpy() + 1)
        net.hybridize()


def test_numbers_alone_stay_numbers():
    net = block(lambda x: x * nd.maximum(2, 3))
    net.hybridize()
    assert (net(X).asnumpy() == X.asnumpy() * 3).all()


def test_functions_of_other_things_are_refused():
    net = block(lambda x: nd.add(x, "a"))
    net.hybridize()
    with (
        pytest.warns(UserWarning, match="runs operator by operator"),
        pytest.raises(TypeError, match="add takes NDArrays and numbers, got NDArray and str"),
    ):
        net(X)


def test_constants_follow_the_call_to_another_device():
    net = block(lambda x: x + nd.arange(3, ctx=x.context))
    net.hybridize()
    for ctx in (mx.cpu(0), mx.cpu(1), mx.cpu(0)):
        found = net(X.as_in_context(ctx))
        assert found.context == ctx
        np.testing.assert_array_equal(found.asnumpy(), X.asnumpy() + np.arange(3))
