"""mx.compile: functions as graphs, with guards."""

import warnings

import numpy as np
import pytest

import cynet as mx
from cynet import autograd
from cynet.gluon import nn

FACTOR = 2.0
weight = mx.nd.array([1, 2])


class Runs:
    count = 0

    def __len__(self):
        return self.count


def noted(fn):
    """A compiled function, and something as long as it was traced or run plainly."""
    runs = Runs()

    def counting(*args, **kwargs):
        runs.count += 1
        return fn(*args, **kwargs)

    return mx.compile(counting), runs


def test_values_and_gradients():
    def formula(x, y):
        return mx.nd.tanh(x * y + 1).sum(axis=0) / 2, {"product": x * y}

    compiled, runs = noted(formula)
    found = []
    for function in (formula, compiled, compiled):
        x, y = mx.nd.array([[1, 2], [3, 4]]), mx.nd.array([[0.5, 0.1], [0.2, -1]])
        x.attach_grad()
        with autograd.record():
            out, more = function(x, y)
            loss = (out + more["product"].sum()).sum()
        loss.backward()
        found.append([each.asnumpy() for each in (out, more["product"], x.grad)])
    assert len(runs) == 1
    for other in found[1:]:
        for a, b in zip(found[0], other):
            np.testing.assert_allclose(a, b, rtol=1e-6)


def test_traces_for_what_differs():
    compiled, runs = noted(lambda x, power=2, names=(): x**power)
    x = mx.nd.array([2, 3])
    counts = []
    for args, kwargs in (
        ((x,), {}),
        ((x,), {}),
        ((mx.nd.ones((3, 4)),), {}),  # no shape was looked at
        ((x,), {"power": 3}),
        ((x, 3), {}),
        ((x,), {"power": 3}),
    ):
        compiled(*args, **kwargs)
        counts.append(len(runs))
    assert counts == [1, 1, 1, 2, 3, 3]
    assert compiled(x, power=3).asnumpy().tolist() == [8, 27]
    with autograd.train_mode():
        compiled(x)
    assert len(runs) == 4
    shaped, runs = noted(lambda x: x / x.shape[0])
    assert shaped(mx.nd.ones(2))[0].asscalar() == 0.5
    assert shaped(mx.nd.ones(4))[0].asscalar() == 0.25
    shaped(mx.nd.ones(2))
    assert len(runs) == 2


def test_numbers_and_arrays_from_outside():
    """Another number or another array traces anew; another value of an array is seen as it is."""
    global FACTOR, weight
    compiled = mx.compile(lambda x: x * FACTOR + weight)
    x = mx.nd.array([1, 1])
    assert compiled(x).asnumpy().tolist() == [3, 4]
    FACTOR = 3.0
    assert compiled(x).asnumpy().tolist() == [4, 5]
    weight[:] = 10
    assert compiled(x).asnumpy().tolist() == [13, 13]
    weight = mx.nd.array([0, 1])
    assert compiled(x).asnumpy().tolist() == [3, 4]
    held = [2]

    def inner(x):
        return x + held[0]

    outer = mx.compile(lambda x: inner(x) * FACTOR)
    assert outer(x).asnumpy().tolist() == [9, 9]
    held[0] = 5
    assert outer(x).asnumpy().tolist() == [18, 18]


def test_containers_from_outside():
    """Tuples of arrays, lists that hold themselves, and long ones."""
    pair, held, long = (mx.nd.array([1, 2]), 3), [1], list(range(5000))
    held.append(held)

    def reads(x):
        return x * pair[0] + pair[1] + held[0] + len(long)

    compiled, x = mx.compile(reads), mx.nd.array([1, 1])
    assert compiled(x).asnumpy().tolist() == [5005, 5006]
    pair = (mx.nd.array([2, 2]), 3)
    assert compiled(x).asnumpy().tolist() == [5006, 5006]
    held[0] = 2
    long.append(0)
    assert compiled(x).asnumpy().tolist() == [5008, 5008]


def test_gradients_of_arrays_from_outside():
    w = mx.nd.array([3, 4])
    w.attach_grad()
    compiled = mx.compile(lambda x: x * w)
    with autograd.record():
        y = compiled(mx.nd.array([1, 2]))
    y.backward()
    assert w.grad.asnumpy().tolist() == [1, 2]


@pytest.mark.parametrize("inside", [False, True])
def test_a_step_with_a_block(inside):
    """A loss through a network, whose parameters are read as they are."""
    net = nn.HybridSequential()
    net.add(nn.Dense(4, activation="tanh"), nn.BatchNorm(), nn.Dense(1))
    net.initialize(mx.init.One())
    if inside:
        net.hybridize()
    loss = mx.compile(lambda x, y: ((net(x) - y) ** 2).mean())
    x, y = mx.nd.array([[1, 2], [3, -1]]), mx.nd.array([[1], [0]])
    found = []
    for function in (lambda: ((net(x) - y) ** 2).mean(), lambda: loss(x, y)):
        net.initialize(mx.init.One(), force_reinit=True)
        trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
        losses = []
        for _ in range(4):
            with autograd.record():
                out = function()
            out.backward()
            trainer.step(1)
            losses.append(out.asscalar())
        found.append(losses)
    np.testing.assert_allclose(*found, rtol=1e-5)
    assert found[0][-1] < found[0][0]


def test_what_needs_values_runs_as_it_is():
    def branch(x):
        return x * 2 if x.sum().asscalar() > 0 else -x

    compiled = mx.compile(branch)
    with pytest.warns(UserWarning, match="runs operator by operator"):
        assert compiled(mx.nd.array([1]))[0].asscalar() == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compiled(mx.nd.array([-3]))[0].asscalar() == 3


def test_a_compiled_function_inside_another_and_in_a_block():
    square = mx.compile(lambda x: x * x)
    outer, runs = noted(lambda x: square(x) + 1)
    assert [outer(mx.nd.array([i]))[0].asscalar() for i in (2, 3)] == [5, 10]
    assert len(runs) == 1

    class Net(mx.gluon.HybridBlock):
        def forward(self, x):
            return square(x) - 1

    net = Net()
    net.hybridize()
    assert net(mx.nd.array([3]))[0].asscalar() == 8


def test_refusals():
    with pytest.raises(TypeError, match="compile takes a function"):
        mx.compile(3)

    @mx.compile
    def documented(x):
        """What it says."""
        return x

    assert documented.__doc__ == "What it says." and documented.__name__ == "documented"
