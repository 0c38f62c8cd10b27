"""Injected failures: every callback of every way to write an operator, every kind of wrong return.

Each is raised as an MXNetError that names the operator and the user's line; the process lives, and
a computation right afterwards is right.
"""

import inspect
import itertools
import re

import numpy as np
import pytest

import cynet as mx
from cynet import simple_op

_count = itertools.count()


# --- what goes wrong ------------------------------------------------------------------------------
def raises(*args, **kwargs):
    raise LookupError("injected")


class Odd:
    """An object whose text cannot be had either."""

    def __repr__(self):
        raise RuntimeError("no text")


def returns(value):
    def wrong(*args, **kwargs):
        return value(*args) if inspect.isfunction(value) else value

    return wrong


def returns_of(function):
    """A callback that computes its wrong return from its arguments after self."""

    def wrong(self, *args):
        return function(*args)

    return wrong


def write(value):
    """A forward or backward, in any of the interfaces, that writes `value` to its first target."""

    def wrong(self, *args, **kwargs):
        arrays = kwargs or dict(zip(inspect.signature(PARAMETERS[len(args)]).parameters, args))
        target = arrays["in_grad" if "in_grad" in arrays else "out_data"][0]
        target = target if hasattr(target, "__setitem__") else np.asarray(target)
        target[:] = value

    return wrong


def replace(self, *args, **kwargs):
    targets = kwargs["in_grad" if "in_grad" in kwargs else "out_data"]
    targets[0] = np.zeros(3)


def shorten(self, *args, **kwargs):
    kwargs["in_grad" if "in_grad" in kwargs else "out_data"].clear()


def raw_forward(ctx, in_data, req, out_data, aux_states): ...
def raw_backward(ctx, out_grad, in_data, out_data, req, in_grad, aux_states): ...


PARAMETERS = {5: raw_forward, 7: raw_backward}

NAMES = [raises, *map(returns, (None, "data", 3, [1], [None], ["a", "a"], {"a"}, Odd()))]
SHAPES = [
    raises,
    *map(returns, (None, 3, "ab", (), ([(2, 3)],), Odd())),
    returns_of(lambda ins, *rest: (ins, [ins[0]], [], [])),  # four lists
    returns_of(lambda ins, *rest: ([], [ins[0]], [])),  # no input
    returns_of(lambda ins, *rest: ([*ins, (1,)], [ins[0]], [])),  # one too many
    returns_of(lambda ins, *rest: (ins, [], [])),  # no output
    returns_of(lambda ins, *rest: (ins, [ins[0]], [(1,)])),  # a state that is none
    returns_of(lambda ins, *rest: (ins, [None], [])),
    returns_of(lambda ins, *rest: (ins, [3], [])),
    returns_of(lambda ins, *rest: (ins, ["ab"], [])),
    returns_of(lambda ins, *rest: (ins, [(2, -1)], [])),
    returns_of(lambda ins, *rest: (ins, [(2, 2.5)], [])),
    returns_of(lambda ins, *rest: (ins, [(2, None)], [])),
    returns_of(lambda ins, *rest: (ins, [(0, 3)], [])),
    returns_of(lambda ins, *rest: (ins, [(1,) * 9], [])),
    returns_of(lambda ins, *rest: (ins, ins[0], [])),  # a shape, not a list of shapes
]
TYPES = [
    raises,
    *map(returns, (None, 3, "f", (), (["float32"],), Odd())),
    returns_of(lambda ins, *rest: ([], ins, [])),
    returns_of(lambda ins, *rest: (ins, [], [])),
    returns_of(lambda ins, *rest: (ins, ins, ins)),
    returns_of(lambda ins, *rest: (ins, [None], [])),
    returns_of(lambda ins, *rest: (ins, ["float99"], [])),
    returns_of(lambda ins, *rest: (ins, [7], [])),
    returns_of(lambda ins, *rest: (ins, ["complex64"], [])),
]
IDS = [raises, *map(returns, (None, 3, "x", [99], [-1], ["x"], [[0]], [None], [0.0], Odd()))]
PAIRS = [raises, *map(returns, (None, 3, [1], [(0,)], [(0, 99)], [("a", "b")], [(0, 1, 2)]))]
OPERATORS = [raises, *map(returns, (None, 3, "op", mx.operator.Operator, mx.operator.CustomOp))]
RESOURCES = [raises, *map(returns, (None, 1, ["space"], [7], [None]))]
COUNTS = [raises, *map(returns, (None, 0, 2, -1, "1", 1.0))]
RUNS = [raises, *map(write, (np.zeros((7, 7)), np.zeros(17), "text", [[1, 2], [3]]))]
LISTS = [replace, shorten]


# --- the ways -------------------------------------------------------------------------------------
class GoodOp(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] * 2)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * 2)


class GoodProp(mx.operator.CustomOpProp):
    op = GoodOp

    def create_operator(self, ctx, shapes, dtypes):
        return self.op()


class GoodNumpy(mx.operator.NumpyOp):
    def forward(self, in_data, out_data):
        out_data[0][:] = in_data[0] * 2

    def backward(self, out_grad, in_data, out_data, in_grad):
        in_grad[0][:] = out_grad[0] * 2


class GoodNDArray(mx.operator.NDArrayOp):
    forward = GoodNumpy.forward
    backward = GoodNumpy.backward


class GoodOperator(mx.operator.Operator):
    def forward(self, ctx, in_data, req, out_data, aux_states):
        simple_op.assign(out_data[0], req[0], np.asarray(in_data[0]) * 2)

    def backward(self, ctx, out_grad, in_data, out_data, req, in_grad, aux_states):
        simple_op.assign(in_grad[0], req[0], np.asarray(out_grad[0]) * 2)


class GoodProperty(mx.operator.OperatorProperty):
    op = GoodOperator

    def create_operator(self, ctx, in_shapes, in_types):
        return self.op()


def custom(callback, function):
    if callback in ("forward", "backward"):
        op = type("BadOp", (GoodOp,), {callback: function})
        prop = type("BadProp", (GoodProp,), {"op": op})
    else:
        prop = type("BadProp", (GoodProp,), {callback: function})
    mx.operator.register("test_bad")(prop)
    return mx.sym.Custom(mx.sym.Variable("x"), op_type="test_bad", name="node"), "test_bad"


def instance(base):
    def make(callback, function):
        bad = type("BadInstance", (base,), {callback: function})()
        return bad(mx.sym.Variable("x"), name="node"), "BadInstance"

    return make


def raw(callback, function):
    name = f"test_raw_bad_{next(_count)}"
    if callback in ("forward", "backward"):
        op = type("BadOperator", (GoodOperator,), {callback: function})
        prop = type("BadProperty", (GoodProperty,), {"op": op})
    else:
        prop = type("BadProperty", (GoodProperty,), {callback: function})
    mx.operator.register(name)(prop)
    return getattr(mx.sym, name)(mx.sym.Variable("x"), name="node"), name


WAYS = {
    "CustomOp": custom,
    "NumpyOp": instance(GoodNumpy),
    "NDArrayOp": instance(GoodNDArray),
    "OperatorProperty": raw,
}
CALLBACKS = {
    "CustomOp": {
        "list_arguments": NAMES,
        "list_outputs": [*NAMES, returns([])],
        "list_auxiliary_states": NAMES,
        "infer_shape": SHAPES,
        "infer_type": TYPES,
        "declare_backward_dependency": IDS,
        "create_operator": OPERATORS,
        "__init__": [raises],
        "forward": [*RUNS, *LISTS],
        "backward": [*RUNS, *LISTS],
    },
    "NumpyOp": {
        "list_arguments": NAMES,
        "list_outputs": [*NAMES, returns([])],
        "infer_shape": SHAPES,
        "declare_backward_dependency": IDS,
        "forward": [*RUNS, *LISTS],
        "backward": [*RUNS, *LISTS],
    },
    "OperatorProperty": {
        "list_arguments": NAMES,
        "list_outputs": [*NAMES, returns([])],
        "list_auxiliary_states": NAMES,
        "num_visible_outputs": COUNTS,
        "infer_shape": [*SHAPES, returns_of(lambda ins, outs: (ins, ins))],
        "infer_type": [*TYPES, returns_of(lambda ins, outs: (ins, ins))],
        "declare_backward_dependency": IDS,
        "forward_inplace_option": PAIRS,
        "backward_inplace_option": PAIRS,
        "forward_resource": RESOURCES,
        "backward_resource": RESOURCES,
        "create_operator": OPERATORS,
        "__init__": [raises],
        "forward": RUNS,
        "backward": RUNS,
    },
}
CALLBACKS["NDArrayOp"] = CALLBACKS["NumpyOp"]
CASES = [
    (way, callback, number)
    for way, callbacks in CALLBACKS.items()
    for callback, wrongs in callbacks.items()
    for number in range(len(wrongs))
]


def run(net):
    """(output, gradient) of one training step on ones."""
    executor = net.simple_bind(mx.cpu(), x=(2, 3))
    executor.arg_dict["x"][:] = 1
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones((2, 3)))
    return executor.outputs[0].asnumpy(), executor.grad_dict["x"].asnumpy()


def check(error, where, function):
    """The error is an MXNetError, names operator or node, and has the user's line."""
    text = str(error)
    assert isinstance(error, mx.base.MXNetError)
    assert where in text or "'node'" in text or "operator node" in text
    lines = [int(n) for n in re.findall(re.escape(__file__) + r":(\d+)", text)]
    source, first = inspect.getsourcelines(function)
    assert any(first <= line < first + len(source) for line in lines), text


def check_that_all_is_well():
    """Whatever failed before: what is computed now is right, and nothing is left to be raised."""
    mx.nd.waitall()
    for found in run(GoodNumpy()(mx.sym.Variable("x"))):
        np.testing.assert_array_equal(found, 2)
    mx.operator.register("test_good")(GoodProp)
    for found in run(mx.sym.Custom(mx.sym.Variable("x"), op_type="test_good")):
        np.testing.assert_array_equal(found, 2)
    assert (mx.nd.ones((2,)) + 1).asnumpy().tolist() == [2, 2]


@pytest.mark.parametrize("way, callback, number", CASES)
def test_injected_failure(way, callback, number):
    function = CALLBACKS[way][callback][number]
    where = "test_"
    with pytest.raises(Exception, match="operator") as caught:
        net, where = WAYS[way](callback, function)
        run(net)
    check(caught.value, where, function)
    del caught
    check_that_all_is_well()


def test_there_are_more_than_a_hundred():
    assert len(CASES) > 300


@pytest.mark.parametrize("callback", ["forward", "infer_shape", "create_operator"])
@pytest.mark.parametrize("way", ["CustomOp", "OperatorProperty"])
def test_imperative_calls_fail_alike(way, callback):
    for function in CALLBACKS[way][callback]:
        _, where = WAYS[way](callback, function)
        with pytest.raises(Exception, match="operator") as caught:
            if way == "CustomOp":
                mx.nd.Custom(mx.nd.ones((2, 3)), op_type=where).asnumpy()
            else:
                getattr(mx.nd, where)(mx.nd.ones((2, 3))).asnumpy()
        check(caught.value, where, function)
    check_that_all_is_well()


# --- SimpleOp -------------------------------------------------------------------------------------
def good_function(src, env, ret, req, ctx):
    simple_op.assign(ret, req, np.asarray(src) * 2)


def good_gradient(out_grad, env, in_grad, req, ctx):
    simple_op.assign(in_grad, req, np.asarray(out_grad) * 2)


def function_raises(src, env, ret, req, ctx):
    raise LookupError("injected")


def function_of_wrong_shape(src, env, ret, req, ctx):
    simple_op.assign(ret, req, np.zeros(17))


def function_of_wrong_type(src, env, ret, req, ctx):
    simple_op.assign(ret, req, "text")


def function_needs_a_resource(src, env, ret, req, ctx):
    env.resource[0].get_space((3,))


def gradient_raises(out_grad, env, in_grad, req, ctx):
    raise LookupError("injected")


def gradient_of_wrong_shape(out_grad, env, in_grad, req, ctx):
    simple_op.assign(in_grad, req, np.zeros(17))


def shape_returns(value):
    def wrong(src, env):
        return value

    return wrong


def shape_raises(src, env):
    raise LookupError("injected")


SIMPLE = [
    (function_raises, good_gradient, None),
    (function_of_wrong_shape, good_gradient, None),
    (function_of_wrong_type, good_gradient, None),
    (function_needs_a_resource, good_gradient, None),
    (good_function, gradient_raises, None),
    (good_function, gradient_of_wrong_shape, None),
    (good_function, good_gradient, shape_raises),
    *(
        (good_function, good_gradient, shape_returns(value))
        for value in (None, 3, "ab", (), (2, -1), (0, 3), (2, 2.5), (1,) * 9, [None], Odd())
    ),
]


@pytest.mark.parametrize("number", range(len(SIMPLE)))
@pytest.mark.parametrize("face", ["sym", "nd"])
def test_simple_op(number, face):
    function, gradient, shape = SIMPLE[number]
    name = f"test_simple_bad_{next(_count)}"
    builder = simple_op.register(name).set_function("cpu", function)
    builder.set_gradient("cpu", gradient)
    if shape is not None:
        builder.set_shape_function(shape)
    wrong = next(f for f in (shape, function, gradient) if f not in (None, *GOOD))
    with pytest.raises(Exception, match="simple_op") as caught:
        if face == "nd":
            x = mx.nd.ones((2, 3))
            x.attach_grad()
            with mx.autograd.record():
                y = getattr(mx.nd, name)(x)
            y.asnumpy()
            y.backward()
            x.grad.asnumpy()
        else:
            run(getattr(mx.sym, name)(mx.sym.Variable("x"), name="node"))
    check(caught.value, name, wrong)
    del caught
    check_that_all_is_well()


GOOD = (good_function, good_gradient)


# --- what one cannot foresee ----------------------------------------------------------------------
def test_a_failure_inside_what_a_callback_runs():
    """The asynchronous failure of an operator that the user's forward called reaches the user."""

    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], mx.nd.Custom(in_data[0], op_type="test_inner_bad"))

    def inner(self, is_train, req, in_data, out_data, aux):
        raise LookupError("deep inside")

    op = type("O", (GoodOp,), {"forward": inner})
    mx.operator.register("test_inner_bad")(type("P", (GoodProp,), {"op": op}))
    net, _ = custom("forward", forward)
    with pytest.raises(LookupError, match="deep inside") as caught:
        run(net)
    assert "node 'node'" in str(caught.value) and "'test_inner_bad'" in str(caught.value)
    check_that_all_is_well()


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_what_is_no_exception_passes_through(error):
    def forward(self, is_train, req, in_data, out_data, aux):
        raise error("stop")

    net, _ = custom("forward", forward)
    with pytest.raises(error, match="^stop$"):
        run(net)
    check_that_all_is_well()


def test_an_error_class_with_arguments_of_its_own():
    class Picky(Exception):
        def __init__(self, code, reason):
            super().__init__(code, reason)

    def forward(self, is_train, req, in_data, out_data, aux):
        raise Picky(7, "for a reason")

    net, _ = custom("forward", forward)
    with pytest.raises(mx.base.MXNetError, match="for a reason") as caught:
        run(net)
    assert isinstance(caught.value.__cause__.__cause__ or caught.value.__cause__, Exception)
    check_that_all_is_well()


def test_arrays_are_given_back_when_a_callback_fails():
    """What the callback kept of the tensors lives on, with the values of that time."""
    kept = []

    def forward(self, is_train, req, in_data, out_data, aux):
        kept.extend(in_data)
        raise LookupError("after keeping")

    net, _ = custom("forward", forward)
    with pytest.raises(LookupError, match="after keeping"):
        run(net)
    mx.nd.waitall()
    np.testing.assert_array_equal(kept[0].asnumpy(), np.ones((2, 3)))


def test_views_that_a_numpy_op_keeps_outlive_the_executor():
    kept = []

    def forward(self, in_data, out_data):
        kept.append(in_data[0][1:])
        out_data[0][:] = in_data[0]

    net = type("Keeper", (GoodNumpy,), {"forward": forward})()(mx.sym.Variable("x"))
    executor = net.simple_bind(mx.cpu(), x=(1000, 100))
    executor.arg_dict["x"][:] = 5
    executor.forward()[0].wait_to_read()
    del executor
    mx.nd.waitall()
    mx.storage.empty_cache(mx.cpu())
    np.testing.assert_array_equal(kept[0], 5)


@pytest.mark.parametrize("way", ["CustomOp", "NumpyOp", "NDArrayOp"])
def test_views_of_the_targets_may_stand_in_their_places(way):
    def forward(self, *args, in_data, out_data, **kwargs):
        out_data[0] = out_data[0].reshape((3, 2))
        out_data[0][:] = in_data[0].reshape((3, 2)) * 2

    net, _ = WAYS[way]("forward", forward)
    for found in run(net):
        np.testing.assert_array_equal(found, 2)


def test_a_null_request_gives_memory_to_throw_away():
    """An input that needs no gradient: the callback may write, read and change its part."""

    class Two(mx.operator.NumpyOp):
        def list_arguments(self):
            return ["a", "b"]

        def forward(self, in_data, out_data):
            out_data[0][:] = in_data[0] * in_data[1]

        def backward(self, out_grad, in_data, out_data, in_grad):
            for grad, other in zip(in_grad, in_data[::-1]):
                grad[:] = out_grad[0] * other
                grad[0, 0] += 1
                grad *= 2

    class TwoND(mx.operator.NDArrayOp):
        list_arguments = Two.list_arguments
        forward = Two.forward

        def backward(self, out_grad, in_data, out_data, in_grad):
            for grad, other in zip(in_grad, in_data[::-1]):
                grad[:] = out_grad[0] * other
                grad[0, 0] = grad[0, 0] + 1
                grad *= 2

    for cls in (Two, TwoND):
        net = cls()(mx.sym.Variable("a"), mx.sym.Variable("b"))
        executor = net.simple_bind(
            mx.cpu(), grad_req={"a": "null", "b": "write"}, a=(2, 2), b=(2, 2)
        )
        executor.forward(is_train=True, a=mx.nd.full((2, 2), 3), b=mx.nd.ones((2, 2)))
        executor.backward(mx.nd.ones((2, 2)))
        assert executor.grad_dict["b"].asnumpy().tolist() == [[8, 6], [6, 6]]
