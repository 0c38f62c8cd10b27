"""Weights and gradients of storage type row_sparse, as optimizers take them."""

from __future__ import annotations

from ..base.errors import ArgumentError


def all_rows(array):
    """The dense array that a row_sparse one with all rows consists of, to be changed in place;
    dense ones, tuples of arrays and None as they are.

    Raises
    ------
    ArgumentError
        A row is missing, so that there is no memory for its new values.
    """
    if isinstance(array, (tuple, list)):
        return tuple(map(all_rows, array))
    if array is None or array.stype == "default":
        return array
    values, index = array.parts()
    if array.stype != "row_sparse" or len(index[0]) != array.shape[0]:
        raise ArgumentError(
            f"update: a weight or state that is {array.stype} of shape {array.shape} has values for"
            f" {len(index[-1])} rows; expected a dense array, or a row_sparse one with all rows"
        )
    return values
