"""GPU launches of layers without cuDNN: normalization, rectifiers, dropout, upsampling."""

import ctypes
from math import prod

from ...base.errors import ArgumentError
from ...cuda.families import FLOATS
from ...kernels.table import kernels
from ..kernel_property import GpuElements, GpuLines
from ..nn.convolution.deconvolution import DeconvolutionProperty
from ..nn.dropout import DropoutProperty
from ..nn.group_norm import GroupNormProperty
from ..nn.instance_norm import InstanceNormProperty
from ..nn.layer_norm import LayerNormProperty
from ..nn.leaky_relu import LeakyReLUProperty, slope_counts
from ..nn.lrn import LRNProperty
from ..nn.upsampling import UpSamplingProperty
from ..tensor.axes import sizes_around_axis
from .kernel_args import (
    C_TYPES,
    INT,
    LONG,
    SIZEOF,
    c_int64_array,
    join_axes,
    layout_args,
    make_axes,
    strides_of,
)
from .launch_program import (
    Steps,
    constant,
    convert,
    fill_range,
    fold,
    identity,
    launch_form,
    operator,
    zeros,
)
from .launch_steps import ADD, IN, IN_GRAD, OUT, OUT_GRAD, RANDOM, launch_each, launch_lines
from .random import draw_launch, kUniform
from .registry import build, register_form

SOURCE = "normalization"  # CUDA file with the normalization kernels
MATH_TYPE = {kind: "double" if kind == "double" else "float" for kind in FLOATS}  # as in common.cuh
_ENOUGH_THREADS = 1 << 17  # number of threads that keep a GPU busy if each loops over rows


class LineArgs(ctypes.Structure):  # kernel argument: sizes of normalized lines
    """Kernel argument: sizes of the lines that are normalized (normalization.cu)."""

    _fields_ = [(name, LONG) for name in ("outer", "n", "inner", "channels")]


def _launch_line_moments(steps, dtype, walk, eps, **options):
    """Compute mean and standard deviation of each line, in a workspace of type `MATH_TYPE`."""
    count, kind = walk.outer * walk.inner, C_TYPES[dtype]
    mean, std = steps.reserve(count, MATH_TYPE[kind]), steps.reserve(count, MATH_TYPE[kind])
    given = f"moments<{kind}>", IN[0], mean, std, walk, float(eps)
    steps += launch_lines(count, walk.n, SOURCE, *given, **options)
    return mean, std


def _normalize_lines(steps, prop, types, walk):
    """Add the launches of all outputs of `prop`; returns the dtypes of mean and deviation."""
    kind, count = C_TYPES[types[0]], walk.outer * walk.inner
    moment_types = prop.infer_type(types, [None] * len(prop.list_outputs()))[1][1:]
    found = _launch_line_moments(steps, types[0], walk, prop.eps, to=(0, 1 + len(moment_types)))
    for i, (moment, out) in enumerate(zip(found, moment_types), 1):
        if C_TYPES[out] == MATH_TYPE[kind]:
            steps += identity(count, out, moment, OUT[i])
        else:
            steps += convert(count, MATH_TYPE[kind], C_TYPES[out], moment, OUT[i])
    arrays = IN[0], *found, IN[1], IN[2], OUT[0]
    steps += launch_each(count * walk.n, SOURCE, f"normalize<{kind}>", *arrays, walk, ADD)
    return moment_types


def _add_normalize_backward(steps, kind, walk, mean, std):
    """Add the gradients of gamma and beta, then of data, which may overwrite out_grad."""
    count = walk.outer * walk.inner
    if walk.channels == 0 and walk.inner == 1:
        _add_row_scale_grads(steps, kind, count, walk.n, mean, std)
    else:
        scales = walk.channels or walk.n
        arrays = OUT_GRAD[0], IN[0], mean, std
        for i, shift in ((1, False), (2, True)):
            given = f"scale_grad<{kind}>", *arrays, IN_GRAD[i], walk, shift, ADD
            steps += launch_lines(scales, count * walk.n // scales, SOURCE, *given)
    arrays = OUT_GRAD[0], IN[0], IN[1], mean, std, IN_GRAD[0]
    steps += launch_lines(count, walk.n, SOURCE, f"normalize_grad<{kind}>", *arrays, walk, ADD)


def _add_row_scale_grads(steps, kind, rows, n, mean, std):
    """Add the gradients of gamma and beta along rows, both in one pass: threads take neighboring
    elements, in enough parts to keep a device busy."""
    parts = max(1, min(_ENOUGH_THREADS // max(n, 1), rows // 16, 256))
    sums = steps.reserve(n * parts, "double"), steps.reserve(n * parts, "double")
    arrays = OUT_GRAD[0], IN[0], mean, std, *sums
    launch = launch_each(n, SOURCE, f"scale_grad_parts<{kind}>", *arrays, rows, n, to=(1, 2))
    launch.grid = (launch.grid[0], parts, 1)
    steps += launch
    for i, found in zip((1, 2), sums):
        merged = f"merge_parts<cynet::sum, {kind}>", found, IN_GRAD[i], n, parts, 1.0, ADD
        steps += launch_lines(n, 32, "reduce", *merged)


@launch_form(LayerNormProperty)
def layer_norm(prop, shapes, types, forward, backward):
    walk, kind = (
        LineArgs(*sizes_around_axis(shapes[0], prop.positive_axis(shapes[0])), 0),
        C_TYPES[types[0]],
    )
    moment_types = _normalize_lines(forward, prop, types, walk)
    known = [
        backward.to_ctype(OUT[i], out, walk.outer * walk.inner, MATH_TYPE[kind], to=(0, 3))
        for i, out in enumerate(moment_types, 1)
    ]
    _add_normalize_backward(backward, kind, walk, *known)


@register_form(InstanceNormProperty)
def instance_norm(prop, shapes, types, device):
    batch, channels, *size = shapes[0]
    return _normalization_form(prop, batch, channels, prod(size), types, device)


@register_form(GroupNormProperty)
def group_norm(prop, shapes, types, device):
    batch, *size = shapes[0]
    groups = prop.num_groups
    return _normalization_form(prop, batch, groups, prod(size) // groups, types, device)


def _normalization_form(prop, batch, channels, size, types, device):
    """Build the form that normalizes (batch, channels, size) along the last axis."""
    walk = LineArgs(batch * channels, size, 1, channels)
    forward, backward = Steps(), Steps()
    _normalize_lines(forward, prop, types, walk)
    found = _launch_line_moments(backward, types[0], walk, prop.eps, to=(0, 3))
    _add_normalize_backward(backward, C_TYPES[types[0]], walk, *found)
    return operator(device, forward, backward)


@launch_form(GpuLines, GpuElements)
def launch_declared_kernels(prop, shapes, types, forward, backward):
    """Launch the kernels that a property declares with tensors, number of lines or elements, other
    parameters, and whether to add to the output."""
    params, kind = prop.kernel_params(shapes), C_TYPES[types[0]]
    if isinstance(prop.gpu, GpuLines):
        walk = LineArgs(*(params.pop(name) for name in ("outer", "n", "inner")), 0)
    arrays = prop.tensors_by_name(IN, OUT, OUT_GRAD, IN_GRAD)
    for steps, direction in ((forward, "forward"), (backward, "backward")):
        for kernel in prop.kernels_of(direction):
            if len(kernel.writes) > 1:
                raise ArgumentError(
                    f"operator {prop.op_name}: kernel {kernel.name} writes "
                    f"{', '.join(kernel.writes)}; on a GPU a declared kernel writes one of them"
                )
            name = f"{kernel.name}<{kind}>"
            tensors = [arrays[tensor] for tensor in (*kernel.reads, *kernel.writes)]
            if isinstance(prop.gpu, GpuLines):
                count, given = walk.outer * walk.inner, (*tensors, walk, *params.values(), ADD)
                steps += launch_lines(count, walk.n, prop.gpu.source, name, *given)
            else:
                n, names = prod(shapes[0]), kernels()[kernel.name][0]
                given = [params[key] if key in params else getattr(prop, key) for key in names]
                steps += launch_each(n, prop.gpu.source, name, *tensors, n, *given, ADD)
    for array in map(arrays.get, prop.zeros):
        backward += zeros(shapes[array.index], types[array.index], array)


class NeighbourArgs(ctypes.Structure):  # kernel argument: the channels that LRN sums
    """Kernel argument: window of channels that LRN sums the squares of (normalization.cu)."""

    _fields_ = [(name, LONG) for name in ("batch", "channels", "inner", "size")]
    _fields_ += [(name, ctypes.c_double) for name in ("alpha", "beta", "knorm")]


@launch_form(LRNProperty)
def local_response(prop, shapes, types, forward, backward):
    shape, kind = shapes[0], C_TYPES[types[0]]
    n = prod(shape)
    numbers = prop.nsize, prop.alpha, prop.beta, prop.knorm
    around = NeighbourArgs(shape[0], shape[1], prod(shape[2:]), *numbers)
    forward += launch_each(n, SOURCE, f"local_response<{kind}>", IN[0], OUT[0], around, ADD)
    parts = backward.reserve(n, kind), backward.reserve(n, kind)
    given = OUT_GRAD[0], IN[0], *parts
    backward += launch_each(n, SOURCE, f"local_response_parts<{kind}>", *given, around, to=(0, 1))
    backward += launch_each(
        n, SOURCE, f"local_response_grad<{kind}>", *given, IN_GRAD[0], around, ADD
    )


@launch_form(LeakyReLUProperty)
def leaky_relu(prop, shapes, types, forward, backward):
    n, dtype = prod(shapes[0]), types[0]
    kind = C_TYPES[dtype]
    if prop.act_type == "prelu":
        _add_prelu_launches(forward, backward, n, kind, shapes)
    elif prop.act_type == "rrelu":
        _add_rrelu_launches(prop, forward, backward, n, dtype)
    else:
        _add_rectifier_launch(forward, prop.act_type, prop.slope, n, dtype)
        slope = constant(forward.device, prop.slope, dtype, kind)
        name = f"binary_grad<cynet::functor::{prop.act_type}_grad, {kind}>"
        given = OUT_GRAD[0], IN[0], True, slope, False, IN_GRAD[0], n, ADD
        backward += launch_each(n, "elementwise", name, *given)


def _add_rectifier_launch(forward, functor, slope, n, dtype, **options):
    kind = C_TYPES[dtype]
    number = constant(forward.device, slope, dtype, kind)
    given = IN[0], True, number, False, OUT[0], n, ADD
    name = f"binary<cynet::functor::{functor}, {kind}>"
    forward += launch_each(n, "elementwise", name, *given, **options)


def _slope_launch(n, kind, slopes, x, y, sizes, **options):
    """A launch of ``y (+)= x``, times the slope of its channel for negative inputs."""
    return launch_each(n, SOURCE, f"prelu<{kind}>", IN[0], slopes, x, y, n, *sizes, ADD, **options)


def _add_prelu_launches(forward, backward, n, kind, shapes):
    sizes = slope_counts(*shapes)
    forward += _slope_launch(n, kind, IN[1], IN[0], OUT[0], sizes)
    # first: the gradient of data may overwrite out_grad
    given = f"prelu_slopes_grad<{kind}>", OUT_GRAD[0], IN[0], IN_GRAD[1], n, *sizes, ADD
    backward += launch_lines(sizes[0], n // sizes[0], SOURCE, *given)
    backward += _slope_launch(n, kind, IN[1], OUT_GRAD[0], IN_GRAD[0], sizes)


def _add_rrelu_launches(prop, forward, backward, n, dtype):
    kind, low, high = C_TYPES[dtype], prop.lower_bound, prop.upper_bound
    training, predicting = {"when": ("training",)}, {"when": ("predicting",)}
    forward += draw_launch(n, kind, OUT[1], kUniform, low, high, add=False, to=(0, 0), **training)
    forward += _slope_launch(n, kind, OUT[1], IN[0], OUT[0], (n, 1), to=(0, 1), **training)
    middle = (low + high) / 2
    _add_rectifier_launch(forward, "leaky", middle, n, dtype, **predicting)
    forward += fill_range(n, kind, OUT[1], middle, **predicting)
    backward += _slope_launch(n, kind, OUT[1], OUT_GRAD[0], IN_GRAD[0], (n, 1))


class RepeatedMask(ctypes.Structure):  # kernel argument: a broadcast dropout mask
    """Kernel argument: shape of the data, strides of a dropout mask that broadcasts (random.cu)."""

    _fields_ = [("n", LONG), ("ndim", INT), ("shape", LONG * 8), ("stride", LONG * 8)]


@launch_form(DropoutProperty)
def dropout(prop, shapes, types, forward, backward):
    shape, dtype = shapes[0], types[0]
    n, kind = prod(shape), C_TYPES[dtype]
    small = [1 if axis in prop.axes else m for axis, m in enumerate(shape)]
    count = prod(small)
    own = [0 if axis in prop.axes else s for axis, s in enumerate(strides_of(small))]
    lengths, (steps,) = join_axes(shape, own)
    walk = RepeatedMask(n, len(lengths), c_int64_array(lengths), c_int64_array(steps))
    scale = 1 / (1 - prop.p) if prop.p < 1 else 0.0
    always = prop.mode == "always"
    training = {} if always else {"when": ("training",)}
    drawn = "dropout_mask", OUT[1], count, float(prop.p), RANDOM
    forward += launch_each(count, "random", *drawn, to=(0, 0), **training)
    name, last = f"mask<{kind}>", (walk, scale, ADD)
    forward += launch_each(n, "random", name, IN[0], OUT[1], OUT[0], *last, to=(0, 1), **training)
    backward += launch_each(n, "random", name, OUT_GRAD[0], OUT[1], IN_GRAD[0], *last, **training)
    if not always:
        predicting = {"when": ("predicting",)}
        forward += fill_range(count, "bool", OUT[1], 1.0, add=False, to=(0, 0), **predicting)
        forward += identity(n, dtype, IN[0], OUT[0], **predicting)
        backward += identity(n, dtype, OUT_GRAD[0], IN_GRAD[0], **predicting)


@register_form(UpSamplingProperty)
def upsampling(prop, shapes, types, device):
    (out,) = prop.output_shapes(shapes)
    scale = prop.scale
    if prop.sample_type == "bilinear":
        k, pad = 2 * scale - scale % 2, scale // 2
        params = {"kernel": (k, k), "stride": (scale, scale), "pad": (pad, pad), "no_bias": True}
        groups = {"num_filter": prop.num_filter, "num_group": prop.num_filter}
        same = DeconvolutionProperty(**params, **groups)
        return build(same, shapes, types, device)
    kind, (_, channels, height, width) = C_TYPES[types[0]], out
    sums, first = prop.multi_input_mode == "sum", 0
    forward, backward = Steps(), Steps()
    for i, (batch, count, h, w) in enumerate(shapes):
        by, begin = height // h, first * height * width
        # y[n, first + c, h * by + i, w * by + j] = x[n, c, h, w]
        whole = (batch, count, h, by, w, by)
        large = (channels * height * width, height * width, by * width, width, by, 1)
        small = (count * h * w, h * w, w, 0, 1, 0)
        walk = layout_args(whole, large, small, begin)
        add = True if sums and i else ADD
        forward += launch_each(walk.n, "index", f"copy<{kind}>", IN[i], OUT[0], walk, add)
        outer, (cached_steps,) = join_axes((batch, count, h, w), [large[k] for k in (0, 1, 2, 4)])
        gone, (gone_steps,) = join_axes((by, by), [large[k] for k in (3, 5)])
        walk = make_axes((outer, cached_steps), (gone, gone_steps))
        fold(backward, "sum", kind, OUT_GRAD[0].offset_by(begin * SIZEOF[kind]), IN_GRAD[i], walk)
        first += 0 if sums else count
    return operator(device, forward, backward)
