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
