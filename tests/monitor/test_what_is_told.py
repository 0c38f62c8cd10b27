"""Every value that a Monitor tells, whole and in order, and every switch of debug_nans."""

import logging
from types import SimpleNamespace

import pytest

import cynet as mx
from cynet.monitor import monitor as file
from cynet.monitor import nans


@pytest.fixture
def executor():
    """BatchNorm of one input: arguments, an auxiliary state, gradients of two of the arguments."""
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, no_bias=True, name="fc")
    net = mx.sym.Activation(net, act_type="relu", name="act")
    requests = {"data": "null", "fc_weight": "write"}
    made = net.simple_bind(mx.cpu(), data=(1, 2), grad_req=requests)
    made.arg_dict["data"][:] = mx.nd.array([[1, -2]])
    made.arg_dict["fc_weight"][:] = mx.nd.array([[3, 1], [0, 2]])
    return made


def of(monitor, run):
    monitor.tic()
    run()
    return [(step, name, float(text)) for step, name, text in monitor.toc()]


def both(executor):
    executor.forward(True)
    executor.backward(mx.nd.ones((1, 2)))


VALUES = {  # the sum of each, in the order in which they come
    "fc_output": -3.0,
    "act_output": 1.0,
    "act_backward_output": 1.0,
    "data": -1.0,
    "fc_weight": 6.0,
}


@pytest.mark.parametrize("gradients", [False, True])
def test_all_of_an_executor(executor, gradients):
    monitor = mx.mon.Monitor(1, lambda a: a.sum(), gradients=gradients)
    monitor.install(executor)
    for step in (1, 2):
        found = of(monitor, lambda: both(executor))
        assert {each[0] for each in found} == {step}
        rows = {name: value for _, name, value in found}
        assert [name for _, name, _ in found if name in rows and "_" not in name] == ["data"]
        assert {name: rows[name] for name in VALUES} == VALUES
        assert {n: v for n, v in rows.items() if n.endswith("_grad")} == (
            {"fc_weight_grad": -1.0} if gradients else {}
        )


@pytest.mark.parametrize("everything", [False, True])
def test_inputs_of_operators(executor, everything):
    monitor = mx.mon.Monitor(1, pattern="(fc|act)_data", monitor_all=everything)
    monitor.install(executor)
    names = [name for _, name, _ in of(monitor, executor.forward)]
    assert names == (["fc_data", "act_data"] if everything else [])


@pytest.mark.parametrize(
    "pattern, names",
    [
        ("fc", ["fc_output", "fc_weight"]),
        ("weight", []),
        (".*weight", ["fc_weight"]),
        ("fc_weight$", ["fc_weight"]),
        ("d|a", ["act_output", "data"]),
    ],
)
@pytest.mark.parametrize("sort", [False, True])
def test_patterns_and_order(executor, pattern, names, sort):
    """From the beginning of a name; as they come, or by name."""
    monitor = mx.mon.Monitor(1, pattern=pattern, sort=sort)
    monitor.install(executor)
    found = [name for _, name, _ in of(monitor, executor.forward)]
    assert found == names and (not sort or found == sorted(found))
    late = mx.mon.Monitor(1, sort=sort)
    late.install(executor)
    late.tic()
    for name in ("b", "a"):
        late.stat_helper(name, mx.nd.ones(1))
    mine = [name for _, name, _ in late.toc() if len(name) == 1]
    assert mine == (["a", "b"] if sort else ["b", "a"])


@pytest.mark.parametrize("interval", [1, 2, 3])
def test_every_few_batches(interval, executor):
    monitor = mx.mon.Monitor(interval, pattern="fc_weight")
    monitor.install(executor)
    monitor.install(executor)  # `fit` called again
    steps = [of(monitor, executor.forward) for _ in range(5)]
    wanted = [i for i in range(5) if i % interval == 0]
    assert [i for i, rows in enumerate(steps) if rows] == wanted
    assert [rows[0][0] for rows in steps if rows] == [i + 1 for i in wanted]
    assert all(len(rows) <= 1 for rows in steps) and monitor.toc() == []
    for bad in (0, -1):
        with pytest.raises(ValueError, match=f"Monitor: interval must be at least 1, got {bad}"):
            mx.mon.Monitor(bad)


def test_the_usual_statistic():
    """The norm over the root of the size."""
    monitor = mx.mon.Monitor(1)
    monitor.tic()
    monitor.stat_helper("x", mx.nd.array([[3, 4], [0, 0]]))
    ((_, _, text),) = monitor.toc()
    assert text.endswith("\t") and float(text) == 2.5


@pytest.mark.parametrize(
    "stat, text",
    [
        (5, "5\t"),
        (2.5, "2.5\t"),
        ([1, "a"], "1\ta\t"),
        ((), ""),
        ("word", "word\t"),
        (mx.nd.array([[7]]), "7.0\t"),
        (mx.nd.array([1, 2]), "[1. 2.]\t"),
        ((mx.nd.array([3]), mx.nd.array([4, 5])), "3.0\t[4. 5.]\t"),
        (None, "None\t"),
    ],
    ids=repr,
)
def test_statistics_as_text(stat, text):
    monitor = mx.mon.Monitor(1, lambda array: stat)
    monitor.tic()
    monitor.stat_helper("x", mx.nd.ones(1))
    assert monitor.toc() == [(1, "x", text)]


def test_lines_of_the_log(caplog):
    monitor = mx.mon.Monitor(1, lambda a: a.sum())
    with caplog.at_level(logging.INFO):
        monitor.toc_print()
        for _ in range(2):
            monitor.tic()
            monitor.stat_helper("a", mx.nd.ones(3))
            monitor.stat_helper("a_long_name", mx.nd.ones(4))
            monitor.toc_print()
    names = f"{'a':>30} 3.0\t", f"{'a_long_name':>30} 4.0\t"
    assert [each.getMessage() for each in caplog.records] == [
        f"Batch: {step:7} {name}" for step in (1, 2) for name in names
    ]
    assert {each.levelname for each in caplog.records} == {"INFO"}


class Several(mx.gluon.Block):
    """Takes and gives arrays in dicts and lists."""

    def __init__(self):
        super().__init__(prefix="several_")
        self.used = self.params.get("used", shape=(1,), init="ones")
        self.fixed = self.params.get("fixed", shape=(1,), init="ones", grad_req="null")
        self.open = self.params.get("open", shape=(0,), init="ones", allow_deferred_init=True)

    def forward(self, x, more):
        y = x * self.used.data(x.context)
        return [y, {"a": more["b"] + 1, "c": (y + 2,)}]


def test_all_of_a_block():
    net = Several()
    net.initialize(ctx=[mx.cpu(0), mx.cpu(1)])
    net.used.data(mx.cpu(1))[:] = 9  # of the first context are they told
    monitor = mx.mon.Monitor(1, lambda a: a.sum(), monitor_all=True, gradients=True)
    monitor.install(net)
    monitor.install(net)

    def run():
        with mx.autograd.record():
            out, _ = net(mx.nd.array([2]), {"b": mx.nd.array([5]), "d": [mx.nd.array([7])]})
        out.backward()

    assert of(monitor, run) == [
        (1, "several_input0", 2.0),
        (1, "several_input1", 5.0),
        (1, "several_input2", 7.0),
        (1, "several_output0", 2.0),
        (1, "several_output1", 6.0),
        (1, "several_output2", 4.0),
        (1, "several_used", 1.0),
        (1, "several_used_grad", 2.0),
        (1, "several_fixed", 1.0),
    ]
    plain = mx.mon.Monitor(2, lambda a: a.sum(), pattern="several_(in|out)put|.*grad")
    plain.install(net)
    assert [name for _, name, _ in of(plain, run)] == [f"several_output{i}" for i in range(3)]
    assert of(plain, run) == []


def test_arrays_wherever_they_are():
    a, b, c = (mx.nd.ones(1) for _ in range(3))
    found = list(file._arrays_in([a, {"x": (b, None, 3)}, "text", [[c]]]))
    assert [id(each) for each in found] == [id(each) for each in (a, b, c)]


# --- debug_nans -----------------------------------------------------------------------------------
BAD = {"nan": mx.nd.array([1, float("nan")]), "inf": mx.nd.array([float("-inf"), 1])}


def caught(kind):
    """Whether a call that gives such a value is an error now."""
    try:
        mx.nd.identity(BAD[kind])
    except mx.mon.AnomalyError:
        return True
    return False


@pytest.fixture(autouse=True)
def off():
    yield
    nans._nan_scope[0] = None
    nans._anomaly_scopes.clear()
    nans._notify_reporters()


@pytest.mark.parametrize("name", ["on", "infinite"])
@pytest.mark.parametrize("bad", ["yes", None, 0.5])
def test_flags(name, bad):
    with pytest.raises(TypeError, match=f"debug_nans: {name} must be"):
        mx.debug_nans(**{name: bad})
    assert not nans._is_nan_check_on()


def test_switches_within_one_another():
    assert not caught("nan")
    with mx.debug_nans() as outer:
        assert isinstance(outer, mx.debug_nans) and outer.infinite is True
        assert caught("nan") and caught("inf")
        with mx.debug_nans(infinite=False) as inner:
            assert inner.infinite is False and caught("nan") and not caught("inf")
            with mx.debug_nans(False):
                assert not caught("nan")
            assert caught("nan") and not caught("inf")
        assert caught("inf")
    assert not caught("nan") and not caught("inf")
    mx.debug_nans(True, False)
    assert caught("nan") and not caught("inf")
    mx.debug_nans(False)
    assert not caught("nan")


def test_scopes_of_gluon_beside_the_switch():
    """Infinities pass where any of those that are open lets them."""
    first, second = SimpleNamespace(infinite=True), SimpleNamespace(infinite=False)
    nans.open_anomaly_scope(first)
    assert caught("nan") and caught("inf")
    nans.open_anomaly_scope(second)
    assert caught("nan") and not caught("inf")
    nans.close_anomaly_scope(first)
    assert caught("nan") and not caught("inf")
    nans.close_anomaly_scope(second)
    assert not caught("nan")
    with mx.debug_nans(infinite=False):
        nans.open_anomaly_scope(first)
        assert not caught("inf") and caught("nan")
        nans.close_anomaly_scope(first)
        assert caught("nan")
    assert not caught("nan")


def test_those_who_report_are_told(monkeypatch):
    monkeypatch.setattr(nans, "_reporters", [])
    monkeypatch.setattr(nans, "_layer_getter", [lambda: ""])
    told = []
    nans.add_listener(told.append, lambda: "net.layer (Dense)")
    assert told == [False]
    with mx.debug_nans():
        assert told == [False, True]
        nans.add_listener(told.append, lambda: "net.layer (Dense)")
        assert told == [False, True, True]
        text = "operator _copy gave NaN in 1 of 2 elements in layer net.layer .Dense., called at"
        with pytest.raises(mx.mon.AnomalyError, match=text):
            mx.nd.identity(BAD["nan"])
    assert told[3:] == [False, False]


@pytest.mark.parametrize(
    "values, dtype, says",
    [
        ([1, 2], "float32", None),
        ([float("nan")] * 3, "float64", "NaN in 3 of 3 elements"),
        ([1, float("nan")], "float16", "NaN in 1 of 2 elements"),
        ([3], "int32", None),
        ([float("inf"), -float("inf"), 0], "float32", "an infinity in 2 of 3 elements"),
        ([float("inf"), float("nan")], "float32", "NaN in 1 of 2 elements"),
        ([], "float32", None),
    ],
)
def test_what_is_wrong_with_an_array(values, dtype, says):
    assert nans.describe_nans(mx.nd.array(values, dtype=dtype)) == says
    nans.open_anomaly_scope(SimpleNamespace(infinite=False))
    assert nans.describe_nans(mx.nd.array(values, dtype=dtype)) == (
        None if says and "infinity" in says else says
    )


def test_inputs_in_a_message():
    assert nans._finiteness_text([]) == "it has no inputs"
    x = mx.nd.array([[1.0, float("inf")]])
    text = r"; input 0 \(1, 2\) has an infinity in 1 of 2 elements, input 1 \(1, 2\) is finite$"
    with mx.debug_nans(), pytest.raises(mx.mon.AnomalyError, match=text):
        mx.nd.elemwise_sub(x, mx.nd.ones((1, 2)))
    assert nans.layer_text("") == "" and nans.layer_text(None) == ""
    assert nans.layer_text("a") == " in layer a"
    assert nans.calling_line().startswith(f"{__file__}:")


def test_layers_of_steps_that_are_gone_are_forgotten(monkeypatch):
    monkeypatch.setattr(nans, "_MAX_NODES", 20)
    monkeypatch.setattr(nans, "_layer_getter", [lambda: "a layer"])
    x = mx.nd.ones(2)
    x.attach_grad()
    with mx.debug_nans():
        for _ in range(60):
            with mx.autograd.record():
                y = x * 2
            y.backward()
        assert 0 < len(nans._layer_of_node) <= 22 and {*nans._layer_of_node.values()} == {"a layer"}
    assert not nans._layer_of_node
