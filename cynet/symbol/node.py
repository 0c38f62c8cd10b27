"""The graph behind a Symbol: Node, and the order in which nodes are visited.

An edge is a pair ``(node, output index)``, called an entry everywhere. A Symbol is a list of
entries (its heads); passes take such a list. Nodes are shared between symbols: only composition
replaces inputs, on a copy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Entry: TypeAlias = "tuple[Node, int]"  # (node, index of an output)


class Node:
    """One operator or variable of a graph.

    op (OpEntry or None): The registered operator; None for a variable.
    name: Unique only by convention.
    attrs: User attributes (``__lr_mult__``, ``__ctx_group__``, ``__shape__``, ...).
    params: The operator's own parameters as they were given, as JSON writes them.
    prop (OperatorProperty or None): The parsed operator; None for a variable.
    inputs: Arguments first, then auxiliary states.
    """

    __slots__ = ("_outputs", "attrs", "inputs", "name", "op", "params", "prop")

    def __init__(
        self,
        op: Any,
        name: str,
        attrs: dict[str, str] | None = None,
        params: dict[str, Any] | None = None,
        prop: Any = None,
        inputs: Iterable[Entry] = (),
    ) -> None:
        self.op = op
        self.name = name
        self.attrs = {} if attrs is None else attrs
        self.params = {} if params is None else params
        self.prop = prop
        self.inputs = list(inputs)
        self._outputs: list[str] | None = None

    def list_outputs(self) -> list[str]:
        """The operator's own names of all outputs, hidden ones last; cached."""
        if self._outputs is None:
            self._outputs = self.prop.list_outputs()
        return self._outputs

    @property
    def is_variable(self) -> bool:
        """True for a variable (argument or auxiliary state)."""
        return self.op is None

    @property
    def num_outputs(self) -> int:
        """The number of outputs, hidden ones included."""
        return 1 if self.op is None else len(self.list_outputs())

    @property
    def num_visible_outputs(self) -> int:
        """The number of outputs a user sees."""
        return 1 if self.op is None else self.prop.num_visible_outputs()

    @property
    def num_args(self) -> int:
        """The number of `inputs` that are arguments; the others are auxiliary states."""
        return 0 if self.op is None else len(self.inputs) - len(self.prop.list_auxiliary_states())

    def input_names(self) -> list[str]:
        """The operator's own names of `inputs`: its arguments, then its auxiliary states."""
        return (
            []
            if self.op is None
            else [*self.prop.list_arguments(), *self.prop.list_auxiliary_states()]
        )

    def output_name(self, index: int) -> str:
        """The public name of one output: ``fc1_output``, or the variable's own name."""
        return self.name if self.op is None else f"{self.name}_{self.list_outputs()[index]}"

    def __repr__(self) -> str:
        return f"<variable {self.name}>" if self.op is None else f"<{self.op.name} {self.name}>"


def topological_order(heads: Iterable[Entry]) -> list[Node]:
    """Every node that the entries `heads` depend on, inputs before their users.

    The order is depth first, inputs in their order, and so decides the order of
    ``list_arguments``. Nothing recurses: a chain of any length is fine.
    """
    seen: set[int] = set()
    order = []
    for head, _ in heads:
        if id(head) in seen:
            continue
        seen.add(id(head))
        stack = [(head, iter(head.inputs))]
        while stack:
            node, rest = stack[-1]
            for source, _ in rest:
                if id(source) not in seen:
                    seen.add(id(source))
                    stack.append((source, iter(source.inputs)))
                    break
            else:
                order.append(node)
                stack.pop()
    return order


def fixed_arguments(order: Iterable[Node]) -> dict[str, float]:
    """A dict: variable's name -> constant that operators in `order` read instead."""
    fixed = {}
    for node in order:
        numbers = {} if node.op is None else node.prop.graph.fixed_inputs(node.prop)
        for name, (source, _) in zip(node.input_names() if numbers else (), node.inputs):
            if name in numbers and source.op is None:
                fixed[source.name] = numbers[name]
    return fixed


def auxiliary_node_ids(order: Sequence[Node]) -> set[int]:
    """Ids of the variables in `order` that some operator uses as an auxiliary state."""
    return {
        id(source)
        for node in order
        if node.op is not None and len(node.inputs) > node.num_args
        for source, _ in node.inputs[node.num_args :]
        if source.op is None
    }


def variable_nodes(heads: Iterable[Entry]) -> tuple[list[Node], list[Node], list[Node]]:
    """Lists of nodes, in topological order: arguments, auxiliary states, all variables."""
    return variables_in(topological_order(heads))


def variables_in(order: Sequence[Node]) -> tuple[list[Node], list[Node], list[Node]]:
    """Lists of the nodes in `order`: arguments, auxiliary states, all variables."""
    states = auxiliary_node_ids(order)
    variables = [node for node in order if node.op is None]
    return (
        [node for node in variables if id(node) not in states],
        [node for node in variables if id(node) in states],
        variables,
    )
