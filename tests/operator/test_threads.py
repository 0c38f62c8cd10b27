"""No number of threads changes a bit of an operator's outputs and gradients: networks of one
operator each, large enough that their loops are shared out."""

import zlib

import numpy as np
import pytest

import cynet as mx
from cynet.kernels.parallel import get_num_threads, set_num_threads
from cynet.symbol import Variable as var
from tests.long_runs import STRESS

S = mx.sym
DTYPES = ["float32", "float64", "float16", "bfloat16"] if STRESS else ["float32", "float64"]
X = var("data")


def images(layout, batch, channels, size):
    return (batch, channels, size, size) if layout == "NCHW" else (batch, size, size, channels)


def networks():
    """{name: (symbol, shapes)}."""
    out = {}

    def add(name, net, **shapes):
        out[name] = net, shapes

    for m, k, n in [
        (2048, 512, 64),
        (8, 65536, 8),
        (2, 100000, 3),
        (30000, 7, 5),
        (100, 3000, 500),
        (1, 50000, 1),
        (3, 90000, 16),
        (256, 300, 1000),
    ]:
        size = f"{m}x{k}x{n}"
        add(f"FullyConnected {size}", S.FullyConnected(X, num_hidden=n, name="f"), data=(m, k))
        for a in (False, True):
            for b in (False, True):
                add(
                    f"dot {size} {'ta' * a}{'tb' * b}",
                    S.dot(X, var("b"), transpose_a=a, transpose_b=b),
                    data=(k, m) if a else (m, k),
                    b=(n, k) if b else (k, n),
                )
    add("batch_dot", S.batch_dot(X, var("b")), data=(3, 200, 3000), b=(3, 3000, 70))
    add("gemm2", S.linalg.gemm2(X, var("b")), data=(2, 300, 5000), b=(2, 5000, 30))
    add("syrk", S.linalg.syrk(X), data=(200, 5000))
    convolutions = {  # batch, channels, size, filters, kernel, stride, pad, groups
        "3x3": (8, 32, 32, 64, 3, 1, 1, 1),
        "7x7": (4, 3, 64, 64, 7, 2, 3, 1),
        "1x1": (8, 128, 14, 256, 1, 1, 0, 1),
        "1x1 strided": (8, 64, 28, 128, 1, 2, 0, 1),
        "by channel": (8, 64, 28, 64, 3, 1, 1, 64),
        "groups": (8, 64, 28, 64, 3, 1, 1, 4),
        "5x5": (32, 20, 16, 50, 5, 1, 0, 1),
        "one image": (1, 64, 40, 64, 3, 1, 1, 1),
        "sparse": (1, 12, 33, 12, 5, 3, 2, 1),
        "sparse, many": (1, 64, 33, 64, 5, 3, 2, 1),
        "sparse, groups": (3, 208, 20, 62, 5, 3, 0, 2),
        "few a group": (1, 40, 24, 6, 5, 1, 0, 2),
        "deep": (4, 256, 7, 256, 3, 1, 1, 1),
        "odd": (5, 24, 31, 40, 3, 1, 0, 1),
    }
    for layout in ("NCHW", "NHWC"):
        for name, (n, c, h, f, k, s, p, g) in convolutions.items():
            window = {"kernel": (k, k), "stride": (s, s), "pad": (p, p), "num_filter": f}
            for kind in (S.Convolution, S.Deconvolution):
                if kind is S.Convolution or g == 1:
                    net = kind(X, num_group=g, layout=layout, name="c", **window)
                    add(f"{kind.__name__} {name} {layout}", net, data=images(layout, n, c, h))
        data = images(layout, 16, 64, 28)
        axis = layout.index("C")
        add(f"BatchNorm {layout}", S.BatchNorm(X, axis=axis, fix_gamma=False), data=data)
        for kind in ("max", "avg", "sum", "lp"):
            for whole in (False, True):
                net = S.Pooling(
                    X,
                    kernel=(3, 3),
                    stride=(2, 2),
                    pool_type=kind,
                    layout=layout,
                    global_pool=whole,
                    p_value=2,
                )
                add(f"Pooling {kind} {whole} {layout}", net, data=data)
    add("Convolution 1d", S.Convolution(X, kernel=(5,), num_filter=64), data=(16, 32, 300))
    net = S.Convolution(X, kernel=(3, 3, 3), num_filter=16)
    add("Convolution 3d", net, data=(4, 16, 9, 16, 16))
    for shape in [(3000, 100), (5, 90000)]:
        add(f"LayerNorm {shape}", S.LayerNorm(X), data=shape)
    some = (16, 64, 24, 24)
    add("GroupNorm", S.GroupNorm(X, num_groups=4), data=some)
    add("InstanceNorm", S.InstanceNorm(X), data=some)
    add("LRN", S.LRN(X, nsize=5), data=some)
    add("L2Normalization", S.L2Normalization(X), data=(300, 1000))
    add("prelu", S.LeakyReLU(X, act_type="prelu"), data=some)
    add("gelu", S.LeakyReLU(X, act_type="gelu"), data=(1000, 300))
    for axis in (-1, 0, 1):
        for kind in (S.softmax, S.log_softmax):
            add(f"{kind.__name__} {axis}", kind(X, axis=axis), data=(500, 100, 5))
    layer = S.FullyConnected(X, num_hidden=1000, name="f")
    add("SoftmaxOutput", S.SoftmaxOutput(layer, name="softmax"), data=(256, 500))
    for kind in (S.sum, S.mean, S.prod, S.max, S.min, S.nansum):
        name = kind.__name__
        for axis in [(0,), (1,), (0, 2), (2,)]:
            add(f"{name} {axis}", kind(X, axis=axis), data=(70, 200, 50))
        for shape, more in [
            ((300007,), {}),
            ((50, 90, 70), {}),
            ((100000, 7), {"axis": 0}),
            ((5, 90000), {"axis": 1}),
        ]:
            add(f"{name} {shape}", kind(X, **more), data=shape)
    for order in (1, 2):
        add(f"norm {order}", S.norm(X, ord=order, axis=0), data=(3000, 100))
        add(f"norm {order} of all", S.norm(X, ord=order), data=(3000, 100))
    for b in [(1, 64), (10000, 1), (1, 1)]:
        add(f"broadcast_add {b}", S.broadcast_add(X, var("b")), data=(10000, 64), b=b)
        add(f"broadcast_mul {b}", S.broadcast_mul(X, var("b")), data=(10000, 64), b=b)
    add("UpSampling", S.UpSampling(X, scale=2, sample_type="nearest"), data=(8, 32, 20, 20))
    net = S.contrib.BilinearResize2D(X, height=50, width=40)
    add("BilinearResize2D", net, data=(8, 16, 30, 30))
    add("AdaptiveAvgPooling2D", S.contrib.AdaptiveAvgPooling2D(X, output_size=7), data=some)
    add("BilinearSampler", S.BilinearSampler(X, var("g")), data=(8, 16, 30, 30), g=(8, 2, 30, 30))
    add(
        "Correlation",
        S.Correlation(X, var("b"), kernel_size=1, max_displacement=4, pad_size=4),
        data=(2, 16, 30, 30),
        b=(2, 16, 30, 30),
    )
    net = S.contrib.DeformableConvolution(X, var("o"), kernel=(3, 3), pad=(1, 1), num_filter=32)
    add("DeformableConvolution", net, data=(4, 32, 20, 20), o=(4, 18, 20, 20))
    for mode in ("lstm", "gru", "rnn_tanh", "rnn_relu"):
        for both in (False, True):
            states = [var("p"), var("s")] + [var("c")] * (mode == "lstm")
            net = S.RNN(X, *states, state_size=96, num_layers=2, mode=mode, bidirectional=both)
            add(f"RNN {mode} {both}", net, data=(12, 64, 48))
    net = S.contrib.interleaved_matmul_selfatt_qk(X, heads=8)
    add("interleaved_matmul_selfatt_qk", net, data=(64, 16, 3 * 256))
    return out


NETWORKS = networks()


@pytest.fixture(autouse=True)
def threads():
    before = get_num_threads()
    yield
    set_num_threads(before)


def computed(net, shapes, dtype, number):
    """{name: bytes} of all outputs and gradients."""
    set_num_threads(number, beyond_cores=True)
    types = dict.fromkeys(net.list_arguments(), dtype)
    executor = net.simple_bind(mx.cpu(), type_dict=types, **shapes)
    for name, array in executor.arg_dict.items():
        rng = np.random.default_rng(zlib.crc32(name.encode()))
        is_label = name.endswith("label")
        values = rng.integers(0, 9, array.shape) if is_label else rng.uniform(-1, 1, array.shape)
        array[:] = values
    outputs = executor.forward(is_train=True)
    rng = np.random.default_rng(3)
    executor.backward([mx.nd.array(rng.uniform(-1, 1, o.shape), dtype=dtype) for o in outputs])
    found = {f"output {i}": each for i, each in enumerate(outputs)}
    found.update((name, each) for name, each in executor.grad_dict.items() if each is not None)
    wide = "float32" if dtype == "bfloat16" else dtype
    return {name: each.astype(wide).asnumpy().tobytes() for name, each in found.items()}


@pytest.mark.parametrize(
    "name, dtype",
    [
        (name, dtype)
        for name in NETWORKS
        for dtype in DTYPES
        if "float16" not in dtype or not name.startswith(("BatchNorm", "gemm2", "syrk"))
    ],
)
def test_no_number_of_threads_changes_a_bit(name, dtype):
    net, shapes = NETWORKS[name]
    first = computed(net, shapes, dtype, 1)
    assert len(first) > 1
    for number in (2, 3, 16) if STRESS else (3,):
        other = computed(net, shapes, dtype, number)
        assert [each for each in first if other[each] != first[each]] == []


@pytest.mark.parametrize("algorithm", ["im2col", "direct", "winograd", "onednn"])
def test_each_way_to_convolve(algorithm, monkeypatch):
    monkeypatch.setenv("CYNET_CONV_ALGORITHM", algorithm)
    for name, (net, shapes) in NETWORKS.items():
        if "onvolution" in name and "Deformable" not in name:
            one, more = (computed(net, shapes, "float32", number) for number in (1, 3))
            assert one == more, name
