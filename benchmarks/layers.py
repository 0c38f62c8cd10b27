"""Operators of layers, forward and backward on about a million floats."""

import numpy as np
from harness import Row, main, median_time

IMAGES = (64, 16, 32, 32)
MATRIX = (1024, 1024)


def cases(sym):
    """Name to (symbol, shapes of its arguments)."""
    x, y, z, i = (sym.Variable(name) for name in "xyzi")
    half = (64, 8, 32, 32)
    pooling = {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 1)}
    bordered = {"mode": "constant", "pad_width": (0, 0, 0, 0, 1, 1, 1, 1)}
    return {
        "relu": (sym.Activation(x, act_type="relu"), {"x": IMAGES}),
        "tanh": (sym.Activation(x, act_type="tanh"), {"x": IMAGES}),
        "softrelu": (sym.Activation(x, act_type="softrelu"), {"x": IMAGES}),
        "LeakyReLU, elu": (sym.LeakyReLU(x, act_type="elu"), {"x": IMAGES}),
        "LeakyReLU, prelu": (sym.LeakyReLU(x, y, act_type="prelu"), {"x": IMAGES, "y": (16,)}),
        "Dropout": (sym.Dropout(x, p=0.5), {"x": IMAGES}),
        "BatchNorm": (sym.BatchNorm(x, fix_gamma=False), {"x": IMAGES}),
        "InstanceNorm": (sym.InstanceNorm(x, y, z), {"x": IMAGES, "y": (16,), "z": (16,)}),
        "LayerNorm": (sym.LayerNorm(x, y, z), {"x": MATRIX, "y": (1024,), "z": (1024,)}),
        "L2Normalization, instance": (sym.L2Normalization(x), {"x": MATRIX}),
        "L2Normalization, channel": (sym.L2Normalization(x, mode="channel"), {"x": IMAGES}),
        "LRN": (sym.LRN(x, nsize=5), {"x": IMAGES}),
        "Pooling, max": (sym.Pooling(x, pool_type="max", **pooling), {"x": IMAGES}),
        "Pooling, avg": (sym.Pooling(x, pool_type="avg", **pooling), {"x": IMAGES}),
        "UpSampling": (sym.UpSampling(x, scale=2, sample_type="nearest"), {"x": (64, 16, 16, 16)}),
        "softmax": (sym.softmax(x), {"x": MATRIX}),
        "softmax, axis 1 of images": (sym.softmax(x, axis=1), {"x": IMAGES}),
        "log_softmax": (sym.log_softmax(x), {"x": MATRIX}),
        "SoftmaxOutput": (sym.SoftmaxOutput(x, i), {"x": MATRIX, "i": MATRIX[:1]}),
        "SoftmaxOutput of each position": (
            sym.SoftmaxOutput(x, i, multi_output=True),
            {"x": IMAGES, "i": (64, 32, 32)},
        ),
        "LinearRegressionOutput": (sym.LinearRegressionOutput(x, y), {"x": MATRIX, "y": MATRIX}),
        "SVMOutput": (sym.SVMOutput(x, i), {"x": MATRIX, "i": MATRIX[:1]}),
        "Embedding of 64": (
            sym.Embedding(i, y, input_dim=1000, output_dim=64),
            {"i": (16384,), "y": (1000, 64)},
        ),
        "take": (sym.take(x, i), {"x": (4096, 256), "i": (4096,)}),
        "where": (sym.where(z, x, y), {"x": IMAGES, "y": IMAGES, "z": IMAGES}),
        "concat": (sym.concat(x, y, dim=1), {"x": half, "y": half}),
        "SliceChannel, one of four": (sym.SliceChannel(x, num_outputs=4, axis=1)[1], {"x": IMAGES}),
        "Pad": (sym.Pad(x, **bordered), {"x": IMAGES}),
        "transpose 0, 2, 3, 1": (sym.transpose(x, axes=(0, 2, 3, 1)), {"x": IMAGES}),
        "broadcast_mul by channels": (sym.broadcast_mul(x, y), {"x": IMAGES, "y": (1, 16, 1, 1)}),
        "sum of rows": (sym.sum(x, axis=1), {"x": MATRIX}),
        "max of rows": (sym.max(x, axis=1), {"x": MATRIX}),
        "clip": (sym.clip(x, a_min=0.2, a_max=0.8), {"x": IMAGES}),
        "x ** y": (x**y, {"x": IMAGES, "y": IMAGES}),
        "SequenceMask": (
            sym.SequenceMask(x, i, use_sequence_length=True),
            {"x": (64, 64, 256), "i": (64,)},
        ),
    }


def rows(mx):
    """Each operator bound alone, so in row-major order, to the end of both directions."""
    rng = np.random.RandomState(0)
    for name, (symbol, shapes) in cases(mx.sym).items():
        requests = {each: "null" if each in "iz" else "write" for each in shapes}
        executor = symbol.simple_bind(mx.cpu(), grad_req=requests, **shapes)
        for each, array in executor.arg_dict.items():
            low, high = (1, 10) if each == "i" else (0.1, 0.9)
            array[:] = (
                rng.randint(low, high, array.shape)
                if each == "i"
                else rng.uniform(low, high, array.shape)
            )
        heads = [mx.nd.ones(out.shape) for out in executor.outputs]

        def run(executor=executor, heads=heads):
            executor.forward(is_train=True)
            executor.backward(heads)
            mx.nd.waitall()

        yield Row(name, median_time(run))


if __name__ == "__main__":
    main(__doc__, rows)
