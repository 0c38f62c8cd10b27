"""cynet.gluon.contrib.nn; the values of pixel shuffles are in test_rnn.py, with MXNet's others."""

import numpy as np
import pytest

import cynet as mx
from cynet.gluon import contrib, nn


@pytest.mark.parametrize("kind", [contrib.nn.Concurrent, contrib.nn.HybridConcurrent])
def test_concurrent(kind):
    """D20: outputs beside each other, along the axis that was asked for."""
    net = kind(axis=1)
    net.add(contrib.nn.Identity(), nn.HybridLambda(lambda F, x: x * 2))
    assert net(mx.nd.array([[1, 2]])).asnumpy().tolist() == [[1, 2, 2, 4]]
    last = kind()
    last.add(contrib.nn.Identity(), contrib.nn.Identity())
    assert last(mx.nd.zeros((2, 3, 4))).shape == (2, 3, 8)
    with pytest.raises(ValueError, match="has no Blocks whose outputs"):
        kind()(mx.nd.zeros((1,)))


def test_concurrent_takes_what_sequential_takes():
    with mx.name.NameManager():
        net = contrib.nn.HybridConcurrent(axis=1)
        assert (
            net.prefix == "hybridconcurrent0_" and contrib.nn.Concurrent().prefix == "concurrent0_"
        )
    with pytest.raises(ValueError, match="a HybridBlock has HybridBlocks for children"):
        net.add(nn.Sequential())
    net.add(nn.Dense(2), contrib.nn.Identity())
    assert len(net) == 2 and isinstance(net[0], nn.Dense)


def test_hybrid_concurrent_as_a_graph():
    with mx.name.NameManager():
        net = contrib.nn.HybridConcurrent(axis=1)
        with net.name_scope():
            net.add(nn.Dense(2), contrib.nn.Identity())
        symbol = net(mx.sym.var("data"))
    assert symbol.list_outputs() == ["hybridconcurrent0_concat0_output"]
    assert symbol.list_arguments() == [
        "data",
        "hybridconcurrent0_dense0_weight",
        "hybridconcurrent0_dense0_bias",
    ]
    net.initialize(mx.init.One())
    x = mx.nd.array([[1, 2, 3]])
    eager = net(x).asnumpy()
    net.hybridize()
    assert net(x).asnumpy().tolist() == eager.tolist() == [[6, 6, 1, 2, 3]]


def test_pixel_shuffle():
    """D20, reprs, and what is refused."""
    one = contrib.nn.PixelShuffle1D(2)
    data = mx.nd.arange(12).reshape((1, 4, 3))
    assert one(data).asnumpy().tolist() == [[[0, 3, 1, 4, 2, 5], [6, 9, 7, 10, 8, 11]]]
    one.hybridize()
    assert one(data).asnumpy().tolist() == [[[0, 3, 1, 4, 2, 5], [6, 9, 7, 10, 8, 11]]]
    assert contrib.nn.PixelShuffle2D(2)(mx.nd.zeros((1, 8, 2, 3))).shape == (1, 2, 4, 6)
    assert [repr(each) for each in (one, contrib.nn.PixelShuffle2D((2, 3)))] == [
        "PixelShuffle1D(2)",
        "PixelShuffle2D((2, 3))",
    ]
    assert repr(contrib.nn.PixelShuffle3D(2)) == "PixelShuffle3D((2, 2, 2))"
    with pytest.raises(AssertionError, match="factor is an int or 2 ints"):
        contrib.nn.PixelShuffle2D((2, 2, 2))
    with pytest.raises(TypeError, match="factor must be an int, got 2.5"):
        contrib.nn.PixelShuffle2D((2.5, 2))
    with pytest.raises(ValueError, match="factor must be 1 or more, got 0"):
        contrib.nn.PixelShuffle3D(0)
    with pytest.raises(mx.base.MXNetError, match="3"):
        contrib.nn.PixelShuffle1D(2)(mx.nd.zeros((1, 3, 4))).wait_to_read()


@pytest.mark.parametrize("factors", [(3,), (2, 3), (2, 1, 3)])
def test_pixel_shuffle_is_a_transposition(factors, rng):
    kind = getattr(contrib.nn, f"PixelShuffle{len(factors)}D")
    sizes = rng.integers(1, 5, len(factors)).tolist()
    x = rng.standard_normal((2, 2 * np.prod(factors), *sizes)).astype(np.float32)
    dims = len(factors)
    parts = x.reshape(2, 2, *factors, *sizes)
    axes = [0, 1, *(a for i in range(dims) for a in (2 + dims + i, 2 + i))]
    wanted = parts.transpose(axes).reshape(2, 2, *(s * f for s, f in zip(sizes, factors)))
    np.testing.assert_array_equal(kind(factors)(mx.nd.array(x)).asnumpy(), wanted)


def test_sync_batch_norm(rng):
    """D21: BatchNorm, over one device."""
    x = mx.nd.array(rng.standard_normal((4, 3, 5, 5)))
    layers = [contrib.nn.SyncBatchNorm(num_devices=1, in_channels=3), nn.BatchNorm(in_channels=3)]
    outputs = []
    for layer in layers:
        layer.initialize()
        with mx.autograd.record():
            outputs.append(layer(x).asnumpy())
        outputs.append(layer.running_mean.data().asnumpy())
    np.testing.assert_array_equal(outputs[0], outputs[2])
    np.testing.assert_array_equal(outputs[1], outputs[3])
    with mx.name.NameManager():
        assert contrib.nn.SyncBatchNorm().prefix == "syncbatchnorm0_"
    with pytest.raises(ValueError, match="num_devices=2, and statistics over several devices"):
        contrib.nn.SyncBatchNorm(num_devices=2)
