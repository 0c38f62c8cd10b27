"""Networks whose channels are the last axis: the same integers as with channels first."""

import numpy as np
import pytest

import cynet as mx
from cynet.contrib import quantization
from cynet.gluon import nn
from cynet.symbol.node import topological_order


class Block(nn.HybridSequential):
    """A shortcut around two convolutions."""

    def hybrid_forward(self, F, x):
        return F.relu(super().hybrid_forward(F, x) + x)


def network(layout):
    """Layers of all kinds; `layout` of two or of three spatial axes."""
    n, axis = len(layout) - 2, layout.index("C")
    convolution, pool = {2: (nn.Conv2D, nn.MaxPool2D), 3: (nn.Conv3D, nn.MaxPool3D)}[n]
    mean = {2: nn.GlobalAvgPool2D, 3: nn.GlobalAvgPool3D}[n]
    how = {"layout": layout}
    inner = Block()
    inner.add(
        convolution(16, 3, padding=1, groups=16, use_bias=False, **how),
        nn.BatchNorm(axis=axis),
        nn.Activation("relu"),
        convolution(16, 1, **how),
        nn.BatchNorm(axis=axis),
    )
    net = nn.HybridSequential()
    net.add(
        convolution(16, 3, padding=1, **how),
        nn.BatchNorm(axis=axis),
        nn.Activation("relu"),
        inner,
        pool(2, **how),
        convolution(9, 3, strides=2, **how),
        mean(**how),
        nn.Dense(5),
    )
    return net


def turned(value, to_last):
    """An array whose axis 1 is its last from now on, or the other way round."""
    axes = (1, -1) if to_last else (-1, 1)
    return np.ascontiguousarray(np.moveaxis(value, *axes))


@pytest.mark.parametrize("setting", ["auto", "portable"])
@pytest.mark.parametrize("mode", ["naive", "none"])
@pytest.mark.parametrize("layouts", [("NCHW", "NHWC"), ("NCDHW", "NDHWC")])
def test_as_with_channels_first(rng, layouts, mode, setting, monkeypatch, tmp_path):
    monkeypatch.setenv("CYNET_INT8", setting)
    x = rng.uniform(-1, 1, (2, 3, *(11, 9, 7)[: len(layouts[0]) - 2])).astype("float32")
    found, kinds, values = [], [], None
    for layout in layouts:
        net, last = network(layout), layout.endswith("C")
        net.initialize(mx.init.Xavier())
        data = mx.nd.array(turned(x, True) if last else x)
        net(data)
        params = list(net.collect_params().values())
        if values is None:
            values = [rng.uniform(0.2, 1, p.shape) - 0.5 * (len(p.shape) > 1) for p in params]
        for p, value in zip(params, values, strict=True):
            p.set_data(mx.nd.array(turned(value, True) if last and value.ndim > 2 else value))
        small = quantization.quantize_net(net, calib_mode=mode, calib_data=[data])
        small.hybridize()
        found.append(small(data).asnumpy())
        nodes = topological_order(small(mx.sym.var("data")).entries)
        kinds.append([node.op.name for node in nodes if node.op is not None])
        wanted = net(data).asnumpy()
    assert kinds[0] == kinds[1] and kinds[1].count("_int8_convolution") == 4
    np.testing.assert_allclose(found[0], found[1], rtol=1e-4, atol=1e-5)
    assert np.square(found[1] - wanted).mean() < 0.05**2 * np.square(wanted).mean()
    if mode == "none":
        return
    runtime = pytest.importorskip("onnxruntime")
    small.export(str(tmp_path / "net"))
    path = mx.onnx.export_model(
        str(tmp_path / "net-symbol.json"),
        str(tmp_path / "net-0000.params"),
        [data.shape],
        onnx_file_path=str(tmp_path / "net.onnx"),
    )
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    told = runtime.InferenceSession(path, options).run(None, {"data": data.asnumpy()})[0]
    assert np.square(told - found[1]).mean() < 0.02**2 * np.square(told).mean()


def test_mxnets_operator_refuses_it():
    x = mx.nd.zeros((1, 5, 5, 3), dtype="uint8")
    ends = [mx.nd.zeros(1)] * 4
    how = {"kernel": (3, 3), "num_filter": 2, "no_bias": True, "layout": "NHWC"}
    with pytest.raises(mx.errors.ArgumentError, match="quantized_conv: layout 'NHWC'"):
        mx.nd.contrib.quantized_conv(x, mx.nd.zeros((2, 3, 3, 3), dtype="int8"), *ends, **how)
