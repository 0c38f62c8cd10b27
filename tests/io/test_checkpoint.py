"""Checkpoints: what is written comes back; files of other content are refused."""

import contextlib
import os

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import FormatError


def test_round_trip(tmp_path):
    net = mx.sym.BatchNorm(
        mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc"), name="bn"
    )
    args = {"fc_weight": mx.nd.array(np.arange(6).reshape(3, 2)), "fc_bias": mx.nd.ones(3)}
    auxs = {"bn_moving_mean": mx.nd.full((3,), 2)}
    prefix = str(tmp_path / "net")
    mx.model.save_checkpoint(prefix, 12, net, args, auxs)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["net-0012.params", "net-symbol.json"]
    symbol, got_args, got_auxs = mx.model.load_checkpoint(prefix, 12)
    assert symbol.tojson() == net.tojson()
    for found, wanted in ((got_args, args), (got_auxs, auxs)):
        assert set(found) == set(wanted)
        for name, value in wanted.items():
            np.testing.assert_array_equal(found[name].asnumpy(), value.asnumpy())
    assert set(mx.model.load_params(prefix, 12)[0]) == set(args)
    mx.model.save_checkpoint(prefix, 13, None, args, auxs)
    assert (tmp_path / "net-0013.params").exists()


def test_refused(tmp_path):
    prefix = str(tmp_path / "net")
    with pytest.raises(OSError, match="no such file; there is no epoch of this prefix"):
        mx.model.load_params(prefix, 1)
    mx.nd.save(f"{prefix}-0001.params", [mx.nd.ones(1)])
    with pytest.raises(FormatError, match="no names"):
        mx.model.load_params(prefix, 1)
    mx.nd.save(f"{prefix}-0002.params", {"weight": mx.nd.ones(1)})
    with pytest.raises(FormatError, match="'weight'"):
        mx.model.load_params(prefix, 2)


# --- pairs ---------------------------------------------------------------------------------------
def trained(value=1, optimizer="sgd", options=(("learning_rate", 0.1), ("momentum", 0.9))):
    """A module after one update, whose weights depend on `value`."""
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    module.bind([("data", (2, 3))], [("softmax_label", (2,))])
    module.init_params(mx.init.Constant(value))
    module.init_optimizer(optimizer=optimizer, optimizer_params=options)
    step(module)
    return module


def step(module):
    batch = mx.io.DataBatch([mx.nd.ones((2, 3))], [mx.nd.array([0, 0])])
    module.forward_backward(batch)
    module.update()
    return module.get_params()[0]["fc_weight"].asnumpy()


def resumed(prefix, epoch):
    module = mx.mod.Module.load(prefix, epoch, load_optimizer_states=True)
    module.bind([("data", (2, 3))], [("softmax_label", (2,))])
    module.init_optimizer(optimizer_params={"learning_rate": 0.1, "momentum": 0.9})
    return module


def test_a_pair_goes_on_where_it_was(tmp_path):
    prefix = str(tmp_path / "net")
    module = trained()
    module.save_checkpoint(prefix, 1, save_optimizer_states=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "net-0001.params",
        "net-0001.states",
        "net-symbol.json",
    ]
    wanted = step(module)
    np.testing.assert_array_equal(step(resumed(prefix, 1)), wanted)


def test_parameters_of_a_pair_are_as_mxnet_writes_them(tmp_path):
    module = trained()
    module.save_checkpoint(str(tmp_path / "a"), 1, save_optimizer_states=True)
    module.save_checkpoint(str(tmp_path / "b"), 1)
    assert (tmp_path / "a-0001.params").read_bytes() == (tmp_path / "b-0001.params").read_bytes()


def test_states_of_other_parameters_are_refused(tmp_path):
    prefix = str(tmp_path / "net")
    trained(1).save_checkpoint(prefix, 1, save_optimizer_states=True)
    trained(2).save_checkpoint(prefix, 2, save_optimizer_states=True)
    trained(3).save_checkpoint(prefix, 2)  # the parameters alone
    with pytest.raises(
        FormatError,
        match=r"net-0002.states was saved with other parameters.*; the"
        " newest whole pair is epoch 1",
    ):
        mx.mod.Module.load(prefix, 2, load_optimizer_states=True)
    assert mx.mod.Module.load(prefix, 2).params_initialized
    found = mx.model.find_checkpoint(prefix)
    assert (found.epoch, found.params, found.states) == (
        1,
        f"{prefix}-0001.params",
        f"{prefix}-0001.states",
    )
    assert mx.model.find_checkpoint(prefix, states=False).epoch == 2


def test_states_that_say_nothing_of_parameters_load(tmp_path):
    """As save_optimizer_states writes them; no pair for find_checkpoint, though."""
    prefix = str(tmp_path / "net")
    module = trained()
    module.save_checkpoint(prefix, 1)
    module.save_optimizer_states(f"{prefix}-0001.states")
    wanted = step(module)
    np.testing.assert_array_equal(step(resumed(prefix, 1)), wanted)
    assert mx.model.find_checkpoint(prefix) is None


class Stop(BaseException):
    """In place of a kill."""


@pytest.mark.parametrize("stop", range(1, 12))
def test_a_stop_between_any_two_changes_of_the_folder(tmp_path, monkeypatch, stop):
    """The old pair or the new one is whole, under one name; the next save brings all in order."""
    prefix = str(tmp_path / "net")
    module = trained()
    weights = {}
    weights["old"] = module.get_params()[0]["fc_weight"].asnumpy()
    module.save_checkpoint(prefix, 1, save_optimizer_states=True)
    weights["new"] = step(module)
    left = [stop]

    def counted(function):
        def call(*args, **kwargs):
            left[0] -= 1
            if left[0] < 0:
                raise Stop
            return function(*args, **kwargs)

        return call

    with monkeypatch.context() as patch:
        for name in ("replace", "link", "unlink", "fsync"):
            patch.setattr(os, name, counted(getattr(os, name)))
        with contextlib.suppress(Stop):
            module.save_checkpoint(prefix, 1, save_optimizer_states=True)
    found = mx.model.find_checkpoint(prefix)
    assert found.epoch == 1
    loaded = resumed(prefix, 1)
    weight = loaded.get_params()[0]["fc_weight"].asnumpy()
    which = "old" if (weight == weights["old"]).all() else "new"
    np.testing.assert_array_equal(weight, weights[which])
    momentum = {k: v.asnumpy() for k, v in loaded._updater.states.items()}
    module.save_checkpoint(prefix, 1, save_optimizer_states=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "net-0001.params",
        "net-0001.states",
        "net-symbol.json",
    ]
    fresh = {k: v.asnumpy() for k, v in resumed(prefix, 1)._updater.states.items()}
    assert (which == "new") == all((momentum[k] == fresh[k]).all() for k in fresh)


def test_newest_is_what_was_saved_last(tmp_path):
    prefix = str(tmp_path / "net")
    assert mx.model.find_checkpoint(prefix) is None
    assert mx.model.find_checkpoint(str(tmp_path / "none" / "net")) is None
    for epoch in (3, 12345, 2):
        trained(epoch).save_checkpoint(prefix, epoch, save_optimizer_states=True)
    assert mx.model.find_checkpoint(prefix).epoch == 2
    (tmp_path / "net-0002.states").write_bytes(b"damaged")
    assert mx.model.find_checkpoint(prefix).epoch == 12345
    (tmp_path / "net-12345.params").unlink()
    assert mx.model.find_checkpoint(prefix).epoch == 3
    assert mx.model.find_checkpoint(str(tmp_path / "ne")) is None


def test_on_several_devices_with_the_optimizer_in_the_store(tmp_path):
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"), context=[mx.cpu(0)] * 2)
    module.bind([("data", (2, 3))], [("softmax_label", (2,))])
    module.init_params()
    module.init_optimizer("local", optimizer_params={"learning_rate": 0.1, "momentum": 0.9})
    step(module)
    prefix = str(tmp_path / "net")
    module.save_checkpoint(prefix, 1, save_optimizer_states=True)
    assert mx.model.find_checkpoint(prefix).epoch == 1
    with pytest.raises(mx.base.MXNetError, match="save_checkpoint: call init_params first"):
        mx.mod.Module(net, label_names=None).save_checkpoint(prefix, 2, True)
    assert not (tmp_path / "net-0002.params").exists()


@pytest.mark.parametrize("epoch", ["1", 1.5, None])
def test_an_epoch_is_an_int(tmp_path, epoch):
    prefix = str(tmp_path / "net")
    for call in (
        lambda: mx.model.save_checkpoint(prefix, epoch, mx.sym.Variable("a"), {}, {}),
        lambda: mx.model.load_params(prefix, epoch),
        lambda: mx.model.load_checkpoint(prefix, epoch),
    ):
        with pytest.raises(mx.base.MXNetError, match="epoch must be an|such file or directory"):
            call()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("params", [[1], {"a": 1}, {"a": np.ones(2)}, None])
def test_what_are_no_parameters(tmp_path, params):
    with pytest.raises(mx.base.MXNetError, match="params must be|arg:a|aux:a"):
        mx.model.save_checkpoint(str(tmp_path / "net"), 1, None, params, params)
    assert not list(tmp_path.iterdir())


def test_an_epoch_that_is_not_there_names_those_that_are(tmp_path):
    prefix = str(tmp_path / "net")
    with pytest.raises(OSError, match="net-0007.params: no such file; there is no epoch of this"):
        mx.model.load_params(prefix, 7)
    for epoch in (2, 11):
        mx.model.save_checkpoint(prefix, epoch, None, {"w": mx.nd.ones(2)}, {})
    with pytest.raises(FileNotFoundError, match="no such file; there is epoch 2, 11$"):
        mx.model.load_params(prefix, 7)
    for epoch in range(20):
        mx.model.save_checkpoint(prefix, epoch, mx.sym.var("w"), {"w": mx.nd.ones(2)}, {})
    with pytest.raises(FileNotFoundError, match=r"epoch 0, 1, 2, 3, \.\.\., 16, 17, 18, 19$"):
        mx.model.load_checkpoint(prefix, 20)
