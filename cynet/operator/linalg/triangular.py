"""Triangular matrices in the last two axes: products, equations, diagonals, triangles as vectors.

trmm: alpha op(A) B; trsm: X with op(A) X = alpha B; syrk: alpha A A'; extractdiag, makediag,
extracttrian, maketrian.
"""

from math import isqrt

from ...base.errors import ArgumentError
from ..checks.dtypes import require_float_cpu
from ..parameters import Bool, Double, Int
from ..precision import FLOAT32, Precision
from ..property import OperatorProperty, ShapesFromInput, merge_shapes
from ..second_order import Formula, Linear
from ..tensor.strided_moves import StridedCopyOperator, StridedPart, View, whole_view
from . import formulas
from .stack import MatrixProperty, refuse_shape, require_matrices, require_square


class _TriangularProperty(MatrixProperty):
    """Base of operators on a triangular A and a B of the output's shape."""

    inputs_doc = {
        "A": "Triangular matrices, of which one triangle is read.",
        "B": "Matrices that fit.",
    }
    transpose = Bool(False, doc="Take A transposed.")
    rightside = Bool(False, doc="A stands at the right.")
    lower = Bool(True, doc="Read the lower triangle of A, else the upper one.")
    alpha = Double(1.0, doc="A factor.")

    def infer_shape(self, in_shapes, out_shapes):
        a, b = in_shapes
        b = merge_shapes(b, out_shapes[0])
        if a is not None:
            a = require_square(self, "A", a)
        if b is None:
            return [a, b], [b], []
        *leading, m, n = require_matrices(self, "B", b)
        wanted = n if self.rightside else m
        if a is None:
            return [(*leading, wanted, wanted), b], [b], []
        size = a[-1]
        if len(a) != len(b) or (size and wanted and size != wanted):
            refuse_shape(self, "B", b, f"matrices that fit A of {a}")
        leading = merge_shapes(a[:-2], tuple(leading))
        size = size or wanted
        b = (*leading, m, n or size) if self.rightside else (*leading, m or size, n)
        return [(*leading, size, size), b], [b], []

    def matrix_stack_sizes(self, in_shapes):
        *leading, m, n = in_shapes[1]
        return leading, m, n


class TrmmProperty(_TriangularProperty, operator="_linalg_trmm", aliases=("linalg_trmm",)):
    """Products of triangular matrices: ``alpha op(A) B``, with `rightside` ``alpha B op(A)``."""

    second_order = Formula(formulas.trmm_gradients)
    operation = "TRMM"
    backward_reads = ("out_grad", "in_data")
    example = """
    >>> lower = mx.nd.array([[1, 0], [2, 3]])
    >>> mx.nd.linalg.trmm(lower, mx.nd.array([[1, 1], [1, 2]]))
    [[1. 1.]
     [5. 8.]]
    <NDArray 2x2 @cpu(0)>
    """


class TrsmProperty(_TriangularProperty, operator="_linalg_trsm", aliases=("linalg_trsm",)):
    """Solves triangular equations: the output X has ``op(A) X = alpha B``.

    With `rightside` it has ``X op(A) = alpha B``. Where an entry of the diagonal is 0 the output
    holds infinities and NaN.
    """

    second_order = Formula(formulas.trsm_gradients)
    operation = "TRSM"
    example = """
    >>> lower = mx.nd.array([[1, 0], [2, 4]])
    >>> mx.nd.linalg.trsm(lower, mx.nd.array([[1, 1], [6, 10]]))  # lower @ result is the second
    [[1. 1.]
     [1. 2.]]
    <NDArray 2x2 @cpu(0)>
    """

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [*out_grad, in_data[0], *out_data]


class SyrkProperty(MatrixProperty, operator="_linalg_syrk", aliases=("linalg_syrk",)):
    """Gram matrices ``alpha A A'``, with `transpose` ``alpha A' A``."""

    transpose = Bool(False, doc="Multiply from the other side.")
    alpha = Double(1.0, doc="A factor.")
    second_order = Formula(formulas.syrk_gradients)
    operation = "SYRK"
    backward_reads = ("out_grad", "in_data")
    example = """
    >>> mx.nd.linalg.syrk(mx.nd.array([[1, 2], [3, 4]]))
    [[ 5. 11.]
     [11. 25.]]
    <NDArray 2x2 @cpu(0)>
    """

    def infer_shape(self, in_shapes, out_shapes):
        shape, out = in_shapes[0], out_shapes[0]
        if out is not None:
            out = require_square(self, "output", out)
        if shape is None:
            return [None], [out], []
        *leading, m, n = require_matrices(self, "A", shape)
        size = n if self.transpose else m
        out = merge_shapes((*leading, size, size), out)
        size = out[-1]
        shape = merge_shapes(shape, (*out[:-2], *((m, size) if self.transpose else (size, n))))
        return [shape], [out], []


class ExtractTrianProperty(
    ShapesFromInput,
    MatrixProperty,
    operator="_linalg_extracttrian",
    aliases=("linalg_extracttrian",),
):
    """One triangle of each square matrix as a vector.

    A lower triangle is read row by row, an upper one column by column.

    The triangle is the one at the diagonal of number `offset`: that which ends there above the main
    diagonal (offset > 0) or below it (offset < 0); for 0 `lower` says which one.
    """

    inputs_doc = {"A": "Square matrices, shape (..., n, n)."}
    offset = Int(0, doc="Diagonal at which the triangle lies, above the main one if positive.")
    lower = Bool(True, doc="For offset 0: the lower triangle, else the upper one.")
    second_order = Linear()
    operation = "EXTRACT_TRIAN"
    backward_reads = ("out_grad",)
    example = """
    >>> x = mx.nd.array([[4, 2], [2, 5]])
    >>> mx.nd.linalg.extracttrian(x)
    [4. 2. 5.]
    <NDArray 3 @cpu(0)>
    """

    def shapes_from(self, shape):
        shape = require_square(self, "A", shape)
        length = _diagonal_length(self, shape)
        return shape, (*shape[:-2], length * (length + 1) // 2 if length else 0)


class MakeTrianProperty(
    ShapesFromInput, MatrixProperty, operator="_linalg_maketrian", aliases=("linalg_maketrian",)
):
    """Square matrices with one triangle from a vector, as `extracttrian` gives it, else zeros."""

    inputs_doc = {"A": "Vectors of n (n + 1) / 2 entries in the last axis."}
    offset = Int(0, doc="Diagonal at which the triangle lies, above the main one if positive.")
    lower = Bool(True, doc="For offset 0: the lower triangle, else the upper one.")
    second_order = Linear()
    operation = "MAKE_TRIAN"
    backward_reads = ("out_grad",)
    example = """
    >>> mx.nd.linalg.maketrian(mx.nd.array([1, 2, 3]))
    [[1. 0.]
     [2. 3.]]
    <NDArray 2x2 @cpu(0)>
    """

    def shapes_from(self, shape):
        *leading, length = shape
        if not length:
            return shape, (*leading, 0, 0)
        size = (isqrt(8 * length + 1) - 1) // 2
        if size * (size + 1) // 2 != length:
            refuse_shape(self, "A", shape, "a last axis of n (n + 1) / 2 entries")
        size += abs(self.offset)
        return shape, (*leading, size, size)

    def matrix_stack_sizes(self, in_shapes):
        *leading, size, _ = self.output_shapes(in_shapes)[0]
        return leading, size, size


class _DiagonalProperty(ShapesFromInput, OperatorProperty):  # base: copies to or from diagonals
    """Base of operators that convert a diagonal of a matrix to a vector, or back."""

    offset = Int(0, doc="Number of the diagonal, above the main one if positive.")
    backward_reads = ("out_grad",)
    amp = Precision(FLOAT32)

    def list_arguments(self):
        return ["A"]


class ExtractDiagProperty(
    _DiagonalProperty, operator="_linalg_extractdiag", aliases=("linalg_extractdiag",)
):
    """A diagonal of each square matrix as a vector."""

    inputs_doc = {"A": "Square matrices, shape (..., n, n)."}
    second_order = Linear()
    example = """
    >>> x = mx.nd.array([[4, 2], [2, 5]])
    >>> mx.nd.linalg.extractdiag(x)
    [4. 5.]
    <NDArray 2 @cpu(0)>
    """

    def shapes_from(self, shape):
        shape = require_square(self, "A", shape)
        return shape, (*shape[:-2], _diagonal_length(self, shape))

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, self.list_arguments(), in_types)
        out = whole_view(self.output_shapes(in_shapes)[0])
        view = _diagonal_view(in_shapes[0], self.offset, out.shape)
        return StridedCopyOperator(in_types[0], [StridedPart(view, out)], uncovered=(0,))


class MakeDiagProperty(
    _DiagonalProperty, operator="_linalg_makediag", aliases=("linalg_makediag",)
):
    """Square matrices with a diagonal from a vector, zeros elsewhere."""

    inputs_doc = {"A": "Vectors in the last axis."}
    second_order = Linear()
    example = """
    >>> mx.nd.linalg.makediag(mx.nd.array([1, 2]))
    [[1. 0.]
     [0. 2.]]
    <NDArray 2x2 @cpu(0)>
    """

    def shapes_from(self, shape):
        *leading, length = shape
        size = length + abs(self.offset) if length else 0
        return shape, (*leading, size, size)

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, self.list_arguments(), in_types)
        out = self.output_shapes(in_shapes)[0]
        view = _diagonal_view(out, self.offset, in_shapes[0])
        return StridedCopyOperator(
            in_types[0], [StridedPart(whole_view(in_shapes[0]), view)], fill=0.0
        )


def _diagonal_length(prop, shape):
    """Return the length of the diagonal `offset` of square matrices, 0 if unknown."""
    size = shape[-1]
    if size and abs(prop.offset) >= size:
        raise ArgumentError(
            f"operator {prop.op_name}: parameter 'offset' is {prop.offset}, of which matrices of "
            f"{size} x {size} have no diagonal"
        )
    return size - abs(prop.offset) if size else 0


def _diagonal_view(shape, offset, diagonal_shape):
    """Return the View of a diagonal of an array of matrices."""
    strides = whole_view(shape).strides
    start = offset if offset > 0 else -offset * strides[-2]
    return View(tuple(diagonal_shape), (*strides[:-2], strides[-2] + 1), start)
