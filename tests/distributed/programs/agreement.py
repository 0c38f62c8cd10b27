"""Optimizers and their states that differ between ranks: refused on all of them."""

import contextlib
import os
import warnings

import training

import cynet as mx
from cynet.module.ranks import Ranks


def store():
    return mx.kv.create("dist_sync")


def _refused(say, is_last, optimizer, **settings):
    """The message with which a call refuses another optimizer on the last rank."""
    if is_last:
        name = settings.pop("another", optimizer)
        made = mx.optimizer.create(name, **{"learning_rate": 0.5, **settings})
    else:
        made = mx.optimizer.create(optimizer, learning_rate=0.5)
    try:
        say(made)
    except mx.errors.MismatchError as error:
        return str(error)
    return None


def _in_a_store(optimizer):
    store().set_optimizer(optimizer)


def _in_a_trainer(optimizer, update=None):
    weight = mx.gluon.Parameter("w", shape=(2,))
    weight.initialize()
    trainer = mx.gluon.Trainer([weight], optimizer, kvstore=store(), update_on_kvstore=update)
    trainer.step(1, ignore_stale_grad=True)


def _in_a_trainer_that_updates(optimizer):
    _in_a_trainer(optimizer, True)


def _in_a_module(optimizer):
    module = mx.mod.Module(training.symbol())
    module.bind([("data", (4, training.data(2)[0].shape[1]))], [("softmax_label", (4,))])
    module.init_params(mx.init.One())
    with warnings.catch_warnings():  # rescale_grad is not that of the batch size
        warnings.simplefilter("ignore")
        module.init_optimizer(store(), optimizer)


UNLIKE = {
    "learning_rate is 0.5": {"learning_rate": 0.25},
    "wd is 0.0": {"wd": 0.1},
    "momentum is 0.0": {"momentum": 0.9},
    "rescale_grad is 1.0": {"rescale_grad": 0.5},
    "clip_gradient is None": {"clip_gradient": 2.0},
    "begin_num_update is 0": {"begin_num_update": 3},
    "multi_precision is False": {"multi_precision": True},
    "learning_rate is 0.5 on": {"lr_scheduler": mx.lr_scheduler.FactorScheduler(5, base_lr=0.5)},
    "optimizer is SGD on": {"another": "adam"},
}


def unlike_optimizers(rank, size):
    """Each setting, in each place that an optimizer is given to."""
    for say in (_in_a_store, _in_a_trainer, _in_a_trainer_that_updates, _in_a_module):
        assert _refused(say, rank == size - 1, "sgd") is None
        for told, settings in UNLIKE.items():
            found = _refused(say, rank == size - 1, "sgd", **settings)
            assert found and told in found and f"on rank {size - 1}" in found, (say, told, found)
    two = [mx.lr_scheduler.FactorScheduler(step, base_lr=0.5) for step in (5, 6)]
    made = mx.optimizer.SGD(lr_scheduler=two[rank == 1])
    with contextlib.suppress(mx.errors.MismatchError):
        _in_a_store(made)
        raise AssertionError("schedules of other steps were taken")
    with contextlib.suppress(mx.errors.MismatchError):
        store().set_updater([lambda *_: None, print][rank == 1])
        raise AssertionError("other functions were taken")


def unlike_states(rank, folder):
    """Files of states, of which ranks load other ones."""

    def trained(momentum):
        weight = mx.gluon.Parameter("w", shape=(2,))
        weight.initialize()
        trainer = mx.gluon.Trainer([weight], "sgd", {"momentum": 0.9}, kvstore=store())
        with mx.autograd.record():
            loss = (momentum * weight.data()).sum()
        loss.backward()
        trainer.step(1)
        return trainer

    for i in range(2):
        trained(i + 1).save_states(os.path.join(folder, f"{i}-{rank}.states"))
    trainer = trained(3)
    trainer.load_states(os.path.join(folder, f"1-{rank}.states"))
    with contextlib.suppress(mx.errors.MismatchError):
        trainer.load_states(os.path.join(folder, f"{int(rank == 1)}-{rank}.states"))
        raise AssertionError("other states were taken")


def values_that_are_set(rank):
    """Ranks that set other values begin anew with those of rank 0, on all contexts."""
    places = [mx.cpu(0), mx.cpu(1)]
    for update in (False, True):
        weight = mx.gluon.Parameter("w", shape=(2,))
        weight.initialize(mx.init.Zero(), ctx=places)
        trainer = mx.gluon.Trainer(
            [weight], "sgd", {"learning_rate": 1.0}, kvstore=store(), update_on_kvstore=update
        )
        trainer.step(1, ignore_stale_grad=True)
        weight.set_data(mx.nd.full((2,), 5 + rank))
        with mx.autograd.record():
            losses = [int(rank == i == 0) * weight.data(c) for i, c in enumerate(places)]
        mx.autograd.backward(losses)
        trainer.step(1)
        assert [each.asnumpy().tolist() for each in weight.list_data()] == [[4, 4]] * 2


def moving_means(rank, size):
    """Moving means become their mean over the ranks; weights stay."""
    net = mx.sym.BatchNorm(mx.sym.var("data"), name="bn")
    module = mx.mod.Module(net, label_names=None)
    module.bind([("data", (4, 3))])
    module.init_params()
    args, auxs = module.get_params()
    auxs = {name: mx.nd.full(each.shape, rank + 1) for name, each in auxs.items()}
    module.set_params({**args, "bn_beta": mx.nd.full((3,), rank)}, auxs)
    Ranks(store()).average_states(module)
    args, auxs = module.get_params()
    assert args["bn_beta"].asnumpy().tolist() == [rank] * 3
    assert {*auxs} == {"bn_moving_mean", "bn_moving_var"}
    for each in auxs.values():
        assert each.asnumpy().tolist() == [(size + 1) / 2] * 3
