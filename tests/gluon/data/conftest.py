"""Tests of data begin without a seed of mx.random, which would decide instead of NumPy's."""

import pytest

import cynet as mx


@pytest.fixture(autouse=True)
def no_seed():
    before = mx.random.shuffle_state()
    mx.random.set_shuffle_state([])
    yield
    mx.random.set_shuffle_state(before)
