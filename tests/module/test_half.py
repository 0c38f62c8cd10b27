"""A residual network in float16 between two casts, by float32 masters of its weights."""

import numpy as np

import cynet as mx


def unit(x, filters, stride, name):
    """A residual unit: batch normalization and relu before each convolution."""
    x = mx.sym.BatchNorm(x, fix_gamma=False, name=f"{name}_bn1")
    first = mx.sym.Activation(x, act_type="relu")
    options = {"num_filter": filters, "no_bias": True}
    y = mx.sym.Convolution(
        first, kernel=(3, 3), pad=(1, 1), stride=(stride, stride), name=f"{name}_conv1", **options
    )
    y = mx.sym.BatchNorm(y, fix_gamma=False, name=f"{name}_bn2")
    y = mx.sym.Activation(y, act_type="relu")
    y = mx.sym.Convolution(y, kernel=(3, 3), pad=(1, 1), name=f"{name}_conv2", **options)
    way = {"kernel": (1, 1), "stride": (stride, stride), "name": f"{name}_sc", **options}
    return y + mx.sym.Convolution(first, **way)


def network(dtype):
    """Four classes of pictures (N, 3, 12, 12)."""
    x = mx.sym.Cast(mx.sym.Variable("data"), dtype=dtype)
    x = mx.sym.BatchNorm(x, fix_gamma=True, name="bn_data")
    x = mx.sym.Convolution(x, kernel=(3, 3), pad=(1, 1), num_filter=8, no_bias=True, name="conv0")
    x = mx.sym.Activation(mx.sym.BatchNorm(x, fix_gamma=False, name="bn0"), act_type="relu")
    x = mx.sym.Pooling(x, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="max")
    x = unit(unit(x, 8, 1, "unit1"), 16, 2, "unit2")
    x = mx.sym.Activation(mx.sym.BatchNorm(x, fix_gamma=False, name="bn1"), act_type="relu")
    x = mx.sym.Pooling(x, kernel=(3, 3), global_pool=True, pool_type="avg")
    x = mx.sym.FullyConnected(mx.sym.Flatten(x), num_hidden=4, name="fc")
    return mx.sym.SoftmaxOutput(mx.sym.Cast(x, dtype="float32"), name="softmax")


def pictures():
    """(pictures, labels): a bright patch in one of four corners, in noise."""
    rng = np.random.RandomState(0)
    labels = rng.randint(0, 4, 128)
    data = rng.standard_normal((128, 3, 12, 12)).astype("f") * 0.5
    for picture, label in zip(data, labels):
        y, x = 2 + 3 * (label // 2), 5 * (label % 2)
        picture[:, y : y + 3, x : x + 4] += 1.5
    return data, labels.astype("f")


def fit(dtype, ctx, epochs=6):
    """A Module trained on `pictures`."""
    mx.random.seed(1)
    np.random.seed(1)
    module = mx.mod.Module(network(dtype), context=ctx)
    options = {"learning_rate": 0.1, "momentum": 0.9, "wd": 1e-4, "multi_precision": True}
    module.fit(
        mx.io.NDArrayIter(*pictures(), batch_size=32),
        num_epoch=epochs,
        optimizer="sgd",
        optimizer_params=options,
        initializer=mx.init.Xavier(magnitude=2),
    )
    return module


def score(module, metric):
    return module.score(mx.io.NDArrayIter(*pictures(), batch_size=32), metric)[0][1]


def test_trains_like_float32():
    wide, half = fit("float32", mx.cpu()), fit("float16", mx.cpu())
    assert score(wide, "acc") == score(half, "acc") == 1
    assert abs(score(wide, "ce") - score(half, "ce")) < 5e-3
    arguments, states = half.get_params()
    for name, array in arguments.items():
        narrow = name.endswith(("weight", "bias"))
        assert array.dtype == (np.float16 if narrow else np.float32), name
    assert {np.dtype(a.dtype).name for a in states.values()} == {"float32"}


def test_passes_give_the_same(monkeypatch):
    """What joins steps leaves float16 right: a network's outputs and gradients without any of it,
    in training and in prediction."""
    found = []
    for passes in ("all", "none"):
        monkeypatch.setenv("CYNET_GRAPH_PASSES", passes)
        module = fit("float16", mx.cpu(), epochs=1)
        predicted = module.predict(mx.io.NDArrayIter(*pictures(), batch_size=32)).asnumpy()
        alone = mx.mod.Module(network("float16"), context=mx.cpu())
        alone.bind([("data", (128, 3, 12, 12))], for_training=False)
        alone.set_params(*module.get_params())
        again = alone.predict(mx.io.NDArrayIter(pictures()[0], batch_size=128)).asnumpy()
        found.append((predicted, again))
    for got, want in zip(*found):
        np.testing.assert_allclose(got, want, rtol=2e-2, atol=5e-3)
