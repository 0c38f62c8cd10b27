"""The rows of a Parameter of storage type row_sparse."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ... import autograd
from ... import ndarray as nd
from ...base.errors import ArgumentTypeError, shown
from ...ndarray.sparse.convert import row_sparse_of_dense
from ..errors import StateError

if TYPE_CHECKING:
    from ...typing import NDArray


class RowSparseData:  # base of Parameter: access to rows of sparse data
    """Base of Parameter: access to the rows of a row_sparse parameter. Each context keeps all rows,
    so that rows are taken and nothing is fetched."""

    def row_sparse_data(self, row_id: NDArray) -> NDArray:
        """Return the rows at the indices `row_id`, as a row_sparse array on its context.

        In a record scope gradients of these rows go to `grad`.

        Returns
        -------
        RowSparseNDArray
            Of the parameter's shape, with each of these rows once.

        Raises
        ------
        ArgumentTypeError
            `row_id` is not an NDArray.
        StateError
            A RuntimeError: the parameter's storage type is not row_sparse.

        Examples
        --------
        >>> w = mx.gluon.Parameter("w", shape=(4, 1), stype="row_sparse")
        >>> w.initialize(init="ones")
        >>> w.row_sparse_data(mx.nd.array([2, 0, 2])).indices.asnumpy().tolist()
        [0, 2]
        """
        if not isinstance(row_id, nd.NDArray):
            raise ArgumentTypeError(
                f"parameter '{self.name}': row_id must be an NDArray, got {shown(row_id)}"
            )
        self._require_row_sparse("row_sparse_data", "data")
        return self._take_rows(self._check_and_get(self._data, row_id.context), row_id)

    def list_row_sparse_data(self, row_id: NDArray) -> list[NDArray]:
        """Return a list with `row_sparse_data` of each context.

        Raises
        ------
        StateError
            A RuntimeError: the parameter's storage type is not row_sparse.

        Examples
        --------
        >>> w = mx.gluon.Parameter("w", shape=(4, 1), stype="row_sparse")
        >>> w.initialize(init="ones", ctx=[mx.cpu(0), mx.cpu(1)])
        >>> arrays = w.list_row_sparse_data(mx.nd.array([2, 0]))
        >>> [rows.indices.asnumpy().tolist() for rows in arrays]
        [[0, 2], [0, 2]]
        """
        self._require_row_sparse("list_row_sparse_data", "list_data")
        return [self._take_rows(each, row_id) for each in self._check_and_get(self._data, list)]

    def _require_row_sparse(self, what, other):
        if self._stype != "row_sparse":
            raise StateError(
                f"parameter '{self.name}' has storage type '{self._stype}': take {other}() instead "
                f"of {what}()"
            )

    def _refuse_row_sparse(self, what):
        if self._stype == "row_sparse":
            raise StateError(
                f"parameter '{self.name}' has storage type 'row_sparse': take row_sparse_data() "
                f"or list_row_sparse_data() instead of {what}()"
            )

    def _take_rows(self, data, row_id):
        rows = np.unique(row_id.asnumpy().astype(np.int64))
        return row_sparse_of_dense(f"parameter '{self.name}': row_id", data, rows)

    def _data_of_contexts(self):
        """Return the arrays on all contexts, of any storage type."""
        if self._stype == "default":
            return self.list_data()
        return list(self._check_and_get(self._data, list))

    def _to_file_format(self, data):
        """Convert an array for a file: a row_sparse parameter is saved with all rows."""
        if self._stype == "default":
            return data
        with autograd.pause():
            rows = np.arange(data.shape[0], dtype=np.int64)
            return row_sparse_of_dense(self.name, data, rows)
