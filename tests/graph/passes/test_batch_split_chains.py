"""Parts of a batch go through chains of elementwise steps, too."""

import numpy as np
import pytest

import cynet as mx
from cynet.graph.passes import batch_split
from tests.graph.passes.test_batch_split import (
    act,
    bound,
    dense,
    in_float64,
    needs_products,
    steps_of,
    train,
)
from tests.rounding import assert_summed_alike

pytestmark = pytest.mark.usefixtures("threads")
STEPS, UNITS = 4, 48
TERMS = STEPS * (20 + UNITS)  # of the sums of all steps


def kinds_of(executor):
    """Operators of the steps of each split."""
    graph = executor._graph
    return [[step.prop.op_name for step in graph.steps[s.first : s.last]] for s in graph.splits]


def recurrent():
    """A gated network written out: slices of one product, products of slices, a mean at the end."""
    rows = mx.sym.SliceChannel(mx.sym.var("data"), num_outputs=STEPS, axis=1, squeeze_axis=True)
    weights = {name: mx.sym.var(name) for name in ("in_weight", "in_bias", "state_weight")}
    state, total = dense(mx.sym.flatten(rows[0]), UNITS, "start"), 0
    for t in range(STEPS):
        gates = dense(rows[t], 3 * UNITS, f"in{t}", weight=weights["in_weight"],
                      bias=weights["in_bias"])
        gates = gates + dense(state, 3 * UNITS, f"state{t}", weight=weights["state_weight"],
                              no_bias=True)
        keep, leave, new = mx.sym.SliceChannel(gates, num_outputs=3)
        keep = act(keep, "sigmoid")
        state = keep * state + (1 - keep) * act(new, "tanh")
        total = total + act(leave, "sigmoid") * act(state, "tanh")
    return mx.sym.LinearRegressionOutput(total / STEPS, mx.sym.var("label"))


def loss_of_recurrent(values):
    """(outputs, half the sum of squares over the units: what the gradient is of), in float64."""
    x = values["data"]
    state, total = x[:, 0] @ values["start_weight"].T + values["start_bias"], 0
    for t in range(STEPS):
        gates = x[:, t] @ values["in_weight"].T + values["in_bias"]
        gates = gates + state @ values["state_weight"].T
        keep, leave, new = np.split(gates, 3, 1)
        keep, leave = 1 / (1 + np.exp(-keep)), 1 / (1 + np.exp(-leave))
        state = keep * state + (1 - keep) * np.tanh(new)
        total = total + leave * np.tanh(state)
    out = total / STEPS
    return out, ((out - values["label"]) ** 2).sum() / 2 / UNITS


def check_numeric(found, values, loss, places, step=1e-4):
    """Outputs, and gradients at places: {name: list of indices}."""
    out, grads = found
    wanted = loss(values)[0]
    assert_summed_alike(out, wanted, TERMS, np.abs(wanted).max() + 1)
    for name, indices in places.items():
        for index in indices:
            around = []
            for sign in (1, -1):
                changed = values[name].copy()
                changed[index] += sign * step
                around.append(loss({**values, name: changed})[1])
            numeric = (around[0] - around[1]) / (2 * step)
            assert grads[name][index] == pytest.approx(numeric, rel=3e-4, abs=2e-5), (name, index)


@needs_products
@pytest.mark.parametrize("rows, parts", [(128, 2), (150, 3), (330, 7)])
def test_a_recurrent_network_written_out(rng, monkeypatch, threads, rows, parts):
    threads(parts)
    executor = bound(recurrent(), rng, "all", monkeypatch, data=(rows, STEPS, 20))
    kinds = kinds_of(executor)
    assert any({"FullyConnected", "_chain"} <= set(each) for each in kinds), kinds
    assert any({"FullyConnected", "_backward_chain"} <= set(each) for each in kinds), kinds
    places = {
        "in_weight": [(3, 5), (143, 0), (70, 19)],
        "state_weight": [(0, 0), (50, 47), (120, 11)],
        "in_bias": [(0,), (100,)],
        "start_weight": [(7, 7)],
        "data": [(0, 0, 0), (rows - 1, STEPS - 1, 19), (rows // 2, 1, 4)],
    }
    check_numeric(train(executor, 2), in_float64(executor.arg_dict), loss_of_recurrent, places)


@needs_products
def test_threads_and_the_pass_itself_change_nothing_but_sums(rng, monkeypatch, threads):
    """What is not summed over the batch is the same, bit for bit, however many threads run."""
    found = {}
    for passes in ("all", "-split"):
        executor = bound(recurrent(), np.random.default_rng(3), passes, monkeypatch,
                         data=(192, STEPS, 20))
        for n in (1, 2, 5):
            threads(n)
            found[passes, n] = train(executor, 2)
        threads(2)
    for passes in ("all", "-split"):
        for n in (1, 5):
            out, grads = found[passes, n]
            assert (out == found[passes, 2][0]).all()
            assert all((grads[key] == found[passes, 2][1][key]).all() for key in grads)
    assert_summed_alike(found["all", 2][0], found["-split", 2][0], TERMS, 1)


CHAINS = {
    # operands that repeat along the batch, along the row, everywhere; rows within a row
    "repeats along the batch": (
        lambda x: mx.sym.broadcast_add(mx.sym.tanh(x), mx.sym.var("b")) * x, {"b": (1, 96)}),
    "repeats along a row": (
        lambda x: mx.sym.broadcast_mul(mx.sym.tanh(x), mx.sym.var("b")) + x, {"b": (512, 1)}),
    "one number": (
        lambda x: mx.sym.broadcast_mul(mx.sym.tanh(x), mx.sym.var("b")) + x, {"b": (1, 1)}),
    "pieces of a row": (
        lambda x: mx.sym.concat(*[mx.sym.tanh(p) * p for p in mx.sym.split(x, num_outputs=3)]),
        {}),
    "several rows of the chain in one": (
        lambda x: mx.sym.reshape(mx.sym.broadcast_mul(
            mx.sym.tanh(mx.sym.reshape(x, shape=(0, 4, 24))), mx.sym.var("b")), shape=(0, -1)) * 2,
        {"b": (1, 1, 24)}),
    "pieces of the batch": (
        lambda x: mx.sym.concat(
            *[mx.sym.tanh(p) * p for p in mx.sym.split(x, num_outputs=2, axis=0)], dim=0), {}),
    "other rows": (
        lambda x: mx.sym.reshape(mx.sym.tanh(mx.sym.reshape(x, shape=(48, 1024))) * 3,
                                 shape=(512, 96)), {}),
}
WHOLE = {"pieces of the batch", "other rows"}  # parts of the batch are no parts of the chain's rows


@pytest.mark.parametrize("name", CHAINS)
def test_operands_of_chains(monkeypatch, rng, threads, name):
    """Whether a chain runs in parts or not, its bytes are those of its steps apart."""
    make, others = CHAINS[name]
    x = mx.sym.broadcast_mul(mx.sym.var("data"), mx.sym.var("start"))
    net = mx.sym.LinearRegressionOutput(make(x), mx.sym.var("label"))
    monkeypatch.setattr(batch_split, "LEAST_WORK", 0)
    found = []
    for passes in ("all", "none"):
        executor = bound(net, np.random.default_rng(11), passes, monkeypatch, data=(512, 96),
                         start=(1, 96), **others)
        found.append(train(executor, 2))
        kinds = {kind for each in kinds_of(executor) for kind in each}
        assert ("_chain" in kinds) == (passes == "all" and name not in WHOLE), kinds
    values = {key: array.asnumpy() for key, array in executor.arg_dict.items()}
    assert found[0][0].tobytes() == found[1][0].tobytes()
    for key, grad in found[1][1].items():
        exact = values[key].shape[0] == 512  # else a sum over the batch
        if exact:
            np.testing.assert_array_equal(found[0][1][key], grad, err_msg=key)
        else:
            assert_summed_alike(found[0][1][key], grad, 512, err_msg=key)


def chain_rows(in_shapes, out_shapes, *memories, rows, columns):
    """What row_inputs says of a chain that adds up these operands."""
    from cynet.operator.tensor.fused_elementwise import ChainLine, ChainProperty, Memory

    from cynet.operator.elementwise_loop import Loop

    lines = [
        ChainLine(Loop("binary", "plus", (Memory(*a), Memory(*b)), Memory(*c)), False)
        for a, b, c in memories
    ]
    prop = ChainProperty("_chain", rows, columns, "float32", lines, in_shapes, out_shapes, [])
    return prop.graph.row_inputs(prop, in_shapes, ["float32"] * len(in_shapes))


@pytest.mark.parametrize(
    "expected, in_shapes, out_shapes, a, b, c, rows, columns",
    [
        ((0, 1), [(6, 8), (6, 8)], [(6, 8)], (0, 0, 48, 1), (1, 0, 48, 1), (2, 0, 48, 1), 1, 48),
        ((0,), [(6, 8), (8,)], [(6, 8)], (0, 0, 8, 1), (1, 0, 0, 1), (2, 0, 8, 1), 6, 8),
        ((0, 1), [(6, 8), (6, 1)], [(6, 8)], (0, 0, 8, 1), (1, 0, 1, 0), (2, 0, 8, 1), 6, 8),
        ((0,), [(6, 8), (1,)], [(6, 8)], (0, 0, 8, 1), (1, 0, 0, 0), (2, 0, 8, 1), 6, 8),
        # the last quarter of each row, two rows of the chain in one of the batch
        ((0, 1), [(6, 8), (6, 2)], [(6, 2)], (0, 6, 8, 1), (1, 0, 2, 1), (2, 0, 2, 1), 6, 2),
        ((0, 1), [(3, 4), (3, 8)], [(3, 4)], (0, 0, 2, 1), (1, 2, 4, 1), (2, 0, 2, 1), 6, 2),
        # an operand that reaches into the next row, one whose rows lie farther apart, other rows
        (None, [(6, 8), (6, 2)], [(6, 2)], (0, 7, 8, 1), (1, 0, 2, 1), (2, 0, 2, 1), 6, 2),
        (None, [(6, 16), (6, 8)], [(6, 8)], (0, 0, 8, 1), (1, 0, 8, 1), (2, 0, 8, 1), 6, 8),
        (None, [(3, 16), (6, 8)], [(6, 8)], (0, 0, 8, 1), (1, 0, 8, 1), (2, 0, 8, 1), 6, 8),
        (None, [(6, 8), (6, 8)], [(4, 12)], (0, 0, 8, 1), (1, 0, 8, 1), (2, 0, 8, 1), 6, 8),
        # read whole and by rows
        (None, [(6, 8), (6, 8)], [(6, 8)], (0, 0, 8, 1), (0, 8, 0, 1), (2, 0, 8, 1), 6, 8),
    ],
)
def test_which_operands_are_cut(expected, in_shapes, out_shapes, a, b, c, rows, columns):
    found = chain_rows(in_shapes, out_shapes, (a, b, c), rows=rows, columns=columns)
    assert found == expected


@needs_products
def test_what_a_part_touches_stays_within_a_cache(rng, monkeypatch):
    """Where there would be more, the next steps are parts of their own."""
    net = act(dense(mx.sym.var("data"), 64, "first"), "tanh")
    for i in range(12):
        net = net * act(dense(net, 64, f"fc{i}"), "tanh")
    monkeypatch.setattr(batch_split, "MOST_BYTES", 200_000)
    executor = bound(mx.sym.make_loss(net), rng, "all", monkeypatch, data=(128, 45))
    assert len(steps_of(executor)) > 4
    graph = executor._graph
    for each in graph.splits:
        steps = graph.steps[each.first : each.last]
        touched = {v for step in steps for v in batch_split._values(step)}
        assert sum(map(batch_split.nbytes, touched)) <= 2 * 200_000
    found = train(executor, 2)
    monkeypatch.setattr(batch_split, "MOST_BYTES", 1 << 30)
    values = executor.arg_dict
    whole = bound(mx.sym.make_loss(net), rng, "all", monkeypatch, data=(128, 45))
    assert len(steps_of(whole)) == 2
    for key, array in whole.arg_dict.items():
        array[:] = values[key]
    out, grads = train(whole, 2)
    assert (out == found[0]).all()
    for key, grad in grads.items():
        assert (grad == found[1][key]).all(), key
