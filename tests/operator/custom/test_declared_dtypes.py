"""Operators in Cython take the dtypes that they declare, float32 where they say nothing: every
other array is refused by name, before a pointer is read."""

import numpy as np
import pytest

import cynet as mx
from cynet import simple_op
from cynet.base.errors import ArgumentTypeError

DTYPES = ["float16", "float32", "float64", "uint8", "int8", "int32", "int64", "bool"]
# operator -> its parameters, and the dtypes it takes
OPERATORS = {
    "c_smooth_l1": ({"scalar": 1.0}, {"float32"}),
    "c_times": ({"factor": 2}, {"float32"}),
    "c_exp": ({}, {"float32", "float64"}),
    "raw_silent": ({}, {"float32"}),
    "raw_integers": ({}, {"int32", "uint8"}),
}


@pytest.fixture(scope="module", autouse=True)
def ops(compiled):
    compiled("simple_ops.pyx")
    compiled("raw_dtypes.pyx")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", OPERATORS)
def test_every_dtype(name, dtype):
    params, taken = OPERATORS[name]
    x = mx.nd.array([1, 0, 1], dtype=dtype)
    net = getattr(mx.sym, name)(mx.sym.Variable("data"), **params)
    if dtype in taken:
        y = getattr(mx.nd, name)(x, **params)
        assert np.dtype(y.dtype) == dtype
        if name.startswith("raw"):
            assert y.asnumpy().tolist() == x.asnumpy().tolist()
        net.bind(mx.cpu(), {"data": x}).forward()
        return
    words = rf"operator {name} takes {', '.join(sorted(taken))}.*; input 'data' is {dtype}"
    with pytest.raises(ArgumentTypeError, match=words):
        getattr(mx.nd, name)(x, **params)
    with pytest.raises(ArgumentTypeError, match=words):
        net.bind(mx.cpu(), {"data": x}).forward()


def test_bfloat16_is_converted():
    x = mx.nd.array([1, -2.5, 3], dtype="bfloat16")
    y = mx.nd.c_times(x, factor=2)
    assert y.asnumpy().tolist() == [2, -5, 6] and y.dtype == x.dtype


@pytest.mark.parametrize(
    "call, words",
    [
        (
            lambda x: mx.nd.raw_labelled(x, x.astype("int32")),
            "operator raw_labelled takes float32 .*'label' is int32",
        ),
        (lambda x: mx.nd.raw_other_output(x), "raw_other_output takes float32 .*'output' is"),
        (
            lambda x: mx.nd.raw_stateful(x, mx.nd.zeros((2,), dtype="float64")),
            "raw_stateful takes float32 .*state 'moving' is float64",
        ),
    ],
)
def test_labels_outputs_and_states(call, words):
    with pytest.raises(ArgumentTypeError, match=words):
        call(mx.nd.ones((2,)))


@pytest.mark.parametrize("wrong", ["float32", (), ("float31",), 3])
def test_what_is_no_declaration(wrong):
    class Wrong(mx.operator.OperatorProperty):
        """Declares what is no tuple of dtypes."""

        dtypes = wrong

    with pytest.raises(ArgumentTypeError, match="operator 'raw_wrong': dtypes must be a tuple of"):
        mx.operator.register("raw_wrong")(Wrong)
    given = wrong if isinstance(wrong, tuple) else (wrong,)
    if given != ("float32",):
        with pytest.raises(ArgumentTypeError, match="simple_op 'simple_wrong': dtypes must be"):
            simple_op.register("simple_wrong").set_dtypes(*given)


def test_python_operators_look_for_themselves_unless_they_declare():
    def forward(src, env, ret, req, ctx):
        simple_op.assign(ret, req, np.asarray(src) + 1)

    builder = simple_op.register("declared_plus_one").set_function("cpu", forward)
    x = mx.nd.array([1, 2], dtype="int64")
    assert mx.nd.declared_plus_one(x).asnumpy().tolist() == [2, 3]
    builder.set_dtypes(np.float32, "float64")
    with pytest.raises(ArgumentTypeError, match="takes float32, float64; input 'data' is int32"):
        mx.nd.declared_plus_one(x.astype("int32"))
    assert mx.nd.declared_plus_one(x.astype("float64")).asnumpy().tolist() == [2, 3]
