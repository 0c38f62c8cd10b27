"""What users define of a Trainer's methods, and of what it works with."""

import numpy as np
import pytest

import cynet as mx
from cynet import autograd, gluon, nd
from cynet.base.errors import ArgumentError
from cynet.gluon.errors import MismatchError

ONE, TWO = [mx.cpu()], [mx.cpu(0), mx.cpu(1)]


def dense(contexts, **settings):
    net = gluon.nn.Dense(1, in_units=1, use_bias=False, **settings)
    net.initialize(mx.init.Zero(), ctx=contexts)
    return net


def backward(net, contexts, value=1):
    with autograd.record():
        losses = [net(nd.full((1, 1), value, ctx=each)).sum() for each in contexts]
    autograd.backward(losses)


def weights(net):
    return [float(each.asscalar()) for each in net.weight.list_data()]


class Distributed(gluon.Trainer):
    """As Horovod's: the gradients of another worker, equal to these, are added."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, kvstore=None, **kwargs)
        self._scale /= 2

    def _allreduce_grads(self):
        for param in self._params:
            for grad in param.list_grad():
                grad[:] *= 2


@pytest.mark.parametrize("contexts", [ONE, TWO])
@pytest.mark.parametrize("parts", [False, True])
def test_allreduce_grads(contexts, parts):
    net = dense(contexts)
    trainer = Distributed(net.collect_params(), "sgd", {"learning_rate": 1})
    backward(net, contexts)
    if parts:
        trainer.allreduce_grads()
        trainer.update(1)
    else:
        trainer.step(1)
    assert weights(net) == [-1] * len(contexts)


@pytest.mark.parametrize("contexts", [ONE, TWO])
def test_allreduce_grads_that_is_set_on_the_trainer(contexts):
    net = dense(contexts)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1}, kvstore=None)
    trainer._allreduce_grads = lambda: [grad.__imul__(3) for grad in net.weight.list_grad()]
    backward(net, contexts)
    trainer.step(1)
    assert weights(net) == [-3] * len(contexts)


def test_update_and_kvstore_of_a_subclass():
    class Watching(gluon.Trainer):
        seen = []

        def _init_kvstore(self):
            self.seen.append("kvstore")
            super()._init_kvstore()

        def _update(self, ignore_stale_grad=False):
            self.seen.append(self._optimizer.rescale_grad)
            super()._update(ignore_stale_grad)

    net = dense(ONE)
    trainer = Watching(net.collect_params(), "sgd", {"learning_rate": 1})
    for size in (2, 4):
        backward(net, ONE)
        trainer.step(size)
    assert Watching.seen == ["kvstore", 0.5, 0.25] and weights(net) == [-0.75]


@pytest.mark.parametrize("ways", ["class", "object"])
def test_a_parameter_that_lists_other_arrays(ways):
    """One that hands its Trainer another gradient: the norm of each is at most 1."""

    def clipped(self):
        return [nd.clip(each, -1, 1) for each in gluon.Parameter.list_grad(self)]

    class Clipped(gluon.Parameter):
        list_grad = clipped

    weight = (Clipped if ways == "class" else gluon.Parameter)("w", shape=(1,))
    weight.initialize(mx.init.Zero())
    trainer = gluon.Trainer([weight], "sgd", {"learning_rate": 1})
    if ways == "object":
        weight.list_grad = lambda: clipped(weight)
    for value in (0.5, 5):
        with autograd.record():
            loss = weight.data() * value
        loss.backward()
        trainer.step(1)
    assert weight.data().asscalar() == -1.5


class Rows(mx.kv.KVStoreBase):
    """A store that updates weights, when asked to."""

    type, rank, num_workers = "rows", 0, 1

    def __init__(self, capable):
        self.capable, self.weights, self.update, self.asked = capable, {}, None, []

    def broadcast(self, key, value, out, priority=0):
        self.weights[key] = value.copy()
        for each in out:
            each[:] = value

    def pushpull(self, key, value, out=None, priority=0):
        total = value[0].copy()
        for each in value[1:]:
            total += each.as_in_context(total.context)
        if self.update is not None:
            self.update(key, total, self.weights[key])
            total = self.weights[key]
        for each in value if out is None else out:
            each[:] = total

    def is_capable(self, capability):
        self.asked.append(capability)
        return self.capable

    def set_optimizer(self, optimizer):
        self.update = mx.optimizer.get_updater(optimizer)

    def save_optimizer_states(self, fname, dump_optimizer=False):
        self.asked.append(("save", dump_optimizer))

    def load_optimizer_states(self, fname):
        self.asked.append("load")


@pytest.mark.parametrize("contexts", [ONE, TWO])
@pytest.mark.parametrize("capable", [False, True])
@pytest.mark.parametrize("wish", [None, False, True])
def test_a_store_that_may_update(contexts, capable, wish):
    net, store = dense(contexts), Rows(capable)
    trainer = gluon.Trainer(
        net.collect_params(),
        "sgd",
        {"learning_rate": 1, "momentum": 0.5},
        kvstore=store,
        update_on_kvstore=wish,
    )
    backward(net, contexts)
    if wish and not capable:
        with pytest.raises(ArgumentError, match="is_capable"):
            trainer.step(1)
        return
    trainer.step(1)
    backward(net, contexts)
    trainer.step(1)
    assert weights(net) == [-2.5 * len(contexts)] * len(contexts)
    updates = capable and wish is not False
    assert (store.update is not None) == updates
    if updates:
        trainer.save_states("nowhere")
        trainer.load_states("nowhere")
        assert store.asked[-2:] == [("save", True), "load"]
        with pytest.raises(MismatchError, match="Rows keeps the optimizer's states"):
            gluon.save_training("nowhere", net, trainer)


@pytest.mark.parametrize("contexts", [ONE, TWO])
def test_methods_of_a_kvstore_of_cynets_kind(contexts):
    class Watched(type(mx.kv.create("local"))):
        pushes = 0

        def push(self, key, value, priority=0):
            Watched.pushes += 1
            super().push(key, value, priority)

    net = dense(contexts)
    trainer = gluon.Trainer(
        net.collect_params(), "sgd", {"learning_rate": 1}, kvstore=Watched("local")
    )
    backward(net, contexts)
    trainer.step(1)
    assert Watched.pushes == 1 and weights(net) == [-len(contexts)] * len(contexts)


def test_updates_of_a_subclass_leave_out_what_is_not_finite():
    class SkipNonFinite(mx.optimizer.Adam):
        def update_multi_precision(self, index, weight, grad, state):
            if np.isfinite(grad.asnumpy()).all():
                super().update_multi_precision(index, weight, grad, state)

    net = dense(ONE)
    trainer = gluon.Trainer(net.collect_params(), SkipNonFinite(learning_rate=0.1))
    for value in (1.0, np.inf, 1.0):
        backward(net, ONE, value)
        trainer.step(1)
    np.testing.assert_allclose(weights(net), [-0.2], rtol=1e-4)
