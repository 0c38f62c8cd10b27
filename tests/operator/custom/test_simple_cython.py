"""SimpleOp from Cython: C functions compiled outside the tree, beside the same in Python."""

import subprocess
import sys
import threading

import numpy as np
import pytest

import cynet as mx
from cynet import simple_op
from cynet.base.errors import MXNetError


@pytest.fixture(scope="module")
def ops(compiled):
    return compiled("simple_ops.pyx")


def _smooth(x, s2):
    return np.where(np.abs(x) < 1 / s2, 0.5 * s2 * x * x, np.abs(x) - 0.5 / s2)


def test_smooth_l1_walk_through(ops, rng):
    x = rng.normal(size=(4, 5)).astype("f") * 2
    out = mx.nd.c_smooth_l1(mx.nd.array(x), scalar=1.5)
    np.testing.assert_allclose(out.asnumpy(), _smooth(x, 2.25), rtol=1e-5, atol=1e-6)
    net = mx.sym.c_smooth_l1(mx.sym.Variable("x"), scalar=1.5, name="loss")
    mx.test_utils.check_numeric_gradient(net, [x], numeric_eps=1e-2, rtol=0.05, atol=0.05)
    built_in = mx.sym.smooth_l1(mx.sym.Variable("x"), scalar=1.5, name="loss")
    mx.test_utils.check_consistency([net, built_in], [{"ctx": mx.cpu(), "x": (4, 5)}] * 2)
    assert "Calculates smooth L1" in mx.nd.c_smooth_l1.__doc__
    assert mx.sym.load_json(net.tojson()).tojson() == net.tojson()
    with pytest.raises(MXNetError, match="required parameter 'scalar'"):
        mx.sym.c_smooth_l1(mx.sym.Variable("x"))


@pytest.mark.parametrize(
    "op, params, function, slope, dtype",
    [
        ("c_times", {"factor": 3}, lambda x: 3 * x, lambda x: 3 + 0 * x, "float32"),
        ("c_exp", {}, np.exp, np.exp, "float32"),
        ("c_exp", {}, np.exp, np.exp, "float64"),
    ],
)
@pytest.mark.parametrize("request_", ["write", "add"])
def test_unary_gradients(ops, rng, op, params, function, slope, dtype, request_):
    net = getattr(mx.sym, op)(mx.sym.Variable("x"), **params)
    x, og = rng.normal(size=(3, 4)).astype(dtype), rng.normal(size=(3, 4)).astype(dtype)
    executor = net.simple_bind(mx.cpu(), grad_req=request_, type_dict={"x": dtype}, x=(3, 4))
    executor.grad_dict["x"][:] = 1
    executor.forward(is_train=True, x=mx.nd.array(x, dtype=dtype))
    executor.backward(mx.nd.array(og, dtype=dtype))
    expected = og * slope(x) + (request_ == "add")
    np.testing.assert_allclose(executor.outputs[0].asnumpy(), function(x), rtol=1e-5)
    np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("left", ["null", "write", "add"])
@pytest.mark.parametrize("right", ["null", "write", "add"])
def test_binary_gradients_honour_each_request(ops, rng, left, right):
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    x, y, g = (rng.normal(size=n).astype("f") for n in (3, 4, (3, 4)))
    requests = {"a": left, "b": right}
    executor = mx.sym.c_outer(a, b).simple_bind(mx.cpu(), grad_req=requests, a=(3,), b=(4,))
    assert [n for n, g in executor.grad_dict.items() if g is None] == [
        n for n, req in requests.items() if req == "null"
    ]
    for grad in executor.grad_dict.values():
        if grad is not None:
            grad[:] = 1
    executor.forward(is_train=True, a=mx.nd.array(x), b=mx.nd.array(y))
    if left != "null" or right != "null":
        executor.backward(mx.nd.array(g))
    np.testing.assert_allclose(executor.outputs[0].asnumpy(), np.outer(x, y), rtol=1e-5)
    for name, expected in (("a", g @ y), ("b", x @ g)):
        if requests[name] != "null":
            expected = expected + (requests[name] == "add")
            np.testing.assert_allclose(executor.grad_dict[name].asnumpy(), expected, 1e-4, 1e-5)

    same = mx.sym.c_minus(a, b).simple_bind(mx.cpu(), grad_req=requests, a=(4,), b=(4,))
    same.forward(is_train=True, a=mx.nd.array(y), b=mx.nd.ones((4,)))
    for grad in same.grad_dict.values():
        if grad is not None:
            grad[:] = 1
    same.backward(mx.nd.array(y))
    for name, expected in (("a", y), ("b", -y)):
        if requests[name] != "null":
            expected = expected + (requests[name] == "add")
            np.testing.assert_allclose(same.grad_dict[name].asnumpy(), expected, rtol=1e-5)


def test_shape_functions(ops):
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    assert mx.sym.c_outer(a, b).infer_shape(a=(3,), b=(4,))[1] == [(3, 4)]
    assert mx.nd.c_first(mx.nd.arange(5), scalar=2).asnumpy().tolist() == [0, 1]
    with pytest.raises(MXNetError, match=r"'c_outer': shape function raised.*takes vectors.*2 and"):
        mx.sym.c_outer(a, b).infer_shape(a=(3, 2), b=(4,))
    with pytest.raises(MXNetError, match=r"shape function returned \(-2,\); expected"):
        mx.nd.c_first(mx.nd.arange(5), scalar=-2)


def test_a_failing_c_function_raises_where_the_result_is_awaited(ops):
    executor = mx.sym.c_times(mx.sym.Variable("x"), fail=1, name="bad").simple_bind(
        mx.cpu(), x=(3,)
    )
    executor.forward()
    with pytest.raises(ZeroDivisionError, match=r"node 'bad'.*asked to fail, with 1 keywords"):
        executor.outputs[0].asnumpy()
    assert mx.nd.c_times(mx.nd.ones((2,)), factor=2).asnumpy().tolist() == [2, 2]


def test_it_runs_without_the_gil_on_native_workers(ops):
    call = mx.nd.c_exp
    done = []

    def work():
        x = mx.nd.zeros((1000,))
        for _ in range(200):
            x = call(x) * 0
        done.append(float(x.sum().asscalar()))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)
    assert done == [0.0] * 4


def test_python_and_c_functions_are_told_apart(ops):
    def python_gradient(out_grad, env, in_grad, req, ctx):
        pass

    with pytest.raises(MXNetError, match="must both be C functions or both be Python functions"):
        simple_op.register("c_mixed").set_function("cpu", ops.function).set_gradient(
            "cpu", python_gradient
        )
    with pytest.raises(MXNetError, match="is unary, but this gradient is binary"):
        simple_op.register("c_mixed2").set_function("cpu", ops.function).set_gradient(
            "cpu", ops.gradient
        )
    with pytest.raises(MXNetError, match=r"a gradient has parameters .*this one has \(src, env"):
        simple_op.register("c_mixed3").set_gradient("cpu", ops.function)
    with pytest.raises(MXNetError, match="only C functions can be pure"):
        simple_op.register("py_pure").set_function(
            "cpu", lambda src, env, ret, req, ctx: None
        ).set_pure()
    with pytest.raises(TypeError, match="made in Cython"):
        type(ops.function)()
    assert repr(ops.function) == "<C function (src, env, ret, req, ctx)>"


def test_smooth_l1_in_a_fresh_process_needs_no_compiler():
    """The built-in on the same interface is there without Cython."""
    code = (
        "import sys; sys.modules['Cython'] = sys.modules['setuptools'] = None\n"
        "import cynet as mx\n"
        "print(mx.nd.smooth_l1(mx.nd.array([3, 0.5]), scalar=2).asnumpy().tolist())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[2.875, 0.375]", done.stderr
