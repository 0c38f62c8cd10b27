"""Integers of 8 bits in chains: one loop over bytes gives what the steps give apart."""

import numpy as np
import pytest

import cynet as mx

OPS = mx.sym._internal
BYTE_LIMITS = {"uint8": (0, 256), "int8": (-128, 128)}


def floats(x, scale=0.03, zero=5):
    return OPS._dequantize_linear(x, scale=scale, zero_point=zero)


def integers(x, scale=0.05, zero=3, dtype="uint8"):
    return OPS._quantize_linear(x, scale=scale, zero_point=zero, out_type=dtype)


def bound(net, monkeypatch, passes, dtypes, shape):
    monkeypatch.setenv("CYNET_GRAPH_PASSES", passes)
    types = {name: dtypes.get(name, "float32") for name in net.list_arguments()}
    shapes = {name: (1,) if name == "one" else shape for name in types}
    made = net.simple_bind(mx.cpu(), grad_req="null", type_dict=types, **shapes)
    rng = np.random.default_rng(4)
    for name, array in made.arg_dict.items():
        dtype = types[name]
        drawn = rng.uniform(-4, 4, array.shape)
        array[:] = drawn if dtype == "float32" else rng.integers(*BYTE_LIMITS[dtype], array.shape)
    return made


def steps(executor):
    return [step.prop.op_name for step in executor._graph.steps]


def same(net, monkeypatch, shape=(3, 7, 301), **dtypes):
    """The executor with the pass, whose outputs are those without it."""
    apart = bound(net, monkeypatch, "-chain", dtypes, shape)
    together = bound(net, monkeypatch, "all", dtypes, shape)
    for a, b in zip(apart.forward(), together.forward(), strict=True):
        assert a.dtype == b.dtype and len(np.unique(b.asnumpy())) > 5
        np.testing.assert_array_equal(a.asnumpy(), b.asnumpy())
    return together


A, B = mx.sym.var("a"), mx.sym.var("b")


@pytest.mark.parametrize("a", BYTE_LIMITS)
@pytest.mark.parametrize("out", BYTE_LIMITS)
def test_a_sum_is_one_step_and_right(monkeypatch, a, out):
    net = integers(mx.sym.relu(floats(A) + floats(B, 0.02, -4)), 0.04, 1, out)
    made = same(net, monkeypatch, a=a, b="int8")
    assert steps(made) == ["_chain"]
    x, y = (made.arg_dict[name].asnumpy().astype("float32") for name in "ab")
    total = np.maximum((x - 5) * np.float32(0.03) + (y + 4) * np.float32(0.02), 0)
    low, high = BYTE_LIMITS[out]
    wanted = np.clip(np.rint(total / np.float32(0.04)) + 1, low, high - 1)
    np.testing.assert_array_equal(made.outputs[0].asnumpy(), wanted)


@pytest.mark.parametrize("size", [1, 63, 1024, 1025, 40000])
def test_sizes(monkeypatch, size):
    net = integers(mx.sym.tanh(floats(A)) * floats(B), 0.02, 120)
    made = bound(net, monkeypatch, "all", {"a": "uint8", "b": "uint8"}, (size,))
    apart = bound(net, monkeypatch, "none", {"a": "uint8", "b": "uint8"}, (size,))
    np.testing.assert_array_equal(made.forward()[0].asnumpy(), apart.forward()[0].asnumpy())


def test_integers_that_pass_between(monkeypatch):
    """They are rounded, though nothing holds them; floats are not written over what is read."""
    net = floats(integers(floats(integers(mx.sym.relu(A), 0.1)), 0.07, 9, "int8"), 0.07, 9) + B
    made = same(integers(net, 0.05, 100), monkeypatch)
    assert steps(made) == ["_chain"] and made._graph.memory.unplanned == 0


def test_who_reads_floats_makes_them(monkeypatch):
    """Four bytes an element are not kept for a later step."""
    x = integers(mx.sym.relu(A), 0.1)
    value = mx.sym.FullyConnected(floats(x), num_hidden=301, flatten=False, name="fc")
    net = integers(value * 0.001 + floats(x), 0.1, 20)
    made = net.simple_bind(mx.cpu(), grad_req="null", a=(3, 7, 301))
    assert steps(made) == ["_chain", "FullyConnected", "_chain"]
    last = made._graph.steps[-1]
    assert [v.dtype for v in last.in_data] == ["float32", "uint8"]
    assert len(last.members) == 4


def test_several_readers(monkeypatch):
    x, y = floats(A), floats(B)
    parts = [integers(each, 0.05, 90) for each in (x + y, x * y, x - 2 * y)]
    made = same(mx.sym.Group(parts), monkeypatch, a="uint8", b="int8")
    assert set(steps(made)) == {"_chain"}
    assert {v.dtype for s in made._graph.steps for v in s.in_data} == {"uint8", "int8"}


def test_one_number_for_all(monkeypatch):
    net = integers(mx.sym.broadcast_add(floats(A), mx.sym.var("one")), 0.05, 40)
    made = same(net, monkeypatch, a="uint8")
    assert steps(made) == ["_chain"]


def test_bytes_of_other_steps_stay_apart(monkeypatch):
    """Sums of integers are no loops over floats."""
    net = integers(floats(A + B) * 2, 0.05, 40)
    made = same(net, monkeypatch, a="uint8", b="uint8")
    assert steps(made) == ["elemwise_add", "_chain"]


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("readers", ["relu tanh", "relu d", "relu", "tanh conv", "relu tanh d"])
def test_what_a_layer_adds_to_is_read_as_the_sum(rng, readers, first):
    """A convolution adds to floats made of bytes: their other readers, and those of the sum, have
    what NumPy has."""
    x, w = rng.standard_normal((2, 4, 6, 6)).astype("f"), rng.standard_normal((4, 4)).astype("f")
    how = {"scale": 0.02, "zero": 10}
    data, weight = mx.sym.var("x"), mx.sym.var("w")
    d = floats(integers(data, **how), **how)

    def conv(data):
        return mx.sym.Convolution(data, weight, kernel=(1, 1), num_filter=4, no_bias=True)

    terms = (conv(data), d)
    a = mx.sym.elemwise_add(*terms[:: 1 if first else -1])
    known = (np.clip(np.rint(x / np.float32(0.02)) + 10, 0, 255) - 10) * np.float32(0.02)
    total = known + np.einsum("oc,nchw->nohw", w, x)
    made = {
        "relu": (mx.sym.relu(a), np.maximum(total, 0)),
        "tanh": (mx.sym.tanh(a), np.tanh(total)),
        "conv": (conv(a), np.einsum("oc,nchw->nohw", w, total)),
        "d": (d, known),
    }
    chosen = [made[each] for each in readers.split()]
    net = mx.sym.Group([each for each, _ in chosen])
    given = {"x": mx.nd.array(x), "w": mx.nd.array(w.reshape(4, 4, 1, 1))}
    found = net.bind(mx.cpu(), given, grad_req="null").forward()
    for got, (_, want) in zip(found, chosen, strict=True):
        np.testing.assert_allclose(got.asnumpy(), want, 1e-4, 1e-4)
