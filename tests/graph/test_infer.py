"""The inference pass, on graphs of small properties made here."""

from types import SimpleNamespace

import pytest

import cynet as mx
from cynet.base.errors import ArgumentError, OperatorError, ShapeError
from cynet.graph.infer import infer_shapes, infer_types
from cynet.operator.property import OperatorProperty, merge_shapes
from cynet.symbol.node import Node


class Add(OperatorProperty):
    """Two inputs and the output are alike."""

    def list_arguments(self):
        return ["lhs", "rhs"]


class Dense(OperatorProperty):
    """(n, k) times (3, k)."""

    def list_arguments(self):
        return ["data", "weight"]

    def infer_shape(self, in_shapes, out_shapes):
        data, weight = in_shapes
        batch = (data or (0,))[0] or (out_shapes[0] or (0,))[0]
        width = (data or (0, 0))[1] or (weight or (0, 0))[1]
        if data is not None and len(data) != 2:
            raise ShapeError(f"data must have 2 axes, got {data}")
        return [(batch, width), (3, width)], [(batch, 3)], []


class Norm(OperatorProperty):
    """One value of state for each column; the state is always float32."""

    def list_auxiliary_states(self):
        return ["moving_mean"]

    def infer_shape(self, in_shapes, out_shapes):
        shape = merge_shapes(*in_shapes, *out_shapes)
        return [shape], [shape], [None if shape is None else shape[1:]]

    def infer_type(self, in_types, out_types):
        known = in_types[0] or out_types[0]
        return [known], [known], ["float32"]


class Cast(OperatorProperty):
    """Makes float64 of anything."""

    def infer_type(self, in_types, out_types):
        return in_types, ["float64"], []


def var(name, **attrs):
    return Node(None, name, attrs)


def op(prop, name, *inputs):
    return Node(
        SimpleNamespace(name=prop.__name__), name, prop=prop(), inputs=[(n, 0) for n in inputs]
    )


def by_name(values):
    return {f"{node.name}:{i}" if i else node.name: value for (node, i), value in values.items()}


def test_forwards():
    net = op(Dense, "fc", var("x"), var("w"))
    found = by_name(infer_shapes([(net, 0)], {"x": (2, 5)}))
    assert found == {"x": (2, 5), "w": (3, 5), "fc": (2, 3)}


def test_backwards_through_two_nodes():
    x, y, z = var("x"), var("y"), var("z")
    net = op(Add, "outer", op(Add, "inner", x, y), z)
    found = by_name(infer_shapes([(net, 0)], {"z": (4, 7)}))
    assert set(found.values()) == {(4, 7)}


def test_dimensions_from_both_sides_meet():
    found = by_name(
        infer_shapes([(op(Add, "a", var("x"), var("y")), 0)], {"x": (2, 0), "y": (-1, 3)})
    )
    assert set(found.values()) == {(2, 3)}


def test_partial_and_unknown():
    net = op(Dense, "fc", var("x"), var("w"))
    found = by_name(infer_shapes([(net, 0)], {"x": (0, 5), "w": None}))
    assert found == {"x": (0, 5), "w": (3, 5), "fc": (0, 3)}
    assert set(by_name(infer_shapes([(op(Add, "a", var("p"), var("q")), 0)])).values()) == {None}


def test_declared_shape_and_type():
    x = var("x", __shape__="(2, 0)", __dtype__="1")
    net = op(Add, "a", x, var("y"))
    assert by_name(infer_shapes([(net, 0)], {"y": (0, 3)}))["a"] == (2, 3)
    assert by_name(infer_shapes([(net, 0)], {"x": (4, 3)}))["a"] == (4, 3)
    assert by_name(infer_types([(net, 0)]))["a"] == "float64"
    assert by_name(infer_types([(net, 0)], {"x": "float16"}))["y"] == "float16"


@pytest.mark.parametrize("attrs", [{"__shape__": "(2,"}, {"__shape__": "('a',)"}])
def test_corrupt_declared_shape_names_the_variable(attrs):
    with pytest.raises(ArgumentError, match="variable x: attribute __shape__"):
        infer_shapes([(var("x", **attrs), 0)])


def test_corrupt_declared_type_names_the_variable():
    with pytest.raises(ArgumentError, match="variable x: attribute __dtype__"):
        infer_types([(var("x", __dtype__="99"), 0)])


def test_state_follows():
    net = op(Norm, "bn", var("x"), var("mean"))
    assert by_name(infer_shapes([(net, 0)], {"x": (2, 6)}))["mean"] == (6,)
    assert by_name(infer_types([(net, 0)], {"x": "float16"})) == {
        "x": "float16",
        "bn": "float16",
        "mean": "float32",
    }
    with pytest.raises(ShapeError, match=r"bn.*moving_mean.*\(7,\).*\(6,\)"):
        infer_shapes([(net, 0)], {"x": (2, 6), "mean": (7,)})


def test_contradiction_names_node_argument_and_shapes():
    net = op(Dense, "fc", var("x"), var("w"))
    with pytest.raises(
        ShapeError, match=r"Error in operator fc: .*'weight' \(w\).*\(3, 6\).*\(3, 5\)"
    ):
        infer_shapes([(net, 0)], {"x": (2, 5), "w": (3, 6)})


def test_error_of_the_operator_is_completed():
    net = op(Dense, "fc", var("x"), var("w"))
    with pytest.raises(
        ShapeError, match=r"Error in operator fc: data must have 2 axes.*data=\(2, 3, 4\)"
    ):
        infer_shapes([(net, 0)], {"x": (2, 3, 4)})


class Fails(OperatorProperty):
    """A user's property with a mistake."""

    users = True  # an IndexError of a built-in one means too few axes

    def infer_shape(self, in_shapes, out_shapes):
        return [(1,)[3]], [None], []


class Short(OperatorProperty):
    """A user's property that forgets the states."""

    def infer_shape(self, in_shapes, out_shapes):
        return in_shapes, [], []


def test_mistake_in_a_property_names_the_node():
    with pytest.raises(
        IndexError, match="Error in operator bad: shape inference of Fails failed"
    ) as info:
        infer_shapes([(op(Fails, "bad", var("x")), 0)], {"x": (2, 3)})
    assert isinstance(info.value, OperatorError)
    with pytest.raises(
        ArgumentError, match=r"bad.*returned \(1, 0, 0\) values.*expected \(1, 1, 0\)"
    ):
        infer_shapes([(op(Short, "bad", var("x")), 0)], {"x": (2, 3)})


def test_types_forwards_backwards_and_across_a_cast():
    x, y = var("x"), var("y")
    net = op(Add, "sum", op(Cast, "cast", x), y)
    found = by_name(infer_types([(net, 0)]))
    assert found == {"x": None, "cast": "float64", "y": "float64", "sum": "float64"}
    assert by_name(infer_types([(net, 0)], default="float32"))["x"] == "float32"
    with pytest.raises(ArgumentError, match="Error in operator sum: types of inputs"):
        infer_types([(net, 0)], {"y": "float32"})


def test_default_follows_what_is_known():
    x, y, z = var("x"), var("y"), var("z")
    found = by_name(
        infer_types([(op(Add, "a", x, y), 0), (z, 0)], {"y": "float16"}, default="float32")
    )
    assert (found["x"], found["z"]) == ("float16", "float32")


def test_deep_chain_both_ways():
    x = node = var("x")
    for i in range(10_000):
        node = op(Add, f"n{i}", node, node)
    assert infer_shapes([(node, 0)], {"x": (2,)})[node, 0] == (2,)
    end = var("end")
    top = op(Add, "top", node, end)
    assert infer_shapes([(top, 0)], {"end": (5,)})[x, 0] == (5,)


def test_pieces_tell_the_sizes_of_what_is_parted():
    """SliceChannel, whose data has unknown sizes, from what its pieces meet."""
    for shape, settings, other, wanted in (
        ((0, 10), {"num_outputs": 10, "axis": 1, "squeeze_axis": True}, (5,), (5, 10)),
        ((0, 15, 0), {"num_outputs": 3}, (3, 5, 2), (3, 15, 2)),
        ((4, 0), {"num_outputs": 2}, (4, 3), (4, 6)),
        ((0, 0, 6), {"num_outputs": 3, "axis": 0, "squeeze_axis": True}, (2, 6), (3, 2, 6)),
    ):
        parts = mx.sym.SliceChannel(mx.sym.var("a", shape=shape), **settings)
        total = parts[1] + mx.sym.var("c", shape=other)
        found = dict(zip(total.list_arguments(), total.infer_shape()[0]))
        assert found == {"a": wanted, "c": other}
    parts = mx.sym.SliceChannel(mx.sym.var("a", shape=(0, 4)), num_outputs=2)
    with pytest.raises(mx.errors.ShapeError, match=r"\(0, 2\) and \(3, 3\) do not agree"):
        (parts[0] + mx.sym.var("c", shape=(3, 3))).infer_shape()
