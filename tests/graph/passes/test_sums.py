"""The sum pass: predictions are those of plans that compute every sum by itself."""

import numpy as np
import pytest

import cynet as mx
from cynet.kernels.conv import onednn

needs_onednn = pytest.mark.skipif(not onednn.available(), reason="oneDNN's wheel is not installed")


def convolution(x, filters=16, kernel=3, **kwargs):
    pad = (kernel // 2,) * 2
    return mx.sym.Convolution(x, num_filter=filters, kernel=(kernel,) * 2, pad=pad, **kwargs)


def windows(x, axes, kernel):
    return mx.sym.Convolution(x, num_filter=24, kernel=(kernel,) * axes, pad=(kernel // 2,) * axes)


def dense(x, hidden=70):
    return mx.sym.FullyConnected(x, num_hidden=hidden)


def norm(x):
    return mx.sym.BatchNorm(x, fix_gamma=False)


def act(x, act_type="relu"):
    return mx.sym.Activation(x, act_type=act_type)


def behind(x):
    """Activation, sum, activation, twice: as in the first residual networks."""
    for filters in (16, 16):
        y = norm(convolution(act(norm(convolution(x, filters))), filters))
        x = act(y + norm(convolution(x, filters, 1)))
    return mx.sym.Pooling(x, kernel=(1, 1), global_pool=True)


def in_front(x):
    """Norms in front of convolutions: what is added to is added to again."""
    x = convolution(x, 32, no_bias=True)
    for kernel in (3, 1, 5):
        y = convolution(act(norm(x)), 8, 1, no_bias=True)
        x = x + convolution(act(norm(y)), 32, kernel, no_bias=True)
    return norm(x) * 2


def with_act(act_type):
    def make(x):
        return act(convolution(x, 40, 1) + convolution(x, 40, 3), act_type) * 2

    return make


def dense_block(x, act_type=None):
    x = dense(x)
    y = x + dense(act(x, "tanh"))
    y = y if act_type is None else act(y, act_type)
    return y * y


def read_before(x):
    y = convolution(x)
    z = mx.sym.exp(y * 0.1)
    return z * (y + convolution(x, kernel=1))


def read_later(x):
    y = act(convolution(x), "tanh")
    return (y + convolution(x, kernel=1)) * mx.sym.broadcast_sub(y, x.sum())


def reads_what_is_added_to(x):
    """A layer that reads y before something is added to it cannot run later, in a sum's place."""
    y = convolution(x)
    early = convolution(y)
    y = y + convolution(act(x, "tanh"), kernel=1)
    return (early + mx.sym.exp(y * 0.1)) * 2


def viewed(x):
    y = convolution(x, 16)
    flat = mx.sym.Flatten(y)
    z = mx.sym.sum(y + convolution(x, 16, 1), axis=1)
    return mx.sym.Group([z, flat * 3])


IMAGES = (3, 4, 9, 8)
NETS = {  # function, shape, and how many sums of the plan with all passes are left
    "behind": (behind, IMAGES, 1),  # of two norms, and its relu has gone behind the pooling
    "in front": (in_front, IMAGES, 0),
    "relu": (with_act("relu"), IMAGES, 0),
    "tanh": (with_act("tanh"), IMAGES, 0),
    "sigmoid": (with_act("sigmoid"), IMAGES, 0),
    "softrelu": (with_act("softrelu"), IMAGES, 0),
    "softsign": (with_act("softsign"), IMAGES, 0),
    "groups": (
        lambda x: convolution(x, 8, num_group=4) + convolution(x, 8, num_group=2) - 1,
        IMAGES,
        0,
    ),
    "one axis": (lambda x: act(windows(x, 1, 3) + windows(x, 1, 1), "sigmoid") * 2, (3, 8, 20), 0),
    "three axes": (lambda x: act(windows(x, 3, 3) + windows(x, 3, 1)) * 2, (2, 5, 4, 6, 5), 0),
    "depthwise": (
        lambda x: act(convolution(x, 32, num_group=32) + convolution(x, 32, 1)) * 2,
        (2, 32, 7, 7),
        0,
    ),
    "many channels": (
        lambda x: act(convolution(x, 64, 1) + convolution(convolution(x, 64), 64, 1)) * 2,
        (1, 64, 14, 14),
        0,
    ),
    "small images": (
        lambda x: act(convolution(x, 256) + convolution(convolution(x, 64), 256)) * 2,
        (8, 64, 3, 3),
        0,
    ),
    "few channels": (lambda x: convolution(x, 3) + convolution(x, 3, 5) + 1, (2, 3, 20, 20), 0),
    "dense": (dense_block, (40, 30), 0),
    "dense relu": (lambda x: dense_block(x, "relu"), (40, 30), 0),
    "dense tanh": (lambda x: dense_block(x, "tanh"), (300, 300), 0),
    "one row": (lambda x: dense_block(x, "sigmoid"), (1, 3), 0),
    "read before": (read_before, IMAGES, 0),
    "read later": (read_later, IMAGES, 1),
    "both activated": (lambda x: act(convolution(x)) + act(convolution(x, 16, 1)), IMAGES, 1),
    "to itself": (lambda x: (lambda y: y + y)(convolution(x)) * 2, IMAGES, 1),
    "seen": (lambda x: dense(x) + dense(act(x)), (40, 30), 1),
    "reordered": (lambda x: convolution(x) + convolution(x, 16, 1), IMAGES, 0),
    "term seen": (
        lambda x: (lambda y: mx.sym.Group([y, (y + act(x)) * 2]))(convolution(x, 4)),
        IMAGES,
        1,
    ),
    "layer seen": (
        lambda x: (lambda y: mx.sym.Group([y, (y + mx.sym.exp(dense(x) * 0.1)) * 2]))(dense(x)),
        (40, 30),
        1,
    ),
    "three terms": (
        lambda x: (dense(x) + dense(act(x, "tanh")) + mx.sym.exp(dense(x) * 0.1)) * 2,
        (40, 30),
        1,
    ),
    "data": (lambda x: (x + convolution(x, 4)) * 2, IMAGES, 1),
    "what is added to": (reads_what_is_added_to, (2, 16, 6, 6), 1),
    "viewed": (viewed, IMAGES, 1),
}
PASSES = ["all", "sum", "layout,sum", "layout,sum,pack", "-pack", "-fuse", "-views", "-inplace"]


def bind(net, shape, passes, monkeypatch, dtype="float32"):
    """An executor without gradients, its arrays filled."""
    monkeypatch.setenv("CYNET_GRAPH_PASSES", passes)
    types = dict.fromkeys((*net.list_arguments(), *net.list_auxiliary_states()), dtype)
    executor = net.simple_bind(mx.cpu(), grad_req="null", type_dict=types, x=shape)
    rng = np.random.RandomState(5)
    for name, array in (*executor.arg_dict.items(), *executor.aux_dict.items()):
        low = 0.5 if "var" in name or "gamma" in name else -1
        array[:] = rng.uniform(low, 1, array.shape)
    return executor


def compare(got, want, is_train=False, rtol=2e-4):
    for a, b in zip(got.forward(is_train), want.forward(is_train), strict=True):
        a, b = a.asnumpy(), b.asnumpy()
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * max(1, np.abs(b).max()))


def sums_of(executor):
    return [step.name for step in executor._graph.steps if step.prop.op_name == "elemwise_add"]


@pytest.mark.parametrize("passes", PASSES)
@pytest.mark.parametrize("name", NETS)
def test_predicts_and_runs_in_training_mode(name, passes, monkeypatch):
    """The same as the plan without passes: portable row-major operators; and again, since what is
    added to must be made anew."""
    make, shape, _ = NETS[name]
    net = make(mx.sym.var("x"))
    got, want = bind(net, shape, passes, monkeypatch), bind(net, shape, "none", monkeypatch)
    for is_train in (False, False, True, False):
        compare(got, want, is_train)


@needs_onednn
@pytest.mark.parametrize("name", NETS)
def test_sums_left(name, monkeypatch):
    make, shape, left = NETS[name]
    assert len(sums_of(bind(make(mx.sym.var("x")), shape, "-chain", monkeypatch))) == left


@needs_onednn
def test_an_activation_that_layers_do_not_know_stays(monkeypatch):
    net = with_act("softsign")(mx.sym.var("x"))
    steps = bind(net, IMAGES, "-chain", monkeypatch)._graph.steps
    assert "Activation" in [step.prop.op_name for step in steps]
    steps = bind(with_act("tanh")(mx.sym.var("x")), IMAGES, "-chain", monkeypatch)._graph.steps
    assert "Activation" not in [step.prop.op_name for step in steps]


def test_float64_keeps_its_sums(monkeypatch):
    net = dense_block(mx.sym.var("x"))
    got = bind(net, (4, 5), "-chain", monkeypatch, "float64")
    assert len(sums_of(got)) == 1
    compare(got, bind(net, (4, 5), "none", monkeypatch, "float64"), rtol=1e-12)


def test_training_keeps_its_sums(monkeypatch):
    monkeypatch.setenv("CYNET_GRAPH_PASSES", "-chain")
    net = in_front(mx.sym.var("x"))
    assert len(sums_of(net.simple_bind(mx.cpu(), x=IMAGES))) == 3


def test_less_memory(monkeypatch):
    """A layer's output and what it is added to need no memory apart."""
    net = with_act("relu")(mx.sym.var("x"))
    apart, joined = (
        bind(net, (8, 16, 32, 32), passes, monkeypatch)._graph.memory.planned
        for passes in ("-sum", "all")
    )
    assert joined <= apart
    if onednn.available():
        assert joined < apart


def random_network(rng):
    """Layers, sums and activations of random values made before."""
    images = bool(rng.randint(2))
    made = [mx.sym.var("x")]

    def layer(x):
        if images:
            return convolution(x, 16, int(rng.choice([1, 3])), no_bias=bool(rng.randint(2)))
        return dense(x, 40)

    made.append(layer(made[0]))
    for _ in range(rng.randint(4, 14)):
        a, b = (made[i] for i in rng.randint(1, len(made), 2))
        kind = rng.randint(6)
        if kind < 2:
            made.append(layer(a))
        elif kind == 2:
            made.append(act(a, ["relu", "tanh", "sigmoid"][rng.randint(3)]))
        elif kind == 3:
            made.append(mx.sym.Reshape(a, shape=(0, 0, -1, 0) if images else (0, -1)))
        else:
            made.append(a * 0.5 + b * 0.5 if rng.rand() < 0.2 else a + b)
    heads = [made[i] for i in sorted({*rng.randint(1, len(made), 2), len(made) - 1})]
    return mx.sym.Group([mx.sym.tanh(head * 0.01) for head in heads]), images


@pytest.mark.parametrize("case", range(40))
def test_random_networks(case, monkeypatch, seed):
    """Whoever reads a summand reads it before something is added to it."""
    net, images = random_network(np.random.RandomState(seed))
    shape = (2, 16, 6, 5) if images else ((34, 256)[case % 2], 40)  # 256 rows run in parts
    want = bind(net, shape, "none", monkeypatch)
    for passes in ("all", "sum,inplace,reuse", "-chain", "-fuse,-inplace"):
        got = bind(net, shape, passes, monkeypatch)
        for _ in range(2):
            compare(got, want, rtol=5e-4)
