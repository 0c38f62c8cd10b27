"""Exporters of layers: convolutions, normalization, dense layers, activations, losses."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..operator.loss.kl_sparse_reg import KlSparseRegProperty
from ..operator.loss.make_loss import BlockGradProperty, MakeLossProperty, PlainLossProperty
from ..operator.loss.regression_output import (
    LinearRegressionOutputProperty,
    LogisticRegressionOutputProperty,
    MAERegressionOutputProperty,
)
from ..operator.loss.softmax_output import SoftmaxOutputProperty
from ..operator.loss.svm_output import SVMOutputProperty
from ..operator.nn.activation import ActivationProperty
from ..operator.nn.batch_norm import BatchNormProperty
from ..operator.nn.batch_norm_variants import SyncBatchNormProperty
from ..operator.nn.convolution.convolution import ConvolutionProperty
from ..operator.nn.convolution.deconvolution import DeconvolutionProperty
from ..operator.nn.crop import CropProperty
from ..operator.nn.dropout import DropoutProperty
from ..operator.nn.fully_connected.fully_connected import FullyConnectedProperty
from ..operator.nn.group_norm import GroupNormProperty
from ..operator.nn.instance_norm import InstanceNormProperty
from ..operator.nn.l2_normalization import L2NormalizationProperty
from ..operator.nn.layer_norm import LayerNormProperty
from ..operator.nn.leaky_relu import LeakyReLUProperty
from ..operator.nn.lrn import LRNProperty
from ..operator.nn.softmax import (
    LogSoftmaxProperty,
    SoftmaxActivationProperty,
    SoftmaxProperty,
    SoftminProperty,
)
from ..operator.nn.spatial_window import channels_first_shape, is_channels_last
from ..operator.nn.upsampling import UpSamplingProperty
from .graph import exports, prop_classes, to_channels_first

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .graph import Graph, OpNode


def _values_or_default(values: Sequence[int], n: int, default: int) -> list[int]:
    return list(values) or [default] * n


def _conv_attributes(p: Any, n: int) -> dict[str, Any]:
    """Return the attributes strides, dilations and pads of a filter with `n` axes."""
    strides, dilations = _values_or_default(p.stride, n, 1), _values_or_default(p.dilate, n, 1)
    how = {"kernel_shape": list(p.kernel), "strides": strides, "dilations": dilations}
    return {**how, "group": p.num_group}


@exports(ConvolutionProperty)
def convolution(g: Graph, c: OpNode) -> str:
    p, n = c.prop, len(c.shapes[0]) - 2
    data, back = to_channels_first(g, c, p.layout)
    inputs = [data, *c.inputs[1:]]
    if is_channels_last(p.weight_layout):
        inputs[1] = g.transpose(c.inputs[1], [0, n + 1, *range(1, n + 1)])
    return back(
        g.emit("Conv", inputs, pads=_values_or_default(p.pad, n, 0) * 2, **_conv_attributes(p, n))
    )


@exports(DeconvolutionProperty)
def deconvolution(g: Graph, c: OpNode) -> str:
    p, n = c.prop, len(c.shapes[0]) - 2
    data, weight, *bias = c.inputs
    data, back = to_channels_first(g, c, p.layout)
    size, out = (channels_first_shape(each[0], p.layout)[2:] for each in (c.shapes, c.out_shapes))
    if data != c.inputs[0]:
        weight = g.transpose(weight, [0, n + 1, *range(1, n + 1)])
    how = _conv_attributes(p, n)
    each = zip(size, how["strides"], p.kernel, how["dilations"])
    whole = [(x - 1) * s + (k - 1) * d + 1 for x, s, k, d in each]
    over = [a - b for a, b in zip(whole, out)]  # lengths cut off by padding
    adj = [max(-o, 0) for o in over] if p.target_shape else _values_or_default(p.adj, n, 0)
    total = [o + a for o, a in zip(over, adj)]
    before = [
        (t + 1) // 2 if p.target_shape else q
        for t, q in zip(total, _values_or_default(p.pad, n, 0))
    ]
    how["pads"] = before + [t - b for t, b in zip(total, before)]
    return back(g.emit("ConvTranspose", [data, weight, *bias], output_padding=adj, **how))


@exports(FullyConnectedProperty)
def fully_connected(g: Graph, c: OpNode) -> str:
    p = c.prop
    data, weight, *bias = c.inputs
    if p.flatten:
        if len(c.shapes[0]) != 2:
            data = g.emit("Flatten", [data], axis=1)
        return g.emit("Gemm", [data, weight, *bias], transB=1)
    made = g.emit("MatMul", [data, g.transpose(weight, (1, 0))])
    return g.emit("Add", [made, *bias]) if bias else made


@exports(BatchNormProperty, SyncBatchNormProperty)
def batch_norm(g: Graph, c: OpNode) -> str:
    p, n = c.prop, len(c.shapes[0])
    if getattr(p, "output_mean_var", False):
        c.refuse("mean and variance are outputs")
    axis = getattr(p, "axis", 1) % n
    data, gamma, *rest = c.inputs
    if p.fix_gamma:
        gamma = g.constant(np.ones(c.shapes[1], c.dtypes[1]))
    order = [0, axis, *(i for i in range(1, n) if i != axis)]
    if axis != 1:
        data = g.transpose(data, order)
    made = g.emit("BatchNormalization", [data, gamma, *rest], epsilon=p.eps, momentum=p.momentum)
    return made if axis == 1 else g.transpose(made, np.argsort(order).tolist())


@exports(InstanceNormProperty)
def instance_norm(g: Graph, c: OpNode) -> str:
    return g.emit("InstanceNormalization", c.inputs, epsilon=c.prop.eps)


def _normalize_axes(g: Graph, x: str, axes: list[int], eps: float, dtype: str) -> str:
    """Write ``(x - mean) / sqrt(var + eps)`` over axes."""
    mean = g.emit("ReduceMean", [x], axes=axes, keepdims=1)
    x = g.emit("Sub", [x, mean])
    var = g.emit("ReduceMean", [g.emit("Mul", [x, x])], axes=axes, keepdims=1)
    var = g.emit("Add", [var, g.constant(np.array(eps, dtype))])
    return g.emit("Div", [x, g.emit("Sqrt", [var])])


@exports(LayerNormProperty)
def layer_norm(g: Graph, c: OpNode) -> str:
    p, n = c.prop, len(c.shapes[0])
    if p.output_mean_var:
        c.refuse("mean and deviation are outputs")
    axis = p.axis % n
    x = _normalize_axes(g, c.inputs[0], [axis], p.eps, c.dtypes[0])
    shape = [c.shapes[0][axis] if i == axis else 1 for i in range(n)]
    gamma, beta = (g.reshape(each, shape) for each in c.inputs[1:3])
    return g.emit("Add", [g.emit("Mul", [x, gamma]), beta])


@exports(GroupNormProperty)
def group_norm(g: Graph, c: OpNode) -> str:
    p, shape = c.prop, c.shapes[0]
    if p.output_mean_var:
        c.refuse("mean and deviation are outputs")
    grouped = g.reshape(c.inputs[0], (0, p.num_groups, -1))
    x = _normalize_axes(g, grouped, [2], p.eps, c.dtypes[0])
    gamma, beta = (g.reshape(each, (1, -1, 1)) for each in c.inputs[1:3])
    return g.reshape(g.emit("Add", [g.emit("Mul", [x, gamma]), beta]), (0, *shape[1:]))


@exports(L2NormalizationProperty)
def l2_normalization(g: Graph, c: OpNode) -> str:
    n = len(c.shapes[0])
    axes = {"instance": range(1, n), "channel": [1], "spatial": range(2, n)}[c.prop.mode]
    x = c.inputs[0]
    total = g.emit("ReduceSumSquare", [x], axes=list(axes), keepdims=1)
    total = g.emit("Add", [total, g.constant(np.array(c.prop.eps, c.dtypes[0]))])
    return g.emit("Div", [x, g.emit("Sqrt", [total])])


@exports(LRNProperty)
def lrn(g: Graph, c: OpNode) -> str:
    p = c.prop
    return g.emit("LRN", c.inputs, alpha=p.alpha, beta=p.beta, bias=p.knorm, size=p.nsize)


@exports(ActivationProperty)
def activation(g: Graph, c: OpNode) -> str:
    kind = c.prop.act_type
    return g.emit("Softplus" if kind == "softrelu" else kind.capitalize(), c.inputs)


@exports(LeakyReLUProperty)
def leaky_relu(g: Graph, c: OpNode) -> str:
    p, x = c.prop, c.inputs[0]
    kind = p.act_type
    if kind in ("leaky", "rrelu"):
        slope = p.slope if kind == "leaky" else (p.lower_bound + p.upper_bound) / 2
        return g.emit("LeakyRelu", [x], alpha=slope)
    if kind == "elu":
        return g.emit("Elu", [x], alpha=p.slope)
    if kind == "selu":
        return g.emit("Selu", [x])
    if kind == "prelu":
        slope = c.inputs[1]
        if len(c.shapes[0]) > 2 and len(c.shapes[1]) == 1:
            slope = g.reshape(slope, (-1, *[1] * (len(c.shapes[0]) - 2)))
        return g.emit("PRelu", [x, slope])
    number = partial(g.constant, dtype=c.dtypes[0])
    erf = g.emit("Erf", [g.emit("Mul", [x, number(math.sqrt(0.5))])])
    half = g.emit("Mul", [x, number(0.5)])
    return g.emit("Mul", [half, g.emit("Add", [erf, number(1)])])


@exports(SoftmaxOutputProperty)
def softmax_output(g: Graph, c: OpNode) -> str:
    p, x, shape = c.prop, c.inputs[0], c.shapes[0]
    if p.multi_output:
        return g.emit("Softmax", [x], axis=1)
    if p.preserve_shape or len(shape) == 2:
        return g.emit("Softmax", [x], axis=-1)
    made = g.emit("Softmax", [g.emit("Flatten", [x], axis=1)], axis=1)
    return g.reshape(made, (0, *shape[1:]))


@exports(SoftmaxActivationProperty)
def softmax_activation(g: Graph, c: OpNode) -> str:
    """Write softmax over the channels, or over the last axis for mode ``instance``."""
    return g.emit("Softmax", c.inputs[:1], axis=1 if c.prop.mode == "channel" else -1)


@exports(SoftmaxProperty, LogSoftmaxProperty, SoftminProperty)
def softmax(g: Graph, c: OpNode) -> str:
    p, x = c.prop, c.inputs[0]
    inside = _write_length_mask(g, c) if getattr(p, "use_length", False) else None
    if c.op == "softmin":
        x = g.emit("Neg", [x])
    if p.temperature not in (None, 1):
        x = g.emit("Div", [x, g.constant(np.array(p.temperature, c.dtypes[0]))])
    if inside is not None:
        x = g.emit("Where", [inside, x, g.constant(np.array(-np.inf, c.dtypes[0]))])
    made = g.emit("LogSoftmax" if c.op == "log_softmax" else "Softmax", [x], axis=p.axis)
    if inside is not None:
        made = g.emit("Where", [inside, made, g.constant(np.array(0, c.dtypes[0]))])
    return made if c.out_dtypes[0] == c.dtypes[0] else g.cast(made, c.out_dtypes[0])


def _write_length_mask(g: Graph, c: OpNode) -> str:
    """Write a mask: whether an element's index along the axis is below its row's length."""
    n, axis = len(c.shapes[0]), c.prop.axis % len(c.shapes[0])
    steps = np.arange(c.shapes[0][axis]).reshape([-1 if i == axis else 1 for i in range(n)])
    lengths = g.unsqueeze(g.cast(c.inputs[1], "int64"), axis)
    return g.emit("Less", [g.constant(steps, "int64"), lengths])


@exports(LogisticRegressionOutputProperty)
def logistic_output(g: Graph, c: OpNode) -> str:
    return g.emit("Sigmoid", c.inputs[:1])


@exports(
    LinearRegressionOutputProperty,
    MAERegressionOutputProperty,
    SVMOutputProperty,
    MakeLossProperty,
    PlainLossProperty,
    BlockGradProperty,
    DropoutProperty,
    KlSparseRegProperty,
    *prop_classes("identity", "_copy"),
)
def identity(g: Graph, c: OpNode) -> str:
    return c.inputs[0]


@exports(UpSamplingProperty)
def upsampling(g: Graph, c: OpNode) -> str:
    p = c.prop
    if p.sample_type != "nearest" or len(c.shapes) != 1:
        c.refuse("only sample_type='nearest' of one array has a form in ONNX")
    scales = g.constant(np.array([1, 1, p.scale, p.scale], "float32"))
    return g.emit(
        "Resize",
        [c.inputs[0], "", scales],
        mode="nearest",
        coordinate_transformation_mode="asymmetric",
        nearest_mode="floor",
    )


@exports(CropProperty)
def crop(g: Graph, c: OpNode) -> str:
    p, out, shape = c.prop, c.out_shapes[0], c.shapes[0]
    begin = [(a - b) // 2 for a, b in zip(shape[2:], out[2:])] if p.center_crop else p.offset
    end = [b + n for b, n in zip(begin, out[2:])]
    at = [g.ints(*begin), g.ints(*end), g.ints(2, 3)]
    return g.emit("Slice", [c.inputs[0], *at])
