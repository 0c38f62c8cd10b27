"""LAMB, LARS, LBSGD, ccSGD as MXNet 1.9.1 updates, AdamW as PyTorch; states in files."""

import json
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from tests.fixtures import large_batch as given

FIXTURES = Path(__file__).parents[1] / "fixtures"
WANTED = json.loads((FIXTURES / "large_batch.json").read_text())
CASES = {
    **given.CASES,
    **{name: ("AdamW", settings, "a_weight") for name, settings in given.ADAMW.items()},
}


@pytest.mark.parametrize("joined", [True, False])  # native, or of operators as on GPUs
@pytest.mark.parametrize("name", CASES)
def test_weights(name, joined, monkeypatch):
    if not joined:
        for kind in (mx.optimizer.LAMB, mx.optimizer.LARS, mx.optimizer.LBSGD):
            monkeypatch.setattr(kind, "_can_fuse_updates", lambda self, weights: False)
    found = given.run(mx, *CASES[name])
    np.testing.assert_allclose(found, WANTED[name], rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", ["lamb", "lars_schedule", "lbsgd_power2", "adamw", "ccsgd"])
def test_states_go_on_from_bytes(name):
    kind, settings, weight_name = CASES[name]
    settings = dict(settings)
    if steps := settings.pop("steps", None):
        settings["lr_scheduler"] = mx.lr_scheduler.FactorScheduler(steps, 0.5)
    optimizer = mx.optimizer.create(kind, param_idx2name={0: weight_name}, **settings)
    update = mx.optimizer.get_updater(optimizer)
    first, grads = given.drawn()
    weight, found = mx.nd.array(first), []
    for i, grad in enumerate(grads):
        if i == 5:
            content = update.get_states(dump_optimizer=True)
            update = mx.optimizer.get_updater(mx.optimizer.create(kind))
            update.set_states(content)
        update(0, mx.nd.array(grad), weight)
        found.append(weight.asnumpy().ravel().tolist())
    np.testing.assert_allclose(found, WANTED[name], rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", ["lamb", "lars", "lbsgd", "adamw", "ccsgd"])
def test_half_weights_with_a_copy(name):
    def made():
        settings = {"learning_rate": 0.01, "multi_precision": True}
        return mx.optimizer.get_updater(mx.optimizer.create(name, **settings))

    first, grads = given.drawn()
    half, single = mx.nd.array(first).astype("float16"), mx.nd.array(first.astype("float16"))
    single = single.astype("float32")
    update_half, update_single = made(), made()
    for grad in grads:
        grad = mx.nd.array(grad).astype("float16")
        update_half(0, grad, half)
        update_single(0, grad.astype("float32"), single)
    np.testing.assert_array_equal(half.asnumpy(), single.astype("float16").asnumpy())


@pytest.mark.parametrize("name", ["lamb", "lars", "lbsgd", "adamw"])
@pytest.mark.parametrize("settings", [{}, {"multi_precision": True, "wd": 0.1}])
def test_one_call_is_many(name, settings, rng):
    """And is a single function; each weight is what it would be alone, bit for bit."""
    settings = {"learning_rate": 0.1, **settings}
    if name == "lbsgd":
        settings.update(warmup_strategy="lars", momentum=0.5)
    dtype, found = "float16" if "multi_precision" in settings else "float32", []
    first = [rng.standard_normal((n, 3)) for n in (4000, 1, 700)]
    for together in (True, False):
        optimizer = mx.optimizer.create(name, param_idx2name={1: "a_bias"}, **settings)
        update = mx.optimizer.get_updater(optimizer)
        weights = [mx.nd.array(each, dtype=dtype) for each in first]
        for _ in range(3):
            grads = [weight * 0.25 for weight in weights]
            if together:
                update([0, 1, 2], grads, weights)
                assert list(optimizer._joined) == [(0, 1, 2)]
            else:
                for k in range(3):
                    update(k, grads[k], weights[k])
        found.append([weight.asnumpy() for weight in weights])
    for one, other in zip(*found):
        np.testing.assert_array_equal(one, other)


def test_lamb_of_half_weights_without_a_copy(rng):
    """A step has the length that LAMB gives it although small squares are 0 in float16."""
    first, grad = (mx.nd.array(rng.standard_normal(500) * s).astype("float16") for s in (1, 1e-3))
    weight = first.copy()
    with pytest.warns(UserWarning, match="multi_precision"):
        mx.optimizer.get_updater(mx.optimizer.LAMB(learning_rate=0.1))([0], [grad], [weight])
    moved = np.linalg.norm((weight - first).astype("float32").asnumpy())
    np.testing.assert_allclose(
        moved, 0.1 * np.linalg.norm(first.astype("float32").asnumpy()), rtol=0.02
    )


def test_all_weights_of_a_step_have_one_momentum():
    """When the learning rate changes, LARS scales the momentum of each weight for that step."""
    schedule = mx.lr_scheduler.FactorScheduler(4, 0.5)
    settings = {"learning_rate": 5.0, "momentum": 0.8, "lr_scheduler": schedule}
    names = dict.fromkeys(range(6), "a_weight")
    update = mx.optimizer.get_updater(mx.optimizer.LARS(param_idx2name=names, **settings))
    first, grads = given.drawn()
    weights = [mx.nd.array(first) for _ in names]
    for grad in grads:
        update(list(names), [mx.nd.array(grad) for _ in names], weights)
    for weight in weights:
        wanted = WANTED["lars_schedule"][-1]
        np.testing.assert_allclose(weight.asnumpy().ravel(), wanted, rtol=2e-5, atol=2e-6)


def test_refused():
    with pytest.raises(mx.MXNetError, match="warmup_strategy must be one of linear"):
        mx.optimizer.LBSGD(warmup_strategy="cubic")


def test_the_largest_factor_of_lars_warmup():
    """The ratio of norms, 1000, is cut to 100."""
    optimizer = mx.optimizer.LBSGD(warmup_strategy="lars", learning_rate=0.001)
    weight = mx.nd.full((4,), 1000.0)
    mx.optimizer.get_updater(optimizer)(0, mx.nd.ones(4), weight)
    np.testing.assert_allclose(1000.0 - weight.asnumpy(), 0.1, rtol=1e-3)
    weight = mx.nd.full((4,), 1e-5)  # and the ratio of 1e-5 is lifted to 0.01
    mx.optimizer.get_updater(optimizer)(0, mx.nd.ones(4), weight)
    np.testing.assert_allclose(weight.asnumpy(), 1e-5 - 0.001 * 0.01, rtol=1e-3, atol=1e-9)


@pytest.mark.parametrize("given", ["dict", "list"])
def test_lars_leaves_biases_of_a_trainer_alone(given):
    """As those of a Module, and those of BatchNorm: they move by rate times gradient."""
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(3, in_units=2), mx.gluon.nn.BatchNorm(in_channels=3))
    net.initialize(mx.init.One())
    params = net.collect_params()
    trainer = mx.gluon.Trainer(
        params if given == "dict" else list(params.values()),
        "lars",
        {"learning_rate": 0.5, "eta": 0.001},
    )
    learnt = [each for each in params.values() if each.grad_req != "null"]
    before = [each.data().asnumpy() for each in learnt]
    with mx.autograd.record():
        loss = sum((2.0 * each.data()).sum() for each in learnt)
    loss.backward()
    trainer.step(1)
    moves = {p.name.split("_")[-1]: b - p.data().asnumpy() for p, b in zip(learnt, before)}
    assert sorted(moves) == ["beta", "bias", "gamma", "weight"]
    for name, move in moves.items():
        if name == "weight":  # 0.5 * 2 by eta times the ratio of the norms of weight and gradient
            np.testing.assert_allclose(move, 0.5 * 2 * 0.001 / 2, 1e-3)
        else:
            np.testing.assert_allclose(move, 1.0, 1e-6)
