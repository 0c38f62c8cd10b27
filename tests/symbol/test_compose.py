"""Operators applied to symbols, and composition of finished ones."""

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentError, ArgumentTypeError, CynetError
from cynet.operator.parameters import Bool, DType, Float
from cynet.symbol.compose import parameter_text


@pytest.fixture(autouse=True)
def fresh_names():
    with mx.name.NameManager():
        yield


def fc(**kwargs):
    return mx.sym.FullyConnected(num_hidden=3, **kwargs)


def test_keyword_composition():
    net = mx.sym.Activation(fc(name="fc3"), act_type="relu", name="relu3")
    whole = net(fc3_data=fc(data=mx.sym.Variable("data"), name="fc1"), name="composed")
    assert whole.list_arguments() == ["data", "fc1_weight", "fc1_bias", "fc3_weight", "fc3_bias"]
    assert whole.list_outputs() == ["composed_output"]
    assert net.list_outputs() == ["relu3_output"] and net.list_arguments()[0] == "fc3_data"


def test_positional_composition():
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    net = a - b
    assert net(b, a).list_arguments() == ["b", "a"]
    assert net(mx.sym.Variable("c")).list_arguments() == ["c", "b"]


def test_swap_by_keyword_happens_at_once():
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    assert (a - b)(a=b, b=a).list_arguments() == ["b", "a"]


def test_head_that_is_a_variable_is_replaced():
    x = mx.sym.Variable("x")
    assert x(x=mx.sym.Variable("y") + 1).list_arguments() == ["y"]


@pytest.mark.parametrize(
    "args, kwargs, text",
    [
        ((3,), {}, "'x' must be a Symbol, got int 3"),
        ((), {"nope": "v"}, "'nope' must be a Symbol"),
        (("v",) * 4, {}, "4 symbols given for 3 arguments"),
        (("v",), {"x": "v"}, "not both"),
        ((), {"x": "two"}, "single output.*2"),
    ],
)
def test_bad_composition(args, kwargs, text):
    values = {
        "v": mx.sym.Variable("v"),
        "two": mx.sym.Group([mx.sym.Variable("p"), mx.sym.Variable("q")]),
    }
    net = fc(data=mx.sym.Variable("x"), name="fc")
    if "Symbol, got" not in text and "must be a Symbol" not in text:
        args = tuple(values.get(a, a) for a in args)
        kwargs = {k: values.get(v, v) for k, v in kwargs.items()}
    with pytest.raises((ArgumentTypeError, ArgumentError), match=text):
        net(*args, **kwargs)


def test_unknown_variable():
    with pytest.raises(
        ArgumentTypeError, match="no variable is named 'nope'; variables: x, fc_weight"
    ):
        fc(data=mx.sym.Variable("x"), name="fc")(nope=mx.sym.Variable("y"))


def test_group_cannot_be_named():
    group = mx.sym.Group([mx.sym.Variable("a"), mx.sym.Variable("b")])
    with pytest.raises(ArgumentError, match="'new'"):
        group(a=mx.sym.Variable("c"), name="new")


def test_automatic_variables_carry_the_parameters():
    net = fc(data=mx.sym.Variable("x"), name="fc", lr_mult=2, attr={"__mood__": "calm"})
    assert net.attr_dict()["fc_weight"] == {
        "num_hidden": "3",
        "lr_mult": "2",
        "__lr_mult__": "2",
        "__mood__": "calm",
    }


def test_scope_reaches_operators_and_variables():
    with mx.AttrScope(ctx_group="dev1"):
        net = fc(data=mx.sym.Variable("x"), name="fc")
    assert {attrs["ctx_group"] for attrs in net.attr_dict().values()} == {"dev1"}


def test_attributes_that_are_no_parameters():
    x = mx.sym.Variable("x")
    with pytest.raises(ArgumentError, match=r"fc.*'mood' must start and end with two underscores"):
        fc(data=x, name="fc", attr={"mood": "calm"})
    with pytest.raises(ArgumentTypeError, match=r"'__mood__' must be a str, got \[3\]"):
        fc(data=x, name="fc", attr={"__mood__": [3]})
    assert fc(data=x, name="fc", attr={"__mood__": 3}).attr("__mood__") == "3"  # as in MXNet
    assert (x + 1).attr("scalar") == "1"


INIT = mx.init.Constant(3)


@pytest.mark.parametrize(
    "make",
    [
        lambda x: fc(data=x, name="fc", attr={"__init__": INIT}),
        lambda x: fc(data=x, name="fc", __init__=INIT),
        lambda x: fc(data=x, weight=mx.sym.var("fc_weight", attr={"__init__": INIT}), name="fc"),
        lambda x: fc(data=x, weight=mx.sym.var("fc_weight", init=INIT), name="fc"),
    ],
)
def test_an_initializer_as_an_attribute(make):
    """It is kept as its text, goes through JSON and fills the weight (MXNet keeps where in memory
    the object was)."""
    net = mx.sym.load_json(make(mx.sym.var("data")).tojson())
    assert net.attr_dict()["fc_weight"]["__init__"] == INIT.dumps()
    module = mx.mod.Module(net, label_names=None)
    module.bind([("data", (2, 3))])
    module.init_params(mx.init.One())
    assert set(module.get_params()[0]["fc_weight"].asnumpy().ravel()) == {3}


@pytest.mark.parametrize(
    "call, text",
    [
        (
            lambda x: mx.sym.FullyConnected(x, name="n"),
            "FullyConnected.*'num_hidden'.*missing.*node n",
        ),
        (
            lambda x: mx.sym.FullyConnected(x, num_hidden="a", name="n"),
            "'num_hidden' takes an int.*'a'",
        ),
        (lambda x: mx.sym.FullyConnected(x, num_hidden=3, wat=1), "no parameter 'wat'"),
        (
            lambda x: mx.sym.FullyConnected(x, num_hidden=3, wat=x),
            "no input 'wat'; its inputs: data, weight, bias",
        ),
        (lambda x: mx.sym.FullyConnected(x, x, x, num_hidden=3, no_bias=True), "no input 'bias'"),
        (lambda x: mx.sym.FullyConnected(3, num_hidden=3), "'data' must be a Symbol, got int 3"),
        (
            lambda x: mx.sym.FullyConnected(data=3, num_hidden=3),
            "'data' must be a Symbol, got int 3",
        ),
        (lambda x: mx.sym.FullyConnected(x, data=x, num_hidden=3), "'data' is given twice"),
        (lambda x: mx.sym.Activation(x, "relu", act_type="tanh"), "'act_type' is given twice"),
        (lambda x: mx.sym.FullyConnected(*[x] * 9, num_hidden=3), "takes at most"),
        (lambda x: mx.sym.Activation(x, act_type="zz"), "one of .*'relu'.*'zz'"),
        (lambda x: mx.sym.Activation(mx.sym.Group([x, x]), act_type="relu"), "single output"),
        (lambda x: mx.sym.Group([x, x]) + 1, "single one is required"),
        (lambda x: mx.sym.Activation(x, act_type="relu", name=3), "name must be a str"),
        (lambda x: mx.sym.Activation(x, act_type="relu", out=x), "no 'out'"),
        (lambda x: mx.sym.Group([]), "at least one"),
        (lambda x: mx.sym.Group([x], create_fn=list), "create_fn must be Symbol.*'list'"),
        (lambda x: mx.sym.Group([x, 3]), "item 1.*int 3"),
        (lambda x: mx.sym.Variable(3), "name must be a str"),
        (lambda x: mx.sym.Variable("x", foo=3), "'foo' must start and end with two underscores"),
        (lambda x: mx.sym.Variable("x", attr={"a": 1}), "'a' must be a str"),
    ],
)
def test_wrong_calls(call, text):
    with pytest.raises(CynetError, match=text) as info:
        call(mx.sym.Variable("x"))
    assert isinstance(info.value, (TypeError, ValueError))


def test_parameters_as_text():
    assert parameter_text(None, np.float32(0.1)) == "0.1"
    assert parameter_text(None, [np.int64(3), 3]) == "[3, 3]"
    assert parameter_text(None, (np.int64(3),)) == "(3,)"
    assert parameter_text(None, ()) == "()"
    assert parameter_text(Bool(), np.bool_(True)) == "True"
    assert parameter_text(Float(), True) == "1"
    assert parameter_text(DType(), np.float64) == parameter_text(DType(), float) == "float64"
    assert parameter_text(None, None) == "None"


def test_numpy_parameters_survive_json():
    net = mx.sym.Convolution(mx.sym.Variable("x"), kernel=np.array([3, 3]), num_filter=np.int64(4))
    shape = (1, 2, 8, 8)
    again = mx.sym.load_json(net.tojson())
    assert again.infer_shape(x=shape) == net.infer_shape(x=shape)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.int32, np.int64])
def test_texts_of_numpys_numbers(kind):
    """A number of NumPy's is written as it shows, alone and within tuples, in every field."""
    for text, value in (("0.1", kind(0.1)), ("2", kind(2))) if kind(0.5) else (("2", kind(2)),):
        found = mx.sym.contrib.MultiBoxPrior(mx.sym.var("x"), sizes=(value, 0.2), ratios=(value,))
        shown = str(float(text)) if kind(0.5) else text
        assert found.attr("sizes") in (f"({shown}, 0.2)", f"({text}, 0.2)")
        assert found.attr("ratios") in (f"({shown},)", f"({text},)")
        alone = mx.sym.LeakyReLU(mx.sym.var("x"), act_type="leaky", slope=value)
        assert alone.attr("slope") in (shown, text)
