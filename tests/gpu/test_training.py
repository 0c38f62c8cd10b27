"""Training on GPUs: LeNet by Module.fit, several GPUs, checkpoints, kernels of mx.rtc."""

from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from cynet.cuda import graphs
from tests.module import test_half as half

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "cuda_kernel"


def lenet():
    x = mx.sym.Variable("data")
    for i, filters in enumerate((4, 8)):
        x = mx.sym.Convolution(x, name=f"conv{i}", kernel=(3, 3), num_filter=filters)
        x = mx.sym.Activation(x, name=f"act{i}", act_type="tanh")
        x = mx.sym.Pooling(x, name=f"pool{i}", kernel=(2, 2), stride=(2, 2), pool_type="max")
    x = mx.sym.FullyConnected(mx.sym.Flatten(x), name="fc0", num_hidden=32)
    x = mx.sym.Activation(x, name="act2", act_type="relu")
    x = mx.sym.FullyConnected(x, name="fc1", num_hidden=10)
    return mx.sym.SoftmaxOutput(x, name="softmax")


@pytest.fixture(scope="module")
def images():
    """(pictures, labels): a bright square at one of ten places, in noise."""
    rng = np.random.default_rng(7)
    labels = rng.integers(0, 10, 320)
    pictures = rng.standard_normal((320, 1, 20, 20)).astype("f") * 0.3
    for picture, label in zip(pictures, labels):
        y, x = divmod(label, 4)
        picture[0, 1 + 6 * y : 6 + 6 * y, 5 * x : 5 + 5 * x] += 1.5
    return pictures, labels.astype("f")


def fit(ctx, images, epochs=2, net=None, **options):
    mx.random.seed(3)
    np.random.seed(3)
    batches = mx.io.NDArrayIter(*images, batch_size=32, label_name="softmax_label")
    module = mx.mod.Module(lenet() if net is None else net, context=ctx)
    options = {"optimizer": "sgd", **options}
    options.setdefault("optimizer_params", {"learning_rate": 0.1, "momentum": 0.9})
    module.fit(batches, num_epoch=epochs, initializer=mx.init.Xavier(), **options)
    return module, dict(module.score(batches, "acc"))["accuracy"]


def weights(module):
    return {name: array.asnumpy() for name, array in module.get_params()[0].items()}


def test_lenet(gpu, images):
    here, there = fit(mx.cpu(), images)[0], fit(gpu, images)[0]
    for name, want in weights(here).items():
        np.testing.assert_allclose(weights(there)[name], want, rtol=2e-2, atol=2e-3, err_msg=name)


def test_lenet_learns_and_replays_its_steps(gpu, images, tmp_path):
    before = graphs.graph_counts()[1]
    module, accuracy = fit(gpu, images, epochs=6)
    assert accuracy > 0.95
    assert graphs.graph_counts()[1] - before >= 10 * 6 - 2  # one a step, but for the first two
    module.save_checkpoint(str(tmp_path / "lenet"), 6)
    again = mx.mod.Module.load(str(tmp_path / "lenet"), 6, context=mx.cpu())
    batches = mx.io.NDArrayIter(*images, batch_size=32, label_name="softmax_label")
    again.bind(batches.provide_data, batches.provide_label, for_training=False)
    assert dict(again.score(batches, "acc"))["accuracy"] == pytest.approx(accuracy, abs=0.01)


def test_float16_with_masters(gpu):
    here, there = (half.fit("float16", ctx, epochs=2) for ctx in (mx.cpu(), gpu))
    assert abs(half.score(here, "ce") - half.score(there, "ce")) < 0.05
    for name, array in there.get_params()[0].items():
        assert array.dtype == here.get_params()[0][name].dtype, name
    assert there.get_params()[1]["bn0_moving_var"].dtype == np.float32


@pytest.mark.parametrize("kvstore", ["device", "local"])
def test_two_gpus(two, images, kvstore):
    one = fit(mx.cpu(), images)[0]
    both = fit(list(two), images, kvstore=kvstore)[0]
    for name, want in weights(one).items():
        np.testing.assert_allclose(weights(both)[name], want, rtol=2e-2, atol=2e-3, err_msg=name)


@pytest.mark.parametrize("kvstore", ["device", "local"])
def test_a_store_over_two_gpus(two, rng, kvstore):
    """Sums, updates and compressed sums of what both have, handed out to both."""
    first, *parts = (rng.standard_normal((50, 3)).astype("f") for _ in range(5))
    store = mx.kv.create(kvstore)
    store.init("w", mx.nd.array(first, ctx=two[0]))
    outs = [mx.nd.zeros((50, 3), ctx=ctx) for ctx in two]

    def given(k):
        return [mx.nd.array(parts[k + i], ctx=ctx) for i, ctx in enumerate(two)]

    def check(want):
        for out, ctx in zip(outs, two):
            assert out.context == ctx
            np.testing.assert_allclose(out.asnumpy(), want, 1e-5, 1e-6)

    store.pull("w", outs)
    check(first)
    store.pushpull("w", given(0), outs)
    check(parts[0] + parts[1])
    store = mx.kv.create(kvstore)
    store.init("w", mx.nd.array(first, ctx=two[0]))
    store.set_optimizer(mx.optimizer.SGD(learning_rate=0.5, momentum=0.9))
    momentum, weight = np.zeros_like(first), first
    for k in (0, 2):
        store.push("w", given(k))
        store.pull("w", outs)
        momentum = 0.9 * momentum - 0.5 * (parts[k] + parts[k + 1])
        weight = weight + momentum
        check(weight)
    store = mx.kv.create("device")  # 'local' compresses nothing
    store.set_gradient_compression({"type": "2bit", "threshold": 0.5})
    store.init("w", mx.nd.zeros((50, 3), ctx=two[0]))
    store.pushpull("w", given(0), outs)
    check(sum(np.where(p >= 0.5, 0.5, np.where(p <= -0.5, -0.5, 0)) for p in parts[:2]))


@pytest.mark.parametrize(
    "optimizer, params",
    [("adam", {"learning_rate": 0.003}), ("rmsprop", {}), ("nag", {"momentum": 0.9}), ("ftrl", {})],
)
def test_optimizers(gpu, images, optimizer, params):
    few = images[0][:64], images[1][:64]
    options = {"optimizer": optimizer, "optimizer_params": params, "epochs": 1}
    here, there = fit(mx.cpu(), few, **options)[0], fit(gpu, few, **options)[0]
    for name, want in weights(here).items():
        np.testing.assert_allclose(weights(there)[name], want, rtol=2e-2, atol=2e-3, err_msg=name)


def test_a_network_with_kernels_of_its_own(gpu, images, monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLE)
    from layers import Softmax

    x = mx.sym.FullyConnected(mx.sym.Flatten(mx.sym.Variable("data")), name="fc", num_hidden=10)
    built_in = mx.sym.SoftmaxOutput(x, name="softmax")
    own = Softmax()(data=x, name="softmax")
    options = {"optimizer_params": {"learning_rate": 0.02}, "epochs": 2}
    one, two = fit(gpu, images, net=built_in, **options)[0], fit(gpu, images, net=own, **options)[0]
    for name, want in weights(one).items():
        np.testing.assert_allclose(weights(two)[name], want, rtol=1e-3, atol=1e-4, err_msg=name)


def test_a_numpy_op_computes_on_the_host(gpu, monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLE.parent / "custom_op"))
    from softmax_numpy import Softmax

    x = mx.sym.FullyConnected(mx.sym.Variable("data"), name="fc", num_hidden=4)
    symbol, found = Softmax()(data=x, name="softmax"), []
    batch = mx.io.DataBatch(
        [mx.nd.array(np.arange(15).reshape(5, 3) / 7)], [mx.nd.array([0, 1, 2, 3, 0])]
    )
    for ctx in (mx.cpu(), gpu):
        mx.random.seed(3)
        module = mx.mod.Module(symbol, context=ctx)
        module.bind([("data", (5, 3))], [("softmax_label", (5,))])
        module.init_params(mx.init.Xavier())
        module.init_optimizer()
        for _ in range(4):
            module.train_step(batch)
        found.append([module.get_outputs()[0], *module.get_params()[0].values()])
    for here, there in zip(*found):
        np.testing.assert_allclose(there.asnumpy(), here.asnumpy(), rtol=1e-5, atol=1e-6)
