"""Gradient and memory passes on random graphs: shared memory gives what isolated memory gives,
and both are right."""

import numpy as np
import pytest

from cynet.base.errors import ArgumentError
from cynet.graph.from_symbol import build_graph
from cynet.graph.gradient import gradient
from cynet.graph.infer import Structure
from cynet.graph.ir import ADD, BACKWARD, INPLACE, TEMP
from cynet.graph.memory_plan import make_views, plan_memory
from cynet.symbol.node import Node
from tests.graph.interpreter import CPU, Add, Constant, Fold, Multiply, Tanh, run

SHAPES = ((2, 8), (8, 2))


class _Op:
    """Stands for an OpEntry."""

    name = "numpy"


def _node(prop, *inputs):
    _node.count += 1
    return Node(_Op, f"n{_node.count}", prop=prop, inputs=[(i, 0) for i in inputs])


_node.count = 0


def _shapes(order, given):
    shapes = {}
    for node in order:
        if node.op is None:
            shapes[node, 0] = given[node.name]
        else:
            source = shapes[node.inputs[0]]
            shapes[node, 0] = source[::-1] if isinstance(node.prop, Fold) else source
    return shapes


def _random_graph(rng, n_nodes):
    pools = {SHAPES[0]: [], SHAPES[1]: []}
    for i in range(4):
        pools[SHAPES[i % 2]].append(Node(None, f"x{i}"))
    given = {f"x{i}": SHAPES[i % 2] for i in range(4)}
    for _ in range(n_nodes):
        shape = SHAPES[rng.integers(2)]
        pool = pools[shape]

        def pick(pool=pool):
            return pool[max(0, len(pool) - 1 - int(rng.integers(6)))]

        prop = (Multiply, Add, Tanh, Fold, Constant)[rng.choice(5, p=[0.25, 0.3, 0.2, 0.2, 0.05])]()
        node = _node(prop, *(pick() for _ in range(prop.n_in)))
        pools[shape[::-1] if isinstance(prop, Fold) else shape].append(node)
    heads = [(pools[s][-1], 0) for s in SHAPES] + [(pools[SHAPES[0]][-1], 0)]
    return heads, given


def _graph(heads, given, grad_req):
    structure = Structure(heads)
    shapes = _shapes(structure.order, given)
    contexts = dict.fromkeys(structure.order, CPU)
    graph = build_graph(structure, shapes, dict.fromkeys(shapes, "float64"), contexts)
    return gradient(graph, {k: v for k, v in grad_req.items() if k in graph.args})


def _arrays(graph, rng):
    arrays = {}
    for value in (*graph.args.values(), *graph.grads.values(), *graph.heads):
        if value is not None:
            arrays[value] = rng.uniform(-1, 1, value.shape)
    return arrays


@pytest.mark.parametrize("case", range(40))
def test_shared_memory_changes_nothing(rng, case):
    heads, given = _random_graph(rng, 5 + 2 * case)
    req = {name: ("write", "add", "null")[rng.integers(3)] for name in given}
    graph = _graph(heads, given, req)
    arrays = _arrays(graph, rng)
    expected = run(graph, arrays, isolated=True)
    plan_memory(make_views(graph))
    outputs, grads = run(graph, arrays)
    for got, want in zip(outputs, expected[0]):
        np.testing.assert_array_equal(got, want)
    for name in expected[1]:
        np.testing.assert_array_equal(grads[name], expected[1][name], err_msg=name)
    assert graph.memory.planned <= graph.memory.unplanned


@pytest.mark.parametrize("case", range(10))
def test_gradient_is_the_derivative(rng, case):
    heads, given = _random_graph(rng, 4 + case)
    graph = plan_memory(make_views(_graph(heads, given, dict.fromkeys(given, "write"))))
    arrays = _arrays(graph, rng)
    _, grads = run(graph, arrays)
    weights = [None if h is None else arrays[h] for h in graph.heads]
    values = {name: arrays[value] for name, value in graph.args.items()}
    for name, value in values.items():
        direction = rng.uniform(-1, 1, value.shape)
        low, high = (
            _objective(heads, given, {**values, name: value + eps * direction}, weights)
            for eps in (-1e-6, 1e-6)
        )
        np.testing.assert_allclose(
            (grads[name] * direction).sum(), (high - low) / 2e-6, rtol=1e-5, atol=1e-7
        )


def _objective(heads, given, by_name, weights):
    """The outputs' sum weighted by the head gradients: what backward differentiates."""
    graph = plan_memory(_graph(heads, given, {}))
    outputs, _ = run(graph, {v: by_name[n] for n, v in graph.args.items()})
    return sum((w * o).sum() for w, o in zip(weights, outputs) if w is not None)


def _chain(length):
    x = Node(None, "x")
    node = x
    for _ in range(length):
        node = _node(Tanh(), node)
    return [(node, 0)], {"x": (2, 8)}


def test_a_chain_without_gradients_runs_in_place():
    heads, given = _chain(10)
    graph = plan_memory(_graph(heads, given, {}))
    assert graph.memory.planned == 0  # all after the first in the array of the output
    assert [s.req[0] for s in graph.steps].count(INPLACE) == 9


def test_views_are_not_run():
    x = Node(None, "x")
    heads = [(_node(Tanh(), _node(Fold(), _node(Tanh(), x))), 0)]
    graph = plan_memory(make_views(_graph(heads, {"x": (2, 8)}, {"x": "write"})))
    assert [type(s.prop) for s in graph.steps] == [Tanh, Tanh, Tanh, Tanh]
    assert graph.n_forward == 2


def test_one_input_twice_gets_both_parts(rng):
    x = Node(None, "x")
    graph = plan_memory(_graph([(_node(Multiply(), x, x), 0)], {"x": (2, 8)}, {"x": "write"}))
    arrays = _arrays(graph, rng)
    _, grads = run(graph, arrays)
    np.testing.assert_allclose(grads["x"], 2 * arrays[graph.args["x"]] * arrays[graph.heads[0]])


def test_no_gradient_flows_gives_zeros(rng):
    x = Node(None, "x")
    graph = plan_memory(_graph([(_node(Constant(), x), 0)], {"x": (2, 8)}, {"x": "write"}))
    assert graph.heads == [None]
    _, grads = run(graph, _arrays(graph, rng))
    np.testing.assert_array_equal(grads["x"], 0)


def test_add_accumulates_without_sums():
    x = Node(None, "x")
    a = _node(Tanh(), x)
    heads = [(_node(Add(), _node(Multiply(), a, x), _node(Tanh(), a)), 0)]
    graph = _graph(heads, {"x": (2, 8)}, {"x": "write"})
    backward = [s for s in graph.steps if s.direction == BACKWARD]
    assert sum(r == ADD for s in backward for r in s.req) == 2
    assert len(graph.steps) == graph.n_forward + len(backward)


def test_switches_for_debugging():
    heads, given = _chain(6)
    graph = plan_memory(_graph(heads, given, {}), inplace=False, share=False)
    assert graph.memory.planned == graph.memory.unplanned == 5 * 128
    offsets = [v.offset for s in graph.steps for v in s.out_data if v.kind == TEMP]
    assert len(set(offsets)) == 5


def test_a_deep_chain_does_not_recurse():
    heads, given = _chain(5000)
    graph = plan_memory(_graph(heads, given, {"x": "write"}))
    assert len(graph.steps) == 10000


def test_a_wrong_request_is_refused():
    heads, given = _chain(1)
    with pytest.raises(ArgumentError, match="'x' is 'wirte'; expected 'null', 'write' or 'add'"):
        _graph(heads, given, {"x": "wirte"})


def test_a_wrong_dependency_is_refused():
    class Wrong(Tanh):
        def declare_backward_dependency(self, out_grad, in_data, out_data):
            return [99]

    x = Node(None, "x")
    with pytest.raises(ArgumentError, match=r"declare_backward_dependency returned \[99\]"):
        _graph([(_node(Wrong(), x), 0)], {"x": (2, 8)}, {"x": "write"})
