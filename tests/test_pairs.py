"""Pairwise combinations: every pair is there, and they are few."""

import itertools

import pytest

from tests.pairs import pairwise


@pytest.mark.parametrize(
    "sizes, most",
    [((3,), 3), ((3, 4), 12), ((2, 2, 2), 5), ((13, 3, 2), 39), ((4, 3, 3, 2, 5), 24)],
)
def test_every_pair_is_there(sizes, most):
    lists = [[(place, n) for n in range(size)] for place, size in enumerate(sizes)]
    rows = pairwise(*lists)
    assert len(set(rows)) == len(rows) <= most and rows == pairwise(*lists)
    assert all(value in values for row in rows for value, values in zip(row, lists, strict=True))
    for one, other in itertools.combinations(lists, 2):
        for pair in itertools.product(one, other):
            assert any(set(pair) <= set(row) for row in rows), pair


def test_nothing_of_an_empty_list():
    assert pairwise([], [1, 2], [3]) == pairwise([]) == []
