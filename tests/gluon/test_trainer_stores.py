"""Trainer and its stores: which it takes, what it does anew, parameters of one name."""

import gc

import numpy as np
import pytest

import cynet as mx
from cynet import autograd, gluon
from cynet.base.errors import ArgumentError

TWO = [mx.cpu(0), mx.cpu(1)]


def weight(name="x", ctx=TWO, **settings):
    out = gluon.Parameter(name, shape=(3, 1), **settings)
    out.initialize(mx.init.Zero(), ctx=ctx)
    return out


def backward(*params, factor=1):
    with autograd.record():
        losses = [(factor * array).sum() for each in params for array in each.list_data()]
    autograd.backward(losses)


def values(param):
    return [float(array.asnumpy()[0, 0]) for array in param.list_data()]


def test_parameters_of_one_name(tmp_path):
    """Lists of Parameters may have them; each has its own momentum, also from files."""

    def made():
        out = [weight(name, ctx=mx.cpu()) for name in ("mean", "rho", "mean", "mean", "mean#2")]
        settings = {"learning_rate": 0.5, "momentum": 0.5}
        return out, gluon.Trainer(out, "sgd", settings)

    def step(params, trainer):
        with autograd.record():
            loss = sum(factor * each.data().sum() for factor, each in enumerate(params, 1))
        loss.backward()
        trainer.step(1)

    params, trainer = made()
    step(params, trainer)
    assert [values(each) for each in params] == [[-0.5], [-1], [-1.5], [-2], [-2.5]]
    trainer.save_states(tmp_path / "states")
    other, again = made()
    again.load_states(tmp_path / "states")
    step(params, trainer)
    step(other, again)
    assert [values(each) for each in params] == [[-1.25], [-2.5], [-3.75], [-5], [-6.25]]
    assert [values(each) for each in other] == [[-0.75], [-1.5], [-2.25], [-3], [-3.75]]


@pytest.mark.parametrize("store", ["local", "device"])
def test_parameters_of_one_name_in_a_store(store):
    params = [weight("w"), weight("w")]
    trainer = gluon.Trainer(params, "sgd", {"learning_rate": 1}, kvstore=store)
    with autograd.record():
        losses = [(k + 1) * p.data(c).sum() for k, p in enumerate(params) for c in TWO]
    autograd.backward(losses)
    trainer.step(1)
    assert [values(each) for each in params] == [[-2, -2], [-4, -4]]


@pytest.mark.parametrize("store", ["local", "device", "instance"])
@pytest.mark.parametrize("way", ["load", "set_data"])
def test_values_from_elsewhere_begin_anew_in_the_store(store, way, tmp_path):
    param = weight()
    params = gluon.ParameterDict()
    params.update({"x": param})
    params.save(f"{tmp_path}/x.params")
    made = mx.kv.create("local") if store == "instance" else store
    trainer = gluon.Trainer(params, "sgd", {"learning_rate": 0.5}, kvstore=made)
    backward(param)
    trainer.step(1)
    assert values(param) == [-1, -1] and trainer._kvstore.type in ("local", "device")
    if way == "load":
        params.load(f"{tmp_path}/x.params")
    else:
        param.set_data(mx.nd.zeros((3, 1)))
    assert trainer._kvstore is None and trainer._kv_initialized is False
    backward(param)
    trainer.step(1)
    assert values(param) == [-1, -1]


@pytest.mark.parametrize("contexts", [TWO, TWO[:1]])
def test_factors_by_number(contexts, tmp_path):
    """The optimizer finds a parameter's factors by its number, too, also after a file."""
    param = weight(ctx=contexts)
    trainer = gluon.Trainer([param], "sgd", {"learning_rate": 0.5})
    assert trainer.optimizer._get_lr(0) == trainer.optimizer._get_lr("x") == 0.5
    trainer.save_states(tmp_path / "states")
    trainer.load_states(tmp_path / "states")
    param.lr_mult = 2.0
    assert trainer.optimizer._get_lr(0) == trainer.optimizer._get_lr("x") == 1


# stype, grad_stype, wish: whether the store updates
ROWS = [
    ("default", "default", None, True),
    ("default", "default", False, False),
    ("default", "row_sparse", None, False),
    ("default", "row_sparse", True, True),
    ("default", "row_sparse", False, False),
    ("row_sparse", "row_sparse", None, True),
    ("row_sparse", "row_sparse", True, True),
    ("row_sparse", "row_sparse", False, False),
]


@pytest.mark.parametrize("store", ["local", "device"])
@pytest.mark.parametrize("stype, grad_stype, wish, wanted", ROWS)
def test_which_stores_update(store, stype, grad_stype, wish, wanted):
    param = weight(stype=stype, grad_stype=grad_stype)
    trainer = gluon.Trainer([param], "sgd", {"learning_rate": 0.5}, store, update_on_kvstore=wish)
    rows = mx.nd.arange(3)
    arrays = param.list_data() if stype == "default" else param.list_row_sparse_data(rows)
    with autograd.record():
        losses = [mx.nd.Embedding(rows, w, 3, 1, sparse_grad=True).sum() for w in arrays]
    autograd.backward(losses)
    trainer.step(1)
    assert trainer._update_on_kvstore is wanted and trainer._kvstore.type == store
    if stype == "default":
        assert values(param) == [-1, -1]
    else:
        for each in param.list_row_sparse_data(rows):
            np.testing.assert_array_equal(each.asnumpy(), -np.ones((3, 1)))


def test_a_store_that_only_sums():
    param, store = weight(), mx.kv.create("teststore")
    settings = {"learning_rate": 1.0, "momentum": 0.5}
    trainer = gluon.Trainer([param], "sgd", settings, kvstore=store)
    backward(param)
    trainer.step(1)
    assert trainer._update_on_kvstore is False and values(param) == [-2, -2]
    refused = gluon.Trainer([param], "sgd", kvstore=store, update_on_kvstore=True)
    with pytest.raises(ArgumentError, match="TestStore is a store of your own that sums"):
        refused._init_kvstore()


@pytest.mark.parametrize("stype", ["default", "row_sparse"])
@pytest.mark.parametrize(
    "store, wish",
    [
        (store, wish)
        for store in ("local", "device", "dist_sync", None)
        for wish in (None, False, True)
        if store or not wish
    ],
)
def test_two_trainers_of_a_parameter(stype, store, wish):
    """Each sees what the other one has changed; a store of the first one kept older values."""
    param = weight(stype=stype, grad_stype=stype)
    trainers = [
        gluon.Trainer([param], "sgd", {"learning_rate": 1}, store, update_on_kvstore=wish)
        for _ in range(2)
    ]
    rows = mx.nd.arange(3)
    for step, k in enumerate((0, 1, 0, 0, 1), 1):
        if stype == "default":
            backward(param)
        else:
            with autograd.record():
                losses = [
                    mx.nd.Embedding(rows, w, 3, 1, sparse_grad=True).sum()
                    for w in param.list_row_sparse_data(rows)
                ]
            autograd.backward(losses)
        trainers[k].step(1)
        arrays = param.list_data() if stype == "default" else param.list_row_sparse_data(rows)
        assert [each.asnumpy()[0, 0] for each in arrays] == [-2 * step, -2 * step]


def test_a_trainer_that_is_gone_is_told_nothing():
    param = weight()
    gluon.Trainer([param], "sgd")
    trainer = gluon.Trainer([param], "sgd", {"learning_rate": 1})
    assert param._trainer is trainer
    del trainer
    trainer = gluon.Trainer([param], "sgd", {"learning_rate": 1})
    gc.collect()
    assert param._owning_trainers() == [trainer]


@pytest.mark.parametrize("contexts", [TWO, TWO[:1]])
@pytest.mark.parametrize(
    "settings, told",
    [
        ({"type": "1bit"}, "1bit"),
        ({"type": "2bit", "threshold": 0}, "threshold"),
        ({"type": "2bit", "threshold": -1}, "threshold"),
        (3, "compression"),
    ],
)
def test_compression_is_looked_at_when_it_is_asked_for(contexts, settings, told):
    """Not at the first step, and on one context, too."""
    with pytest.raises(mx.errors.CynetError, match=told):
        gluon.Trainer([weight(ctx=contexts)], "sgd", kvstore="device", compression_params=settings)


@pytest.mark.parametrize("store", ["local", "device", "dist_sync", None])
@pytest.mark.parametrize("contexts", [TWO, TWO[:1]])
def test_the_norm_of_sums_is_bounded(store, contexts):
    """A bound is there where nothing is said of the store: it then sums alone."""
    param = weight(ctx=contexts)
    trainer = gluon.Trainer([param], "sgd", {"learning_rate": 1}, store, clip_global_norm=0.5)
    backward(param, factor=4)
    trainer.step(2)
    length = float(np.sqrt(3)) * values(param)[0]
    assert abs(length + 0.5) < 1e-5 and len({*values(param)}) == 1
    if len(contexts) > 1 and store is not None:
        other = gluon.Trainer(
            [param], "sgd", kvstore=store, clip_global_norm=0.5, update_on_kvstore=True
        )
        backward(param)
        with pytest.raises(ArgumentError, match="clip_global_norm needs update_on_kvstore=False"):
            other.step(1)
