"""Layers of an ONNX graph as operators of cynet."""

from __future__ import annotations

import numpy as np

from .. import symbol as sym
from .importers import imports
from .recurrent import ORDER

_LAYOUT_1D = 3  # axes of data with one spatial axis


def _padding(node, n):
    """(before, after) of each spatial axis."""
    auto = node.get("auto_pad", "NOTSET")
    if auto not in ("NOTSET", "VALID"):
        node.refuse(f"auto_pad={auto}; only explicit pads are read")
    pads = list(node.get("pads", [0] * 2 * n))
    return pads[:n], pads[n:]


def _padded(data, before, after, value, rank):
    """Data with its spatial axes padded, where both sides differ."""
    width = [0, 0, 0, 0]
    for b, a in zip(before, after):
        width += [b, a]
    if rank == _LAYOUT_1D:  # Pad takes four axes
        wide = sym.expand_dims(data, axis=2)
        wide = sym.pad(wide, mode="constant", constant_value=value,
                       pad_width=(*width[:4], 0, 0, *width[4:]))  # fmt: skip
        return sym.squeeze(wide, axis=2)
    return sym.pad(data, mode="constant", constant_value=value, pad_width=tuple(width))


@imports("Conv")
def conv(reader, node):
    weight = node.constant(1)
    n = weight.ndim - 2
    before, after = _padding(node, n)
    data = node.symbol(0)
    if before != after:
        data, before = _padded(data, before, after, 0.0, n + 2), [0] * n
    return sym.Convolution(
        data,
        *(node.symbol(i) for i in (1, 2) if node.has(i)),
        kernel=weight.shape[2:],
        stride=tuple(node.get("strides", [1] * n)),
        dilate=tuple(node.get("dilations", [1] * n)),
        pad=tuple(before),
        num_filter=weight.shape[0],
        num_group=node.get("group", 1),
        no_bias=not node.has(2),
        name=node.name,
    )


@imports("ConvTranspose")
def conv_transpose(reader, node):
    weight = node.constant(1)
    n = weight.ndim - 2
    before, after = _padding(node, n)
    group = node.get("group", 1)
    adj = node.get("output_padding", [0] * n)
    if node.get("output_shape"):
        node.refuse("output_shape is not read")
    if before != after:
        adj = [a + b - x for a, b, x in zip(adj, before, after)]
        if min(adj) < 0:
            node.refuse(f"pads {before} and {after}")
    return sym.Deconvolution(
        node.symbol(0),
        *(node.symbol(i) for i in (1, 2) if node.has(i)),
        kernel=weight.shape[2:],
        stride=tuple(node.get("strides", [1] * n)),
        dilate=tuple(node.get("dilations", [1] * n)),
        pad=tuple(before),
        adj=tuple(adj),
        num_filter=weight.shape[1] * group,
        num_group=group,
        no_bias=not node.has(2),
        name=node.name,
    )


@imports("MaxPool", "AveragePool", "LpPool")
def pool(reader, node):
    if len([o for o in node.outputs if o]) > 1:
        node.refuse("the indices of maxima are an output")
    kernel = tuple(node.get("kernel_shape"))
    n = len(kernel)
    if any(d != 1 for d in node.get("dilations", [1])):
        node.refuse("dilations")
    before, after = _padding(node, n)
    kind = {"MaxPool": "max", "AveragePool": "avg", "LpPool": "lp"}[node.kind]
    counted = bool(node.get("count_include_pad", 0))
    stride = tuple(node.get("strides", [1] * n))
    data = node.symbol(0)
    more = {"p_value": node.get("p", 2)} if kind == "lp" else {}
    if kind == "avg":
        more["count_include_pad"] = counted
    if before != after:
        if kind == "avg" and not counted:
            return _uneven_average(data, before, after, kernel, stride, n, node.name)
        low = -3.0e38 if kind == "max" else 0.0
        data, before = _padded(data, before, after, low, n + 2), [0] * n
    return sym.Pooling(
        data,
        kernel=kernel,
        stride=stride,
        pad=tuple(before),
        pool_type=kind,
        pooling_convention="full" if node.get("ceil_mode", 0) else "valid",
        name=node.name,
        **more,
    )


def _uneven_average(data, before, after, kernel, stride, n, name):
    """Mean of what lies in each window: sums of the padded data over sums of padded ones."""
    how = {"kernel": kernel, "stride": stride, "pool_type": "sum"}
    total = sym.Pooling(_padded(data, before, after, 0.0, n + 2), **how)
    ones = _padded(sym.ones_like(data), before, after, 0.0, n + 2)
    return sym.broadcast_div(total, sym.Pooling(ones, **how), name=name)


@imports("GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool")
def global_pool(reader, node):
    n = node.axes(0) - 2
    kind = {"Max": "max", "Ave": "avg", "LpP": "lp"}[node.kind[6:9]]
    more = {"p_value": node.get("p", 2)} if kind == "lp" else {}
    return sym.Pooling(
        node.symbol(0), kernel=(1,) * n, global_pool=True, pool_type=kind, name=node.name, **more
    )


@imports("BatchNormalization")
def batch_norm(reader, node):
    if node.get("training_mode", 0):
        node.refuse("training_mode=1")
    return sym.BatchNorm(
        *(node.symbol(i) for i in range(5)),
        eps=node.get("epsilon", 1e-5),
        momentum=node.get("momentum", 0.9),
        fix_gamma=False,
        name=node.name,
    )


@imports("InstanceNormalization")
def instance_norm(reader, node):
    return sym.InstanceNorm(*node.symbols(), eps=node.get("epsilon", 1e-5), name=node.name)


@imports("LayerNormalization")
def layer_norm(reader, node):
    if node.get("axis", -1) not in (-1, node.axes(0) - 1):
        node.refuse("only the last axis is read")
    scale = node.constant(1)
    beta = node.symbol(2) if node.has(2) else reader.parameter(
        f"{node.name}_beta", np.zeros_like(scale)
    )  # fmt: skip
    return sym.LayerNorm(
        node.symbol(0), node.symbol(1), beta, eps=node.get("epsilon", 1e-5), name=node.name
    )


@imports("LRN")
def lrn(reader, node):
    return sym.LRN(
        node.symbol(0),
        alpha=node.get("alpha", 1e-4),
        beta=node.get("beta", 0.75),
        knorm=node.get("bias", 1.0),
        nsize=node.get("size"),
        name=node.name,
    )


@imports("Gemm")
def gemm(reader, node):
    """alpha A B + beta C; a dense layer where B and C are constants."""
    alpha, beta = node.get("alpha", 1.0), node.get("beta", 1.0)
    data = node.symbol(0)
    if node.get("transA", 0):
        data = sym.transpose(data)
    weight = reader.constant(node.inputs[1])
    bias = reader.constant(node.inputs[2]) if node.has(2) else None
    if weight is None or (node.has(2) and (bias is None or bias.ndim > 1)):
        made = sym.dot(data, node.symbol(1), transpose_b=bool(node.get("transB", 0)))
        made = made if alpha == 1 else made * alpha
        if not node.has(2):
            return made
        other = node.symbol(2) if beta == 1 else node.symbol(2) * beta
        return sym.broadcast_add(made, other, name=node.name)
    plain = node.get("transB", 0) and alpha == 1
    values = weight if node.get("transB", 0) else weight.T
    where = (
        node.symbol(1)
        if plain
        else reader.parameter(
            f"{node.name}_weight", np.ascontiguousarray(values * values.dtype.type(alpha))
        )
    )
    inputs = [data, where]
    if bias is not None:
        rows = values.shape[0]
        if beta == 1 and bias.shape == (rows,):
            inputs.append(node.symbol(2))
        else:
            full = np.broadcast_to(bias * bias.dtype.type(beta), (rows,))
            inputs.append(reader.parameter(f"{node.name}_bias", np.ascontiguousarray(full)))
    return sym.FullyConnected(
        *inputs, num_hidden=values.shape[0], no_bias=bias is None, flatten=False, name=node.name
    )


@imports("LeakyRelu", "Elu", "Selu", "PRelu")
def leaky(reader, node):
    data = node.symbol(0)
    if node.kind == "Selu":
        return sym.LeakyReLU(data, act_type="selu", name=node.name)
    if node.kind == "PRelu":
        slope = node.constant(1)
        flat = reader.parameter(f"{node.inputs[1]}_flat", slope.ravel())
        if slope.size not in (1, max(slope.shape, default=1)):
            node.refuse(f"slopes of shape {slope.shape}")
        return sym.LeakyReLU(data, flat, act_type="prelu", name=node.name)
    kind, slope = ("leaky", 0.01) if node.kind == "LeakyRelu" else ("elu", 1.0)
    return sym.LeakyReLU(data, act_type=kind, slope=node.get("alpha", slope), name=node.name)


@imports("Gelu")
def gelu(reader, node):
    if node.get("approximate", "none") != "none":
        node.refuse("approximate='tanh'")
    return sym.LeakyReLU(node.symbol(0), act_type="gelu", name=node.name)


@imports("Softmax", "LogSoftmax")
def softmax(reader, node):
    make = sym.softmax if node.kind == "Softmax" else sym.log_softmax
    if reader.opset >= 13:
        return make(node.symbol(0), axis=node.get("axis", -1), name=node.name)
    axis, rank = node.get("axis", 1), node.axes(0)
    if axis % rank == rank - 1:
        return make(node.symbol(0), axis=-1, name=node.name)
    if axis != 1:
        node.refuse(f"axis={axis} of opset {reader.opset}")
    data = node.symbol(0)
    return sym.reshape_like(make(sym.Flatten(data), axis=1), data, name=node.name)


@imports("Dropout")
def dropout(reader, node):
    if len([o for o in node.outputs if o]) > 1:
        node.refuse("the mask is an output")
    ratio = node.number(1, node.get("ratio", 0.5))
    return sym.Dropout(node.symbol(0), p=ratio, name=node.name)


@imports("LSTM", "GRU", "RNN")
def recurrent(reader, node):
    mode = {"LSTM": "lstm", "GRU": "gru", "RNN": "rnn_tanh"}[node.kind]
    told = [a.decode() if isinstance(a, bytes) else a for a in node.get("activations", [])]
    if mode == "rnn_tanh" and told and told[0] == "Relu":
        mode = "rnn_relu"
    usual = {"lstm": ["Sigmoid", "Tanh", "Tanh"], "gru": ["Sigmoid", "Tanh"],
             "rnn_tanh": ["Tanh"], "rnn_relu": ["Relu"]}[mode]  # fmt: skip
    w, r = node.constant(1), node.constant(2)
    directions, hidden = w.shape[0], r.shape[2]
    if told and told != usual * directions:
        node.refuse(f"activations {told}")
    if mode == "gru" and not node.get("linear_before_reset", 0):
        node.refuse("linear_before_reset=0")
    if node.has(4) or node.has(7) or node.get("layout", 0) or node.get("clip"):
        node.refuse("sequence lengths, peepholes, clip and layout=1 are not read")
    if node.get("direction", "forward") == "reverse":
        node.refuse("direction='reverse'")
    b = node.constant(3, np.zeros((directions, 2 * w.shape[1]), w.dtype))
    back = np.argsort(ORDER[mode])

    def gates(part):
        shape = part.shape
        return part.reshape(len(back), hidden, *shape[1:])[back].reshape(shape)

    weights, biases = [], []
    for k in range(directions):
        weights += [gates(w[k]), gates(r[k])]
        biases += [gates(each) for each in np.split(b[k], 2)]
    flat = np.concatenate([each.ravel() for each in (*weights, *biases)])
    states = []
    for i, word in ((5, "h"), (6, "c"))[: 2 if mode == "lstm" else 1]:
        if node.has(i):
            states.append(node.symbol(i))
        else:
            shape = reader.shape(node.inputs[0])
            if shape is None:
                node.refuse("without a first state the file must tell the batch")
            zeros = np.zeros((directions, shape[1], hidden), w.dtype)
            states.append(reader.parameter(f"{node.name}_{word}0", zeros))
    made = sym.RNN(
        node.symbol(0),
        reader.parameter(f"{node.name}_parameters", flat),
        *states,
        mode=mode,
        state_size=hidden,
        num_layers=1,
        bidirectional=directions == 2,
        state_outputs=True,
        name=node.name,
    )
    out = made[0]
    if directions == 2:
        out = sym.transpose(sym.reshape(out, shape=(0, 0, 2, hidden)), axes=(0, 2, 1, 3))
    else:
        out = sym.expand_dims(out, axis=1)
    return [out, *(made[i] for i in range(1, 1 + len(states)))]


@imports("Resize", "Upsample")
def resize(reader, node):
    scales = node.constant(1 if node.kind == "Upsample" else 2, node.get("scales"))
    if scales is None or len(scales) != 4 or scales[2] != scales[3] or scales[2] % 1:
        node.refuse("only whole scales, the same for both axes, are read")
    if node.get("mode", "nearest") != "nearest":
        node.refuse(f"mode={node.get('mode')}")
    return sym.UpSampling(
        node.symbol(0), scale=int(scales[2]), sample_type="nearest", name=node.name
    )
