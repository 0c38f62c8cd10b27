"""Executor: binding, running, gradients, sharing, reshaping, watching, and what wrong calls get."""

import gc
import sys
import threading

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentError, ArgumentTypeError, ShapeError


def _mlp(n_hidden=5):
    data = mx.sym.Variable("data")
    hidden = mx.sym.Activation(
        mx.sym.FullyConnected(data, num_hidden=n_hidden, name="fc1"), act_type="tanh", name="act1"
    )
    return mx.sym.SoftmaxOutput(
        mx.sym.FullyConnected(hidden, num_hidden=3, name="fc2"), name="softmax"
    )


def _fill(executor, rng):
    for name, array in executor.arg_dict.items():
        if name == "softmax_label":
            array[:] = rng.integers(0, 3, array.shape)
        else:
            array[:] = rng.uniform(-1, 1, array.shape)


def _reference(args):
    """Forward and gradients of `_mlp` in NumPy, float64."""
    a = {k: v.asnumpy().astype(np.float64) for k, v in args.items()}
    hidden = np.tanh(a["data"] @ a["fc1_weight"].T + a["fc1_bias"])
    logits = hidden @ a["fc2_weight"].T + a["fc2_bias"]
    prob = np.exp(logits - logits.max(1, keepdims=True))
    prob /= prob.sum(1, keepdims=True)
    d_logits = prob.copy()
    d_logits[np.arange(len(prob)), a["softmax_label"].astype(int)] -= 1
    d_hidden = d_logits @ a["fc2_weight"] * (1 - hidden**2)
    grads = {
        "fc2_weight": d_logits.T @ hidden,
        "fc2_bias": d_logits.sum(0),
        "fc1_weight": d_hidden.T @ a["data"],
        "fc1_bias": d_hidden.sum(0),
        "data": d_hidden @ a["fc1_weight"],
    }
    return prob, grads


def test_nothing_is_left_to_the_garbage_collector():
    """What a binding took goes when it is dropped, not some time later."""
    _mlp().simple_bind(mx.cpu(), data=(4, 6)).forward()  # the first one loads libraries
    for grad_req in ("write", "null"):
        gc.collect()
        gc.disable()
        try:
            executor = _mlp().simple_bind(mx.cpu(), data=(4, 6), grad_req=grad_req)
            executor.forward(is_train=grad_req == "write")
            if grad_req == "write":
                executor.backward()
            executor.outputs[0].asnumpy()
            del executor
            assert gc.collect() == 0
        finally:
            gc.enable()


def test_forward_and_backward_of_an_mlp(rng):
    executor = _mlp().simple_bind(mx.cpu(), data=(4, 6))
    _fill(executor, rng)
    executor.forward(is_train=True)
    executor.backward()
    prob, grads = _reference(executor.arg_dict)
    np.testing.assert_allclose(executor.outputs[0].asnumpy(), prob, rtol=1e-5)
    for name, grad in grads.items():
        np.testing.assert_allclose(
            executor.grad_dict[name].asnumpy(), grad, rtol=1e-4, atol=1e-6, err_msg=name
        )


def test_add_accumulates_and_null_keeps_nothing(rng):
    req = {"fc1_weight": "add", "fc2_weight": "write"}
    executor = _mlp().simple_bind(mx.cpu(), grad_req=req, data=(4, 6))
    _fill(executor, rng)
    executor.grad_dict["fc1_weight"][:] = 1
    for _ in range(3):
        executor.forward(is_train=True)
        executor.backward()
    _, grads = _reference(executor.arg_dict)
    got = executor.grad_dict
    np.testing.assert_allclose(
        got["fc1_weight"].asnumpy(), 1 + 3 * grads["fc1_weight"], rtol=1e-4, atol=1e-5
    )
    np.testing.assert_allclose(
        got["fc2_weight"].asnumpy(), grads["fc2_weight"], rtol=1e-4, atol=1e-6
    )
    assert got["data"] is None and executor.grad_arrays[0] is None


def test_grad_req_as_a_list(rng):
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    executor = (a * b).simple_bind(mx.cpu(), grad_req=["write", "null"], a=(3,), b=(3,))
    executor.arg_dict["b"][:] = [1, 2, 3]
    executor.forward(is_train=True)
    executor.backward([mx.nd.ones((3,))])
    np.testing.assert_array_equal(executor.grad_arrays[0].asnumpy(), [1, 2, 3])
    assert executor.grad_arrays[1] is None


def test_arithmetic_of_two_variables_bound_by_hand():
    a, b = mx.sym.Variable("A"), mx.sym.Variable("B")
    d = (a + b) / 10 + 1
    args = {"A": mx.nd.ones((10,)), "B": mx.nd.ones((10,))}
    grads = {"A": mx.nd.ones((10,)), "B": mx.nd.ones((10,))}
    executor = d.bind(ctx=mx.cpu(), args=args, args_grad=grads, grad_req="write")
    executor.arg_dict["A"][:] = np.arange(10)
    executor.arg_dict["B"][:] = np.arange(10)[::-1]
    executor.forward()
    np.testing.assert_allclose(executor.outputs[0].asnumpy(), np.full(10, 1.9), rtol=1e-6)
    executor.backward([mx.nd.ones((10,))])
    for grad in executor.grad_arrays:
        np.testing.assert_allclose(grad.asnumpy(), np.full(10, 0.1), rtol=1e-6)


def test_a_second_executor_shares_the_weights(rng):
    net = _mlp()
    train = net.simple_bind(mx.cpu(), grad_req="write", data=(4, 6))
    _fill(train, rng)
    test = net.bind(mx.cpu(), args=train.arg_arrays, grad_req="null")
    train.arg_dict["fc1_weight"][:] = 0
    np.testing.assert_array_equal(test.arg_dict["fc1_weight"].asnumpy(), 0)
    test.forward()
    prob, _ = _reference(train.arg_dict)
    np.testing.assert_allclose(test.outputs[0].asnumpy(), prob, rtol=1e-5)


def test_keyword_inputs_of_forward(rng):
    executor = _mlp().simple_bind(mx.cpu(), data=(2, 6))
    _fill(executor, rng)
    x = rng.uniform(-1, 1, (2, 6)).astype("float32")
    outputs = executor.forward(data=mx.nd.array(x))
    np.testing.assert_array_equal(executor.arg_dict["data"].asnumpy(), x)
    assert outputs[0] is executor.outputs[0]
    assert list(executor.output_dict) == ["softmax_output"]
    with pytest.raises(TypeError, match="unknown argument 'dta'"):
        executor.forward(dta=x)
    with pytest.raises(ShapeError, match=r"'data' has shape \(3, 6\), bound was \(2, 6\)"):
        executor.forward(data=np.zeros((3, 6)))


def test_reshape_shares_parameters(rng):
    executor = _mlp().simple_bind(mx.cpu(), data=(4, 6))
    _fill(executor, rng)
    small = executor.reshape(data=(2, 6), softmax_label=(2,))
    assert small.arg_dict["fc1_weight"] is executor.arg_dict["fc1_weight"]
    assert small.outputs[0].shape == (2, 3)
    x = rng.uniform(-1, 1, (2, 6))
    small.forward(data=mx.nd.array(x))
    prob, _ = _reference(small.arg_dict)
    np.testing.assert_allclose(small.outputs[0].asnumpy(), prob, rtol=1e-5)
    with pytest.raises(ShapeError, match="allow_up_sizing"):
        executor.reshape(data=(8, 6), softmax_label=(8,))
    large = executor.reshape(allow_up_sizing=True, data=(8, 6), softmax_label=(8,))
    assert large.arg_dict["data"].shape == (8, 6)
    with pytest.raises(ShapeError, match="partial_shaping"):
        executor.reshape(data=(2, 6))


def test_copy_params_from():
    executor = _mlp().simple_bind(mx.cpu(), data=(4, 6))
    executor.copy_params_from({"fc1_weight": mx.nd.ones((5, 6))})
    np.testing.assert_array_equal(executor.arg_dict["fc1_weight"].asnumpy(), 1)
    with pytest.raises(ArgumentError, match="'fc9_weight' of arg_params is not among"):
        executor.copy_params_from({"fc9_weight": mx.nd.ones((5, 6))})
    executor.copy_params_from({"fc9_weight": mx.nd.ones((5, 6))}, allow_extra_params=True)
    with pytest.raises(ShapeError, match=r"'fc1_weight' has shape \(6, 5\), bound was \(5, 6\)"):
        executor.copy_params_from({"fc1_weight": mx.nd.ones((6, 5))})


def test_shared_exec_uses_one_arena(rng):
    net = _mlp(64)
    large = net.simple_bind(mx.cpu(), data=(32, 6))
    small = net.simple_bind(
        mx.cpu(),
        data=(4, 6),
        shared_exec=large,
        shared_arg_names=["fc1_weight", "fc1_bias", "fc2_weight", "fc2_bias"],
        shared_buffer={},
    )
    assert small.arg_dict["fc1_weight"] is large.arg_dict["fc1_weight"]
    for executor in (large, small, large):
        _fill(executor, rng)
        executor.forward(is_train=True)
        executor.backward()
        prob, grads = _reference(executor.arg_dict)
        np.testing.assert_allclose(executor.outputs[0].asnumpy(), prob, rtol=1e-4)
        np.testing.assert_allclose(
            executor.grad_dict["fc1_weight"].asnumpy(), grads["fc1_weight"], rtol=1e-3, atol=1e-5
        )


def test_monitor_sees_every_operator(rng):
    executor = _mlp().simple_bind(mx.cpu(), data=(4, 6))
    _fill(executor, rng)
    seen = {}
    executor.set_monitor_callback(lambda name, array: seen.update({name: array.asnumpy()}))
    executor.forward(is_train=True)
    assert list(seen) == ["fc1_output", "act1_output", "fc2_output", "softmax_output"]
    a = executor.arg_dict
    fc1 = a["data"].asnumpy() @ a["fc1_weight"].asnumpy().T + a["fc1_bias"].asnumpy()
    np.testing.assert_allclose(seen["fc1_output"], fc1, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(seen["act1_output"], np.tanh(fc1), rtol=1e-4, atol=1e-6)
    seen.clear()
    executor.set_monitor_callback(lambda name, array: seen.update({name: 1}), monitor_all=True)
    executor.forward()
    assert {"fc1_data", "fc1_weight", "fc1_bias", "fc1_output", "softmax_label"} <= set(seen)
    seen.clear()
    executor.set_monitor_callback(None)
    executor.forward(is_train=True)
    executor.backward()
    assert not seen
    _, grads = _reference(executor.arg_dict)
    np.testing.assert_allclose(
        executor.grad_dict["fc1_weight"].asnumpy(), grads["fc1_weight"], rtol=1e-4, atol=1e-6
    )


def test_debug_str_tells_steps_and_memory():
    text = _mlp().simple_bind(mx.cpu(), data=(4, 6)).debug_str()
    assert "forward  FullyConnected fc1" in text and "backward SoftmaxOutput softmax" in text
    assert text.splitlines()[-3] == "Total 0 MB allocated"
    net = mx.sym.BatchNorm(mx.sym.var("data"))  # both its steps may ask for temporary space
    text = net.simple_bind(mx.cpu(), data=(512, 3, 32, 32)).debug_str()
    assert text.splitlines()[-1] == "Total 2 TempSpace resource requested"


def test_two_variables_of_one_name_are_refused():
    net = mx.sym.var("x") + mx.sym.var("x")
    with pytest.raises(ArgumentError, match="two variables are named 'x'"):
        net.simple_bind(mx.cpu(), x=(2,))


def test_an_output_that_is_an_input(rng):
    x = mx.sym.Variable("x")
    executor = mx.sym.Group([x, x * 2, x]).simple_bind(mx.cpu(), x=(3,))
    executor.arg_dict["x"][:] = [1, 2, 3]
    executor.forward(is_train=True)
    assert [o.asnumpy().tolist() for o in executor.outputs] == [[1, 2, 3], [2, 4, 6], [1, 2, 3]]
    executor.backward([mx.nd.ones((3,)), mx.nd.ones((3,)), mx.nd.ones((3,)) * 10])
    np.testing.assert_array_equal(executor.grad_dict["x"].asnumpy(), [13, 13, 13])


def test_runs_in_flight_outlive_their_executor(rng):
    """Their gradients are those of an executor that lives, to the bit."""
    values = _mlp(200).simple_bind(mx.cpu(), data=(64, 100))
    _fill(values, rng)
    values = {name: array.asnumpy() for name, array in values.arg_dict.items()}

    def run():
        executor = _mlp(200).simple_bind(mx.cpu(), data=(64, 100))
        for name, array in executor.arg_dict.items():
            array[:] = values[name]
        executor.forward(is_train=True)
        executor.backward()
        return executor

    alive = run()
    wanted = {name: array.asnumpy() for name, array in alive.grad_dict.items()}
    assert all(array.any() for name, array in wanted.items() if name != "softmax_label")
    for _ in range(50):
        executor = run()
        grads = dict(executor.grad_dict)
        del executor
        gc.collect()
        for name, array in grads.items():
            np.testing.assert_array_equal(array.asnumpy(), wanted[name], err_msg=name)


def test_dropout_depends_on_the_seed_only():
    net = mx.sym.Dropout(mx.sym.Variable("x"), p=0.5)

    def draw():
        mx.random.seed(7)
        executor = net.simple_bind(mx.cpu(), x=(1000,))
        executor.arg_dict["x"][:] = 1
        return [executor.forward(is_train=True)[0].asnumpy() for _ in range(3)]

    first, second = draw(), draw()
    for a, b in zip(first, second):
        np.testing.assert_array_equal(a, b)
    assert (first[0] != first[1]).any()


def test_wrong_calls_say_what_is_wrong():
    net = _mlp()
    shapes = {
        "data": (4, 6),
        "fc1_weight": (5, 6),
        "fc1_bias": (5,),
        "fc2_weight": (3, 5),
        "fc2_bias": (3,),
        "softmax_label": (4,),
    }
    args = {name: mx.nd.zeros(shape) for name, shape in shapes.items()}
    with pytest.raises(ArgumentError, match="no array for 'fc2_bias'"):
        net.bind(mx.cpu(), {k: v for k, v in args.items() if k != "fc2_bias"})
    with pytest.raises(ArgumentError, match="args has 2 arrays, expected 6: data, fc1_weight"):
        net.bind(mx.cpu(), [args["data"], args["fc1_weight"]])
    with pytest.raises(mx.base.MXNetError, match="fc1"):
        net.bind(mx.cpu(), {**args, "fc1_weight": mx.nd.zeros((5, 7))})
    with pytest.raises(ShapeError, match=r"gradient of argument 'fc1_bias' has shape \(4,\)"):
        net.bind(mx.cpu(), args, args_grad={"fc1_bias": mx.nd.zeros((4,))})
    with pytest.raises(ArgumentTypeError, match="'data' must be an NDArray, got ndarray"):
        net.bind(mx.cpu(), {**args, "data": np.zeros((4, 6))})
    refused = pytest.raises(ShapeError, match=r"that of .data.* \(a length of 0 is unknown")
    with refused:
        mx.sym.relu(mx.sym.Variable("data")).simple_bind(mx.cpu(), data=(0, 6))
    with pytest.raises(ArgumentError, match="'cpus' names no device"):
        net.bind("cpus", args)
    with pytest.raises(ArgumentTypeError, match="ctx must be a Context, got 0"):
        net.simple_bind(0, data=(4, 6))
    assert net.bind("cpu", args).outputs[0].context == mx.cpu()
    with pytest.raises(ArgumentError, match="grad_req of 'data' is 'wrte'"):
        net.simple_bind(mx.cpu(), grad_req="wrte", data=(4, 6))
    plus = mx.sym.Variable("a") + 1
    executor = plus.simple_bind(mx.cpu(), a=(2,))
    with pytest.raises(ArgumentError, match="'_plusscalar[0-9]+_output', which is not a loss"):
        executor.backward()
    with pytest.raises(ShapeError, match=r"has shape \(3,\), expected \(2,\)"):
        executor.backward(mx.nd.ones((3,)))


def test_a_view_of_a_loss_needs_no_gradient_from_outside(rng):
    """Outputs behind losses, as object detectors have them; losses ignore what comes from there."""
    data, label = rng.normal(size=(4, 3)).astype("f"), np.float32([2, 0, 1, 1])
    given, classes = mx.sym.Variable("data"), mx.sym.Variable("label")
    loss = mx.sym.SoftmaxOutput(given, classes)
    views = mx.sym.Group(
        [
            mx.sym.Reshape(loss, shape=(1, -1, 3)),
            mx.sym.BlockGrad(classes),
            mx.sym.sum(mx.sym.square(loss)),
            mx.sym.Reshape(mx.sym.MakeLoss(2 * given), shape=(-1,)),
        ]
    )
    executor = views.bind(
        mx.cpu(),
        {"data": mx.nd.array(data), "label": mx.nd.array(label)},
        args_grad={"data": mx.nd.zeros((4, 3))},
    )
    executor.forward(is_train=True)
    executor.backward()
    e = np.exp(data - data.max(1, keepdims=True))
    expected = e / e.sum(1, keepdims=True) - np.eye(3)[label.astype(int)] + 2
    np.testing.assert_allclose(executor.grad_dict["data"].asnumpy(), expected, rtol=1e-5)
    with pytest.raises(ArgumentError, match="is not a loss"):  # but beside one it does
        both = mx.sym.Group([loss, given * 2])
        executor = both.simple_bind(mx.cpu(), data=(4, 3))
        executor.forward(is_train=True)
        executor.backward()


def test_shapes_of_names_that_the_symbol_has_not():
    """An inner layer bound with the shapes of the whole network, as scripts do it."""
    inner = _mlp().get_internals()["fc1_output"]
    with pytest.warns(UserWarning, match="no argument 'softmax_label'; what is given for it"):
        executor = inner.simple_bind(
            mx.cpu(),
            data=(4, 6),
            softmax_label=(4,),
            type_dict={"data": "float64", "softmax_label": "float32"},
        )
    assert executor.arg_dict["fc1_weight"].dtype == np.float64
    assert executor.forward()[0].shape == (4, 5)
    with pytest.raises(ShapeError, match=r"'dta' \(did you mean 'data'\?\)"):
        inner.simple_bind(mx.cpu(), dta=(4, 6))


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_an_error_in_a_run_names_the_line_that_asked_for_it(direction, waits):
    """Whether the run was over when the call returned, or waited for an array and came later."""
    names = ["data", "parameters", "state", "lengths"]
    net = mx.sym.RNN(
        *(mx.sym.var(name) for name in names[:3]),
        sequence_length=mx.sym.var(names[3]),
        use_sequence_length=True,
        state_size=2,
        num_layers=1,
        mode="rnn_tanh",
    )
    executor = net.simple_bind(mx.cpu(), data=(3, 2, 2))
    lengths = executor.arg_dict["lengths"]
    lengths[:] = 1
    executor.forward(is_train=True)
    lengths[:] = 1 if waits else 7
    mx.nd.waitall()
    go = threading.Event()
    if waits:

        class Late(mx.operator.NumpyOp):
            def infer_shape(self, in_shape):
                return in_shape, in_shape

            def forward(self, in_data, out_data):
                assert go.wait(20)
                out_data[0][:] = 7

        late = Late(need_top_grad=False)(mx.sym.var("x")).bind(mx.cpu(), {"x": mx.nd.ones(2)})
        late.forward()[0].copyto(lengths)
    with pytest.raises(mx.base.MXNetError, match="ArgumentError: operator RNN") as caught:
        if direction == "forward":
            line = sys._getframe().f_lineno + 1
            executor.forward(is_train=True)
        else:
            line = sys._getframe().f_lineno + 1
            executor.backward(mx.nd.ones((3, 2, 2)))
        go.set()
        read = executor.outputs[0] if direction == "forward" else executor.grad_dict["parameters"]
        read.asnumpy()
    text = str(caught.value)
    assert "sequence_length[0] is 7" in text and f"failed in {direction}" in text
    assert f"run from {__file__}:{line}:" in text


def test_a_gpu_says_what_it_needs():
    with pytest.raises(mx.base.MXNetError, match=r"mx.gpu\(\) needs"):
        _mlp().simple_bind(mx.gpu(0), data=(4, 6))
