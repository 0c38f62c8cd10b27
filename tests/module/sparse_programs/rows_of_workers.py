"""Several workers, one table: kvstore('dist_sync'), pushes and pulls of rows."""

import mxnet as mx
import numpy as np

ROWS, WIDTH = 1000, 4


def check_sums(kv):
    """Without an optimizer: what is pulled is the sum of what all pushed."""
    rank, workers = kv.rank, kv.num_workers
    kv.init("sums", mx.nd.sparse.zeros("row_sparse", (ROWS, WIDTH)))
    own = [rank, 10, 20 + rank]
    values = mx.nd.ones((3, WIDTH)) * (rank + 1)
    kv.push("sums", mx.nd.sparse.row_sparse_array((values, own), shape=(ROWS, WIDTH)))
    out = mx.nd.sparse.zeros("row_sparse", (ROWS, WIDTH))
    wanted = mx.nd.array(list(range(workers)) + [10, 10, 999], dtype="int64")
    kv.row_sparse_pull("sums", out=out, row_ids=wanted)
    found = out.asnumpy()
    want = np.zeros((ROWS, WIDTH), "float32")
    for each in range(workers):
        want[each] += each + 1
        want[10] += each + 1
    np.testing.assert_array_equal(found, want)


def train(kv):
    """With an optimizer in the store: logistic regression on shards of csr data."""
    rng = np.random.default_rng(7)
    truth = rng.standard_normal(ROWS).astype("float32")
    dense = (rng.random((600, ROWS)) < 0.02).astype("float32")
    label = (dense @ truth > 0).astype("float32")
    dense, label = dense[kv.rank :: kv.num_workers], label[kv.rank :: kv.num_workers]
    data = mx.nd.array(dense).tostype("csr")
    kv.set_optimizer(mx.optimizer.SGD(learning_rate=0.5, rescale_grad=1.0))
    kv.init("weight", mx.nd.zeros((ROWS, 1)).tostype("row_sparse"))
    weight = mx.nd.sparse.zeros("row_sparse", (ROWS, 1))
    batch, correct = 50, []
    for _ in range(12):
        for begin in range(0, len(label) - batch + 1, batch):
            x, y = data[begin : begin + batch], mx.nd.array(label[begin : begin + batch])
            kv.row_sparse_pull("weight", out=weight, row_ids=x.indices, priority=-1)
            score = mx.nd.sparse.dot(x, weight)
            error = score.sigmoid() - y.reshape((-1, 1))
            grad = mx.nd.sparse.dot(x, error, transpose_a=True)
            assert grad.stype == "row_sparse"
            kv.push("weight", grad / batch)
            correct.append(((score.asnumpy()[:, 0] > 0) == y.asnumpy()).mean())
    assert np.mean(correct[-4:]) > 0.9 > np.mean(correct[:2]), correct
    return np.mean(correct[-4:])


if __name__ == "__main__":
    store = mx.kv.create("dist_sync")
    check_sums(store)
    print(f"worker {store.rank} of {store.num_workers}: {train(store):.2f}")
