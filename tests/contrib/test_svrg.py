"""SVRGModule beside the formula in NumPy, on a linear regression with a padded last batch."""

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentError, ArgumentTypeError, StateError
from cynet.contrib.svrg_optimization import SVRGModule

RATE, BATCH, EPOCHS = 0.1, 8, 5


@pytest.fixture
def problem(rng):
    data = rng.normal(size=(20, 3)).astype("f")
    label = (data @ np.float32([1, -2, 0.5]) + 0.1 * rng.normal(size=20)).astype("f")
    return data, label, rng.normal(size=(1, 3)).astype("f")


def network():
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, no_bias=True, name="fc")
    return mx.sym.LinearRegressionOutput(net, mx.sym.var("lin_label"), name="lin")


def module_of(problem, update_freq, **settings):
    data, label, weight = problem
    batches = mx.io.NDArrayIter(data, label, BATCH, label_name="lin_label")
    module = SVRGModule(network(), label_names=["lin_label"], update_freq=update_freq, **settings)
    module.bind(batches.provide_data, batches.provide_label)
    module.init_params(arg_params={"fc_weight": mx.nd.array(weight)})
    module.init_optimizer(optimizer_params={"learning_rate": RATE})
    return module, batches


def by_formula(problem, update_freq):
    """The weight after EPOCHS epochs; a batch's gradient is the sum over its samples."""
    data, label, weight = (each.astype("d") for each in problem)
    rows = [np.arange(k, k + BATCH) % 20 for k in range(0, 20, BATCH)]  # the last one wraps

    def gradient(w, part):
        return (data[part] @ w.T - label[part, None]).T @ data[part]

    for epoch in range(EPOCHS):
        if epoch % update_freq == 0:
            kept = weight.copy()
            mean = sum(gradient(kept, part) for part in rows) / (20 / BATCH)
        for part in rows:
            corrected = gradient(weight, part) - gradient(kept, part) + mean
            weight = weight - RATE / BATCH * corrected
    return weight


@pytest.mark.parametrize("update_freq", [1, 2])
def test_fit(problem, update_freq):
    module, batches = module_of(problem, update_freq)
    history = module.fit(
        batches, eval_metric="mse", num_epoch=EPOCHS, optimizer_params={"learning_rate": RATE}
    )
    found = module.get_params()[0]["fc_weight"].asnumpy()
    np.testing.assert_allclose(found, by_formula(problem, update_freq), rtol=1e-4, atol=1e-5)
    assert history.metrics["Train-mse"][-1] < history.metrics["Train-mse"][0]


def test_by_hand_on_two_devices(problem):
    module, batches = module_of(problem, 2, context=[mx.cpu(0), mx.cpu(1)])
    with pytest.raises(StateError, match="call update_full_grads before"):
        module.forward_backward(next(batches))
        module.update()
    for epoch in range(EPOCHS):
        if epoch % module.update_freq == 0:
            module.update_full_grads(batches)
        batches.reset()
        for batch in batches:
            module.forward_backward(batch)
            module.update()
    found = module.get_params()[0]["fc_weight"].asnumpy()
    np.testing.assert_allclose(found, by_formula(problem, 2), rtol=1e-4, atol=1e-5)


def test_clipping_sees_the_corrected_gradients(problem):
    module, batches = module_of(problem, 1)
    module.update_full_grads(batches)
    batch = next(batches)
    module.forward_backward(batch)
    plain = module._exec_group.grad_arrays[0][0].asnumpy()
    module.clip_gradients(1e9)
    mean = module._full_grads[0][0].asnumpy()
    np.testing.assert_allclose(module._exec_group.grad_arrays[0][0].asnumpy(), mean, rtol=1e-4)
    assert not np.allclose(plain, mean)  # where the weights are those that were kept
    module.update()


def test_refusals(problem):
    for wrong, error in ((None, ArgumentTypeError), ("2", ArgumentTypeError), (0, ArgumentError)):
        with pytest.raises(error, match="update_freq must be"):
            SVRGModule(network(), label_names=["lin_label"], update_freq=wrong)
    module, _ = module_of(problem, 1)
    with pytest.raises(ArgumentTypeError, match="train_data"):
        module.update_full_grads(problem[0])
