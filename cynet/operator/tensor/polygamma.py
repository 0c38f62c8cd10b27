"""_polygamma: derivatives of the logarithm of the gamma function, for gradients of gradients.

MXNet 1.9.1 has no such operator; gradients of `gamma`, `gammaln` and of densities are made of it.
"""

from .._elementwise import LoopsOperator
from ..elementwise_loop import Loop
from ..graph_hooks import GraphHooks
from ..parameters import Int
from ..property import OperatorProperty
from ..second_order import Formula

MAX_ORDER = 100  # MAX_POLYGAMMA of kernels/common/special_math.h


class PolygammaHooks(GraphHooks):
    """Graph hooks: the operator is one loop over the array, and so is its gradient."""

    def forward_loops(self, prop, in_data, out_data):
        return [Loop("binary", "polygamma", (in_data[0], float(prop.n)), out_data[0])]

    def backward_loops(self, prop, out_grad, in_data, out_data, in_grad):
        reads = (out_grad[0], in_data[0], float(prop.n))
        return [Loop("binary_grad", "polygamma_grad", reads, in_grad[0])]


class PolygammaProperty(OperatorProperty, operator="_polygamma"):
    """Derivative of order `n` of the digamma function: ``d^(n + 1) log gamma(x) / dx^(n + 1)``."""

    inputs_doc = {"data": "The input, any shape."}
    n = Int(0, low=0, high=MAX_ORDER - 1, doc="Order; 0 is digamma itself.")
    graph = PolygammaHooks(elementwise=True)
    backward_reads = ("out_grad", "in_data")
    computes_in_place = True
    example = """
    >>> mx.nd.op._polygamma(mx.nd.array([1, 2, 5]), n=0)
    [-0.5772157   0.42278433  1.5061177 ]
    <NDArray 3 @cpu(0)>
    """

    def create_operator(self, ctx, in_shapes, in_types):
        return LoopsOperator(self, in_types[0])

    def gradients(self, F, g, x, y):
        """Gradients, computed by operators."""
        return [lambda: g[0] * F._internal._polygamma(x[0], n=self.n + 1)]

    second_order = Formula(gradients)
