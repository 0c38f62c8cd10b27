"""`_cond` runs one of two bodies: ``then_func() if pred else else_func()``."""

from ..parameters import Shape
from ..property import merge_shapes
from .subgraphs import ControlFlowProperty, merge_types
from .while_loop import check_predicate


class CondProperty(ControlFlowProperty, operator="_cond"):
    """Runs one of two graphs, which a third graph, the condition, chooses."""

    cond_input_locs = Shape(doc="Which inputs the condition reads.")
    then_input_locs = Shape(doc="Which inputs the graph reads that runs where the condition holds.")
    else_input_locs = Shape(doc="Which inputs the other graph reads.")

    n_subgraphs = 3

    def inputs_of_variables(self):
        return [list(self.cond_input_locs), list(self.then_input_locs), list(self.else_input_locs)]

    def output_counts(self):
        return [1, self.num_outputs, self.num_outputs]

    def _infer_branches(self, what, merge, ins, outs):  # what: infer_shapes or infer_types
        given, outs, predicate = list(ins), list(outs), None
        for number, (inputs, graph) in enumerate(zip(self.inputs_of_variables(), self.subgraphs)):
            heads = outs if number else [None]
            found, heads = getattr(graph, what)([given[i] for i in inputs], heads)
            for i, value in zip(inputs, found):
                given[i] = merge(given[i], value)
            if number:
                outs = [merge(old, new) for old, new in zip(outs, heads)]
            else:
                predicate = heads[0]
        return given, outs, predicate

    def infer_shapes_once(self, ins, outs):
        given, outs, predicate = self._infer_branches("infer_shapes", merge_shapes, ins, outs)
        check_predicate(self._operator_label(), predicate)
        return given, outs

    def infer_types_once(self, ins, outs):
        return self._infer_branches("infer_types", merge_types, ins, outs)[:2]
