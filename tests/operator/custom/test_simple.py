"""SimpleOp: the smooth L1 walk-through, all gradient kinds, scalar, keywords, resources, wrong
definitions."""

import itertools

import numpy as np
import pytest

import cynet as mx
from cynet import simple_op

_count = itertools.count()


def _name():
    return f"test_simple_{next(_count)}"


def _smooth(x, s2):
    return np.where(np.abs(x) < 1 / s2, 0.5 * s2 * x * x, np.abs(x) - 0.5 / s2)


def _smooth_slope(x, s2):
    return np.where(np.abs(x) < 1 / s2, s2 * x, np.sign(x))


def forward(src, env, ret, req, ctx):
    simple_op.assign(ret, req, _smooth(np.asarray(src), env.scalar**2))


def backward(out_grad, in_data0, env, in_grad, req, ctx):
    slope = _smooth_slope(np.asarray(in_data0), env.scalar**2)
    simple_op.assign(in_grad, req, np.asarray(out_grad) * slope)


def test_smooth_l1_step_by_step(rng):
    name = _name()
    (
        simple_op.register(name)
        .set_function("cpu", forward, simple_op.kNoInplace)
        .set_gradient("cpu", backward, simple_op.kInplaceOutIn)
        .set_enable_scalar(True)
        .describe("Smooth L1 loss of the input with turning point 1 / scalar**2.")
    )
    x = rng.normal(size=(4, 5)) * 2
    out = getattr(mx.nd, name)(mx.nd.array(x), scalar=1.5)
    np.testing.assert_allclose(out.asnumpy(), _smooth(x, 2.25), rtol=1e-5, atol=1e-6)
    net = getattr(mx.sym, name)(mx.sym.Variable("x"), scalar=1.5)
    executor = net.simple_bind(mx.cpu(), x=(4, 5))
    executor.forward(is_train=True, x=mx.nd.array(x))
    executor.backward(mx.nd.ones((4, 5)) * 3)
    np.testing.assert_allclose(
        executor.grad_dict["x"].asnumpy(), 3 * _smooth_slope(x, 2.25), rtol=1e-5
    )
    assert "Smooth L1 loss" in getattr(mx.nd, name).__doc__
    assert "scalar" in str(getattr(mx.sym, name).__signature__)


def test_gradient_that_needs_only_the_outputs_gradient(rng):
    name = _name()
    (
        simple_op.register(name)
        .set_function(
            "cpu",
            lambda src, env, ret, req, ctx: simple_op.assign(ret, req, np.asarray(src) * 3),
            simple_op.kInplaceInOut,
        )
        .set_gradient(
            "cpu",
            lambda out_grad, env, in_grad, req, ctx: simple_op.assign(
                in_grad, req, np.asarray(out_grad) * 3
            ),
            simple_op.kInplaceOutIn,
        )
    )
    _check_gradient(
        getattr(mx.sym, name)(mx.sym.Variable("x")), rng, lambda x: 3 * x, lambda x: 3 + 0 * x
    )


def test_gradient_that_reads_the_output(rng):
    name = _name()
    (
        simple_op.register(name)
        .set_function(
            "cpu", lambda src, env, ret, req, ctx: simple_op.assign(ret, req, np.exp(src))
        )
        .set_gradient(
            "cpu",
            lambda out_grad, out_value, env, in_grad, req, ctx: simple_op.assign(
                in_grad, req, np.asarray(out_grad) * np.asarray(out_value)
            ),
        )
    )
    _check_gradient(getattr(mx.sym, name)(mx.sym.Variable("x")), rng, np.exp, np.exp)


def _check_gradient(net, rng, function, slope):
    x = rng.normal(size=(3, 4))
    executor = net.simple_bind(mx.cpu(), grad_req="add", x=(3, 4))
    executor.grad_dict["x"][:] = 1
    executor.forward(is_train=True, x=mx.nd.array(x))
    executor.backward(mx.nd.ones((3, 4)) * 2)
    np.testing.assert_allclose(executor.outputs[0].asnumpy(), function(x), rtol=1e-5)
    np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), 1 + 2 * slope(x), 1e-5, 1e-6)


def test_binary_with_both_kinds_of_gradient(rng):
    times, plus = _name(), _name()

    def times_grad(out_grad, lhs, rhs, env, lhs_grad, rhs_grad, req_lhs_grad, req_rhs_grad, ctx):
        # lhs_grad may be out_grad's memory, so it is written last
        simple_op.assign(rhs_grad, req_rhs_grad, np.asarray(out_grad) * np.asarray(lhs))
        simple_op.assign(lhs_grad, req_lhs_grad, np.asarray(out_grad) * np.asarray(rhs))

    def plus_grad(out_grad, env, lhs_grad, rhs_grad, req_lhs_grad, req_rhs_grad, ctx):
        simple_op.assign(rhs_grad, req_rhs_grad, out_grad)
        simple_op.assign(lhs_grad, req_lhs_grad, out_grad)

    def times_forward(lhs, rhs, env, ret, req, ctx):
        simple_op.assign(ret, req, np.asarray(lhs) * np.asarray(rhs))

    def plus_forward(lhs, rhs, env, ret, req, ctx):
        simple_op.assign(ret, req, np.asarray(lhs) + np.asarray(rhs))

    (
        simple_op.register(times)
        .set_function("cpu", times_forward, simple_op.kInplaceLhsOut)
        .set_gradient("cpu", times_grad, simple_op.kInplaceOutLhs)
    )
    (
        simple_op.register(plus)
        .set_function("cpu", plus_forward, simple_op.kInplaceLhsOut)
        .set_gradient("cpu", plus_grad, simple_op.kInplaceOutLhs)
    )
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    net = getattr(mx.sym, plus)(getattr(mx.sym, times)(lhs=a, rhs=b), a)
    executor = net.simple_bind(mx.cpu(), a=(2, 3), b=(2, 3))
    x, y = rng.normal(size=(2, 3)), rng.normal(size=(2, 3))
    executor.forward(is_train=True, a=mx.nd.array(x), b=mx.nd.array(y))
    executor.backward(mx.nd.ones((2, 3)))
    np.testing.assert_allclose(executor.outputs[0].asnumpy(), x * y + x, 1e-5, 1e-6)
    np.testing.assert_allclose(executor.grad_dict["a"].asnumpy(), y + 1, 1e-5, 1e-6)
    np.testing.assert_allclose(executor.grad_dict["b"].asnumpy(), x, rtol=1e-5)
    with pytest.raises(mx.base.MXNetError, match="do not agree|inconsistent"):
        net.infer_shape(a=(2, 3), b=(3, 2))


def test_shape_function_keywords_and_resources():
    name = _name()

    def rows(src, env):
        return (src[0], int(env.kwargs["width"]))

    def fill(src, env, ret, req, ctx):
        space = env.resource[0].get_space((1,))
        space[:] = np.asarray(src).sum()
        noise = env.resource[1].get_random().uniform(0, 1e-9)
        simple_op.assign(ret, req, np.full(np.asarray(ret).shape, space[0] + noise))

    request = mx.operator.ResourceRequest
    (
        simple_op.register(name)
        .set_shape_function(rows)
        .set_function("cpu", fill)
        .set_enable_kwargs(True)
        .set_resource_request([request.temp_space, request.random])
    )
    out = getattr(mx.nd, name)(mx.nd.ones((2, 3)), width=5)
    assert out.shape == (2, 5)
    np.testing.assert_allclose(out.asnumpy(), 6, rtol=1e-6)
    net = getattr(mx.sym, name)(mx.sym.Variable("x"), width=4)
    assert net.infer_shape(x=(7, 3))[1] == [(7, 4)]


def test_without_a_gradient_none_flows():
    name = _name()
    simple_op.register(name).set_function(
        "cpu", lambda src, env, ret, req, ctx: simple_op.assign(ret, req, np.sign(src))
    )
    executor = getattr(mx.sym, name)(mx.sym.Variable("x")).simple_bind(mx.cpu(), x=(3,))
    executor.forward(is_train=True)
    executor.backward()
    assert executor.grad_dict["x"].asnumpy().tolist() == [0, 0, 0]


def test_a_name_registered_again():
    """As when a notebook's cell is run again."""
    name = _name()

    def times(factor):
        def function(src, env, ret, req, ctx):
            simple_op.assign(ret, req, np.asarray(src) * factor)

        return function

    for factor in (2, 3):
        simple_op.register(name).set_function("cpu", times(factor))
        assert getattr(mx.nd, name)(mx.nd.ones((2,))).asnumpy().tolist() == [factor] * 2


def test_wrong_definitions_are_refused():
    with pytest.raises(mx.base.MXNetError, match="'FullyConnected' is already taken"):
        simple_op.register("FullyConnected")
    with pytest.raises(mx.base.MXNetError, match="scalar and kwargs cannot both"):
        simple_op.register(_name()).set_enable_scalar(True).set_enable_kwargs(True)
    with pytest.raises(
        mx.base.MXNetError, match=r"a function has parameters \(src, env.*this one has \(x\)"
    ):
        simple_op.register(_name()).set_function("cpu", lambda x: x)
    with pytest.raises(mx.base.MXNetError, match="is unary, but this gradient is binary"):
        simple_op.register(_name()).set_function("cpu", forward).set_gradient(
            "cpu", lambda out_grad, env, lhs_grad, rhs_grad, req_lhs_grad, req_rhs_grad, ctx: None
        )
    with pytest.raises(mx.base.MXNetError, match="cannot take in-place option"):
        simple_op.register(_name()).set_function("cpu", forward, simple_op.kInplaceLhsOut)
    with pytest.raises(mx.base.MXNetError, match="neither 'cpu' nor 'gpu'"):
        simple_op.register(_name()).set_function("tpu", forward)
    with pytest.raises(mx.base.MXNetError, match="expected a ResourceRequest"):
        simple_op.register(_name()).set_resource_request("space")


def test_a_value_of_another_shape_is_refused():
    name = _name()
    simple_op.register(name).set_function(
        "cpu", lambda src, env, ret, req, ctx: simple_op.assign(ret, req, np.zeros(17))
    )
    with pytest.raises(mx.base.MXNetError, match=r"shape \(17,\) does not fit \(3,\)"):
        getattr(mx.nd, name)(mx.nd.ones((3,))).asnumpy()


def _rows(src, env):
    return (src[0] + 1, *src[1:])


@pytest.mark.parametrize("order", ["shape first", "shape last", "gradient"])
def test_in_place_pairs_of_different_sizes_are_refused(order):
    builder = simple_op.register(_name())
    with pytest.raises(
        mx.base.MXNetError,
        match=r"share memory, but they have different sizes: \(6, 10\) and \(7, 10\)",
    ):
        if order == "shape first":
            builder.set_shape_function(_rows).set_function("cpu", forward, simple_op.kInplaceInOut)
        elif order == "shape last":
            builder.set_function("cpu", forward, simple_op.kInplaceInOut).set_shape_function(_rows)
        else:
            builder.set_function("cpu", forward).set_shape_function(_rows)
            builder.set_gradient("cpu", backward, simple_op.kInplaceOutIn)


def test_a_shape_function_that_keeps_the_size_may_be_in_place(rng):
    """A shape function that fails without its keywords, or turns axes round, is no objection."""
    name = _name()
    simple_op.register(name).set_shape_function(lambda src, env: src[::-1]).set_function(
        "cpu",
        lambda src, env, ret, req, ctx: simple_op.assign(ret, req, np.asarray(src).T.copy()),
        simple_op.kInplaceInOut,
    )
    x = rng.normal(size=(2, 3)).astype("f")
    np.testing.assert_array_equal(getattr(mx.nd, name)(mx.nd.array(x)).asnumpy(), x.T)
    simple_op.register(_name()).set_enable_kwargs().set_shape_function(
        lambda src, env: (int(env.kwargs["n"]),)
    ).set_function("cpu", forward, simple_op.kInplaceInOut)
