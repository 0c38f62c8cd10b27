"""Products: dot of matrices, vectors and N-dimensional arrays; batch_dot of stacks of matrices."""

from math import prod

from ...base.errors import ShapeError
from ...kernels.conv import onednn
from ..checks.dtypes import NARROW_FLOATS
from ..graph_hooks import GraphHooks
from ..parameters import Bool, Enum
from ..precision import WIDEST, Precision
from ..property import OperatorProperty, ResourceRequest, merge_shapes
from ..second_order import Linear
from ..sparse.products import DOT
from .matmul import ProductOperator, choose_product_kernels
from .matmul_onednn import LibraryProducts


class ProductHooks(GraphHooks):
    """The hooks of dot and batch_dot."""

    def algorithms(self, prop, in_shapes, in_types):
        if self.takes_bfloat16(prop, in_shapes, in_types):
            return {}  # no alternatives
        _, *sizes = prop.product_sizes(*in_shapes)
        dtype = "float32" if in_types[0] in NARROW_FLOATS else in_types[0]
        return choose_product_kernels(prop, dtype, *sizes)

    def takes_bfloat16(self, prop, in_shapes, in_types):
        return set(in_types) == {"bfloat16"} and onednn.takes_bfloat16()

    def flops(self, prop, in_shapes, out_shapes):
        products, m, n, k = prop.product_sizes(*in_shapes)
        return 2 * products * m * n * k


class DotHooks(ProductHooks):
    """Graph hooks of dot: an inner product of vectors is bound by memory."""

    def is_memory_bound(self, prop, in_shapes):
        _, m, n, _ = prop.product_sizes(*in_shapes)
        return m == 1 and n == 1


class ProductProperty(OperatorProperty):  # base of dot and batch_dot
    """The base of dot and batch_dot."""

    inputs_doc = {"lhs": "The left operand.", "rhs": "The right operand."}
    transpose_a = Bool(False, doc="Transpose the left operand first.")
    transpose_b = Bool(False, doc="Transpose the right operand first.")
    forward_stype = Enum(
        ("default", "row_sparse", "csr"),
        None,
        doc="Storage type of the output; accepted for files, without effect.",
    )

    graph = ProductHooks(of_nothing=0.0, float32_beside_half=())  # sums over no elements are 0
    backward_reads = ("out_grad", "in_data")

    def forward_resource(self, in_shapes):
        return [ResourceRequest.temp_space]

    def backward_resource(self, in_shapes):
        return [ResourceRequest.temp_space]

    def create_operator(self, ctx, in_shapes, in_types):
        if in_types[0] == "bfloat16":
            return LibraryProducts(self, *self.product_sizes(*in_shapes))
        return ProductOperator(self, in_types[0], *self.product_sizes(*in_shapes))


class DotProperty(ProductProperty, operator="dot"):
    """Product of the last axis of lhs with the first axis of rhs.

    Of two vectors it is the inner product, of two matrices the matrix product. With ``transpose_a``
    the first axis of lhs is the one that is summed over, with ``transpose_b`` the last one of rhs.
    """

    graph = DotHooks(of_nothing=0.0, float32_beside_half=())
    second_order = Linear({0: (1,), 1: (0,)})
    sparse = DOT
    amp = Precision(WIDEST, WIDEST)
    in_sparse = ("dot",)
    example = """
    >>> x = mx.nd.array([[1, 2], [3, 4]])
    >>> y = mx.nd.array([[1, 0, 2], [0, 1, 1]])
    >>> mx.nd.dot(x, y)
    [[ 1.  2.  4.]
     [ 3.  4. 10.]]
    <NDArray 2x3 @cpu(0)>
    >>> mx.nd.dot(x, x, transpose_b=True)
    [[ 5. 11.]
     [11. 25.]]
    <NDArray 2x2 @cpu(0)>
    """

    def matrix_axes(self, lhs, rhs):
        """Return (row axes, inner length of lhs, inner length of rhs, column axes) of a product."""
        if self.transpose_a and len(lhs) > 1:
            rows, left = lhs[1:], lhs[0]
        else:
            rows, left = lhs[:-1], lhs[-1]
        if self.transpose_b and len(rhs) > 1:
            right, columns = rhs[-1], rhs[:-1]
        else:
            right, columns = rhs[0], rhs[1:]
        return rows, left, right, columns

    def infer_shape(self, in_shapes, out_shapes):
        lhs, rhs = in_shapes
        if lhs is None or rhs is None:
            return [lhs, rhs], [out_shapes[0]], []
        rows, left, right, columns = self.matrix_axes(lhs, rhs)
        if left and right and left != right:
            raise ShapeError(
                f"dot of {lhs} and {rhs} (transpose_a={self.transpose_a}, "
                f"transpose_b={self.transpose_b}) sums over lengths {left} and {right}"
            )
        return [lhs, rhs], [merge_shapes((*rows, *columns) or self.no_axes, out_shapes[0])], []

    def product_sizes(self, lhs, rhs):
        """(number of products, m, n, k): each is m x k by k x n."""
        rows, left, _, columns = self.matrix_axes(lhs, rhs)
        return 1, prod(rows), prod(columns), left


class BatchDotProperty(ProductProperty, operator="batch_dot"):
    """Matrix products of two stacks: ``output[i] = lhs[i] rhs[i]`` over all leading axes."""

    second_order = Linear({0: (1,), 1: (0,)})
    amp = Precision(WIDEST, WIDEST)
    example = """
    >>> x = mx.nd.arange(8).reshape((2, 2, 2))
    >>> mx.nd.batch_dot(x, mx.nd.ones((2, 2, 1)))[:, :, 0]
    [[ 1.  5.]
     [ 9. 13.]]
    <NDArray 2x2 @cpu(0)>
    """

    def infer_shape(self, in_shapes, out_shapes):
        lhs, rhs = in_shapes
        out = out_shapes[0]
        if out is not None and (lhs is None or rhs is None):
            lhs, rhs = self._shapes_from_output(lhs, rhs, out)
        if lhs is None or rhs is None:
            return [lhs, rhs], [out], []
        if len(lhs) != len(rhs) or len(lhs) < 3:
            raise ShapeError(f"batch_dot takes two arrays of one ndim >= 3, got {lhs} and {rhs}")
        leading = merge_shapes(lhs[:-2], rhs[:-2])
        m, left = lhs[:-3:-1] if self.transpose_a else lhs[-2:]
        right, n = rhs[:-3:-1] if self.transpose_b else rhs[-2:]
        if left and right and left != right:
            raise ShapeError(f"batch_dot of {lhs} and {rhs} sums over lengths {left} and {right}")
        return ([leading + lhs[-2:], leading + rhs[-2:]], [merge_shapes((*leading, m, n), out)], [])

    def _shapes_from_output(self, lhs, rhs, out):
        """Infer the operands' shapes from the output's shape and from each other."""
        if len(out) < 3:
            raise ShapeError(f"batch_dot gives an array of at least 3 axes, not {out}")
        *leading, m, n = out
        k = 0
        if lhs is not None and len(lhs) == len(out):
            k = lhs[-2] if self.transpose_a else lhs[-1]
        elif rhs is not None and len(rhs) == len(out):
            k = rhs[-1] if self.transpose_b else rhs[-2]
        if lhs is None:
            lhs = (*leading, k, m) if self.transpose_a else (*leading, m, k)
        if rhs is None:
            rhs = (*leading, n, k) if self.transpose_b else (*leading, k, n)
        return lhs, rhs

    def product_sizes(self, lhs, rhs):
        """(number of products, m, n, k): each is m x k by k x n."""
        m, k = lhs[:-3:-1] if self.transpose_a else lhs[-2:]
        n = rhs[-2] if self.transpose_b else rhs[-1]
        return prod(lhs[:-2]), m, n, k
