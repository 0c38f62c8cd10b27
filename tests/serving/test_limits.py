"""Exact limits: the largest that is taken and one more; second settings; every status."""

import json

import numpy as np
import pytest

import cynet as mx
from cynet.serving import Application, networks
from cynet.serving.batches import BatchRunner, RowsJob
from cynet.serving.counters import BUCKET_SECONDS, Counters
from cynet.serving.errors import BusyError, WaitedError
from cynet.serving.metrics import metrics_text
from tests.serving.asking import ask


def block():
    net = mx.gluon.nn.Dense(2, in_units=3, use_bias=False)
    net.initialize(mx.init.One())
    return net


SETTINGS = {
    "max_batch": ([1, 2, 32], [0, -1, 1.0, True, None]),
    "workers": ([1, 3], [0, 1.5, True]),
    "max_waiting": ([4, 5], [3, 3.5, "4"]),
    "max_delay": ([0, 0.5, 3599.9], [-1e-9, 3600, float("nan"), "1", None]),
    "timeout": ([None, 0.001, 3599.9], [-1, 3600, float("inf"), "1"]),
    "warm_up": ([True, False, 1, 0], ["yes", 2.0, None]),
    "dtype": (["float32", "bfloat16", "float16"], ["float64", "int8", None]),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_the_least_and_the_largest_of_each_setting(name):
    base = {"max_batch": 4, "shapes": (3,), "warm_up": False}
    good, bad = SETTINGS[name]
    for value in good:
        settings = {**base, name: value}
        with mx.Predictor(block(), **settings) as predictor:
            rows = [[1, 2, 3]] * predictor.max_batch  # a whole batch waits for no more
            np.testing.assert_allclose(predictor(rows)[0], [6, 6], rtol=1e-2)
    for value in bad:
        with pytest.raises(mx.errors.CynetError, match=name):
            mx.Predictor(block(), **{**base, name: value})


def test_lengths_of_rows():
    for shapes in ((1,), {"data": (-1,)}, {"data": [np.int64(3)]}, (2**31,), ()):
        assert mx.Predictor(mx.gluon.nn.Flatten(), shapes=shapes, warm_up=False).shapes
    for bad in ((0,), (-2,), (1.0,), "3", 3, {"data": None}, {}):
        with pytest.raises(mx.errors.CynetError, match="shape|lengths"):
            mx.Predictor(mx.gluon.nn.Flatten(), shapes=bad, warm_up=False)


@pytest.mark.parametrize("max_batch", [1, 2, 3, 4, 5, 8])
def test_rows_up_to_a_batch_and_one_more(max_batch):
    sizes = []

    class Sizes(mx.gluon.Block):
        def forward(self, x):
            sizes.append(len(x))
            return x

    predictor = mx.Predictor(Sizes(), shapes=(1,), max_batch=max_batch, warm_up=False)
    for rows in (1, max_batch, max_batch + 1, 2 * max_batch):
        x = np.arange(rows, dtype="float32")[:, None]
        sizes.clear()
        assert (predictor(x) == x).all()
        parts = [min(rows, max_batch), rows - max_batch][: 1 + (rows > max_batch)]
        assert sizes == [next(n for n in predictor._sizes if n >= part) for part in parts]
    assert predictor._sizes == sorted({*(2**i for i in range(4) if 2**i < max_batch), max_batch})


def test_rows_that_may_wait():
    """Exactly as many as are allowed, and, where none wait, any number."""
    batches = BatchRunner(lambda jobs: [None] * len(jobs), 4, 0.0, 6, 1, Counters())
    batches._running = 1  # a batch runs
    for rows in (9, 1):
        batches._reset_queue()
        batches._running = 1
        with pytest.raises(WaitedError, match=f"no turn within 0.01 s, {rows - rows} rows wait"):
            batches.run_job(RowsJob([], rows, ()), 0.01)
    batches._queue, batches._rows = [RowsJob([], 2, ())], 2
    with pytest.raises(BusyError, match="2 rows wait, and at most 6 may"):
        batches.run_job(RowsJob([], 5, ()), 0.01)
    with pytest.raises(WaitedError, match="no turn"):
        batches.run_job(RowsJob([], 4, ()), 0.01)


@pytest.mark.parametrize("over", [-1, 0, 1])
def test_integers_at_the_ends_of_their_type(over):
    predictor = mx.Predictor(
        mx.gluon.nn.Flatten(), shapes=(1,), warm_up=False, input_dtypes={"data": "int8"}
    )
    for end, away in ((127, over), (-128, -over)):
        if over > 0:
            with pytest.raises(mx.errors.ArgumentError, match=rf"takes int8, got {end + away}"):
                predictor([[end + away]])
        else:
            assert predictor([[end + away]]).tolist() == [[end + away]]


@pytest.mark.parametrize("given", ["float16", "float32", "float64"])
@pytest.mark.parametrize("wanted", ["int8", "uint8", "int32", "int64"])
def test_floats_at_the_ends_of_integers(given, wanted):
    """Of those beside a limit each is taken as it is, or refused."""
    predictor = mx.Predictor(
        mx.gluon.nn.Flatten(), shapes=(1,), warm_up=False, input_dtypes={"data": wanted}
    )
    limits = np.iinfo(wanted)
    with np.errstate(over="ignore"):
        near = np.array([limits.min, limits.max + 1], "float64").astype(given)
        near = [*near, *np.nextafter(near, near.dtype.type(0)), *(near - 1), -np.inf, np.inf]
    for x in np.array(near, given):
        if np.isfinite(x) and x == np.floor(x) and limits.min <= int(x) <= limits.max:
            assert predictor(np.array([[x]])).tolist() == [[int(x)]]
        else:
            with pytest.raises(mx.errors.ArgumentError, match="'data' takes"):
                predictor(np.array([[x]]))


# --- statuses -------------------------------------------------------------------------------------
STATUSES = {
    BusyError("9 rows wait"): (503, {"Retry-After": "1"}),
    WaitedError("no turn"): (504, {}),
    mx.errors.StateError("closed"): (503, {}),
    mx.errors.ArgumentError("a value"): (400, {}),
    mx.errors.ArgumentTypeError("a type"): (400, {}),
    mx.errors.ShapeError("a shape"): (400, {}),
    mx.errors.FormatError("a format"): (400, {}),
    mx.errors.CynetError("the rest"): (500, {}),
    MemoryError("no memory"): (500, {}),
    ZeroDivisionError("by zero"): (500, {}),
}


@pytest.mark.parametrize("error", STATUSES, ids=lambda error: type(error).__name__)
def test_the_status_of_each_error(error, monkeypatch):
    app = Application(mx.Predictor(block(), shapes=(3,), warm_up=False))

    def predict(inputs):
        raise error

    monkeypatch.setattr(app.predictor, "predict", predict)
    status, headers, body = ask(app, "POST", "/predict", b"[[1, 2, 3]]")
    wanted, more = STATUSES[error]
    assert status == wanted and str(error) in json.loads(body)["error"]
    assert {"Retry-After": headers["Retry-After"]} == more if more else "Retry-After" not in headers


def test_methods_of_each_page():
    app = Application(mx.Predictor(block(), shapes=(3,), warm_up=False))
    for path, good in (("/predict", "POST"), ("/health", "GET"), ("/metrics", "GET")):
        for method in ("GET", "POST", "HEAD", "PUT", "DELETE", "get"):
            status, headers, _ = ask(app, method, path, b"[[1, 2, 3]]")
            fine = method == good or (method, good) == ("HEAD", "GET")
            assert status == (200 if fine else 405)
            assert fine or headers["Allow"] == good
    for path in ("", "/x", "/predict/", "/Predict", "/metric"):
        assert ask(app, "GET", path)[0] == 404


def test_classes_of_an_answer():
    net = mx.gluon.nn.Flatten()
    names = ["a", "b", "c"]
    for top, wanted in ((1, "b"), (2, "bc"), (3, "bca"), (9, "bca")):
        app = Application(mx.Predictor(net, shapes=(3,), warm_up=False), classes=names, top=top)
        _, _, body = ask(app, "POST", "/predict", b"[[1, 5, 2]]")
        (row,) = json.loads(body)["classes"]
        assert "".join(each["class"] for each in row) == wanted
        assert [each["value"] for each in row] == sorted((1, 5, 2), reverse=True)[:top]


# --- what is counted ------------------------------------------------------------------------------
def test_seconds_fall_into_their_buckets():
    """A bucket has what is as long as its bound: Prometheus' "le"."""
    for i, bound in enumerate(BUCKET_SECONDS):
        for seconds, place in ((bound, i), (bound * 1.0001, i + 1), (bound * 0.9999, i)):
            counters = Counters()
            counters.count_answer(3, seconds)
            found = counters.read()
            assert found["buckets"] == [int(k == place) for k in range(len(BUCKET_SECONDS) + 1)]
            assert (found["requests"], found["rows"], found["seconds"]) == (1, 3, seconds)


def test_quantiles_and_sums():
    counters = Counters()
    for i in range(1, 101):
        counters.count_answer(i, i / 100)
    counters.count_batch(7)
    counters.count_batch(3)
    for kind in ("A", "B", "A"):
        counters.count_failure(kind)
    found = counters.read()
    assert found["rows"] == 5050 and found["seconds"] == pytest.approx(50.5)
    assert abs(found["p50"] - 0.5) < 0.02 and abs(found["p99"] - 0.99) < 0.02
    assert abs(found["p90"] - 0.9) < 0.02
    assert (found["batches"], found["rows_per_batch"], found["failed"]) == (
        2,
        5.0,
        {"A": 2, "B": 1},
    )
    text = metrics_text([("m", "2", {**found, "waiting": 4})])
    m = 'model="m",version="2"'
    for line in (
        f'cynet_failed_requests_total{{{m},kind="A"}} 2',
        f"cynet_batches_total{{{m}}} 2",
        f"cynet_rows_total{{{m}}} 5050",
        f"cynet_waiting_rows{{{m}}} 4",
        f'cynet_request_seconds_bucket{{{m},le="0.5"}} 50',
        f'cynet_request_seconds_bucket{{{m},le="1.0"}} 100',
        f'cynet_request_seconds_bucket{{{m},le="+Inf"}} 100',
    ):
        assert f"\n{line}\n" in text


# --- files and networks ---------------------------------------------------------------------------
def test_the_last_epoch(tmp_path, monkeypatch):
    prefix = str(tmp_path / "m.a")
    with pytest.raises(mx.errors.MissingFileError, match=r"no checkpoint .*m\.a-NNNN\.params"):
        networks.last_epoch(prefix)
    for name in ("m.a-0002", "mxa-0099", "m.a-003", "m.a-b-0077", "xm.a-0088", "m.a-0010"):
        (tmp_path / f"{name}.params").touch()
    (tmp_path / "m.a-0500.paramsx").touch()
    assert networks.last_epoch(prefix) == 10
    (tmp_path / "m.a-12345.params").touch()  # five digits
    assert networks.last_epoch(prefix) == 12345
    monkeypatch.chdir(tmp_path)
    assert networks.last_epoch("m.a") == 12345


def test_labels_of_many_lengths_take_no_memory():
    net = mx.sym.LinearRegressionOutput(mx.sym.var("data"), name="out")
    net = networks.make_network(net, {}, None, ["data"], "float32", mx.cpu(), lambda: [])
    for length in range(1, 200):
        assert net([mx.nd.ones((1, length))])[0].shape == (1, length)
        assert len(net._zeros) <= 64
    assert net([mx.nd.ones((1, 199))])[0].asnumpy().tolist() == [[1.0] * 199]
