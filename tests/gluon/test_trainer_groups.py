"""Parameter groups of a Trainer: rates and decays of their own, against PyTorch."""

from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from cynet import autograd, gluon, nd
from cynet.gluon import nn
from tests.distributed import together as ranks
from tests.fixtures.torch_groups import CASES, CHANGED, GROUPS, NEW_RATE, STEPS, data

WANTED = np.load(Path(__file__).parents[1] / "fixtures" / "torch_groups.npz")


def network():
    weights, x, y = data()
    net = nn.HybridSequential()
    net.add(nn.Dense(4, in_units=3, activation="tanh"), nn.Dense(2, in_units=4))
    net.initialize()
    for name, each in net._collect_params_with_prefix().items():
        each.set_data(nd.array(weights[name]))
    return net, nd.array(x), nd.array(y)


def step(net, x, y, trainer):
    with autograd.record():
        loss = ((net(x) - y) ** 2).mean()
    loss.backward()
    trainer.step(1)


def as_dicts(net, named):
    """The groups of PyTorch, as a list of dicts."""
    names = {"weight_decay": "wd"}
    found = []
    for group in GROUPS:
        params = [named[k] for k in group["params"]]
        if group["params"] == ("0.weight", "0.bias"):
            params = net[0]  # a Block stands for its parameters
        rest = {names.get(k, k): v for k, v in group.items() if k != "params"}
        found.append({"params": params, **rest})
    return found


def as_selections(net):
    """The same by names and Blocks, of all parameters."""
    return [
        {"select": net[0], "lr": 0.02, "wd": 0.1},
        {"select": "1.weight", "lr": 0.3},
        {"select": r"(.*\.)?1\.bias$", "wd": 0.0},
    ]


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("way", ["dicts", "selections"])
@pytest.mark.parametrize("case", CASES)
def test_weights_are_those_of_pytorch(case, way, hybrid):
    kind, settings = CASES[case]
    settings = {
        {"lr": "learning_rate", "weight_decay": "wd"}.get(k, k): v for k, v in settings.items()
    }
    net, x, y = network()
    if hybrid:
        net.hybridize()
    params, groups = net.collect_params(), ()
    if way == "dicts":
        params = as_dicts(net, net._collect_params_with_prefix())
    else:
        groups = as_selections(net)
    trainer = gluon.Trainer(params, kind.lower(), settings, groups=groups)
    for i in range(STEPS):
        if i == CHANGED and case != "sgd":
            trainer.param_groups[0]["lr"] = NEW_RATE
            assert trainer.param_groups[0]["lr"] == pytest.approx(NEW_RATE)
        step(net, x, y, trainer)
    for name, each in net._collect_params_with_prefix().items():
        np.testing.assert_allclose(each.data().asnumpy(), WANTED[f"{case}/{name}"], 2e-5, 1e-5)


def held(start):
    found = [gluon.Parameter(f"{c}_weight", shape=value.shape) for c, value in zip("ab", start)]
    for each, value in zip(found, start):
        each.initialize(mx.init.Constant(nd.array(value)))
    return found


def run(trainers, params, slopes):
    """Weights behind steps with gradients that are given."""
    mx.random.seed(5)
    for slope in slopes:
        for each, own in zip(params, slope):
            each.grad()[:] = own
            each.data()._fresh_grad = True
        for trainer in trainers:
            trainer.step(1)
    return [each.data().asnumpy() for each in params]


OWN = [k for k, v in mx.optimizer.Optimizer.opt_registry.items() if v.__module__[:6] == "cynet."]


@pytest.mark.parametrize("name", sorted(OWN))
def test_every_optimizer_takes_groups(name, rng):
    """A Trainer with two groups does what two Trainers with those rates and decays do."""
    start, slopes = rng.normal(size=(2, 3, 4)), rng.normal(size=(3, 2, 3, 4))
    decay = 0.0 if name == "groupadagrad" else 0.3  # which refuses one
    own = [{"lr": 0.02, "wd": decay}, {"lr": 0.05, "wd": 0.0}]
    one, two = held(start), held(start)
    groups = [{"params": [p], **s} for p, s in zip(one, own)]
    settings = {"learning_rate": 0.1, "wd": decay}
    got = run([gluon.Trainer(groups, name, settings)], one, slopes)
    if name == "nadam":  # weights share its schedule: the same Trainer, by factors
        for each, rate, factor in zip(two, (0.2, 0.5), (1, 0)):
            each.lr_mult, each.wd_mult = rate, factor
        apart = [gluon.Trainer(two, name, settings)]
    else:
        made = [{"learning_rate": s["lr"], "wd": s["wd"]} for s in own]
        apart = [gluon.Trainer([p], name, s) for p, s in zip(two, made)]
    for a, b, before in zip(got, run(apart, two, slopes), start):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)
        if name not in ("sgld", "test"):  # whose steps are drawn, or do not ask for a rate
            assert not np.allclose(a, before)


def test_rates_move_with_the_trainers(rng):
    params = held(rng.normal(size=(2, 3, 4)))
    schedule = mx.lr_scheduler.FactorScheduler(step=1, factor=0.5, base_lr=0.4)
    groups = [{"select": "a", "lr": 0.04}]
    trainer = gluon.Trainer(params, "sgd", {"lr_scheduler": schedule}, groups=groups)
    first, rest = trainer.param_groups
    assert (first["lr"], rest["lr"], rest["wd"]) == (0.04, 0.4, 0)
    assert [each.name for each in rest["params"]] == ["b_weight"]
    run([trainer], params, np.zeros((3, 2, 3, 4)))
    assert trainer.learning_rate == 0.1 and first["lr"] == pytest.approx(0.01)
    first["lr"] = 0.05
    assert first["lr"] == pytest.approx(0.05) and rest["lr"] == 0.1
    rest["wd"] = 0.5
    assert (first["wd"], rest["wd"], trainer.optimizer.wd) == (0, 0.5, 0)
    plain = gluon.Trainer(params, "sgd", {"learning_rate": 0.1})
    (only,) = plain.param_groups
    only["lr"], only["wd"] = 0.3, 0.2
    assert plain.learning_rate == 0.3 and plain.optimizer.wd == 0.2
    assert dict(only).keys() == {"params", "lr", "wd"} and "'a_weight'" in repr(only)


@pytest.mark.parametrize("on_store", [False, True])
def test_several_contexts(on_store):
    param, other = (gluon.Parameter(name, shape=(1,)) for name in "wv")
    for each in (param, other):
        each.initialize("ones", ctx=[mx.cpu(0), mx.cpu(1)])
    groups = [{"params": param, "lr": 0.25}, {"params": [other], "wd": 0.5}]
    settings = {"learning_rate": 0.125}
    trainer = gluon.Trainer(groups, "sgd", settings, update_on_kvstore=on_store)
    with autograd.record():
        losses = [a + b for a, b in zip(param.list_data(), other.list_data())]
    autograd.backward(losses)
    trainer.step(2)
    assert [each.asscalar() for each in param.list_data()] == [0.75, 0.75]
    assert [each.asscalar() for each in other.list_data()] == [0.8125, 0.8125]


def test_files_keep_rates(tmp_path, rng):
    start, slopes = rng.normal(size=(2, 3, 4)), rng.normal(size=(4, 2, 3, 4))

    def trainer(params):
        groups = [{"params": params[:1], "lr": 0.01, "wd": 0.1}, {"params": params[1:]}]
        return gluon.Trainer(groups, "adam", {"learning_rate": 0.1})

    params = held(start)
    first = trainer(params)
    run([first], params, slopes[:2])
    first.param_groups[0]["lr"] = 0.03
    first.param_groups[1]["wd"] = 0.2
    first.save_states(tmp_path / "s")
    again = held([each.data().asnumpy() for each in params])
    second = trainer(again)
    second.load_states(tmp_path / "s")
    assert [g["lr"] for g in second.param_groups] == [pytest.approx(0.03), 0.1]
    assert [g["wd"] for g in second.param_groups] == [0.1, 0.2]
    wanted = run([first], params, slopes[2:])
    for a, b in zip(run([second], again, slopes[2:]), wanted):
        assert (a == b).all()
    plain = gluon.Trainer(again, "adam", {"learning_rate": 0.1})
    with pytest.raises(AssertionError, match="are not among"):
        plain.load_states(tmp_path / "s")
    gluon.Trainer(params, "adam").save_states(tmp_path / "t")
    grouped = gluon.Trainer(again, "adam", groups=[{"select": "a", "wd": 0.5}])
    grouped.load_states(tmp_path / "t")  # a file without groups
    assert grouped.param_groups[0]["wd"] == 0.5
    grouped.save_states(tmp_path / "u")
    other = gluon.Trainer(params, "adam")
    with pytest.raises(
        AssertionError, match="of a Trainer with other groups: 'a_weight' have 'wd'"
    ):
        other.load_states(tmp_path / "u")


def test_what_is_refused():
    net, _, _ = network()
    params = net.collect_params()
    whole = list(params.values())
    strange = gluon.Parameter("z", shape=(1,))
    for groups, told in [
        ([{"lr": 0.1}], "a group of groups= is a dict with 'select'"),
        ([3], "a group of groups= is a dict with 'select'"),
        ([{"select": "0.*", "momentum": 0}], "some of lr, wd, .*group 0 has 'momentum'"),
        ([{"select": "0.*"}], "group 0 has none"),
        ([{"select": "x", "lr": 1}], "no parameter matches 'x'"),
        ([{"select": [strange], "lr": 1}], "parameter 'z' of a group is not among those"),
        ([{"select": 5, "lr": 1}], "are a Block, a ParameterDict or a list"),
        ([{"select": [5], "lr": 1}], "got a list with 5"),
        ([{"select": "0.*", "lr": -1}], "'lr' of a group must be a number from 0 on, got -1"),
        ([{"select": "0.*", "wd": float("nan")}], "'wd' of a group must be a number from 0"),
        ([{"select": "0.*", "lr": 1}, {"select": ".*bias", "lr": 2}], "groups 0 and 1 both say"),
    ]:
        with pytest.raises(ValueError, match=told):
            gluon.Trainer(params, "sgd", groups=groups)
    with pytest.raises(TypeError, match="'lr' of a group must be a number, got 'x'"):
        gluon.Trainer(params, "sgd", groups=[{"select": "0.*", "lr": "x"}])
    for dicts, told in [
        (
            [{"params": net[0]}, whole[2]],
            "group 1 of a list of groups must be a dict with 'params'",
        ),
        ([{"lr": 1}], "group 0 of a list of groups must be a dict with 'params'"),
        ([{"params": net}, {"params": net[1], "lr": 1}], "is in two groups"),
    ]:
        with pytest.raises(ValueError, match=told):
            gluon.Trainer(dicts, "sgd")
    with pytest.raises(
        ValueError, match="a multiple of the Trainer's learning rate, and that is 0"
    ):
        gluon.Trainer([{"params": net, "lr": 1}], "sgd", {"learning_rate": 0})
    trainer = gluon.Trainer([{"params": net, "lr": 1, "lr_mult": 2}], "sgd")
    group = trainer.param_groups[0]
    assert group["lr_mult"] == 2
    with pytest.raises(ValueError, match="'lr' and 'wd' can be set, not 'momentum'"):
        group["momentum"] = 0.5
    with pytest.raises(KeyError, match="has 'params', 'lr', 'wd', 'lr_mult', not 'momentum'"):
        group["momentum"]
    with pytest.raises(ValueError, match="from 0 on, got -1"):
        group["lr"] = -1


def test_ranks_have_the_same_groups(monkeypatch):
    """Also those that one of them changes later."""

    def everything(world):
        def trainer(rate, decay=0.5):
            params = held(np.ones((2, 3, 4)))
            groups = [{"select": "a", "lr": rate, "wd": decay}]
            return params, gluon.Trainer(params, "sgd", kvstore="dist_sync", groups=groups)

        rank, told = world.rank, []
        params, made = trainer(0.1)
        run([made], params, np.ones((2, 2, 3, 4)))
        for rate, decay in ((0.1 + rank, 0.5), (0.1, 0.5 + rank)):
            params, other = trainer(rate, decay)
            with pytest.raises(mx.MXNetError, match="of the group of a_weight is .* on rank 0 and"):
                run([other], params, np.ones((1, 2, 3, 4)))
        made.param_groups[0]["lr"] = 0.2 + rank
        params = made._params
        try:
            run([made], params, np.ones((1, 2, 3, 4)))
        except mx.MXNetError as error:
            told.append(str(error))
        return told

    found = ranks.run(monkeypatch, 2, everything, end=False)
    text = " ".join(map(str, found))
    assert "rate of the groups: [('a_weight', 20.0" in text and "120.0" in text
