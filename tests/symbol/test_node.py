"""Node and topological_order."""

from cynet.symbol.node import Node, auxiliary_node_ids, topological_order, variable_nodes


class Add:
    """Stands for a property of two arguments."""

    def list_arguments(self):
        return ["lhs", "rhs"]

    def list_outputs(self):
        return ["output"]

    def list_auxiliary_states(self):
        return []

    def num_visible_outputs(self):
        return 1


class Norm(Add):
    """Stands for a property with a hidden output and a state."""

    def list_arguments(self):
        return ["data"]

    def list_outputs(self):
        return ["output", "mean"]

    def list_auxiliary_states(self):
        return ["moving_mean"]


def op(name, prop, *inputs):
    return Node(prop, name, prop=prop, inputs=[(n, 0) for n in inputs])


def test_order_is_depth_first_with_inputs_in_their_order():
    a, b, c = (Node(None, n) for n in "abc")
    ab = op("ab", Add(), a, b)
    top = op("top", Add(), op("cb", Add(), c, b), ab)
    assert [n.name for n in topological_order([(top, 0), (ab, 0)])] == [
        "c",
        "b",
        "cb",
        "a",
        "ab",
        "top",
    ]


def test_chain_of_ten_thousand_nodes():
    node = first = Node(None, "x")
    for i in range(10_000):
        node = op(f"n{i}", Add(), node, node)
    order = topological_order([(node, 0)])
    assert len(order) == 10_001 and order[0] is first and order[-1] is node


def test_states_and_hidden_outputs():
    x, state = Node(None, "x"), Node(None, "norm_moving_mean")
    norm = op("norm", Norm(), x, state)
    assert norm.num_args == 1 and norm.num_outputs == 2 and norm.num_visible_outputs == 1
    assert norm.input_names() == ["data", "moving_mean"]
    assert [norm.output_name(i) for i in range(2)] == ["norm_output", "norm_mean"]
    assert auxiliary_node_ids(topological_order([(norm, 0)])) == {id(state)}
    assert variable_nodes([(norm, 0)]) == ([x], [state], [x, state])
