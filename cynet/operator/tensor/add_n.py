"""add_n: the sum of any number of arrays of one shape."""

from .._elementwise import LoopsOperator
from ..elementwise_loop import Loop
from ..graph_hooks import GraphHooks, Traits
from ..parameters import MAX_ARRAYS, Int
from ..precision import WIDEST, Precision
from ..property import OperatorProperty
from ..second_order import Linear
from ..sparse.elementwise import SUM_OF_ALL


class AddNHooks(GraphHooks):
    """Graph hooks of add_n: one loop adds two inputs, then one loop adds each further input."""

    traits = Traits(bfloat16_loops=True)

    def forward_loops(self, prop, in_data, out_data):
        first, rest = in_data[:2], in_data[2:]
        begin = Loop("binary", "plus", tuple(first), out_data[0])
        if len(first) == 1:
            begin = Loop("unary", "identity", tuple(first), out_data[0])
        return [begin] + [
            Loop("unary", "identity", (each,), out_data[0], more=True) for each in rest
        ]

    def backward_loops(self, prop, out_grad, in_data, out_data, in_grad):
        return [Loop("unary", "identity", (out_grad[0],), each) for each in in_grad]


class AddNProperty(OperatorProperty, operator="add_n", aliases=("ElementWiseSum",)):
    """Sum of any number of arrays of one shape: ``output = data[0] + data[1] + ...``."""

    graph = AddNHooks(elementwise=True, passes_gradient=True)
    key_var_num_args = "num_args"
    num_args = Int(doc="Number of inputs; filled in from the call.", low=1, high=MAX_ARRAYS)
    second_order = Linear()
    sparse = SUM_OF_ALL
    amp = Precision(WIDEST, WIDEST)
    in_sparse = ("ElementWiseSum", "add_n")
    backward_reads = ("out_grad",)
    computes_in_place = True
    example = """
    >>> mx.nd.add_n(mx.nd.array([1, 2]), mx.nd.array([3, 4]), mx.nd.array([5, 6]))
    [ 9. 12.]
    <NDArray 2 @cpu(0)>
    """

    def list_arguments(self):
        return [f"arg{i}" for i in range(self.num_args)]

    def create_operator(self, ctx, in_shapes, in_types):
        return LoopsOperator(self, in_types[0])
