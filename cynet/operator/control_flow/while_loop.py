"""`_while_loop`: runs a body while a condition on its variables is true.

    while steps < max_iterations and cond(*loop_vars): outputs[steps], loop_vars = func(*loop_vars)

Outputs have `max_iterations` rows; rows without a run are zeros.
"""

from ...base.errors import FormatError, ShapeError
from ..parameters import Int, Shape
from ..property import is_known, merge_shapes
from .subgraphs import ControlFlowProperty, merge_types, row_shape, stacked_shape


class WhileLoopProperty(ControlFlowProperty, operator="_while_loop"):
    """Runs a graph on loop variables while another graph, the condition, is true."""

    num_out_data = Int(low=0, doc="How many outputs are stacked; the others are the last states.")
    max_iterations = Int(low=1, doc="How often the body runs at most: rows of stacked outputs.")
    cond_input_locs = Shape(doc="Which inputs the condition reads.")
    func_input_locs = Shape(doc="Which inputs the body reads.")
    func_var_locs = Shape(doc="Which inputs of the body are the loop variables.")

    n_subgraphs = 2
    condition, body = 0, 1

    def inputs_of_variables(self):
        return [list(self.cond_input_locs), list(self.func_input_locs)]

    def output_counts(self):
        return [1, self.num_outputs]

    def sliced_inputs(self):
        """Indices of the inputs of which each run of the body gets one row: none."""
        return ()

    def state_inputs(self):
        """Indices of the inputs that are the initial loop variables."""
        locs, count = self.func_input_locs, len(self.func_input_locs)
        return [locs[p] if 0 <= p < count else -1 for p in self.func_var_locs]

    def changing_inputs(self):
        return self.state_inputs()

    def max_runs(self, in_shapes):
        """Return how often the body runs at most."""
        return self.max_iterations

    def set_subgraphs(self, subgraphs):
        """See the base class; refuses a body with a wrong number of loop variables."""
        states = self.state_inputs()
        if (
            self.num_outputs - self.num_out_data != len(states)
            or -1 in states
            or len(set(states)) != len(states)
        ):
            raise FormatError(
                f"{self._operator_label()}: {self.num_outputs} outputs of which {self.num_out_data}"
                f" are stacked do not fit loop variables {self.func_var_locs}"
                f" of {self.func_input_locs}"
            )
        for i in states:
            if self.func_input_locs.count(i) > 1:  # the gradient of a state is a single array
                raise FormatError(
                    f"{self._operator_label()}: func_input_locs {self.func_input_locs} names loop"
                    f" variable {i} twice"
                )
        return super().set_subgraphs(subgraphs)

    def _infer_loop(self, what, merge, ins, states, outs):  # what: infer_shapes or infer_types
        given, n_out = list(ins), self.num_out_data
        for k, i in enumerate(self.state_inputs()):
            given[i] = merge(ins[i], states[k])
        condition, body = self.subgraphs
        found, outputs = getattr(condition, what)([given[i] for i in self.cond_input_locs], [None])
        for i, value in zip(self.cond_input_locs, found):
            given[i] = merge(given[i], value)
        heads = [*outs, *(given[i] for i in self.state_inputs())]
        found, heads = getattr(body, what)([given[i] for i in self.func_input_locs], heads)
        for i, value in zip(self.func_input_locs, found):
            given[i] = merge(given[i], value)
        for k, i in enumerate(self.state_inputs()):
            given[i] = merge(given[i], heads[n_out + k])
        return given, heads, outputs[0]

    def infer_shapes_once(self, ins, outs):
        n_out = self.num_out_data
        for shape in outs[:n_out]:
            merge_shapes((self.max_iterations,), shape and tuple(shape[:1]))
        given, heads, predicate = self._infer_loop(
            "infer_shapes", merge_shapes, ins, outs[n_out:], map(row_shape, outs[:n_out])
        )
        check_predicate(self._operator_label(), predicate)
        rows = [stacked_shape(row, self.max_iterations) for row in heads[:n_out]]
        return given, [*rows, *heads[n_out:]]

    def infer_types_once(self, ins, outs):
        n_out = self.num_out_data
        return self._infer_loop("infer_types", merge_types, ins, outs[n_out:], outs[:n_out])[:2]


def check_predicate(where, shape):
    """Refuse a condition of several elements."""
    if is_known(shape) and any(n != 1 for n in shape):
        raise ShapeError(f"{where}: the condition must be one number, its shape is {tuple(shape)}")
