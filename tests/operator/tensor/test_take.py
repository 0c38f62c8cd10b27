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


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "int64", "uint8"])
@pytest.mark.parametrize("count", [1, 1023, 1024, 1025, 2049])
def test_indices_are_read_a_block_at_a_time(rng, dtype, count):
    """All inside; then one outside or negative, at the beginning and at the end of a block."""
    table = rng.standard_normal((120, 3)).astype("float32")
    rows, columns = rng.integers(0, 120, count), rng.integers(0, 3, count)
    array = nd.array(table)

    def found(rows):
        index = nd.array(rows, dtype=dtype)
        pair = nd.array(np.stack([rows, columns]), dtype=dtype)
        return [
            nd.take(array, index, mode="clip"),
            nd.take(array[:, 0].copy(), index, mode="clip"),
            nd.Embedding(index, array, input_dim=120, output_dim=3),
            nd.gather_nd(array, pair) if rows.max() < 120 else None,
        ]

    places = {0, 1023, count - 1} & set(range(count))
    beyond = [125] if dtype == "uint8" else [125, -2]
    for changed in [
        rows,
        *(np.where(np.arange(count) == p, v, rows) for p in places for v in beyond),
    ]:
        clipped = np.clip(changed, 0, 119)
        wanted = [table[clipped], table[clipped, 0], table[clipped]]
        for one, want in zip(found(changed), wanted):
            np.testing.assert_array_equal(one.asnumpy(), want)
        if changed.max() < 120:
            last = found(changed)[3].asnumpy()
            np.testing.assert_array_equal(last, table[changed, columns])
