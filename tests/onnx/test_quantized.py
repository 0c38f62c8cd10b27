"""Quantized networks as ONNX files: onnxruntime computes what cynet does; what cannot be said."""

import numpy as np
import pytest
from cynet.errors import UndefinedError

import cynet as mx
from cynet.contrib import quantization

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")


def images():
    """Layers of all kinds with what stays in 8 bits between them."""
    data = mx.sym.var("data")
    net = mx.sym.Convolution(data, kernel=(3, 3), pad=(1, 1), num_filter=16, name="a")
    net = kept = mx.sym.Activation(net, act_type="relu")
    net = mx.sym.Convolution(net, kernel=(3, 3), pad=(1, 1), num_filter=16, no_bias=True, name="b")
    net = mx.sym.BatchNorm(net, fix_gamma=False, name="norm")
    net = mx.sym.Activation(net + kept, act_type="relu")
    other = mx.sym.Convolution(net, kernel=(1, 1), num_filter=8, name="c")
    net = mx.sym.Concat(mx.sym.clip(other, 0, 2), net, dim=1)
    net = mx.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="avg")
    net = mx.sym.Convolution(net, kernel=(3, 3), num_filter=8, num_group=8, name="d")
    net = mx.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="max")
    net = mx.sym.FullyConnected(mx.sym.Flatten(net), num_hidden=6, name="e")
    return mx.sym.FullyConnected(net, num_hidden=5, name="f"), (2, 3, 12, 12)


def rows():
    """FullyConnected along the last axis, with a term that is added."""
    data = mx.sym.var("data")
    net = mx.sym.FullyConnected(data, num_hidden=8, flatten=False, name="a")
    other = mx.sym.FullyConnected(data, num_hidden=8, flatten=False, no_bias=True, name="b")
    net = mx.sym.clip(other + net, -0.5, 0.5)
    return mx.sym.FullyConnected(net, num_hidden=3, flatten=False, name="c"), (2, 5, 7)


def quantized(make, rng, dtype="auto", mode="naive", spare=False):
    """(symbol, parameters, data) of a network with random weights; with `spare` two products of
    data and weights fit into 16 bits, which a runtime without VNNI has for them."""
    net, shape = make()
    x = rng.uniform(-0.5, 1, shape).astype("float32")
    shapes, _, states = net.infer_shape(data=shape)
    args = dict(zip(net.list_arguments(), shapes))
    del args["data"]
    args = {name: rng.normal(scale=0.2, size=s) for name, s in args.items()}
    for value in args.values() if spare else ():
        if value.ndim > 1:  # 127 steps for one weight of a channel, at most 42 for the others
            flat = np.clip(value, -0.4, 0.4, out=value).reshape(len(value), -1)
            flat[:, 0] = 1.2
    args = {name: mx.nd.array(value) for name, value in args.items()}
    aux = {
        name: mx.nd.array(rng.uniform(0.5, 1, s))
        for name, s in zip(net.list_auxiliary_states(), states)
    }
    found, args, aux = quantization.quantize_model(
        net,
        args,
        aux,
        calib_mode=mode,
        calib_data=[mx.nd.array(x * (1 + spare))],
        quantized_dtype=dtype,
        quantize_granularity="channel-wise",
    )
    return found, {**args, **aux}, x


def lost(found, wanted):
    return np.sqrt(np.square(found - wanted).mean() / np.square(wanted).mean())


def predict(symbol, params, x):
    values = {name: params[name] for name in symbol.list_arguments() if name != "data"}
    aux = {name: params[name] for name in symbol.list_auxiliary_states()}
    bound = symbol.bind(mx.cpu(), {"data": mx.nd.array(x), **values}, aux_states=aux)
    return bound.forward()[0].asnumpy()


@pytest.mark.parametrize("joined", [False, True])  # the runtime's layers of integers
@pytest.mark.parametrize("dtype", ["auto", "int8"])
@pytest.mark.parametrize("make", [images, rows])
def test_values(make, dtype, joined, rng, tmp_path):
    """But for integers that rounding puts a step aside, of which one network in twenty has many."""
    options, found = runtime.SessionOptions(), []
    if not joined:
        options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    for _ in range(5):
        symbol, params, x = quantized(make, rng, dtype, spare=joined)
        path = mx.onnx.export_model(symbol, params, [x.shape], onnx_file_path=tmp_path / "q.onnx")
        kinds = [node.op_type for node in onnx.load(path).graph.node]
        assert kinds.count("QuantizeLinear") >= 3 < kinds.count("DequantizeLinear")
        session = runtime.InferenceSession(path, options)
        found.append(lost(session.run(None, {"data": x})[0], predict(symbol, params, x)))
    assert np.median(found) < 0.05, found


def test_weights_stay_integers(rng, tmp_path):
    symbol, params, x = quantized(images, rng)
    path = mx.onnx.export_model(symbol, params, [x.shape], onnx_file_path=tmp_path / "q.onnx")
    kinds = {each.name: each.data_type for each in onnx.load(path).graph.initializer}
    weights = [name for name in params if name.endswith("_weight_quantize")]
    assert len(weights) == 6 and {kinds[name] for name in weights} == {onnx.TensorProto.INT8}


def test_ranges_of_each_run_are_refused(rng, tmp_path):
    symbol, params, x = quantized(images, rng, mode="none")
    with pytest.raises(UndefinedError, match="calibrate the network"):
        mx.onnx.export_model(symbol, params, [x.shape], onnx_file_path=tmp_path / "q.onnx")


def test_what_was_exported_is_read(rng, tmp_path):
    symbol, params, x = quantized(images, rng)
    path = mx.onnx.export_model(symbol, params, [x.shape], onnx_file_path=tmp_path / "q.onnx")
    read, args, aux = mx.onnx.import_model(path)
    wanted = predict(symbol, params, x)
    assert lost(predict(read, {**args, **aux}, x), wanted) < 0.03


def test_a_predictor_takes_a_quantized_network(rng, tmp_path):
    symbol, params, x = quantized(images, rng)
    wanted = predict(symbol, params, x)
    prefix = str(tmp_path / "net")
    args = {name: value for name, value in params.items() if name in symbol.list_arguments()}
    aux = {name: value for name, value in params.items() if name not in args}
    mx.model.save_checkpoint(prefix, 1, symbol, args, aux)
    with mx.Predictor(prefix, epoch=1, shapes={"data": (3, 12, 12)}) as predictor:
        np.testing.assert_array_equal(predictor(x), wanted)
