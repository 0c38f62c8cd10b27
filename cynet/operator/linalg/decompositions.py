"""Decompositions of general matrices in the last two axes, and systems of equations.

solve: A X = B; svd: A = U diag(L) V; eig: A V = V diag(L).
"""

from ..property import ShapesFromInput, merge_shapes
from ..second_order import Formula
from . import formulas
from .stack import MatrixProperty, refuse_shape, require_matrices, require_square


class SolveProperty(MatrixProperty, operator="_linalg_solve", aliases=("linalg_solve",)):
    """Solutions X of ``A X = B``, of B's shape.

    A singular matrix is an error, which tells its number in the stack.
    """

    inputs_doc = {
        "A": "Square matrices, shape (..., n, n).",
        "B": "Right sides, shape (..., n, k), with the leading axes of A.",
    }
    second_order = Formula(formulas.solve_gradients)
    operation = "SOLVE"
    example = """
    >>> a, b = mx.nd.array([[4, 2], [2, 5]]), mx.nd.array([[8], [12]])
    >>> mx.nd.linalg.solve(a, b)
    [[1.]
     [2.]]
    <NDArray 2x1 @cpu(0)>
    """

    def list_arguments(self):
        return ["A", "B"]

    def infer_shape(self, in_shapes, out_shapes):
        a, b = in_shapes
        b = merge_shapes(b, out_shapes[0])
        if a is not None:
            a = require_square(self, "A", a)
        if b is None:
            return [a, b], [b], []
        *front, columns = require_matrices(self, "B", b)
        if a is not None:
            if any(x and y and x != y for x, y in zip(a, front)) or len(a) != len(b):
                refuse_shape(self, "B", b, f"{a[:-1]} in front of its last axis, as A has")
            front = merge_shapes(a[:-1], tuple(front))
        a, b = (*front, front[-1]), (*front, columns)
        return [a, b], [b], []

    def matrix_stack_sizes(self, in_shapes):
        *leading, n, k = in_shapes[1]
        return leading, n, k

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [*out_grad, in_data[0], *out_data]


class SvdProperty(ShapesFromInput, MatrixProperty, operator="_linalg_svd", aliases=("linalg_svd",)):
    """Singular value decompositions ``A = U diag(L) V``: the outputs are U, L and V.

    With k the lesser of m and n, U is (..., m, k) with orthonormal columns, L is (..., k),
    descending, and V is (..., k, n) with orthonormal rows. In each column of U the entry of largest
    size is positive. Where singular values are equal their
    vectors are not unique, and what these would add to the gradient is left out.
    """

    inputs_doc = {"A": "Matrices, shape (..., m, n)."}
    second_order = Formula(formulas.svd_gradients)
    operation = "SVD"
    output_names = ("output0", "output1", "output2")
    backward_reads = ("out_grad", "out_data")
    example = """
    >>> u, values, v = mx.nd.linalg.svd(mx.nd.array([[3, 0], [0, 2], [0, 0]]))
    >>> values
    [3. 2.]
    <NDArray 2 @cpu(0)>
    """

    def shapes_from(self, shape):
        *leading, m, n = require_matrices(self, "A", shape)
        k = min(m, n)
        return shape, (*leading, m, k), (*leading, k), (*leading, k, n)


class EigProperty(MatrixProperty, operator="_linalg_eig", aliases=("linalg_eig",)):
    """Eigenvalues L and eigenvectors V of square matrices: ``A V = V diag(L)``, outputs L and V.

    The columns of V have the length 1, and in each the entry of largest size is positive. The
    eigenvalues are in LAPACK's order. A matrix with complex
    eigenvalues is an error, which tells its number in the stack. Where eigenvalues are equal their
    vectors are not unique, and what these would add to the gradient is left out.
    """

    inputs_doc = {"A": "Square matrices, shape (..., n, n)."}
    second_order = Formula(formulas.eig_gradients)
    operation = "EIG"
    output_names = ("output0", "output1")
    backward_reads = ("out_grad", "out_data")
    example = """
    >>> values, vectors = mx.nd.linalg.eig(mx.nd.array([[2, 1], [0, 3]]))
    >>> values
    [2. 3.]
    <NDArray 2 @cpu(0)>
    """

    def infer_shape(self, in_shapes, out_shapes):
        shape = merge_shapes(in_shapes[0], out_shapes[1])
        if shape is None:
            return [None], list(out_shapes), []
        shape = require_square(self, "A", shape)
        return [shape], [merge_shapes(shape[:-1], out_shapes[0]), shape], []
