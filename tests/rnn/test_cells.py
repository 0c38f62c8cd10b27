"""mx.rnn's cells: graphs as MXNet 1.9.1 makes them node by node, outputs, gradients, weights."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import cynet as mx

FIXTURES = Path(__file__).parents[1] / "fixtures"
sys.path.insert(0, str(FIXTURES))
import symbolic_rnn_networks as given  # noqa: E402

FACTS = json.loads((FIXTURES / "symbolic_rnn.json").read_text())
ARRAYS = np.load(FIXTURES / "symbolic_rnn.npz")
NETWORKS = given.networks(mx)
CELLS = given.cells(mx.rnn)


def test_all_networks_are_compared():
    assert {*NETWORKS} == {*FACTS["nodes"]} and len(NETWORKS) > 40


@pytest.mark.parametrize("name", NETWORKS)
def test_nodes(name):
    assert given.nodes(NETWORKS[name][0]) == FACTS["nodes"][name]


@pytest.mark.parametrize("name", [n for n in NETWORKS if not given.has_zeros_of_unknown_batch(n)])
def test_values(name):
    found = given.values(mx, *NETWORKS[name])
    wanted = [ARRAYS[f"{name}/{i}"] for i in range(len(found))]
    assert f"{name}/{len(found)}" not in ARRAYS
    for each, value in zip(found, wanted):
        np.testing.assert_allclose(each, value, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", FACTS["packing"])
def test_weights_are_unpacked_and_packed(name):
    cell = CELLS[name]()
    packed = given.weights_of(mx, cell)
    parts = cell.unpack_weights(packed)
    wanted = FACTS["packing"][name]
    assert {key: list(each.shape) for key, each in parts.items()} == {
        key: shape for key, (shape, _) in wanted.items()
    }
    for key, (_, total) in wanted.items():
        assert float(parts[key].sum().asscalar()) == pytest.approx(total, rel=1e-4, abs=1e-5)
    again = cell.pack_weights(parts)
    assert {*again} == {*packed}
    for key, array in packed.items():
        np.testing.assert_array_equal(again[key].asnumpy(), array.asnumpy())


@pytest.mark.parametrize("kind", ["lstm", "gru", "relu"])
def test_an_unfused_stack_computes_the_same(kind):
    fused = CELLS[f"fused_{kind}"]()
    stack = fused.unfuse()
    weights = given.weights_of(mx, fused)
    data = mx.nd.array(np.random.RandomState(1).randn(2, 3, 3))

    def outputs_of(cell, args):
        outputs, _ = cell.unroll(3, mx.sym.Variable("data"), merge_outputs=True)
        return outputs.bind(mx.cpu(), {"data": data, **args}).forward()[0].asnumpy()

    parts = stack.pack_weights(fused.unpack_weights(weights))
    np.testing.assert_allclose(
        outputs_of(stack, parts), outputs_of(fused, weights), rtol=1e-5, atol=1e-6
    )


def test_zoneout_keeps_old_values():
    cell = mx.rnn.ZoneoutCell(mx.rnn.RNNCell(4), zoneout_outputs=0.5, zoneout_states=0.5)
    outputs, states = cell.unroll(3, mx.sym.Variable("data"))
    symbol = mx.sym.Group([*outputs, *states])
    executor = symbol.simple_bind(mx.cpu(), data=(40, 3, 2))
    for array in executor.arg_arrays:
        array[:] = np.random.RandomState(0).uniform(-1, 1, array.shape)
    mx.random.seed(3)
    first, second, third, state = (x.asnumpy() for x in executor.forward(is_train=True))
    assert 0.3 < np.mean(first == 0) < 0.7  # before the first step there are zeros
    assert 0.3 < np.mean(second == first) < 0.7
    assert 0.3 < np.mean(third == second) < 0.7 and state.shape == (40, 4)
    plain = [x.asnumpy() for x in executor.forward(is_train=False)]
    assert not np.any(plain[1] == plain[0])


def test_shared_weights_and_states():
    shared = mx.rnn.RNNParams("one_")
    first, second = (mx.rnn.LSTMCell(4, prefix=p, params=shared) for p in ("a_", "b_"))
    symbol = mx.sym.Group([c.unroll(1, mx.sym.Variable("data"))[0][0] for c in (first, second)])
    assert [n for n in symbol.list_arguments() if n.startswith("one_")] == [
        "one_i2h_weight",
        "one_i2h_bias",
        "one_h2h_weight",
        "one_h2h_bias",
    ]
    states = mx.rnn.GRUCell(4).begin_state(func=mx.sym.Variable)
    assert states[0].list_arguments() == ["gru_begin_state_0"]
    both = mx.rnn.BidirectionalCell(mx.rnn.RNNCell(2, prefix="l_"), mx.rnn.RNNCell(3, prefix="r_"))
    names = [state.name for state in mx.rnn.ResidualCell(both).begin_state()]
    assert names == ["l_begin_state_0", "r_begin_state_0"]


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda r, s: r.ZoneoutCell(r.FusedRNNCell(4)), "FusedRNNCell has no single steps"),
        (lambda r, s: r.FusedRNNCell(4)(s, []), "no single steps: use unroll"),
        (lambda r, s: r.FusedRNNCell(4, mode="gur"), "mode must be one of rnn_relu, .*'gur'"),
        (lambda r, s: r.FusedRNNCell(4).unroll(2, s, layout="NCT"), "layout must be TNC or NTC"),
        (lambda r, s: r.RNNCell(4).unroll(3, [s, s]), "2 inputs for length 3"),
        (lambda r, s: r.RNNCell(4).unroll(2, mx.sym.Group([s, s])), "a symbol of 2 outputs"),
        (lambda r, s: r.RNNCell(4).unroll(2, 5), "inputs must be symbols, got 5"),
        (lambda r, s: r.SequentialRNNCell().add(3), "expected a cell, got 3"),
        (lambda r, s: r.DropoutCell("a"), "dropout must be a number, got 'a'"),
        (lambda r, s: r.ResidualCell(r.RNNCell(3)).base_cell.begin_state(), "inside a modifier"),
        (lambda r, s: r.BaseRNNCell()(s, []), "defines no __call__"),
        (lambda r, s: r.ConvRNNCell((1, 1, 4, 4), 2, h2h_kernel=(2, 3)), "h2h_kernel must be odd"),
        (
            lambda r, s: r.BidirectionalCell(
                r.RNNCell(3, params=r.RNNParams("x_")), r.RNNCell(3), params=r.RNNParams("y_")
            ),
            "give params either to it or to its cells",
        ),
    ],
)
def test_refused(make, words):
    with pytest.raises(mx.MXNetError, match=words):
        make(mx.rnn, mx.sym.Variable("data"))


@pytest.mark.parametrize("name", ["ConvRNNCell", "ConvLSTMCell", "ConvGRUCell"])
def test_images_whose_channels_come_last(name):
    """They compute what they do of the same images with channels first; MXNet cannot run them."""
    rng = np.random.default_rng(0)
    values = {}

    def run(layout):
        order = (0, 1, 2, 3) if layout == "NCHW" else (0, 2, 3, 1)
        image = tuple((1, 3, 6, 5)[axis] for axis in order)
        cell = getattr(mx.rnn, name)(image, 4, prefix="p_", conv_layout=layout)
        outputs, _ = cell.unroll(2, [mx.sym.var("x0"), mx.sym.var("x1")])
        executor = mx.sym.Group(list(outputs)).simple_bind(
            mx.cpu(), x0=(2, *image[1:]), x1=(2, *image[1:])
        )
        for key, array in executor.arg_dict.items():
            if layout == "NCHW":
                values[key] = rng.normal(size=array.shape)
            value = values[key]
            array[:] = value.transpose(order) if value.ndim == 4 else value
        assert cell.state_info[0]["__layout__"] == layout
        return [y.asnumpy().transpose(np.argsort(order)) for y in executor.forward()]

    for first, last in zip(run("NCHW"), run("NHWC")):
        np.testing.assert_allclose(first, last, rtol=1e-5, atol=1e-5)


def test_initializers():
    array = mx.nd.zeros((ARRAYS["init/own"].size,))
    settings = {"num_hidden": 4, "num_layers": 2, "mode": "lstm", "bidirectional": True}
    own = mx.init.FusedRNN(mx.init.Constant(0.25), forget_bias=2.0, **settings)
    own(mx.init.InitDesc("f_weight"), array)
    np.testing.assert_array_equal(array.asnumpy(), ARRAYS["init/own"])
    overall = mx.init.FusedRNN(None, **settings)
    desc = mx.init.InitDesc("f_parameters", {"__init__": overall.dumps()}, mx.init.One())
    mx.init.One()(desc, array)
    np.testing.assert_array_equal(array.asnumpy(), ARRAYS["init/overall"])
    assert [own.dumps(), overall.dumps()] == FACTS["dumps"]
    with pytest.raises(mx.MXNetError, match="has no initializer of the whole model"):
        overall("f_weight", array)
