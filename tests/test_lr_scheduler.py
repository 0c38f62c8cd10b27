"""Learning-rate schedules: values of MXNet 1.9.1, what bad input gets."""

import json
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentError, ArgumentTypeError
from tests.fixtures import torch_schedules
from tests.fixtures import training as given

EXPECTED = json.loads(Path(given.__file__).with_name("training.json").read_text())["schedule"]


@pytest.mark.parametrize("name", given.SCHEDULES)
def test_values_are_those_of_mxnet(name):
    kind, options = given.SCHEDULES[name]
    schedule = getattr(mx.lr_scheduler, kind)(**options)
    np.testing.assert_allclose([schedule(i) for i in range(1, 16)], EXPECTED[name], rtol=1e-12)


TORCH = Path(given.__file__).with_name("torch_schedules.json")


@pytest.mark.parametrize("name", torch_schedules.CASES)
def test_cycles_are_those_of_pytorch(name):
    kind, options, _ = torch_schedules.CASES[name]
    schedule, expected = getattr(mx.lr_scheduler, kind)(**options), json.loads(TORCH.read_text())
    found = [schedule(i) for i in range(1, len(expected[name]) + 1)]
    np.testing.assert_allclose(found, expected[name], rtol=1e-9)
    if kind == "OneCycleScheduler":
        assert schedule(1000) == found[-1]


@pytest.mark.parametrize(
    "kind, options, word",
    [
        ("OneCycleScheduler", {"total_steps": 1}, "total_steps"),
        ("OneCycleScheduler", {"total_steps": 5, "pct_start": 1.0}, "pct_start"),
        ("OneCycleScheduler", {"total_steps": 5, "anneal": "sin"}, "anneal"),
        ("OneCycleScheduler", {"total_steps": 5, "max_lr": 0}, "max_lr"),
        ("CyclicScheduler", {"step_size": 0}, "step_size"),
        ("CyclicScheduler", {"step_size": 2, "max_lr": 0.0001}, "max_lr"),
        ("CyclicScheduler", {"step_size": 2, "mode": "square"}, "mode"),
        ("CyclicScheduler", {"step_size": 2.5}, "step_size"),
    ],
)
def test_bad_cycles(kind, options, word):
    with pytest.raises((ArgumentError, ArgumentTypeError), match=word):
        getattr(mx.lr_scheduler, kind)(**options)


def test_a_step_list_is_not_shared():
    steps = [2, 3]
    schedule = mx.lr_scheduler.MultiFactorScheduler(steps, 0.5, base_lr=1.0)
    steps[0] = 100
    assert schedule(3) == 0.5


def test_warm_up_that_takes_all_updates():
    schedule = mx.lr_scheduler.PolyScheduler(4, base_lr=1.0, warmup_steps=4)
    assert [schedule(i) for i in (1, 3, 4, 9)] == [0.25, 0.75, 0.0, 0.0]


@pytest.mark.parametrize(
    "kind, args, error, word",
    [
        ("FactorScheduler", (0,), ArgumentError, "step"),
        ("FactorScheduler", (1, 2.0), ArgumentError, "factor"),
        ("MultiFactorScheduler", ([3, 2],), ArgumentError, "rise"),
        ("MultiFactorScheduler", ([0, 2],), ArgumentError, "at least 1"),
        ("MultiFactorScheduler", ([],), ArgumentTypeError, "step"),
        ("MultiFactorScheduler", (5,), ArgumentTypeError, "step"),
        ("MultiFactorScheduler", ([5], 1.5), ArgumentError, "factor"),
        ("PolyScheduler", (0,), ArgumentError, "max_update"),
        ("CosineScheduler", (2.5,), ArgumentTypeError, "max_update"),
        ("LRScheduler", (0.01, -1), ArgumentError, "warmup_steps"),
        ("LRScheduler", (0.01, 2.0), ArgumentTypeError, "warmup_steps"),
        ("LRScheduler", (0.01, 2, 0.5), ArgumentError, "warmup_begin_lr"),
        ("LRScheduler", (0.01, 2, 0.0, "bent"), ArgumentError, "warmup_mode"),
    ],
)
def test_refused(kind, args, error, word):
    with pytest.raises(error, match=word):
        getattr(mx.lr_scheduler, kind)(*args)


def test_base_class_has_no_curve():
    with pytest.raises(NotImplementedError, match="LRScheduler defines no __call__"):
        mx.lr_scheduler.LRScheduler()(1)
    with pytest.raises(ArgumentError, match="warm-up"):
        mx.lr_scheduler.LRScheduler(warmup_steps=2).get_warmup_lr(2)


@pytest.mark.parametrize("factor", [0.5, 0.999, 1.0, 0.0, -0.5])
def test_many_steps_at_once(factor):
    """As if each update had asked; a count from a file may be as large as it likes."""
    slow, quick = (mx.lr_scheduler.FactorScheduler(3, factor, base_lr=1.0) for _ in range(2))
    for n in range(1, 5000):
        rate = slow(n)
    assert quick(4999) == pytest.approx(rate, rel=1e-12) and quick.count == slow.count
    assert quick(2**62) == (1.0 if factor == 1 else 1e-8)
