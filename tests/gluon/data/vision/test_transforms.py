"""Transforms of colors and mirrors: hybridized, symbolic, and with any kind of workers."""

import numpy as np
import pytest

import cynet as mx
from cynet.gluon.data.vision import transforms

CHAIN = [
    lambda: transforms.RandomFlipLeftRight(),
    lambda: transforms.RandomFlipTopBottom(),
    lambda: transforms.RandomBrightness(0.3),
    lambda: transforms.RandomContrast(0.3),
    lambda: transforms.RandomSaturation(0.3),
    lambda: transforms.RandomHue(0.1),
    lambda: transforms.RandomColorJitter(0.2, 0.2, 0.2, 0.05),
    lambda: transforms.RandomLighting(0.1),
    lambda: transforms.Resize((5, 4)),
    lambda: transforms.CropResize(1, 0, 4, 4, 6),
    lambda: transforms.ToTensor(),
    lambda: transforms.Normalize((0.1, 0.2, 0.3), 0.5),
]


def images(n=12):
    return np.random.RandomState(0).randint(0, 256, (n, 6, 7, 3)).astype("uint8")


@pytest.mark.parametrize("make", CHAIN[:-1], ids=lambda make: type(make()).__name__)
def test_hybridized(make):
    """A plan draws what the imperative calls draw."""
    x = mx.nd.array(images()[0], dtype="uint8")
    block = make()
    mx.random.seed(4)
    wanted = [block(x).asnumpy() for _ in range(3)]
    block.hybridize()
    block(x)
    mx.random.seed(4)
    for each in wanted:
        np.testing.assert_array_equal(block(x).asnumpy(), each)


def test_symbol():
    net = transforms.Compose([transforms.ToTensor(), transforms.Normalize(0.5, 0.25)])
    x = images(2)
    for change in (transforms.Resize(4), transforms.CropResize(1, 1, 5, 4, (3, 3), 0)):
        made = change(mx.sym.var("data")).bind(mx.cpu(), {"data": mx.nd.array(x, dtype="uint8")})
        wanted = change(mx.nd.array(x, dtype="uint8")).asnumpy()
        np.testing.assert_array_equal(made.forward()[0].asnumpy(), wanted)
    wanted = (x.transpose(0, 3, 1, 2) / 255 - 0.5) / 0.25
    made = net(mx.nd.array(x, dtype="uint8"))
    np.testing.assert_allclose(made.asnumpy(), wanted, 1e-5, 1e-6)
    symbol = net(mx.sym.var("data"))
    found = symbol.bind(mx.cpu(), {"data": mx.nd.array(x, dtype="uint8")}, grad_req="null")
    np.testing.assert_array_equal(found.forward()[0].asnumpy(), made.asnumpy())


@pytest.mark.parametrize("hybridize", [False, True])
def test_one_seed_for_all_workers(hybridize):
    """None, processes, threads; the transforms as operators or in a plan."""
    chain = mx.gluon.nn.HybridSequential()
    chain.add(*(make() for make in CHAIN))
    if hybridize:
        chain.hybridize()
    data = mx.gluon.data.ArrayDataset(list(map(mx.nd.array, images()))).transform(
        lambda x: chain(x.astype("uint8"))
    )
    found = []
    for options in ({}, {"num_workers": 2}, {"num_workers": 3, "thread_pool": True}):
        mx.random.seed(11)
        loader = mx.gluon.data.DataLoader(data, 4, **options)
        found.append(np.concatenate([batch.asnumpy() for batch in loader]))
    np.testing.assert_array_equal(found[1], found[0])
    np.testing.assert_array_equal(found[2], found[0])
    assert np.unique(found[0][:, 0, 0, 0]).size > 6
