"""GPU forms of layers with kernels of their own: normalization, rectifiers, dropout, upsampling."""

import ctypes
from math import prod

from ...cuda.families import REAL
from ...kernels.table import kernels
from ..kernel_property import Elements, Lines
from ..nn.convolution.deconvolution import DeconvolutionProperty
from ..nn.dropout import DropoutProperty
from ..nn.group_norm import GroupNormProperty
from ..nn.instance_norm import InstanceNormProperty
from ..nn.layer_norm import LayerNormProperty
from ..nn.leaky_relu import LeakyReLUProperty, slopes_of
from ..nn.lrn import LRNProperty
from ..nn.upsampling import UpSamplingProperty
from ..tensor.axes import split_at
from .kernel_args import BYTES, C_TYPES, INT, LONG, Axes, axis_list, collapse, layout, strides_of
from .launch_program import Steps, constant, fold, identity, operator
from .launch_steps import ADD, IN, IN_GRAD, OUT, OUT_GRAD, RANDOM, each, lines
from .random import draw, kUniform
from .registry import build, form

NORM = "normalization"  # the source of their kernels
COMPUTED = {kind: "double" if kind == "double" else "float" for kind in REAL}  # as common.cuh says
_ENOUGH_ROWS = 1 << 17  # threads that keep a device busy while each walks over rows


class Line(ctypes.Structure):
    """Lines that are normalized (normalization.cu)."""

    _fields_ = [(name, LONG) for name in ("outer", "n", "inner", "channels")]


def _moments(steps, dtype, walk, eps, **options):
    """Mean and standard deviation of each line, in temporary memory, of `COMPUTED` type."""
    count, kind = walk.outer * walk.inner, C_TYPES[dtype]
    mean, std = steps.workspace(count, COMPUTED[kind]), steps.workspace(count, COMPUTED[kind])
    steps += lines(
        count, walk.n, NORM, f"moments<{kind}>", IN[0], mean, std, walk, float(eps), **options
    )
    return mean, std


def _normalized(steps, prop, types, walk):
    """The outputs of `prop`, the second and third are mean and standard deviation: returns their
    dtypes."""
    kind, count = C_TYPES[types[0]], walk.outer * walk.inner
    kept = prop.infer_type(types, [None] * len(prop.list_outputs()))[1][1:]
    found = _moments(steps, types[0], walk, prop.eps, to=(0, 1 + len(kept)))
    for i, (moment, out) in enumerate(zip(found, kept), 1):
        if C_TYPES[out] == COMPUTED[kind]:
            steps += identity(count, out, moment, OUT[i])
        else:
            steps += each(
                count, "cast", f"cast<{COMPUTED[kind]}, {C_TYPES[out]}>", moment, OUT[i], count, ADD
            )
    steps += each(
        count * walk.n, NORM, f"normalize<{kind}>", IN[0], *found, IN[1], IN[2], OUT[0], walk, ADD
    )
    return kept


def _normalized_back(steps, kind, walk, mean, std):
    """Gradients of data, gamma and beta; those of gamma and beta first, since that of data may take
    the place of out_grad."""
    count = walk.outer * walk.inner
    if walk.channels == 0 and walk.inner == 1:
        _scales_of_rows(steps, kind, count, walk.n, mean, std)
    else:
        scales = walk.channels or walk.n
        for i, shift in ((1, False), (2, True)):
            steps += lines(
                scales,
                count * walk.n // scales,
                NORM,
                f"scale_grad<{kind}>",
                OUT_GRAD[0],
                IN[0],
                mean,
                std,
                IN_GRAD[i],
                walk,
                shift,
                ADD,
            )
    steps += lines(
        count,
        walk.n,
        NORM,
        f"normalize_grad<{kind}>",
        OUT_GRAD[0],
        IN[0],
        IN[1],
        mean,
        std,
        IN_GRAD[0],
        walk,
        ADD,
    )


def _scales_of_rows(steps, kind, rows, n, mean, std):
    """Gradients of gamma and beta along rows: both in one reading, by threads that take neighbours,
    in as many parts as keep a device busy."""
    parts = max(1, min(_ENOUGH_ROWS // max(n, 1), rows // 16, 256))
    sums = steps.workspace(n * parts, "double"), steps.workspace(n * parts, "double")
    launch = each(
        n,
        NORM,
        f"scale_grad_parts<{kind}>",
        OUT_GRAD[0],
        IN[0],
        mean,
        std,
        *sums,
        rows,
        n,
        to=(1, 2),
    )
    launch.grid = (launch.grid[0], parts, 1)
    steps += launch
    for i, found in zip((1, 2), sums):
        steps += lines(
            n,
            32,
            "reduce",
            f"merge_parts<cynet::sum, {kind}>",
            found,
            IN_GRAD[i],
            n,
            parts,
            1.0,
            ADD,
        )


@form(LayerNormProperty)
def layer_norm(prop, shapes, types, device):
    walk, kind = Line(*split_at(shapes[0], prop.position(shapes[0])), 0), C_TYPES[types[0]]
    forward, backward = Steps(), Steps()
    kept = _normalized(forward, prop, types, walk)
    known = [
        backward.read(OUT[i], out, walk.outer * walk.inner, COMPUTED[kind], to=(0, 3))
        for i, out in enumerate(kept, 1)
    ]
    _normalized_back(backward, kind, walk, *known)
    return operator(device, forward, backward)


@form(InstanceNormProperty)
def instance_norm(prop, shapes, types, device):
    batch, channels, *size = shapes[0]
    return _each_normalized(prop, batch, channels, prod(size), types, device)


@form(GroupNormProperty)
def group_norm(prop, shapes, types, device):
    batch, *size = shapes[0]
    groups = prop.num_groups
    return _each_normalized(prop, batch, groups, prod(size) // groups, types, device)


def _each_normalized(prop, batch, channels, size, types, device):
    """Normalization of (batch, channels, size) along the last axis."""
    walk = Line(batch * channels, size, 1, channels)
    forward, backward = Steps(), Steps()
    _normalized(forward, prop, types, walk)
    found = _moments(backward, types[0], walk, prop.eps, to=(0, 3))
    _normalized_back(backward, C_TYPES[types[0]], walk, *found)
    return operator(device, forward, backward)


@form(Lines, Elements)
def declared_kernels(prop, shapes, types, device):
    """Both kernels of a declaration: tensors, lines or how many elements, the other parameters, and
    whether to add."""
    params, kind, found = prop.kernel_params(shapes), C_TYPES[types[0]], []
    if isinstance(prop.gpu, Lines):
        walk = Line(*(params.pop(name) for name in ("outer", "n", "inner")), 0)
    places = prop.named(IN, OUT, OUT_GRAD, IN_GRAD)
    for kernel in (prop.forward, prop.backward):
        steps, name = Steps(), f"{kernel.name}<{kind}>"
        tensors = [places[tensor] for tensor in (*kernel.reads, *kernel.writes)]
        if isinstance(prop.gpu, Lines):
            steps += lines(
                walk.outer * walk.inner,
                walk.n,
                prop.gpu.source,
                name,
                *tensors,
                walk,
                *params.values(),
                ADD,
            )
        else:
            n, names = prod(shapes[0]), kernels()[kernel.name][0]
            given = [params[key] if key in params else getattr(prop, key) for key in names]
            steps += each(n, prop.gpu.source, name, *tensors, n, *given, ADD)
        found.append(steps)
    return operator(device, *found)


class Neighbours(ctypes.Structure):
    """Channels whose squares are summed (normalization.cu)."""

    _fields_ = [(name, LONG) for name in ("batch", "channels", "inner", "size")]
    _fields_ += [(name, ctypes.c_double) for name in ("alpha", "beta", "knorm")]


@form(LRNProperty)
def local_response(prop, shapes, types, device):
    shape, kind = shapes[0], C_TYPES[types[0]]
    n = prod(shape)
    around = Neighbours(
        shape[0], shape[1], prod(shape[2:]), prop.nsize, prop.alpha, prop.beta, prop.knorm
    )
    forward, backward = Steps(), Steps()
    forward += each(n, NORM, f"local_response<{kind}>", IN[0], OUT[0], around, ADD)
    parts = backward.workspace(n, kind), backward.workspace(n, kind)
    backward += each(
        n, NORM, f"local_response_parts<{kind}>", OUT_GRAD[0], IN[0], *parts, around, to=(0, 1)
    )
    backward += each(
        n, NORM, f"local_response_grad<{kind}>", OUT_GRAD[0], IN[0], *parts, IN_GRAD[0], around, ADD
    )
    return operator(device, forward, backward)


# --- rectifiers ----------------------------------------------------------------------------------
@form(LeakyReLUProperty)
def leaky_relu(prop, shapes, types, device):
    n, dtype = prod(shapes[0]), types[0]
    if prop.act_type == "prelu":
        return _learned(device, n, C_TYPES[dtype], shapes)
    if prop.act_type == "rrelu":
        return _random_slopes(prop, device, n, dtype)
    forward, backward = Steps(), Steps()
    forward += _rectified(device, prop.act_type, prop.slope, n, dtype)
    kind, slope = C_TYPES[dtype], constant(device, prop.slope, dtype, C_TYPES[dtype])
    backward += each(
        n,
        "elementwise",
        f"binary_grad<cynet::functor::{prop.act_type}_grad, {kind}>",
        OUT_GRAD[0],
        IN[0],
        True,
        slope,
        False,
        IN_GRAD[0],
        n,
        ADD,
    )
    return operator(device, forward, backward)


def _rectified(device, functor, slope, n, dtype, **options):
    kind = C_TYPES[dtype]
    number = constant(device, slope, dtype, kind)
    return each(
        n,
        "elementwise",
        f"binary<cynet::functor::{functor}, {kind}>",
        IN[0],
        True,
        number,
        False,
        OUT[0],
        n,
        ADD,
        **options,
    )


def _learned(device, n, kind, shapes):
    channels, inner = slopes_of(*shapes)
    forward, backward = Steps(), Steps()
    forward += each(
        n, NORM, f"sloped<{kind}>", IN[0], IN[1], IN[0], OUT[0], n, channels, inner, ADD
    )
    # first: the gradient of data may take the place of out_grad
    backward += lines(
        channels,
        n // channels,
        NORM,
        f"slopes_grad<{kind}>",
        OUT_GRAD[0],
        IN[0],
        IN_GRAD[1],
        n,
        channels,
        inner,
        ADD,
    )
    backward += each(
        n, NORM, f"sloped<{kind}>", IN[0], IN[1], OUT_GRAD[0], IN_GRAD[0], n, channels, inner, ADD
    )
    return operator(device, forward, backward)


def _random_slopes(prop, device, n, dtype):
    kind, low, high = C_TYPES[dtype], prop.lower_bound, prop.upper_bound
    forward, backward = Steps(), Steps()
    forward += draw(n, kind, OUT[1], kUniform, low, high, add=False, to=(0, 0), when=("training",))
    forward += each(
        n,
        NORM,
        f"sloped<{kind}>",
        IN[0],
        OUT[1],
        IN[0],
        OUT[0],
        n,
        n,
        1,
        ADD,
        to=(0, 1),
        when=("training",),
    )
    middle, predicting = (low + high) / 2, {"when": ("predicting",)}
    forward += _rectified(device, "leaky", middle, n, dtype, **predicting)
    forward += each(n, "fill", f"progression<{kind}>", OUT[1], n, middle, 0.0, 1, ADD, **predicting)
    backward += each(
        n, NORM, f"sloped<{kind}>", IN[0], OUT[1], OUT_GRAD[0], IN_GRAD[0], n, n, 1, ADD
    )
    return operator(device, forward, backward)


# --- dropout -------------------------------------------------------------------------------------
class Repeats(ctypes.Structure):
    """Data and a mask that repeats along some axes (random.cu)."""

    _fields_ = [("n", LONG), ("ndim", INT), ("shape", LONG * 8), ("stride", LONG * 8)]


@form(DropoutProperty)
def dropout(prop, shapes, types, device):
    shape, dtype = shapes[0], types[0]
    n, kind = prod(shape), C_TYPES[dtype]
    small = [1 if axis in prop.axes else m for axis, m in enumerate(shape)]
    kept = prod(small)
    own = [0 if axis in prop.axes else s for axis, s in enumerate(strides_of(small))]
    lengths, (steps,) = collapse(shape, own)
    walk = Repeats(n, len(lengths), axis_list(lengths), axis_list(steps))
    scale = 1 / (1 - prop.p) if prop.p < 1 else 0.0
    always = prop.mode == "always"
    training = {} if always else {"when": ("training",)}
    forward, backward = Steps(), Steps()
    forward += each(
        kept, "random", "dropout_mask", OUT[1], kept, float(prop.p), RANDOM, to=(0, 0), **training
    )
    forward += each(
        n,
        "random",
        f"masked<{kind}>",
        IN[0],
        OUT[1],
        OUT[0],
        walk,
        scale,
        ADD,
        to=(0, 1),
        **training,
    )
    backward += each(
        n,
        "random",
        f"masked<{kind}>",
        OUT_GRAD[0],
        OUT[1],
        IN_GRAD[0],
        walk,
        scale,
        ADD,
        **training,
    )
    if not always:
        predicting = {"when": ("predicting",)}
        forward += each(
            kept,
            "fill",
            "progression<bool>",
            OUT[1],
            kept,
            1.0,
            0.0,
            1,
            False,
            to=(0, 0),
            **predicting,
        )
        forward += identity(n, dtype, IN[0], OUT[0], **predicting)
        backward += identity(n, dtype, OUT_GRAD[0], IN_GRAD[0], **predicting)
    return operator(device, forward, backward)


# --- upsampling ----------------------------------------------------------------------------------
@form(UpSamplingProperty)
def upsampling(prop, shapes, types, device):
    (out,) = prop.output_shapes(shapes)
    scale = prop.scale
    if prop.sample_type == "bilinear":
        k, pad = 2 * scale - scale % 2, scale // 2
        same = DeconvolutionProperty(
            kernel=(k, k),
            stride=(scale, scale),
            pad=(pad, pad),
            num_filter=prop.num_filter,
            num_group=prop.num_filter,
            no_bias=True,
        )
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
        walk = layout(whole, large, small, begin)
        forward += each(
            walk.n, "index", f"copy<{kind}>", IN[i], OUT[0], walk, True if sums and i else ADD
        )
        kept, (kept_steps,) = collapse((batch, count, h, w), [large[k] for k in (0, 1, 2, 4)])
        gone, (gone_steps,) = collapse((by, by), [large[k] for k in (3, 5)])
        walk = Axes(
            prod(kept),
            prod(gone),
            len(kept),
            len(gone),
            axis_list(kept),
            axis_list(kept_steps),
            axis_list(gone),
            axis_list(gone_steps),
        )
        fold(backward, "sum", kind, OUT_GRAD[0].at(begin * BYTES[kind]), IN_GRAD[i], walk)
        first += 0 if sums else count
    return operator(device, forward, backward)
