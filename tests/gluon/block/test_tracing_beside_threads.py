"""Blocks are traced while other threads draw random numbers, as those of a DataLoader do."""

import random
import threading

import numpy as np
import pytest

import cynet as mx
from cynet import gluon, nd
from cynet.gluon import nn


@pytest.fixture
def drawing():
    """Two threads that draw from the global generators as long as the test runs."""
    over = threading.Event()

    def draw():
        while not over.wait(1e-4):
            np.random.rand(3)
            np.random.normal()
            random.random()

    threads = [threading.Thread(target=draw) for _ in range(2)]
    for each in threads:
        each.start()
    yield
    over.set()
    for each in threads:
        each.join()


def test_what_other_threads_draw_is_not_the_blocks(drawing):
    """Not even what they draw in each of its traces."""

    class Waits(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            other = threading.Thread(target=np.random.rand)
            other.start()
            other.join()
            return x

    for _ in range(3):
        net = nn.HybridSequential()
        net.add(Waits())
        for _ in range(5):
            net.add(nn.Dense(3), nn.BatchNorm(), nn.Activation("relu"))
        net.initialize()
        net.hybridize()
        assert net(nd.ones((2, 4))).shape == (2, 3)


@pytest.mark.parametrize("draw", [np.random.rand, np.random.randn, random.random])
def test_what_the_block_draws_is_refused(drawing, draw):
    class Noisy(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return x * float(draw())

    block = Noisy()
    block.hybridize()
    with pytest.raises(NotImplementedError, match="random numbers that Python draws"):
        block(nd.ones(2))


def test_a_draw_that_decides_is_refused(drawing):
    """Its value is in no constant."""

    class Coin(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return F.relu(x) if np.random.rand() < 0.5 else F.tanh(x)

    block = Coin()
    block.hybridize()
    with pytest.raises(NotImplementedError, match="random numbers that Python draws"):
        for _ in range(3):  # one of 128 calls draws the same eight times
            block(nd.ones(2))
            block.hybridize()


@pytest.mark.parametrize("draw", [np.random.rand, random.random])
def test_a_draw_beside_an_idle_thread_is_refused(draw):
    """Each trace gives the same graph, but only the block draws."""

    class Rare(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return F.tanh(x) if draw() < 0 else F.relu(x)

    over = threading.Event()
    idle = threading.Thread(target=over.wait)
    idle.start()
    block = Rare()
    block.hybridize()
    try:
        with pytest.raises(NotImplementedError, match="random numbers that Python draws"):
            block(nd.ones(2))
    finally:
        over.set()
        idle.join()


def test_constants_beside_threads(drawing):
    class Shifted(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return x + nd.array([1, 2])

    block = Shifted()
    block.hybridize()
    assert block(nd.ones(2)).asnumpy().tolist() == [2, 3]


def test_another_generator_of_numpy(drawing):
    before = np.random.get_bit_generator()
    np.random.set_bit_generator(np.random.PCG64(1))
    try:
        net = nn.Dense(1)
        net.initialize(mx.init.One())
        net.hybridize()
        assert net(nd.ones((1, 2))).asscalar() == 2
    finally:
        np.random.set_bit_generator(before)
