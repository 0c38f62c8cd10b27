"""A plan writes gradients to a temporary that has the addresses of the freed one before: the rows
that were recorded of that one are not used. `make asan` tells a use of freed memory here."""

import numpy as np

import cynet as mx
from cynet import autograd, nd


def test_gradients_in_temporaries_at_recycled_addresses(rng):
    net = mx.gluon.nn.Embedding(54, 16)
    net.initialize()
    net.hybridize(static_alloc=True)
    for _ in range(30):
        x, factors = rng.integers(0, 54, (8, 7)), rng.normal(size=(8, 7, 16))
        index, f = nd.array(x), nd.array(factors)
        with autograd.record():
            # the second term is written first, so the plan's part is added from a temporary
            loss = (net(index) * f).sum() + (net.weight.data() * 2).sum()
        loss.backward()
        wanted = np.full((54, 16), 2.0)
        np.add.at(wanted, x, factors)
        np.testing.assert_allclose(net.weight.grad().asnumpy(), wanted, rtol=1e-5, atol=1e-5)
