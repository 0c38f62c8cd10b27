"""What modules of all kinds tell and refuse alike: names, shapes, a second bind, states."""

import logging

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentError, CynetError

DATA, LABEL = ("data", (4, 3)), ("softmax_label", (4,))


def network():
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def with_state():
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    after = net + mx.sym.var("state")
    return mx.sym.Group([mx.sym.SoftmaxOutput(net, name="softmax"), mx.sym.BlockGrad(after)])


def plain(logger, **given):
    return mx.mod.Module(network(), logger=logger, **given)


def bucketing(logger, **given):
    each = network(), ("data",), ("softmax_label",)
    return mx.mod.BucketingModule(lambda key: each, 3, logger=logger, **given)


def chain(logger):
    made = mx.mod.SequentialModule(logger=logger)
    return made.add(mx.mod.Module(network()), take_labels=True)


def of_python(logger):
    return mx.mod.PythonLossModule(name="softmax", logger=logger)


KINDS = {"Module": plain, "Bucketing": bucketing, "Sequential": chain, "Python": of_python}


@pytest.fixture(params=KINDS)
def made(request):
    return KINDS[request.param](logging.getLogger(f"every module, {request.param}"))


def batch(data, label=None):
    """With what a BucketingModule asks of it."""
    labels = [] if label is None else [mx.nd.array(label)]
    rows = len(data)
    return mx.io.DataBatch(
        [mx.nd.array(data)],
        labels,
        bucket_key=3,
        provide_data=[("data", data.shape)],
        provide_label=[("softmax_label", (rows,))] if labels else None,
    )


def shapes(descs):
    return [(name, tuple(shape)) for name, shape, *_ in map(tuple, descs)]


def test_names_and_shapes(made):
    outputs = [("softmax_output", (4, 2))]
    if isinstance(made, mx.mod.PythonLossModule):
        outputs = [("softmax_output", (4, 3))]  # what it is given
    assert list(made.data_names) == ["data"]
    assert list(made.output_names) == ["softmax_output"]
    made.bind([DATA], [LABEL])
    assert (list(made.data_names), list(made.output_names)) == (["data"], ["softmax_output"])
    assert shapes(made.data_shapes) == [DATA]
    assert shapes(made.label_shapes) == [LABEL]
    assert shapes(made.output_shapes) == outputs
    assert made.binded and made.for_training and not made.inputs_need_grad


@pytest.mark.parametrize("what", ["data_shapes", "label_shapes", "output_shapes"])
@pytest.mark.parametrize("kind", ["Module", "Bucketing", "Sequential"])
def test_shapes_before_bind_are_refused(kind, what):
    with pytest.raises(CynetError, match=f"{what}.*bind"):
        getattr(KINDS[kind](logging), what)


def test_a_second_bind_is_ignored_or_forced(made, caplog):
    made.bind([DATA], [LABEL])
    with caplog.at_level(logging.WARNING):
        made.bind([("data", (7, 3))], [("softmax_label", (7,))])
    assert [each.getMessage() for each in caplog.records] == ["Already bound, ignoring bind()"]
    assert shapes(made.data_shapes) == [DATA]
    made.init_params(mx.init.One())
    caplog.clear()
    made.bind([("data", (7, 3))], [("softmax_label", (7,))], force_rebind=True)
    assert not caplog.records
    assert shapes(made.data_shapes) == [("data", (7, 3))]
    if not isinstance(made, mx.mod.PythonLossModule):  # parameters stay
        made.forward(batch(np.ones((7, 3))), is_train=False)
        weight, bias = (made.get_params()[0][name] for name in ("fc_weight", "fc_bias"))
        assert (weight.asnumpy() == 1).all() and weight.shape == (2, 3) and bias.shape == (2,)
        np.testing.assert_array_equal(made.get_outputs()[0].asnumpy(), np.full((7, 2), 0.5))


@pytest.mark.parametrize("kind", ["Module", "Bucketing", "Sequential"])
def test_gradients_of_the_data(kind, rng):
    """Those of softmax and its loss: (p - one_hot) @ weight."""
    made = KINDS[kind](logging)
    made.bind([DATA], [LABEL], inputs_need_grad=True)
    made.init_params(mx.init.Uniform(1))
    assert made.inputs_need_grad
    data, label = rng.standard_normal((4, 3)), rng.integers(0, 2, 4)
    made.forward_backward(batch(data, label))
    weight, bias = (made.get_params()[0][f"fc_{name}"].asnumpy() for name in ("weight", "bias"))
    scores = np.exp(data @ weight.T + bias)
    error = scores / scores.sum(1, keepdims=True) - np.eye(2)[label]
    [found] = made.get_input_grads()
    np.testing.assert_allclose(found.asnumpy(), error @ weight, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["Module", "Bucketing", "Sequential"])
def test_gradients_of_the_data_that_were_not_asked_for(kind):
    made = KINDS[kind](logging)
    made.bind([DATA], [LABEL])
    made.init_params()
    made.forward_backward(batch(np.ones((4, 3)), np.zeros(4)))
    with pytest.raises(ArgumentError, match="inputs_need_grad"):
        made.get_input_grads()


@pytest.mark.parametrize("kind", [mx.mod.Module, mx.mod.BucketingModule])
def test_states(kind):
    if kind is mx.mod.Module:
        made = kind(with_state(), state_names=["state"])
    else:
        made = kind(
            lambda key: (with_state(), ("data",), ("softmax_label",)), 3, state_names=["state"]
        )
    for method in (made.get_states, made.set_states):
        with pytest.raises(CynetError, match=f"{method.__name__}.*bind"):
            method()
    made.bind([DATA], [LABEL])
    made.init_params(mx.init.Zero())
    assert [each.shape for each in made.get_states()] == [(4, 2)]
    made.set_states(value=3)
    assert (made.get_states()[0].asnumpy() == 3).all()
    given = np.arange(8.0).reshape(4, 2)
    made.set_states([mx.nd.array(given)])
    made.forward(batch(np.ones((4, 3))), is_train=False)
    np.testing.assert_array_equal(made.get_outputs()[1].asnumpy(), given)
    assert sorted(made.get_params()[0]) == ["fc_bias", "fc_weight"]


def test_a_module_without_states():
    made = of_python(logging)
    with pytest.raises(CynetError, match="get_states: call bind first"):
        made.get_states()
    made.bind([DATA], [LABEL])
    made.init_params()
    assert made.get_states() == []
    made.set_states()
    for given in ({"value": 1}, {"states": [mx.nd.ones(1)]}):
        with pytest.raises(ArgumentError, match="has no states"):
            made.set_states(**given)


@pytest.mark.parametrize("kind", ["Module", "Bucketing", "Sequential"])
def test_a_monitor(kind):
    made = KINDS[kind](logging)
    made.bind([DATA], [LABEL])
    made.init_params()
    monitor = mx.mon.Monitor(1, pattern=".*output")
    made.install_monitor(monitor)
    monitor.tic()
    made.forward(batch(np.ones((4, 3))), is_train=False)
    assert {name for _, name, _ in monitor.toc()} >= {"fc_output", "softmax_output"}


@pytest.mark.parametrize("kind", ["Module", "Bucketing"])
def test_gradients_are_clipped_together(kind):
    """To a norm of 1 over all of them; the norm before is given."""
    made = KINDS[kind](logging)
    made.bind([DATA], [LABEL])
    made.init_params(mx.init.Zero())
    made.init_optimizer(optimizer_params={"learning_rate": 1.0, "rescale_grad": 1.0})
    made.forward_backward(batch(np.full((4, 3), 2), np.zeros(4)))
    # each score's error is -+0.5 in 4 rows: weight -+4, bias -+2
    norm = np.sqrt(6 * 16 + 2 * 4)
    assert made.clip_gradients(1.0).asscalar() == pytest.approx(norm, rel=1e-6)
    made.update()
    params, _ = made.get_params()
    np.testing.assert_allclose(params["fc_bias"].asnumpy(), [2 / norm, -2 / norm], rtol=1e-5)
    np.testing.assert_allclose(
        params["fc_weight"].asnumpy(), np.outer([4 / norm, -4 / norm], np.ones(3)), rtol=1e-5
    )


def test_a_loss_in_python():
    made = mx.mod.PythonLossModule(grad_func=lambda scores, labels: scores.asnumpy() - 1)
    made.bind([DATA], [LABEL], inputs_need_grad=True)
    made.init_params()
    with pytest.raises(CynetError, match="call forward first"):
        made.get_outputs()
    with pytest.raises(ArgumentError, match="training needs the label"):
        made.forward(batch(np.ones((4, 3))), is_train=True)
    made.forward(batch(np.full((4, 3), 3), np.zeros(4)), is_train=True)
    with pytest.raises(ArgumentError, match="expected out_grads=None"):
        made.backward([mx.nd.ones((4, 3))])
    made.backward()
    assert (made.get_input_grads()[0].asnumpy() == 2).all()
    with pytest.raises(ArgumentError, match="must not be sliced"):
        made.update_metric(mx.metric.create("mse"), [mx.nd.zeros((4, 3))], pre_sliced=True)
    unlabelled = mx.mod.PythonLossModule(grad_func=None)
    unlabelled.bind([DATA], None, for_training=False)
    metric = mx.metric.create("mse")
    unlabelled.update_metric(metric, [])  # it has no labels
    assert metric.num_inst == 0
    with pytest.raises(ArgumentError, match="for_training=False"):
        unlabelled.backward()
