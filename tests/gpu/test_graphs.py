"""What is recorded as CUDA graphs, and that replays compute what launching anew computes."""

import numpy as np
import pytest

import cynet as mx
from cynet.cuda import graphs


class Counted:
    """``with Counted() as c:`` then c.recorded and c.replayed say how many graphs were."""

    def __enter__(self):
        mx.nd.waitall()
        self.before = graphs.graph_counts()
        return self

    def __exit__(self, *exc):
        mx.nd.waitall()
        self.recorded, self.replayed = (
            now - was for now, was in zip(graphs.graph_counts(), self.before)
        )


def outputs_of(symbol, ctx, steps, is_train=True, **arrays):
    """Outputs of some forward runs, from the same seed."""
    mx.random.seed(11)
    executor = symbol.simple_bind(
        ctx, grad_req="null", **{name: array.shape for name, array in arrays.items()}
    )
    for name, array in arrays.items():
        executor.arg_dict[name][:] = array
    found = []
    for _ in range(steps):
        executor.forward(is_train=is_train)
        found.append([output.asnumpy() for output in executor.outputs])
    return found


X = mx.sym.Variable("x")
RANDOM = {
    "dropout": mx.sym.Dropout(X, p=0.4),
    "two dropouts": mx.sym.Dropout(mx.sym.Dropout(X, p=0.4) * 2, p=0.3),
    "uniform": X + mx.sym.random.uniform(0, 2, shape=(30, 20)),
    "shuffle": mx.sym.shuffle(X),
    "slopes": mx.sym.LeakyReLU(X, act_type="rrelu", lower_bound=0.1, upper_bound=0.4),
    "integers": mx.sym.random.randint(0, 1000, shape=(30, 20)),
    "gamma": mx.sym.random.gamma(2.0, 3.0, shape=(50,)),
    "exponential": mx.sym.random.exponential(2.0, shape=(50,)),
}


@pytest.mark.parametrize("name", RANDOM)
def test_each_replay_draws_the_numbers_of_the_cpu(gpu, name):
    symbol = RANDOM[name]
    x = np.random.default_rng(1).standard_normal((30, 20)).astype("f")
    arrays = {"x": x} if symbol.list_arguments() else {}
    here = outputs_of(symbol, mx.cpu(), 6, **arrays)
    with Counted() as count:
        there = outputs_of(symbol, gpu, 6, **arrays)
    assert (count.recorded, count.replayed) == (1, 4)
    for k in range(6):
        for mine, theirs in zip(there[k], here[k]):
            if name == "gamma":  # made with the libraries' logarithms
                np.testing.assert_allclose(mine, theirs, rtol=1e-6)
            else:
                np.testing.assert_array_equal(mine, theirs)
        assert not any(np.array_equal(there[k][0], there[j][0]) for j in range(k))


def test_dropout_in_training(gpu, rng):
    x = mx.sym.FullyConnected(mx.sym.Variable("x"), name="fc", num_hidden=16)
    symbol = mx.sym.LinearRegressionOutput(mx.sym.Dropout(x, p=0.5), name="out")
    data = rng.standard_normal((8, 5)).astype("f")
    found = {}
    for ctx in (mx.cpu(), gpu):
        mx.random.seed(5)
        executor = symbol.simple_bind(ctx, x=(8, 5))
        executor.arg_dict["x"][:] = data
        executor.arg_dict["fc_weight"][:] = np.linspace(-1, 1, 80, dtype="f").reshape(16, 5)
        steps = found[ctx] = []
        with Counted() as count:
            for _ in range(5):
                executor.forward(is_train=True)
                executor.backward()
                steps.append(executor.grad_dict["fc_weight"].asnumpy())
                mx.nd.random.uniform(shape=3, ctx=ctx)  # others draw in between
    assert (count.recorded, count.replayed) == (2, 6)
    for here, there in zip(found[mx.cpu()], found[gpu]):
        np.testing.assert_allclose(there, here, rtol=1e-4, atol=1e-5)


def test_segments_around_a_check_are_recorded(gpu, rng):
    x, index = mx.sym.Variable("x"), mx.sym.Variable("index")
    symbol = mx.sym.exp(mx.sym.take(mx.sym.tanh(x * 2), index, mode="raise")) + 1
    data = rng.standard_normal((6, 4)).astype("f")
    executor = symbol.simple_bind(gpu, grad_req={"x": "write"}, x=(6, 4), index=(3,))
    executor.arg_dict["x"][:] = data
    with Counted() as count:
        for _ in range(5):
            rows = rng.integers(0, 6, 3)
            executor.forward(is_train=True, index=rows.astype("f"))
            executor.backward([mx.nd.ones((3, 4), ctx=gpu)])
            t = np.tanh(data * 2)
            np.testing.assert_allclose(executor.outputs[0].asnumpy(), np.exp(t[rows]) + 1, 1e-5)
            want = np.bincount(rows, minlength=6)[:, None] * np.exp(t) * 2 * (1 - t**2)
            np.testing.assert_allclose(
                executor.grad_dict["x"].asnumpy(), want, rtol=1e-4, atol=1e-5
            )
    assert (count.recorded, count.replayed) == (4, 12)  # before and behind take, both ways
    executor.forward(is_train=True, index=np.full(3, 9.0, "f"))
    with pytest.raises(Exception, match="index 9"):
        executor.outputs[0].asnumpy()


def test_segments_around_an_operator_in_python_are_recorded(gpu, rng):
    class Twice(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], in_data[0] * 2)

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], out_grad[0] * 2)

    @mx.operator.register("twice_among_graphs")
    class TwiceProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Twice()

    x = mx.sym.Variable("x")
    symbol = mx.sym.exp(mx.sym.Custom(mx.sym.tanh(x), op_type="twice_among_graphs"))
    data = rng.standard_normal((6, 4)).astype("f")
    executor = symbol.simple_bind(gpu, x=(6, 4))
    executor.arg_dict["x"][:] = data
    with Counted() as count:
        for _ in range(5):
            executor.forward(is_train=True)
            executor.backward([mx.nd.ones((6, 4), ctx=gpu)])
            t = np.tanh(data)
            np.testing.assert_allclose(executor.outputs[0].asnumpy(), np.exp(2 * t), rtol=1e-5)
            np.testing.assert_allclose(
                executor.grad_dict["x"].asnumpy(), np.exp(2 * t) * 2 * (1 - t * t), rtol=1e-4
            )
    assert (count.recorded, count.replayed) == (4, 12)


OPTIMIZERS = {
    "sgd": {"learning_rate": 0.1, "wd": 0.01},
    "sgd with momentum": {"learning_rate": 0.1, "momentum": 0.9, "clip_gradient": 0.5},
    "adam": {"learning_rate": 0.05},
    "rmsprop": {"learning_rate": 0.05, "centered": True},
    "ftrl": {"learning_rate": 0.05},
    "signum": {"learning_rate": 0.05},
}


def schedule():
    return mx.lr_scheduler.FactorScheduler(step=2, factor=0.5, base_lr=0.2)


def updated(ctx, name, steps, scheduled, shapes=((5, 3), (4,))):
    """Weights after each of some updates, and whether they were replayed."""
    options = dict(OPTIMIZERS[name])
    if scheduled:
        options.update(learning_rate=0.2, lr_scheduler=schedule())
    optimizer = mx.optimizer.create(name.split()[0], **options)
    updater = mx.optimizer.get_updater(optimizer)
    rng = np.random.default_rng(4)
    arrays = [mx.nd.array(rng.standard_normal(s).astype("f"), ctx=ctx) for s in shapes]
    grads = [mx.nd.zeros(s, ctx=ctx) for s in shapes]
    found = []
    for _ in range(steps):
        for grad in grads:
            grad[:] = rng.standard_normal(grad.shape).astype("f")
        updater(list(range(len(arrays))), grads, arrays)
        found.append([array.asnumpy() for array in arrays])
    return found


@pytest.mark.parametrize("scheduled", [False, True])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_updates_are_replayed_with_the_numbers_of_each_step(gpu, name, scheduled):
    here = updated(mx.cpu(), name, 8, scheduled)
    with Counted() as count:
        there = updated(gpu, name, 8, scheduled)
    assert (count.recorded, count.replayed) == (1, 6)
    before = graphs.switch_recording(False)
    try:
        with Counted() as count:
            plain = updated(gpu, name, 8, scheduled)
        assert count.replayed == 0
    finally:
        graphs.switch_recording(before)
    for step in range(8):
        for mine, unrecorded, theirs in zip(there[step], plain[step], here[step]):
            np.testing.assert_array_equal(mine, unrecorded)
            np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)


def test_updates_with_float32_copies_are_replayed(gpu, rng):
    first = rng.standard_normal((40, 3))
    found = []
    for ctx in (gpu, mx.cpu()):
        weights = [mx.nd.array(first, ctx=ctx, dtype=t) for t in ("float16", "float32")]
        grads = [mx.nd.ones((40, 3), ctx=ctx, dtype=t) for t in ("float16", "float32")]
        updater = mx.optimizer.get_updater(
            mx.optimizer.SGD(learning_rate=1e-3, momentum=0.9, multi_precision=True)
        )
        with Counted() as count:
            for _ in range(6):
                updater([0, 1], grads, weights)
        assert count.replayed == (4 if ctx == gpu else 0)
        found.append([weight.asnumpy() for weight in weights])
    for mine, theirs in zip(*found):
        np.testing.assert_allclose(mine, theirs, rtol=1e-3)


def test_many_updates_in_flight_read_their_own_numbers(gpu):
    """Nobody waits: replays that have not begun yet keep the rates they were pushed with."""
    optimizer = mx.optimizer.SGD(lr_scheduler=mx.lr_scheduler.PolyScheduler(100, base_lr=1.0))
    updater = mx.optimizer.get_updater(optimizer)
    weights, grads = ([make(3, ctx=gpu) for _ in range(2)] for make in (mx.nd.zeros, mx.nd.ones))
    rates = []
    with Counted() as count:
        for _ in range(60):
            updater([0, 1], grads, weights)
            rates.append(optimizer.learning_rate)
    assert (count.recorded, count.replayed) == (1, 58)
    for weight in weights:
        np.testing.assert_allclose(weight.asnumpy(), np.full(3, -sum(rates)), rtol=1e-5)


def test_one_launch_is_no_graph(gpu):
    weight, grad = mx.nd.zeros(3, ctx=gpu), mx.nd.ones(3, ctx=gpu)
    updater = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.5))
    with Counted() as count:
        for _ in range(5):
            updater(0, grad, weight)
    assert (count.recorded, count.replayed) == (0, 0)
    np.testing.assert_array_equal(weight.asnumpy(), np.full(3, -2.5, "f"))


def test_an_updater_may_die_while_its_graph_runs(gpu):
    for _ in range(5):
        weights, grads = (
            [make(3000, ctx=gpu) for _ in range(3)] for make in (mx.nd.zeros, mx.nd.ones)
        )
        updater = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.5))
        for _ in range(5):
            updater([0, 1, 2], grads, weights)
        del updater
        for weight in weights:
            np.testing.assert_array_equal(weight.asnumpy(), np.full(3000, -2.5, "f"))


def shuffles(n):
    """n permutations of 2**19 numbers, each of which takes 8 MiB of temporary memory."""
    x = mx.sym.Variable("x")
    for _ in range(n):
        x = mx.sym.shuffle(x) * 1.0
    return x


def test_operators_of_a_graph_share_their_temporary_memory(gpu):
    executor = shuffles(6).simple_bind(gpu, grad_req="null", x=(1 << 19,))
    for _ in range(2):
        executor.forward()
    mx.nd.waitall()
    before = mx.storage.stats(gpu)["used_bytes"]
    with Counted() as count:
        executor.forward()
    assert count.recorded == 1
    assert mx.storage.stats(gpu)["used_bytes"] - before < 12 << 20


def test_without_memory_for_a_graph_the_steps_are_launched(gpu, simulated):
    data = np.arange(1 << 19, dtype="f")
    mx.random.seed(4)
    executor = shuffles(1).simple_bind(gpu, grad_req="null", x=data.shape)
    executor.arg_dict["x"][:] = data
    for _ in range(2):
        executor.forward()[0].asnumpy()
    filled = []
    for mib in (64, 16, 4):
        try:
            while True:
                filled.append(mx.nd.empty((mib << 18,), ctx=gpu))
        except MemoryError:
            pass
    with Counted() as count:
        results = [executor.forward()[0].asnumpy() for _ in range(3)]
    assert (count.recorded, count.replayed) == (0, 0)
    for result in results:
        np.testing.assert_array_equal(np.sort(result), data)
