"""The mask pass: gradients are those of the plan without it, byte by byte, and it stays away where
somebody else reads what would be masked."""

import numpy as np
import pytest

import cynet as mx
from cynet.graph.compile import lower
from cynet.kernels.conv import onednn
from cynet.kernels.isa.dispatch import cpu_capability

pytestmark = pytest.mark.skipif(
    not onednn.available() or cpu_capability() == "baseline", reason="no products of our own"
)


def dense(x, hidden=20, **kwargs):
    return mx.sym.FullyConnected(x, num_hidden=hidden, **kwargs)


def relu(x, act_type="relu"):
    return mx.sym.Activation(x, act_type=act_type)


def one(x, **kwargs):
    return mx.sym.Convolution(x, num_filter=20, kernel=(1, 1), **kwargs)


def branches(x):
    y = relu(dense(x))
    return dense(y) + dense(y, no_bias=True)


def twice(x):
    y = relu(dense(x))
    return mx.sym.Group([dense(y), y])


NETS = {  # and how many relus' gradients the step in front of them computes
    "two": (lambda x: dense(relu(dense(x))), 1),
    "four": (lambda x: dense(relu(dense(relu(dense(relu(dense(x))))))), 3),
    "no bias": (lambda x: dense(relu(dense(x, no_bias=True)), no_bias=True), 1),
    "few": (lambda x: dense(relu(dense(x, 3)), 2), 1),
    "last axis": (lambda x: dense(relu(dense(x, flatten=False)), flatten=False), 1),
    "of an image": (lambda x: dense(relu(dense(x, flatten=False))), 1),
    "pixels": (lambda x: one(relu(one(mx.sym.Reshape(x, shape=(2, 3, 5, -1))))), 1),
    "tanh": (lambda x: dense(relu(dense(x), "tanh")), 0),
    "two readers": (branches, 0),
    "an output": (twice, 0),
    "dropout between": (lambda x: dense(mx.sym.Dropout(relu(dense(x)), p=0.0)), 0),
    "a sum between": (lambda x: dense(relu(dense(x)) + 1), 0),
    "relu alone": (lambda x: dense(relu(x)), 0),
}


def bound(make, passes, monkeypatch, grad_req="write"):
    monkeypatch.setenv("CYNET_GRAPH_PASSES", passes)
    with mx.name.NameManager():
        net = make(mx.sym.var("x"))
    return net, net.simple_bind(mx.cpu(), grad_req=grad_req, x=(2, 3, 5, 7))


def count(net):
    names = net.list_arguments()
    shapes = {"x": (2, 3, 5, 7)}
    graph = lower(net.entries, mx.cpu(), shapes, {}, dict.fromkeys(names, "write"))
    return sum(getattr(step.prop, "gives_masked", False) for step in graph.steps[graph.n_forward :])


@pytest.mark.parametrize("grad_req", ["write", "add"])
@pytest.mark.parametrize("name", NETS)
def test_gradients(name, grad_req, monkeypatch):
    make, masked = NETS[name]
    given = []
    for passes in ("all", "-mask"):
        net, executor = bound(make, passes, monkeypatch, grad_req)
        assert count(net) == (masked if passes == "all" else 0)
        rng = np.random.RandomState(3)
        for array in executor.arg_arrays:
            array[:] = rng.standard_normal(array.shape)
        for array in executor.grad_arrays:
            array[:] = rng.standard_normal(array.shape)
        for _ in range(2):
            outputs = executor.forward(is_train=True)
            executor.backward([mx.nd.array(rng.standard_normal(y.shape)) for y in outputs])
        given.append({name: grad.asnumpy() for name, grad in executor.grad_dict.items()})
    for argument, ours in given[0].items():
        assert ours.tobytes() == given[1][argument].tobytes(), argument
        assert np.abs(ours).max() > 0


def test_frozen_layers(monkeypatch):
    """What has no gradient of its weight, or of its bias, or of its data."""
    for frozen in ([0, 1], [2, 3], [2], [3], [0], [1]):
        given = []
        for passes in ("all", "none"):
            monkeypatch.setenv("CYNET_GRAPH_PASSES", passes)
            net = dense(relu(dense(mx.sym.var("x"), name="a")), name="b")
            names = ["a_weight", "a_bias", "b_weight", "b_bias", "x"]
            wanted = {n: "null" if i in frozen else "write" for i, n in enumerate(names)}
            executor = net.simple_bind(mx.cpu(), grad_req=wanted, x=(6, 30))
            rng = np.random.RandomState(4)
            for name in names:
                array = executor.arg_dict[name]
                array[:] = rng.standard_normal(array.shape)
            executor.forward(is_train=True)
            executor.backward([mx.nd.array(rng.standard_normal((6, 20)))])
            given.append(executor.grad_dict)
        for name in names:
            if wanted[name] == "write":
                ours, theirs = (grads[name].asnumpy() for grads in given)
                np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5, err_msg=name)


def test_numbers_that_are_none_go_where_they_would(monkeypatch):
    """A weight that is infinite makes NaN of what relu has cut off."""
    given = []
    for passes in ("all", "-mask"):
        _, executor = bound(NETS["two"][0], passes, monkeypatch)
        rng = np.random.RandomState(5)
        for array in executor.arg_arrays:
            array[:] = rng.standard_normal(array.shape)
        weight = executor.arg_arrays[-2]
        weight[0, 0], weight[1, 1] = np.inf, np.nan
        executor.forward(is_train=True)
        executor.backward([mx.nd.ones(y.shape) for y in executor.outputs])
        given.append([grad.asnumpy() for grad in executor.grad_arrays])
    assert any(np.isnan(each).any() for each in given[0])
    for ours, theirs in zip(*given):
        np.testing.assert_array_equal(ours, theirs)
