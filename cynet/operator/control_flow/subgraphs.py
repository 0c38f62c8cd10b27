"""Subgraphs of operators that hold graphs, and the inputs that feed them."""

from typing import Any

from ...base.errors import ArgumentError, FormatError, UndefinedError
from ..parameters import MAX_ARRAYS, Int
from ..property import OperatorProperty, merge_shapes


class ControlFlowProperty(OperatorProperty):  # base of operators that run graphs
    """Base of operators that run graphs.

    subgraphs (tuple of Subgraph): What it runs (``cynet/symbol/subgraph.py``); `set_subgraphs` sets
        them when the node is created.
    """

    num_args = Int(low=1, high=MAX_ARRAYS, doc="How many inputs and subgraphs there are.")
    num_outputs = Int(low=1, high=MAX_ARRAYS, doc="How many outputs there are.")

    n_subgraphs = 1
    subgraphs = ()
    pure = False  # a body may run Python code, or change states

    def list_arguments(self):
        count = self.params().get("num_args", self.n_subgraphs)  # None while only names are needed
        return [f"data{i}" for i in range(count - self.n_subgraphs)]

    def list_outputs(self):
        count = self.params().get("num_outputs", 1)
        return ["output"] if count == 1 else [f"output{i}" for i in range(count)]

    def inputs_of_variables(self):
        """For each subgraph: the input that each of its variables reads."""
        raise UndefinedError(f"{self._operator_label()}: not defined")

    def output_counts(self):
        """Return how many outputs each subgraph must have."""
        raise UndefinedError(f"{self._operator_label()}: not defined")

    def changing_inputs(self):
        """Inputs whose values change from run to run of a body: rows of data, states."""
        return ()

    def set_subgraphs(self, subgraphs):
        """Set the subgraphs; return the property itself.

        Raises FormatError when they do not fit the parameters.
        """
        where = self._operator_label()
        if len(subgraphs) != self.n_subgraphs:
            raise FormatError(f"{where} has {self.n_subgraphs} subgraphs, got {len(subgraphs)}")
        self.subgraphs = tuple(subgraphs)
        count = self.num_args - self.n_subgraphs
        for number, (inputs, heads, graph) in enumerate(
            zip(self.inputs_of_variables(), self.output_counts(), subgraphs)
        ):
            names = [node.name for node in graph.variables]
            if len(inputs) != len(names) or not all(
                i is not None and 0 <= i < count for i in inputs
            ):
                raise FormatError(
                    f"{where}: subgraph {number} has the inputs {', '.join(names) or '(none)'}, "
                    f"which the parameters take for {inputs} of {count} inputs"
                )
            if len(graph.heads) != heads:
                raise FormatError(
                    f"{where}: subgraph {number} has {len(graph.heads)} outputs, expected {heads}"
                )
        wrong = self.mutable_inputs() & set(self.changing_inputs())
        if wrong:
            raise ArgumentError(
                f"{where}: an auxiliary state of an operator in the body cannot be data or a loop "
                f"variable, as input {min(wrong)} is"
            )
        return self

    def mutable_inputs(self):
        """The set of inputs that a body takes for auxiliary states."""
        pairs = zip(self.inputs_of_variables(), self.subgraphs)
        return {inputs[p] for inputs, graph in pairs for p in graph.states}

    def _refuse_call_by_name(self):
        raise ArgumentError(
            f"{self._operator_label()} holds graphs, so it is made by mx.sym.contrib."
            f"{self.op_name.lstrip('_')}, not called by name"
        )

    def infer_shape(self, in_shapes, out_shapes):
        if not self.subgraphs:
            self._refuse_call_by_name()
        return self._repeat_inference(self.infer_shapes_once, merge_shapes, in_shapes, out_shapes)

    def infer_type(self, in_types, out_types):
        if not self.subgraphs:
            self._refuse_call_by_name()
        return self._repeat_inference(self.infer_types_once, merge_types, in_types, out_types)

    def infer_shapes_once(self, ins, outs):
        """Complete the lists of shapes by one inference through the subgraphs."""
        raise UndefinedError(f"{self._operator_label()}: not defined")

    def infer_types_once(self, ins, outs):
        """Complete the lists of dtypes by one inference through the subgraphs."""
        raise UndefinedError(f"{self._operator_label()}: not defined")

    @staticmethod
    def _repeat_inference(once, merge, ins, outs):
        """Repeat inference until the shapes of a body's states do not change any more."""
        ins, outs = list(ins), list(outs)
        while True:
            before = [*ins], [*outs]
            found_ins, found_outs = once(ins, outs)
            ins = [merge(old, new) for old, new in zip(ins, found_ins)]
            outs = [merge(old, new) for old, new in zip(outs, found_outs)]
            if before == (ins, outs):
                return ins, outs, []


def merge_types(*types):
    """Return the common dtype of `types` (None: unknown).

    >>> merge_types(None, "float32")
    'float32'
    """
    known = dict.fromkeys(t for t in types if t is not None)
    if len(known) > 1:
        raise ArgumentError(f"types {' and '.join(known)} do not agree")
    return next(iter(known), None)


def row_shape(shape: Any) -> Any:
    """Return the shape of one row of an array; rows of an array of one axis have one element.

    >>> row_shape((5, 2, 3)), row_shape((5,)), row_shape(None)
    ((2, 3), (1,), None)
    """
    if shape is None:
        return None
    return tuple(shape[1:]) or (1,)


def stacked_shape(row, length):
    """Return the shape of `length` rows (None: unknown)."""
    return None if row is None else (length or 0, *row)
