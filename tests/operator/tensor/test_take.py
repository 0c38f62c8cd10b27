"""take and pick beside NumPy: indices of every dtype, more than are read together, some outside."""

import numpy as np
import pytest

import cynet as mx
from cynet import nd

DTYPES = ["int8", "uint8", "int32", "int64", "float16", "float32", "float64", "bool"]
COUNTS = [1, 1023, 1024, 1025, 5000, 150_000]


def _indices(rng, count, dtype, n=100):
    return rng.integers(0, 2 if dtype == "bool" else n, count).astype(dtype)


@pytest.mark.parametrize("index", DTYPES)
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("dtype", ["float16", "float32", "int64"])
def test_take_of_elements(rng, index, count, dtype):
    values, places = rng.integers(0, 99, 100).astype(dtype), _indices(rng, count, index)
    found = nd.take(nd.array(values, dtype=dtype), nd.array(places, dtype=index))
    assert (found.asnumpy() == values[places.astype(int)]).all()


@pytest.mark.parametrize("index", DTYPES)
@pytest.mark.parametrize("count", COUNTS)
def test_pick_of_rows(rng, index, count):
    values = rng.random((count, 100)).astype("float32")
    places = _indices(rng, count, index)
    found = nd.pick(nd.array(values), nd.array(places, dtype=index))
    assert (found.asnumpy() == values[np.arange(count), places.astype(int)]).all()


@pytest.mark.parametrize("wrong", [-1, -5, 100, 120])
@pytest.mark.parametrize("at", [0, 1024, 4999])
@pytest.mark.parametrize("mode", ["clip", "wrap", "raise"])
def test_one_index_outside_among_many(rng, wrong, at, mode):
    values, places = rng.random(100).astype("float32"), rng.integers(0, 100, 5000)
    places[at] = wrong
    for dtype in ("int32", "float32"):
        x, index = nd.array(values), nd.array(places, dtype=dtype)
        if mode == "raise":
            with pytest.raises(mx.errors.CynetError, match=f"index {wrong} is out of bounds"):
                nd.take(x, index, mode=mode).asnumpy()
            continue
        found = nd.take(x, index, mode=mode).asnumpy()
        assert (found == np.take(values, places, mode=mode)).all()


def test_fractions_are_cut_off_and_nan_is_the_first():
    x = nd.array([10, 20, 30])
    index = nd.array([0.9, -0.5, 2.99, float("nan")])
    assert nd.take(x, index, mode="clip").asnumpy().tolist() == [10, 10, 30, 10]


def test_results_do_not_depend_on_threads(rng):
    values, places = rng.random(70_000).astype("float32"), rng.integers(0, 70_000, 400_000)
    x, index = nd.array(values), nd.array(places, dtype="int64")
    found = nd.take(x, index).asnumpy()
    assert found.tobytes() == values[places].tobytes()
    into = nd.ones(400_000)
    nd.take(x, index, out=into)
    assert into.asnumpy().tobytes() == found.tobytes()
