"""What pandas indexes by label is taken by position, wherever samples are."""

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import CynetError
from cynet.gluon import data as gdata

pd = pytest.importorskip("pandas")
ORDERS = ([2, 0, 1], [10, 20, 30], ["b", "a", "c"], [1, 1, 1], [0, 1, 2])
VALUES = np.array([10, 20, 30])


def frame(index):
    return pd.DataFrame({"a": [1.0, 2.0, 3.0], 1: [4.0, 5.0, 6.0]}, index=index)


@pytest.mark.parametrize("index", ORDERS, ids=str)
def test_samples_are_rows_in_their_order(index):
    series, rows = pd.Series(VALUES, index=index), frame(index)
    want = [[1, 4], [2, 5], [3, 6]]
    pairs = list(gdata.ArrayDataset(rows, series))
    assert [x.tolist() for x, _ in pairs] == want
    assert [int(y) for _, y in pairs] == VALUES.tolist()
    assert [int(y) for y in gdata.SimpleDataset(series)] == VALUES.tolist()
    assert [x.tolist() for x in gdata.SimpleDataset(rows)] == want
    for workers in (0, 2):
        loaded = list(gdata.DataLoader(gdata.ArrayDataset(rows, series), 2, num_workers=workers))
        assert np.concatenate([x.asnumpy() for x, _ in loaded]).tolist() == want
        assert np.concatenate([y.asnumpy() for _, y in loaded]).tolist() == VALUES.tolist()
    assert (
        np.concatenate([y.asnumpy() for y in gdata.DataLoader(series, 2)]).tolist()
        == VALUES.tolist()
    )
    assert np.concatenate([x.asnumpy() for x in gdata.DataLoader(rows, 2)]).tolist() == want
    (batch,) = mx.io.NDArrayIter(rows, series, batch_size=3)
    assert batch.data[0].asnumpy().tolist() == want
    assert batch.label[0].asnumpy().tolist() == VALUES.tolist()
    (batch,) = mx.io.NDArrayIter({"x": rows}, {"y": series}, batch_size=3)
    assert batch.label[0].asnumpy().tolist() == VALUES.tolist()


def test_shuffled_rows_keep_their_labels():
    series = pd.Series(VALUES, index=[2, 0, 1])
    for batches in (
        gdata.DataLoader(gdata.ArrayDataset(VALUES, series), 2, shuffle=True),
        (
            (b.data[0], b.label[0])
            for b in mx.io.NDArrayIter(series.to_frame(), series, batch_size=3, shuffle=True)
        ),
    ):
        for x, y in batches:
            assert x.asnumpy().ravel().tolist() == y.asnumpy().tolist()


def test_texts_and_other_columns():
    names = pd.Series(["a", "b", "c"], index=[2, 1, 0])
    assert list(gdata.ArrayDataset(VALUES, names)) == [(10, "a"), (20, "b"), (30, "c")]
    assert list(gdata.ArrayDataset(pd.Index([3, 4]), pd.Categorical([1, 2]))) == [(3, 1), (4, 2)]


def test_what_has_keys_and_no_order_is_refused():
    with pytest.raises(CynetError, match="array 1 is a dict, which has keys and no order"):
        gdata.ArrayDataset([1, 2], {0: 1, 1: 2})
