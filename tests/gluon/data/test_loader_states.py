"""States of loaders: what cannot be one is refused, whole."""

import json

import numpy as np
import pytest

import cynet as mx
from cynet.gluon.data import ArrayDataset, DataLoader, sample_generator


@pytest.mark.parametrize(
    "change",
    [
        {"batch": -1},
        {"batch": "x"},
        {"epoch": 1e999},
        {"begin": {}},
        {"now": None},
        {"begin": 3},
        {"now": {"numpy": ["MT19937", [[1]], 0, 0, 0.0], "shuffles": [], "rollover": []}},
        {"now": {"numpy": 3, "shuffles": [], "rollover": []}},
        {"begin": {"shuffles": ["x"]}},
    ],
)
def test_a_state_that_is_none(change):
    """It is refused as a whole: NumPy's random numbers stay where they are."""
    loader = DataLoader(ArrayDataset(np.arange(6)), 2)
    batches = iter(loader)
    next(batches)
    state = loader.state_dict()
    before = np.random.get_state()[1].copy()
    with pytest.raises(mx.errors.FormatError, match="expected a state of (a|this) DataLoader"):
        loader.load_state_dict({**state, **change})
    assert (np.random.get_state()[1] == before).all()


@pytest.mark.parametrize(
    "change",
    [
        {"batch": 4},
        {"batch": 10**15},
        {"batch": 1.0},
        {"batch": True},
        {"epoch": "1"},
        {"batch": None},
        {"epoch": [1]},
        {"begin": None},
        {"samples": 7},
        {"samples": "6"},
        {"another": 1},
        {"now": {"rollover": "ab"}},
        {"now": {"rollover": [1, 2]}},
    ],
)
def test_a_place_that_there_is_not(change):
    loader = DataLoader(ArrayDataset(np.arange(6)), 2)
    batches = iter(loader)
    next(batches)
    state = loader.state_dict()
    if "now" in change:
        change = {"now": {**state["now"], **change["now"]}}
    with pytest.raises(
        mx.errors.FormatError, match="a state of (a|this) DataLoader, got|, for one of 6"
    ):
        loader.load_state_dict({**state, **change})
    assert len(list(batches)) == 2 and loader.state_dict()["epoch"] == 1
    shorter = DataLoader(ArrayDataset(np.arange(5)), 2)
    with pytest.raises(mx.errors.FormatError, match="a dataset of 6 samples, for one of 5"):
        shorter.load_state_dict(state)
    for key in state.keys() - {"samples"}:
        with pytest.raises(mx.errors.FormatError, match="expected a state of (a|this) DataLoader"):
            loader.load_state_dict({name: state[name] for name in state if name != key})


def test_a_place_behind_the_end_of_a_sampler_without_a_length():
    loader = DataLoader([1, 2, 3, 4], batch_sampler=[[0, 1], [2], [3]])
    next(iter(loader))
    loader.load_state_dict({**loader.state_dict(), "batch": 4})
    with pytest.raises(mx.errors.FormatError, match="behind 4 batches of an epoch that has 3"):
        iter(loader)


class Drawn:
    def __len__(self):
        return 11

    def __getitem__(self, index):
        return np.array([index, sample_generator().uniform()])


def loader_of(last, mode):
    workers = {
        "here": {},
        "threads": {"num_workers": 2, "thread_pool": True},
        "processes": {"num_workers": 2},
    }[mode]
    return DataLoader(Drawn(), 3, shuffle=True, last_batch=last, **workers)


def rest_of(loader, batches):
    """The epoch's other batches, and those of the two epochs after it."""
    return [[each.asnumpy().tolist() for each in epoch] for epoch in (batches, loader, loader)]


@pytest.mark.parametrize(
    ("last", "mode"),
    [("keep", "here"), ("rollover", "here"), ("discard", "threads"), ("rollover", "processes")],
)
def test_load_and_save_is_the_identity_everywhere(last, mode):
    """Before the first batch, within each epoch, behind its last batch and at its end: a loader
    goes on there, also one whose state was loaded and saved again before, or behind ``iter``."""
    for position in range(6):
        np.random.seed(position)
        loader = loader_of(last, mode)
        list(loader)  # epoch 0: with rollover something is left over
        batches = iter(loader)
        for _ in range(position):
            next(batches, None)
        state = json.loads(json.dumps(loader.state_dict()))
        wanted = rest_of(loader, batches)
        loader.close()
        if position > len(wanted[1]):  # the epoch had ended: its rest is the epoch after it
            wanted = [*wanted[1:], None]
        for again in ("once", "twice", "iterated"):
            np.random.seed(99)
            other = loader_of(last, mode)
            other.load_state_dict(state)
            assert other.state_dict() == state
            if again == "twice":
                middle, other = other, loader_of(last, mode)
                other.load_state_dict(json.loads(json.dumps(middle.state_dict())))
            batches = iter(other)
            if again == "iterated":
                now = other.state_dict()
                other.close()
                other = loader_of(last, mode)
                other.load_state_dict(now)
                batches = iter(other)
            found = rest_of(other, batches)
            other.close()
            wanted = [each for each in wanted if each is not None]
            assert found[: len(wanted)] == wanted


def test_saved_inside_another_epoch():
    """A state that was loaded counts, wherever the loader was."""
    loader = DataLoader(ArrayDataset(np.arange(10)), 2)
    batches = iter(loader)
    next(batches)
    state = loader.state_dict()
    list(batches)
    later = iter(loader)
    for _ in range(3):
        next(later)
    loader.load_state_dict(state)
    assert loader.state_dict() == state
    assert len(list(loader)) == 4 and len(list(loader)) == 5
    fresh = DataLoader(ArrayDataset(np.arange(10)), 2).state_dict()
    next(iter(loader))
    loader.load_state_dict(fresh)
    assert loader.state_dict() == fresh and len(list(loader)) == 5


@pytest.mark.parametrize("first", [0, 2])
@pytest.mark.parametrize("second", [0, 2])
def test_a_state_before_the_first_batch(first, second, seed):
    """The order may have been drawn, by workers that make batches ahead, or not."""

    def epochs(loader, batches):
        return [[x.asnumpy().tolist() for x in each] for each in (batches, loader, loader)]

    mx.random.seed(seed)
    loader = DataLoader(ArrayDataset(np.arange(12)), 4, shuffle=True, num_workers=first)
    list(loader)
    batches = iter(loader)
    state = json.loads(json.dumps(loader.state_dict()))
    wanted = epochs(loader, batches)
    after = DataLoader(ArrayDataset(np.arange(12)), 4, shuffle=True, num_workers=second)
    after.load_state_dict(state)
    assert epochs(after, after) == wanted
    for each in (loader, after):
        each.close()
