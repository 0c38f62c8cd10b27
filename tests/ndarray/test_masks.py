"""x[mask] and x[mask] = value: which arrays are masks, and which hold numbers of rows."""

import numpy as np
import pytest

import cynet as mx
from cynet import autograd as ag
from cynet import nd

VALUES = np.arange(6, dtype="float32").reshape(2, 3) - 2
COMPARISONS = {
    "array and number": lambda x: x > 0,
    "number and array": lambda x: 0 < x,  # noqa: SIM300
    "arrays": lambda x: x > nd.zeros(x.shape, dtype=x.dtype),
    "broadcast": lambda x: x > nd.zeros((1,) * x.ndim, dtype=x.dtype),
    "function": lambda x: nd.greater(x, 0),
    "both": lambda x: (x > 0) * (x < 3),
    "inverse": lambda x: 1 - (x <= 0),
    "logical": lambda x: nd.logical_and(x > 0, x == x),
    "bool": lambda x: (x > 0).astype("bool"),
    "NumPy": lambda x: x.asnumpy() > 0,
}


@pytest.mark.parametrize("kind", COMPARISONS)
@pytest.mark.parametrize("shape", [(6,), (2, 3), (1, 3, 2)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8"])
def test_a_mask_of_the_arrays_shape(kind, shape, dtype):
    values = VALUES.reshape(shape).astype("int8").astype(dtype)
    x = nd.array(values, dtype=dtype)
    mask, wanted = COMPARISONS[kind](x), values > 0
    if kind == "both":
        wanted = wanted & (values < 3)
    assert x[mask].asnumpy().tolist() == values[wanted].tolist()
    given = x.copy()
    given[mask] = 9
    assert given.asnumpy().tolist() == np.where(wanted, 9, values).tolist()
    given = x.copy()
    given[mask] = nd.array(np.arange(wanted.sum()), dtype=dtype)
    again = values.copy()
    again[wanted] = np.arange(wanted.sum())
    assert given.asnumpy().tolist() == again.tolist()
    given = x.copy()
    given[mask] += 1
    assert given.asnumpy().tolist() == np.where(wanted, values + 1, values).tolist()


def test_masks_of_the_first_axes():
    x = nd.array(VALUES)
    rows, columns = x.sum(axis=1) > 0, x[0] > -2
    assert x[rows].asnumpy().tolist() == VALUES[VALUES.sum(1) > 0].tolist()
    assert x[:, columns].asnumpy().tolist() == VALUES[:, VALUES[0] > -2].tolist()
    assert x[1, columns].asnumpy().tolist() == VALUES[1, VALUES[0] > -2].tolist()
    assert x[x > 100].shape == (0,)
    with pytest.raises(mx.MXNetError, match=r"what a comparison gave is a mask.*astype\('int32'\)"):
        x[nd.array([1.0, -1.0, 2.0]) > 0]
    assert x[(nd.array([1.0, -1.0, 2.0]) > 0).astype("int32")].shape == (3, 3)


def test_numbers_of_rows_go_on():
    """As in MXNet: arrays of floats that hold them."""
    x = nd.array(VALUES)
    assert x[nd.array([1, 0])].asnumpy().tolist() == VALUES[[1, 0]].tolist()
    assert x[nd.array([1, 1, 0])].asnumpy().tolist() == VALUES[[1, 1, 0]].tolist()
    flat = nd.array([10, 20, 30])
    assert flat[nd.array([0, 2])].asnumpy().tolist() == [10, 30]
    assert flat[nd.array([2, 0, 1])].asnumpy().tolist() == [30, 10, 20]
    assert flat[nd.array([1, 0, 1], dtype="int32")].asnumpy().tolist() == [20, 10, 20]
    assert nd.array([7])[nd.array([0])].asnumpy().tolist() == [7]
    same = nd.array([[0, 1, 0], [1, 0, 1]], dtype="int64")
    assert x[same].shape == (2, 3, 3)
    rows = x[:, 0] > 0  # which is written to: no truths any more
    rows += nd.array([1, 0])
    assert x[nd.array([0, 1]) * rows].asnumpy().tolist() == VALUES[[0, 1]].tolist()


@pytest.mark.parametrize("shape", [(4,), (2, 2)])
def test_what_could_be_either_is_refused(shape):
    x = nd.array(np.arange(4).reshape(shape))
    index = nd.array(np.array([1, 0, 0, 1]).reshape(shape))
    for call in (lambda: x[index], lambda: x.__setitem__(index, 5)):
        with pytest.raises(mx.MXNetError, match=r"astype\('bool'\).*astype\('int32'\)"):
            call()
    assert x[index.astype("bool")].asnumpy().tolist() == [0, 3]
    assert x[index.astype("int32")].shape == shape + shape[1:]


def test_masks_while_autograd_records():
    x = nd.array(VALUES)
    x.attach_grad()
    with ag.record():
        y = (x[x > 0] * nd.array([1, 10, 100])).sum() + x[(x < 0).astype("bool")].sum()
    y.backward()
    assert x.grad.asnumpy().tolist() == [[1, 1, 0], [1, 10, 100]]
    outside = x < 0
    with ag.record():
        y = x[outside].sum() + (x * outside).sum()
    y.backward()
    assert x.grad.asnumpy().tolist() == [[2, 2, 0], [0, 0, 0]]
    assert x[outside].asnumpy().tolist() == [-2, -1]
    with ag.record(), pytest.raises(mx.MXNetError, match="must not be written"):
        x[outside] = 0


def test_a_mask_is_no_part_of_a_graph():
    mask = nd.array([1.0, -1.0]) > 0
    with pytest.raises(mx.MXNetError, match="belongs to no recorded graph"):
        mask.backward()
    with ag.record():
        mask[:] = 1
        out = mask * 2
    assert mask.grad is None and out.asnumpy().tolist() == [2, 2]


def test_view_is_reshape():
    x = nd.array(VALUES)
    with pytest.raises(AttributeError, match="reshape"):
        x.view(3, 2)
    assert not hasattr(x, "view") and x.reshape(3, 2).shape == (3, 2)


# --- picking by a mask and by numbers, native -----------------------------------------------------
WIDTHS = ["int8", "float16", "bfloat16", "float32", "float64", "bool"]


def _host(shape, dtype, rng):
    values = rng.integers(0, 2 if dtype == "bool" else 100, shape)
    return values.astype("float32" if dtype == "bfloat16" else dtype)


def _plain(array, dtype):
    return array.astype("float32").asnumpy() if dtype == "bfloat16" else array.asnumpy()


@pytest.mark.parametrize("dtype", WIDTHS)
@pytest.mark.parametrize("size", [1, 7, 8, 9, 300, 65_535, 65_536, 65_537, 140_000])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 1.0])
def test_elements_by_a_mask_of_any_length(rng, dtype, size, share):
    values, mask = _host(size, dtype, rng), rng.random(size) < share
    x = nd.array(values, dtype=dtype)
    for key in (mask, nd.array(mask, dtype="bool")):
        assert _plain(x[key], dtype).tolist() == values[mask].tolist()


@pytest.mark.parametrize("shape", [(5, 3), (70_000, 3), (4, 1, 2, 3)])
@pytest.mark.parametrize("dtype", WIDTHS)
def test_rows_by_a_mask_of_the_first_axes(rng, shape, dtype):
    values = _host(shape, dtype, rng)
    x = nd.array(values, dtype=dtype)
    for axes in range(1, len(shape) + 1):
        mask = rng.random(shape[:axes]) < 0.4
        for key in (mask, nd.array(mask, dtype="bool"), np.asfortranarray(mask)):
            found = x[key]
            assert found.shape == values[mask].shape
            assert _plain(found, dtype).tolist() == values[mask].tolist()


def test_marks_that_are_not_one():
    key = np.array([0, 1, 2, 128, 255, 0, 7, 0, 64], "uint8").view(bool)
    x = nd.arange(9)
    assert x[key].asnumpy().tolist() == np.flatnonzero(key.view("uint8")).tolist()


def test_an_array_picked_by_itself():
    x = nd.array([True, False, True], dtype="bool")
    assert x[x].asnumpy().tolist() == [True, True]


def test_a_mask_that_is_written_behind_the_pick():
    x, mask = nd.arange(200_000), nd.ones(200_000, dtype="bool")
    mask[::2] = False
    found = x[mask]
    mask[:] = False
    x[:] = 0
    assert (found.asnumpy() == np.arange(1, 200_000, 2)).all()


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("shape", [(9,), (9, 2), (9, 5, 3)])
def test_rows_by_numbers_of_any_sign(rng, dtype, shape):
    values = rng.random(shape).astype("float32")
    x = nd.array(values)
    for key in (rng.integers(0, 9, (4, 6)), rng.integers(-9, 9, 1000)):
        found = x[nd.array(key, dtype=dtype)]
        assert (found.asnumpy() == values[key]).all()
    for wrong in (9, -10):
        with pytest.raises(IndexError, match=f"{wrong} is out of bounds"):
            x[nd.array([0, wrong], dtype=dtype)]


def test_numbers_that_others_can_write(rng):
    values = rng.random(50).astype("float32")
    index = nd.array([3, 1, 4], dtype="int64")
    shared = np.from_dlpack(index)
    found = nd.array(values)[index]
    assert (found.asnumpy() == values[[3, 1, 4]]).all()
    assert shared.tolist() == [3, 1, 4]
