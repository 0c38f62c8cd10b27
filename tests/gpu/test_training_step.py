"""Whole training steps as one graph: Module.train_step, which fit calls, against separate calls."""

import numpy as np
import pytest

import cynet as mx
from tests.gpu.test_graphs import Counted


def network(dropout=0.3, hidden=16):
    x = mx.sym.FullyConnected(mx.sym.Variable("data"), name="fc0", num_hidden=hidden)
    x = mx.sym.Activation(x, act_type="tanh")
    if dropout:
        x = mx.sym.Dropout(x, p=dropout)
    x = mx.sym.FullyConnected(x, name="fc1", num_hidden=4)
    return mx.sym.SoftmaxOutput(x, name="softmax")


def batches(n, rows=8, width=6):
    rng = np.random.default_rng(2)
    sizes = rows if isinstance(rows, (list, tuple)) else [rows] * n
    return [
        mx.io.DataBatch(
            [mx.nd.array(rng.standard_normal((size, width)).astype("f"))],
            [mx.nd.array(rng.integers(0, 4, size).astype("f"))],
        )
        for size in sizes
    ]


def made(ctx, net=None, optimizer="sgd", params=None, klass=mx.mod.Module, grad_req="write"):
    mx.random.seed(9)
    module = klass(network() if net is None else net, context=ctx)
    module.bind([("data", (8, 6))], [("softmax_label", (8,))], grad_req=grad_req)
    module.init_params(mx.init.Xavier())
    if params is None:
        params = {"learning_rate": 0.2, "momentum": 0.9}
    module.init_optimizer(optimizer=optimizer, optimizer_params=params)
    mx.random.seed(10)
    return module


def apart(module, batch):
    module.forward(batch, is_train=True)
    module.backward()
    module.update()


def together(module, batch):
    module.train_step(batch)


def state(module):
    """Everything a step changes."""
    args, auxs = module.get_params()
    found = {name: array.asnumpy() for name, array in {**args, **auxs}.items()}
    found.update((f"output{i}", out.asnumpy()) for i, out in enumerate(module.get_outputs()))
    return found


def run(module, step, data):
    found = []
    for batch in data:
        step(module, batch)
        found.append(state(module))
    return found


def same(one, two):
    for k, (mine, theirs) in enumerate(zip(one, two, strict=True)):
        assert mine.keys() == theirs.keys()
        for name, array in mine.items():
            np.testing.assert_array_equal(array, theirs[name], err_msg=f"{name} after step {k}")


def near(one, two):
    for mine, theirs in zip(one, two, strict=True):
        for name, array in mine.items():
            np.testing.assert_allclose(array, theirs[name], 1e-3, 1e-4, err_msg=name)


def settings():
    schedule = mx.lr_scheduler.FactorScheduler(step=3, factor=0.5, base_lr=0.2)
    warm = mx.lr_scheduler.PolyScheduler(20, base_lr=0.01, warmup_steps=4)
    return {
        "momentum": ("sgd", {"learning_rate": 0.2, "momentum": 0.9}),
        "schedule": ("sgd", {"lr_scheduler": schedule, "wd": 0.01}),
        "adam": ("adam", {"learning_rate": 0.01}),
        "adam schedule": (
            "adam",
            {"learning_rate": 0.01, "lr_scheduler": warm, "clip_gradient": 0.1},
        ),
    }


@pytest.mark.parametrize("name", settings())
def test_a_step_is_one_graph(gpu, unrecorded, name):
    data = batches(10)
    with Counted() as count:
        one = run(made(gpu, None, *settings()[name]), together, data)
    assert (count.recorded, count.replayed) == (1, 8)
    same(one, unrecorded(run, made(gpu, None, *settings()[name]), apart, data))
    same(one, unrecorded(run, made(gpu, None, *settings()[name]), together, data))
    near(one, run(made(mx.cpu(), None, *settings()[name]), together, data))


def test_separate_calls_are_three_graphs_and_two(gpu):
    data = batches(8)
    with Counted() as count:
        one = run(made(gpu), apart, data)
    assert (count.recorded, count.replayed) == (3, 18)

    def halves(module, batch):
        module.forward_backward(batch)
        module.update()

    with Counted() as count:
        two = run(made(gpu), halves, data)
    assert (count.recorded, count.replayed) == (2, 12)
    same(one, two)
    same(one, run(made(gpu), together, data))


def test_all_ways_of_stepping_may_alternate(gpu, unrecorded):
    def any_way(module, batch):
        any_way.count += 1
        if any_way.count % 3 == 0:
            together(module, batch)
        elif any_way.count % 3 == 1:
            apart(module, batch)
        else:
            module.forward_backward(batch)
            module.update()
        if any_way.count % 4 == 0:
            module.forward(batch, is_train=False)

    data = batches(20)
    any_way.count = 0
    one = run(made(gpu), any_way, data)
    any_way.count = 0
    same(one, unrecorded(run, made(gpu), any_way, data))


def test_fit_replays_one_graph_a_step(gpu):
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal((80, 6)).astype("f"), rng.integers(0, 4, 80).astype("f")
    found = []
    for ctx in (gpu, mx.cpu()):
        mx.random.seed(3)
        module = mx.mod.Module(network(dropout=0), context=ctx)
        with Counted() as count:
            module.fit(
                mx.io.NDArrayIter(x, y, 8),
                num_epoch=3,
                initializer=mx.init.Xavier(),
                optimizer_params={"learning_rate": 0.1, "momentum": 0.9},
            )
        if ctx == gpu:
            assert (count.recorded, count.replayed) == (1, 28)
        found.append({name: a.asnumpy() for name, a in module.get_params()[0].items()})
    for name, array in found[0].items():
        np.testing.assert_allclose(array, found[1][name], 1e-3, 1e-4)


def test_batches_of_other_shapes(gpu, unrecorded):
    data = batches(0, rows=[8, 8, 8, 8, 4, 8, 8, 4, 4, 4, 8, 12, 12, 12, 12, 8, 4])
    with Counted() as count:
        one = run(made(gpu), together, data)
    assert count.recorded == 3  # a graph a shape
    same(one, unrecorded(run, made(gpu), apart, data))


def test_gradients_that_are_added(gpu, unrecorded):
    data = batches(6)
    one = run(made(gpu, grad_req="add"), together, data)
    same(one, unrecorded(run, made(gpu, grad_req="add"), apart, data))


def interfered(module, step, data, tmp_path):
    """Between steps: parameters set, states saved and loaded, the optimizer changed."""
    found = []
    for k, batch in enumerate(data):
        step(module, batch)
        found.append(state(module))
        if k == 5:
            args, auxs = module.get_params()
            module.set_params({name: array * 0.5 for name, array in args.items()}, auxs)
            module.save_optimizer_states(str(tmp_path / "states"))
        elif k == 9:
            module.load_optimizer_states(str(tmp_path / "states"))
        elif k == 13:
            module._optimizer.set_learning_rate(0.01)
            module._optimizer.momentum = 0.5
        elif k == 17:
            module.init_optimizer(
                optimizer="adam", optimizer_params={"learning_rate": 0.01}, force_init=True
            )
        elif k == 21:
            module.bind([("data", (8, 6))], [("softmax_label", (8,))], force_rebind=True)
    return found


def test_changes_between_steps(gpu, unrecorded, tmp_path):
    data = batches(26)
    with Counted() as count:
        one = interfered(made(gpu), together, data, tmp_path)
    assert count.recorded >= 4
    same(one, unrecorded(interfered, made(gpu), apart, data, tmp_path))


def test_a_monitor_sees_every_step(gpu):
    module, seen = made(gpu), []
    monitor = mx.mon.Monitor(1, lambda x: seen.append(x.shape) or x.norm())
    for k, batch in enumerate(batches(8)):
        if k == 4:
            module.install_monitor(monitor)
        if k >= 4:
            monitor.tic()
        together(module, batch)
        if k >= 4:
            assert monitor.toc()
    assert (8, 16) in seen


def test_methods_of_a_subclass_are_called(gpu):
    class Watched(mx.mod.Module):
        calls = ()

        def backward(self, out_grads=None):
            self.calls += ("backward",)
            super().backward(out_grads)

        def update(self):
            self.calls += ("update",)
            super().update()

    module = made(gpu, klass=Watched)
    for batch in batches(3):
        together(module, batch)
    assert module.calls == ("backward", "update") * 3
    plain = made(gpu)
    plain.update = lambda: calls.append(1)
    calls = []
    together(plain, batches(1)[0])
    assert calls == [1]


@pytest.mark.parametrize("optimizer", ["dcasgd"])
def test_optimizers_made_of_several_operators(gpu, unrecorded, optimizer):
    data, params = batches(6), {"learning_rate": 0.05}
    with Counted() as count:
        one = run(made(gpu, None, optimizer, params), together, data)
    assert (count.recorded, count.replayed) == (1, 4)  # forward and backward
    same(one, unrecorded(run, made(gpu, None, optimizer, params), apart, data))


def test_what_cannot_be_recorded_is_left_out(gpu, unrecorded):
    x = mx.sym.FullyConnected(mx.sym.Variable("data"), name="fc0", num_hidden=16)
    order = mx.sym.argsort(mx.sym.slice_axis(x, axis=1, begin=0, end=1), axis=0)
    rows = mx.sym.take(mx.sym.tanh(x), mx.sym.reshape(order, (-1,)), mode="raise")
    x = mx.sym.FullyConnected(mx.sym.Dropout(rows, p=0.2), name="fc1", num_hidden=4)
    net = mx.sym.SoftmaxOutput(x, name="softmax")
    data = batches(8)
    with Counted() as count:
        one = run(made(gpu, net), together, data)
    # before take, behind it as far as its gradient, and the rest with the update
    assert (count.recorded, count.replayed) == (3, 18)
    same(one, unrecorded(run, made(gpu, net), apart, data))
    near(one, run(made(mx.cpu(), net), apart, data))


def test_a_step_that_fails_says_why_and_changes_no_weight(gpu, unrecorded):
    x = mx.sym.FullyConnected(mx.sym.Variable("data"), name="fc0", num_hidden=4)
    x = mx.sym.take(x, mx.sym.Variable("rows", shape=(8,)), mode="raise", name="taken")
    net = mx.sym.SoftmaxOutput(x, name="softmax")
    label = [mx.nd.array([0, 1, 2, 3] * 2)]

    def steps(step):
        mx.random.seed(9)
        module = mx.mod.Module(net, ("data", "rows"), context=gpu)
        module.bind([("data", (8, 6)), ("rows", (8,))], [("softmax_label", (8,))])
        module.init_params(mx.init.Xavier())
        module.init_optimizer(optimizer_params={"learning_rate": 0.1})
        found = []
        for k in range(12):
            rows = mx.nd.array([*range(7), 9 if k in (1, 7) else 7])
            batch = mx.io.DataBatch([mx.nd.ones((8, 6)) * (k + 1), rows], label)
            step(module, batch)
            if k in (1, 7):
                with pytest.raises(Exception, match="taken.*index 9"):
                    module.get_outputs()[0].asnumpy()
            args = module.get_params()[0]
            found.append({name: array.asnumpy() for name, array in args.items()})
        np.testing.assert_array_equal(found[7]["fc0_weight"], found[6]["fc0_weight"])
        return found

    with Counted() as count:
        found = steps(together)
    assert count.replayed > 10
    same(found, unrecorded(steps, apart))


def test_buckets(gpu, unrecorded):
    def bucket(width):
        x = mx.sym.sum(mx.sym.reshape(mx.sym.Variable("data"), (0, -1, 2)), axis=1)
        x = mx.sym.FullyConnected(x, name="fc", num_hidden=4)
        return mx.sym.SoftmaxOutput(x, name="softmax"), ("data",), ("softmax_label",)

    def steps(step):
        mx.random.seed(9)
        module = mx.mod.BucketingModule(bucket, default_bucket_key=8, context=gpu)
        module.bind([("data", (4, 8))], [("softmax_label", (4,))])
        module.init_params(mx.init.Xavier())
        module.init_optimizer(optimizer="adam")
        rng = np.random.default_rng(1)
        found = []
        for width in (8, 4, 6, 4, 8, 8, 4, 4, 6, 8, 6, 4, 6, 6):
            data = mx.nd.array(rng.standard_normal((4, width)).astype("f"))
            batch = mx.io.DataBatch([data], [mx.nd.array([0, 1, 2, 3])])
            batch.bucket_key = width
            batch.provide_data = [mx.io.DataDesc("data", (4, width))]
            batch.provide_label = [mx.io.DataDesc("softmax_label", (4,))]
            step(module, batch)
            found.append(state(module))
        return found

    with Counted() as count:
        one = steps(together)
    assert count.recorded == 3
    same(one, unrecorded(steps, apart))


def test_two_gpus(two, unrecorded):
    data = batches(7)
    with Counted() as count:
        one = run(made(list(two)), together, data)
    assert count.recorded >= 2  # forward and backward of each
    same(one, unrecorded(run, made(list(two)), apart, data))


def test_a_module_may_die_while_its_steps_run(gpu):
    for _ in range(4):
        module = made(gpu)
        for batch in batches(5):
            together(module, batch)
        outputs = module.get_outputs()
        del module
        assert np.isfinite(outputs[0].asnumpy()).all()


def test_float16_with_float32_copies(gpu, unrecorded):
    x = mx.sym.FullyConnected(mx.sym.Variable("data", dtype="float16"), name="fc0", num_hidden=16)
    x = mx.sym.Activation(mx.sym.BatchNorm(x, name="bn", fix_gamma=False), act_type="relu")
    x = mx.sym.FullyConnected(mx.sym.Dropout(x, p=0.2), name="fc1", num_hidden=4)
    net, data = mx.sym.SoftmaxOutput(x, name="softmax"), batches(8)
    shapes = [("data", (8, 6)), ("softmax_label", (8,))]
    data_shape, label_shape = (mx.io.DataDesc(*each, "float16") for each in shapes)

    def steps(step):
        mx.random.seed(9)
        module = mx.mod.Module(net, context=gpu)
        module.bind([data_shape], [label_shape])
        module.init_params(mx.init.Xavier())
        params = {"learning_rate": 0.1, "momentum": 0.9, "multi_precision": True}
        module.init_optimizer(optimizer_params=params)
        return run(module, step, data)

    with Counted() as count:
        one = steps(together)
    assert (count.recorded, count.replayed) == (1, 6)
    assert {a.dtype.name for a in one[-1].values()} == {"float16", "float32"}
    same(one, unrecorded(steps, apart))
