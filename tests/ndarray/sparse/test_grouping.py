"""Row numbers in groups, against NumPy's sorts."""

import numpy as np
import pytest
from cynet.ndarray.sparse.grouping import distinct_values, group_by_value


@pytest.mark.parametrize("limit", [1, 7, 3_000, 1 << 22, 1 << 45])
@pytest.mark.parametrize("n", [0, 1, 2, 5_000])
def test_groups_are_those_of_a_stable_sort(rng, n, limit):
    numbers = rng.integers(0, limit, n)
    order, rows, starts = group_by_value(numbers)
    np.testing.assert_array_equal(order, np.argsort(numbers, kind="stable"))
    want, first = np.unique(numbers[order], return_index=True)
    np.testing.assert_array_equal(rows, want)
    np.testing.assert_array_equal(starts, first)
    rows, places = distinct_values(numbers, limit)
    want, inverse = np.unique(numbers, return_inverse=True)
    np.testing.assert_array_equal(rows, want)
    np.testing.assert_array_equal(places, inverse)
