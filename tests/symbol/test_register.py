"""The generated functions of mx.sym and its namespaces."""

import inspect

import pytest

import cynet as mx
from cynet.operator import OPERATORS, Int, OperatorProperty, register_operator


@pytest.fixture(autouse=True)
def fresh_names():
    with mx.name.NameManager():
        yield


def public_names():
    return [name for name in OPERATORS if not name.startswith("_")]


@pytest.mark.parametrize("name", sorted(public_names()))
def test_every_operator_has_a_function_with_signature_and_documentation(name):
    function = getattr(mx.sym, name)
    assert function.__name__ == name and name in dir(mx.sym)
    text = inspect.getdoc(function)
    assert "Parameters\n----------" in text
    assert "Returns" in text or inspect.signature(function).return_annotation == "Symbol"
    if function.__module__ == "cynet.symbol":
        assert {"name", "attr"} <= set(inspect.signature(function).parameters)


def test_signature_names_inputs_and_parameters():
    parameters = list(inspect.signature(mx.sym.FullyConnected).parameters)
    assert parameters[:4] == ["data", "weight", "bias", "num_hidden"]


def test_namespaces():
    assert mx.sym._internal._plus_scalar(mx.sym.Variable("x"), scalar=2).name == "_plus_scalar0"
    assert "_plus_scalar" in dir(mx.sym._internal)
    for module in (mx.sym.linalg, mx.sym.contrib, mx.sym.image):
        public = [name for name in dir(module) if not name.startswith("__")]
        assert public and all(callable(getattr(module, name)) for name in public)
        with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
            module.__getattr__("nothing")


@pytest.mark.parametrize("name", ["FullyConected", "_plus_scalar", "__wrapped__"])
def test_unknown_names(name):
    with pytest.raises(AttributeError, match=name.strip("_")):
        getattr(mx.sym, name)
    assert not hasattr(mx.sym, name)


def test_a_new_operator_appears_at_once():
    class LateProperty(OperatorProperty):
        """Registered by a test."""

        times = Int(doc="How often.")

    register_operator("_test_late", LateProperty, aliases=("TestLate",))
    net = mx.sym.TestLate(mx.sym.Variable("x"), times=3)
    assert net.name == "testlate0" and net.attr("times") == "3"
    assert "TestLate" in dir(mx.sym)


def test_variable_number_of_inputs():
    x, y = mx.sym.Variable("x"), mx.sym.Variable("y")
    assert mx.sym.Concat(x, y).attr("num_args") == "2"
    assert mx.sym.Concat(*[x, y], dim=0, name="c").list_outputs() == ["c_output"]
    assert mx.sym.Concat(x, y, num_args=3, name="c").list_arguments() == ["x", "y", "c_arg2"]
    assert mx.sym.Concat(arg1=x, arg0=y).list_arguments() == ["y", "x"]
    with pytest.raises(ValueError, match="num_args"):
        mx.sym.Concat()


def test_positional_parameters():
    assert mx.sym.Activation(mx.sym.Variable("x"), "tanh").attr("act_type") == "tanh"
    assert mx.sym.FullyConnected(mx.sym.Variable("x"), None, None, 5).attr("num_hidden") == "5"


def test_optional_input_by_parameter():
    net = mx.sym.LeakyReLU(mx.sym.Variable("x"), act_type="prelu", name="p")
    assert net.list_arguments() == ["x", "p_gamma"]
    assert net.attr_dict()["p_gamma"]["__init__"] == '["Constant", {"value": 0.25}]'
    gamma = mx.sym.Variable("g")
    assert mx.sym.LeakyReLU(mx.sym.Variable("x"), gamma, act_type="prelu").list_arguments() == [
        "x",
        "g",
    ]
    with pytest.raises(TypeError, match="no input 'gamma'"):
        mx.sym.LeakyReLU(mx.sym.Variable("x"), gamma, act_type="elu")
