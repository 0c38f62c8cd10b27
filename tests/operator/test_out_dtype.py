"""Parameters `dtype` and `out_dtype`: every operator that has one gives that dtype for data of any
other one, or refuses it by name; gradients have the data's dtype."""

import numpy as np
import pytest

import cynet as mx
from cynet import autograd, nd
from cynet.base.dtype import name_of
from cynet.base.errors import CynetError
from cynet.operator import OPERATORS

DTYPES = ["float16", "float32", "float64", "int8", "uint8", "int32", "int64", "bool"]
FLOATS = DTYPES[:3]
NEAR = {"float16": 4e-3, "float32": 2e-6, "float64": 1e-12}
X = np.array([[1.0, 2, 3], [0, 1, 1]])
# operator -> the arrays and other parameters of a call, from a dtype
CALLS = {
    "Embedding": lambda x, d: ([x, nd.ones((4, 2), dtype=d)], {"input_dim": 4, "output_dim": 2}),
    "_arange": lambda x, d: ([], {"start": 0, "stop": 3}),
    "_eye": lambda x, d: ([], {"N": 2}),
    "_full": lambda x, d: ([], {"shape": (2,), "value": 1}),
    "_linspace": lambda x, d: ([], {"start": 0, "stop": 1, "num": 2}),
    "_ones": lambda x, d: ([], {"shape": (2,)}),
    "_zeros": lambda x, d: ([], {"shape": (2,)}),
    "_random_randint": lambda x, d: ([], {"low": 0, "high": 5, "shape": (2,)}),
    "_sample_multinomial": lambda x, d: ([x / nd.sum(x, axis=1, keepdims=True)], {}),
    "one_hot": lambda x, d: ([x], {"depth": 4}),
    "topk": lambda x, d: ([x], {"k": 2}),
    "_np_cumsum": lambda x, d: ([x], {"axis": 1}),
    "_sample_uniform": lambda x, d: ([x, x + 1], {}),
    "_sample_normal": lambda x, d: ([x, x + 1], {}),
    "_sample_gamma": lambda x, d: ([x + 1, x + 1], {}),
    "_sample_negative_binomial": lambda x, d: ([x + 1, x / 4], {}),
    "_sample_generalized_negative_binomial": lambda x, d: ([x + 1, x + 1], {}),
}
# a type flag of MXNet's; rows of 8 bits, whose dtype is the weight's
NOT_OF_THE_OUTPUT = {"_zeros_without_dtype", "_contrib_quantized_embedding"}


def with_parameter():
    seen = set()
    for name in sorted(OPERATORS):
        prop = OPERATORS.get(name).prop
        chosen = {"dtype", "out_dtype"} & set(prop.fields)
        if chosen and prop not in seen and not prop.users and name not in NOT_OF_THE_OUTPUT:
            seen.add(prop)
            yield name, chosen.pop()


@pytest.mark.parametrize("name, parameter", list(with_parameter()))
def test_every_operator(name, parameter):
    prop, given = OPERATORS.get(name).prop, 0
    function = getattr(nd._internal if name.startswith("_") else nd, name)
    inputs = prop.with_defaults().list_arguments()
    for dtype in DTYPES:
        for source in DTYPES if inputs else DTYPES[1:2]:
            try:
                x = nd.array(X, dtype=source)
                make = CALLS.get(name, lambda x, d: ([x] * len(inputs), {}))
                if name.startswith("_random_") and name not in CALLS:
                    make = lambda x, d: ([], {"shape": (2,)})  # noqa: E731
                arrays, params = make(x, dtype)
            except CynetError:  # of what makes the arguments
                continue
            try:
                out = function(*arrays, **params, **{parameter: dtype})
                out.wait_to_read()
            except CynetError as error:
                assert name in str(error) or "array of float" in str(error), error
                continue
            if name == "amp_cast" and source not in ("float16", "float32"):
                assert np.dtype(out.dtype) == source
            else:
                assert np.dtype(out.dtype) == dtype
            given += 1
    least = 2 if name == "_random_randint" else 3 if not inputs else 7
    assert given >= least, f"{name} gives {given} combinations"


def softmax(x, log=False, sign=1):
    e = np.exp(sign * x - (sign * x).max(-1, keepdims=True))
    out = e / e.sum(-1, keepdims=True)
    return np.log(out) if log else out


REFERENCES = {
    "softmax": softmax,
    "log_softmax": lambda x: softmax(x, True),
    "softmin": lambda x: softmax(x, sign=-1),
    "norm": lambda x: np.sqrt((x**2).sum(-1)),
    "cumsum": lambda x: np.cumsum(x, -1),
}


def gradient(function, x, head):
    out, step = np.zeros_like(x), 1e-6
    for at in np.ndindex(*x.shape):
        change = np.zeros_like(x)
        change[at] = step
        out[at] = (head * (function(x + change) - function(x - change))).sum() / (2 * step)
    return out


@pytest.mark.parametrize("target", FLOATS)
@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("name", REFERENCES)
def test_values_and_gradients(name, source, target, rng):
    """As the function of real numbers, rounded once or twice; also added to what is there, of
    second order, and in a graph."""
    x = rng.uniform(-2, 2, (3, 5)).astype(source)
    function = REFERENCES[name]
    key = "out_dtype" if name == "norm" else "dtype"
    params = {key: target} if name.startswith(("soft", "log")) else {key: target, "axis": -1}
    wanted = function(x.astype("float64"))
    head = rng.uniform(-1, 1, wanted.shape).astype(target)
    slope = gradient(function, x.astype("float64"), head.astype("float64"))
    near = max(NEAR[source], NEAR[target]) * 4
    data = nd.array(x, dtype=source)
    data.attach_grad("add")
    data.grad[:] = 1
    with autograd.record():
        y = getattr(nd, name)(data, **params)
    y.backward(nd.array(head, dtype=target))
    assert np.dtype(y.dtype) == target and np.dtype(data.grad.dtype) == source
    np.testing.assert_allclose(y.asnumpy(), wanted, rtol=near, atol=near)
    np.testing.assert_allclose(data.grad.asnumpy(), slope + 1, rtol=near, atol=near + 1e-8)
    with autograd.record():
        y = getattr(nd, name)(data, **params)
        (first,) = autograd.grad(y, [data], nd.array(head, dtype=target), create_graph=True)
    assert np.dtype(first.dtype) == source
    np.testing.assert_allclose(first.asnumpy(), slope, rtol=near * 2, atol=near * 2 + 1e-8)

    net = getattr(mx.sym, name)(mx.sym.Variable("data"), **params)
    executor = net.simple_bind(mx.cpu(), type_dict={"data": source}, data=(3, 5))
    (out,) = executor.forward(is_train=True, data=nd.array(x, dtype=source))
    executor.backward(nd.array(head, dtype=target))
    assert np.dtype(out.dtype) == target
    np.testing.assert_allclose(out.asnumpy(), y.asnumpy(), rtol=near)
    found = executor.grad_dict["data"]
    assert np.dtype(found.dtype) == source
    np.testing.assert_allclose(found.asnumpy(), slope, rtol=near, atol=near + 1e-8)


def test_float16_keeps_small_probabilities():
    """What `dtype` is for: the logarithm of a probability that float16 rounds away."""
    x = nd.array([[0, 11.5, 11.25]], dtype="float16")
    wide = nd.log_softmax(x, dtype="float32").asnumpy()
    np.testing.assert_allclose(wide, softmax(x.asnumpy().astype("float64"), True), rtol=1e-6)
    assert np.abs(wide - nd.log_softmax(x).asnumpy()).max() > 1e-4


@pytest.mark.parametrize("source", DTYPES[:-1])
@pytest.mark.parametrize("target", ["int8", "int32", "int64", *FLOATS])
def test_cumsum_sums_in_the_dtype(source, target):
    x = np.array([[1, 2, 100], [50, 60, 70]], dtype=source)
    found = nd.cumsum(nd.array(x, dtype=source), axis=1, dtype=target)
    wanted = np.cumsum(x, axis=1, dtype=target)
    assert found.asnumpy().tolist() == wanted.tolist()


@pytest.mark.parametrize(
    "name, dtype",  # softmax names no bfloat16, as in MXNet
    [(name, dtype) for name in REFERENCES for dtype in ("float16", "float64")]
    + [("norm", "bfloat16"), ("cumsum", "bfloat16")],
)
def test_bfloat16(name, dtype):
    x = nd.array(X, dtype="bfloat16")
    key = "out_dtype" if name == "norm" else "dtype"
    out = getattr(nd, name)(x, axis=-1, **{key: dtype})
    assert name_of(out.dtype) == dtype
    np.testing.assert_allclose(out.asnumpy(), REFERENCES[name](X), rtol=1e-2, atol=1e-2)
