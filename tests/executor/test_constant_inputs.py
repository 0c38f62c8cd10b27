"""Pins: an argument that its operator does not read holds its number whoever writes into it."""

import ctypes

import numpy as np
import pytest

import cynet as mx


def executor(**options):
    net = mx.sym.BatchNorm(mx.sym.var("data"), name="bn", **options)
    return net.simple_bind(mx.cpu(), data=(4, 3))


@pytest.mark.parametrize("is_train", [True, False])
def test_forward_puts_1_into_gamma(is_train):
    """As MXNet 1.9.1, in training and prediction."""
    bound = executor()
    gamma = bound.arg_dict["bn_gamma"]
    for value in (3, 0, 0.5):
        gamma[:] = value
        bound.forward(is_train=is_train)
        np.testing.assert_array_equal(gamma.asnumpy(), 1)
    for each in (executor(fix_gamma=False), executor(fix_gamma=False, use_global_stats=True)):
        each.arg_dict["bn_gamma"][:] = 3
        each.forward(is_train=is_train)
        np.testing.assert_array_equal(each.arg_dict["bn_gamma"].asnumpy(), 3)


def test_writes_from_outside_of_the_engine():
    bound = executor()
    gamma = bound.arg_dict["bn_gamma"]
    outside = np.ctypeslib.as_array((ctypes.c_float * 3).from_address(gamma.data_ptr))
    for _ in range(2):
        gamma.wait_to_read()
        outside[:] = 7
        bound.forward()
        np.testing.assert_array_equal(gamma.asnumpy(), 1)


def test_updates_of_a_users_loop():
    bound = executor()
    update = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.5, wd=0.5))
    gamma = bound.arg_dict["bn_gamma"]
    for _ in range(20):
        bound.forward(is_train=True)
        bound.backward([mx.nd.ones((4, 3))])
        update(0, bound.grad_dict["bn_gamma"], gamma)
    np.testing.assert_array_equal(gamma.asnumpy(), 0.75)  # one step's decay
    bound.forward()
    np.testing.assert_array_equal(gamma.asnumpy(), 1)


def test_copies_and_executors_that_share():
    bound = executor()
    bound.copy_params_from({"bn_gamma": mx.nd.full((3,), 5)})
    np.testing.assert_array_equal(bound.arg_dict["bn_gamma"].asnumpy(), 1)
    other = bound.reshape(data=(2, 3))
    for each in (bound, other, bound):
        each.arg_dict["bn_gamma"][:] = 2
        each.forward()
        np.testing.assert_array_equal(bound.arg_dict["bn_gamma"].asnumpy(), 1)


def test_a_gamma_that_is_no_argument():
    gamma = mx.sym.var("x") * 2
    net = mx.sym.BatchNorm(mx.sym.var("data"), gamma, name="bn")
    bound = net.simple_bind(mx.cpu(), data=(4, 3))
    bound.arg_dict["x"][:] = 3
    bound.forward()
    np.testing.assert_array_equal(bound.arg_dict["x"].asnumpy(), 3)


@pytest.mark.parametrize("operator", ["BatchNorm", "BatchNorm_v1"])
def test_imperative_calls(operator, rng):
    """As MXNet 1.9.1; the result does not depend on what gamma held."""
    function = getattr(mx.nd, operator)
    data = mx.nd.array(rng.standard_normal((4, 3)))
    for fix_gamma, value in ((True, 1), (False, 3)):
        gamma, zeros, ones = mx.nd.full((3,), 3), mx.nd.zeros(3), mx.nd.ones(3)
        for call in (
            lambda g, z=zeros, o=ones, f=fix_gamma: function(data, g, z, z, o, fix_gamma=f, eps=0),
            lambda g, z=zeros, o=ones, f=fix_gamma: function(
                data, gamma=g, beta=z, moving_mean=z, moving_var=o, fix_gamma=f, eps=0
            ),
        ):
            out = call(gamma)
            np.testing.assert_array_equal(gamma.asnumpy(), value)
            np.testing.assert_allclose(out.asnumpy(), value * data.asnumpy(), rtol=1e-6)
    out = mx.nd.zeros((4, 3))
    gamma = mx.nd.full((3,), 3)
    assert function(data, gamma, zeros, zeros, ones, out=out) is out
    np.testing.assert_array_equal(gamma.asnumpy(), 1)
