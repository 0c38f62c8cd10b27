"""Embedding: the gradient of a table of which a run touches some rows, again and again."""

import numpy as np
import pytest

import cynet as mx


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("rows, length", [(700, 64), (3000, 33), (50, 20), (20000, 5)])
def test_rows_of_earlier_runs_are_cleared(rows, length, dtype):
    """Few rows of a large table, or most of a small one; one of them twice."""
    rng = np.random.RandomState(3)
    print("seed 3")
    net = mx.sym.Embedding(mx.sym.var("x"), input_dim=rows, output_dim=length, name="table")
    types = {"x": "float32", "table_weight": dtype}
    request = {"x": "null", "table_weight": "write"}
    executor = net.simple_bind(mx.cpu(), x=(40,), type_dict=types, grad_req=request)
    grad = executor.grad_dict["table_weight"]
    grad[:] = np.nan
    for _ in range(4):
        words = rng.randint(0, rows, 40)
        words[7] = words[8]
        head = rng.standard_normal((40, length)).astype(dtype)
        executor.arg_dict["x"][:] = words
        executor.forward(is_train=True)
        executor.backward(mx.nd.array(head, dtype=dtype))
        wanted = np.zeros((rows, length))
        np.add.at(wanted, words, head)
        np.testing.assert_allclose(grad.asnumpy(), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("options", [{}, {"momentum": 0.9}, {"wd": 0.01}])
def test_a_table_learns_as_numpy_says(options):
    """Rows that no run touches keep their values, or decay."""
    rng = np.random.RandomState(4)
    print("seed 4")
    net = mx.sym.Embedding(mx.sym.var("x"), input_dim=900, output_dim=16, name="table")
    module = mx.mod.Module(mx.sym.MakeLoss(mx.sym.sum(mx.sym.square(net))), ["x"], None)
    module.bind([("x", (30,))])
    first = rng.standard_normal((900, 16)).astype("float32")
    module.init_params(arg_params={"table_weight": mx.nd.array(first)}, aux_params={})
    settings = {"learning_rate": 0.125, "rescale_grad": 1.0, **options}
    module.init_optimizer(optimizer="sgd", optimizer_params=settings)
    weight, moved = first.astype("float64"), np.zeros((900, 16))
    for _ in range(5):
        words = rng.randint(0, 900, 30)
        batch = mx.io.DataBatch([mx.nd.array(words)], [])
        module.forward_backward(batch)
        module.update()
        grad = np.zeros((900, 16))
        np.add.at(grad, words, 2 * weight[words])
        moved = options.get("momentum", 0) * moved
        moved -= 0.125 * (grad + options.get("wd", 0) * weight)
        weight += moved
    got = module.get_params()[0]["table_weight"].asnumpy()
    np.testing.assert_allclose(got, weight, rtol=1e-4, atol=1e-5)
