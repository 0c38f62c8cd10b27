"""dot with a csr matrix."""

import math

import numpy as np

from .._call import invoke
from ..dlpack import from_numpy
from . import arrays, convert, structure
from .grouping import distinct_values
from .operators import CSR_DOT, CSR_DOT_TRANSPOSED, CSR_TRANSPOSE
from .through_host import is_on_gpu, warn_and_copy_to_host

# Maximum rows of a matrix whose columns are summed in the dtype of the values: float32 has 3 exact
# digits in such a sum in the worst case, 5 in the usual one.
MAX_SUMMED_ROWS = 16_384  # most rows for sums in the values' dtype
# Maximum columns of a result that is summed by rows of the matrix. A wider one leaves the cache, so
# that the structure of the transpose costs less.
MAX_SUMMED_COLUMNS = 32  # most columns of a result that is summed by rows


class CsrIndices:  # a csr matrix's indices as inputs of operators
    """The indices of a csr matrix and of its transpose, as inputs of operators."""

    def __init__(self, indices, indptr, columns):
        self.rows, self.columns = len(indptr) - 1, columns
        maximum = max(self.rows, columns, len(indices))
        dtype = np.int32 if maximum < 1 << 31 else np.int64  # half the traffic
        self.indices = from_numpy(indices.astype(dtype), zero_copy=True)
        self.indptr = from_numpy(indptr.astype(dtype), zero_copy=True)
        self._transposed = self._compact = None

    def drop_empty_columns(self, matrix):
        """The columns that occur in `matrix`, which has these indices, and the CsrIndices of the
        matrix of these columns alone."""
        if self._compact is None:
            columns, columns_of_elements = distinct_values(matrix._indices, self.columns)
            whole = len(columns) == self.columns
            csr = self if whole else CsrIndices(columns_of_elements, matrix._indptr, len(columns))
            self._compact = columns, csr
        return self._compact

    def transposed_indices(self):
        """NDArrays of the transpose: indices, indptr and the order of its values."""
        if self._transposed is None:
            size = {"rows": self.rows, "columns": self.columns}
            self._transposed = invoke(CSR_TRANSPOSE, (self.indices, self.indptr), size)
        return self._transposed


def csr_indices_of(matrix):
    """The CsrIndices of a canonical csr matrix, cached as its structure does not change."""
    if matrix._transposed is None:
        matrix._transposed = CsrIndices(matrix._indices, matrix._indptr, matrix.shape[1])
    return matrix._transposed


def multiply_csr(values, csr, rhs, transpose):
    """The csr matrix with these values, or its transpose, times the dense matrix `rhs`."""
    n = csr.columns if transpose else csr.rows
    if not values.size or not n or not rhs.size:
        return convert.zero_values(rhs, (n, rhs.shape[1]))
    if is_on_gpu(values):
        on_host = warn_and_copy_to_host("dot of a csr matrix", [values, rhs])
        return multiply_csr(on_host[0], csr, on_host[1], transpose).as_in_context(values.context)
    if not transpose:
        return invoke(CSR_DOT, (values, csr.indices, csr.indptr, rhs), {"rows": csr.rows})
    if csr.rows <= MAX_SUMMED_ROWS and rhs.shape[1] <= MAX_SUMMED_COLUMNS:
        size = {"rows": csr.rows, "columns": csr.columns}
        return invoke(CSR_DOT_TRANSPOSED, (values, csr.indices, csr.indptr, rhs), size)
    indices, indptr, order = csr.transposed_indices()
    picked = convert.call_op("take", values, order)
    return invoke(CSR_DOT, (picked, indices, indptr, rhs), {"rows": csr.columns})


def _as_matrix(rhs):
    """A dense array as a matrix: the first axis by all others flattened."""
    return rhs if rhs.ndim == 2 else rhs.reshape((rhs.shape[0], math.prod(rhs.shape[1:])))


def csr_dot_dense(matrix, rhs, transpose=False):
    """The dense product of a csr matrix, or its transpose, and a dense array."""
    out = multiply_csr(matrix._values_array, csr_indices_of(matrix), _as_matrix(rhs), transpose)
    return out if rhs.ndim == 2 else out.reshape((out.shape[0], *rhs.shape[1:]))


def csr_t_dot_dense(matrix, rhs):
    """A transposed csr matrix times a dense one, with a row for each column that has elements."""
    rows, csr = csr_indices_of(matrix).drop_empty_columns(matrix)
    shape = (matrix.shape[1], *rhs.shape[1:])
    if not len(rows):
        return convert.sparse_zeros("row_sparse", shape, rhs)
    values = multiply_csr(matrix._values_array, csr, _as_matrix(rhs), True)
    if rhs.ndim != 2:
        values = values.reshape((len(rows), *rhs.shape[1:]))
    return arrays.make_sparse("row_sparse", shape, values, rows)


def csr_dot_row_sparse(matrix, rhs, transpose):
    """The product of csr and row_sparse: dense, or row_sparse if the matrix is transposed."""
    if transpose:
        return csr_t_dot_dense(convert.rows_at_indices(matrix, rhs._indices), rhs._values_array)
    if not len(rhs._indices):
        return convert.zero_values(rhs, (matrix.shape[0], *rhs.shape[1:]))
    at, found = structure.find_rows(rhs._indices, matrix._indices)
    common = convert.mask_elements(matrix, found, at, len(rhs._indices))
    return csr_dot_dense(common, rhs._values_array)


def dense_dot_csr(lhs, matrix, stype):
    """The product of dense and csr: dense, or csr with the same columns in all rows."""
    if lhs.ndim != 2:
        flat = lhs.reshape((math.prod(lhs.shape[:-1]), lhs.shape[-1]))
        return dense_dot_csr(flat, matrix, "default").reshape((*lhs.shape[:-1], matrix.shape[1]))
    if stype == "default":
        return csr_dot_dense(matrix, lhs.T, True).T
    product = csr_t_dot_dense(matrix, lhs.T)
    rows, columns = lhs.shape[0], product._indices
    indptr = np.arange(rows + 1, dtype=np.int64) * len(columns)
    shape = (rows, matrix.shape[1])
    if not rows or not len(columns):
        return convert.sparse_zeros("csr", shape, lhs)
    return arrays.make_sparse(
        "csr", shape, product._values_array.T.reshape((-1,)), np.tile(columns, rows), indptr
    )
