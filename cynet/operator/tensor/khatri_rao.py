"""khatri_rao: Kronecker products of corresponding columns of matrices.

Matrices (r_1, k), ..., (r_n, k) give (r_1 ... r_n, k): row (i_1, ..., i_n), counted row-major, is
the product of rows i_1, ..., i_n, element by element.
"""

from math import prod

from ...base.errors import ShapeError
from ..checks.shapes import check_elements
from ..graph_hooks import GraphHooks
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Int
from ..precision import FLOAT32, Precision
from ..property import is_known, merge_shapes
from ..second_order import Rewrite

MAX_FACTORS = 64  # the limit in kernels/contrib/khatri_rao.cc


class KhatriRaoProperty(KernelProperty, operator="khatri_rao"):
    """Khatri-Rao product: Kronecker products of the matrices' columns, one beside the other."""

    key_var_num_args = "num_args"
    num_args = Int(doc="How many matrices.", low=1, high=MAX_FACTORS)
    graph = GraphHooks(float32_beside_half=())
    amp = Precision(FLOAT32)
    example = """
    >>> x = mx.nd.array([[1, 2], [3, 4]])
    >>> mx.nd.khatri_rao(x, mx.nd.array([[1, 10], [2, 20]]))
    [[ 1. 20.]
     [ 2. 40.]
     [ 3. 40.]
     [ 6. 80.]]
    <NDArray 4x2 @cpu(0)>
    """

    def list_arguments(self):
        return [f"arg{i}" for i in range(self.num_args)]

    def infer_shape(self, in_shapes, out_shapes):
        columns = (out_shapes[0][1],) if out_shapes[0] is not None else (0,)
        for name, shape in zip(self.list_arguments(), in_shapes):
            if shape is None:
                continue
            if len(shape) != 2:
                raise ShapeError(
                    f"operator {self.op_name}: '{name}' has shape {tuple(shape)}, expected a matrix"
                )
            if shape[1] and columns[0] and shape[1] != columns[0]:
                raise ShapeError(
                    f"operator {self.op_name}: '{name}' has shape {tuple(shape)}, "
                    f"expected {columns[0]} columns as the others"
                )
            columns = merge_shapes(columns, shape[1:])
        known = [None if s is None else (s[0], *columns) for s in in_shapes]
        if any(s is None for s in known):
            return known, list(out_shapes), []
        out = merge_shapes((prod([s[0] for s in known]), *columns), out_shapes[0])
        if is_known(out):
            check_elements(out, f"the output of {self.op_name}")
        return [(s[0], out[1]) for s in known], [out], []

    @property
    def forward(self):
        """The kernel of all matrices."""
        return Kernel("khatri_rao", tuple(self.list_arguments()))

    @property
    def backward(self):
        """The kernel of all gradients."""
        names = self.list_arguments()
        return Kernel("khatri_rao_grad", ("d_output", *names), tuple(f"d_{n}" for n in names))

    def compose_outputs(self, F, inputs, aux, training):
        out = inputs[0]
        for each in inputs[1:]:
            out = F.broadcast_mul(out.expand_dims(1), each.expand_dims(0))
            out = out.reshape((-1, each.shape[1]))
        return [out]

    second_order = Rewrite(compose_outputs)
