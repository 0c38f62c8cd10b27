"""Executors without a plan that compute gradients: autograd records what they run."""

import numpy as np
import pytest

import cynet as mx
from cynet import autograd, nd, sym
from tests.executor.test_postponed import bound, data, reshaped


@pytest.fixture(autouse=True)
def two_runs_before_a_plan(monkeypatch):
    monkeypatch.setenv("CYNET_RUNS_BEFORE_PLAN", "2")


def features():
    """Ends in no loss; its Dropout is in the middle."""
    net = sym.Convolution(sym.var("data"), num_filter=4, kernel=(3, 3), name="conv")
    net = sym.Activation(sym.BatchNorm(net, name="norm"), act_type="relu")
    return sym.FullyConnected(sym.mean(net, axis=(2, 3)), num_hidden=3, name="fc")


def loss():
    return sym.SoftmaxOutput(features(), name="softmax")


def two():
    """A loss, and an output that gives no gradient; statistics in front of that move, too."""
    whole = loss()
    blocked = sym.BlockGrad(sym.BatchNorm(whole.get_internals()["conv_output"], name="aside"))
    return sym.Group([whole, sym.mean(blocked, axis=(1, 2, 3))])


def behind():
    """An output behind a loss needs no gradient from outside."""
    return sym.reshape(sym.make_loss(features() * 2), shape=(-1,)) * 3


def step(exe, x, is_train=True, heads=None):
    """(outputs, gradients, states) of a forward and a backward, as NumPy arrays."""
    exe.forward(is_train=is_train, data=x)
    exe.backward(heads)
    every = [*exe.outputs, *(g for g in exe.grad_arrays if g is not None), *exe.aux_arrays]
    return [each.asnumpy() for each in every]


def planned_step(net, exe, x, monkeypatch, **kwargs):
    """What an executor of a graph of its own, with a plan, finds."""
    with monkeypatch.context() as patch:
        patch.setenv("CYNET_RUNS_BEFORE_PLAN", "0")
        other = net.simple_bind(mx.cpu(), exe._grad_req, data=x.shape)
        args = {k: v for k, v in exe.arg_dict.items() if k != "data" and not k.endswith("label")}
        other.copy_params_from(args, exe.aux_dict)
        return step(other, x, **kwargs)


@pytest.mark.parametrize("is_train", [True, False], ids=["training", "prediction"])
@pytest.mark.parametrize("make", [loss, two, behind, features])
def test_gradients_are_those_of_plans(rng, monkeypatch, make, is_train):
    net = make()
    exe = bound(rng, net, grad_req="write")
    assert exe._calls is None
    for size in (7, 9):
        x = data(size, rng)
        heads = nd.array(rng.uniform(-1, 1, (2, 3))) if make is features else None
        other = reshaped(exe, x)
        for turn in range(4):
            wanted = planned_step(make(), other, x, monkeypatch, is_train=is_train, heads=heads)
            assert (other._calls is None) == (turn > 2)
            for found, want in zip(step(other, x, is_train, heads), wanted):
                np.testing.assert_allclose(found, want, 1e-4, 1e-5)


def test_prediction_and_training_have_their_plans(rng):
    exe = bound(rng, loss())
    x = data(6, rng)
    training = exe._symbol.simple_bind(mx.cpu(), "write", data=x.shape)
    assert training._calls is None  # the first of those with gradients
    assert reshaped(exe, data(7, rng))._calls is not None
    assert reshaped(training, data(7, rng))._calls is not None


def test_gradients_add_up_and_some_are_not_wanted(rng):
    exe = bound(rng, loss(), grad_req={"conv_weight": "add", "fc_weight": "write"})
    x = data(7, rng)
    other = reshaped(exe, x)
    step(other, x)
    once = other.grad_dict["conv_weight"].asnumpy(), other.grad_dict["fc_weight"].asnumpy()
    step(other, x)
    twice = other.grad_dict["conv_weight"].asnumpy(), other.grad_dict["fc_weight"].asnumpy()
    assert other._calls is not None and other.grad_dict["fc_bias"] is None
    np.testing.assert_allclose(twice[0], 2 * once[0], 1e-5)
    np.testing.assert_array_equal(twice[1], once[1])


def test_rows_of_a_jacobian(rng):
    """Who gives gradients may give others for the same run."""
    exe = bound(rng, features(), grad_req="write")
    x = data(7, rng)
    other = reshaped(exe, x)
    other.forward(is_train=True, data=x)
    parts = []
    for row in np.eye(6).reshape((6, 2, 3)):
        other.backward([nd.array(row)])
        parts.append(other.grad_dict["conv_weight"].asnumpy())
    other.backward({"fc_output": nd.ones((2, 3), dtype="float64")})
    assert other._calls is not None
    np.testing.assert_allclose(other.grad_dict["conv_weight"].asnumpy(), sum(parts), 1e-4, 1e-5)


@pytest.mark.parametrize("turns", [1, 3], ids=["call by call", "plan"])
def test_what_backward_refuses(rng, turns):
    exe = bound(rng, features(), grad_req="write")
    x = data(7, rng)
    other = reshaped(exe, x)
    for _ in range(turns):
        other.forward(is_train=True, data=x)
    assert (other._calls is None) == (turns == 3)
    error = mx.base.MXNetError
    with pytest.raises(error, match="gradient of output 'fc_output', which is not a loss"):
        other.backward()
    with pytest.raises(error, match=r"'fc_output' has shape \(3,\), expected \(2, 3\)"):
        other.backward(nd.ones(3))
    with pytest.raises(error, match="2 out_grads for 1 outputs"):
        other.backward([nd.ones((2, 3)), nd.ones(3)])
    with pytest.raises(TypeError, match="'fc_output' must be an NDArray"):
        other.backward([np.ones((2, 3))])
    other.backward(nd.ones((2, 3)))


def test_what_was_recorded_goes(rng):
    """With backward, or when another executor of the same memory runs."""
    exe = bound(rng, loss(), grad_req="write")
    first, second = reshaped(exe, data(7, rng)), reshaped(exe, data(8, rng))
    first.forward(is_train=True)
    first.backward()
    with pytest.raises(mx.base.MXNetError, match="what forward left is gone.*call forward again"):
        first.backward()
    first.forward(is_train=True)
    kept = first._recorded
    second.forward(is_train=True)  # the first one's backward is still to come
    second.backward()
    assert kept.array is not None
    first.backward()
    third = reshaped(exe, data(9, rng))
    for runner in (third, exe):  # without and with a plan
        third.forward(is_train=False, data=data(9, rng))
        runner.forward(is_train=True)
        if runner is third:
            third.backward()
    with pytest.raises(mx.base.MXNetError, match="what forward left is gone"):
        third.backward()
    first.forward(is_train=True)
    first.release_arena()
    with pytest.raises(mx.base.MXNetError, match="what forward left is gone"):
        first.backward()


def test_a_plan_that_is_made_in_between(rng):
    exe = bound(rng, loss(), grad_req="write")
    x = data(7, rng)
    other, same = reshaped(exe, x), reshaped(exe, x)
    other.forward(is_train=True, data=x)
    assert "conv" in other.debug_str() and other._calls is None
    other.backward()
    found = other.grad_dict["conv_weight"].asnumpy()
    same.forward(is_train=True, data=x)
    same.backward()
    np.testing.assert_allclose(found, same.grad_dict["conv_weight"].asnumpy(), 1e-4, 1e-6)


def test_a_record_scope_around_it_sees_nothing(rng):
    exe = bound(rng, loss(), grad_req="write")
    x = data(7, rng)
    other = reshaped(exe, x)
    with autograd.record():
        other.forward(is_train=True, data=x)
        assert other._calls is None
    other.backward()
    other = reshaped(exe, data(8, rng))
    variable = other.arg_dict["conv_weight"]
    variable.attach_grad()
    other.forward(is_train=True, data=data(8, rng))
    other.backward()
    assert other._calls is not None
    assert not variable.grad.asnumpy().any() and other.grad_dict["conv_weight"].asnumpy().any()
    assert not autograd.is_recording() and not autograd.is_training()


def test_buckets_learn_as_with_plans(monkeypatch):
    """Every bucket comes twice or three times."""

    def losses():
        mx.random.seed(3)

        def make(length):
            rows = sym.Embedding(sym.var("data"), input_dim=12, output_dim=6, name="embed")
            out, _ = mx.rnn.LSTMCell(5, prefix="lstm_").unroll(length, rows, merge_outputs=True)
            out = sym.FullyConnected(sym.reshape(out, (-1, 5)), num_hidden=12, name="fc")
            label = sym.reshape(sym.var("softmax_label"), (-1,))
            return sym.SoftmaxOutput(out, label, name="softmax"), ("data",), ("softmax_label",)

        module = mx.mod.BucketingModule(make, default_bucket_key=6)
        module.bind([("data", (2, 6))], [("softmax_label", (2, 6))])
        module.init_params(mx.init.Uniform(0.3))
        module.init_optimizer(optimizer="adam", optimizer_params={"learning_rate": 0.05})
        found = []
        for length in (6, 3, 4, 3, 5, 6, 4, 3, 5, 4):
            x = nd.arange(2 * length).reshape((2, length)) % 12
            shapes = [("data", x.shape)], [("softmax_label", x.shape)]
            batch = mx.io.DataBatch([x], [x], 0, None, length, *shapes)
            module.forward_backward(batch)
            module.update()
            scores = module.get_outputs()[0].asnumpy()
            found.append(-np.log(scores[np.arange(2 * length), x.asnumpy().astype(int).ravel()]))
        return found

    found = losses()
    monkeypatch.setenv("CYNET_RUNS_BEFORE_PLAN", "0")
    for a, b in zip(found, losses()):
        np.testing.assert_allclose(a, b, 1e-4, 1e-5)
    assert found[-1].mean() < found[1].mean() - 0.3
