"""mx.contrib.autograd: the names of before MXNet 1.0."""

import pytest

import cynet as mx

old = mx.contrib.autograd


def test_gradients_of_functions():
    x, y = mx.nd.array([2.0]), mx.nd.array([3.0])
    grads, out = old.grad_and_loss(lambda x, y: x * y)(x, y)
    assert [g.asscalar() for g in grads] == [3, 2] and out.asscalar() == 6
    assert [g.asscalar() for g in old.grad(lambda x, y: x * y, argnum=1)(x, y)] == [2]
    with pytest.raises(TypeError, match="must be NDArrays, got float"):
        old.grad(lambda x: x)(1.0)


def test_scopes():
    x = mx.nd.array([3.0])
    grad = mx.nd.zeros(1)
    old.mark_variables([x], [grad])
    with old.train_section():
        assert mx.autograd.is_training() and mx.autograd.is_recording()
        y = x * x
        with old.test_section():
            assert not mx.autograd.is_training() and not mx.autograd.is_recording()
        assert mx.autograd.is_recording()
    assert not mx.autograd.is_recording()
    old.compute_gradient([y])
    assert grad.asscalar() == 6


def test_set_is_training_tells_what_was():
    assert old.set_is_training(True) is False
    try:
        assert mx.autograd.is_recording()
    finally:
        assert old.set_is_training(False) is True
