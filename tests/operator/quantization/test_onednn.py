"""Layers of 8 bits by oneDNN (CYNET_INT8=onednn) beside the integer model in NumPy: of values whose
sums of pairs stay within 16 bits, so that processors without VNNI compute them exactly, too."""

from dataclasses import replace

import numpy as np
import pytest
from cynet.kernels.conv.onednn import available
from cynet.operator.quantization.int8_layer import Int8Layer, OnednnInt8Layer
from numpy.lib.stride_tricks import sliding_window_view

import cynet as mx
from tests.operator.cases.case import Case, Input, ints
from tests.operator.runner import ADD, Run
from tests.quantized import one, reach, rounded, steps, unit

pytestmark = pytest.mark.skipif(not available(), reason="the wheel of oneDNN is not installed")

# channels, filters, groups, size, kernel, stride, pad, dilate
LAYERS = {
    "3x3": (20, 24, 1, (9, 7), (3, 3), (1, 1), (1, 1), (1, 1)),
    "1x1": (32, 40, 1, (6, 5), (1, 1), (1, 1), (0, 0), (1, 1)),
    "strided": (16, 7, 1, (9, 9), (3, 3), (2, 2), (1, 1), (1, 1)),
    "few channels": (3, 16, 1, (12, 12), (5, 5), (2, 2), (2, 2), (1, 1)),
    "depthwise": (24, 24, 24, (8, 8), (3, 3), (1, 1), (1, 1), (1, 1)),
    "groups": (16, 32, 2, (6, 6), (3, 3), (1, 1), (1, 1), (1, 1)),
    "dilated": (16, 16, 1, (9, 9), (3, 3), (1, 1), (2, 2), (2, 2)),
    "a line": (16, 8, 1, (11,), (3,), (1,), (1,), (1,)),
    "a volume": (16, 8, 1, (4, 5, 6), (3, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1)),
    "dense": (50, 30, 1, (), (), (), (), ()),
}
RANGES = {"uint8": (0.0, 6.0), "int8": (-4.0, 5.0)}


def layer(x, weight, scale, bias, low, high, *residual, **params):
    spatial, groups = weight.ndim - 2, params.get("num_group", 1)
    if not spatial:
        sums = x.astype(np.int64) @ weight.T.astype(np.int64)
    else:
        axes, kernel = tuple(range(2, x.ndim)), weight.shape[2:]
        wide = [d * (k - 1) + 1 for d, k in zip(params["dilate"], kernel)]
        padded = np.pad(x.astype(np.int64), [(0, 0)] * 2 + [(p, p) for p in params["pad"]])
        windows = sliding_window_view(padded, wide, axes)
        windows = windows[(..., *(slice(None, None, d) for d in params["dilate"]))]
        windows = windows[
            (..., *(slice(None, None, s) for s in params["stride"]), *(slice(None),) * spatial)
        ]
        parts = [
            np.tensordot(w, k.astype(np.int64), [[1, *range(-spatial, 0)], range(1, k.ndim)])
            for w, k in zip(np.split(windows, groups, 1), np.split(weight, groups))
        ]
        sums = np.moveaxis(np.concatenate(parts, -1), -1, 1)
    filters = (-1, *(1,) * spatial)
    values = sums * unit(x, low, high, True) * scale.astype("d").reshape(filters)
    values = values + bias.astype("d").reshape(filters)
    if residual:
        more, *ends = residual
        values = values + more.astype("d") * (
            unit(more, *ends, True) if more.dtype != np.float32 else 1
        )
    values = np.clip(values, params.get("a_min", -np.inf), params.get("a_max", np.inf))
    if params["out_type"] == "float32":
        return values
    low, high = params["min_calib_range"], params["max_calib_range"]
    dtype, r = params["out_type"], reach(low, high)
    made = rounded(values * (steps(dtype, True) / r), dtype) if r else np.zeros(values.shape, dtype)
    return (made, one(low), one(high)) if dtype == "uint8" else (made, one(-r), one(r))


def case_of(name, data, out, residual="", **bounds):
    channels, filters, groups, size, kernel, stride, pad, dilate = LAYERS[name]
    params = {"out_type": out, **bounds}
    if out != "float32":
        params["min_calib_range"], params["max_calib_range"] = RANGES[out]
    if kernel:
        params |= {"kernel": kernel, "num_filter": filters, "stride": stride, "pad": pad}
        params |= {"dilate": dilate, "num_group": groups}
    else:
        params["num_hidden"] = filters
    values = ints(0, 200) if data == "uint8" else ints(-100, 100)

    def small(rng, shape):
        return 2 * rng.integers(-30, 31, shape)

    inputs = [
        Input((2, channels, *size), values, data),
        Input((filters, channels // groups, *kernel), small, "int8"),
        Input((filters,), (0.001, 0.003), "float32"),
        Input((filters,), (-1.0, 1.0), "float32"),
        Input((1,), one(-0.5 if data == "int8" else 0.0), "float32"),
        Input((1,), one(2.0), "float32"),
    ]
    if residual:
        shape = [
            (n + 2 * p - d * (k - 1) - 1) // s + 1
            for n, k, s, p, d in zip(size, kernel, stride, pad, dilate)
        ]
        own = {"uint8": ints(0, 256), "int8": ints(-128, 128), "float32": (-2.0, 2.0)}[residual]
        inputs += [
            Input((2, filters, *shape), own, residual),
            Input((1,), one(-1.0), "float32"),
            Input((1,), one(3.0), "float32"),
        ]
        params["with_residual"] = True
    op = "_int8_convolution" if kernel else "_int8_fully_connected"
    return Case(op, inputs, layer, params, grad=False, dtypes=("float32",))


@pytest.fixture
def by_onednn(monkeypatch):
    monkeypatch.setenv("CYNET_INT8", "onednn")


def check(case, kind=OnednnInt8Layer):
    """Integers may be off by one where a half is rounded: factors are multiplied in another order,
    in float32."""
    run = Run(case, "float32")
    assert type(run.op) is kind
    found, _ = run.forward()
    wanted, _ = run.expected()
    assert np.any(wanted[0])
    if found[0].dtype == np.float32:
        np.testing.assert_allclose(found[0], wanted[0], rtol=1e-5, atol=1e-5)
    else:
        off = np.abs(found[0].astype(int) - wanted[0])
        assert off.max() <= 1 and np.mean(off > 0) < 0.01
    for mine, other in zip(found[1:], wanted[1:]):
        np.testing.assert_array_equal(mine, other)
    return run, found


@pytest.mark.parametrize("out", ["uint8", "int8", "float32"])
@pytest.mark.parametrize("data", ["uint8", "int8"])
@pytest.mark.parametrize("name", LAYERS)
def test_layers(by_onednn, name, data, out):
    check(case_of(name, data, out))


@pytest.mark.parametrize("bounds", [{"a_min": 0.0}, {"a_min": 0.0, "a_max": 1.5}, {"a_max": 0.5}])
@pytest.mark.parametrize("out", ["uint8", "int8", "float32"])
def test_bounds(by_onednn, out, bounds):
    check(case_of("3x3", "uint8", out, **bounds))


@pytest.mark.parametrize("out", ["uint8", "int8", "float32"])
@pytest.mark.parametrize("residual", ["uint8", "int8", "float32"])
@pytest.mark.parametrize("name", ["3x3", "depthwise", "dense"])
def test_sums(by_onednn, name, residual, out):
    check(case_of(name, "uint8", out, residual))
    check(case_of(name, "int8", out, residual, a_min=0.0))


def test_sums_with_other_bounds_are_the_portable_loops(by_onednn):
    check(case_of("3x3", "uint8", "uint8", "int8", a_min=0.0, a_max=2.0), Int8Layer)
    check(case_of("3x3", "uint8", "uint8", "float32", a_min=0.0, a_max=2.0))


def test_added_to(by_onednn):
    run, plain = check(case_of("1x1", "uint8", "float32"))
    start = [np.full(a.shape, 3.0) for a in plain]
    found, _ = run.forward(ADD, run.outputs(start))
    np.testing.assert_allclose(found[0], plain[0] + 3, rtol=1e-6)


def test_the_setting(monkeypatch):
    case = case_of("3x3", "uint8", "uint8")
    monkeypatch.setenv("CYNET_INT8", "portable")
    check(case, Int8Layer)
    monkeypatch.setenv("CYNET_INT8", "auto")
    monkeypatch.setattr("cynet.kernels.conv.onednn_int8.takes_int8", lambda: False)
    check(case, Int8Layer)
    monkeypatch.setenv("CYNET_INT8", "onednn")
    monkeypatch.setenv("CYNET_KERNELS", "portable")
    check(case, Int8Layer)


def test_ranges_of_zero(by_onednn):
    """An output that can stand for 0 alone is 0; a residual of the range 0 adds nothing."""
    case = case_of("3x3", "uint8", "uint8")
    zero = replace(case, params={**case.params, "max_calib_range": 0.0})
    found, _ = Run(zero, "float32").forward()
    assert not found[0].any()
    case = case_of("3x3", "uint8", "float32", "uint8")
    inputs = [*case.inputs[:7], *[Input((1,), one(0.0), "float32")] * 2]
    check(replace(case, inputs=inputs))


@pytest.mark.parametrize("thread_count", [1, 2])
def test_a_network(monkeypatch, rng, thread_count):
    """Channels-last, of packed weights, at two batch sizes: as the portable loops give it. One
    large weight a filter keeps sums of pairs small."""
    data = mx.sym.Variable("data")
    net = mx.sym.Convolution(data, kernel=(3, 3), pad=(1, 1), num_filter=16, name="a")
    net = kept = mx.sym.Activation(net, act_type="relu")
    net = mx.sym.Convolution(net, kernel=(3, 3), pad=(1, 1), num_filter=16, name="b")
    net = mx.sym.Activation(net + kept, act_type="relu")
    net = mx.sym.FullyConnected(net, num_hidden=5, name="c")
    shapes = dict(zip(net.list_arguments(), net.infer_shape(data=(4, 3, 8, 8))[0]))
    shapes.pop("data")
    params = {name: rng.normal(scale=0.01, size=s) for name, s in shapes.items()}
    for value in params.values():
        rows = value.reshape(len(value), -1)
        rows[np.arange(len(rows)), rng.integers(0, rows.shape[1], len(rows))] = 0.4
    params = {name: mx.nd.array(value) for name, value in params.items()}
    x = mx.nd.array(rng.uniform(0, 1, (4, 3, 8, 8)))
    symbol, given, _ = mx.contrib.quantization.quantize_model(
        net, params, {}, calib_mode="naive", calib_data=[x], quantized_dtype="auto"
    )
    before, found = mx.set_num_threads(thread_count), {}
    try:
        for setting in ("portable", "onednn"):
            monkeypatch.setenv("CYNET_INT8", setting)
            for n in (4, 2):
                bound = symbol.bind(mx.cpu(), {"data": x[:n], **given})
                found[setting, n] = [bound.forward()[0].asnumpy() for _ in range(2)]
    finally:
        mx.set_num_threads(before)
    for n in (4, 2):
        for mine, wanted in zip(found["onednn", n], found["portable", n]):
            np.testing.assert_allclose(mine, wanted, atol=0.02 * np.abs(wanted).max())
