"""Loops whose most runs are many, graphs inside of graphs inside, shapes with too many axes."""

import json

import numpy as np
import pytest

import cynet as mx

S = mx.sym


def doubled(most, inside=False):
    """Doubles s five times; with a branch in each run if `inside`."""

    def step(i, s):
        out = S.contrib.cond(s.sum() > 2, lambda: s * 2, lambda: s + s) if inside else s * 2
        return [], [i + 1, out]

    return S.contrib.while_loop(
        lambda i, s: i < 5, step, [S.var("i"), S.var("s")], max_iterations=most
    )[1][1]


@pytest.mark.parametrize("inside", [False, True])
def test_runs_that_never_come(inside):
    """They cost nothing: neither time nor operators, and memory only where backward needs it."""
    net = mx.sym.load_json(doubled(2**62, inside).tojson())
    args = {"i": mx.nd.zeros(1), "s": mx.nd.array([1, 2])}
    assert net.bind(mx.cpu(), args).forward()[0].asnumpy().tolist() == [32, 64]
    with pytest.raises(mx.errors.SizeError, match="_reserve"):
        net.simple_bind(mx.cpu(), i=(1,), s=(2,))
    grads = {"i": mx.nd.zeros(1), "s": mx.nd.zeros(2)}
    executor = doubled(10**5, inside).bind(mx.cpu(), args, grads)
    executor.forward(is_train=True)
    executor.backward([mx.nd.ones(2)])
    assert grads["s"].asnumpy().tolist() == [32, 32]


def test_python_operators_are_made_for_runs_that_come():
    made = []

    class Keeps(mx.operator.CustomOp):
        def __init__(self):
            super().__init__()
            made.append(self)

        def forward(self, is_train, req, in_data, out_data, aux):
            self.kept = in_data[0].asnumpy()
            self.assign(out_data[0], req[0], in_data[0] * in_data[0])

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], out_grad[0] * mx.nd.array(2 * self.kept))

    @mx.operator.register("keeps_of_a_run")
    class KeepsProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Keeps()

    def step(i, s):
        return [], [i + 1, S.Custom(s, op_type="keeps_of_a_run")]

    net = S.contrib.while_loop(
        lambda i, s: i < 3, step, [S.var("i"), S.var("s")], max_iterations=10**6
    )[1][1]
    args = {"i": mx.nd.zeros(1), "s": mx.nd.array([1, 1.5])}
    grads = {"i": mx.nd.zeros(1), "s": mx.nd.zeros(2)}
    executor = net.bind(mx.cpu(), args, grads)
    for _ in range(2):
        executor.forward(is_train=True)
        executor.backward([mx.nd.ones(2)])
        np.testing.assert_allclose(grads["s"].asnumpy(), [8, 8 * 1.5**7], 1e-6)
    assert len(made) == 3


def nested(depth):
    """Each level's rows are given an axis for the next one."""

    def body(row, s, level):
        if not level:
            return row * s, row + s
        return S.contrib.foreach(lambda a, b: body(a, b, level - 1), S.expand_dims(row, axis=0), s)

    return S.contrib.foreach(lambda a, b: body(a, b, depth - 1), S.var("x"), S.var("s"))


def test_inference_of_nested_graphs():
    """Each level asks the next one several times: without notes that is 2**depth questions."""
    net = mx.sym.load_json(nested(40)[1].tojson())
    assert net.infer_shape(x=(3, 2))[1] == [(2,)]
    assert net.infer_type(x="float64")[1] == [np.float64]


def test_too_many_axes():
    outs, last = nested(3)
    with mx.autograd.pause():
        found = S.Group([outs, last]).eval(x=mx.nd.ones((2, 2)), s=mx.nd.ones(2))
    assert found[0].shape == (2, 1, 1, 2)
    with pytest.raises(mx.errors.ShapeError, match="at most 8"):
        nested(8)[0].simple_bind(mx.cpu(), x=(2, 2), s=(2,))


def test_a_loop_variable_named_twice():
    """Refused: the gradient of one of the body's two inputs would be lost."""
    t = S.var("t")
    _, (last,) = S.contrib.while_loop(
        lambda s: s.sum() < 9, lambda s: ([], [s * t]), [S.var("s")], max_iterations=4
    )
    graph = json.loads(last.tojson())
    (node,) = (each for each in graph["nodes"] if each["op"] == "_while_loop")
    assert node["attrs"]["func_input_locs"] == "[0, 1]"
    node["attrs"]["func_input_locs"] = "(0, 0)"
    words = r"_while_loop.*func_input_locs \(0, 0\) names loop variable 0 twice"
    with pytest.raises(mx.errors.FormatError, match=words):
        mx.sym.load_json(json.dumps(graph))
