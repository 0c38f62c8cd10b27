"""A learning rate beside a schedule with one of its own: a warning says which of the two counts."""

import copy
import warnings

import numpy as np
import pytest

import cynet as mx
from cynet.optimizer.base import OPTIMIZERS

SCHEDULES = {
    "FactorScheduler": lambda **k: mx.lr_scheduler.FactorScheduler(10, **k),
    "MultiFactorScheduler": lambda **k: mx.lr_scheduler.MultiFactorScheduler([10], **k),
    "PolyScheduler": lambda **k: mx.lr_scheduler.PolyScheduler(10, **k),
    "CosineScheduler": lambda **k: mx.lr_scheduler.CosineScheduler(10, **k),
}
NAMES = sorted(
    {
        each.__name__.lower()
        for each in OPTIMIZERS.table.values()
        if each.__module__.startswith("cynet.")
    }
)


def made(name, schedule, **settings):
    """The optimizer, and the warning that came."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        optimizer = mx.optimizer.create(name, lr_scheduler=schedule, **settings)
    assert len(seen) <= 1
    return optimizer, str(seen[0].message) if seen else None


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", SCHEDULES)
def test_the_one_that_is_said_to_count_counts(name, kind):
    optimizer, told = made(name, SCHEDULES[kind](base_lr=0.25), learning_rate=0.5)
    counts = optimizer.learning_rate
    assert told is not None and counts in (0.25, 0.5)
    if counts == 0.5:
        assert f"learning_rate=0.5 counts, not the base_lr=0.25 of {kind}" in told
    else:
        assert f"learning_rate=0.5 does not count, {kind} begins at its own base_lr=0.25" in told


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", SCHEDULES)
def test_nothing_is_said_where_both_are_one(name, kind):
    optimizer, told = made(name, SCHEDULES[kind](base_lr=0.25), learning_rate=0.25)
    assert told is None and optimizer.learning_rate == 0.25


def test_a_schedule_that_is_told_no_rate():
    """MXNet's scripts give the rate to the optimizer alone; a curve does not take it."""
    optimizer, told = made("sgd", SCHEDULES["FactorScheduler"](), learning_rate=0.5)
    assert told is None and optimizer.learning_rate == 0.5
    optimizer, told = made("sgd", SCHEDULES["CosineScheduler"](), learning_rate=0.5)
    assert "learning_rate=0.5 does not count" in told and optimizer.learning_rate == 0.01


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["PolyScheduler", "CosineScheduler"])
def test_nothing_is_said_of_a_rate_that_nobody_gave(name, kind):
    optimizer, told = made(name, SCHEDULES[kind](base_lr=0.25))
    assert told is None and optimizer.learning_rate == 0.25


@pytest.mark.parametrize("name", NAMES)
def test_what_was_given_is_forgotten(name):
    """No attribute of an optimizer, also of one that was copied, says who chose the rate."""
    for settings in ({}, {"learning_rate": 0.5}):
        optimizer = mx.optimizer.create(name, **settings)
        plain = set(vars(mx.optimizer.create(name)))
        assert set(vars(optimizer)) == plain == set(vars(copy.deepcopy(optimizer)))


def test_a_default_that_counts():
    optimizer, told = made("adam", SCHEDULES["FactorScheduler"](base_lr=0.25))
    assert "Adam: learning_rate=0.001, its default, counts, not the base_lr=0.25" in told
    assert optimizer.learning_rate == 0.001
    optimizer, told = made("ftrl", SCHEDULES["FactorScheduler"](base_lr=0.25))
    assert told is None and optimizer.learning_rate == 0.25


def test_a_warm_up_to_another_rate():
    schedule = mx.lr_scheduler.FactorScheduler(100, base_lr=0.1, warmup_steps=10)
    optimizer, told = made("sgd", schedule, learning_rate=0.5)
    assert "learning_rate=0.5 counts, not the base_lr=0.1 of FactorScheduler, up to which" in told
    optimizer.num_update = 5
    assert optimizer.learning_rate == pytest.approx(0.05)
    optimizer.num_update = 11
    assert optimizer.learning_rate == 0.5


def test_functions_are_schedules():
    optimizer, told = made("sgd", lambda n: 0.3, learning_rate=0.5)
    assert told is None and optimizer.learning_rate == 0.3


def test_module_and_trainer_say_it():
    settings = {"learning_rate": 0.5, "lr_scheduler": SCHEDULES["PolyScheduler"](base_lr=0.25)}
    module = mx.mod.Module(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1), label_names=[])
    module.bind([("data", (2, 3))])
    module.init_params()
    with pytest.warns(UserWarning, match=r"learning_rate=0\.5 does not count"):
        module.init_optimizer(optimizer_params=settings)
    net = mx.gluon.nn.Dense(1, in_units=3)
    net.initialize()
    with pytest.warns(UserWarning, match=r"learning_rate=0\.5 does not count"):
        mx.gluon.Trainer(net.collect_params(), "sgd", settings)
    assert np.isfinite(module._optimizer.learning_rate)
