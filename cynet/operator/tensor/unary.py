"""Operators of the unary functions (``functions/unary.py``).

``output[i] = F(data[i])`` and ``in_grad[i] = out_grad[i] * G(...)``; every shape, every dtype.
"""

from .._elementwise import LoopsOperator
from ..elementwise_loop import CHEAP_FUNCTORS, Loop
from ..functions.classes import register_unary
from ..functions.row import BACKWARD_READS
from ..graph_hooks import GraphHooks, Traits
from ..property import OperatorProperty


class UnaryHooks(GraphHooks):
    """Graph hooks: the operator is one loop, and so is its gradient."""

    traits = Traits(bfloat16_loops=True)

    def forward_loops(self, prop, in_data, out_data):  # as elementwise loops, which can be fused
        return [Loop("unary", prop.functor, (in_data[0],), out_data[0])]

    def backward_loops(self, prop, out_grad, in_data, out_data, in_grad):  # elementwise loops
        known = {"": out_grad, "x": in_data, "y": out_data}[prop.reads][0]
        return [Loop("unary_grad", prop.gradient or "zero", (out_grad[0], known), in_grad[0])]

    def is_memory_bound(self, prop, in_shapes):
        return prop.functor in CHEAP_FUNCTORS


class UnaryProperty(OperatorProperty):
    """Base class of unary operators: one input, one output of the same shape and type."""

    inputs_doc = {"data": "The input, any shape."}
    graph = UnaryHooks()
    function = None  # the row
    functor = None  # names in functors.h
    gradient = None
    reads = ""  # argument of the gradient functor: 'x' data, 'y' output, '' none
    backward_reads = BACKWARD_READS[reads]
    computes_in_place = True

    @staticmethod
    def class_attributes(row):  # of the class made for a row of the table
        view = row.functor == "identity"
        return {"graph": UnaryHooks(elementwise=True, view=view, takes_bool=row.takes_bool)}

    def create_operator(self, ctx, in_shapes, in_types):
        return LoopsOperator(self, in_types[0])


register_unary(UnaryProperty)
