"""`_foreach`: runs a body on each row of some arrays, and passes states from run to run.

    states = init_states
    for t in range(len(data)): outputs[t], states = body(data[t], states)

Inputs are data, states, then what the body reads besides. Data of one axis have rows of shape (1,).
"""

from ...base.errors import FormatError
from ..parameters import Int, Shape
from ..property import merge_shapes
from .subgraphs import ControlFlowProperty, merge_types, row_shape, stacked_shape


class ForeachProperty(ControlFlowProperty, operator="_foreach"):
    """Runs a graph on each row of some arrays, and hands states from run to run."""

    num_out_data = Int(low=0, doc="How many outputs are stacked; the others are the last states.")
    in_state_locs = Shape(doc="Which inputs of the body are the states.")
    in_data_locs = Shape(doc="Which inputs of the body are the rows.")
    remain_locs = Shape(doc="Which inputs of the body are read besides.")

    n_bodies = 1
    condition = None  # index of the subgraph with the loop's condition, or None
    body = 0

    def inputs_of_variables(self):
        locs = (*self.in_data_locs, *self.in_state_locs, *self.remain_locs)
        if sorted(locs) != list(range(len(locs))):
            return [[None] * len(self.subgraphs[0].variables)]
        return [[locs.index(p) for p in range(len(locs))]]

    def output_counts(self):
        return [self.num_outputs]

    def sliced_inputs(self):
        """Indices of the inputs of which each run of the body gets one row."""
        return range(len(self.in_data_locs))

    def state_inputs(self):
        """Indices of the inputs that are the initial states."""
        first = len(self.in_data_locs)
        return range(first, first + len(self.in_state_locs))

    def changing_inputs(self):
        return [*self.sliced_inputs(), *self.state_inputs()]

    def max_runs(self, in_shapes):
        """Return how often the body runs at most."""
        return in_shapes[0][0]

    def set_subgraphs(self, subgraphs):
        """See the base class; refuses a body without data, or with a wrong number of states."""
        if not self.in_data_locs or self.num_outputs - self.num_out_data != len(self.in_state_locs):
            self._output_mismatch()
        return super().set_subgraphs(subgraphs)

    def _output_mismatch(self):
        raise FormatError(
            f"{self._operator_label()}: {self.num_outputs} outputs of which"
            f" {self.num_out_data} are stacked do not fit data"
            f" {self.in_data_locs} and states {self.in_state_locs}"
        )

    def infer_shapes_once(self, ins, outs):
        n_data, n_out = len(self.in_data_locs), self.num_out_data
        lengths = [shape[:1] for shape in (*ins[:n_data], *outs[:n_out]) if shape is not None]
        length = merge_shapes(*lengths)
        length = None if length is None else length[0]
        given = list(ins)
        given[:n_data] = map(row_shape, ins[:n_data])
        for k, i in enumerate(self.state_inputs()):
            given[i] = merge_shapes(ins[i], outs[n_out + k])
        heads = [*map(row_shape, outs[:n_out]), *(given[i] for i in self.state_inputs())]
        given, heads = self._infer_body("infer_shapes", given, heads)
        for j in range(n_data):
            shape = ins[j]
            if shape is not None and len(shape) == 1:
                given[j] = (length,)
            elif shape is None and given[j] == (1,):
                given[j] = None  # rows of (T,) and of (T, 1) look alike
            else:
                given[j] = stacked_shape(given[j], length)
        return given, [*(stacked_shape(row, length) for row in heads[:n_out]), *heads[n_out:]]

    def infer_types_once(self, ins, outs):
        given = list(ins)
        for k, i in enumerate(self.state_inputs()):
            given[i] = merge_types(ins[i], outs[self.num_out_data + k])
        heads = [*outs[: self.num_out_data], *(given[i] for i in self.state_inputs())]
        return self._infer_body("infer_types", given, heads)

    def _infer_body(self, what, given, heads):
        """Infer shapes or dtypes through the body, given those of its inputs and outputs."""
        inputs, body = self.inputs_of_variables()[0], self.subgraphs[0]
        found, heads = getattr(body, what)([given[i] for i in inputs], heads)
        for i, value in zip(inputs, found):
            given[i] = value
        merge = merge_shapes if what == "infer_shapes" else merge_types
        for k, i in enumerate(self.state_inputs()):
            given[i] = merge(given[i], heads[self.num_out_data + k])
        return given, heads
