"""Optimizer states as bytes: what comes back, and that no damage gets through."""

import json
import pickle
import struct

import numpy as np
import pytest

import cynet as mx
from cynet.errors import ArgumentTypeError, FormatError


def trained(name="adam", **options):
    update = mx.optimizer.get_updater(mx.optimizer.create(name, learning_rate=0.1, **options))
    weights = [mx.nd.ones(3), mx.nd.ones((2, 2))]
    for _ in range(3):
        update([0, 1], [mx.nd.full((3,), 0.5), mx.nd.full((2, 2), 2)], weights)
    return update, weights


def step(update, weights):
    update([0, 1], [mx.nd.ones(3), mx.nd.ones((2, 2))], weights)
    return [weight.asnumpy() for weight in weights]


def copies(weights):
    return [weight.copy() for weight in weights]


def test_momentum_goes_on():
    update, weights = trained("sgd", momentum=0.9)
    other = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.1, momentum=0.9))
    other.set_states(update.get_states())
    for mine, theirs in zip(step(update, copies(weights)), step(other, copies(weights))):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("name", ["adam", "nadam", "rmsprop", "sgd"])
def test_the_whole_optimizer_goes_on(name):
    options = {
        "lr_scheduler": mx.lr_scheduler.MultiFactorScheduler([2, 5], 0.5),
        "param_idx2name": {0: "a_weight", 1: "a_bias"},
        "wd": 0.1,
    }
    update, weights = trained(name, **options)
    other = mx.optimizer.get_updater(mx.optimizer.SGD())
    other.set_states(update.get_states(dump_optimizer=True))
    assert type(other.optimizer) is type(update.optimizer)
    assert other.optimizer.num_update == 3
    assert other.optimizer.learning_rate == update.optimizer.learning_rate
    mine, theirs = copies(weights), copies(weights)
    for _ in range(4):
        for a, b in zip(step(update, mine), step(other, theirs)):
            np.testing.assert_array_equal(a, b)


def test_empty_states_and_str_keys():
    update = mx.optimizer.get_updater(mx.optimizer.SGD())
    update.set_states(update.get_states())
    assert update.states == {}
    update("fc_weight", mx.nd.ones(2), mx.nd.ones(2))
    other = mx.optimizer.get_updater(mx.optimizer.SGD())
    other.set_states(update.get_states())
    assert other.states == {"fc_weight": None}


def test_pickles_are_refused():
    with pytest.raises(FormatError, match="pickle"):
        mx.optimizer.get_updater(mx.optimizer.SGD()).set_states(pickle.dumps({0: None}))


def test_every_truncation_is_refused():
    update, _ = trained()
    content = update.get_states(dump_optimizer=True)
    for length in range(len(content)):
        with pytest.raises((FormatError, mx.base.MXNetError)):
            mx.optimizer.get_updater(mx.optimizer.SGD()).set_states(content[:length])
    assert set(update.states) == {0, 1}


def changed(content, change):
    """The states with another header."""
    (length,) = struct.unpack("<Q", content[8:16])
    header = json.loads(content[16 : 16 + length])
    change(header)
    text = json.dumps(header).encode()
    return content[:8] + struct.pack("<Q", len(text)) + text + content[16 + length :]


@pytest.mark.parametrize(
    "change",
    [
        lambda h: h.pop("states"),
        lambda h: h.pop("optimizer"),
        lambda h: h.update(states=3),
        lambda h: h["states"].append([0, None]),
        lambda h: h["states"].append([2, 99]),
        lambda h: h["states"].append([2, -1]),
        lambda h: h["states"].append([2, True]),
        lambda h: h["states"].append([2, "x"]),
        lambda h: h["states"].append([[1], None]),
        lambda h: h["states"].append([2, [[[[[[[[[[0]]]]]]]]]]]),
        lambda h: h["optimizer"].update(name="os"),
        lambda h: h["optimizer"].update(name=3),
        lambda h: h["optimizer"].pop("counts"),
        lambda h: h["optimizer"]["settings"].update({"__class__": 3}),
        lambda h: h["optimizer"].update(lr_scheduler={"name": "math", "settings": {}}),
        lambda h: h["optimizer"].update(lr_scheduler={"name": "absent", "settings": {}}),
    ],
)
def test_damaged_headers_are_refused(change):
    update, _ = trained()
    content = changed(update.get_states(dump_optimizer=True), change)
    with pytest.raises(FormatError):
        update.set_states(content)


def test_other_damage_is_refused(rng):
    update, _ = trained()
    content = bytearray(update.get_states(dump_optimizer=True))
    for bad in (b"", b"x" * 40, b"CYNSTAT1" + b"\xff" * 8 + b"x"):
        with pytest.raises(FormatError):
            update.set_states(bad)
    with pytest.raises(ArgumentTypeError):
        update.set_states("text")
    for _ in range(300):
        damaged = bytearray(content)
        for at in rng.integers(0, len(content), 3):
            damaged[at] = rng.integers(256)
        try:
            mx.optimizer.get_updater(mx.optimizer.SGD()).set_states(bytes(damaged))
        except mx.base.MXNetError:
            continue
