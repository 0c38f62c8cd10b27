"""Factorizations, inverses and determinants of matrices in the last two axes.

potrf: A = L L'; potri: (L L')^-1; gelqf: A = L Q; syevd: A = U' diag(L) U; inverse, det, slogdet,
sumlogdiag. Gradients of symmetric inputs are symmetric.
"""

from ..parameters import Bool
from ..property import merge_shapes
from ..second_order import Formula
from . import formulas
from .stack import MatrixProperty, refuse_shape, require_matrices, require_square


class PotrfProperty(MatrixProperty, operator="_linalg_potrf", aliases=("linalg_potrf",)):
    """Cholesky factors: lower triangular L with ``A = L L'`` of symmetric positive definite A.

    Only the lower triangle of A is read; with ``lower=False`` only the upper one, and the factor is
    the upper triangular U with ``A = U' U``. The gradient is that of symmetric matrices: symmetric.
    A matrix that is not positive definite is an error, which tells its number in the stack.
    """

    inputs_doc = {"A": "Symmetric positive definite matrices, shape (..., n, n)."}
    lower = Bool(True, doc="Give the lower factor, else the upper one; by keyword only.")
    unlisted = ("lower",)
    second_order = Formula(formulas.potrf_gradients)
    operation = "POTRF"
    backward_reads = ("out_grad", "out_data")
    example = """
    >>> x = mx.nd.array([[4, 2], [2, 5]])
    >>> mx.nd.linalg.potrf(x)
    [[2. 0.]
     [1. 2.]]
    <NDArray 2x2 @cpu(0)>
    """


class PotriProperty(MatrixProperty, operator="_linalg_potri", aliases=("linalg_potri",)):
    """Inverses ``(L L')^-1`` from Cholesky factors L; only the lower triangle is read.

    With ``lower=False`` they are ``(U' U)^-1`` from upper factors U.
    """

    inputs_doc = {"A": "Triangular matrices as `potrf` gives them, shape (..., n, n)."}
    lower = Bool(True, doc="A holds lower factors, else upper ones; by keyword only.")
    unlisted = ("lower",)
    second_order = Formula(formulas.potri_gradients)
    operation = "POTRI"
    example = """
    >>> x = mx.nd.array([[4, 2], [2, 5]])
    >>> mx.nd.linalg.potri(mx.nd.linalg.potrf(x))  # the inverse of x
    [[ 0.3125 -0.125 ]
     [-0.125   0.25  ]]
    <NDArray 2x2 @cpu(0)>
    """


class InverseProperty(MatrixProperty, operator="_linalg_inverse", aliases=("linalg_inverse",)):
    """Inverses of square matrices.

    A singular matrix is an error, which tells its number in the stack.
    """

    inputs_doc = {"A": "Square matrices, shape (..., n, n)."}
    second_order = Formula(formulas.inverse_gradients)
    operation = "INVERSE"
    backward_reads = ("out_grad", "out_data")
    example = """
    >>> x = mx.nd.array([[4, 2], [2, 5]])
    >>> mx.nd.linalg.inverse(x)
    [[ 0.3125 -0.125 ]
     [-0.125   0.25  ]]
    <NDArray 2x2 @cpu(0)>
    """


class GelqfProperty(MatrixProperty, operator="_linalg_gelqf", aliases=("linalg_gelqf",)):
    """LQ factorizations ``A = L Q``: the outputs are Q and L.

    The rows of Q, of A's shape (..., m, n), are orthonormal; L, (..., m, m), is lower triangular.
    """

    inputs_doc = {"A": "Matrices of full rank with at most as many rows as columns."}
    second_order = Formula(formulas.gelqf_gradients)
    operation = "GELQF"
    output_names = ("output0", "output1")
    backward_reads = ("out_grad", "out_data")
    example = """
    >>> q, lower = mx.nd.linalg.gelqf(mx.nd.array([[3, 4, 0], [1, 2, 2]]))
    >>> q.shape, lower.shape
    ((2, 3), (2, 2))
    >>> mx.nd.linalg.syrk(q).round()  # rows of q are orthonormal
    [[ 1. -0.]
     [-0.  1.]]
    <NDArray 2x2 @cpu(0)>
    """

    def infer_shape(self, in_shapes, out_shapes):
        shape = merge_shapes(in_shapes[0], out_shapes[0])
        if shape is None:
            return [None], list(out_shapes), []
        *leading, m, n = require_matrices(self, "A", shape)
        if m and n and m > n:
            refuse_shape(self, "A", shape, "no more rows than columns in the last two axes")
        return [shape], [shape, merge_shapes((*leading, m, m), out_shapes[1])], []


class SyevdProperty(MatrixProperty, operator="_linalg_syevd", aliases=("linalg_syevd",)):
    """Eigenvectors and eigenvalues of symmetric matrices: ``A = U' diag(L) U``, outputs U and L.

    The rows of U are orthonormal eigenvectors, in each the entry of largest size is positive; L is
    ascending. Only the lower triangle of A is read. The gradient is that of symmetric matrices;
    where eigenvalues are equal their vectors are not unique, and what they would add is left out.
    """

    inputs_doc = {"A": "Symmetric matrices, shape (..., n, n)."}
    second_order = Formula(formulas.syevd_gradients)
    operation = "SYEVD"
    output_names = ("output0", "output1")
    backward_reads = ("out_grad", "out_data")
    example = """
    >>> rows, values = mx.nd.linalg.syevd(mx.nd.array([[2, 1], [1, 2]]))
    >>> values
    [1. 3.]
    <NDArray 2 @cpu(0)>
    >>> mx.nd.abs(rows)
    [[0.70710677 0.70710677]
     [0.70710677 0.70710677]]
    <NDArray 2x2 @cpu(0)>
    """

    def infer_shape(self, in_shapes, out_shapes):
        shape = merge_shapes(in_shapes[0], out_shapes[0])
        if shape is None:
            return [None], list(out_shapes), []
        shape = require_square(self, "A", shape)
        return [shape], [shape, merge_shapes(shape[:-1], out_shapes[1])], []


class _ScalarOutProperty(MatrixProperty):  # base: one number per matrix
    """Base of operators that compute one number of each square matrix."""

    inputs_doc = {"A": "Square matrices, shape (..., n, n)."}
    backward_reads = ("out_grad", "in_data")

    def infer_shape(self, in_shapes, out_shapes):
        shape = in_shapes[0]
        if shape is None:
            return [None], list(out_shapes), []
        shape = require_square(self, "A", shape)
        out = merge_shapes(shape[:-2] or self.no_axes, *out_shapes)
        return [shape], [out] * len(out_shapes), []


class DetProperty(_ScalarOutProperty, operator="_linalg_det", aliases=("linalg_det",)):
    """Determinants of square matrices; for one matrix an array of one number.

    The gradient is that of the cofactors, also where a matrix is singular.
    """

    second_order = Formula(formulas.det_gradients)
    operation = "DET"
    output_names = ("output0",)
    example = """
    >>> x = mx.nd.array([[4, 2], [2, 5]])
    >>> mx.nd.linalg.det(x)
    [16.]
    <NDArray 1 @cpu(0)>
    """


class SlogdetProperty(_ScalarOutProperty, operator="_linalg_slogdet", aliases=("linalg_slogdet",)):
    """Signs of determinants, and logarithms of their sizes: two outputs.

    Of a singular matrix they are 0 and -inf, and its gradient is zero. No gradient flows from the
    sign.
    """

    second_order = Formula(formulas.slogdet_gradients)
    operation = "SLOGDET"
    output_names = ("output0", "output1")
    example = """
    >>> sign, logdet = mx.nd.linalg.slogdet(mx.nd.array([[0, 1], [2, 0]]))
    >>> sign.asscalar(), logdet.asscalar()
    (np.float32(-1.0), np.float32(0.6931472))
    """


class SumLogDiagProperty(
    _ScalarOutProperty, operator="_linalg_sumlogdiag", aliases=("linalg_sumlogdiag",)
):
    """Sums of the logarithms of the diagonals; NaN where an entry is negative."""

    second_order = Formula(formulas.sumlogdiag_gradients)
    operation = "SUM_LOG_DIAG"
    example = """
    >>> x = mx.nd.array([[4, 2], [2, 5]])
    >>> mx.nd.linalg.sumlogdiag(x)
    [2.9957323]
    <NDArray 1 @cpu(0)>
    """
