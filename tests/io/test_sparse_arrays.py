"""NDArrayIter over csr matrices: the rows that a dense array would give, as csr."""

import numpy as np
import pytest
import scipy.sparse

import cynet as mx
from cynet.base.errors import ArgumentError


@pytest.fixture
def matrix(rng):
    return scipy.sparse.random(11, 6, 0.4, "csr", "float32", random_state=np.random.RandomState(1))


def batches(iterator):
    found = []
    for _ in range(2):
        for batch in iterator:
            (data,), (label,) = batch.data, batch.label
            found.append((data.stype, data.asnumpy().tolist(), label.asnumpy().tolist(), batch.pad))
        iterator.reset()
    return found


@pytest.mark.parametrize("last", ["pad", "discard", "roll_over"])
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("kind", ["csr", "coo", "NDArray"])
def test_batches(matrix, last, shuffle, kind):
    label = np.arange(11)
    given = mx.nd.sparse.array(matrix) if kind == "NDArray" else matrix.asformat(kind)
    found = []
    for data in (given, matrix.toarray()):
        np.random.seed(7)
        found.append(batches(mx.io.NDArrayIter(data, label, 4, shuffle, last)))
    assert {each[0] for each in found[0]} == {"csr"} and len(found[0]) == len(found[1])
    assert [each[1:] for each in found[0]] == [each[1:] for each in found[1]]


def test_what_it_provides(matrix):
    iterator = mx.io.NDArrayIter({"x": matrix}, batch_size=4)
    assert iterator.provide_data == [("x", (4, 6))]
    assert iterator.provide_data[0].dtype == np.float32
    rows = mx.nd.ones((4, 2)).tostype("row_sparse")
    with pytest.raises(ArgumentError, match="'data' is row_sparse"):
        mx.io.NDArrayIter(rows)


def test_labels(matrix):
    iterator = mx.io.NDArrayIter(matrix.toarray(), matrix, 4, last_batch_handle="discard")
    (label,) = next(iterator).label
    assert label.stype == "csr" and label.asnumpy().tolist() == matrix[:4].toarray().tolist()
