"""contrib.nn: side by side, pixel shuffles, synchronized normalization."""

import numpy as np
import pytest

import cynet as mx
from cynet import autograd, gluon, nd
from cynet.gluon.contrib import nn


@pytest.mark.parametrize("hybrid", [False, True])
def test_side_by_side(hybrid):
    for kind in (nn.Concurrent, nn.HybridConcurrent):
        net = kind(axis=1)
        net.add(nn.Identity(), gluon.nn.HybridLambda(lambda F, x: x * 2))
        if hybrid and kind is nn.HybridConcurrent:
            net.hybridize()
        assert net(nd.array([[1, 2]])).asnumpy().tolist() == [[1, 2, 2, 4]]


@pytest.mark.parametrize("hybrid", [False, True])
def test_pixel_shuffle(hybrid):
    layer = nn.PixelShuffle1D(2)
    layer.hybridize(hybrid)
    x = nd.array(np.arange(12).reshape(1, 4, 3))
    assert layer(x).asnumpy()[0].tolist() == [[0, 3, 1, 4, 2, 5], [6, 9, 7, 10, 8, 11]]
    x = np.arange(8 * 6.0).reshape(1, 8, 2, 3)
    layer = nn.PixelShuffle2D((2, 1))
    layer.hybridize(hybrid)
    out = layer(nd.array(x)).asnumpy()
    assert out.shape == (1, 4, 4, 3)
    for c in range(4):
        for i in range(4):
            assert (out[0, c, i] == x[0, 2 * c + i % 2, i // 2]).all()
    assert nn.PixelShuffle2D(2)(nd.ones((1, 8, 2, 3))).shape == (1, 2, 4, 6)
    x = np.arange(2 * 3 * 5 * 8.0).reshape(1, 30, 2, 2, 2)
    layer = nn.PixelShuffle3D((2, 3, 5))
    layer.hybridize(hybrid)
    out = layer(nd.array(x)).asnumpy()
    assert out.shape == (1, 1, 4, 6, 10)
    assert out[0, 0, 3, 4, 7] == x[0, (1 * 3 + 1) * 5 + 2, 1, 1, 1]


def test_one_device_is_batch_norm(rng):
    x = nd.array(rng.normal(size=(4, 3, 2)))
    found = []
    for layer in (nn.SyncBatchNorm(num_devices=1), gluon.nn.BatchNorm()):
        layer.initialize()
        with autograd.record():
            found.append(layer(x).asnumpy())
    assert (found[0] == found[1]).all()


def test_sparse_embedding():
    layer = nn.SparseEmbedding(3, 2)
    layer.initialize(mx.init.One())
    with autograd.record():
        y = layer(nd.array([0, 2]))
    y.backward()
    assert layer.weight.grad().asnumpy().tolist() == [[1, 1], [0, 0], [1, 1]]
