"""The split pass: rows of a batch through several steps at a time, each thread its own."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from cynet.kernels.isa.dispatch import cpu_capability

import cynet as mx
from cynet.graph.ir import TEMP
from cynet.graph.memory_plan import nbytes
from cynet.graph.passes.batch_split import BLOCK, LEAST_ROWS, parts_of
from cynet.kernels.conv import onednn
from tests.rounding import assert_summed_alike

pytestmark = pytest.mark.usefixtures("threads")
needs_products = pytest.mark.skipif(
    not onednn.available() or cpu_capability() == "baseline", reason="no products of our own"
)
UNITS = (96, 64, 48)  # behind a first layer of 80
LAYERS = ["first", "fc0", "fc1", "fc2", "last"]
DEEP = 45 + 80 + sum(UNITS)  # terms of all layers' sums, one behind the other


@pytest.fixture(scope="module")
def row_scale(tmp_path_factory):
    """An operator of a user, in Cython, that treats rows apart: mx.sym.row_scale."""
    pytest.importorskip("Cython")
    pytest.importorskip("setuptools")
    with mx.config.environment("CYNET_HOME", str(tmp_path_factory.mktemp("compiled"))):
        mx.operator.compile_pyx(Path(__file__).parents[1] / "pyx" / "row_ops.pyx")


def dense(x, hidden, name, **inputs):
    return mx.sym.FullyConnected(x, num_hidden=hidden, name=name, **inputs)


def act(x, kind="relu"):
    return mx.sym.Activation(x, act_type=kind)


def mlp(kind="relu", **loss):
    net = act(dense(mx.sym.var("data"), 80, "first"), kind)
    for i, units in enumerate(UNITS):
        net = act(dense(net, units, f"fc{i}"), kind)
    return mx.sym.SoftmaxOutput(dense(net, 10, "last"), name="softmax", **loss)


def scaled(most=1e30):
    """Three operators of the user's behind one that does not treat rows apart."""
    net = mx.sym.broadcast_mul(mx.sym.var("data"), mx.sym.var("start"))
    for i in range(3):
        net = mx.sym.row_scale(net, most=most, name=f"scale{i}")
    return mx.sym.make_loss(net)


def bound(net, rng, passes, monkeypatch, grad_req="write", **shapes):
    monkeypatch.setenv("CYNET_GRAPH_PASSES", passes)
    executor = net.simple_bind(mx.cpu(), grad_req=grad_req, **shapes)
    for name, array in executor.arg_dict.items():
        classes = rng.integers(0, 10, array.shape)
        array[:] = classes if name.endswith("label") else rng.uniform(-0.3, 0.3, array.shape)
    return executor


def steps_of(executor):
    """Names of the steps of each split."""
    graph = executor._graph
    return [[step.name for step in graph.steps[s.first : s.last]] for s in graph.splits]


def train(executor, times=1):
    for _ in range(times):
        executor.forward(is_train=True)
        executor.backward()
    grads = {key: grad.asnumpy() for key, grad in executor.grad_dict.items() if grad is not None}
    return executor.outputs[0].asnumpy(), grads


def layers(values, kind):
    """What each layer of `mlp` reads and gives before its activation, in float64."""
    x = values["data"].reshape(len(values["data"]), -1)
    for name in LAYERS:
        y = x @ values[f"{name}_weight"].T + values[f"{name}_bias"]
        yield x, y
        x = np.maximum(y, 0) if kind == "relu" else np.tanh(y)


def in_float64(arrays):
    return {key: array.asnumpy().astype("d") for key, array in arrays.items()}


def keep_from_kinks(executor, rng):
    """Draw rows anew in which a unit is so near 0 that rounding may decide about its gradient."""
    data = executor.arg_dict["data"]
    for _ in range(100):
        units = np.hstack([y for _, y in layers(in_float64(executor.arg_dict), "relu")])
        rows = np.flatnonzero(np.abs(units).min(1) < 2e-6)
        if not len(rows):
            return
        values = data.asnumpy()
        values[rows] = rng.uniform(-0.3, 0.3, values[rows].shape)
        data[:] = values
    raise AssertionError("no rows without a unit near 0")


def reference(values, kind):
    """Output and gradients of `mlp` in float64."""
    values = in_float64(values)
    inputs, units = zip(*layers(values, kind))
    x = units[-1]
    out = np.exp(x - x.max(1, keepdims=True))
    out /= out.sum(1, keepdims=True)
    grad = out - np.eye(10)[values["softmax_label"].astype(int)]
    grads = {}
    for name, x in zip(reversed(LAYERS), reversed(inputs)):
        grads[f"{name}_weight"], grads[f"{name}_bias"] = grad.T @ x, grad.sum(0)
        grad = grad @ values[f"{name}_weight"]
        if name != "first":
            grad *= (x > 0) if kind == "relu" else 1 - x * x
    grads["data"] = grad.reshape(values["data"].shape)
    return out, grads


def near(found, wanted, times=1):
    assert_summed_alike(found[0], wanted[0], DEEP, 1)
    for key, value in wanted[1].items():
        terms = 2 * DEEP + len(found[0]) * times  # the way there and back, and the batch
        assert_summed_alike(found[1][key], value * times, terms, err_msg=key)


@needs_products
@pytest.mark.parametrize("req", ["write", "add"])
@pytest.mark.parametrize("kind", ["relu", "tanh"])
@pytest.mark.parametrize("rows, parts", [(128, 2), (130, 3), (201, 2), (515, 7), (600, 16)])
def test_as_computed_in_float64(rng, monkeypatch, threads, rows, parts, kind, req):
    net = mlp(kind)
    threads(parts)
    executor = bound(net, rng, "all", monkeypatch, req, data=(rows, 5, 9))
    keep_from_kinks(executor, rng)
    middle = ["fc0", "fc1", "fc2", "last", "softmax"]
    assert steps_of(executor) == [middle, middle[::-1]]
    times = 3 if req == "add" else 1
    near(train(executor, 3), reference(executor.arg_dict, kind), times)


@needs_products
@pytest.mark.parametrize("parts", [2, 4])
def test_how_many_threads_run_the_parts_changes_no_bit(rng, monkeypatch, threads, parts):
    threads(parts)
    executor = bound(mlp(), rng, "all", monkeypatch, data=(256, 45))
    assert [len(each.rows) for each in executor._graph.splits] == [parts, parts]
    found = []
    for n in (1, 2, 3, 7):
        threads(n)
        found.append(train(executor, 2))
    for out, grads in found[1:]:
        assert (out == found[0][0]).all()
        assert all((grads[key] == found[0][1][key]).all() for key in grads)


@needs_products
def test_some_gradients_are_not_asked_for(rng, monkeypatch):
    req = dict.fromkeys(mlp().list_arguments(), "write")
    req.update(data="null", softmax_label="null", fc1_weight="null", fc0_bias="null")
    executor = bound(mlp(), rng, "all", monkeypatch, req, data=(128, 45))
    assert len(steps_of(executor)) == 2
    keep_from_kinks(executor, rng)
    out, grads = reference(executor.arg_dict, "relu")
    found = train(executor, 2)
    assert "fc1_weight" not in found[1]
    near(found, (out, {key: grads[key] for key in found[1]}))


@needs_products
def test_a_prediction(rng, monkeypatch):
    executor = bound(mlp(), rng, "all", monkeypatch, "null", data=(128, 45))
    assert steps_of(executor) == [["fc0", "fc1", "fc2", "last", "softmax"]]
    executor.forward()
    out = executor.outputs[0].asnumpy()
    assert_summed_alike(out, reference(executor.arg_dict, "relu")[0], DEEP, 1)


@needs_products
def test_the_step_that_is_fed_stays_apart(rng, monkeypatch):
    """A batch is read where it lies by the first layer, through a view of it."""
    net = act(dense(mx.sym.flatten(mx.sym.var("data")), 128, "first"))
    net = mx.sym.SoftmaxOutput(dense(net, 10, "last"), name="softmax")
    executor = bound(net, rng, "all", monkeypatch, data=(512, 5, 9))
    assert steps_of(executor) == [["last", "softmax"], ["softmax", "last"]]
    for _ in range(2):
        batch = mx.nd.array(rng.uniform(-1, 1, (512, 5, 9)))
        executor.forward(is_train=True, data=batch)
        np.testing.assert_array_equal(executor.arg_dict["data"].asnumpy(), batch.asnumpy())
        executor.backward()
        x = batch.asnumpy().reshape(512, -1).astype("d")
        values = {key: array.asnumpy() for key, array in executor.arg_dict.items()}
        hidden = np.maximum(x @ values["first_weight"].T + values["first_bias"], 0)
        scores = hidden @ values["last_weight"].T + values["last_bias"]
        wanted = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
        assert_summed_alike(executor.outputs[0].asnumpy(), wanted, 45 + 128, 1)
        grad = wanted - np.eye(10)[values["softmax_label"].astype(int)]
        grad = (grad @ values["last_weight"] * (hidden > 0)).T @ x
        found = executor.grad_dict["first_weight"].asnumpy()
        np.testing.assert_allclose(found, grad, atol=1e-5 * np.abs(grad).max())


@needs_products
def test_a_weight_that_two_steps_share(rng, monkeypatch):
    """Its gradient is written by the one and added to by the other, in each part."""
    weight = mx.sym.var("weight")
    net = act(dense(mx.sym.var("data"), 64, "first"))
    for i in range(2):
        net = act(dense(net, 64, f"fc{i}", weight=weight, no_bias=True), "tanh")
    net = mx.sym.LinearRegressionOutput(dense(net, 64, "last", weight=weight, no_bias=True))
    found = []
    for passes in ("all", "-split"):
        executor = bound(net, np.random.default_rng(5), passes, monkeypatch, data=(192, 30))
        found.append(train(executor, 2))
        assert len(steps_of(executor)) == (2 if passes == "all" else 0)
    numeric, step = [], 1e-4
    values = {k: v.asnumpy().astype("d") for k, v in executor.arg_dict.items()}
    label = next(key for key in values if key.endswith("label"))

    def loss(w):
        x = np.maximum(values["data"] @ values["first_weight"].T + values["first_bias"], 0)
        for _ in range(2):
            x = np.tanh(x @ w.T)
        return ((x @ w.T - values[label]) ** 2).sum() / 2 / 64

    places = [(3, 5), (0, 63), (40, 1)]
    for place in places:
        change = np.zeros((64, 64))
        change[place] = step
        rise = loss(values["weight"] + change) - loss(values["weight"] - change)
        numeric.append(rise / (2 * step))
    for _, grads in found:
        got = [grads["weight"][place] for place in places]
        np.testing.assert_allclose(got, numeric, rtol=2e-4, atol=1e-5)


@needs_products
@pytest.mark.parametrize("req", ["write", "add"])
@pytest.mark.parametrize("shared", ["grads", "slices", "weight"])
def test_arrays_of_several_arguments_that_share_memory(rng, monkeypatch, shared, req):
    """Each gradient is in its array when its step is through, whatever is written there later."""
    net = act(dense(mx.sym.var("data"), 64, "first"), "tanh")
    for i in range(3):
        net = act(dense(net, 64, f"fc{i}", no_bias=True), "tanh")
    net = mx.sym.LinearRegressionOutput(net, mx.sym.var("label"))
    names, shapes = net.list_arguments(), net.infer_shape(data=(192, 30))[0]
    values = {name: rng.uniform(-0.3, 0.3, shape) for name, shape in zip(names, shapes)}
    found, alone = [], []
    for passes, apart in (("all", False), ("-split", False), ("-split", True)):
        monkeypatch.setenv("CYNET_GRAPH_PASSES", passes)
        args = {name: mx.nd.array(value) for name, value in values.items()}
        grads = {name: mx.nd.ones(value.shape) for name, value in values.items()}
        if apart:
            pass
        elif shared == "grads":
            grads["fc2_weight"] = grads["fc0_weight"]
        elif shared == "slices":  # which have no byte in common
            both = mx.nd.ones((2, 64, 64))
            grads["fc0_weight"], grads["fc2_weight"] = both[0], both[1]
        else:  # the gradient of the last layer's data overwrites a weight that is read later
            grads["fc2_weight"] = args["fc1_weight"]
        executor = net.bind(mx.cpu(), args, grads, req)
        executor.forward(is_train=True)
        executor.backward()
        (alone if apart else found).append({k: v.asnumpy() for k, v in grads.items()})
        if passes == "all":
            assert len(steps_of(executor)) == (2 if shared == "slices" else 1)
    for key, value in found[1].items():
        size = np.abs(value).max()
        np.testing.assert_allclose(found[0][key], value, atol=1e-5 * size, err_msg=key)
    if shared == "slices":
        for key, value in alone[0].items():
            np.testing.assert_array_equal(found[1][key], value)
    elif shared == "grads" and req == "write":  # fc0 comes last
        np.testing.assert_array_equal(found[1]["fc0_weight"], alone[0]["fc0_weight"])


def test_an_operator_of_a_user(rng, monkeypatch, row_scale):
    executor = bound(scaled(), rng, "all", monkeypatch, data=(600, 70), start=(1, 70))
    names = [f"scale{i}" for i in range(3)]
    assert steps_of(executor) == [names, names[::-1]]
    out, grads = train(executor, 2)
    values = {key: array.asnumpy().astype("d") for key, array in executor.arg_dict.items()}
    factors = [values["start"][0], *(values[f"{name}_weight"] for name in names)]
    np.testing.assert_allclose(out, values["data"] * np.prod(factors, 0), rtol=1e-5)
    for i, key in enumerate(["start", *(f"{name}_weight" for name in names)]):
        others = np.prod(factors[:i] + factors[i + 1 :], 0)
        wanted = values["data"].sum(0) * others
        np.testing.assert_allclose(grads[key].ravel(), wanted, atol=1e-4 * np.abs(wanted).max())


@pytest.mark.parametrize("row", [0, 70, 599])
def test_a_failure_names_the_node_whichever_part_it_is_in(rng, monkeypatch, row_scale, row):
    executor = bound(scaled(10), rng, "all", monkeypatch, data=(600, 70), start=(1, 70))
    good = train(executor)[0]
    executor.arg_dict["start"][:] = 1
    executor.arg_dict["scale0_weight"][:] = 1
    data = executor.arg_dict["data"].asnumpy()
    executor.arg_dict["data"][row, 3] = 12.5
    message = r"row_scale \(node 'scale0'\) failed in forward.*ValueError: 12.5 is more than 10"
    with pytest.raises(ValueError, match=message):
        executor.forward(is_train=True)
        executor.outputs[0].wait_to_read()
    executor.arg_dict["data"][:] = data
    assert train(executor)[0].shape == good.shape
    wanted = data * np.prod([executor.arg_dict[f"scale{i}_weight"].asnumpy() for i in (1, 2)], 0)
    np.testing.assert_allclose(executor.outputs[0].asnumpy(), wanted, rtol=1e-5)


@pytest.mark.parametrize("times", [30])
def test_of_several_failures_the_first_step_is_named(rng, monkeypatch, threads, row_scale, times):
    """As without parts, whichever thread comes first: the node and the value belong together."""
    threads(4)
    executor = bound(scaled(10), rng, "all", monkeypatch, data=(600, 70), start=(1, 70))
    assert [len(each.rows) for each in executor._graph.splits] == [4, 4]
    for array in executor.arg_dict.values():
        array[:] = 1
    data = np.ones((600, 70), "f")
    data[3, 3] = 5  # 15 in scale1
    data[200, 0], data[590, 3] = 12.5, 11.5  # in scale0
    executor.arg_dict["data"][:] = data
    executor.arg_dict["scale0_weight"][:] = 3
    message = r"row_scale \(node 'scale0'\) failed in forward.*ValueError: 12.5 is more than 10"
    for n in range(times):
        threads(1 + n % 4)
        with pytest.raises(ValueError, match=message):
            executor.forward(is_train=True)
            executor.outputs[0].wait_to_read()


def test_parts_cover_the_rows():
    for rows in range(2 * LEAST_ROWS, 1200):
        for n in (2, 3, 16):
            parts = parts_of(rows, n)
            assert sum(parts) == rows and 2 <= len(parts) <= n
            assert all(size % BLOCK == 0 for size in parts[:-1])
            assert min(parts) >= BLOCK and max(parts) - min(parts) < 2 * BLOCK


@needs_products
@pytest.mark.parametrize("grad_req", ["write", "null"])
def test_what_a_split_touches_shares_no_memory(rng, monkeypatch, grad_req):
    """A part may be steps ahead of another one."""
    executor = bound(mlp("tanh"), rng, "all", monkeypatch, grad_req, data=(200, 45))
    graph = executor._graph
    assert graph.splits
    for each in graph.splits:
        steps = graph.steps[each.first : each.last]
        touched = {v for s in steps for v in (*s.read(), *(w for _, w in s.written()))}
        roots = {v.root for v in touched if v.root.kind == TEMP}
        spans = sorted((root.offset, root.offset + nbytes(root)) for root in roots)
        assert all(end <= begin for (_, end), (begin, _) in pairwise(spans))
        assert spans


def few():
    return mlp(), {"data": (63, 45)}


def small():
    """Each of them is better one thread's."""
    net = act(dense(mx.sym.var("data"), 40, "first"))
    for i in range(3):
        net = act(dense(net, 40, f"fc{i}"))
    return net, {"data": (128, 45)}


def wide():
    net = act(dense(mx.sym.var("data"), 80, "first"))
    net = act(dense(net, 900, "fc0"))
    return dense(act(dense(net, 700, "fc1")), 800, "fc2"), {"data": (128, 45)}


def computed():
    """A weight that is computed in the same run."""
    net = act(dense(mx.sym.var("data"), 80, "first"))
    for i in range(2):
        weight = mx.sym.var(f"w{i}", shape=(64, 80 if i == 0 else 64)) * 2
        net = act(dense(net, 64, f"fc{i}", weight=weight))
    return net, {"data": (128, 45)}


def between():
    """Something that does not treat rows apart stands between."""
    net = act(dense(mx.sym.var("data"), 80, "first"))
    for i in range(3):
        net = mx.sym.BatchNorm(act(dense(net, 64, f"fc{i}")), name=f"norm{i}")
    return net, {"data": (128, 45)}


@pytest.mark.parametrize("make", [few, small, wide, computed, between])
def test_what_is_left_as_it_is(rng, monkeypatch, make):
    net, shapes = make()
    executor = bound(net, rng, "all", monkeypatch, **shapes)
    assert steps_of(executor) == []


@needs_products
def test_one_thread_has_no_parts(rng, monkeypatch, threads):
    threads(1)
    assert steps_of(bound(mlp(), rng, "all", monkeypatch, data=(128, 45))) == []


@needs_products
@pytest.mark.parametrize("preserve_shape", [False, True])
@pytest.mark.parametrize("req", ["write", "add"])
def test_a_loss_of_rows_with_more_than_one_axis(rng, monkeypatch, preserve_shape, req):
    """Without preserve_shape there are N rows of many classes, and their labels lie otherwise."""
    x = mx.sym.var("data")
    for name, units in (("a", 64), ("b", 64), ("c", 10)):
        x = dense(act(x, "tanh") if name != "a" else x, units, name, flatten=False)
    net = mx.sym.SoftmaxOutput(x, preserve_shape=preserve_shape, name="softmax")
    executor = bound(net, rng, "all", monkeypatch, req, data=(128, 6, 45))
    assert any("softmax" in each for each in steps_of(executor)) == preserve_shape
    assert steps_of(executor)
    times = 2 if req == "add" else 1
    out, grads = train(executor, times)
    values = in_float64(executor.arg_dict)
    x = values["data"]
    inputs = []
    for name in "abc":
        inputs.append(x)
        y = x @ values[f"{name}_weight"].T + values[f"{name}_bias"]
        x = np.tanh(y)
    rows = y.reshape(-1, 10) if preserve_shape else y.reshape(128, -1)
    wanted = np.exp(rows)
    wanted /= wanted.sum(1, keepdims=True)
    assert_summed_alike(out, wanted.reshape(out.shape), 45 + 64 + 64, 1)
    labels = values["softmax_label"].ravel()[: len(rows)].astype(int)
    grad = (wanted - np.eye(rows.shape[1])[labels]).reshape(y.shape)
    for name, x in zip("cba", reversed(inputs)):
        weight = np.einsum("nij,nik->jk", grad, x)
        for key, value in ((f"{name}_weight", weight), (f"{name}_bias", grad.sum((0, 1)))):
            size = np.abs(value).max() * times
            np.testing.assert_allclose(grads[key], value * times, atol=1e-5 * size, err_msg=key)
        grad = grad @ values[f"{name}_weight"] * (1 - x * x)


@needs_products
@pytest.mark.parametrize(
    "loss", [{"normalization": "batch"}, {"normalization": "valid"}, {"multi_output": True}]
)
def test_a_loss_over_the_whole_batch_stays_apart(rng, monkeypatch, loss):
    executor = bound(mlp(**loss), rng, "all", monkeypatch, data=(128, 45))
    middle = ["fc0", "fc1", "fc2", "last"]
    assert steps_of(executor) == [middle, middle[::-1]]


@needs_products
def test_it_is_told(rng, monkeypatch):
    executor = bound(mlp(), rng, "all", monkeypatch, data=(200, 45))
    text = executor.debug_str()
    assert text.count("in parts of 96, 104 rows, to step ") == 2
    assert executor._graph.memory.kept > 0  # sums of the other parts
    rows = executor.profile(lambda: train(executor), 3)
    assert len(rows) == len(executor._graph.steps) and all(micros > 0 for *_, micros in rows)
    executor = bound(mlp(), rng, "-split", monkeypatch, data=(200, 45))
    assert "in parts" not in executor.debug_str() and steps_of(executor) == []
