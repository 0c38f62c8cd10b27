"""Training in which a part of the contexts and ranks has a gradient; and what is right then."""

import numpy as np

import cynet as mx
from cynet import autograd, gluon, nd

RATE, MOMENTUM = 0.5, 0.25
# Which copies, by their numbers over all contexts and ranks, have a gradient in each step.
WHO = [(0, 1, 2), (0,), (1,), (), (2, 1), (2,), (0, 1, 2)]


def wanted(copies):
    """The weight after each step, by NumPy: what nobody has a gradient of keeps its momentum."""
    weight, velocity, out = np.ones(3, np.float32), np.zeros(3, np.float32), []
    for t, who in enumerate(WHO):
        who = [k for k in who if k < copies]
        if who:
            velocity = MOMENTUM * velocity - RATE * sum(_gradient(t, k) for k in who)
            weight = weight + velocity
        out.append(weight.copy())
    return out


def _gradient(t, k):
    """What copy `k` has in step `t`: a row of its own, so that sparse ones differ in their rows."""
    out = np.zeros(3, np.float32)
    out[k] = 1 + t
    return out


def check(contexts, stype, store, update, in_one_call, rank=0, ranks=1):
    """Train, and compare all copies of the weight with `wanted` after each step."""
    places = [mx.cpu(k) for k in range(contexts)]
    often = gluon.Parameter("often", shape=(1,))
    seldom = gluon.Parameter("seldom", shape=(3, 1), grad_stype=stype)
    for each in (often, seldom):
        each.initialize(mx.init.One(), ctx=places)
    settings = {"learning_rate": RATE, "momentum": MOMENTUM, "lazy_update": False}
    trainer = gluon.Trainer(
        [often, seldom], "sgd", settings, kvstore=store, update_on_kvstore=update
    )
    for t, weight in enumerate(wanted(contexts * ranks)):
        with autograd.record():
            losses = []
            for k, place in enumerate(places, rank * contexts):
                loss = often.data(place)
                if k in WHO[t]:
                    row, table = nd.array([k], ctx=place), seldom.data(place)
                    taken = nd.Embedding(row, table, 3, 1, sparse_grad=stype == "row_sparse")
                    loss = loss + (1 + t) * taken.sum()
                losses.append(loss)
        autograd.backward(losses)
        if in_one_call:
            trainer.step(1, ignore_stale_grad=True)
        else:
            trainer.allreduce_grads()
            trainer.update(1, ignore_stale_grad=True)
        for place in places:
            found = seldom.data(place).asnumpy()[:, 0]
            np.testing.assert_allclose(found, weight, rtol=1e-6, err_msg=f"step {t} on {place}")
