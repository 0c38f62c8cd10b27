"""States of loaders: what cannot be one is refused, whole."""

import numpy as np
import pytest

import cynet as mx
from cynet.gluon.data import ArrayDataset, DataLoader


@pytest.mark.parametrize("change", [
    {"batch": -1}, {"batch": "x"}, {"epoch": 1e999}, {"begin": {}}, {"now": None}, {"begin": 3},
    {"now": {"numpy": ["MT19937", [[1]], 0, 0, 0.0], "shuffles": [], "rollover": []}},
    {"now": {"numpy": 3, "shuffles": [], "rollover": []}}, {"begin": {"shuffles": ["x"]}},
])  # fmt: skip
def test_a_state_that_is_none(change):
    """It is refused as a whole: NumPy's random numbers stay where they are."""
    loader = DataLoader(ArrayDataset(np.arange(6)), 2)
    batches = iter(loader)
    next(batches)
    state = loader.state_dict()
    before = np.random.get_state()[1].copy()
    with pytest.raises(mx.errors.FormatError, match="no state of a DataLoader"):
        loader.load_state_dict({**state, **change})
    assert (np.random.get_state()[1] == before).all()


def test_a_state_behind_the_last_batch():
    loader = DataLoader(ArrayDataset(np.arange(6)), 2)
    next(iter(loader))
    loader.load_state_dict({**loader.state_dict(), "batch": 10**15})
    assert list(loader) == []
