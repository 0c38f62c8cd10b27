"""Places in the arena: those that a look at every value placed before would find, and quickly."""

import pytest

from cynet.graph.arena_packing import pack_values


def place_by_looking(sizes, firsts, lasts):
    """The lowest free place of each value, found among all that were placed before."""
    placed, offsets = [], []
    for size, first, last in zip(sizes, firsts, lasts):
        offset = 0
        for begin, end in sorted((b, e) for b, e, f, t in placed if f <= last and first <= t):
            if offset + size <= begin:
                break
            offset = max(offset, end)
        offsets.append(offset)
        placed.append((offset, offset + size, first, last))
    return max((end for _, end, _, _ in placed), default=0), offsets


def lives_of(kind, n, rng):
    """First and last steps: of short lives, of values that wait for backward, of any lives."""
    if kind == "short":
        return [(i, i + int(rng.integers(1, 4))) for i in range(n)]
    if kind == "training":
        return [(i, 2 * n - i) if i < n else (i, i + 1) for i in range(2 * n)]
    return [sorted(map(int, rng.integers(0, n, 2))) for _ in range(n)]


@pytest.mark.parametrize("kind", ["short", "training", "any"])
@pytest.mark.parametrize("by_size", [True, False])
@pytest.mark.parametrize("n, most", [(1, 1), (7, 2), (60, 3), (60, 50), (400, 300)])
def test_the_lowest_free_place(kind, by_size, n, most, rng):
    for _ in range(20 if n < 100 else 1):
        lives = [(64 * int(rng.integers(0, most + 1)), *life) for life in lives_of(kind, n, rng)]
        if by_size:
            lives.sort(key=lambda each: each[0], reverse=True)
        columns = [list(column) for column in zip(*lives)]
        assert pack_values(*columns) == place_by_looking(*columns)


def test_nothing_to_place():
    assert pack_values([], [], []) == (0, [])
    assert pack_values([0, 64], [3, 3], [3, 3]) == (64, [0, 0])
