"""Thousands of training steps, rebindings and predictions: resident memory stays where it was."""

import pytest

from tests.long_runs import only_in_stress
from tests.steady import ROUNDS, assert_flat, heap_growth

NETWORK = """
def network(hidden=32):
    data = mx.sym.Variable("data")
    net = mx.sym.Activation(mx.sym.FullyConnected(data, num_hidden=hidden, name="a"),
                            act_type="relu")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=10, name="b"),
                                name="softmax")

def batch(n, width=20):
    return mx.io.DataBatch([nd.array(rng.rand(n, width))], [nd.array(rng.randint(0, 10, n))])

def module(n, optimizer="adam"):
    made = mx.mod.Module(network(), context=mx.cpu())
    made.bind([("data", (n, 20))], [("softmax_label", (n,))])
    made.init_params()
    made.init_optimizer(optimizer=optimizer)
    return made
"""

STEPS = """
net, metric = module(32, "sgd"), mx.metric.Accuracy()

def body():
    data = batch(32)
    net.forward_backward(data)
    net.update()
    net.update_metric(metric, data.label)
    if rng.rand() < 0.05:
        metric.get(), metric.reset()
"""

LAST_BATCHES = """
net, metric = module(32), mx.metric.create(["acc", "ce"])

def body():
    data = batch(int(rng.randint(1, 33)) if rng.rand() < 0.2 else 32)
    net.forward_backward(data)
    net.update()
    net.update_metric(metric, data.label)
"""

EPOCHS = """
x, y = rng.rand(70, 20).astype("float32"), rng.randint(0, 10, 70)
data = mx.io.NDArrayIter(x, y, batch_size=16, shuffle=True)
net = mx.mod.Module(network(), context=mx.cpu())
net.fit(data, num_epoch=1)

def body():
    net.fit(data, num_epoch=2, begin_epoch=1)
"""

BUCKETS = """
def generate(length):
    data = mx.sym.Embedding(mx.sym.Variable("data"), input_dim=50, output_dim=8, name="words")
    net = mx.sym.mean(data, axis=1)
    net = mx.sym.FullyConnected(net, num_hidden=5, name="out")
    return mx.sym.SoftmaxOutput(net, name="softmax"), ("data",), ("softmax_label",)

def bucket(length):
    return mx.io.DataBatch(
        [nd.array(rng.randint(0, 50, (8, length)))], [nd.array(rng.randint(0, 5, 8))],
        bucket_key=length, provide_data=[("data", (8, length))],
        provide_label=[("softmax_label", (8,))])

net, metric = mx.mod.BucketingModule(generate, default_bucket_key=50), mx.metric.Accuracy()
net.bind([("data", (8, 50))], [("softmax_label", (8,))])
net.init_params()
net.init_optimizer()

def body():
    data = bucket(5 * int(rng.randint(1, 11)))
    net.forward_backward(data)
    net.update()
    net.update_metric(metric, data.label)
"""

PREDICTIONS = """
scores = network().get_internals()["b_output"]
net = mx.mod.Module(mx.sym.softmax(scores), label_names=None, context=mx.cpu())
net.bind([("data", (16, 20))], for_training=False)
net.init_params()

def body():
    data = mx.io.DataBatch([nd.array(rng.rand(int(rng.randint(1, 65)), 20))])
    net.forward(data, is_train=False)
    net.get_outputs()[0].asnumpy()
"""

RESHAPED = """
net = module(16)

def body():
    n = int(rng.randint(1, 65))
    net.reshape([("data", (n, 20))], [("softmax_label", (n,))])
    net.forward_backward(batch(n))
    net.update()
"""

BOUND = """
symbol = network(64)

def body():
    n, width = dims(1, 64, 2)
    executor = symbol.simple_bind(mx.cpu(), data=(n, width))
    executor.forward(is_train=True)
    executor.backward()
    executor.outputs[0].asnumpy()
"""

COMPOSED = """
def body():  # a new network each time, with names of its own
    net = mx.sym.Variable("data")
    for i in range(3):
        net = mx.sym.FullyConnected(net, num_hidden=int(rng.randint(1, 65)))
        net = mx.sym.Activation(net, act_type="tanh")
    executor = mx.sym.SoftmaxOutput(net).simple_bind(mx.cpu(), data=dims(1, 64, 2))
    executor.forward(is_train=True)
    executor.backward()
    executor.outputs[0].asnumpy()
"""


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "script",
    [
        pytest.param(STEPS, id="steps", marks=only_in_stress),
        pytest.param(LAST_BATCHES, id="last batches"),
        pytest.param(BUCKETS, id="buckets", marks=only_in_stress),
        pytest.param(PREDICTIONS, id="predictions", marks=only_in_stress),
    ],
)
def test_memory_stays_flat_while_training(script):
    assert_flat(NETWORK + script)


BINDING = {"epochs": EPOCHS, "reshaped": RESHAPED, "bound": BOUND, "composed": COMPOSED}


@pytest.mark.timeout(1800)
@only_in_stress
@pytest.mark.parametrize("name", BINDING)
def test_memory_stays_flat_while_binding(name):
    assert_flat(NETWORK + BINDING[name], rounds=ROUNDS)


ONCE = """
def once():
    body()
    return nd.ones(1)

measure(once)
"""


@pytest.mark.parametrize("name", ["epochs", "reshaped", "composed", "buckets"])
def test_nothing_is_left_of_a_round(name):
    """Of the same numbers, again and again: the C library's heap is what it was, to the byte."""
    script = {**BINDING, "buckets": BUCKETS}[name]
    assert heap_growth(NETWORK + script + ONCE)["once"] < 8


NEW_NAMES = """
def bound():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4)
    net = mx.sym.FullyConnected(mx.sym.Activation(net, act_type="tanh"), num_hidden=4)
    executor = net.simple_bind(mx.cpu(), data=(2, 3))
    executor.forward()
    return executor.outputs[0]

measure(bound)
"""


def test_names_of_a_plan_go_with_it():
    """Each network has names that no earlier one had."""
    assert heap_growth(NEW_NAMES)["bound"] < 8
