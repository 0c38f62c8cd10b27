"""A step of training that a user overrides is called, wherever the override stands."""

import sys

import numpy as np
import pytest

import cynet as mx
from cynet.executor.executor import Executor
from cynet.module.interface import Interface

STEPS = ("forward", "backward", "forward_backward", "update", "train_step")
KINDS = {"Module": mx.mod.Module, "Bucketing": mx.mod.BucketingModule}


def logged(function, calls):
    """`function` that counts its calls."""

    def call(*args, **kwargs):
        calls.append(function.__name__)
        return function(*args, **kwargs)

    return call


def in_a_subclass(kind, name, calls, monkeypatch):
    return type("Mine", (kind,), {name: logged(getattr(kind, name), calls)})


def in_the_object(kind, name, calls, monkeypatch):
    def make(*args):
        module = kind(*args)
        setattr(module, name, logged(getattr(module, name), calls))
        return module

    return make


def in_a_patch(kind, name, calls, monkeypatch):
    monkeypatch.setattr(kind, name, logged(getattr(kind, name), calls))
    return kind


def in_a_patch_of_the_interface(kind, name, calls, monkeypatch):
    monkeypatch.setattr(Interface, name, logged(getattr(Interface, name), calls))
    return kind


def in_a_patch_of_the_base_module(kind, name, calls, monkeypatch):
    method = logged(getattr(mx.mod.BaseModule, name), calls)
    monkeypatch.setattr(mx.mod.BaseModule, name, method, raising=False)
    return kind


def in_a_class_behind(kind, name, calls, monkeypatch):
    """Behind the module's class in the order of base classes."""
    method = logged(getattr(Interface, name), calls)
    return type("Mixed", (kind, type("Mine", (mx.mod.BaseModule,), {name: method})), {})


# a module does not call the base class's forward, backward and update, as in MXNet
INHERITED = ("forward_backward", "train_step")
CASES = [
    *((each, name) for each in (in_a_subclass, in_the_object, in_a_patch) for name in STEPS),
    *(
        (each, name)
        for each in (in_a_patch_of_the_interface, in_a_patch_of_the_base_module, in_a_class_behind)
        for name in INHERITED
    ),
]


def symbol(key=None):
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    net = mx.sym.SoftmaxOutput(net, name="softmax")
    return net if key is None else (net, ("data",), ("softmax_label",))


class Buckets(mx.io.NDArrayIter):
    """Batches of one bucket."""

    def next(self):
        batch = super().next()
        batch.bucket_key = 3
        batch.provide_data, batch.provide_label = self.provide_data, self.provide_label
        return batch


def trained(kind, make, rng):
    """The weights after an epoch of two batches."""
    given = (symbol,) if kind is mx.mod.BucketingModule else (symbol(),)
    module = make(*given, 3) if kind is mx.mod.BucketingModule else make(*given)
    data = Buckets(rng.standard_normal((8, 3)), rng.integers(0, 2, 8).astype("f"), 4)
    module.fit(data, num_epoch=1, initializer=mx.init.One())
    return module.get_params()[0]["fc_weight"].asnumpy()


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize(("way", "step"), CASES, ids=lambda e: getattr(e, "__name__", e))
def test_an_override_is_called(name, way, step, monkeypatch, seed):
    kind, calls = KINDS[name], []
    plain = trained(kind, kind, np.random.default_rng(seed))
    found = trained(kind, way(kind, step, calls, monkeypatch), np.random.default_rng(seed))
    assert calls == [step] * 2
    np.testing.assert_array_equal(found, plain)


def test_few_functions_stand_between_fit_and_the_executor(monkeypatch, rng):
    """An architecture page counts them, and a reader follows them."""
    forward_on, seen = Executor.forward_on, []

    def record(*args):
        frame, names = sys._getframe(1), []
        while frame.f_code.co_name != "_train_batch":
            names.append(frame.f_code.co_name)
            frame = frame.f_back
        seen.append(names)
        return forward_on(*args)

    monkeypatch.setattr(Executor, "forward_on", record)
    trained(mx.mod.Module, mx.mod.Module, rng)
    assert seen == [["forward", "train_step"]] * 2
