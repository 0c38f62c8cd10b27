"""random_split and WeightedSampler."""

import numpy as np
import pytest

import cynet as mx
from cynet.gluon.data import DataLoader, SimpleDataset, WeightedSampler, random_split


@pytest.mark.parametrize(
    "lengths, counts",
    [
        ([7, 3], [7, 3]),
        ([10], [10]),
        ([0, 10, 0], [0, 10, 0]),
        ([0.7, 0.3], [7, 3]),
        ([0.33, 0.33, 0.34], [4, 3, 3]),
        ([1 / 3] * 3, [4, 3, 3]),
        ([0.0, 1.0], [0, 10]),
    ],
)
def test_parts_have_their_lengths_and_all_samples_once(lengths, counts, seed):
    parts = random_split(SimpleDataset(list(range(10))), lengths)
    assert [len(part) for part in parts] == counts
    assert sorted(x for part in parts for x in part) == list(range(10))


def test_the_seed_decides_the_parts():
    data = SimpleDataset(list(range(100)))
    orders = []
    for number in (1, 1, 2):
        mx.random.seed(number)
        orders.append([list(part) for part in random_split(data, [50, 50])])
    assert orders[0] == orders[1] != orders[2]
    assert orders[0][0] != sorted(orders[0][0])


@pytest.mark.parametrize("lengths", [[5, 6], [4, 5], [-1, 11], [0.5, 0.6], [1.5, -0.5], []])
def test_lengths_that_do_not_add_up(lengths):
    with pytest.raises(mx.errors.ArgumentError, match="random_split"):
        random_split(SimpleDataset(list(range(10))), lengths)


def test_samples_come_in_proportion_to_their_weights(seed):
    weights = np.array([0, 1, 2, 5])
    sampler = WeightedSampler(weights, 8000)
    counts = np.bincount(list(sampler), minlength=4)
    assert len(sampler) == counts.sum() == 8000 and counts[0] == 0
    expected = weights / weights.sum() * 8000
    spread = np.sqrt(expected * (1 - weights / weights.sum()))
    assert (np.abs(counts - expected) <= 6 * spread).all()


def test_without_replacement_each_comes_once(seed):
    drawn = list(WeightedSampler([1, 0, 2, 3], 3, replacement=False))
    assert sorted(drawn) == [0, 2, 3]


def test_a_loader_takes_it_and_the_seed_decides():
    data = SimpleDataset(np.arange(4, dtype="float32"))
    found = []
    for number in (1, 1, 2):
        mx.random.seed(number)
        loader = DataLoader(data, 10, sampler=WeightedSampler([1, 1, 1, 0], 50))
        found.append([batch.asnumpy().tolist() for batch in loader])
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize(
    "args", [([],), ([-1, 2],), ([np.nan],), ([0, 0],), ([1], 0), ([1, 0], 2, False)]
)
def test_bad_weights(args):
    with pytest.raises(mx.errors.ArgumentError, match="WeightedSampler"):
        WeightedSampler(*args)
