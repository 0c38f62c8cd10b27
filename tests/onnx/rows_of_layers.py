"""Layers, products and windows: rows of the walk over importers."""

from itertools import product

import numpy as np

from tests.onnx.import_row import IMAGES, K, M, Row, one, rng, whole
from tests.onnx.test_import_values import IMAGE, SEQUENCE, T3, B, R, W, f, i


def layers():
    for n, kernel in ((1, (3,)), (2, (3, 2)), (3, (2, 3, 2))):
        image = IMAGES[n]
        weight, bias = rng(6, 4, *kernel), rng(6)
        pairs = {"pads": list(range(2 * n)), "strides": [2, 1, 3][:n], "dilations": [1, 2, 1][:n]}
        for names in ((), ("pads",), ("strides",), ("dilations",), tuple(pairs)):
            more = {name: pairs[name] for name in names}
            yield Row("Conv", image, K(weight), K(bias), has="Convolution", **more)
            yield Row("Conv", image, K(weight), **more)
        yield Row("Conv", image, K(rng(6, 2, *kernel)), K(bias), group=2, kernel_shape=kernel)
        turned = rng(4, 3, *kernel)
        more = {"strides": [2, 3, 2][:n], "pads": [1, 0, 1][:n] * 2}
        yield Row("ConvTranspose", image, K(turned))
        yield Row("ConvTranspose", image, K(turned), K(rng(3)), **more)
        yield Row("ConvTranspose", image, K(turned), output_padding=[1, 2, 1][:n], **more)
        yield Row("ConvTranspose", image, K(rng(4, 3, *kernel)), K(bias), group=2)
    two, weight = IMAGES[2], K(rng(4, 3, 3, 2))
    for more in ({"auto_pad": "SAME_UPPER"}, {"auto_pad": "SAME_LOWER"}, {"auto_pad": "NOTSET"}):
        for stride in ([3, 2], [1, 1], [2, 2]):
            if more["auto_pad"] != "NOTSET":
                yield Row("ConvTranspose", two, weight, strides=stride, **more)
            size = [7 * stride[0], 8 * stride[1]]
            for each in (size, [v - (v > 8) for v in size]):
                yield Row("ConvTranspose", two, weight, strides=stride, output_shape=each, **more)
    yield Row("ConvTranspose", two, weight, pads=[1, 0, 0, 1], strides=[2, 2], dilations=[1, 2])
    yield Row(
        "ConvTranspose", two, weight, pads=[1, 0, 0, 1], strides=[3, 3], output_padding=[2, 1]
    )
    yield Row("ConvTranspose", two, weight, auto_pad="VALID", strides=[2, 2])
    norm = [K(rng(4, low=0.5, seed=s)) for s in range(4)]
    for more in ({}, {"epsilon": 0.1}, {"momentum": 0.5}):
        yield Row("BatchNormalization", two, *norm, has="BatchNorm", **more)
        yield Row(
            "InstanceNormalization",
            two,
            *norm[:2],
            **{k: v for k, v in more.items() if k == "epsilon"},
        )
    scale = [v.value[:, None, None] for v in norm]
    wanted = (two - scale[2]) / np.sqrt(scale[3] + 1e-5) * scale[0] + scale[1]
    yield Row(
        "BatchNormalization",
        two,
        *norm,
        opset=1,
        consumed_inputs=[0] * 5,
        is_test=1,
        epsilon=1e-5,
        want=[wanted],
    )
    mean, var = two.mean((2, 3), keepdims=True), two.var((2, 3), keepdims=True)
    wanted = (two - mean) / np.sqrt(var + 1e-5) * scale[0] + scale[1]
    yield Row(
        "InstanceNormalization", two, *norm[:2], opset=1, consumed_inputs=[0] * 3, want=[wanted]
    )
    for axis, shape in (
        (None, (4,)),
        (-1, (4,)),
        (2, (4,)),
        (1, (3, 4)),
        (-2, (3, 4)),
        (1, (4,)),
        (0, (2, 3, 4)),
        (-2, (3, 1)),
    ):
        more = {"opset": 17} if axis is None else {"axis": axis, "opset": 17}
        for inputs in ((K(rng(*shape)),), (K(rng(*shape)), K(rng(*shape, seed=1))), (rng(*shape),)):
            yield Row("LayerNormalization", T3, *inputs, **more)
        yield Row("LayerNormalization", T3, K(rng(*shape)), epsilon=0.1, **more)
        yield Row("LayerNormalization", T3, K(rng(*shape)), outputs=3, **more)
    half = T3.astype("float16")
    yield Row("LayerNormalization", half, K(rng(4, dtype="float16")), opset=17, rtol=5e-3)
    for x in (half, T3.astype("float64")):
        yield Row("LayerNormalization", x, K(rng(3, 4, dtype=x.dtype)), axis=1, opset=17, rtol=5e-3)
    yield Row("LRN", IMAGE * 3, size=3)
    yield Row("LRN", IMAGE * 3, size=1, alpha=0.5, beta=0.2, bias=2.0)


def dense():
    a, b = rng(3, 4), rng(4, 5, seed=1)
    for left, right, alpha, beta in (
        (0, 0, 1, 1),
        (1, 0, 1, 1),
        (0, 1, 1, 1),
        (1, 1, 0.5, 1),
        (0, 1, 1, 2.0),
        (0, 0, 2.0, 0.5),
    ):
        x, y = (a.T.copy() if left else a), (b.T.copy() if right else b)
        told = {"transA": left, "transB": right, "alpha": float(alpha), "beta": float(beta)}
        usual = {"transA": 0, "transB": 0, "alpha": 1.0, "beta": 1.0}
        told = {k: v for k, v in told.items() if v != usual[k]}
        yield Row("Gemm", x, K(y), has="FullyConnected", **told)
        yield Row("Gemm", x, y, has="dot", **told)
        for shape in ((5,), (1, 5), (1,), (), (1, 1), (3, 1), (3, 5)):
            c = rng(*shape, seed=2) if shape else np.array(0.7, "float32")
            vector = np.size(c) in (1, 5) and shape != (3, 1) and shape != (3, 5)
            yield Row("Gemm", x, K(y), K(c), has="FullyConnected" if vector else "dot", **told)
            if beta != 1 or not told:
                yield Row("Gemm", x, K(y), c, **told)
                yield Row("Gemm", x, y, c, **told)
    yield Row(
        "Gemm", a, K(b), K(1, 2, 3, 4, 5), opset=6, broadcast=1, want=[a @ b + f(1, 2, 3, 4, 5)]
    )
    yield Row("Gemm", a.astype("f8"), K(b.astype("f8")), K(f(1, 2, 3, 4, 5).astype("f8")), beta=0.5)
    yield Row("Gemm", a, K(b), K(rng(3, 5)), alpha=0.5, beta=2.0)
    for word, opset in product(("Softmax", "LogSoftmax"), (11, 13)):
        for x in (T3, M, f(1, 2, 3), rng(2, 3, 4, 5)):
            for axis in (None, *range(x.ndim), -1):
                if not (x.ndim == 1 and axis is None and opset == 11):
                    yield Row(word, x, opset=opset, **({} if axis is None else {"axis": axis}))
    yield Row("Softmax", T3, has="softmax")
    for ratio in (None, one(0.3), one(0.0), np.array(0.3, "float32")):
        for more in ((), (one(False, "bool"),)):
            yield Row("Dropout", T3, ratio, *more)
            yield Row("Dropout", T3, ratio, *more, outputs=2)
    yield Row("Dropout", T3, one(1.0), outputs=2, want=[T3, T3 == T3])
    yield Row("Dropout", T3, seed=3, has="Dropout")
    yield Row("Dropout", T3, opset=10, ratio=0.3, has="Dropout")
    yield Row("Dropout", T3, opset=6, ratio=0.3, is_test=1, want=[T3], has="Dropout")
    yield Row("Dropout", T3, opset=1, consumed_inputs=[0], want=[T3], has="Dropout")
    x, y = rng(2, 3, 4), rng(2, 4, 5, seed=1)
    for a, b in (
        (x[0, 0], y[0, :, 0]),
        (x[0, 0], y[0]),
        (x[0], y[0, :, 0]),
        (x[0], y[0]),
        (x, y),
        (x, y[0]),
        (x, y[0, :, 0]),
        (x[0], y),
        (x[0, 0], y),
        (x[:1], y),
        (x, y[:1]),
        (x[None], y),
        (x, y[None]),
        (x[:, None], y[None]),
        (x[:1, None], y[:, None]),
    ):
        a, b = a.copy(), b.copy()
        yield Row("MatMul", a, b)
        dense = "FullyConnected" if a.ndim > 2 and b.ndim == 2 else ""
        yield Row("MatMul", a, K(b), has=dense)
        yield Row("MatMul", K(a), b)
    yield Row("Det", rng(2, 3, 3))
    for text, *shapes in (
        ("ij->ji", (2, 3)),
        ("ij->i", (2, 3)),
        ("ij->j", (2, 3)),
        ("ij->", (2, 3)),
        ("i->i", (3,)),
        ("ijk->ki", (2, 3, 4)),
        ("ij,jk->ik", (2, 3), (3, 4)),
        ("ij,jk->ki", (2, 3), (3, 4)),
        ("i,i->", (3,), (3,)),
        ("i,j->ij", (3,), (2,)),
        ("ij,kl->", (2, 3), (4, 5)),
        ("ij,ik->", (2, 3), (2, 5)),
        ("ijk,jil->kl", (2, 3, 4), (3, 2, 5)),
        ("ab,ac->abc", (2, 3), (2, 4)),
        ("ab , ac -> cba", (2, 3), (2, 4)),
        ("ij,j->i", (2, 3), (3,)),
        ("ijk,k->ji", (2, 3, 4), (4,)),
    ):
        yield Row("Einsum", *(rng(*s, seed=n) for n, s in enumerate(shapes)), equation=text)


def windows(kernels=((1, (3,)), (2, (3, 2)), (3, (2, 3, 2)))):
    for n, kernel in kernels:
        x = IMAGES[n]
        steps, holes, pads = [2, 1, 2][:n], [2, 3, 1][:n], [1, 0, 1][:n] + [0, 1, 1][:n]
        for kind in ("MaxPool", "AveragePool", "LpPool"):
            last = {"opset": 22} if kind == "LpPool" else {"opset": 19}
            more = {"kernel_shape": kernel, **last}
            yield Row(kind, x, has="Pooling", **more)
            yield Row(kind, x, strides=steps, **more)
            yield Row(kind, x, pads=pads, **more)
            yield Row(kind, x, pads=[1] * 2 * n, has="Pooling", **more)
            yield Row(kind, x, dilations=holes, **more)
            yield Row(kind, x, dilations=holes, strides=[1, 2, 1][:n], pads=pads, **more)
            if kind == "LpPool":
                yield Row(kind, x, p=1, **more)
                yield Row(kind, x, p=3, **more)
                continue
            for more["opset"] in (10, 12, 19, 22):  # below 22 the package counts other windows
                yield Row(kind, x, strides=steps, ceil_mode=1, **more)
                yield Row(kind, x, strides=[3] * n, pads=[1] * 2 * n, ceil_mode=1, **more)
        for counted in (0, 1):
            for each in ([1] * 2 * n, pads):
                yield Row(
                    "AveragePool",
                    x,
                    kernel_shape=kernel,
                    pads=each,
                    strides=steps,
                    count_include_pad=counted,
                    opset=19,
                )
                yield Row(
                    "AveragePool",
                    x,
                    kernel_shape=kernel,
                    pads=each,
                    strides=[3] * n,
                    ceil_mode=1,
                    count_include_pad=counted,
                    opset=22,
                )
        for kind in ("Max", "Average", "Lp"):
            yield Row(f"Global{kind}Pool", x)
        yield Row("GlobalLpPool", x, p=1)
    x = IMAGES[2]
    for dtype in ("uint8", "int8"):
        yield Row(
            "MaxPool",
            whole(1, 2, 7, 8, low=0, high=100, dtype=dtype),
            kernel_shape=[3, 2],
            pads=[1, 0, 1, 0],
            storage_order=0,
        )
    for how, counted in product(("SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"), (0, 1)):
        for steps in ([2, 3], [3, 2]):
            more = {"kernel_shape": [3, 2], "strides": steps, "auto_pad": how}
            yield Row("AveragePool", x, count_include_pad=counted, **more)
            yield Row("MaxPool" if counted else "LpPool", x, **more)
            yield Row("Conv", x, K(rng(2, 4, 3, 2)), **more)
    for kernel, pads in (([4, 4], [3, 3, 3, 3]), ([2, 2], [1, 1, 1, 1]), ([4, 5], [3, 4, 2, 1])):
        for counted, steps, ceil in product((0, 1), ([1, 1], [2, 3]), (0, 1)):
            yield Row(
                "AveragePool",
                x,
                kernel_shape=kernel,
                pads=pads,
                strides=steps,
                count_include_pad=counted,
                ceil_mode=ceil,
                opset=22,
            )
            if not counted:
                yield Row(
                    "MaxPool",
                    x,
                    kernel_shape=kernel,
                    pads=pads,
                    strides=steps,
                    ceil_mode=ceil,
                    opset=22,
                )
    # as many windows with pads on both sides, or with none: the operator's own pads do
    for kind, length in product(("MaxPool", "AveragePool"), (7, 8, 9)):
        for pads, ceil in (([1, 1, 0, 0], 0), ([0] * 4, 1), ([1] * 4, 1), ([0, 0, 1, 1], 0)):
            same = {
                (1, 1, 0, 0): (length + 2 - 3) // 2 == (length + 1 - 3) // 2,
                (0, 0, 1, 1): False,
                (0,) * 4: (length - 3) % 2 == 0,
                (1,) * 4: (length + 2 - 3) % 2 == 0,
            }[tuple(pads)]
            yield Row(
                kind,
                rng(1, 2, length, length),
                kernel_shape=[3, 3],
                strides=[2, 2],
                pads=pads,
                ceil_mode=ceil,
                opset=22,
                lacks="Pad" * same,
            )


GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def recurrent():
    hidden, batch = 4, SEQUENCE.shape[1]
    for kind, direction in product(GATES, ("forward", "reverse", "bidirectional", None)):
        d, rows = 2 if direction == "bidirectional" else 1, hidden * GATES[kind]
        weights = [K(W[:d, :rows].copy()), K(R[:d, :rows].copy())]
        bias = K(np.concatenate([B[:d, :rows], B[:d, 16 : 16 + rows]], axis=1))
        more = {} if direction is None else {"direction": direction}
        more |= {"linear_before_reset": 1} if kind == "GRU" else {}
        told = {"hidden_size": hidden, "outputs": 3 if kind == "LSTM" else 2, **more}
        states = [rng(d, batch, hidden, seed=s) for s in range(2 if kind == "LSTM" else 1)]
        yield Row(kind, SEQUENCE, *weights, has="RNN", **told)
        yield Row(kind, SEQUENCE, *weights, bias, None, *states, **told)
        yield Row(kind, SEQUENCE, *weights, bias, None, *map(K, states), **told)
        usual = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"], "RNN": ["Tanh"]}
        yield Row(kind, SEQUENCE, *weights, activations=usual[kind] * d, **told)
        if kind == "RNN":
            yield Row(kind, SEQUENCE, *weights, activations=["Relu"] * d, **told)
        if kind == "LSTM":
            yield Row(kind, SEQUENCE, *weights, bias, None, None, states[1], **told)
            yield Row(kind, SEQUENCE, *weights, bias, None, states[0], **told)


def sampling():
    rois = f(0, 0, 4, 4, 1, 2, 5, 6, -3, -2, 20, 30).reshape(3, 4)
    index = i(0, 0, 0)
    for opset in (10, 16):
        ways = (None, "half_pixel", "output_half_pixel") if opset == 16 else (None,)
        for how in ways:
            told = {} if how is None else {"coordinate_transformation_mode": how}
            for more in (
                {},
                {"output_height": 2, "output_width": 3},
                {"sampling_ratio": 3},
                {"sampling_ratio": 0},
                {"spatial_scale": 0.5, "output_height": 2},
            ):
                for inputs in ((K(rois), K(index)), (rois, index)):
                    yield Row("RoiAlign", IMAGE, *inputs, opset=opset, **told, **more)
