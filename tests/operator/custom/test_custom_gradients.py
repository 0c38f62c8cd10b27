"""Gradients of operators that users write: a value with several readers, gradients that nobody
wants, ``grad_req="add"``, losses, states; operators that write plainly, whatever `req` says."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from cynet import simple_op
from tests.long_runs import STRESS

FIXTURES = Path(__file__).parents[2] / "fixtures"
CASES = 2000 if STRESS else 60

spec = importlib.util.spec_from_file_location("custom_networks", FIXTURES / "custom_networks.py")
networks = importlib.util.module_from_spec(spec)
spec.loader.exec_module(networks)
networks.register(mx)


def close(found, wanted):
    """Some ten float32 operations on figures near 1, each rounded to 6e-8."""
    scale = 1 + np.abs(wanted).max()
    np.testing.assert_allclose(found / scale, wanted / scale, rtol=0, atol=1e-5)


# --- networks whose values have several readers ---------------------------------------------------
@pytest.mark.parametrize("passes", ["all", "none"])
def test_gradients_are_those_of_mxnet(passes, monkeypatch):
    monkeypatch.setenv("CYNET_GRAPH_PASSES", passes)
    cases = json.loads((FIXTURES / "custom_fan_out.json").read_text())
    assert len(cases) == 40
    for case in cases:
        output, grads = networks.run(mx, case["seed"])
        close(output.ravel(), np.array(case["output"]))
        assert set(grads) == set(case["grads"])
        for name, wanted in case["grads"].items():
            close(grads[name].ravel(), np.array(wanted))


def test_gradients_of_random_networks(seed):
    """Against derivatives in float64; written, and added to 100."""
    for number in range(seed, seed + CASES):
        number %= 2**32
        wanted_output, wanted = networks.by_numpy(number)
        for grad_req, start in (("write", 100.0), ("add", 1.0)):
            output, grads = networks.run(mx, number, grad_req, start)
            close(output, wanted_output)
            for name, grad in grads.items():
                close(grad, wanted[name] + (start if grad_req == "add" else 0))


# --- every way to write an operator ---------------------------------------------------------------
class PlainOp(mx.operator.CustomOp):
    """2 x, which writes what it likes; `seen` has what it was given."""

    seen = []

    def forward(self, is_train, req, in_data, out_data, aux):
        out_data[0][:] = in_data[0] * 2

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.seen.append((list(req), [type(g) for g in in_grad]))
        in_grad[0][:] = out_grad[0] * 2
        for unused in in_grad[1:]:
            unused[:] = 7


@mx.operator.register("test_plain")
class PlainProp(mx.operator.CustomOpProp):
    def list_arguments(self):
        return ["data", "label"]

    def create_operator(self, ctx, shapes, dtypes):
        return PlainOp()

    def infer_shape(self, in_shape):
        return [in_shape[0]] * 2, [in_shape[0]], []


class PlainNumpy(mx.operator.NumpyOp):
    def list_arguments(self):
        return ["data", "label"]

    def infer_shape(self, in_shape):
        return [in_shape[0]] * 2, [in_shape[0]]

    def forward(self, in_data, out_data):
        out_data[0][:] = in_data[0] * 2

    def backward(self, out_grad, in_data, out_data, in_grad):
        in_grad[0][:] = out_grad[0] * 2
        in_grad[1][:] = 7


class PlainNDArray(mx.operator.NDArrayOp):
    list_arguments = PlainNumpy.list_arguments
    infer_shape = PlainNumpy.infer_shape
    forward = PlainNumpy.forward
    backward = PlainNumpy.backward


class PlainOperator(mx.operator.Operator):
    def forward(self, ctx, in_data, req, out_data, aux_states):
        np.asarray(out_data[0])[...] = np.asarray(in_data[0]) * 2

    def backward(self, ctx, out_grad, in_data, out_data, req, in_grad, aux_states):
        assert all(r == mx.operator.OpReq.write for r in req)
        np.asarray(in_grad[0])[...] = np.asarray(out_grad[0]) * 2
        np.asarray(in_grad[1])[...] = 7


@mx.operator.register("test_plain_raw")
class PlainProperty(mx.operator.OperatorProperty):
    """Twice the data, by a raw operator that knows no requests."""

    def list_arguments(self):
        return ["data", "label"]

    def create_operator(self, ctx, in_shapes, in_types):
        return PlainOperator()


def simple_forward(lhs, rhs, env, ret, req, ctx):
    np.asarray(ret)[...] = np.asarray(lhs) * 2


def simple_backward(out_grad, env, lhs_grad, rhs_grad, req_lhs_grad, req_rhs_grad, ctx):
    np.asarray(lhs_grad)[...] = np.asarray(out_grad) * 2
    np.asarray(rhs_grad)[...] = 7


simple_op.register("test_plain_simple").set_function("cpu", simple_forward).set_gradient(
    "cpu", simple_backward
)

WAYS = {
    "CustomOp": lambda x, y: mx.sym.Custom(x, y, op_type="test_plain"),
    "NumpyOp": lambda x, y: PlainNumpy()(x, y),
    "NDArrayOp": lambda x, y: PlainNDArray()(x, y),
    "Operator": lambda x, y: mx.sym.test_plain_raw(x, y),
    "SimpleOp": lambda x, y: mx.sym.test_plain_simple(x, y),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("grad_req", ["write", "add"])
@pytest.mark.parametrize("label", ["null", "write", "add"])
def test_operators_that_write_plainly(way, grad_req, label):
    """x is read by two of them, by a sum, and is an output itself; labels by none but them."""
    x, y = mx.sym.Variable("x"), mx.sym.Variable("y")
    net = mx.sym.Group([WAYS[way](x, y) + 3 * x + WAYS[way](x * 1, y), x])
    net = net.simple_bind(mx.cpu(), grad_req={"x": grad_req, "y": label}, x=(2, 3), y=(2, 3))
    for _ in range(2):  # the second step finds what the first one left
        for grad in net.grad_arrays:
            if grad is not None:
                grad[:] = 100
        net.forward(is_train=True)
        net.backward([mx.nd.ones((2, 3)), mx.nd.full((2, 3), 10)])
        wanted = 2 + 3 + 2 + 10 + (100 if grad_req == "add" else 0)
        np.testing.assert_array_equal(net.grad_dict["x"].asnumpy(), wanted)
        if label != "null":
            wanted = 14 + (100 if label == "add" else 0)
            np.testing.assert_array_equal(net.grad_dict["y"].asnumpy(), wanted)


def test_a_custom_op_is_asked_to_write_an_array_for_every_input():
    PlainOp.seen.clear()
    x, y = mx.sym.Variable("x"), mx.sym.Variable("y")
    net = WAYS["CustomOp"](x, y) + x
    net = net.simple_bind(mx.cpu(), grad_req={"x": "add", "y": "null"}, x=(2,), y=(2,))
    net.forward(is_train=True)
    net.backward(mx.nd.ones((2,)))
    net.grad_dict["x"].wait_to_read()
    assert PlainOp.seen == [(["write", "write"], [mx.nd.NDArray] * 2)]


def test_an_operator_that_honours_requests_says_so():
    """It gets no array where none is wanted, and is asked to add."""
    requests = []

    class Honest(mx.operator.Operator):
        forward = PlainOperator.forward

        def backward(self, ctx, out_grad, in_data, out_data, req, in_grad, aux_states):
            requests.append((list(req), in_grad[1]))
            simple_op.assign(in_grad[0], req[0], np.asarray(out_grad[0]) * 2)

    @mx.operator.register("test_honest")
    class HonestProperty(mx.operator.OperatorProperty):
        """Twice the data, by a raw operator that knows no requests."""

        honours_req = True

        def list_arguments(self):
            return ["data", "label"]

        def create_operator(self, ctx, in_shapes, in_types):
            return Honest()

    x, y = mx.sym.Variable("x"), mx.sym.Variable("y")
    net = mx.sym.test_honest(x, y).simple_bind(
        mx.cpu(), grad_req={"x": "add", "y": "null"}, x=(2,), y=(2,)
    )
    net.grad_dict["x"][:] = 100
    net.forward(is_train=True)
    net.backward(mx.nd.ones((2,)))
    assert net.grad_dict["x"].asnumpy().tolist() == [102, 102]
    assert requests == [([mx.operator.OpReq.add, mx.operator.OpReq.null], None)]


# --- losses, states, no backward ------------------------------------------------------------------
def test_a_custom_op_without_backward_has_zero_gradients():
    class Forward(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            out_data[0][:] = in_data[0] * 2

    @mx.operator.register("test_no_backward")
    class ForwardProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Forward()

    x = mx.sym.Variable("x")
    node = mx.sym.Custom(x, op_type="test_no_backward")
    for net, grad_req, wanted in (
        (node, "write", 0),
        (node, "add", 100),
        (node + 3 * x, "write", 3),
        (node + 3 * x, "add", 103),
    ):
        net = net.simple_bind(mx.cpu(), grad_req=grad_req, x=(2, 3))
        net.grad_dict["x"][:] = 100
        net.forward(is_train=True)
        net.backward(mx.nd.ones((2, 3)))
        np.testing.assert_array_equal(net.grad_dict["x"].asnumpy(), wanted)


def _loss(base, backward):
    """An operator class of a loss with a label, for CustomOp, NumpyOp or NDArrayOp."""

    def forward(self, in_data, out_data, **rest):
        out_data[0][:] = in_data[0]

    return type("Loss", (base,), {"forward": forward, "backward": backward})


@pytest.mark.parametrize("way", ["CustomOp", "NumpyOp", "NDArrayOp"])
def test_a_loss_has_arrays_of_everything(way):
    """Its gradient is 1, and what it writes to its label's gradient harms nobody."""
    seen = []

    def backward(self, out_grad, in_data, out_data, in_grad, **rest):
        seen.append([out_grad[0].shape, out_grad[0][0] * 1])
        in_grad[0][:] = (out_data[0] - in_data[1]) * out_grad[0]
        in_grad[1][:] = 0
        out_grad[0][:] = 5  # its own

    names = {
        "list_arguments": lambda self: ["data", "label"],
        "infer_shape": lambda self, s: ([s[0], s[0]], [s[0]]),
        "__init__": lambda self: base.__init__(self, need_top_grad=False),
    }
    if way == "CustomOp":
        base = mx.operator.CustomOpProp
        op = _loss(mx.operator.CustomOp, backward)
        make = {"create_operator": lambda self, ctx, shapes, dtypes: op()}
        mx.operator.register("test_plain_loss")(type("LossProp", (base,), {**names, **make}))
        net = mx.sym.Custom(
            mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=1, name="fc"),
            op_type="test_plain_loss",
            name="out",
        )
    else:
        base = getattr(mx.operator, way)
        net = type("Loss", (_loss(base, backward),), names)()(
            mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=1, name="fc"), name="out"
        )
    module = mx.mod.Module(net, label_names=["out_label"])
    data = mx.io.NDArrayIter(np.ones((8, 3)), np.ones((8, 1)), 4, label_name="out_label")
    module.bind(data.provide_data, data.provide_label)
    module.init_params(mx.init.Constant(0.125))
    module.fit(data, num_epoch=2, eval_metric="mse", optimizer_params={"learning_rate": 0.1})
    mx.nd.waitall()  # the last backward runs beside this thread
    assert len(seen) == 4
    for shape, one in seen:
        assert shape == (4, 1)
        assert np.ravel(one if isinstance(one, np.ndarray) else one.asnumpy()).tolist() == [1]
    # Each step takes 0.1 x error from 3 weights and the bias; outputs are of before the last one.
    first = 3 * 0.125 - 1  # the bias begins at 0
    error = module.get_outputs()[0].asnumpy() - 1
    np.testing.assert_allclose(error, first * 0.6**3, rtol=1e-5)


def test_states_are_there_when_nothing_else_is_wanted():
    class Moves(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            out_data[0][:] = in_data[0]

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            in_grad[0][:] = out_grad[0]
            aux[0][:] += 1

    @mx.operator.register("test_moves")
    class MovesProp(mx.operator.CustomOpProp):
        def list_auxiliary_states(self):
            return ["count"]

        def infer_shape(self, in_shape):
            return in_shape, in_shape, [(1,)]

        def create_operator(self, ctx, shapes, dtypes):
            return Moves()

    x = mx.sym.Variable("x")
    moved = mx.sym.Custom(x, op_type="test_moves", name="m")
    net = mx.sym.MakeLoss(mx.sym.BlockGrad(moved) + x).simple_bind(mx.cpu(), x=(2,))
    net.forward(is_train=True)
    net.backward()
    assert net.grad_dict["x"].asnumpy().tolist() == [1, 1]
    assert net.aux_dict["m_count"].asscalar() == 1


def test_a_steady_step_allocates_nothing():
    """Parts that are added up or thrown away have their place in the executor's arena."""
    x, y = mx.sym.Variable("x"), mx.sym.Variable("y")
    net = PlainNumpy()(x, y) + 3 * x
    net = net.simple_bind(mx.cpu(), grad_req={"x": "add", "y": "null"}, x=(64, 64), y=(64, 64))
    counts = []
    for _ in range(5):
        net.forward(is_train=True)
        net.backward(net.arg_dict["x"])
        mx.nd.waitall()
        counts.append(mx.storage.stats(mx.cpu())["used_bytes"])
    assert len(set(counts[1:])) == 1
