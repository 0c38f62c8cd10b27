"""Embedding: the gradient of a table of which a run touches some rows, again and again."""

import ctypes

import numpy as np
import pytest
from cynet._core.touched_rows import list_nonzero_rows
from cynet.optimizer._joined import JoinedUpdate

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


def bound(words, rows=900, length=16, dtype="float32", grads=None):
    """An executor of a table, its gradient and the gradients that go in."""
    net = mx.sym.Embedding(mx.sym.var("x"), input_dim=rows, output_dim=length, name="table")
    arrays = {"x": mx.nd.array(words), "table_weight": mx.nd.ones((rows, length), dtype=dtype)}
    if grads is None:
        grads = mx.nd.empty((rows, length), dtype=dtype)
    request = {"x": "null", "table_weight": "write"}
    return net.bind(mx.cpu(), arrays, args_grad={"table_weight": grads}, grad_req=request), grads


def fill(executor, words):
    """Run it on these words; what the gradient is then."""
    executor.arg_dict["x"][:] = words
    executor.forward(is_train=True)
    grad = executor.grad_dict["table_weight"]
    executor.backward(mx.nd.ones((len(words), grad.shape[1]), dtype=grad.dtype))
    wanted = np.zeros(grad.shape)
    np.add.at(wanted, words, 1)
    return wanted


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_are_known_until_something_else_writes(dtype):
    words = [3, 899, 64, 3, 63]
    executor, grad = bound(words, dtype=dtype)
    assert list_nonzero_rows(grad) is None
    for each in (words, [5, 7, 7, 128, 0]):
        np.testing.assert_array_equal(fill(executor, each), grad.asnumpy())
        assert list_nonzero_rows(grad) == sorted(set(each))
    grad[17] = 1  # a row that is not in the set
    assert list_nonzero_rows(grad) is None
    np.testing.assert_array_equal(fill(executor, words), grad.asnumpy())
    assert list_nonzero_rows(grad) == sorted(set(words))


def test_what_others_write_without_the_engine_is_cleared():
    words = [1, 2, 3]
    executor, grad = bound(words)
    fill(executor, words)
    grad.wait_to_read()
    ctypes.cast(grad.data_ptr, ctypes.POINTER(ctypes.c_float))[17 * 16] = 1
    assert list_nonzero_rows(grad) is None
    np.testing.assert_array_equal(fill(executor, words), grad.asnumpy())


def test_a_table_that_is_used_twice():
    words = np.array([1, 2, 3, 800])
    table = mx.sym.var("table")
    x, y = mx.sym.var("x"), mx.sym.var("y")
    net = mx.sym.Group(
        [mx.sym.Embedding(each, weight=table, input_dim=900, output_dim=16) for each in (x, y)]
    )
    request = {"x": "null", "y": "null", "table": "write"}
    executor = net.simple_bind(mx.cpu(), x=(4,), y=(4,), grad_req=request)
    for shift in (0, 10, 20):
        executor.arg_dict["x"][:], executor.arg_dict["y"][:] = words, words + shift
        executor.forward(is_train=True)
        executor.backward([mx.nd.ones((4, 16)), 2 * mx.nd.ones((4, 16))])
        wanted = np.zeros((900, 16))
        np.add.at(wanted, words, 1)
        np.add.at(wanted, words + shift, 2)
        np.testing.assert_array_equal(executor.grad_dict["table"].asnumpy(), wanted)


def test_float16_and_sums_are_filled_as_ever():
    executor, grad = bound([1, 2, 3], dtype="float16")
    for words in ([1, 2, 3], [3, 4, 700]):
        np.testing.assert_array_equal(fill(executor, words), grad.asnumpy())
    net = mx.sym.Embedding(mx.sym.var("x"), input_dim=900, output_dim=16, name="table")
    request = {"x": "null", "table_weight": "add"}
    executor = net.simple_bind(mx.cpu(), x=(3,), grad_req=request)
    total = np.zeros((900, 16))
    for words in ([1, 2, 3], [3, 4, 700]):
        total += fill(executor, words)
        np.testing.assert_array_equal(executor.grad_dict["table_weight"].asnumpy(), total)
    assert list_nonzero_rows(executor.grad_dict["table_weight"]) is None


def test_executors_that_share_a_gradient():
    """Of the same shape, and of another: each clears what the others have left."""
    first, grad = bound([1, 2, 3])
    second, _ = bound([1, 2, 3, 4], grads=grad)
    flat, view = bound([1, 2], rows=1800, length=8, grads=grad.reshape((1800, 8)))
    for shift in (0, 100, 200):
        for executor, n in ((first, 3), (second, 4), (flat, 2)):
            words = [shift + 5 * i + n for i in range(n)]
            wanted = fill(executor, words)
            shown = view if executor is flat else grad
            np.testing.assert_array_equal(shown.asnumpy(), wanted)
            assert list_nonzero_rows(grad) == (None if executor is flat else words)


@pytest.mark.parametrize("rule, states", [("sgd", 0), ("signsgd", 0), ("sgd_mom", 1)])
@pytest.mark.parametrize("decay", [0.0, 0.25])
@pytest.mark.parametrize("rows, length", [(40, 3), (5000, 16), (3000, 130)])
def test_an_update_of_known_rows(rows, length, decay, rule, states):
    """And of others, which were written behind: beside a gradient of which nothing is known."""
    rng = np.random.RandomState(5)
    print("seed 5")
    words = np.concatenate([rng.randint(0, rows // 3, 30), [rows - 1, 0, 1, 2, 63 % rows]])
    executor, grad = bound(words, rows, length)
    plain = mx.nd.empty(grad.shape)
    first = mx.nd.array(rng.standard_normal((2, rows, length)))
    weights, others = [first[i].copy() for i in (0, 1)], [first[i].copy() for i in (0, 1)]
    small = mx.nd.ones(7)

    def update_of(weights, grads):
        momenta = [mx.nd.zeros(w.shape) if states else None for w in weights]
        return JoinedUpdate(rule, weights, grads, momenta)

    dense = mx.nd.array(rng.standard_normal(grad.shape))
    mine = update_of([weights[0], small, weights[1]], [grad, mx.nd.zeros(7), dense])
    theirs = update_of(others, [plain, dense])
    for step in range(4):
        fill(executor, (words + step) % rows)
        if step == 2:
            grad[rows // 2] = 3
        assert (list_nonzero_rows(grad) is None) == (step == 2)
        plain[:] = grad.asnumpy()
        mine([0.5] * 3, [decay] * 3, 1.0, -1.0, [(0.5,) if states else ()] * 3)
        theirs([0.5] * 2, [decay] * 2, 1.0, -1.0, [(0.5,) if states else ()] * 2)
    for mine, theirs in zip(weights, others):
        np.testing.assert_array_equal(mine.asnumpy(), theirs.asnumpy())
    assert not np.array_equal(weights[0].asnumpy(), first[0].asnumpy())
