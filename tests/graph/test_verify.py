"""CYNET_GRAPH_VERIFY: each rule is broken once, and the message names pass, step and value."""

import re

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import CynetError
from cynet.graph import pipeline
from cynet.graph.compile import lower
from cynet.graph.ir import ADD, BACKWARD, NULL, TEMP, WRITE, Value
from cynet.graph.memory_plan import plan_memory
from cynet.graph.verify import verify, verify_memory


def made(names=frozenset()):
    """A graph of three layers with gradients, and the step of the second one."""
    x = mx.sym.var("x")
    for i in range(3):
        x = mx.sym.tanh(mx.sym.FullyConnected(x, num_hidden=4 + i, name=f"fc{i}"), name=f"t{i}")
    requests = dict.fromkeys(x.list_arguments(), "write")
    graph = lower(x.entries, mx.cpu(), {"x": (8, 3)}, {}, requests, names=names)
    return graph, next(s for s in graph.steps if s.name == "fc1")


def gradient_of(graph, name):
    return next(s for s in graph.steps if s.direction == BACKWARD and s.name == name)


def reverse(graph, step):
    i = graph.steps.index(step)
    graph.steps[i : i + 2] = graph.steps[i : i + 2][::-1]


def write_twice(graph, step):
    graph.steps.insert(graph.n_forward, step)


def add_a_backward_step(graph, step):
    graph.n_forward += 1


def count_too_many(graph, step):
    graph.n_forward = len(graph.steps) + 1


def lose_an_input(graph, step):
    step.in_data.pop()


def change_a_shape(graph, step):
    step.out_data[0].shape = (8, 6)


def change_an_input(graph, step):
    step.in_data[1] = graph.args["x"]


def change_a_dtype(graph, step):
    step.out_data[0].dtype = "float64"


def ask_for_nothing_known(graph, step):
    step.req[0] = 7


def lose_an_output(graph, step):
    graph.outputs.append(Value("lost_output", (2,), "float32", mx.cpu()))


def change_a_gradient(graph, step):
    gradient_of(graph, "fc1").in_grad[1] = Value("wrong", (5, 5), "float32", mx.cpu())


def ask_for_no_gradient(graph, step):
    gradient_of(graph, "fc1").in_grad[1] = None


def lose_a_gradient(graph, step):
    gradient_of(graph, "fc1").in_grad.pop()


def lose_a_request(graph, step):
    gradient_of(graph, "fc1").req.pop()


BROKEN = [
    (reverse, r"the broken pass leaves <forward tanh t1> wrong: it reads it before .*fc1_output"),
    (write_twice, r"<forward FullyConnected fc1> wrong: it writes it a second time: .*fc1_output"),
    (add_a_backward_step, r"leaves a backward step among the forward steps"),
    (count_too_many, r"leaves \d+ of \d+ steps forward"),
    (lose_an_input, r"fc1> with \(2, 1, 0, 1\) inputs, .* expected \(3, 1, 0, 1\)"),
    (change_a_shape, r"fc1> wrong: it makes the shape \(8, 5\): .*fc1_output"),
    (change_an_input, r"fc1> with inputs \(\(8, 4\), \(8, 3\), \(5,\)\): .*weight"),
    (change_a_dtype, r"fc1> wrong: it makes float32: .*fc1_output"),
    (ask_for_nothing_known, r"fc1> wrong: it has request 7 for it"),
    (lose_an_output, r"leaves no step that computes .*lost_output"),
    (change_a_gradient, r"<backward FullyConnected fc1> wrong: it takes it for the gradient of .*"),
    (ask_for_no_gradient, r"fc1> with a request for no gradient"),
    (lose_a_gradient, r"fc1> with 2 gradients of 3 values"),
    (lose_a_request, r"fc1> with 2 requests"),
]


@pytest.mark.parametrize("break_it, message", BROKEN, ids=lambda v: getattr(v, "__name__", ""))
def test_a_broken_graph_is_refused(break_it, message):
    graph, step = made()
    verify(graph, "nothing")
    break_it(graph, step)
    with pytest.raises(CynetError, match=message):
        verify(graph, "the broken pass")


def test_values_that_live_together_share_no_byte():
    graph, _ = made(pipeline.enabled_passes("all"))
    plan_memory(graph)
    verify_memory(graph)
    roots = dict.fromkeys(
        v.root for s in graph.steps for _, v in s.written() if v.root.kind == TEMP
    )
    first, second = list(roots)[:2]
    if first.offset > second.offset:  # the one with less memory behind it keeps its place
        first, second = second, first
    kept, second.offset = second.offset, first.offset
    a, b = re.escape(first.name), re.escape(second.name)
    with pytest.raises(CynetError, match=f"{a}.* bytes of {b}|{b}.* bytes of {a}"):
        verify_memory(graph)
    second.offset = graph.memory.planned
    with pytest.raises(CynetError, match=f"puts .*{b}.* at {graph.memory.planned}"):
        verify_memory(graph)
    second.offset = kept
    verify_memory(graph)


def test_every_pass_is_checked(monkeypatch):
    """What a pass breaks is found behind it, and only under the setting."""

    def careless(graph):
        for step in graph.steps:
            step.req = [WRITE if r in (NULL, ADD) else r for r in step.req]
        graph.steps[0].out_data[0].shape = (8, 6)
        return graph

    row = pipeline.Pass("careless", pipeline.FORWARD, careless, "")
    monkeypatch.setattr(pipeline, "PASSES", (row,))
    monkeypatch.setattr(pipeline, "PASS_NAMES", frozenset(["careless"]))
    net = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=4, name="layer")
    shapes = {"x": (8, 3)}
    monkeypatch.setenv("CYNET_GRAPH_VERIFY", "1")
    with pytest.raises(CynetError, match=r"the careless pass leaves .*layer.*\(8, 4\)"):
        lower(net.entries, mx.cpu(), shapes, {}, {})
    monkeypatch.setenv("CYNET_GRAPH_VERIFY", "0")
    lower(net.entries, mx.cpu(), shapes, {}, {})


def test_a_pass_runs_where_its_row_says(monkeypatch):
    """On its devices, and behind what it requires."""
    ran = []

    def note(name):
        return lambda graph: ran.append(name) or graph

    monkeypatch.setattr(
        pipeline,
        "PASSES",
        (
            pipeline.Pass("both", pipeline.FORWARD, note("both"), ""),
            pipeline.Pass("host", pipeline.FORWARD, note("host"), "", (), pipeline.CPU),
            pipeline.Pass("later", pipeline.WHOLE, note("later"), ""),
            pipeline.Pass("off", pipeline.FORWARD, note("off"), ""),
        ),
    )
    graph, _ = made()
    names = {"both", "host", "later"}
    for device, expected in (
        ("cpu", ["both", "host"]),
        ("cpu_pinned", ["both", "host"]),
        ("gpu", ["both"]),
    ):
        ran.clear()
        assert pipeline.run_passes(graph, (pipeline.FORWARD,), names, device) is graph
        assert ran == expected


def test_the_table_stands_in_an_order_that_it_asks_for():
    names = [row.name for row in pipeline.PASSES]
    assert len(set(names)) == len(names)
    for i, row in enumerate(pipeline.PASSES):
        assert set(row.requires) <= set(names[:i]), row.name
        assert row.devices and set(row.devices) <= {"cpu", "gpu"}, row.name


def test_plans_of_networks_are_whole(monkeypatch):
    """Memory of a plan with views, chains, sums in place and kept weights is checked when bound."""
    monkeypatch.setenv("CYNET_GRAPH_VERIFY", "1")
    x = mx.sym.var("x")
    y = mx.sym.Convolution(x, num_filter=16, kernel=(3, 3), pad=(1, 1))
    y = mx.sym.Activation(mx.sym.BatchNorm(y, fix_gamma=False) + x, act_type="relu")
    net = mx.sym.FullyConnected(mx.sym.Flatten(y * 2 + mx.sym.tanh(y)), num_hidden=3)
    for grad_req in ("write", "add", "null"):
        executor = net.simple_bind(mx.cpu(), grad_req=grad_req, x=(2, 16, 5, 5))
        assert np.isfinite(executor.forward()[0].asnumpy()).all()
