"""Inference: completes the shapes and dtypes of a graph's entries, forwards and backwards."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any

from ..base.dtype import FLAGS, NAMES
from ..base.errors import (
    ArgumentError,
    ArgumentTypeError,
    CynetError,
    ShapeError,
    describe_error,
    shown,
    with_message,
    wrap_error,
)
from ..operator.checks.shapes import EMPTY, declared_shape
from ..operator.checks.values import read_shape
from ..operator.property import merge_shapes
from ..symbol.node import topological_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ..operator.property import OperatorProperty
    from ..symbol.node import Entry, Node
    from ..typing import Shape, Symbol


class Structure:  # a symbol's nodes in order and who reads them, for any shapes
    """The nodes of a graph in topological order, with their neighbors: the same for all shapes.

    order: list of Node
    entries: list of (Node, int)
    rows (list of tuple): For each node: (node, property, entries of arguments and auxiliary states,
        entries of arguments, entries of outputs).
    users (dict of entry to list of int): Positions in `order`.
    kinds: For each node a number that those have in common which compute the same of alike inputs;
        None: nobody has asked (`assign_kind_numbers`).
    calls: What an executor that runs call by call keeps here.
    met: Of executors without and with gradients: of the shapes and dtypes that they have met, how
        often they were run call by call; None: they have a plan.
    """

    def __init__(self, heads: list[Entry]) -> None:
        self.heads, self.order = heads, topological_order(heads)
        rows: list[tuple[Node, Any, list[Entry], list[Entry], list[Entry]]] = []
        users: dict[Entry, list[int]] = {}
        entries: list[Entry] = []
        self.rows, self.users, self.entries = rows, users, entries
        for position, node in enumerate(self.order):
            made = [(node, k) for k in range(node.num_outputs)]
            entries += made
            for entry in made:
                users[entry] = []
            for source in node.inputs:
                users[source].append(position)
            rows.append((node, node.prop, node.inputs, node.inputs[: node.num_args], made))
        self.position = {node: i for i, node in enumerate(self.order)}
        self.operators = [i for i, node in enumerate(self.order) if node.op is not None]
        self.variables = [node for node in self.order if node.op is None]
        self.kinds: list[int] | None = None
        self.calls: Any = None
        self._planned = False
        self.met: dict[bool, dict[Any, int | None]] = {False: {}, True: {}}

    def assign_kind_numbers(self) -> list[int]:
        """Number equal nodes in `kinds`; inference then runs once for nodes of one kind."""
        numbers: dict[Any, int] = {}
        self.kinds = [numbers.setdefault(_node_key(node), len(numbers)) for node in self.order]
        return self.kinds

    def properties(self) -> dict[Node, Any]:
        """Dict of node -> its property. From the second time on nodes of one kind share a property,
        so that its answer for some shapes is computed once."""
        if self.kinds is None and not self._planned:
            self._planned = True
            return {node: node.prop for node in self.order}
        kinds = self.assign_kind_numbers() if self.kinds is None else self.kinds
        first: dict[int, Any] = {}
        return {node: first.setdefault(kind, node.prop) for node, kind in zip(self.order, kinds)}


def structure_of(symbol: Symbol) -> Structure:
    """Return the Structure of a Symbol's graph, which is cached."""
    if symbol._structure is None or symbol._structure.heads != symbol.entries:
        symbol._structure = Structure(list(symbol.entries))
    return symbol._structure


def _node_key(node: Node) -> Any:
    """Return a key that is equal for nodes that compute the same."""
    if node.op is None or node.prop.users:
        return id(node)
    attributes = sorted(vars(node.prop).items())  # private attributes depend on the others
    return type(node.prop), *((k, repr(v)) for k, v in attributes if not k.startswith("_"))


def infer_shapes(
    heads: list[Entry],
    known: Mapping[str, Any] | None = None,
    outputs: Iterable[tuple[Entry, Any]] = (),
    structure: Structure | None = None,
) -> dict[Entry, Any]:
    """Complete the shapes of all entries of a graph.

    known: Shapes of variables by name; 0 or -1 is an unknown dimension, `EMPTY` a length that is
        known to be 0, None an unknown shape. They replace what a variable says of itself
        (``Variable('x', shape=...)``).
    outputs: What is known of outputs of nodes.
    structure: That of `heads`, where it is there already.

    Returns dict: ``(node, output index)`` to tuple, or None where nothing is known; unknown
    dimensions are 0, known lengths of 0 are `EMPTY`. Raises ShapeError when shapes contradict each
    other; the message names the node, the argument and the shapes.
    """
    pass_ = _ShapeInference(structure or Structure(heads), known)
    pass_.store_outputs(outputs)
    return pass_.run()


def infer_storage_types(structure: Structure, given: Mapping[str, str]) -> dict[Entry, str]:
    """The storage types of all entries of a graph.

    given: Variable to storage type, of those that are not dense.

    Returns dict of entry to str.
    """
    found: dict[Entry, str] = {}
    for node, prop, _, inputs, made in structure.rows:
        if node.op is None:
            found[node, 0] = given.get(node.name, "default")
        else:
            found.update(zip(made, prop.infer_storage_type([found[e] for e in inputs])[1]))
    return found


def infer_types(
    heads: list[Entry],
    known: Mapping[str, str | None] | None = None,
    default: str | None = None,
    outputs: Iterable[tuple[Entry, Any]] = (),
    structure: Structure | None = None,
) -> dict[Entry, Any]:
    """Complete the dtypes of all entries of a graph.

    known: Dtype names of variables by name.
    default: The dtype of variables whose dtype cannot be inferred, set one after the other in
        topological order.
    outputs: Known dtypes of outputs of nodes.
    structure: The Structure of `heads`, if it exists already.

    Returns dict: ``(node, output index)`` to the dtype's name, or None. Raises ArgumentError when
    types contradict each other; the message names the node and the argument.
    """
    pass_ = _TypeInference(structure or Structure(heads), known)
    pass_.store_outputs(outputs)
    out = pass_.run()
    if default is not None:
        for node in pass_.structure.variables:
            if out[node, 0] is None:
                pass_.store_value((node, 0), default, node)
                pass_.run()
    return out


class _Inference:  # base of shape and dtype inference over a graph
    """Inference to a fixed point: nodes with changed neighbors infer again.

    What is known of an entry only ever grows (`merge` refuses the rest), so this ends.
    """

    what: str
    error: type[CynetError]
    declared_value: Callable[[Node], Any]
    normalize: Callable[[Any], Any]
    infer: Callable[[Any, list[Any], list[Any]], tuple[Sequence[Any], ...]]
    is_operator_skipped: Callable[[list[Any], list[Any]], bool]
    merge: Callable[[Any, Any], Any]
    are_known: Callable[[list[Any]], bool]

    def __init__(self, structure: Structure, known: Mapping[str, Any] | None) -> None:
        self.structure = structure
        values: dict[Entry, Any] = dict.fromkeys(structure.entries)
        self.values = values
        known = known or {}
        for node in structure.variables:
            value = known.get(node.name)
            values[node, 0] = self.declared_value(node) if value is None else self.normalize(value)
        self.stale = set(structure.operators)  # positions
        # (kind, known inputs, known outputs) -> inferred values
        self.inferred_by_kind: dict[Any, tuple[Sequence[Any], ...]] = {}
        # a heap of indices of nodes, negative in the reverse pass
        self.due: list[int] = []
        self.sign, self.current = 1, 0

    def store_outputs(self, outputs: Iterable[tuple[Entry, Any]]) -> None:
        """Store the known values of entries, pairs (entry, value)."""
        for entry, value in outputs:
            self.store_value(entry, value, entry[0])

    def run(self) -> dict[Entry, Any]:
        """Let operators infer until no value changes; returns the values."""
        self.sign = 1
        while self.stale:
            self.due = sorted(self.sign * position for position in self.stale)
            while self.due:
                self.current = heapq.heappop(self.due)
                position = self.sign * self.current
                if position in self.stale:
                    self.infer_node(position)
            self.sign = -self.sign
        return self.values

    def queue_node_again(self, position: int) -> None:
        """Queue a node to infer again: in this pass if it comes later, else in the next."""
        if position not in self.stale:
            self.stale.add(position)
            if self.sign * position > self.current:
                heapq.heappush(self.due, self.sign * position)

    def infer_node(self, position: int) -> None:
        """Let one operator infer unknown inputs and outputs."""
        self.stale.discard(position)
        values = self.values
        node, prop, sources, args, made = self.structure.rows[position]
        ins = [values[source] for source in args]
        outs = [values[entry] for entry in made]
        if not prop.users and self.is_operator_skipped(ins, outs):
            return
        try:
            found = self.infer_cached(position, prop, ins, outs)
            lengths = tuple(map(len, found))
        except CynetError as error:
            raise with_message(
                error, f"Error in operator {node.name}: {error}; {self.describe_node_inputs(node)}"
            ) from error
        except Exception as error:
            if isinstance(error, IndexError) and not prop.users:  # the shape lacks an axis
                error = ShapeError(f"the shapes have too few axes ({error})")
            raise wrap_error(
                error,
                f"Error in operator {node.name}: {self.what} inference of {node.op.name} failed "
                f"with {describe_error(error)}; {self.describe_node_inputs(node)}",
            ) from error
        expected = (len(args), len(made), len(sources) - len(args))
        if lengths != expected:
            raise ArgumentError(
                f"Error in operator {node.name}: {self.what} inference of {node.op.name} returned "
                f"{lengths} values "
                f"for inputs, outputs and auxiliary states; expected {expected}"
            )
        new_ins, new_outs, new_aux = found
        for source, value in zip(sources, (*new_ins, *new_aux)):
            self.store_value(source, value, node)
        for entry, value in zip(made, new_outs):
            self.store_value(entry, value, node)
        if self.are_known([values[source] for source in sources]) and self.are_known(
            [values[entry] for entry in made]
        ):
            self.stale.discard(position)

    def infer_cached(
        self, position: int, prop: Any, ins: list[Any], outs: list[Any]
    ) -> tuple[Sequence[Any], ...]:
        """Return the inferred values, which are computed once for nodes of one kind."""
        kinds = self.structure.kinds
        if kinds is None:
            return self.infer(prop, ins, outs)
        key = kinds[position], *ins, None, *outs
        found = self.inferred_by_kind.get(key)
        if found is None:
            found = self.inferred_by_kind[key] = self.infer(prop, ins, outs)
        return found

    def store_value(self, entry: Entry, value: Any, node: Node) -> None:
        """Store the value of `entry` that `node` has inferred, merged with the known value."""
        old = self.values[entry]
        if value is None or value == old:
            return
        try:
            new = self.normalize(value)
            if old is not None:
                new = self.merge(old, new)
        except ShapeError:
            raise self.conflict_error(node, entry, old, value) from None
        if new != old:
            self.values[entry] = new
            stale = self.stale
            for user in self.structure.users[entry]:
                if user not in stale:
                    self.queue_node_again(user)
            if entry[0].op is not None:
                self.queue_node_again(self.structure.position[entry[0]])

    def conflict_error(self, node: Node, entry: Entry, old: Any, value: Any) -> CynetError:
        """Return the error for an operator that infers another value than the known one."""
        place = "output"
        for key, source in zip(node.input_names(), node.inputs):
            if source == entry:
                place = f"argument '{key}'"
                break
        return self.error(
            f"Error in operator {node.name}: {self.what} of {place} "
            f"({entry[0].output_name(entry[1])}) inconsistent: provided {_value_text(old)}, "
            f"inferred {_value_text(value)}; {self.describe_node_inputs(node)}"
        )

    def describe_node_inputs(self, node: Node) -> str:
        """Describe the shapes or dtypes of a node's inputs, for messages."""
        parts = [
            f"{key}={_value_text(self.values[source])}"
            for key, source in zip(node.input_names(), node.inputs)
        ]
        return f"{node.op.name} has {self.what}s {', '.join(parts) or 'of no inputs'}"


def _value_text(value: Any) -> str:
    return "unknown" if value is None else str(value)


class _ShapeInference(_Inference):
    what = "shape"
    error = ShapeError

    @staticmethod
    def declared_value(node: Node) -> Shape | None:
        """Return the shape in a variable's attribute, or None."""
        text = node.attrs.get("__shape__")
        if text is None:
            return None
        shape = read_shape(text)
        if shape is None or not all(-1 <= n < 1 << 63 for n in shape):
            raise ArgumentError(
                f"variable {node.name}: attribute __shape__ is {shown(text)}, not a shape"
            )
        return declared_shape(shape)

    @staticmethod
    def normalize(shape: Any) -> Shape:
        """Return a shape as a tuple, with 0 for unknown dimensions."""
        if type(shape) is tuple:
            for n in shape:
                if type(n) is not int or n < 0:
                    break
            else:
                return shape
        shape = (shape,) if isinstance(shape, int) else shape
        return tuple(n if n is EMPTY else max(int(n), 0) for n in shape)

    @staticmethod
    def infer(prop: OperatorProperty, ins: list[Any], outs: list[Any]) -> tuple[Sequence[Any], ...]:
        """Return the shapes that the operator infers."""
        return prop.infer_shape(ins, outs)

    @staticmethod
    def is_operator_skipped(ins: list[Any], outs: list[Any]) -> bool:
        """Return whether inference skips an operator, as all its shapes are unknown. As in MXNet
        the shapes of its parameters then stay unknown too."""
        return bool(ins) and all(shape is None for shape in (*ins, *outs))

    @staticmethod
    def merge(old: Any, new: Any) -> Any:
        """Merge two shapes into the one that both describe."""
        return merge_shapes(old, new)

    @staticmethod
    def are_known(shapes: list[Any]) -> bool:
        """Return whether all shapes are complete."""
        return None not in shapes and all(map(all, shapes))


class _TypeInference(_Inference):
    what = "type"
    error = ArgumentError

    @staticmethod
    def declared_value(node: Node) -> str | None:
        """Return the dtype in a variable's attribute (a type flag), or None."""
        text = node.attrs.get("__dtype__")
        if text is None or text == "-1":
            return None
        if text in FLAGS:
            return text
        flags = {str(flag): name for flag, name in NAMES.items()}
        if text not in flags:
            raise ArgumentError(
                f"variable {node.name}: attribute __dtype__ is {shown(text)}, not a type flag"
            )
        return flags[text]

    @staticmethod
    def normalize(name: str) -> str:
        """The dtype's name."""
        if name not in FLAGS:
            raise ArgumentTypeError(f"type {shown(name)} is not one of {', '.join(FLAGS)}")
        return name

    @staticmethod
    def infer(prop: OperatorProperty, ins: list[Any], outs: list[Any]) -> tuple[Sequence[Any], ...]:
        """Return the dtypes that the operator infers."""
        return prop.infer_type(ins, outs)

    @staticmethod
    def is_operator_skipped(ins: list[Any], outs: list[Any]) -> bool:
        """Return False: an output's dtype may follow from an operator's parameter alone."""
        return False

    @staticmethod
    def merge(old: Any, new: Any) -> Any:
        """Merge two dtypes into the one that both name."""
        if old is not None and old != new:
            raise ShapeError("types differ")
        return new

    @staticmethod
    def are_known(types: list[Any]) -> bool:
        """Return whether all dtypes are known."""
        return None not in types
