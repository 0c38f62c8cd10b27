"""smooth_l1 and symbols of Custom beside MXNet 1.9.1's (tests/fixtures/custom.py); training
through Module with the operators that MXNet's documents show."""

import json
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from cynet import simple_op

FOUND = json.loads((Path(__file__).parents[2] / "fixtures" / "custom.json").read_text())


@pytest.mark.parametrize("number", range(len(FOUND["smooth_l1"])))
def test_smooth_l1_has_mxnets_values_and_gradients(number):
    entry = FOUND["smooth_l1"][number]
    dtype, params = entry["dtype"], entry["params"]
    tolerance = {"float16": 2e-3, "float32": 2e-6, "float64": 1e-12}[dtype]
    x = mx.nd.array(FOUND["x"], dtype=dtype)
    out = mx.nd.smooth_l1(x, **params)
    assert out.dtype == np.dtype(dtype)
    np.testing.assert_allclose(out.asnumpy(), entry["out"], tolerance, tolerance)
    net = mx.sym.smooth_l1(mx.sym.Variable("x"), **params)
    executor = net.simple_bind(mx.cpu(), type_dict={"x": dtype}, x=x.shape)
    executor.forward(is_train=True, x=x)
    executor.backward(mx.nd.full(x.shape, 2, dtype=dtype))
    np.testing.assert_allclose(executor.outputs[0].asnumpy(), entry["out"], tolerance, tolerance)
    got = executor.grad_dict["x"].asnumpy()
    np.testing.assert_allclose(got, entry["grad"], tolerance, tolerance)


def test_smooth_l1_of_integers_and_wrong_parameters():
    x = mx.nd.array([1, -3, 0, 5], dtype="int32")
    assert mx.nd.smooth_l1(x, scalar=1.0).asnumpy().tolist() == [0, 2, 0, 4]
    assert mx.nd.smooth_l1(mx.nd.array([1, 2, 3]), 2.0).asnumpy().tolist() == [0.875, 1.875, 2.875]
    with pytest.raises(mx.base.MXNetError, match="smooth_l1.*parameter 'scalar' takes a float"):
        mx.sym.smooth_l1(mx.sym.Variable("x"), scalar="x")
    with pytest.raises(mx.base.MXNetError, match="smooth_l1 has no parameter 'sigma'"):
        mx.sym.smooth_l1(mx.sym.Variable("x"), sigma=1)
    with pytest.raises(mx.base.MXNetError, match="does not take arrays of bool"):
        mx.nd.smooth_l1(mx.nd.array([True], dtype="bool")).asnumpy()


@mx.operator.register("two_outputs")
class Prop(mx.operator.CustomOpProp):
    """The same as in custom.py."""

    def __init__(self, factor="1"):
        super().__init__(need_top_grad=True)
        assert isinstance(factor, str)
        self.factor = int(factor)

    def list_arguments(self):
        return ["left", "right"]

    def list_outputs(self):
        return ["first", "second"]

    def list_auxiliary_states(self):
        return ["state"]

    def infer_shape(self, in_shape):
        wide = [in_shape[0][0], self.factor * in_shape[0][1]]
        return [in_shape[0], in_shape[0]], [in_shape[0], wide], [(1,)]


def _symbols():
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    yield mx.sym.smooth_l1(a, scalar=2.0, name="loss")
    yield mx.sym.smooth_l1(a, name="loss")
    yield mx.sym.Custom(a, b, op_type="two_outputs", factor=3, name="custom")
    yield mx.sym.Custom(left=a, op_type="two_outputs", name="custom")
    yield mx.sym.Custom(right=b, left=a, op_type="two_outputs", factor="2", name="custom")


@pytest.mark.parametrize("number", range(len(FOUND["symbols"])))
def test_symbols_are_mxnets(number):
    entry, net = FOUND["symbols"][number], list(_symbols())[number]
    for symbol in (net, mx.sym.load_json(entry["json"])):
        assert json.loads(symbol.tojson()) == json.loads(entry["json"])
        assert symbol.list_arguments() == entry["arguments"]
        assert symbol.list_outputs() == entry["outputs"]
        assert symbol.list_auxiliary_states() == entry["states"]
        shapes = [[list(s) for s in each] for each in symbol.infer_shape(a=(2, 3))]
        assert shapes == entry["shapes"]


# --- trained through Module -----------------------------------------------------------------------
def _python_smooth_l1():
    """The walk-through in Python: a function, a gradient that reads the input, a scalar."""

    def forward(src, env, ret, req, ctx):
        x, s2 = np.asarray(src), env.scalar**2
        value = np.where(abs(x) < 1 / s2, 0.5 * s2 * x * x, abs(x) - 0.5 / s2)
        simple_op.assign(ret, req, value)

    def backward(out_grad, in_data0, env, in_grad, req, ctx):
        slope = np.clip(env.scalar**2 * np.asarray(in_data0), -1, 1)
        simple_op.assign(in_grad, req, np.asarray(out_grad) * slope)

    if not hasattr(mx.sym, "walked_smooth_l1"):
        simple_op.register("walked_smooth_l1").set_function(
            "cpu", forward, simple_op.kNoInplace
        ).set_gradient("cpu", backward, simple_op.kInplaceOutIn).set_enable_scalar(True)
    return mx.sym.walked_smooth_l1


@pytest.mark.parametrize("way", ["built-in", "Python", "Cython"])
def test_weighted_smooth_l1_loss_learns_through_module(way, rng, request):
    """``outside * f(inside * (data - label))``: a regression in which a tenth of the labels is far
    off and another tenth has no weight, as in Fast R-CNN's boxes."""
    if way == "Cython":
        request.getfixturevalue("compiled")("simple_ops.pyx")
    smooth_l1 = {
        "built-in": lambda: mx.sym.smooth_l1,
        "Python": _python_smooth_l1,
        "Cython": lambda: mx.sym.c_smooth_l1,
    }[way]()
    truth = rng.normal(size=(4, 6))
    points = rng.normal(size=(400, 6)).astype("f")
    labels = (points @ truth.T).astype("f")
    weights = np.ones_like(labels)
    labels[:40] += 100
    labels[40:80], weights[40:80] = 1e6, 0

    prediction = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc")
    inside, outside = mx.sym.Variable("inside_label"), mx.sym.Variable("outside_label")
    difference = inside * (prediction - mx.sym.Variable("target_label"))
    loss = mx.sym.MakeLoss(outside * smooth_l1(difference, scalar=1.0), name="loss")
    batches = mx.io.NDArrayIter(
        {"data": points},
        {"target_label": labels, "inside_label": weights, "outside_label": weights},
        50,
        shuffle=True,
    )
    names = ["target_label", "inside_label", "outside_label"]
    module = mx.mod.Module(mx.sym.Group([mx.sym.BlockGrad(prediction), loss]), label_names=names)
    module.fit(
        batches,
        eval_metric=mx.metric.Loss(output_names=["loss_output"], label_names=[]),
        num_epoch=15,
        optimizer="adam",
        optimizer_params={"learning_rate": 0.05},
        initializer=mx.init.Xavier(),
    )
    learned = module.get_params()[0]["fc_weight"].asnumpy()
    np.testing.assert_allclose(learned, truth, atol=0.3)  # the mean of squares would be far off


class TutorialSoftmax(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        y = np.exp(x - x.max(axis=1).reshape((x.shape[0], 1)))
        y /= y.sum(axis=1).reshape((x.shape[0], 1))
        self.assign(out_data[0], req[0], mx.nd.array(y))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        label = in_data[1].asnumpy().ravel().astype(int)
        y = out_data[0].asnumpy()
        y[np.arange(label.shape[0]), label] -= 1.0
        self.assign(in_grad[0], req[0], mx.nd.array(y))


class TutorialSoftmaxProp(mx.operator.CustomOpProp):
    def __init__(self):
        super().__init__(need_top_grad=False)

    def list_arguments(self):
        return ["data", "label"]

    def list_outputs(self):
        return ["output"]

    def infer_shape(self, in_shape):
        return [in_shape[0], (in_shape[0][0],)], [in_shape[0]], []

    def create_operator(self, ctx, shapes, dtypes):
        return TutorialSoftmax()


class KernelSoftmax(mx.operator.NDArrayOp):
    """The tutorial's NDArrayOp, with its kernels in CUDA C++ made in the first call."""

    FORWARD = """
        int i = blockIdx.x; float largest = x[i * x_dims[1]], total = 0;
        for (int j = 0; j < x_dims[1]; ++j) largest = fmaxf(largest, x[i * x_dims[1] + j]);
        for (int j = 0; j < x_dims[1]; ++j) total += expf(x[i * x_dims[1] + j] - largest);
        for (int j = 0; j < x_dims[1]; ++j)
            y[i * x_dims[1] + j] = expf(x[i * x_dims[1] + j] - largest) / total;"""
    BACKWARD = """
        int i = blockIdx.x, j = threadIdx.x;
        dx[i * y_dims[1] + j] = y[i * y_dims[1] + j] - (j == (int)l[i] ? 1 : 0);"""

    def __init__(self):
        super().__init__(False)
        self.fwd_kernel = self.bwd_kernel = None

    def list_arguments(self):
        return ["data", "label"]

    def list_outputs(self):
        return ["output"]

    def infer_shape(self, in_shape):
        return [in_shape[0], (in_shape[0][0],)], [in_shape[0]]

    def forward(self, in_data, out_data):
        x, y = in_data[0], out_data[0]
        if self.fwd_kernel is None:
            self.fwd_kernel = mx.rtc("softmax", [("x", x)], [("y", y)], self.FORWARD)
        self.fwd_kernel.push([x], [y], (x.shape[0], 1, 1), (1, 1, 1))

    def backward(self, out_grad, in_data, out_data, in_grad):
        label, y, dx = in_data[1], out_data[0], in_grad[0]
        if self.bwd_kernel is None:
            self.bwd_kernel = mx.rtc(
                "softmax_grad", [("y", y), ("l", label)], [("dx", dx)], self.BACKWARD
            )
        self.bwd_kernel.push([y, label], [dx], (y.shape[0], 1, 1), (y.shape[1], 1, 1))


@pytest.mark.parametrize("way", ["CustomOp", "NDArrayOp with mx.rtc"])
def test_the_tutorials_softmax_learns_through_module(way, rng):
    if way == "CustomOp":
        mx.operator.register("softmax")(TutorialSoftmaxProp)
        make = mx.sym.Custom
        options = {"op_type": "softmax"}
    else:
        make, options = KernelSoftmax(), {}
    centres = rng.normal(size=(3, 8)) * 3
    labels = rng.integers(0, 3, 240)
    points = (centres[labels] + rng.normal(size=(240, 8))).astype("f")
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=16)
    net = mx.sym.Activation(net, act_type="relu")
    net = mx.sym.FullyConnected(net, num_hidden=3)
    net = make(data=net, name="softmax", **options)
    assert net.list_arguments()[-1] == "softmax_label"
    batches = mx.io.NDArrayIter(points, labels.astype("f"), 40, shuffle=True)
    module = mx.mod.Module(net)
    module.fit(
        batches, num_epoch=6, initializer=mx.init.Xavier(), optimizer_params={"learning_rate": 0.1}
    )
    assert dict(module.score(batches, "acc"))["accuracy"] > 0.9


def test_the_tutorials_tile_layer_through_module(rng):
    """The tutorial's layer, with what it left out: copies written into the output, along any axis
    (examples/custom_op/tile.py has the rest)."""

    class TileLayer(mx.operator.NumpyOp):
        def __init__(self, tiles, axis):
            super().__init__(False)
            self.tiles, self.axis = tiles, axis

        def need_top_grad(self):
            return True

        def list_arguments(self):
            return ["input"]

        def list_outputs(self):
            return ["output"]

        def infer_shape(self, in_shape):
            return [in_shape[0]], [in_shape[0] + [self.tiles]]

        def forward(self, in_data, out_data):
            out_data[0][:] = np.tile(in_data[0][..., np.newaxis], self.tiles)

        def backward(self, out_grad, in_data, out_data, in_grad):
            in_grad[0][:] = np.sum(out_grad[0], axis=self.axis)

    tiled = TileLayer(tiles=10, axis=2)(input=mx.sym.Variable("data"), name="tileop")
    assert tiled.infer_shape(data=(2, 3)) == ([(2, 3)], [(2, 3, 10)], [])
    assert tiled.list_outputs() == ["tileop_output"]
    module = mx.mod.Module(symbol=tiled, label_names=None)
    module.bind(data_shapes=[("data", (4, 5))], inputs_need_grad=True)
    module.init_params()
    x, top = rng.normal(size=(4, 5)).astype("f"), rng.normal(size=(4, 5, 10)).astype("f")
    module.forward(mx.io.DataBatch([mx.nd.array(x)]))
    np.testing.assert_array_equal(module.get_outputs()[0].asnumpy(), np.tile(x[..., None], 10))
    module.backward([mx.nd.array(top)])
    np.testing.assert_allclose(
        module.get_input_grads()[0].asnumpy(), top.sum(axis=2), rtol=1e-5, atol=1e-5
    )
