"""Times one workload through the MXNet 1.x interface: ``worker_mx.py cynet|mxnet WORKLOAD``.

Prints one line of JSON: the median seconds of one step.
"""

import importlib
import json
import sys
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "examples" / "image_classification")]
import networks_gluon  # noqa: E402
import networks_mx as networks  # noqa: E402
from harness import median_time  # noqa: E402


def symbol(mx, file, **options):
    """A network of examples/image_classification/symbols, built with `mx`."""
    sys.modules["cynet"] = mx  # the files import cynet
    return importlib.import_module(f"symbols.{file}").get_symbol(**options)


def formula(mx):
    """Seconds of forward and backward of a formula of twelve functions on a million floats."""
    x = mx.sym.var("x")
    y = mx.sym.sqrt(x * x + 1) * mx.sym.exp(-x * x) + x * mx.sym.sigmoid(x) - mx.sym.tanh(x) * 0.5
    executor = y.simple_bind(mx.cpu(), x=(1_000_000,))
    executor.arg_dict["x"][:] = np.random.RandomState(0).randn(1_000_000)
    ones = mx.nd.ones(1_000_000)

    def run():
        executor.forward(is_train=True)
        executor.backward(ones)
        executor.grad_dict["x"].wait_to_read()

    return median_time(run, repeat=50)


def batch(mx, size, shape, label=(), classes=10):
    """A batch of random images, or of words where `shape` has one number, with labels."""
    rng = np.random.RandomState(0)
    data = rng.randn(size, *shape) if len(shape) > 1 else rng.randint(0, 10000, (size, *shape))
    return mx.io.DataBatch(
        [mx.nd.array(data)], [mx.nd.array(rng.randint(0, classes, (size, *label)))]
    )


def train(mx, net, size, shape, label=(), classes=10):
    """A function that trains `net` by one step of SGD and waits for its end."""
    labels = (
        [("softmax_label", (size, *label))] if "softmax_label" in net.list_arguments() else None
    )
    module = mx.mod.Module(net, label_names=[n for n, _ in labels or ()], context=mx.cpu())
    module.bind([("data", (size, *shape))], labels)
    module.init_params(mx.init.Uniform(0.05))
    module.init_optimizer(optimizer="sgd", optimizer_params={"learning_rate": 0.1})
    data = batch(mx, size, shape, label, classes)

    def step():
        module.forward(data, is_train=True)
        module.backward()
        module.update()
        mx.nd.waitall()

    return step


def predict(mx, net, size):
    """A function that predicts one batch of 224x224 and waits for it."""
    module = mx.mod.Module(net, context=mx.cpu())
    shape = (3, 224, 224)
    module.bind([("data", (size, *shape))], [("softmax_label", (size,))], for_training=False)
    module.init_params(mx.init.Xavier())
    data = batch(mx, size, shape)

    def run():
        module.forward(data, is_train=False)
        module.get_outputs()[0].wait_to_read()

    return run


def fit_epoch(mx):
    """Seconds of one epoch of LeNet with the metric and the callback that a user has."""
    rng = np.random.RandomState(0)
    images = rng.rand(12800, 1, 28, 28).astype("f")
    labels = rng.randint(0, 10, 12800).astype("f")
    data = mx.io.NDArrayIter(images, labels, 128, shuffle=True)
    module = mx.mod.Module(symbol(mx, "lenet"), context=mx.cpu())
    options = {
        "num_epoch": 1,
        "optimizer": "sgd",
        "optimizer_params": {"learning_rate": 0.1},
        "eval_metric": "acc",
    }
    module.fit(data, **options)
    start = time.perf_counter()
    module.fit(data, batch_end_callback=mx.callback.Speedometer(128, 50), **options)
    mx.nd.waitall()
    return time.perf_counter() - start


def lstm(mx):
    """An LSTM written out or as one operator: the faster one counts."""
    nets = [symbol(mx, "lstm")]
    if hasattr(mx.sym, "RNN"):
        nets.append(networks.fused_lstm(mx))
    return min(median_time(train(mx, net, 64, (1, 28, 28)), repeat=20) for net in nets)


def small_add(mx):
    """Seconds of one addition, the wait shared among a thousand."""
    a = mx.nd.ones(10)

    def thousand():
        for _ in range(1000):
            a + a
        mx.nd.waitall()

    return median_time(thousand, repeat=30) / 1000


def large(mx, name):
    """Seconds of a function of ten million floats."""
    a = mx.nd.array(np.random.RandomState(0).randn(10_000_000).astype("f"))
    matrix = a.reshape((10_000, 1000))
    run = {
        "add": lambda: a + a,
        "tanh": lambda: mx.nd.tanh(a),
        "exp": lambda: mx.nd.exp(a),
        "sum": lambda: mx.nd.sum(a),
        "softmax": lambda: mx.nd.softmax(matrix),
    }[name]
    return median_time(lambda: run().wait_to_read())


def measure(mx, name):
    """Seconds of one workload."""
    if name in ("add", "tanh", "exp", "sum", "softmax"):
        return large(mx, name)
    alone = {"fit_epoch": fit_epoch, "lstm": lstm, "small_add": small_add, "formula": formula}
    if name in alone:
        return alone[name](mx)
    if name.startswith("gluon_"):
        kind = name.removeprefix("gluon_")
        make, size, shape, repeat = networks_gluon.NETWORKS[kind.removesuffix("_eager")]
        step = networks_gluon.train(mx, make, size, shape, not kind.endswith("_eager"))
        return median_time(step, repeat=repeat)
    if name.startswith("loader_"):
        workers = 0 if name == "loader_here" else 2
        epoch = networks_gluon.loader(mx, workers, name == "loader_threads")
        return median_time(epoch, repeat=7)
    if name.startswith(("resnet50", "inception_")):
        kind, _, size = name.rpartition("_")
        net = (
            symbol(mx, "resnet", num_classes=1000, num_layers=50, image_shape=(3, 224, 224))
            if kind == "resnet50"
            else symbol(mx, "inception_bn", num_classes=1000)
        )
        return median_time(predict(mx, net, int(size)), repeat=10)
    step, repeat = {
        "mlp": lambda: (train(mx, symbol(mx, "mlp"), 128, (1, 28, 28)), 100),
        "gelu": lambda: (train(mx, networks.gelu_mlp(mx), 128, (1, 28, 28)), 40),
        "lenet": lambda: (train(mx, symbol(mx, "lenet"), 128, (1, 28, 28)), 20),
        "resnet20": lambda: (train(mx, networks.resnet20(mx), 64, (3, 32, 32)), 10),
        "inception64": lambda: (
            train(
                mx,
                symbol(mx, "inception_bn", num_classes=10, image_shape=(3, 64, 64)),
                32,
                (3, 64, 64),
            ),
            7,
        ),
        "resnet18": lambda: (
            train(
                mx,
                symbol(mx, "resnet", num_layers=18, image_shape=(3, 64, 64), version=1),
                32,
                (3, 64, 64),
            ),
            7,
        ),
        "vgg11": lambda: (train(mx, symbol(mx, "vgg", num_classes=10), 64, (3, 32, 32)), 7),
        "alexnet": lambda: (train(mx, symbol(mx, "alexnet", num_classes=10), 8, (3, 224, 224)), 5),
        "densenet": lambda: (train(mx, networks.densenet(mx), 32, (3, 32, 32)), 7),
        "mobilenet": lambda: (train(mx, networks.mobilenet(mx), 16, (3, 64, 64)), 10),
        "mobilenet2": lambda: (train(mx, networks.mobilenet2(mx), 16, (3, 64, 64)), 10),
        "unet": lambda: (train(mx, networks.unet(mx), 4, (3, 64, 64), (64, 64), 4), 10),
        "generator": lambda: (train(mx, networks.generator(mx), 16, (100, 1, 1)), 10),
        "discriminator": lambda: (
            train(mx, networks.discriminator(mx), 16, (3, 64, 64), (1,), 2),
            10,
        ),
        "critic": lambda: (train(mx, networks.critic(mx), 64, (3, 32, 32)), 10),
        "image_autoencoder": lambda: (
            train(mx, networks.image_autoencoder(mx), 32, (3, 64, 64)),
            10,
        ),
        "attention": lambda: (train(mx, networks.attention(mx), 16, (64, 256)), 15),
        "factorization": lambda: (train(mx, networks.factorization(mx), 1024, (2,)), 50),
        "char_cnn": lambda: (train(mx, networks.char_cnn(mx), 32, (70, 256)), 15),
        "text_cnn": lambda: (train(mx, networks.text_cnn(mx), 50, (56,)), 15),
        "norm_mlp": lambda: (train(mx, networks.norm_mlp(mx), 128, (1, 28, 28)), 30),
        "autoencoder": lambda: (train(mx, networks.autoencoder(mx), 128, (1, 28, 28)), 50),
    }[name]()
    return median_time(step, repeat=repeat)


if __name__ == "__main__":
    print(json.dumps(measure(importlib.import_module(sys.argv[1]), sys.argv[2])))
