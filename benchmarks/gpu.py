"""Training and kernels on a GPU, beside PyTorch on the same GPU; needs a GPU and says so without.

Run as ``python benchmarks/gpu.py``, with ``--torch PYTHON`` for an interpreter that has PyTorch
with CUDA; ``gpu.py networks lstm bert:float16`` measures some parts and networks only. Each row is
a ratio of one run: the other's time / cynet's, above 1 where cynet is faster, and what it should
be. What an H200 and an H100 gave stands in benchmarks/README.md.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import traceback
from pathlib import Path

import numpy as np

import cynet as mx

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import gpu_networks  # noqa: E402

EXAMPLES = HERE.parent / "examples"
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


# --- networks ------------------------------------------------------------------------------------
def mlp(softmax):
    """784-128-64-10, whose loss is an operator of the user's, of scores and labels."""
    x = mx.sym.Variable("data")
    for i, hidden in enumerate((128, 64)):
        x = mx.sym.FullyConnected(x, num_hidden=hidden, name=f"fc{i}")
        x = mx.sym.Activation(x, act_type="relu")
    x = mx.sym.FullyConnected(x, num_hidden=10, name="fc2")
    return softmax()(data=x, name="softmax")


def torch_times(python, kind, dtype, repeat):
    """PyTorch's seconds of one training step, by mode; an empty dict without an interpreter."""
    if python is None:
        return {}
    inputs = json.dumps([*gpu_networks.INPUTS[kind], repeat])
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}  # the interpreter's own NumPy
    done = subprocess.run(
        [python, str(HERE / "gpu_torch.py"), kind, dtype, inputs],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env=env,
    )
    lines = done.stderr.strip().splitlines()
    if lines:
        print(f"  PyTorch ({kind}, {dtype}): {lines[-1]}", flush=True)
    return json.loads(done.stdout.strip().splitlines()[-1]) if done.returncode == 0 else {}


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


def gluon_step(network, ctx, shape, classes):
    """The same by a hybridized Block, which ends in the loss, and a Trainer."""
    inputs = [mx.sym.Variable("data"), mx.sym.Variable("softmax_label")]
    block = mx.gluon.SymbolBlock(network, inputs)
    block.initialize(ctx=ctx)
    block.hybridize(static_alloc=True, static_shape=True)
    options = {"learning_rate": 0.01, "momentum": 0.9}
    trainer = mx.gluon.Trainer(block.collect_params(), "sgd", options)
    data = mx.nd.random.normal(shape=shape, ctx=ctx)
    label = mx.nd.array(np.random.randint(0, classes, shape[:1]), ctx=ctx)

    def step():
        with mx.autograd.record():
            scores = block(data, label)
        scores.backward()
        trainer.step(shape[0])

    return step


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


# A training step of each network in each dtype: how many groups of ten are measured, and the aims
# beside PyTorch eager and beside its CUDA graph.
STEPS = {
    ("lenet", "float32"): (30, 2, 1),
    ("lstm", "float32"): (10, 1, 1),
    ("lstm", "float16"): (10, 1, 1),
    ("bert", "float32"): (10, 1, 1),
    ("bert", "float16"): (10, 1, 1),
    ("bert", "bfloat16"): (10, 1, 1),
    ("mobilenet2", "float32"): (5, 1, 1),
    ("mobilenet2", "float16"): (5, 1, 1),
    ("resnet50", "float32"): (5, 1, 1),
    ("resnet50", "float16"): (5, 1, 1),
    ("resnet50", "bfloat16"): (5, 1, 1),
}


def networks(ctx, python, names):
    """(name, ratio, aim) of training steps beside PyTorch's, those of `names` or all."""
    for (kind, dtype), (repeat, *aims) in STEPS.items():
        if names and not {kind, f"{kind}:{dtype}"} & set(names):
            continue
        shape, classes = gpu_networks.INPUTS[kind]
        with mx.config.environment("CYNET_CUDNN_AUTOTUNE", "1"):  # like PyTorch's cudnn.benchmark
            symbol = gpu_networks.network(kind, dtype, shape)
            step = training_step(symbol, ctx, shape, classes)
            seconds = median(step, mx.nd.waitall, repeat)
        del step  # the memory of the step is PyTorch's
        mx.nd.waitall()
        mx.storage.empty_cache(ctx)
        name = f"{kind}, {' x '.join(map(str, shape))}, {dtype}: {1e3 * seconds:.3f} ms"
        theirs = torch_times(python, kind, dtype, repeat)
        if not theirs:
            yield name, float("nan"), aims[1]
        for mode, aim in zip(("eager", "graph"), aims):
            if mode in theirs:
                yield f"{name}, PyTorch {mode}", theirs[mode] / seconds, aim


def gluon(ctx):
    """(name, ratio, aim) of training steps: one graph by a Module / three by a Trainer."""
    for kind in ("lenet", "resnet50"):
        shape, classes = gpu_networks.INPUTS[kind]
        symbol = gpu_networks.network(kind, "float32", shape)
        one, three = (
            median(way(symbol, ctx, shape, classes), mx.nd.waitall, 10)
            for way in (training_step, gluon_step)
        )
        yield f"{kind}, {1e3 * three:.3f} ms by Gluon, Module", one / three, 0.95


def kernels(ctx):
    """(name, ratio, aim) of elementwise functions and of kernels that a user writes."""
    yield from elementwise(ctx)
    yield "MLP, batch 100, NumPy's softmax / kernels", softmax_of_kernels(ctx), 2


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--torch", help="an interpreter that has PyTorch with CUDA")
    parser.add_argument("parts", nargs="*", help="networks (all, or by name), gluon, kernels")
    args = parser.parse_args()
    if not mx.context.num_gpus():
        try:
            mx.context.gpu_memory_info(0)
        except mx.CynetError as error:
            raise SystemExit(f"no GPU: {error}") from None
    ctx, names = (
        mx.gpu(0),
        [part for part in args.parts if part.partition(":")[0] in gpu_networks.INPUTS],
    )
    parts = {
        "kernels": lambda: kernels(ctx),
        "networks": lambda: networks(ctx, args.torch, names),
        "gluon": lambda: gluon(ctx),
    }
    failed = False
    for part in [part for part in parts if not args.parts or part in args.parts]:
        try:
            for name, ratio, aim in parts[part]():
                print(f"{name:<76} {ratio:6.2f}  (aim {aim})", flush=True)
        except Exception:  # an error of one part: the other parts are still measured
            traceback.print_exc()
            failed = True
    sys.exit(failed)


if __name__ == "__main__":
    main()
