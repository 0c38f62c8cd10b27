"""What the first call of a new input shape costs: no shape comes twice.

``python benchmarks/new_shapes.py`` prints a table, in CPU milliseconds on one thread, the median
over shapes that nobody has met before; with ``--calls N`` the first N calls of each shape.
``--mxnet PYTHON`` and ``--torch PYTHON`` put MXNet and PyTorch's eager mode beside it,
``--before PYTHON`` another build of cynet; words choose rows. Every row runs in a process of its
own.
"""

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import time

ALONE = {"OMP_NUM_THREADS": "1", "CYNET_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


# --- networks -------------------------------------------------------------------------------------
def six(mx):
    """Six convolutions of 3x3, with BatchNorm and relu."""
    nn = mx.gluon.nn
    net = nn.HybridSequential()
    for _ in range(6):
        net.add(nn.Conv2D(16, 3, padding=1), nn.BatchNorm(), nn.Activation("relu"))
    return net


def cascade(mx, widths, dense):
    """A network of a face detector's pyramid: convolutions with PReLU and pooling, then one of
    1x1, or a dense layer, that classifies."""
    nn = mx.gluon.nn
    net = nn.HybridSequential()
    for number, width in enumerate(widths):
        net.add(nn.Conv2D(width, 3), nn.PReLU())
        if number == 0:
            net.add(nn.MaxPool2D(2, 2))
    net.add(nn.GlobalAvgPool2D(), nn.Dense(dense)) if dense else net.add(nn.Conv2D(2, 1))
    return net


def planned(name):
    """A network of planning.py."""
    from planning import NETWORKS

    return NETWORKS[name]


def symbol_of(mx, net):
    """Its Symbol, with a name of its own for each node."""
    net.initialize(mx.init.Uniform(0.05))
    return net(mx.sym.Variable("data"))


# --- rows: (function of the package that gives a function of a number, how many numbers) ----------
def block(make, shape, hybridize, train=False):
    """A Block called with a new shape."""

    def ready(mx):
        net = make(mx)
        net.initialize(mx.init.Uniform(0.05))
        net(mx.nd.zeros(shape(0))).asnumpy()
        if hybridize:
            net.hybridize()
        trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1e-3})

        def call(data):
            if not train:
                return net(data).asnumpy()
            with mx.autograd.record():
                loss = net(data).sum()
            loss.backward()
            trainer.step(1)
            mx.nd.waitall()

        return call, lambda i: mx.nd.zeros(shape(i))

    return ready


def module(make, shape, train=False):
    """Module.reshape and forward."""

    def ready(mx):
        made = mx.mod.Module(symbol_of(mx, make(mx)), label_names=None)
        made.bind([("data", shape(0))], for_training=train)
        made.init_params(mx.init.Uniform(0.05))

        def call(batch):
            made.reshape([("data", batch.data[0].shape)])
            made.forward(batch, is_train=train)
            made.get_outputs()[0].asnumpy()

        return call, lambda i: mx.io.DataBatch([mx.nd.zeros(shape(i))])

    return ready


def bind(make, shape, train=False):
    """Symbol.bind with a new array of data and one forward."""

    def ready(mx):
        net = symbol_of(mx, make(mx))
        exe = net.simple_bind(mx.cpu(), grad_req="null", data=shape(0))
        grads = {k: v.zeros_like() for k, v in exe.arg_dict.items() if k != "data"}

        def call(data):
            args = {**exe.arg_dict, "data": data}
            new = net.bind(mx.cpu(), args, grads if train else None, aux_states=exe.aux_dict)
            new.forward(is_train=train)[0].asnumpy()

        return call, lambda i: mx.nd.zeros(shape(i))

    return ready


def feed_forward(make, shape):
    """FeedForward.predict of an array of a new shape."""

    def ready(mx):
        net = symbol_of(mx, make(mx))
        exe = net.simple_bind(mx.cpu(), grad_req="null", data=shape(0))
        args = {k: v for k, v in exe.arg_dict.items() if k != "data"}
        model = mx.model.FeedForward(net, mx.cpu(), arg_params=args, aux_params=exe.aux_dict)
        return model.predict, lambda i: mx.nd.zeros(shape(i)).asnumpy()

    return ready


def pyramid(mx):
    """Three small networks, hybridized; a picture in ten sizes for the first of them, then batches
    of as many faces as were found for the others."""
    nets = [cascade(mx, *each) for each in (((10, 16, 32), 0), ((28, 48), 128), ((32, 64), 256))]
    for net, size in zip(nets, (24, 24, 48)):
        net.initialize(mx.init.Uniform(0.05))
        net(mx.nd.zeros((1, 3, size, size))).asnumpy()
        net.hybridize()

    def call(arrays):
        for net, data in arrays:
            net(data).asnumpy()

    def arrays(i):
        sizes = [(int(112 * 0.8**k), int((112 + i) * 0.8**k)) for k in range(10)]
        made = [(nets[0], mx.nd.zeros((1, 3, *size))) for size in sizes]
        faces = [(net, (i + 2, 3, size, size)) for net, size in zip(nets[1:], (24, 48))]
        return made + [(net, mx.nd.zeros(shape)) for net, shape in faces]

    return call, arrays


def six_shape(i):
    return 1, 3, 24, 20 + i


def picture(i):
    return 1, 3, 64 + 2 * (i % 8), 64 + 2 * (i // 8)


def zoo(name):
    """A network of the model zoo."""
    return lambda mx: getattr(mx.gluon.model_zoo.vision, name)(classes=10)


def rows():
    """Name to (function, count of shapes)."""
    bert, bert_shape = planned("small BERT")
    cnn, cnn_shape = planned("60-layer CNN")
    return {
        "six convolutions, not hybridized": (block(six, six_shape, False), 60),
        "six convolutions, hybridized": (block(six, six_shape, True), 60),
        "six convolutions, hybridized training": (block(six, six_shape, True, True), 40),
        "six convolutions, Module.reshape": (module(six, six_shape), 60),
        "six convolutions, Module.reshape training": (module(six, six_shape, True), 40),
        "six convolutions, Symbol.bind": (bind(six, six_shape), 60),
        "six convolutions, Symbol.bind training": (bind(six, six_shape, True), 40),
        "six convolutions, FeedForward.predict": (feed_forward(six, six_shape), 40),
        "pyramid of three networks": (pyramid, 30),
        "small BERT, 200 lengths": (block(bert, bert_shape, True), 200),
        "small BERT, 200 lengths, Module.reshape": (module(bert, bert_shape), 200),
        "60-layer CNN, 200 shapes": (block(cnn, cnn_shape, True), 200),
        "60-layer CNN, 200 shapes, Module.reshape": (module(cnn, cnn_shape), 200),
        "ResNet-50, hybridized": (block(zoo("resnet50_v1"), picture, True), 30),
        "ResNet-50, Module.reshape": (module(zoo("resnet50_v1"), picture), 30),
        "ResNet-101, Module.reshape": (module(zoo("resnet101_v1"), picture), 20),
    }


def torch_rows():
    """The rows that PyTorch's eager mode has."""
    import torch

    torch.set_num_threads(1)

    def layers(before, after, count, *tail):
        made = []
        for _ in range(count):
            made += [torch.nn.Conv2d(before, after, 3, padding=1), torch.nn.BatchNorm2d(after)]
            made.append(torch.nn.ReLU())
            before = after
        return torch.nn.Sequential(*made, *tail).eval()

    def ready(net, shape):
        def call(data):
            with torch.inference_mode():
                net(data).numpy()

        return lambda _: (call, lambda i: torch.zeros(shape(i)))

    _, cnn_shape = planned("60-layer CNN")
    tail = torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(2, 10)
    return {
        "six convolutions, hybridized": (ready(layers(3, 16, 6), six_shape), 60),
        "60-layer CNN, 200 shapes": (ready(layers(2, 2, 60, *tail), cnn_shape), 200),
    }


# --- measuring ------------------------------------------------------------------------------------
def measure(package, name, calls=1):
    """Milliseconds of the first calls of a shape, in this process; None where there is no row."""
    module = importlib.import_module(package)
    found = (torch_rows() if package == "torch" else rows()).get(name)
    if found is None:
        return None
    call, data = found[0](module)
    times = []
    for number in range(found[1]):
        given = data(number)
        if package != "torch":
            module.nd.waitall()
        turns = []
        for _ in range(calls):
            start = time.process_time()
            call(given)
            turns.append(time.process_time() - start)
        times.append(turns)
    return [statistics.median(turns) * 1e3 for turns in zip(*times[len(times) // 5 :])]


def ask(python, package, name, calls):
    """Measure in a process of its own; None where it fails."""
    command = [python, "-W", "ignore", __file__, "--one", package, name, "--calls", str(calls)]
    alone = {**os.environ, **ALONE}
    done = subprocess.run(command, capture_output=True, text=True, env=alone)
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else None


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="parts of names of rows (default: all)")
    parser.add_argument("--before", metavar="PYTHON", help="a Python with another build of cynet")
    parser.add_argument("--mxnet", metavar="PYTHON", help="a Python with MXNet 1.x")
    parser.add_argument("--torch", metavar="PYTHON", help="a Python with PyTorch")
    parser.add_argument("--calls", type=int, default=1, help="of each shape (default: the first)")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(measure(*args.one, args.calls)))
        return
    columns = [("now", sys.executable, "cynet"), ("before", args.before, "cynet")]
    columns += [("MXNet", args.mxnet, "mxnet"), ("PyTorch", args.torch, "torch")]
    columns = [each for each in columns if each[1]]
    print(f"| first call of a shape, ms | {' | '.join(each[0] for each in columns)} |")
    print("|---" * (1 + len(columns)) + "|")
    for name in rows():
        if args.names and not any(part in name for part in args.names):
            continue
        found = [ask(python, package, name, args.calls) for _, python, package in columns]
        cells = [" ".join(f"{turn:.2f}" for turn in each or ()) for each in found]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
