"""What a round tells of all ranks' requests, and how requests are called in messages."""

import numpy as np
import pytest

from cynet.distributed.negotiation import _NO_REQUEST_ID, ROUND_SIZE, NegotiationRound
from cynet.distributed.requests import Request, shorten_difference, shorten_text


def found(*ranks):
    """What MPI's maximum gives of ranks, each {number - base: mark} and a mark without number."""
    rows = []
    for marks, free in ranks:
        row = np.zeros(4 + 3 * ROUND_SIZE, np.int64)
        row[2 : 2 + ROUND_SIZE] = 1
        row[2 + ROUND_SIZE : -2] = _NO_REQUEST_ID
        for i, mark in marks.items():
            row[2 + i], row[2 + ROUND_SIZE + i], row[2 + 2 * ROUND_SIZE + i] = (0, mark, -mark)
        row[-2:] = free, -free
        rows.append(row)
    return np.max(rows, axis=0)


def test_what_all_are_ready_for():
    here = NegotiationRound(
        10, found(({0: 5, 1: 6, 3: 7}, _NO_REQUEST_ID), ({0: 5, 3: 7, 4: 9}, _NO_REQUEST_ID))
    )
    assert here.common == [10, 13] and here.differs is None and here.free is None
    assert not here.left and not here.all_left


@pytest.mark.parametrize("numbers, first", [((1,), 1), ((1, 2), 1), ((0, ROUND_SIZE - 1), 0)])
def test_the_first_that_differs(numbers, first):
    same = dict.fromkeys(range(ROUND_SIZE), 5)
    other = {**same, **dict.fromkeys(numbers, 6)}
    for ranks in ((same, other), (other, same), (same, same, other)):
        made = NegotiationRound(20, found(*((each, _NO_REQUEST_ID) for each in ranks)))
        assert made.differs == 20 + first


def test_requests_without_numbers():
    assert NegotiationRound(0, found(({}, 8), ({}, 8))).free == 8
    some = NegotiationRound(0, found(({}, 8), ({}, 7)))
    assert some.free is None and some.next_upper_bound == 8
    none = NegotiationRound(0, found(({}, _NO_REQUEST_ID), ({}, _NO_REQUEST_ID)))
    assert none.free is None and none.next_upper_bound is None


@pytest.mark.parametrize("leaving", [(True, True), (True, False), (False, True), (False, False)])
def test_ranks_that_leave(leaving):
    rows = []
    for each in leaving:
        row = found(({}, _NO_REQUEST_ID))
        row[0], row[1] = each, -int(each)
        rows.append(row)
    here = NegotiationRound(0, np.max(rows, axis=0))
    assert (here.left, here.all_left) == (any(leaving), all(leaving))


def test_texts_of_the_largest_length():
    two = "sum of 'a' (1,) int8, 'b' (2,) int8"
    assert shorten_text(two, len(two)) == two
    assert shorten_text(two, len(two) - 1) == "sum of 'a' (1,) int8 and 1 more"
    one = "x" * 20
    assert shorten_text(one, 10) == one and shorten_text(one + "y", 10) == "x" * 10 + "..."
    assert shorten_difference(two, two[:-5]) == (
        "sum of ..., 'b' (2,) int8",
        "sum of ..., 'b' (2,)",
    )
    assert shorten_difference(two, two.partition(",")[0] + ") int8")[1].startswith("sum of 'a'")


def test_marks_tell_texts_and_terms_apart():
    texts = ["sum of 'a' (1,) int8", "sum of 'a' (1,) uint8", "sum of 'b' (1,) int8"]
    marks = [Request(each).mark for each in texts]
    marks += [Request(texts[0]).add_settings(terms).mark for terms in ("lr=1", "lr=2")]
    assert len({*marks}) == 5 and all(0 <= each < 1 << 62 for each in marks)
    assert Request(texts[0]).add_settings("lr=1").mark == marks[3]
