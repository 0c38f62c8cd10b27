"""Inference: completes shapes and types over a graph, forwards and backwards."""

import heapq

from ..base.dtype import FLAGS, NAMES
from ..base.errors import (
    ArgumentError,
    ArgumentTypeError,
    CynetError,
    ShapeError,
    dress,
    reworded,
    shown,
    told,
)
from ..operator.checks.shapes import EMPTY, understood
from ..operator.parameters import read_shape
from ..operator.property import is_known, merge_shapes
from ..symbol.hooks import install
from ..symbol.node import topological_order


def infer_shapes(heads, known=None, outputs=()):
    """Complete the shapes of all entries of a graph.

    Parameters
    ----------
    heads : list of (Node, int)
    known : dict of str to tuple, optional
        Shapes of variables by name; 0 or -1 is an unknown dimension, `EMPTY` a length that is
        known to be 0, None an unknown shape. They replace what a variable says of itself
        (``Variable('x', shape=...)``).
    outputs : list of (entry, shape), optional
        What is known of outputs of nodes.

    Returns
    -------
    dict
        ``(node, output index)`` to tuple, or None where nothing is known; unknown dimensions are 0,
        known lengths of 0 are `EMPTY`.

    Raises
    ------
    ShapeError
        When shapes contradict each other; the message names the node, the argument and the shapes.
    """
    pass_ = _Shapes(heads, known)
    pass_.learn_outputs(outputs)
    return pass_.run()


def infer_types(heads, known=None, default=None, outputs=()):
    """Complete the dtypes of all entries of a graph.

    Parameters
    ----------
    heads : list of (Node, int)
    known : dict of str to str, optional
        Dtype names of variables by name.
    default : str, optional
        What variables get of which nothing follows, one after the other in topological order.
    outputs : list of (entry, dtype), optional
        What is known of outputs of nodes.

    Returns
    -------
    dict
        ``(node, output index)`` to the dtype's name, or None.

    Raises
    ------
    ArgumentError
        When types contradict each other; the message names the node and the argument.
    """
    pass_ = _Types(heads, known)
    pass_.learn_outputs(outputs)
    out = pass_.run()
    if default is not None:
        for node in pass_.order:
            if node.op is None and out[node, 0] is None:
                pass_.learn((node, 0), default, node)
                pass_.run()
    return out


class _Inference:
    """The fixed point: nodes whose surroundings changed are asked again, in order and in reverse.

    What is known of an entry only ever grows (`merge` refuses the rest), so this ends.
    """

    def __init__(self, heads, known):
        self.order = topological_order(heads)
        self.values = values = {}
        self.users = users = {}
        known = known or {}
        for node in self.order:
            for k in range(node.num_outputs):
                values[node, k] = None
                users[node, k] = []
            for source in node.inputs:
                users[source].append(node)
            if node.op is None:
                value = known.get(node.name)
                value = self.declared(node) if value is None else self.clean(value)
                values[node, 0] = value
        self.position = {node: i for i, node in enumerate(self.order)}
        self.stale = {node for node in self.order if node.op is not None}
        self.due, self.sign, self.asked = [], 1, 0  # a heap of positions, negative on the way back

    def learn_outputs(self, outputs):
        """Take over what is known of entries, pairs (entry, value)."""
        for entry, value in outputs:
            self.learn(entry, value, entry[0])

    def run(self):
        """Ask until nothing changes; returns the values."""
        self.sign = 1
        while self.stale:
            self.due = sorted(self.sign * self.position[node] for node in self.stale)
            while self.due:
                self.asked = heapq.heappop(self.due)
                node = self.order[self.sign * self.asked]
                if node in self.stale:
                    self.ask(node)
            self.sign = -self.sign
        return self.values

    def mark(self, node):
        """Ask a node again: on this way, if it is still to come, else on the way back."""
        if node not in self.stale:
            self.stale.add(node)
            if self.sign * self.position[node] > self.asked:
                heapq.heappush(self.due, self.sign * self.position[node])

    def ask(self, node):
        """Let one operator complete what surrounds it."""
        self.stale.discard(node)
        values = self.values
        n_args, n_out = node.num_args, node.num_outputs
        ins = [values[source] for source in node.inputs[:n_args]]
        outs = [values[node, k] for k in range(n_out)]
        if not node.prop.users and self.says_nothing(ins, outs):
            return
        try:
            found = self.infer(node.prop, ins, outs)
            lengths = tuple(map(len, found))
        except CynetError as error:
            raise reworded(
                error, f"Error in operator {node.name}: {error}; {self.situation(node)}"
            ) from error
        except Exception as error:
            if isinstance(error, IndexError) and not node.prop.users:  # a length that is not there
                error = ShapeError(f"the shapes have too few axes ({error})")
            raise dress(
                error,
                f"Error in operator {node.name}: {self.what} inference of {node.op.name} failed "
                f"with {told(error)}; {self.situation(node)}",
            ) from error
        expected = (n_args, n_out, len(node.inputs) - n_args)
        if lengths != expected:
            raise ArgumentError(
                f"Error in operator {node.name}: {self.what} inference of {node.op.name} returned "
                f"{lengths} values "
                f"for inputs, outputs and auxiliary states; expected {expected}"
            )
        new_ins, new_outs, new_aux = found
        for source, value in zip(node.inputs, (*new_ins, *new_aux)):
            self.learn(source, value, node)
        for k, value in enumerate(new_outs):
            self.learn((node, k), value, node)
        if all_known(
            [*(values[source] for source in node.inputs), *(values[node, k] for k in range(n_out))]
        ):
            self.stale.discard(node)

    def learn(self, entry, value, node):
        """Take over what `node` says of `entry`."""
        old = self.values[entry]
        if value is None or value == old:
            return
        try:
            new = self.merge(old, self.clean(value))
        except ShapeError:
            raise self.conflict(node, entry, old, value) from None
        if new != old:
            self.values[entry] = new
            for user in self.users[entry]:
                self.mark(user)
            if entry[0].op is not None:
                self.mark(entry[0])

    def conflict(self, node, entry, old, value):
        """The error for an operator that infers other than what is given."""
        place = "output"
        for key, source in zip(node.input_names(), node.inputs):
            if source == entry:
                place = f"argument '{key}'"
                break
        return self.error(
            f"Error in operator {node.name}: {self.what} of {place} "
            f"({entry[0].output_name(entry[1])}) inconsistent: provided {_text(old)}, "
            f"inferred {_text(value)}; {self.situation(node)}"
        )

    def situation(self, node):
        """What is known around a node, for messages."""
        parts = [
            f"{key}={_text(self.values[source])}"
            for key, source in zip(node.input_names(), node.inputs)
        ]
        return f"{node.op.name} has {self.what}s {', '.join(parts) or 'of no inputs'}"


def all_known(values):
    """True when every one of these shapes or types is complete."""
    return all(is_known(v) if isinstance(v, tuple) else v is not None for v in values)


def _text(value):
    return "unknown" if value is None else str(value)


class _Shapes(_Inference):
    what = "shape"
    error = ShapeError

    @staticmethod
    def declared(node):
        """The shape a variable was made with."""
        text = node.attrs.get("__shape__")
        if text is None:
            return None
        shape = read_shape(text)
        if shape is None or not all(-1 <= n < 1 << 63 for n in shape):
            raise ArgumentError(
                f"variable {node.name}: attribute __shape__ is {shown(text)}, not a shape"
            )
        return understood(shape)

    @staticmethod
    def clean(shape):
        """A tuple with 0 for what is unknown."""
        shape = (shape,) if isinstance(shape, int) else shape
        return tuple(n if n is EMPTY else max(int(n), 0) for n in shape)

    @staticmethod
    def infer(prop, ins, outs):
        """Ask the operator."""
        return prop.infer_shape(ins, outs)

    @staticmethod
    def says_nothing(ins, outs):
        """Whether an operator is not asked: nothing is known around it, and as in MXNet it then
        says nothing of its parameters either."""
        return bool(ins) and all(shape is None for shape in (*ins, *outs))

    @staticmethod
    def merge(old, new):
        """The shape that both describe."""
        return merge_shapes(old, new)


class _Types(_Inference):
    what = "type"
    error = ArgumentError

    @staticmethod
    def declared(node):
        """The dtype a variable was made with (its attribute holds the type flag)."""
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
    def clean(name):
        """The dtype's name."""
        if name not in FLAGS:
            raise ArgumentTypeError(f"type {shown(name)} is not one of {', '.join(FLAGS)}")
        return name

    @staticmethod
    def infer(prop, ins, outs):
        """Ask the operator."""
        return prop.infer_type(ins, outs)

    @staticmethod
    def says_nothing(ins, outs):
        """Never: the dtype of an output may follow from a parameter alone."""
        return False

    @staticmethod
    def merge(old, new):
        """The type that both name."""
        if old is not None and old != new:
            raise ShapeError("types differ")
        return new


install(infer_shapes=infer_shapes, infer_types=infer_types)
