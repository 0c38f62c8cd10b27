"""Sparse arrays: products of csr matrices (NumPy's column is SciPy) and training steps by rows.

``--torch PYTHON``: beside sparse_csr tensors, EmbeddingBag, Embedding(sparse=True), SparseAdam.
"""

from functools import partial

import numpy as np
from harness import Row, main, median_time

MATRICES = {
    "2,000 x 1,000,000, 0.01 %": (2_000, 1_000_000, 100),  # MXNet takes 2**31 cells at most
    "1,024 x 100,000, 1 %": (1_024, 100_000, 1_000),
}
BATCH, TABLES = 4_096, (200_000, 2_000_000)


def parts_of(rows, columns, each):
    """values, indices and indptr of a csr matrix with about `each` elements in a row."""
    rng = np.random.default_rng(1)
    places = np.unique(rng.integers(0, rows * columns, rows * each))
    values = rng.random(len(places)).astype("float32")
    indptr = np.searchsorted(places // columns, np.arange(rows + 1))
    return values, places % columns, indptr


def matrix_of(rows, columns, each):
    """The same as a matrix of SciPy, which a Python with PyTorch may lack."""
    import scipy.sparse

    return scipy.sparse.csr_matrix(parts_of(rows, columns, each), shape=(rows, columns))


def product(mx, csr, dense, transpose):
    """Seconds of a product of a csr matrix, or of its transpose, and a dense one."""

    def run():
        mx.nd.sparse.dot(csr, dense, transpose_a=transpose).wait_to_read()

    return median_time(run, repeat=9)


def products(mx):
    """csr x dense, and the transposed matrix x dense."""
    for name, sizes in MATRICES.items():
        matrix = matrix_of(*sizes)
        csr, transposed = mx.nd.sparse.array(matrix), matrix.T.tocsr()
        for width in (1, 16, 128):
            for what, own, transpose in (("dot", matrix, False), ("transposed", transposed, True)):
                dense = np.random.default_rng(2).random((own.shape[1], width)).astype("float32")
                seconds = product(mx, csr, mx.nd.array(dense), transpose)
                yield Row(
                    f"{name}: {what}, width {width}",
                    seconds,
                    median_time(partial(own.dot, dense), repeat=5),
                )


def linear_step(mx):
    """A step of logistic regression on 500 examples of 1,000,000 features, by Module."""
    data = mx.sym.Variable("data", stype="csr")
    weight = mx.sym.Variable("weight", shape=(1_000_000, 2), stype="row_sparse")
    score = mx.sym.broadcast_add(
        mx.sym.sparse.dot(data, weight), mx.sym.Variable("bias", shape=(2,))
    )
    network = mx.sym.SoftmaxOutput(score, name="softmax")
    batch = mx.io.DataBatch(
        [mx.nd.sparse.array(matrix_of(500, 1_000_000, 100))], [mx.nd.zeros((500,))]
    )
    module = mx.mod.Module(network)
    module.bind([("data", (500, 1_000_000))], [("softmax_label", (500,))])
    module.init_params(mx.init.One())
    module.init_optimizer(optimizer="adagrad", optimizer_params={"learning_rate": 0.1})

    def step():
        module.forward_backward(batch)
        module.update()
        module.get_outputs()[0].wait_to_read()
        mx.nd.waitall()

    return median_time(step, repeat=9)


def embedding_step(mx, rows, optimizer):
    """A step of a table of vectors of 64, on a batch of 4,096 indices, by Gluon."""
    layer = mx.gluon.nn.Embedding(rows, 64, sparse_grad=True)
    layer.initialize(mx.init.One())
    trainer = mx.gluon.Trainer(layer.collect_params(), optimizer, {"learning_rate": 0.1})
    rng = np.random.default_rng(1)
    batches = [mx.nd.array(rng.integers(0, rows, BATCH)) for _ in range(8)]
    place = iter(range(1 << 30))

    def step():
        with mx.autograd.record():
            loss = layer(batches[next(place) % len(batches)]).sum()
        loss.backward()
        trainer.step(BATCH)
        mx.nd.waitall()

    return median_time(step, repeat=9, warm_up=8)


def products_of_torch(torch):
    """`products` by sparse_csr tensors."""
    for name, sizes in MATRICES.items():
        values, indices, indptr = map(torch.from_numpy, parts_of(*sizes))
        csr = torch.sparse_csr_tensor(indptr, indices, values, size=sizes[:2])
        for width in (1, 16, 128):
            for what, own in (("dot", csr), ("transposed", csr.t())):
                dense = np.random.default_rng(2).random((own.shape[1], width)).astype("float32")
                seconds = median_time(partial(torch.matmul, own, torch.from_numpy(dense)), repeat=9)
                yield Row(f"{name}: {what}, width {width}", seconds)


def linear_step_of_torch(torch):
    """`linear_step` by an EmbeddingBag, which sums weighted rows."""
    values, indices, indptr = map(torch.from_numpy, parts_of(500, 1_000_000, 100))
    bag = torch.nn.EmbeddingBag(1_000_000, 2, mode="sum", sparse=True)
    optimizer = torch.optim.Adagrad(bag.parameters(), lr=0.1)
    label = torch.zeros(500, dtype=torch.int64)

    def step():
        optimizer.zero_grad()
        score = bag(indices, indptr[:-1], per_sample_weights=values)
        torch.nn.functional.cross_entropy(score, label).backward()
        optimizer.step()

    return median_time(step, repeat=9)


def embedding_step_of_torch(torch, rows, optimizer):
    """`embedding_step` by an Embedding with sparse gradients."""
    layer = torch.nn.Embedding(rows, 64, sparse=True)
    kind = {"sgd": torch.optim.SGD, "adam": torch.optim.SparseAdam}[optimizer]
    rule, rng = kind(layer.parameters(), lr=0.1), np.random.default_rng(1)
    batches = [torch.from_numpy(rng.integers(0, rows, BATCH)) for _ in range(8)]
    place = iter(range(1 << 30))

    def step():
        rule.zero_grad()
        layer(batches[next(place) % len(batches)]).sum().backward()
        rule.step()

    return median_time(step, repeat=9, warm_up=8)


def rows(mx):
    """All lines."""
    if mx.__name__ == "torch":
        mx.set_num_threads(2)
        ways = products_of_torch, linear_step_of_torch, embedding_step_of_torch
    else:
        ways = products, linear_step, embedding_step
    of_products, of_linear, of_embedding = ways
    yield from of_products(mx)
    yield Row("step of a linear model by Module, 1,000,000 x 2", of_linear(mx))
    for optimizer in ("sgd", "adam"):
        for size in TABLES:
            name = f"step of an embedding {size:,} x 64, {optimizer}"
            yield Row(name, of_embedding(mx, size, optimizer))


if __name__ == "__main__":
    main(__doc__, rows)
