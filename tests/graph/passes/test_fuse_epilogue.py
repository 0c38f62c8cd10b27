"""One case for each rule of epilogue fusion, and what keeps steps apart; values are compared in
test_layout, test_sums and test_mask."""

import numpy as np
import pytest

import cynet as mx
from cynet.kernels.conv import onednn
from cynet.kernels.isa.dispatch import cpu_capability

pytestmark = pytest.mark.skipif(not onednn.available(), reason="oneDNN's wheel is not installed")


def layer(x, **kwargs):
    return mx.sym.Convolution(x, num_filter=8, kernel=(3, 3), pad=(1, 1), **kwargs)


def norm(x, **kwargs):
    return mx.sym.BatchNorm(x, **kwargs)


def relu(x):
    return mx.sym.Activation(x, act_type="relu")


def dense(x, **kwargs):
    return mx.sym.FullyConnected(x, num_hidden=32, flatten=False, **kwargs)


def bound(net, grad_req, passes, monkeypatch):
    monkeypatch.setenv("CYNET_GRAPH_PASSES", passes)
    executor = net.simple_bind(mx.cpu(), grad_req=grad_req, x=(2, 8, 6, 32))
    rng = np.random.RandomState(0)
    for name, array in (*executor.arg_dict.items(), *executor.aux_dict.items()):
        array[:] = rng.uniform(0.5 if "var" in name else -1, 1, array.shape)
    return executor


def forward(executor):
    """Names of the operators of forward, reorders apart."""
    steps = executor._graph.steps[: executor._graph.n_forward]
    return [s.prop.op_name for s in steps if s.prop.op_name != "_channels_last"]


CASES = {  # rule: network, whether it has gradients, the steps without and with it
    "activation": (
        lambda x: relu(layer(x)),
        "write",
        "fuse",
        ["Convolution", "Activation"],
        ["Convolution"],
    ),
    "activation of a norm": (
        lambda x: relu(norm(layer(x))),
        "write",
        "fuse",
        ["Convolution", "BatchNorm", "Activation"],
        ["Convolution", "BatchNorm"],
    ),
    "residual": (
        lambda x: relu(norm(layer(x)) + layer(x)),
        "write",
        "fuse",
        ["Convolution", "BatchNorm", "Convolution", "elemwise_add", "Activation"],
        ["Convolution", "Convolution", "BatchNorm"],
    ),
    "sum": (
        lambda x: layer(x) + layer(x),
        "null",
        "sum",
        ["Convolution", "Convolution", "elemwise_add"],
        ["Convolution", "Convolution"],
    ),
    "sum and activation": (
        lambda x: mx.sym.Pooling(relu(layer(x) + layer(x)), kernel=(2, 2)),
        "null",
        "sum",
        ["Convolution", "Convolution", "elemwise_add", "Activation", "Pooling"],
        ["Convolution", "Convolution", "Pooling"],
    ),
    "seen by the user": (
        lambda x: (lambda y: mx.sym.Group([relu(y), y]))(layer(x)),
        "write",
        "fuse",
        ["Convolution", "Activation"],
        None,
    ),
    "read twice": (
        lambda x: (lambda y: relu(y) * y)(layer(x)),
        "write",
        "fuse",
        ["Convolution", "Activation", "elemwise_mul"],
        None,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_rule(case, monkeypatch):
    """The steps that are left; None: the same ones, since the user sees what lies between."""
    make, grad_req, name, apart, joined = CASES[case]
    with mx.name.NameManager():
        net = make(mx.sym.var("x"))
    off = bound(net, grad_req, "layout", monkeypatch)
    on = bound(net, grad_req, f"layout,{name}", monkeypatch)
    assert sorted(forward(off)) == sorted(apart)
    assert sorted(forward(on)) == sorted(apart if joined is None else joined)
    for a, b in zip(on.forward(True), off.forward(True), strict=True):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-4, atol=1e-4)


@pytest.mark.skipif(cpu_capability() == "baseline", reason="no products of our own")
def test_rule_of_masks(monkeypatch):
    """In backward the later layer masks the gradient of its data, and the earlier one takes it."""
    net = dense(relu(dense(mx.sym.var("x"))))
    found = {}
    for passes in ("fuse,mask", "fuse"):
        executor = bound(net, "write", passes, monkeypatch)
        executor.forward(True)
        executor.backward([mx.nd.ones(executor.outputs[0].shape)])
        grads = [g.asnumpy() for g in executor.grad_arrays]
        backward = executor._graph.steps[executor._graph.n_forward :]
        found[passes] = (
            grads,
            [
                (s.prop.gives_masked, s.prop.gets_masked)
                for s in backward
                if s.prop.op_name == "FullyConnected"
            ],
        )
    assert found["fuse,mask"][1] == [(True, False), (False, True)]
    assert found["fuse"][1] == [(False, False)] * 2
    for a, b in zip(found["fuse,mask"][0], found["fuse"][0], strict=True):
        np.testing.assert_array_equal(a, b)
