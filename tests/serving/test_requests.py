"""What a Predictor reads and refuses, counts and batches: every refusal whole, exact limits, each
setting's way to where it counts."""

import re
import threading
import time

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentError, ArgumentTypeError, ShapeError, StateError
from cynet.serving import batches as file
from cynet.serving import predictor
from cynet.serving.batches import BatchRunner, RowsJob
from cynet.serving.counters import BUCKET_SECONDS, Counters
from cynet.serving.errors import BusyError, WaitedError
from cynet.serving.metrics import metrics_text


class Echo(mx.gluon.Block):
    """Gives what it is given."""

    def forward(self, *inputs):
        return list(inputs) if len(inputs) > 1 else inputs[0]


def echo(shapes, **settings):
    return mx.Predictor(Echo(), shapes=shapes, warm_up=False, **settings)


# --- what is refused ------------------------------------------------------------------------------
TWO = {"x": (2,), "y": (-1, 3)}
ONES, ROWS = np.ones((2, 2)), np.ones((2, 4, 3))
REFUSED = {
    "three": (((ONES, ROWS, ONES), {}), ArgumentTypeError, "there are 2 inputs, got 3"),
    "unknown": (((), {"z": 1}), ArgumentTypeError, "no input is called 'z'; there are ['x', 'y']"),
    "twice": (((ONES,), {"x": ONES}), ArgumentTypeError, "input 'x' is given twice"),
    "first missing": (((), {"y": ROWS}), ArgumentTypeError, "input 'x' is missing"),
    "last missing": (((ONES,), {}), ArgumentTypeError, "input 'y' is missing"),
    "rows": (((ONES, ROWS[:1]), {}), ShapeError, "input 'y' has 1 rows, 'x' has 2"),
    "none": (((ONES[:0], ROWS[:0]), {}), ShapeError, "input 'x' has no rows"),
    "width": (
        ((ROWS[..., 0], ROWS), {}),
        ShapeError,
        "input 'x' has shape (2, 4), expected (rows, 2)",
    ),
    "axes": (((ONES, ONES), {}), ShapeError, "input 'y' has shape (2, 2), expected (rows, any, 3)"),
    "more axes": (
        ((ONES[None], ROWS), {}),
        ShapeError,
        "input 'x' has shape (1, 2, 2), expected (rows, 2)",
    ),
    "nothing": (
        ((ONES, ROWS[:, :0]), {}),
        ShapeError,
        "input 'y' has shape (2, 0, 3), expected (rows, any, 3)",
    ),
    "text": (((ONES, "x"), {}), ArgumentTypeError, "input 'y' has elements of <U1, not numbers"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_inputs_that_are_refused(what):
    (args, named), kind, text = REFUSED[what]
    made = echo(TWO)
    with pytest.raises(kind, match=f"^{re.escape(text)}$"):
        made(*args, **named)
    if not args:
        with pytest.raises(kind, match=f"^{re.escape(text)}$"):
            made.predict(named)
    assert made.stats()["failed"] == {kind.__name__: 1 if args else 2}
    assert made.stats()["requests"] == 0


def test_inputs_in_every_way(rng):
    made = echo(TWO)
    x, y = rng.normal(size=(3, 2)).astype("float32"), rng.normal(size=(3, 5, 3)).astype("float32")
    for call in (
        lambda: made(x, y),
        lambda: made(x, y=y),
        lambda: made(y=y, x=x),
        lambda: made.predict({"y": y, "x": x}),
        lambda: made(x.tolist(), mx.nd.array(y)),
        lambda: made(np.asfortranarray(x), y[::1]),
    ):
        found = call()
        assert isinstance(found, list)
        np.testing.assert_array_equal(found[0], x)
        np.testing.assert_array_equal(found[1], y)
    single = echo((2,))
    assert isinstance(single(x), np.ndarray)


# --- numbers of each type -------------------------------------------------------------------------
INTEGERS = ["int8", "uint8", "int32", "int64"]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_whole_numbers(dtype):
    made = echo((1,), input_dtypes={"data": dtype})
    ends = np.iinfo(dtype)
    for value in (ends.min, 0, ends.max):
        found = made(np.array([[value]], dtype))
        assert found.dtype == dtype and found[0, 0] == value
    assert made([[True]])[0, 0] == 1 and made([[2.0]])[0, 0] == 2
    beyond = [ends.min - 1, ends.max + 1] if dtype != "int64" else [2**63, 2.0**63, -(2.0**64)]
    for value in beyond:
        for rows in ([[0], [value]], [[value]]):
            with pytest.raises(ArgumentError, match=f"input 'data' takes {dtype}, got "):
                made(rows)
    below = np.nextafter(2.0**63, 0)
    if dtype == "int64":
        assert made([[below]])[0, 0] == int(below) and made([[-(2.0**63)]])[0, 0] == ends.min
    for value in (0.5, float("nan"), -1.25):
        with pytest.raises(ArgumentError, match=f"input 'data' takes {dtype}, got a fraction or N"):
            made([[1], [value]])
    with pytest.raises(ArgumentError, match=f"input 'data' takes {dtype}, got inf"):
        made([[float("inf")]])


@pytest.mark.parametrize("dtype, most", [("float16", 65504.0), ("float32", 3.4028234e38)])
def test_numbers_that_overflow(dtype, most):
    made = echo((1,), input_dtypes={"data": dtype})
    for value in (most, -most, float("inf"), float("nan")):
        found = made(np.array([[value]]))
        np.testing.assert_array_equal(found, np.array([[value]], dtype).astype("float32"))
    with pytest.raises(ArgumentError, match=f"input 'data' takes {dtype}, got 1e[+]?3"):
        made(np.array([[0], [1e39], [1e300]]))
    own = np.array([[np.inf]], dtype)
    assert np.isinf(made(own)).all()


def test_types_of_outputs():
    """Halves come as float32, other types as they are."""
    for dtype, wanted in (("float16", "float32"), ("float64", "float64"), ("int32", "int32")):
        assert echo((1,), input_dtypes={"data": dtype})([[1]]).dtype == np.dtype(wanted)

    class Half(mx.gluon.Block):
        def forward(self, x):
            return x.astype("bfloat16")

    assert mx.Predictor(Half(), shapes=(1,), warm_up=False)([[1]]).dtype == np.float32


@pytest.mark.parametrize(
    "settings, text",
    [
        ({"input_dtypes": {"z": "int8"}}, "Predictor: input_dtypes names 'z', no input"),
        ({"max_batch": 1.5}, "Predictor: max_batch must be a positive int, got 1.5"),
        ({"workers": 0}, "Predictor: workers must be a positive int, got 0"),
        (
            {"max_waiting": 31},
            "Predictor: max_waiting must be an int of at least max_batch (32), got",
        ),
        (
            {"max_delay": -1},
            "Predictor: max_delay must be a number of seconds in [0, 3600), got -1",
        ),
        (
            {"timeout": 3600},
            "Predictor: timeout must be a number of seconds in [0, 3600), got 3600",
        ),
        (
            {"shapes": {"a": (0,)}},
            "Predictor: lengths of 'a' are positive, or -1 if they vary, got (0",
        ),
        ({"shapes": {"a": "x"}}, "Predictor: the shape of 'a' is a tuple of ints, got 'x'"),
        ({"shapes": {}}, "Predictor: shapes must name an input at least"),
    ],
)
def test_settings_that_are_refused(settings, text):
    with pytest.raises((ArgumentError, ArgumentTypeError), match=f"^{re.escape(text)}"):
        echo(**{"shapes": (1,), **settings})


BAD_TIMES = ["x", -1, -1e-9, 3600, float("nan"), float("inf"), [1], {"s": 1}]


@pytest.mark.parametrize("bad", BAD_TIMES, ids=repr)
def test_a_timeout_of_a_call(bad):
    made = echo((1,))
    for call in (lambda: made([[1]], timeout=bad), lambda: made.predict({"data": [[1]]}, bad)):
        with pytest.raises(ArgumentError, match="timeout must be a number of seconds in .0, 3600"):
            call()
    for good in (None, 0.5, 5, 3599.9, True):
        assert made([[1]], timeout=good)[0, 0] == 1


def test_outputs_that_do_not_count_rows():
    class Wrong(mx.gluon.Block):
        def forward(self, x):
            return x, x.sum() if self.scalar else x[:1]

    for scalar, shape in ((True, r"\(1,\)"), (False, r"\(1, 2\)")):
        net = Wrong()
        net.scalar = scalar
        made = mx.Predictor(net, shapes=(2,), warm_up=False)
        text = f"output 1 has shape {shape} for 2 rows: a Predictor needs outputs whose first axis"
        with pytest.raises(ShapeError, match=text):
            made([[1, 2], [3, 4]])


# --- how it is set up -----------------------------------------------------------------------------
def test_settings_go_to_the_batches(monkeypatch):
    seen = []

    class Seen(BatchRunner):
        def __init__(self, *given):
            seen.append(given[1:])
            super().__init__(*given)

    monkeypatch.setattr(predictor, "BatchRunner", Seen)
    made = echo((1,), max_batch=6, max_delay=0.25, max_waiting=7, workers=3, timeout=9)
    assert seen == [(6, 0.25, 7, 3, made._counters)] and made.timeout == 9
    assert made._sizes == [1, 2, 4, 6]


@pytest.mark.parametrize("warm_up", [True, False])
def test_warming_up(warm_up):
    """Each size once, with zeros, open lengths at their least, in the types of the inputs."""
    seen = []

    class Noted(mx.gluon.Block):
        def forward(self, x, y):
            seen.append(
                (
                    x.shape,
                    y.shape,
                    str(x.asnumpy().dtype),
                    str(y.asnumpy().dtype),
                    x.asnumpy().any(),
                )
            )
            return x

    shapes = {"x": (2, -1), "y": ()}
    mx.Predictor(Noted(), shapes=shapes, max_batch=3, warm_up=warm_up, input_dtypes={"y": "int8"})
    wanted = [((n, 2, 1), (n,), "float32", "int8", False) for n in (1, 2, 3)]
    assert seen == (wanted if warm_up else [])


def test_where_it_computes():
    class Place(mx.gluon.Block):
        def forward(self, x):
            places.append((x.context, mx.autograd.is_training(), mx.autograd.is_recording()))
            return x

    places = []
    made = mx.Predictor(Place(), shapes=(1,), ctx=mx.cpu(1), warm_up=False)
    with mx.autograd.record(train_mode=True):
        made([[1]])
    assert places == [(mx.cpu(1), False, False)]


def test_what_runs_in_one_batch():
    """Rows of several jobs one behind another, padded with zeros; a whole one is not copied."""
    seen = []
    made = echo(TWO, max_batch=8)
    made._net = lambda arrays: seen.append([each.asnumpy() for each in arrays]) or arrays
    jobs = []
    for rows in (2, 1, 2):
        arrays = [np.full((rows, 2), rows, "float32"), np.full((rows, 4, 3), -rows, "float32")]
        jobs.append(RowsJob(arrays, rows, ((2,), (4, 3))))
    found = made._run_batch(jobs)
    ((x, y),) = seen
    assert x[:, 0].tolist() == [2, 2, 1, 2, 2, 0, 0, 0]
    assert y[:, 3, 2].tolist() == [-2, -2, -1, -2, -2, 0, 0, 0]
    for (one, other), job in zip(found, jobs):
        np.testing.assert_array_equal(one, job.arrays[0])
        np.testing.assert_array_equal(other, job.arrays[1])
    for rows, size in ((1, 1), (2, 2), (3, 4), (4, 4), (5, 8), (8, 8)):
        job = RowsJob([np.ones((rows, 2), "f"), np.ones((rows, 4, 3), "f")], rows, ((2,), (4, 3)))
        made._run_batch([job])
        assert len(seen[-1][0]) == size


def test_closing():
    made = echo((1,))
    assert not made.closed and made.close(0.1) is True and made.closed
    with pytest.raises(StateError, match="^the Predictor is closed$"):
        made([[1]])
    with echo((1,)) as other:
        assert not other.closed
    assert other.closed


# --- batches --------------------------------------------------------------------------------------
def made_batches(run=lambda jobs: [each.rows for each in jobs], **settings):
    given = {"maximum": 4, "delay": 0.0, "waiting": 8, "workers": 1, **settings}
    return BatchRunner(run, *given.values(), Counters())


def test_one_that_is_alone_runs_at_once():
    batches = made_batches()
    job = RowsJob([], 3, "k")
    assert batches.run_job(job, None) == 3
    assert job.done and not job.leads and job.wake is None
    assert (batches.waiting_rows, batches._running, batches._queue) == (0, 0, [])
    read = batches._counters.read()
    assert (read["batches"], read["rows_per_batch"]) == (1, 3.0)


def test_which_jobs_make_a_batch():
    """Those of the first one's kind that fit, in their order; larger ones are passed over."""
    batches = made_batches(maximum=5)
    jobs = [
        RowsJob([i], rows, key)
        for i, (rows, key) in enumerate(
            [(2, "a"), (1, "b"), (4, "a"), (1, "a"), (2, "a"), (1, "a")]
        )
    ]
    batches._queue, batches._rows = list(jobs), 11
    batches._gathers, batches._running = True, 1
    jobs[1].wake = threading.Lock()
    jobs[1].wake.acquire()
    taken = batches._collect_batch(jobs[0])
    assert [each.arrays[0] for each in taken] == [0, 3, 4]  # 5 rows: it is full
    assert [each.arrays[0] for each in batches._queue] == [1, 2, 5] and batches._rows == 6
    assert batches._gathers is False and not jobs[1].leads  # one worker


def test_the_next_one_has_its_turn_beside_the_batch():
    batches = made_batches(workers=2)
    jobs = [RowsJob([], 1, key) for key in "aba"]
    for each in jobs:
        each.wake = threading.Lock()
        each.wake.acquire()
    batches._queue, batches._rows, batches._running = list(jobs), 3, 1
    batches._wake_leader()
    assert jobs[0].leads and batches._running == 2 and batches._gathers
    batches._wake_leader()  # one gathers: nobody else does
    assert batches._running == 2 and not jobs[1].leads
    batches._running = 1
    batches._gathers = True
    taken = batches._collect_batch(jobs[0])
    assert len(taken) == 2 and jobs[1].leads and batches._running == 2
    assert jobs[1].wake.acquire(blocking=False)


@pytest.mark.parametrize(
    "delay, rows, least, most", [(0.2, 1, 0.2, 20), (30.0, 4, 0, 20), (0.0, 1, 0, 20)]
)
def test_how_long_a_batch_waits_for_rows(delay, rows, least, most):
    batches = made_batches(delay=delay, workers=0)
    job = RowsJob([], rows, "a")
    batches._queue, batches._rows = [job, RowsJob([], 3, "b")], rows + 3
    began = time.monotonic()
    assert batches._collect_batch(job) == [job]
    assert least <= time.monotonic() - began < most
    batches.closed = True
    batches._queue, batches._rows, batches._delay = [job], rows, 30.0
    assert batches._collect_batch(job) == [job]  # at the end nobody is waited for


def test_a_batch_that_fails_is_run_one_by_one():
    calls = []

    def run(jobs):
        calls.append([each.arrays for each in jobs])
        if any(each.arrays == 2 for each in jobs):
            raise KeyError(2)
        return [10 * each.arrays for each in jobs]

    batches = made_batches(run)
    jobs = [RowsJob(i, 1, "a") for i in (1, 2, 3)]
    batches._compute_jobs(jobs)
    assert calls == [[1, 2, 3], [1], [2], [3]]
    assert [each.result for each in jobs] == [10, None, 30]
    assert [repr(each.error) for each in jobs] == ["None", "KeyError(2)", "None"]
    assert [each.done for each in jobs] == [True, False, True]
    assert batches._counters.read()["batches"] == 4


def test_one_that_is_interrupted_as_it_runs_a_batch():
    def run(jobs):
        raise KeyboardInterrupt

    batches = made_batches(run)
    mine, other = RowsJob([], 1, "a"), RowsJob([], 1, "a")
    other.wake = threading.Lock()
    other.wake.acquire()
    batches._queue, batches._rows, batches._running, batches._gathers = [mine, other], 2, 1, True
    with pytest.raises(KeyboardInterrupt):
        batches._run_batch(mine)
        pytest.fail("it was not")
    assert other.wake.acquire(blocking=False) and other.done and mine.done
    for each in (mine, other):
        assert str(each.error) == "the thread that ran the batch was interrupted"
    assert (batches._running, batches._rows, batches._queue) == (0, 0, [])
    with pytest.raises(KeyboardInterrupt):
        batches.run_job(RowsJob([], 1, "a"), None)
        pytest.fail("it was not")
    assert batches._running == 0 and batches.close(0.1)


def test_one_that_is_interrupted_as_it_gathers():
    batches = made_batches()
    mine, other = RowsJob([], 2, "a"), RowsJob([], 1, "b")
    other.wake = threading.Lock()
    other.wake.acquire()
    batches._queue, batches._rows, batches._running, batches._gathers = [mine, other], 3, 1, True

    def gather(job):
        raise KeyboardInterrupt

    batches._collect_batch = gather
    with pytest.raises(KeyboardInterrupt):
        batches._run_batch(mine)
        pytest.fail("it was not")
    assert batches._queue == [other] and batches._rows == 1
    assert other.leads and batches._running == 1 and batches._gathers


@pytest.mark.parametrize("turn", [False, True])
def test_leaving(turn):
    batches = made_batches()
    mine, other = RowsJob([], 2, "a"), RowsJob([], 1, "b")
    other.wake = threading.Lock()
    other.wake.acquire()
    assert batches._remove_job(mine) is False  # it is not there
    batches._queue, batches._rows = [mine, other], 3
    batches._running, batches._gathers, mine.leads = int(turn), turn, turn
    if turn:
        assert batches._remove_job(mine) is False and batches._queue == [mine, other]
    assert batches._remove_job(mine, as_leader=turn) is True
    assert batches._queue == [other] and batches._rows == 1
    assert other.leads is turn and batches._running == int(turn)


def test_those_that_wait(monkeypatch):
    """No longer than they may; what a batch has taken is waited for."""
    batches = made_batches()
    job = RowsJob([], 1, "a")
    job.wake = threading.Lock()
    job.wake.acquire()
    batches._queue, batches._rows = [job], 1
    with pytest.raises(WaitedError, match="^no turn within 0.05 s, 0 rows wait$"):
        batches._wait_for_job(job, 0.05)
    assert batches._queue == []
    job = RowsJob([], 1, "a")
    job.wake = threading.Lock()
    job.wake.acquire()
    begin = time.monotonic()
    timer = threading.Timer(0.15, lambda: setattr(job, "done", True))
    timer.start()
    batches._wait_for_job(job, 0.02)  # a batch has it: it is not in the queue
    assert time.monotonic() - begin >= 0.14
    timer.join()


@pytest.mark.parametrize("waits, rows, refused", [(6, 2, False), (6, 3, True), (0, 9, False)])
def test_the_most_that_may_wait(waits, rows, refused):
    batches = made_batches()
    batches._running = 1
    if waits:
        batches._queue, batches._rows = [RowsJob([], waits, "b")], waits
        batches._gathers = True
    job = RowsJob([], rows, "a")
    if refused:
        with pytest.raises(BusyError, match=f"^{waits} rows wait, and at most 8 may$"):
            batches.run_job(job, 0.01)
        assert batches.waiting_rows == waits
    else:
        with pytest.raises(WaitedError, match=f"no turn within 0.01 s, {waits} rows wait"):
            batches.run_job(job, 0.01)


def test_closing_waits_for_all():
    batches = made_batches()
    assert batches.close(0.0) is True
    batches._running = 1
    assert batches.close(0.01) is False
    batches._running, batches._queue = 0, [RowsJob([], 1, "a")]
    assert batches.close(0.01) is False
    with pytest.raises(StateError, match="closed"):
        batches.run_job(RowsJob([], 1, "a"), None)


def test_another_process_begins_anew(monkeypatch):
    batches = made_batches()
    batches._queue, batches._rows, batches._running = [RowsJob([], 1, "a")], 1, 1
    monkeypatch.setattr(file.os, "getpid", lambda: -1)
    assert batches.run_job(RowsJob([], 2, "a"), 0.01) == 2
    assert (batches.waiting_rows, batches._running, batches._pid) == (0, 0, -1)


# --- counters -------------------------------------------------------------------------------------
@pytest.mark.parametrize("count", [0, 1, 2, 9, 10, 99, 100, 101, 2048, 2049, 3000])
def test_quantiles(count):
    """Of the last 2048 requests: the one that so many percent of them are before."""
    counters = Counters()
    for i in range(count):
        counters.count_answer(2, float(i))
    kept = [float(i) for i in range(count)][-2048:]
    read = counters.read()
    for percent in (50, 90, 99):
        wanted = kept[min(len(kept) * percent // 100, len(kept) - 1)] if kept else 0.0
        assert read[f"p{percent}"] == wanted
    assert (read["requests"], read["rows"], read["seconds"]) == (
        count,
        2 * count,
        float(sum(range(count))),
    )
    assert read["rows_per_batch"] == 0.0 and read["batches"] == 0 and read["failed"] == {}
    assert len(read["buckets"]) == len(BUCKET_SECONDS) + 1 and sum(read["buckets"]) == count


def test_what_is_read_is_a_copy():
    counters = Counters()
    counters.count_failure("A")
    read = counters.read()
    read["failed"]["A"] = 9
    read["buckets"][0] = 9
    assert counters.read()["failed"] == {"A": 1} and counters.read()["buckets"][0] == 0


def test_the_whole_text_of_metrics():
    counters = Counters()
    for seconds in (0.001, 0.002, 0.3, 99.0):
        counters.count_answer(3, seconds)
    counters.count_batch(5)
    for kind in ("B", "A", "B"):
        counters.count_failure(kind)
    bounds = [*map(str, BUCKET_SECONDS), "+Inf"]
    counts = [1, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 4]
    lines = [
        "# HELP cynet_request_seconds Seconds of answered requests.",
        "# TYPE cynet_request_seconds histogram",
    ]
    m = 'model="m",version="1"'
    lines += [f'cynet_request_seconds_bucket{{{m},le="{b}"}} {n}' for b, n in zip(bounds, counts)]
    lines += [
        f"cynet_request_seconds_sum{{{m}}} {0.001 + 0.002 + 0.3 + 99.0!r}",
        f"cynet_request_seconds_count{{{m}}} 4",
    ]
    for name, kind, what, rows in (
        ("rows_total", "counter", "Rows of answered requests.", ["} 12"]),
        ("batches_total", "counter", "Batches that were run.", ["} 1"]),
        (
            "failed_requests_total",
            "counter",
            "Requests that ended in an error.",
            [',kind="A"} 1', ',kind="B"} 2'],
        ),
        ("waiting_rows", "gauge", "Rows that wait for a batch.", ["} 7"]),
    ):
        lines += [f"# HELP cynet_{name} {what}", f"# TYPE cynet_{name} {kind}"]
        lines += [f"cynet_{name}{{{m}{row}" for row in rows]
    assert metrics_text([("m", "1", {**counters.read(), "waiting": 7})]) == "\n".join(lines) + "\n"


# --- networks -------------------------------------------------------------------------------------
def fully():
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    weights = {"fc_weight": mx.nd.array([[1, 2], [3, 4]]), "fc_bias": mx.nd.array([5, 6])}
    return net, weights


def test_parameters_in_every_form(tmp_path):
    net = mx.sym.BatchNorm(fully()[0], name="bn", fix_gamma=False, eps=1e-3)
    args = {**fully()[1], "bn_gamma": mx.nd.array([1, 2]), "bn_beta": mx.nd.array([3, 4])}
    auxs = {"bn_moving_mean": mx.nd.array([5, 6]), "bn_moving_var": mx.nd.array([1, 4])}
    marked = {f"arg:{k}": v for k, v in args.items()} | {f"aux:{k}": v for k, v in auxs.items()}
    mx.nd.save(str(tmp_path / "p"), marked)
    forms = [
        (args, auxs),
        [args, auxs],
        marked,
        {**args, **auxs},
        ({**args, **auxs}, {}),
        str(tmp_path / "p"),
        tmp_path / "p",
        {**marked, "arg:of_no_use": mx.nd.ones(1)},
    ]
    x = np.array([[1, 1], [0, 2]], "float32")
    scores = x @ np.array([[1, 3], [2, 4]]) + [5, 6]
    wanted = (scores - [5, 6]) / np.sqrt(np.array([1, 4]) + 1e-3) * [1, 2] + [3, 4]
    for form in forms:
        found = mx.Predictor(net, form, shapes=(2,), max_batch=2)(x)
        np.testing.assert_allclose(found, wanted, rtol=1e-5)
    for bad in (None, 3, (args,), (args, auxs, {}), "no file"):
        with pytest.raises(
            mx.errors.CynetError, match="params of a Symbol are a dict, a pair|no fi"
        ):
            mx.Predictor(net, bad, shapes=(2,))


def test_models_that_are_none():
    for bad in (3, None, [fully()[0]], mx.nd.ones(2)):
        with pytest.raises(
            ArgumentTypeError, match="Predictor takes a Block, a Symbol, the prefix"
        ):
            mx.Predictor(bad, shapes=(2,))
    with pytest.raises(ArgumentError, match="a Block has its parameters; params must be None"):
        mx.Predictor(Echo(), {}, shapes=(2,))
    with pytest.raises(ArgumentError, match="Predictor: dtype must be one of .*, got 'int8'"):
        mx.Predictor(Echo(), shapes=(2,), dtype="int8")
    for dtype in ("bfloat16", "float16"):
        with pytest.raises(ArgumentError, match=f"Predictor: {dtype} needs a HybridBlock, got"):
            mx.Predictor(Echo(), shapes=(2,), dtype=dtype)


def test_inputs_that_a_symbol_has_not():
    net, weights = fully()
    text = r"Predictor: the network's inputs are \['data'\], shapes has \['x'\]; what is neither"
    with pytest.raises(ArgumentError, match=text):
        mx.Predictor(net, weights, shapes={"x": (2,)})
    with pytest.raises(ArgumentError, match=r"inputs are \['data'\], shapes has \['data', 'x'\]"):
        mx.Predictor(net, weights, shapes={"data": (2,), "x": (2,)})
    with pytest.raises(ArgumentError, match=r"inputs are \['data', 'fc_bias'\], shapes has \['da"):
        mx.Predictor(net, {"fc_weight": weights["fc_weight"]}, shapes=(2,))


def test_labels_get_zeros_unless_they_are_asked_for():
    net, weights = fully()
    net = mx.sym.SoftmaxOutput(net, name="softmax")
    made = mx.Predictor(net, weights, shapes=(2,))
    assert made._net.names == ["data"] and made._net.labels == ["softmax_label"]
    assert made([[1, 2]]).shape == (1, 2)
    both = mx.Predictor(net, weights, shapes={"data": (2,), "softmax_label": ()})
    assert both._net.labels == [] and both(data=[[1, 2]], softmax_label=[0]).shape == (1, 2)
    reversed_ = mx.Predictor(net, weights, shapes={"softmax_label": (), "data": (2,)})
    np.testing.assert_allclose(reversed_([0], [[1, 2]]), made([[1, 2]]), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_a_block_without_a_graph_is_run_once(dtype):
    """With a row of zeros, so that there is one to convert; its own parameters stay."""
    net = mx.gluon.nn.Dense(2)
    net.initialize(mx.init.One())
    made = mx.Predictor(net, shapes=(3,), dtype=dtype, warm_up=False)
    found = made([[1, 2, 1 + 2.0**-12]])
    assert found.tolist() == [[4, 4]] and net.weight.data().dtype == np.float32
    assert net.weight.shape == (2, 3)


def test_epochs_of_checkpoints(tmp_path):
    net, weights = fully()
    prefix = str(tmp_path / "m")
    for epoch in (3, 12):
        scaled = {k: v * epoch for k, v in weights.items()}
        mx.model.save_checkpoint(prefix, epoch, net, scaled, {})
    x = [[1, 0]]
    for epoch, factor in ((None, 12), (3, 3), (12, 12)):
        assert mx.Predictor(prefix, shapes=(2,), epoch=epoch)(x).tolist() == [
            [6 * factor, 9 * factor]
        ]
    assert mx.Predictor(tmp_path / "m", shapes=(2,))(x).tolist() == [[72, 108]]
    with pytest.raises(mx.errors.CynetError, match="m-0004.params"):
        mx.Predictor(prefix, shapes=(2,), epoch=4)
