"""cynet.gluon.contrib.data.IntervalSampler."""

import pytest

import cynet as mx
from cynet.gluon.contrib.data import IntervalSampler
from cynet.gluon.data import ArrayDataset, DataLoader


def test_order():
    """I6."""
    assert list(IntervalSampler(10, 3)) == [0, 3, 6, 9, 1, 4, 7, 2, 5, 8]
    assert list(IntervalSampler(10, 3, rollover=False)) == [0, 3, 6, 9]
    assert list(IntervalSampler(3, 3)) == [0, 1, 2] and list(IntervalSampler(2, 1)) == [0, 1]


@pytest.mark.parametrize("length, interval", [(10, 3), (7, 7), (12, 4), (5, 2)])
def test_length(length, interval):
    """As many as it says; MXNet's says `length` without rollover, too."""
    for rollover in (True, False):
        sampler = IntervalSampler(length, interval, rollover=rollover)
        assert len(sampler) == len(list(sampler)) == len(set(sampler))
    assert sorted(IntervalSampler(length, interval)) == list(range(length))


def test_in_a_loader():
    loader = DataLoader(ArrayDataset(mx.nd.arange(6)), 2, sampler=IntervalSampler(6, 3))
    assert [batch.asnumpy().tolist() for batch in loader] == [[0, 3], [1, 4], [2, 5]]


def test_refused():
    with pytest.raises(AssertionError, match="interval 3 is larger than the number of samples, 2"):
        IntervalSampler(2, 3)
    with pytest.raises(ValueError, match="interval must be 1 or more, got 0"):
        IntervalSampler(2, 0)
    with pytest.raises(TypeError, match="length must be an int, got 2.5"):
        IntervalSampler(2.5, 1)
