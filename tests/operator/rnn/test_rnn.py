"""RNN against MXNet and PyTorch; dropout, lengths of sequences, what is refused."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentError, ArgumentTypeError, ShapeError
from cynet.kernels.isa.dispatch import cpu_capabilities
from cynet.operator import get_operator
from cynet.operator.rnn.layout import parameter_layout, saved_values_layout
from tests.operator.direct import Ready
from tests.operator.rnn import reference

FOLDER = Path(__file__).parents[2] / "fixtures"
SMALL = {"mode": "lstm", "state_size": 3, "num_layers": 2}


def fixtures(name):
    """pytest parameters (arrays by name, parameters, number) of a file."""
    found = np.load(FOLDER / name)
    for number, params in enumerate(json.loads(str(found["cases"]))):
        yield pytest.param(found, params, number, id=f"{name}-{number}-{params['mode']}")


def numbered(found, number, name, dtype):
    arrays = []
    while f"{number}/{name}{len(arrays)}" in found:
        x = found[f"{number}/{name}{len(arrays)}"]
        arrays.append(x.astype(dtype) if x.dtype.kind == "f" else x)
    return arrays


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("found", "params", "number"), [*fixtures("rnn.npz"), *fixtures("rnn_lengths.npz")]
)
def test_others_values(found, params, number, dtype):
    ready = Ready("RNN", numbered(found, number, "in", dtype), params)
    out = ready.forward()
    wanted = numbered(found, number, "out", dtype)
    assert ready.prop.num_visible_outputs() == len(wanted)
    for y, other in zip(out, wanted):
        np.testing.assert_allclose(y, other, rtol=1e-4, atol=1e-5)
    grads = ready.backward(numbered(found, number, "grad_out", dtype), out)
    others = numbered(found, number, "grad_in", dtype)
    for g, other in zip(grads, others):
        np.testing.assert_allclose(g, other, rtol=5e-4, atol=5e-5)
    assert all((g == 0).all() for g in grads[len(others) :])  # sequence_length


def made(params, steps=4, batch=3, inputs=5, dtype="float64", seed=0):
    """A Ready with random inputs."""
    rng = np.random.RandomState(seed)
    prop = get_operator("RNN").prop(**params)
    n = len(prop.list_arguments())
    shapes, _, _ = prop.infer_shape(
        [(steps, batch, inputs)] + [None] * (n - 1), [None] * len(prop.list_outputs())
    )
    return Ready("RNN", [rng.uniform(-0.6, 0.6, s).astype(dtype) for s in shapes], params)


def factors(ready, out):
    """What dropout multiplied the inputs of the layers from the second on by."""
    shape = ready.inputs[0].shape
    _, _, masks, _ = saved_values_layout(ready.prop, shape)
    whole = (*shape[:2], ready.prop.direction_count * ready.prop.state_size)
    return [out[-1][at : at + np.prod(whole)].reshape(whole) for at in masks[1:]]


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("mode", list(reference.GATES))
def test_dropout(mode, both):
    params = {"mode": mode, "state_size": 3, "num_layers": 3, "bidirectional": both}
    ready = made({**params, "p": 0.4})
    mx.random.seed(5)
    out = ready.forward()
    drawn = factors(ready, out)
    for one in drawn:
        assert set(np.unique(one)) == {0, 1 / 0.6}
    assert (drawn[0] != drawn[1]).any()
    np.testing.assert_allclose(
        out[0], reference.rnn(*ready.inputs, **params, factors=drawn), 1e-10, 1e-12
    )
    mx.random.seed(5)
    np.testing.assert_array_equal(ready.forward()[0], out[0])
    assert (ready.forward()[0] != out[0]).any()
    np.testing.assert_allclose(
        ready.forward(train=False)[0], reference.rnn(*ready.inputs, **params), 1e-10, 1e-12
    )
    head = np.random.RandomState(1).standard_normal(out[0].shape)
    grads = ready.backward([head], out)
    for x, g in zip(ready.inputs, grads):
        flat = x.reshape(-1)
        for k in np.random.RandomState(2).choice(flat.size, 12):
            keep, sums = flat[k], []
            for flat[k] in (keep + 1e-6, keep - 1e-6):
                sums.append((reference.rnn(*ready.inputs, **params, factors=drawn) * head).sum())
            flat[k] = keep
            slope = (sums[0] - sums[1]) / 2e-6
            np.testing.assert_allclose(g.reshape(-1)[k], slope, 1e-5, 1e-7)


@pytest.mark.parametrize("steps", [1, 4])
@pytest.mark.parametrize("mode", list(reference.GATES))
def test_states_of_zeros(mode, steps):
    params = {"mode": mode, "state_size": 3, "num_layers": 2, "bidirectional": True}
    ready = made(params, steps, seed=6)
    for state in ready.inputs[2:]:
        state[:] = 0
    out = ready.forward()
    np.testing.assert_allclose(out[0], reference.rnn(*ready.inputs, **params), 1e-10, 1e-12)
    narrow = Ready("RNN", [x.astype("float32") for x in ready.inputs], params)
    np.testing.assert_allclose(narrow.forward()[0], out[0], 1e-4, 1e-6)
    head = np.random.RandomState(7).standard_normal(out[0].shape)
    gradient = ready.backward([head], out)[1]
    others = narrow.backward([head.astype("float32")], narrow.forward())[1]
    np.testing.assert_allclose(others, gradient, 1e-3, 1e-5)
    weights = ready.inputs[1]
    for k in range(0, weights.size, 5):
        keep, sums = weights[k], []
        for weights[k] in (keep + 1e-6, keep - 1e-6):
            sums.append((reference.rnn(*ready.inputs, **params) * head).sum())
        weights[k] = keep
        np.testing.assert_allclose(gradient[k], (sums[0] - sums[1]) / 2e-6, 1e-5, 1e-7)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("mode", list(reference.GATES))
def test_states_of_zeros_times_infinity(mode, dtype):
    ready = made({"mode": mode, "state_size": 3, "num_layers": 1}, dtype=dtype)
    for state in ready.inputs[2:]:
        state[:] = 0
    at = parameter_layout(ready.prop, 5)[0][0].h2h_weight
    out = ready.forward()
    head = np.zeros_like(out[0])
    head[0, 1, 2] = np.inf
    recurrent = ready.backward([head], out)[1][at : at + reference.GATES[mode] * 9]
    assert np.isnan(recurrent).any() or (mode == "rnn_relu" and out[0][0, 1, 2] == 0)
    ready.inputs[1][at] = np.inf
    assert np.isnan(ready.forward()[0][0]).any()


def test_share_of_dropped_elements():
    ready = made({**SMALL, "state_size": 40, "p": 0.25}, steps=20, batch=30, dtype="float32")
    (drawn,) = factors(ready, ready.forward())
    assert abs((drawn == 0).mean() - 0.25) < 0.01
    everything = made({**SMALL, "p": 1.0})
    (drawn,) = factors(everything, everything.forward())
    assert (drawn == 0).all()


CLIPPED = {"lstm_state_clip_min": -0.5, "lstm_state_clip_max": 0.5}


def test_clip_turns_nan_into_the_least_value():
    params = {**SMALL, **CLIPPED, "num_layers": 1, "state_outputs": True}
    ready = made(params)
    ready.inputs[3][0, 1, 2] = np.nan
    assert np.isnan(ready.forward()[2][0, 1]).any()
    found = []
    for cell in (np.nan, -0.5, -3.0):
        ready = made({**params, "lstm_state_clip_nan": True})
        ready.inputs[3][0, 1, 2] = cell
        out = ready.forward()
        found.append([*out[:3], *ready.backward([np.ones_like(each) for each in out[:3]], out)])
    for given_nan, given_least, given_less in zip(*found):
        np.testing.assert_array_equal(given_nan, given_least)
        np.testing.assert_array_equal(given_less, given_least)
    assert np.isfinite(found[0][0]).all()


def test_cells_are_clipped_where_they_are_used():
    """As cuDNN does it (9.19, on an H200): the last cell is what came out of the sum."""
    ready = made({**SMALL, **CLIPPED, "num_layers": 1, "state_outputs": True}, steps=1)
    ready.inputs[3][:] = 40.0
    free = made({**SMALL, "num_layers": 1, "state_outputs": True}, steps=1)
    free.inputs[3][:] = 0.5
    out, wanted = ready.forward(), free.forward()
    np.testing.assert_array_equal(out[2], wanted[2])
    assert (np.abs(out[2]) > 0.5).any()
    gates = np.abs(wanted[1]) / np.tanh(np.abs(wanted[2]))
    used = np.clip(np.abs(wanted[2]), 0, 0.5)
    np.testing.assert_allclose(np.abs(out[1]), gates * np.tanh(used), 1e-5)


@pytest.mark.parametrize("level", cpu_capabilities())
def test_levels_and_threads(level):
    env = {**os.environ, "CYNET_CPU_CAPABILITY": level}
    call = [sys.executable, "-m", "tests.operator.rnn.levels"]
    run = subprocess.run(call, env=env, capture_output=True, text=True, timeout=120)
    assert run.stdout.strip() == "done", run.stderr


def test_wide_states():
    """More than the products take of a sum at once."""
    params = {"mode": "lstm", "state_size": 530, "num_layers": 1}
    ready = made(params, 2, 3, 4, "float32")
    double = made(params, 2, 3, 4, "float64")
    out, wanted = ready.forward(), double.forward()
    np.testing.assert_allclose(out[0], wanted[0], 1e-4, 1e-5)
    head = np.random.RandomState(4).standard_normal(out[0].shape)
    found = ready.backward([head.astype("f")], out)
    for g, w in zip(found, double.backward([head], wanted)):
        np.testing.assert_allclose(g, w, 2e-3, 2e-4 * abs(w).max())


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"projection_size": 0}, "'projection_size' takes an int >= 1"),
        ({"mode": "gru", "projection_size": 2}, "projection_size=2 takes mode='lstm', got 'gru'"),
        ({"lstm_state_clip_min": -1}, "go together, got -1.0 and None"),
        ({"lstm_state_clip_min": 1, "lstm_state_clip_max": 0}, "the least value first"),
        (
            {"mode": "gru", "lstm_state_clip_min": 0, "lstm_state_clip_max": 1},
            "mode='lstm', got 'gru'",
        ),
        ({"mode": "rnn"}, "'rnn_relu', 'rnn_tanh', 'lstm', 'gru'"),
        ({"num_layers": 0}, "'num_layers' takes an int >= 1"),
        ({"p": 1.5}, "'p' takes a float >= 0.0 and <= 1.0"),
    ],
)
def test_refused_parameters(params, words):
    with pytest.raises(ArgumentError, match=words):
        get_operator("RNN").prop(**{**SMALL, **params})


def test_refused_inputs():
    infer = get_operator("RNN").prop(**SMALL).infer_shape
    nothing = [None] * 2
    for shapes, words in [
        ([(4, 3), None, None, None], "data must have 3 axes"),
        ([(4, 3, 5), (7,), None, None], r"shapes \(.*\) and \(7,\) do not agree"),
        ([(4, 3, 5), None, (2, 1, 3), None], "do not agree"),
        ([None, (7,), None, None], "fit no input size"),
    ]:
        with pytest.raises(ShapeError, match=words):
            infer(shapes, nothing)
    with pytest.raises(ArgumentTypeError, match="'data' is int32"):
        made(SMALL, dtype="int32")
    for length in (-1, 5):
        ready = made({**SMALL, "use_sequence_length": True})
        ready.inputs[-1][:] = [4, length, 0]
        with pytest.raises(ArgumentError, match=rf"sequence_length\[1\] is {length}, outside of 0"):
            ready.forward()


def test_the_input_size_follows_from_the_parameters():
    prop = get_operator("RNN").prop(**SMALL)
    shapes, _, _ = prop.infer_shape([None, (252,), None, None], [(4, 2, 3), None])
    assert shapes == [(4, 2, 8), (252,), (2, 2, 3), (2, 2, 3)]


def test_names_and_json():
    """As MXNet 1.9.1 has them."""
    params = {"state_size": 4, "num_layers": 2, "mode": "lstm", "state_outputs": True}
    net = mx.sym.RNN(mx.sym.Variable("data"), name="r", **params)
    assert net.list_arguments() == ["data", "r_parameters", "r_state", "r_state_cell"]
    assert net.list_outputs() == ["r_output", "r_state_output", "r_statecell_output"]
    assert net.get_internals().list_outputs()[-3:] == net.list_outputs()
    found = net.infer_shape(data=(5, 3, 6))
    assert found == (
        [(5, 3, 6), (352,), (2, 3, 4), (2, 3, 4)],
        [(5, 3, 4), (2, 3, 4), (2, 3, 4)],
        [],
    )
    node = json.loads(net.tojson())["nodes"][-1]
    assert node["attrs"] == {
        "mode": "lstm",
        "num_layers": "2",
        "state_outputs": "True",
        "state_size": "4",
    }
    words = {"p": "0", "projection_size": "None", "bidirectional": "False", "state_size": "4"}
    other = mx.sym.RNN(mx.sym.Variable("data"), num_layers="1", mode="gru", name="g", **words)
    again = mx.sym.load_json(other.tojson())
    assert again.infer_shape(data=(2, 2, 3))[0] == [(2, 2, 3), (108,), (1, 2, 4)]


def test_executor_and_imperative_agree():
    """The hidden output takes its place in a plan, in training and in prediction."""
    ready = made({**SMALL, "state_outputs": True}, dtype="float32")
    out = ready.forward()
    net = mx.sym.RNN(*map(mx.sym.Variable, "abcd"), state_outputs=True, **SMALL)
    net = mx.sym.Group([net[0] * 2, net[1], net[2]])
    arrays = {name: mx.nd.array(x) for name, x in zip("abcd", ready.inputs)}
    executor = net.bind(mx.cpu(), arrays, {k: mx.nd.zeros(v.shape) for k, v in arrays.items()})
    executor.forward(is_train=True)
    heads = [np.random.RandomState(1).standard_normal(y.shape).astype("f") for y in out[:3]]
    executor.backward([mx.nd.array(g) for g in heads])
    wanted = ready.backward([heads[0] * 2, *heads[1:]], out)
    for name, w in zip("abcd", wanted):
        np.testing.assert_allclose(executor.grad_dict[name].asnumpy(), w, 1e-5, 1e-6)
    for y, w in zip(mx.nd.RNN(*arrays.values(), state_outputs=True, **SMALL), out):
        np.testing.assert_array_equal(y.asnumpy(), w)
    predicted = net.bind(mx.cpu(), arrays, grad_req="null").forward()
    for y, w in zip(predicted, (out[0] * 2, out[1], out[2])):
        np.testing.assert_allclose(y.asnumpy(), w, 1e-5, 1e-6)
