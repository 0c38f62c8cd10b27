"""Training and kernels on a GPU, beside PyTorch on the same GPU; needs a GPU and says so without.

Run as ``python benchmarks/gpu.py``, with ``--torch PYTHON`` for an interpreter that has PyTorch
with CUDA. Each row is a ratio of one run: the other's time / cynet's, above 1 where cynet is
faster, and what it should be. Rows of ``own kernels / cuDNN`` compare the two settings of
CYNET_CUDA_KERNELS: below 1, cynet's own kernels are what should run. What an H200 gave stands in
benchmarks/README.md.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import cynet as mx

BATCH = 128
EXAMPLES = Path(__file__).parent.parent / "examples"
sys.path[:0] = [str(EXAMPLES / n) for n in ("image_classification", "cuda_kernel", "custom_op")]


def median(function, synchronize, repeat=30, warm_up=10):
    """Seconds of one call when calls follow each other: the median over `repeat` groups of ten."""
    for _ in range(warm_up):
        function()
    synchronize()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        for _ in range(10):
            function()
        synchronize()
        times.append((time.perf_counter() - start) / 10)
    return float(np.median(times))


# --- networks: layers that both frameworks have ---------------------------------------------------
def lenet():
    """MXNet's LeNet, as examples/image_classification has it."""
    x = mx.sym.Variable("data")
    for i, filters in enumerate((20, 50)):
        x = mx.sym.Convolution(x, kernel=(5, 5), num_filter=filters, name=f"conv{i}")
        x = mx.sym.Activation(x, act_type="tanh")
        x = mx.sym.Pooling(x, pool_type="max", kernel=(2, 2), stride=(2, 2))
    x = mx.sym.FullyConnected(mx.sym.Flatten(x), num_hidden=500, name="fc0")
    x = mx.sym.FullyConnected(mx.sym.Activation(x, act_type="tanh"), num_hidden=10, name="fc1")
    return mx.sym.SoftmaxOutput(x, name="softmax")


def mlp(softmax):
    """784-128-64-10, whose loss is an operator of the user's, of scores and labels."""
    x = mx.sym.Variable("data")
    for i, hidden in enumerate((128, 64)):
        x = mx.sym.FullyConnected(x, num_hidden=hidden, name=f"fc{i}")
        x = mx.sym.Activation(x, act_type="relu")
    x = mx.sym.FullyConnected(x, num_hidden=10, name="fc2")
    return softmax()(data=x, name="softmax")


TORCH = """
import json, sys, time
import torch, torch.nn as nn
kind, half = sys.argv[1], sys.argv[2] == "float16"
torch.backends.cudnn.benchmark = True
if kind == "lenet":
    net = nn.Sequential(nn.Conv2d(1, 20, 5), nn.Tanh(), nn.MaxPool2d(2), nn.Conv2d(20, 50, 5),
        nn.Tanh(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(800, 500), nn.Tanh(),
        nn.Linear(500, 10)).cuda()
    x, y = torch.randn(128, 1, 28, 28).cuda(), torch.randint(0, 10, (128,)).cuda()
else:
    import torchvision
    net = torchvision.models.resnet50().cuda()
    x, y = torch.randn(64, 3, 224, 224).cuda(), torch.randint(0, 1000, (64,)).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
loss = nn.CrossEntropyLoss()
def step():
    optimizer.zero_grad(set_to_none=False)
    with torch.autocast("cuda", torch.float16, enabled=half, cache_enabled=False):
        found = loss(net(x), y)
    found.backward()
    optimizer.step()
def measure(function):
    for _ in range(10): function()
    torch.cuda.synchronize()
    times = []
    for _ in range(30):
        start = time.perf_counter()
        for _ in range(10): function()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - start) / 10)
    return sorted(times)[15]
times = {"eager": measure(step)}
side = torch.cuda.Stream()
with torch.cuda.stream(side):
    for _ in range(3): step()
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph): step()
times["graph"] = measure(graph.replay)
print(json.dumps(times))
"""


def torch_times(python, kind, dtype="float32"):
    """PyTorch's seconds of one training step, by mode; an empty dict without an interpreter."""
    if python is None:
        return {}
    done = subprocess.run(
        [python, "-c", TORCH, kind, dtype],
        capture_output=True, text=True, check=False, timeout=900,
    )  # fmt: skip
    if done.returncode:
        print(f"  PyTorch ({kind}, {dtype}) failed: {done.stderr.strip().splitlines()[-1]}")
        return {}
    return json.loads(done.stdout.strip().splitlines()[-1])


def training_step(network, ctx, shape, classes):
    """A function that does one training step on one batch; by float32 copies of what is float16."""
    module = mx.mod.Module(network, context=ctx)
    module.bind([("data", shape)], [("softmax_label", shape[:1])])
    module.init_params(mx.init.Xavier())
    options = {"learning_rate": 0.01, "momentum": 0.9, "multi_precision": True}
    module.init_optimizer(optimizer_params=options)
    data = mx.nd.random.normal(shape=shape, ctx=ctx)
    label = mx.nd.array(np.random.randint(0, classes, shape[:1]), ctx=ctx)
    batch = mx.io.DataBatch([data], [label])

    return lambda: module.train_step(batch)


# --- rows -----------------------------------------------------------------------------------------
def copy_bandwidth(ctx, n):
    """Seconds that one copy of n floats on the GPU takes."""
    x, y = mx.nd.zeros((n,), ctx=ctx), mx.nd.zeros((n,), ctx=ctx)
    return median(lambda: x.copyto(y), mx.nd.waitall)


def elementwise(ctx):
    """(name, bytes moved, seconds) of calls on 64 million floats."""
    n = 1 << 26
    x, y = mx.nd.ones((n,), ctx=ctx), mx.nd.ones((n,), ctx=ctx)
    out = mx.nd.zeros((n,), ctx=ctx)
    bandwidth = 8 * n / copy_bandwidth(ctx, n)
    calls = {
        "add": (12, lambda: mx.nd.elemwise_add(x, y, out=out)),
        "exp": (8, lambda: mx.nd.exp(x, out=out)),
        "tanh": (8, lambda: mx.nd.tanh(x, out=out)),
        "relu": (8, lambda: mx.nd.relu(x, out=out)),
    }
    for name, (width, call) in calls.items():
        seconds = median(call, mx.nd.waitall)
        yield f"{name}, of the copy bandwidth", width * n / seconds / bandwidth, 0.9


def softmax_of_kernels(ctx):
    """An MLP's training step with a softmax in NumPy / the same with one of two CUDA kernels."""
    import layers
    import softmax_numpy

    steps = [
        median(training_step(mlp(each.Softmax), ctx, (100, 784), 10), mx.nd.waitall)
        for each in (softmax_numpy, layers)
    ]
    return steps[0] / steps[1]


# What both cuDNN and cynet's own kernels compute: operator, its parameters, the shape of its input.
LAYERS = (
    ("softmax", {}, (128, 10)), ("softmax", {}, (8192, 64)), ("softmax", {}, (128, 1000)),
    ("softmax", {}, (512, 32768)), ("softmax", {"axis": 1}, (8, 21, 256, 256)),
    ("log_softmax", {}, (2048, 1000)),
    ("Pooling", {"kernel": (3, 3), "pad": (1, 1), "pool_type": "avg"}, (16, 64, 56, 56)),
    ("Pooling", {"global_pool": True, "pool_type": "avg"}, (64, 2048, 7, 7)),
)  # fmt: skip


def passes(ctx, name, params, shape, copies):
    """Functions that run forward, and forward and backward, of `copies` of an operator side by
    side, so that calls from Python are few beside what the GPU does."""
    names = [f"x{i}" for i in range(copies)]
    nodes = [getattr(mx.sym, name)(mx.sym.Variable(n), **params) for n in names]
    args = {n: mx.nd.random.normal(shape=shape, ctx=ctx) for n in names}
    grads = {n: mx.nd.zeros(shape, ctx=ctx) for n in names}
    executor = mx.sym.Group(nodes).bind(ctx, args, grads)
    executor.forward(is_train=False)  # the setting is read when operators are made
    heads = [mx.nd.ones_like(out) for out in executor.forward(is_train=True)]

    def both():
        executor.forward(is_train=True)
        executor.backward(heads)

    return {"forward": lambda: executor.forward(is_train=False), "forward and backward": both}


def kernels_beside_cudnn(ctx, layers=LAYERS, copies=8):
    """(name, seconds of cynet's own kernels / of cuDNN, which is what runs by default)."""
    for name, params, shape in layers:
        times = []
        for setting in ("softmax,pooling", ""):
            with mx.config.environment("CYNET_CUDA_KERNELS", setting):
                functions = passes(ctx, name, params, shape, copies)
            times.append([median(f, mx.nd.waitall) for f in functions.values()])
        for what, own, library in zip(functions, *times):
            size = " x ".join(map(str, shape))
            kind = params["pool_type"] + " " if name == "Pooling" else ""
            yield f"{kind}{name}, {size}, {what}: own kernels / cuDNN", own / library


def rows(ctx, python):
    """(name, ratio, aim) of every row."""
    yield "MLP, batch 100, NumPy's softmax / kernels", softmax_of_kernels(ctx), 2
    yield from elementwise(ctx)
    for name, ratio in kernels_beside_cudnn(ctx):
        yield name, ratio, 1
    with mx.config.environment("CYNET_CUDNN_AUTOTUNE", "1"):  # as PyTorch's cudnn.benchmark
        step = median(training_step(lenet(), ctx, (BATCH, 1, 28, 28), 10), mx.nd.waitall)
    theirs = torch_times(python, "lenet")
    for mode, aim in (("eager", 2), ("graph", 1)):
        if mode in theirs:
            yield f"LeNet, batch {BATCH}, PyTorch {mode}", theirs[mode] / step, aim
    from symbols import resnet

    for dtype in ("float32", "float16"):
        network = resnet.get_symbol(1000, 50, (3, 224, 224), dtype=dtype)
        with mx.config.environment("CYNET_CUDNN_AUTOTUNE", "1"):
            step = median(training_step(network, ctx, (64, 3, 224, 224), 1000), mx.nd.waitall, 5)
        theirs = torch_times(python, "resnet50", dtype)
        for mode in theirs:
            yield f"ResNet-50, batch 64, {dtype}, PyTorch {mode}", theirs[mode] / step, 0.95


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--torch", help="an interpreter that has PyTorch with CUDA")
    args = parser.parse_args()
    if not mx.context.num_gpus():
        try:
            mx.context.gpu_memory_info(0)
        except mx.CynetError as error:
            raise SystemExit(f"no GPU: {error}") from None
    for name, ratio, aim in rows(mx.gpu(0), args.torch):
        print(f"{name:<76} {ratio:6.2f}  (aim {aim})")


if __name__ == "__main__":
    main()
