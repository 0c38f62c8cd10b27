"""DataLoader over csr matrices: batches are csr, also those of other processes."""

import numpy as np
import pytest
import scipy.sparse

from cynet import nd
from cynet.base.errors import ArgumentError
from cynet.gluon.data import ArrayDataset, DataLoader
from cynet.gluon.data.batchify import default_batchify_fn


@pytest.mark.parametrize("workers, threads", [(0, False), (2, True), (2, False)])
def test_batches_are_csr(workers, threads):
    matrix = scipy.sparse.random(11, 6, 0.3, "csr", "float32", 3)
    data = ArrayDataset(nd.sparse.array(matrix), np.arange(11, dtype="float32"))
    loader = DataLoader(data, batch_size=4, num_workers=workers, thread_pool=threads)
    batches = list(loader)
    assert [x.shape for x, _ in batches] == [(4, 6), (4, 6), (3, 6)]
    for i, (x, y) in enumerate(batches):
        assert x.stype == "csr" and x.dtype == np.float32
        x.check_format()
        np.testing.assert_array_equal(x.asnumpy(), matrix[4 * i : 4 * i + 4].toarray())
        np.testing.assert_array_equal(y.asnumpy(), np.arange(4 * i, min(4 * i + 4, 11)))
    gradient = nd.sparse.dot(batches[0][0], nd.ones((4, 2)), transpose_a=True)
    assert gradient.stype == "row_sparse"


def _as_rows(samples):
    return nd.array(np.stack(samples)).tostype("row_sparse"), nd.zeros((2, 3)).tostype("csr")


@pytest.mark.parametrize("workers", [0, 1])
def test_what_a_batchify_function_gives_keeps_its_storage(workers):
    values = np.zeros((4, 3), "float32")
    values[[1, 2]] = 5
    loader = DataLoader(list(values), 4, batchify_fn=_as_rows, num_workers=workers)
    rows, nothing = next(iter(loader))
    assert rows.stype == "row_sparse" and rows.indices.asnumpy().tolist() == [1, 2]
    np.testing.assert_array_equal(rows.asnumpy(), values)
    assert nothing.stype == "csr" and not nothing.asnumpy().any()


def test_samples_of_two_storage_types_are_refused():
    dense = nd.ones((1, 3))
    with pytest.raises(ArgumentError, match="sample 1 is default, the first is csr"):
        default_batchify_fn([dense.tostype("csr"), dense])
