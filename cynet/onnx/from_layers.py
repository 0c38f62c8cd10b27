"""Importers of layers: convolutions, normalization, dense layers, softmax."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import symbol as sym
from .importers import imports
from .windows import pad_data, padding_of_node, spatial_lengths

if TYPE_CHECKING:
    from ..symbol import Symbol
    from .importers import IntWeight, Node, Reader


def _weight_shape_and_kernel(node: Node) -> tuple[list[int], list[int]]:
    """Return the shape of the weight and the kernel size; the weight need not be a constant."""
    shape = list(node.known_shape(1))
    kernel = list(node.get("kernel_shape", shape[2:]))
    if len(shape) < 3 or kernel != shape[2:]:
        node.refuse(f"kernel_shape={kernel} for a weight of {shape}")
    return shape, kernel


def _window_spans_and_params(node: Node, kernel: list[int]) -> tuple[list[int], dict[str, Any]]:
    """Return the lengths that windows span, and the parameters stride, dilation and groups."""
    n = len(kernel)
    stride, dilate = node.get("strides", [1] * n), node.get("dilations", [1] * n)
    how: dict[str, Any] = {"num_group": node.get("group", 1), "no_bias": not node.has_input(2)}
    how |= {"kernel": tuple(kernel), "stride": tuple(stride), "dilate": tuple(dilate)}
    return [(k - 1) * d + 1 for k, d in zip(kernel, dilate)], how


@imports("Conv")
def conv(reader: Reader, node: Node) -> Symbol:
    shape, kernel = _weight_shape_and_kernel(node)
    n, (spans, how) = len(kernel), _window_spans_and_params(node, kernel)
    before, after = padding_of_node(node, spans, list(how["stride"]))
    data = node.symbol(0)
    if before != after:
        data, before = pad_data(data, before, after, 0.0, n), [0] * n
    bias = node.symbol(2) if node.has_input(2) else None
    how |= {"pad": tuple(before), "num_filter": shape[0]}
    return sym.Convolution(data, node.symbol(1), bias, **how)


@imports("ConvTranspose")
def conv_transpose(reader: Reader, node: Node) -> Symbol:
    """Import ConvTranspose: equal pads are a parameter, others are cut off the output."""
    shape, kernel = _weight_shape_and_kernel(node)
    n, (spans, how) = len(kernel), _window_spans_and_params(node, kernel)
    stride = list(how["stride"])
    adj = list(node.get("output_padding", [0] * n))
    before, after = _conv_transpose_pads(node, spans, stride, adj)
    same = before == after and min(before) >= 0
    more = [max(-a, 0) for a in after]  # positions outside of all windows hold the bias alone
    own = [a + m for a, m in zip(adj, more)]
    if any(a >= s for a, s in zip(own, stride)) or min(before) < 0:  # Deconvolution's limits
        node.refuse(f"pads {before} and {after} with output_padding={adj}")
    how |= {"pad": tuple(before if same else [0] * n), "adj": tuple(own)}
    how["num_filter"] = shape[1] * how["num_group"]
    bias = node.symbol(2) if node.has_input(2) else None
    made = sym.Deconvolution(node.symbol(0), node.symbol(1), bias, **how)
    if not same:
        for axis, (b, a) in enumerate(zip(before, after)):
            if b or a > 0:
                end = -a if a > 0 else None
                made = sym.slice_axis(made, axis=axis + 2, begin=b, end=end)
    return made


def _conv_transpose_pads(
    node: Node, spans: list[int], stride: list[int], adj: list[int]
) -> tuple[list[int], list[int]]:
    """Return the lengths to cut off before and behind each axis; negative lengths extend it."""
    n, auto = len(spans), node.choice("auto_pad", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")
    lengths = node.get("output_shape")
    if auto == "VALID" or (lengths is None and auto == "NOTSET"):
        if lengths is not None:
            node.refuse("output_shape with auto_pad=VALID")
        found = list(node.get("pads", [0] * 2 * n)) if auto == "NOTSET" else [0] * 2 * n
        return found[:n], found[n:]
    node.ignore("pads")  # pads follow from the output lengths
    sizes = spatial_lengths(node, 0)
    if lengths is None:
        lengths = [x * t for x, t in zip(sizes, stride)]
    totals = [
        (x - 1) * t + a + s - y for x, t, a, s, y in zip(sizes, stride, adj, spans, lengths[-n:])
    ]
    if min(totals) < 0:
        node.refuse(f"output_shape={lengths} is longer than what the windows reach")
    small, large = [v // 2 for v in totals], [v - v // 2 for v in totals]
    return (large, small) if auto in ("NOTSET", "SAME_LOWER") else (small, large)


@imports("BatchNormalization")
def batch_norm(reader: Reader, node: Node) -> Symbol:
    node.ignore("momentum", "consumed_inputs")  # affect training, or memory in opset 1
    if node.get("training_mode", 0):
        node.refuse("training_mode=1")
    node.require_value("spatial", 1)
    if node.opset < 7 and not node.get("is_test", 0):
        node.refuse("is_test=0")
    eps, inputs = node.get("epsilon", 1e-5), [node.symbol(i) for i in range(5)]
    if all(each.entries[0][0].is_variable for each in inputs[1:]):
        data, gamma, beta, mean, var = inputs
        how: dict[str, Any] = {"eps": eps, "momentum": node.get("momentum", 0.9)}
        return sym.BatchNorm(data, gamma, beta, mean, var, fix_gamma=False, **how)
    shape = (1, -1, *[1] * (node.rank(0) - 2))
    gamma, beta, mean, var = (sym.reshape(each, shape=shape) for each in inputs[1:])
    scale = sym.broadcast_mul(gamma, sym.rsqrt(var + eps))
    made = sym.broadcast_mul(sym.broadcast_sub(inputs[0], mean), scale)
    return sym.broadcast_add(made, beta)


@imports("InstanceNormalization")
def instance_norm(reader: Reader, node: Node) -> Symbol:
    node.ignore("consumed_inputs")
    data, gamma, beta = map(node.symbol, range(3))
    return sym.InstanceNorm(data, gamma, beta, eps=node.get("epsilon", 1e-5))


@imports("LayerNormalization")
def layer_norm(reader: Reader, node: Node) -> Symbol | list[Symbol]:
    """Import LayerNormalization: as LayerNorm for the last axis alone, else by its formula."""
    rank, axis = node.rank(0), node.axis(default=-1)
    node.require_value("stash_type", 1)
    eps, scale = node.get("epsilon", 1e-5), node.shape(1)
    optional_outputs = [o for o in node.outputs[1:] if o]
    if axis == rank - 1 and scale is not None and len(scale) == 1 and not optional_outputs:
        beta = node.symbol(2) if node.has_input(2) else None
        if beta is None:
            zeros = np.zeros(scale, node.dtype(1))
            beta = reader.frozen_var(f"{node.name}_beta", zeros)
        return sym.LayerNorm(node.symbol(0), node.symbol(1), beta, eps=eps)
    data, dtype = node.symbol(0), node.dtype(0)
    wide = data if dtype in ("float32", "float64") else sym.Cast(data, dtype="float32")
    axes = tuple(range(axis, rank))
    mean = sym.mean(wide, axis=axes, keepdims=True)
    middle = sym.broadcast_sub(wide, mean)
    var = sym.mean(sym.square(middle), axis=axes, keepdims=True)
    inverse = sym.rsqrt(var + eps)
    made = sym.broadcast_mul(middle, inverse)
    if wide is not data:
        made = sym.Cast(made, dtype=dtype)
    for i, make in ((1, sym.broadcast_mul), (2, sym.broadcast_add)):
        if node.has_input(i):
            other = node.symbol(i)
            for _ in range(rank - max(node.rank(i), 1)):
                other = sym.expand_dims(other, axis=0)
            made = make(made, other)
    return [sym.identity(made), mean, inverse]


@imports("LRN")
def lrn(reader: Reader, node: Node) -> Symbol:
    if node.rank(0) != 4:
        node.refuse(f"of {node.rank(0)} axes")
    if node.get("size") % 2 == 0:
        node.refuse(f"an even size={node.get('size')}")
    how = {"alpha": node.get("alpha", 1e-4), "beta": node.get("beta", 0.75)}
    return sym.LRN(node.symbol(0), knorm=node.get("bias", 1.0), nsize=node.get("size"), **how)


@imports("Gemm")
def gemm(reader: Reader, node: Node) -> Symbol:
    """Import ``alpha A B + beta C``; constant B and C give a dense layer."""
    node.ignore("broadcast")  # only below opset 7, where C's shape shows it
    alpha, beta = node.get("alpha", 1.0), node.get("beta", 1.0)
    left, right = bool(node.get("transA", 0)), bool(node.get("transB", 0))
    data = node.symbol(0)
    if left:
        data = sym.transpose(data)
    weight, bias = node.value(1), node.value(2)
    integers = node.quantized_weight(1)
    if integers is not None and alpha == beta == 1:
        made = integer_dense(reader, node, data, integers, right, bias)
        if made is not None:
            return made
    if (
        weight is None
        or weight.dtype.kind not in "f"
        or (node.has_input(2) and (bias is None or bias.size not in (1, weight.shape[1 - right])))
        or (bias is not None and bias.ndim > 1 and bias.shape[0] != 1)
    ):
        other = node.symbol(1)
        made = sym.dot(data, other, transpose_b=right)
        made = made if alpha == 1 else made * alpha
        if not node.has_input(2):
            return sym.identity(made)
        other = node.symbol(2)
        for _ in range(2 - max(node.rank(2), 1)):
            other = sym.expand_dims(other, axis=0)
        other = other if beta == 1 else other * beta
        return sym.broadcast_add(made, other)
    plain = right and alpha == 1
    values = weight if right else weight.T
    where = (
        node.symbol(1)
        if plain
        else reader.add_parameter(
            f"{node.name}_weight", np.ascontiguousarray(values * values.dtype.type(alpha))
        )
    )
    rows, offset = values.shape[0], None
    if bias is not None and beta == 1 and bias.shape == (rows,):
        offset = node.symbol(2)
    elif bias is not None:
        full = np.broadcast_to(np.ravel(bias * bias.dtype.type(beta)), (rows,))
        offset = reader.add_parameter(f"{node.name}_bias", np.ascontiguousarray(full))
    return sym.FullyConnected(
        data, where, offset, num_hidden=rows, no_bias=bias is None, flatten=False
    )


def integer_dense(
    reader: Reader, node: Node, data: Symbol, integers: IntWeight, turned: bool, bias: Any = None
) -> Symbol | None:
    """Make the dense layer of a dequantized weight, input 1: its units are rows with `turned`, else
    columns. None if it is not a matrix, or the bias, input 2, not a vector of the
    right length."""
    if integers.values.ndim != 2:
        return None
    rows, weight, offset = integers.values.shape[not turned], node.symbol(1), None
    if node.has_input(2):
        if bias is None or bias.shape != (rows,):
            return None
        offset = node.symbol(2)
    if not turned:
        weight = sym.transpose(weight)
        reader.add_weight(weight, integers.transposed())
    return sym.FullyConnected(
        data, weight, offset, num_hidden=rows, no_bias=offset is None, flatten=False
    )


@imports("Softmax", "LogSoftmax")
def softmax(reader: Reader, node: Node) -> Symbol:
    make = sym.softmax if node.kind == "Softmax" else sym.log_softmax
    axis, data = node.axis(default=-1 if node.opset >= 13 else 1), node.symbol(0)
    rank = node.rank(0)
    if node.opset >= 13 or axis == rank - 1:
        return make(data, axis=axis)
    if axis == 1:  # all axes from `axis` on are joined
        return sym.reshape_like(make(sym.Flatten(data), axis=1), data)
    shape = node.known_shape(0)
    rows = int(np.prod(shape[:axis]))
    made = make(sym.reshape(data, shape=(rows, -1)), axis=1)
    return sym.reshape(made, shape=shape)


@imports("Dropout")
def dropout(reader: Reader, node: Node) -> list[Symbol]:
    """Import Dropout, which is off in prediction."""
    node.ignore("seed", "consumed_inputs")
    if node.opset < 7:
        node.get("is_test", 0)
    if node.has_input(2):
        training = node.value(2)
        if training is None or bool(np.ravel(training)[0]):
            node.refuse("training_mode is not the constant false")
    ratio = node.number(1, node.get("ratio", 0.5)) if not node.has_input(1) else node.value(1)
    data = node.symbol(0)
    ratio = 1.0 if ratio is None else float(np.ravel(ratio)[0])
    if 0 <= ratio < 1:
        made = sym.Dropout(data, p=ratio)
    else:
        node.mark_unused(1)
        made = sym.identity(data)
    if len(node.outputs) > 1 and node.opset >= 10:
        return [made, sym.Cast(sym.ones_like(data), dtype="bool")]
    return [made]
