"""Predictor: what it is made from, what it refuses, and many threads at once."""

import os
import signal
import threading
import time

import numpy as np
import pytest

import cynet as mx
from cynet.serving.errors import BusyError, WaitedError


def symbol(hidden=2):
    data = mx.sym.var("data")
    return mx.sym.SoftmaxOutput(
        mx.sym.FullyConnected(data, num_hidden=hidden, name="fc"), name="softmax"
    )


@pytest.fixture
def weights(rng):
    return {
        "fc_weight": mx.nd.array(rng.normal(size=(2, 3))),
        "fc_bias": mx.nd.array(rng.normal(size=2)),
    }


def expected(x, weights):
    scores = x @ weights["fc_weight"].asnumpy().T + weights["fc_bias"].asnumpy()
    powers = np.exp(scores - scores.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


class Sum(mx.gluon.Block):
    """The sum of each row; slow on request, and it fails for a row that begins with 13."""

    def __init__(self, seconds=0.0):
        super().__init__()
        self.seconds, self.batches = seconds, []

    def forward(self, x):
        rows = x.asnumpy()
        self.batches.append(len(rows))
        if (rows[:, 0] == 13).any():
            raise mx.errors.ArgumentError("13 is no number for this network")
        time.sleep(self.seconds)
        return mx.nd.array(rows.reshape(len(rows), -1).sum(1))


def make(seconds=0.0, **settings):
    net = Sum(seconds)
    settings = {"shapes": (3,), "warm_up": False, **settings}
    return net, mx.Predictor(net, **settings)


def run_all(functions):
    """Run functions in threads; their exceptions, None for those that had none."""
    found = [None] * len(functions)

    def call(i):
        try:
            functions[i]()
        except BaseException as error:
            found[i] = error

    threads = [threading.Thread(target=call, args=(i,)) for i in range(len(functions))]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return found


# --- what it is made from -------------------------------------------------------------------------
@pytest.mark.parametrize("source", ["symbol", "pair", "file", "prefix", "onnx", "block"])
def test_every_source_gives_the_network(source, weights, rng, tmp_path):
    x = rng.normal(size=(5, 3)).astype("float32")
    prefix, params = str(tmp_path / "model"), None
    if source == "symbol":
        model, params = symbol(), {f"arg:{k}": v for k, v in weights.items()}
    elif source == "pair":
        model, params = symbol(), (weights, {})
    elif source == "file":
        model, params = symbol(), prefix + ".params"
        mx.nd.save(params, {f"arg:{k}": v for k, v in weights.items()})
    elif source == "prefix":
        model = prefix
        mx.model.save_checkpoint(prefix, 2, symbol(), {k: 0 * v for k, v in weights.items()}, {})
        mx.model.save_checkpoint(prefix, 10, symbol(), weights, {})
    elif source == "onnx":
        pytest.importorskip("onnx")
        model = prefix + ".onnx"
        net = mx.sym.softmax(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc"))
        mx.onnx.export_model(net, weights, [(1, 3)], onnx_file_path=model, dynamic=True)
    else:
        net = mx.sym.softmax(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc"))
        model = mx.gluon.SymbolBlock(net, mx.sym.var("data"))
        model.collect_params().load_dict(weights)
    with mx.Predictor(model, params, shapes=(3,), max_batch=4) as predictor:
        np.testing.assert_allclose(predictor(x), expected(x, weights), rtol=1e-5, atol=1e-6)
        if source == "prefix":
            with mx.Predictor(prefix, epoch=2, shapes=(3,)) as older:
                np.testing.assert_allclose(older(x), np.full((5, 2), 0.5), rtol=1e-6)


@pytest.mark.parametrize("warm_up", [True, False])
def test_each_batch_size_has_a_plan_before_the_first_request(warm_up, monkeypatch):
    monkeypatch.delenv("CYNET_RUNS_BEFORE_PLAN", raising=False)
    net = mx.gluon.nn.Dense(2, in_units=3)
    net.initialize()
    with mx.Predictor(net, shapes=(3,), max_batch=8, warm_up=warm_up) as predictor:
        for rows in (1, 2, 3, 8):
            predictor(np.ones((rows, 3)))
        ops = [plan.op for plans in net._cached._plans.values() for plan in plans]
    planned = sum(len([*op._programs]) for op in ops)
    called = sum(len([*op._called]) for op in ops)
    assert planned > 2 or not warm_up
    assert (called == 0) == warm_up


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_a_network_in_half_precision(dtype, weights, rng):
    x = rng.normal(size=(5, 3)).astype("float32")
    with mx.Predictor(symbol(), weights, shapes=(3,), dtype=dtype) as predictor:
        found = predictor(x)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected(x, weights), atol=2e-2)
    assert np.abs(found - expected(x, weights)).max() > 1e-7  # it is not float32


def test_several_inputs_outputs_and_integers(rng):
    words, scale = mx.sym.var("words"), mx.sym.var("scale")
    vectors = mx.sym.Embedding(words, input_dim=5, output_dim=2, name="embed")
    net = mx.sym.Group([mx.sym.broadcast_mul(vectors.sum(axis=1), scale), words])
    table = rng.normal(size=(5, 2)).astype("float32")
    with mx.Predictor(
        net,
        {"embed_weight": mx.nd.array(table)},
        shapes={"words": (-1,), "scale": (1,)},
        input_dtypes={"words": "int32"},
    ) as predictor:
        for length in (3, 7, 3):
            ids, factor = rng.integers(0, 5, (2, length)), np.array([[2.0], [3.0]], "float32")
            found = predictor(words=ids, scale=factor)
            np.testing.assert_allclose(found[0], table[ids].sum(1) * factor, rtol=1e-5)
            assert (found[1] == ids).all() and found[1].dtype == np.int32
        for bad in (0.5, np.nan, 2**40, -(2**31) - 1, 3e9, np.inf):
            with pytest.raises(mx.errors.ArgumentError, match=r"words.*int32"):
                predictor([[bad]], [[1.0]])


# --- what it refuses ------------------------------------------------------------------------------
BAD = {
    "no rows": (np.zeros((0, 3)), "data.*no rows"),
    "another length": (np.zeros((2, 4)), r"data.*\(2, 4\).*\(rows, 3\)"),
    "another rank": (np.zeros(3), r"data.*\(3,\)"),
    "text": ("abc", "data.*elements of"),
    "objects": ([[None, 1, 2]], "data"),
    "ragged": ([[1, 2, 3], [1]], "data"),
    "complex": (np.zeros((1, 3), complex), "data.*complex"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_refused_by_name(what):
    value, message = BAD[what]
    net, predictor = make()
    with pytest.raises((mx.errors.ArgumentError, mx.errors.ArgumentTypeError), match=message):
        predictor(value)
    assert not net.batches
    assert sum(predictor.stats()["failed"].values()) == 1


def test_missing_and_strange_inputs():
    _, predictor = make()
    rows = np.zeros((1, 3))
    for call, message in (
        (lambda: predictor(), "'data' is missing"),
        (lambda: predictor(rows, rows), "there are 1 inputs, got 2"),
        (lambda: predictor(rows, data=rows), "'data' is given twice"),
        (lambda: predictor(x=rows), "no input is called 'x'"),
    ):
        with pytest.raises(mx.errors.ArgumentTypeError, match=message):
            call()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_batch": 0}, "max_batch"),
        ({"workers": 1.5}, "workers"),
        ({"max_waiting": 3}, "max_waiting"),
        ({"max_delay": -1}, "max_delay"),
        ({"timeout": float("nan")}, "timeout"),
        ({"shapes": {"data": (0,)}}, "lengths of 'data'"),
        ({"shapes": {"data": 3}}, "the shape of 'data'"),
        ({"shapes": {}}, "an input at least"),
        ({"dtype": "int8"}, "dtype"),
        ({"input_dtypes": {"x": "int32"}}, "'x'"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(mx.errors.CynetError, match=message):
        make(**settings)


def test_inputs_that_the_network_has_not(weights):
    with pytest.raises(mx.errors.ArgumentError, match=r"inputs are \['data'\].*\['x'\]"):
        mx.Predictor(symbol(), weights, shapes={"x": (3,)})
    with pytest.raises(mx.errors.ArgumentError, match="fc_bias"):
        mx.Predictor(symbol(), {"fc_weight": weights["fc_weight"]}, shapes=(3,))
    with pytest.raises(mx.errors.MissingFileError, match="nowhere"):
        mx.Predictor("nowhere", shapes=(3,))


def test_outputs_without_rows_are_refused_when_it_is_made():
    with pytest.raises(mx.errors.ShapeError, match="output 0"):
        mx.Predictor(mx.sym.sum(mx.sym.var("data")), {}, shapes=(3,))


# --- many at once ---------------------------------------------------------------------------------
def test_requests_that_wait_become_one_batch():
    net, predictor = make(0.05, max_batch=8)
    inputs = [np.full((1, 3), i, "float32") for i in range(9)]
    found = {}
    assert run_all([lambda i=i: found.update({i: predictor(inputs[i])}) for i in range(9)]) == (
        [None] * 9
    )
    assert {i: out.tolist() for i, out in found.items()} == {i: [3.0 * i] for i in range(9)}
    assert len(net.batches) <= 4  # one alone, the others while it ran
    stats = predictor.stats()
    assert stats["requests"] == stats["rows"] == sum(stats["buckets"]) == 9
    assert stats["batches"] == len(net.batches) and stats["p50"] <= stats["p99"]


def test_a_delay_gathers_rows():
    net, predictor = make(max_batch=4, max_delay=5.0)
    start = time.monotonic()
    run_all([lambda: predictor(np.zeros((1, 3)))] * 4)
    assert time.monotonic() - start < 4  # the batch was full before the delay was over
    assert net.batches == [4]


def test_a_request_larger_than_a_batch_is_cut(rng):
    net, predictor = make(max_batch=4)
    x = rng.normal(size=(11, 3)).astype("float32")
    np.testing.assert_allclose(predictor(x), x.sum(1), rtol=1e-5)
    assert net.batches == [4, 4, 4]  # 3 rows are padded to 4


def test_rows_of_other_lengths_are_other_batches():
    _, predictor = make(0.02, shapes=(-1,), max_batch=16)
    found = {}
    functions = [
        lambda n=n, k=k: found.update({(n, k): predictor(np.ones((1, n), "float32"))})
        for n in (1, 2, 3)
        for k in range(5)
    ]
    assert run_all(functions) == [None] * 15
    assert all(found[n, k].tolist() == [n] for n, k in found)


def test_a_bad_row_spoils_no_other_answer():
    _, predictor = make(0.05, max_batch=8)
    inputs = [np.full((1, 3), i, "float32") for i in range(10, 17)]
    found = {}
    errors = run_all([lambda i=i: found.update({i: predictor(inputs[i])}) for i in range(7)])
    assert [type(each) for each in errors] == [
        mx.errors.ArgumentError if i == 3 else type(None) for i in range(7)
    ]
    assert {i: out.tolist() for i, out in found.items()} == {
        i: [3.0 * (10 + i)] for i in range(7) if i != 3
    }


def test_too_many_are_refused_and_late_ones_end():
    _, predictor = make(0.3, max_batch=1, max_waiting=2)
    errors = run_all([lambda: predictor(np.zeros((1, 3)), timeout=0.1)] * 8)
    kinds = [type(each) for each in errors]
    assert kinds.count(type(None)) == 1
    assert kinds.count(WaitedError) == 2 and kinds.count(BusyError) == 5
    assert isinstance(errors[kinds.index(WaitedError)], TimeoutError)
    assert predictor.stats()["waiting"] == 0
    assert predictor(np.ones((1, 3))).tolist() == [3.0]  # and it goes on


def test_one_that_is_interrupted_while_it_waits_holds_up_no_other():
    _, predictor = make(0.3, max_batch=1)
    ahead = threading.Thread(target=lambda: predictor(np.ones((1, 3))))

    def interrupt(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        ahead.start()
        while not predictor.stats()["batches"]:
            time.sleep(0.001)
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(KeyboardInterrupt):
            predictor(np.ones((1, 3)))
    finally:
        signal.signal(signal.SIGALRM, before)
    assert predictor.stats()["waiting"] == 0
    assert predictor(np.ones((1, 3)), timeout=5).tolist() == [3.0]
    ahead.join()
    predictor.close()


def test_close_answers_those_who_wait():
    _, predictor = make(0.1, max_batch=1)
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(predictor(np.ones((1, 3))))) for _ in range(3)
    ]
    for each in threads:
        each.start()
    while predictor.stats()["waiting"] < 2:
        time.sleep(0.005)
    predictor.close()
    for each in threads:
        each.join()
    assert [out.tolist() for out in found] == [[3.0]] * 3
    assert predictor.closed
    with pytest.raises(mx.errors.StateError, match="closed"):
        predictor(np.ones((1, 3)))


def test_many_threads_get_their_own_answers(weights, rng):
    with mx.Predictor(symbol(), weights, shapes=(3,), max_batch=8, workers=2) as predictor:
        inputs = [rng.normal(size=(n, 3)).astype("float32") for n in rng.integers(1, 12, 64)]

        def ask(i):
            for k in range(i, i + 4):
                x = inputs[k % 64]
                np.testing.assert_allclose(predictor(x), expected(x, weights), rtol=1e-4, atol=1e-6)

        assert run_all([lambda i=i: ask(i) for i in range(0, 64, 4)]) == [None] * 16
        assert predictor.stats()["requests"] == 64


def test_a_forked_child_predicts(weights, rng):
    x = rng.normal(size=(2, 3)).astype("float32")
    with mx.Predictor(symbol(), weights, shapes=(3,)) as predictor:
        before = predictor(x)
        child = os.fork()
        if child == 0:
            os._exit(0 if (predictor(x) == before).all() else 1)
        assert os.waitpid(child, 0)[1] == 0


def test_within_record_nothing_is_recorded_and_nothing_trains():
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dropout(0.5))
    predictor = mx.Predictor(net, shapes=(100,))
    with mx.autograd.record():
        assert (predictor(np.ones((1, 100))) == 1).all()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_hybrid_block_runs_as_one_graph(dtype):
    """Not operator by operator: the Predictor hybridizes what it is given."""
    block = mx.gluon.nn.Dense(2, in_units=3)
    block.initialize()
    with mx.Predictor(block, shapes=(3,), dtype=dtype) as predictor:
        assert predictor._net.block._active
