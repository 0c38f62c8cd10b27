"""mx.debug_nans: executors, Modules, imperative calls; scope and switch."""

import sys

import numpy as np
import pytest

import cynet as mx


def network():
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc", no_bias=True)
    return mx.sym.sqrt(net, name="root")


def bound():
    executor = network().simple_bind(mx.cpu(), data=(1, 2))
    executor.arg_dict["fc_weight"][:] = mx.nd.array([[1, 0], [0, 1]])
    return executor


def test_forward_names_operator_node_line_and_inputs():
    executor = bound()
    with mx.debug_nans():
        executor.forward(data=mx.nd.array([[1, 4]]))
        with pytest.raises(
            mx.mon.AnomalyError, match="operator sqrt of node 'root' gave NaN in 1 of 2 elements"
        ) as caught:
            executor.forward(data=mx.nd.array([[1, -4]]))
        line = sys._getframe().f_lineno - 1
    text = str(caught.value)
    assert "operator sqrt of node 'root' gave NaN in 1 of 2 elements, called at" in text
    assert f"{__file__}:{line}; data (1, 2) is finite" in text
    assert isinstance(caught.value, FloatingPointError)


def test_backward():
    executor = bound()
    with mx.debug_nans():
        executor.forward(True, data=mx.nd.array([[1, 0]]))
        with pytest.raises(
            FloatingPointError,
            match="operator sqrt of node 'root' gave a gradient of its input data",
        ) as caught:
            executor.backward(mx.nd.ones((1, 2)))
    text = str(caught.value)
    assert "operator sqrt of node 'root' gave a gradient of its input data with an infinity" in text
    assert "gradient of output (1, 2) is finite" in text
    with mx.debug_nans(infinite=False):
        executor.forward(True, data=mx.nd.array([[1, 0]]))
        with pytest.raises(FloatingPointError, match="node 'fc' gave a gradient of its input"):
            executor.backward(mx.nd.ones((1, 2)))  # infinity times 0


def test_results_are_those_of_the_fast_plan_and_it_comes_back():
    executor = bound()
    x, head = mx.nd.array([[4, 9]]), mx.nd.ones((1, 2))

    def step():
        executor.forward(True, data=x)
        executor.backward(head)
        return executor.outputs[0].asnumpy(), executor.grad_dict["fc_weight"].asnumpy()

    plain, plan = step(), executor._plan
    with mx.debug_nans():
        for ours, theirs in zip(step(), plain):
            np.testing.assert_allclose(ours, theirs, rtol=1e-6)
        assert executor._plan is not plan
    assert all(np.array_equal(a, b) for a, b in zip(step(), plain))
    assert (
        executor.forward(data=mx.nd.array([[-1, -1]]))
        and np.isnan(executor.outputs[0].asnumpy()).all()
    )


def test_switch_and_scopes_within():
    bad = mx.nd.array([-1.0])
    mx.debug_nans(True)
    try:
        with pytest.raises(
            FloatingPointError, match="operator log gave NaN in 1 of 1 elements, called at"
        ):
            mx.nd.log(bad)
        with mx.debug_nans(False):
            mx.nd.log(bad)
        with pytest.raises(
            FloatingPointError, match="operator log gave NaN in 1 of 1 elements, called at"
        ):
            mx.nd.log(bad)
        with mx.gluon.detect_anomaly(infinite=False):
            pass
        with pytest.raises(
            FloatingPointError, match="operator log gave an infinity in 1 of 1 elements, called at"
        ):
            mx.nd.log(mx.nd.zeros(1))
    finally:
        mx.debug_nans(False)
    mx.nd.log(bad)
    with pytest.raises(TypeError, match="on must be"):
        mx.debug_nans("yes")


def test_fit_and_buckets():
    """A rate that is far too high: the first value that is no number is found in `fit`."""
    x = np.random.RandomState(3).randn(64, 4).astype("float32")
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=8, name="fc1")
    net = mx.sym.LinearRegressionOutput(
        mx.sym.FullyConnected(mx.sym.exp(net, name="exp"), num_hidden=1, name="fc2"), name="lin"
    )
    data = mx.io.NDArrayIter(x, x.sum(1), 16, label_name="lin_label")
    module = mx.mod.Module(net, label_names=["lin_label"])
    with mx.debug_nans(), pytest.raises(mx.mon.AnomalyError, match="of node '(exp|fc1|fc2|lin)'"):
        module.fit(data, num_epoch=5, eval_metric="mse", optimizer_params={"learning_rate": 1e4})
    buckets = mx.mod.BucketingModule(lambda key: (net, ["data"], ["lin_label"]), 1)
    buckets.bind(data.provide_data, data.provide_label)
    buckets.init_params(mx.init.One())
    data.reset()
    batch = next(data)
    batch.bucket_key, batch.provide_data, batch.provide_label = (
        1,
        data.provide_data,
        data.provide_label,
    )
    buckets.forward(batch)
    batch.data = [mx.nd.full((16, 4), 1e3)]
    with mx.debug_nans(), pytest.raises(mx.mon.AnomalyError, match="of node 'exp'"):
        buckets.forward(batch)


def test_steps_of_custom_operators_are_seen():
    class Bad(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], in_data[0] * float("nan"))

    @mx.operator.register("gives_nan")
    class BadProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Bad()

    executor = mx.sym.Custom(mx.sym.var("x"), op_type="gives_nan", name="bad").simple_bind(
        mx.cpu(), x=(2,)
    )
    with (
        mx.debug_nans(),
        pytest.raises(FloatingPointError, match="node 'bad'.* _mul_scalar gave NaN"),
    ):
        executor.forward()


INPUTS = ("data", "weight", "bias")


@pytest.mark.parametrize("bad", range(3))
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_gradient_is_named_by_the_input_it_is_of(bad, value):
    """The first, a middle and the last one."""

    class Spoils(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], sum(in_data[1:], in_data[0]))

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            for i in range(3):
                in_grad[i][:] = np.full(2, value if i == bad else 1.0)

    @mx.operator.register(f"spoils_{bad}_{value}")
    class SpoilsProp(mx.operator.CustomOpProp):
        def list_arguments(self):
            return list(INPUTS)

        def create_operator(self, ctx, shapes, dtypes):
            return Spoils()

    net = mx.sym.Custom(
        *(mx.sym.var(name) for name in INPUTS), op_type=f"spoils_{bad}_{value}", name="spoils"
    )
    executor = net.simple_bind(mx.cpu(), **dict.fromkeys(INPUTS, (2,)))
    with mx.debug_nans():
        executor.forward(True)
        kind = "NaN" if np.isnan(value) else "an infinity"
        with pytest.raises(FloatingPointError, match=f"of its input {INPUTS[bad]} with {kind}"):
            executor.backward(mx.nd.ones((2,)))
    if np.isinf(value):
        with mx.debug_nans(infinite=False):
            executor.forward(True)
            executor.backward(mx.nd.ones((2,)))


@pytest.mark.parametrize("bad", range(2))
def test_a_recorded_gradient_is_named_by_its_input(bad):
    """0 times infinity, in the gradient of one operand."""
    values = [mx.nd.array([1.0, 2.0]), mx.nd.array([3.0, 4.0])]
    values[1 - bad][1] = np.inf
    for each in values:
        each.attach_grad()
    with mx.autograd.record():
        out = values[0] * values[1]
    with mx.debug_nans(), pytest.raises(FloatingPointError, match=rf"of its input {bad} with NaN"):
        out.backward(mx.nd.array([1.0, 0.0]))
