"""Gradients that a part of the contexts has: summed with zeros, applied to all copies."""

import pytest

import cynet as mx
from cynet import autograd, gluon
from tests.gluon.partly_fresh import check

WAYS = [
    (store, update, in_one_call)
    for store in ("local", "device", "dist_sync", None)
    for update in ([None] if store is None else [None, False, True])
    for in_one_call in (True, False)
    if in_one_call or update is False or (store in ("dist_sync", None) and not update)
]


@pytest.mark.parametrize("contexts", [1, 2, 3])
@pytest.mark.parametrize("stype", ["default", "row_sparse"])
@pytest.mark.parametrize("store, update, in_one_call", WAYS)
def test_they_are_those_of_all(contexts, stype, store, update, in_one_call):
    check(contexts, stype, store, update, in_one_call)


@pytest.mark.parametrize("store", ["local", "device", "dist_sync", None])
def test_without_being_told_so_it_is_an_error(store):
    places = [mx.cpu(0), mx.cpu(1)]
    weight = gluon.Parameter("w", shape=(1,))
    weight.initialize(mx.init.One(), ctx=places)
    trainer = gluon.Trainer([weight], "sgd", kvstore=store, update_on_kvstore=False)
    for call in (lambda: trainer.step(1), lambda: (trainer.allreduce_grads(), trainer.update(1))):
        with autograd.record():
            loss = 2 * weight.data(places[0])
        loss.backward()
        told = "the gradient of parameter 'w' on cpu.1. is that of an earlier step"
        with pytest.raises(UserWarning, match=told):
            call()
        assert weight.data(places[0]).asscalar() == 1


def test_gradients_that_are_set_by_hand_are_summed():
    places = [mx.cpu(0), mx.cpu(1)]
    weight = gluon.Parameter("w", shape=(1,))
    weight.initialize(mx.init.One(), ctx=places)
    trainer = gluon.Trainer([weight], "sgd", update_on_kvstore=False)
    for grad in weight.list_grad():
        grad[:] = 3
    trainer.allreduce_grads()
    assert [grad.asscalar() for grad in weight.list_grad()] == [6, 6]


def test_two_bits_keep_what_is_left_of_each_context():
    places = [mx.cpu(0), mx.cpu(1)]
    weight = gluon.Parameter("w", shape=(1,))
    weight.initialize(mx.init.Zero(), ctx=places)
    trainer = gluon.Trainer(
        [weight],
        "sgd",
        {"learning_rate": 1},
        kvstore="device",
        compression_params={"type": "2bit", "threshold": 1},
    )
    found = []
    for k, value in ((0, 0.75), (1, 0.5), (1, 0.5)):
        with autograd.record():
            loss = value * weight.data(places[k])
        loss.backward()
        trainer.step(1, ignore_stale_grad=True)
        found.append([weight.data(each).asscalar() for each in places])
    assert found == [[0, 0], [0, 0], [-1, -1]]
