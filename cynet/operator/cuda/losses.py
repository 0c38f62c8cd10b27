"""GPU launches of softmax and of loss operators."""

import ctypes
from math import prod

from ...cuda.libraries.cudnn import is_cudnn_countable
from ...cuda.libraries.cudnn_maps import Softmax
from ..checks.index_dtype import IndexWrite, check_index_dtype
from ..loss.make_loss import BlockGradProperty, MakeLossProperty, PlainLossProperty
from ..loss.regression_output import RegressionOutputProperty
from ..loss.softmax_cross_entropy import SoftmaxCrossEntropyProperty
from ..loss.softmax_output import SoftmaxOutputProperty
from ..loss.svm_output import SVMOutputProperty
from ..nn.softmax import (
    LogSoftmaxProperty,
    SoftmaxActivationProperty,
    SoftmaxProperty,
    SoftminProperty,
)
from ..sparse.cast_storage import CastStorageProperty
from ..tensor.axes import sizes_around_axis
from ..update.whole_arrays import AllFiniteProperty, MultiAllFiniteProperty
from .cudnn_layer import CudnnForm
from .kernel_args import C_TYPES, INT, LONG
from .launch_program import Steps, apply_functor, fill_range, identity, launch_form, operator, zeros
from .launch_steps import (
    ADD,
    IN,
    IN_GRAD,
    NULL,
    OUT,
    OUT_GRAD,
    Launch,
    block_threads_for_line,
    launch_each,
    launch_lines,
)
from .registry import register_form


def launch_by_line(instance, sizes, arrays, *others, **options):
    """A launch for the lines along the middle of `sizes` (outer, n, inner): neighbouring threads
    take neighbouring lines, or share a line if its elements are contiguous or lines are few."""
    outer, n, inner = sizes
    count = outer * inner
    lanes = 1 if inner > 1 and count >= 2048 else block_threads_for_line(n)
    arguments = "softmax", instance, *arrays, outer, n, inner, lanes, *others
    return (
        launch_each(count, *arguments, **options)
        if lanes == 1
        else launch_lines(count, n, *arguments, **options)
    )


def softmax_lines(
    x, y, kind, sizes, temperature=1.0, log_of=False, lengths=NULL, add=ADD, **options
):
    """``y (+)= softmax(x / temperature)`` along the middle of `sizes`."""
    return launch_by_line(
        f"softmax<{kind}>", sizes, (x, y), 1 / temperature, log_of, lengths, add, **options
    )


def cudnn_softmax(dtype, sizes, log_of=False):
    """cuDNN's layer for a softmax along the middle of `sizes`; None if it has none."""
    return Softmax(dtype, sizes, log_of) if is_cudnn_countable(sizes) else None


def softmax_form(device, dtype, sizes, temperature=1.0, log_of=False, length_type=None):
    """The form of a softmax, with an input of lengths if `length_type` is their dtype. cuDNN
    supports neither lengths nor temperatures."""
    kind, (outer, _, inner) = C_TYPES[dtype], sizes
    if temperature == 1 and length_type is None:
        layer = cudnn_softmax(dtype, sizes, log_of)
        if layer is not None:
            return CudnnForm(device, layer)
    forward, backward = Steps(), Steps()

    def read_lengths(steps):
        if length_type is None:
            return NULL
        return steps.to_ctype(IN[1], length_type, outer * inner, "long long")

    forward += softmax_lines(IN[0], OUT[0], kind, sizes, temperature, log_of, read_lengths(forward))
    if length_type is not None:
        backward += zeros((outer * inner,), length_type, IN_GRAD[1])
    arrays, last = (OUT_GRAD[0], OUT[0], IN_GRAD[0]), (log_of, read_lengths(backward), ADD)
    backward += launch_by_line(f"softmax_grad<{kind}>", sizes, arrays, 1 / temperature, *last)
    return operator(device, forward, backward)


@register_form(SoftmaxProperty, LogSoftmaxProperty, SoftminProperty)
def softmax(prop, shapes, types, device):
    sizes = sizes_around_axis(shapes[0], prop.positive_axis(shapes[0]))
    length_type = types[1] if prop.use_length else None
    temperature = prop.sign * (prop.temperature or 1.0)
    return softmax_form(device, types[0], sizes, temperature, prop.log_of, length_type)


@register_form(SoftmaxActivationProperty)
def softmax_activation(prop, shapes, types, device):
    shape = shapes[0]
    if prop.mode == "channel":
        return softmax_form(device, types[0], (shape[0], shape[1], prod(shape[2:])))
    return softmax_form(device, types[0], (prod(shape[:-1]), shape[-1], 1))


class TargetArgs(ctypes.Structure):  # kernel argument: how labels are read
    """Kernel argument: how SoftmaxOutput's gradient reads the labels (softmax.cu)."""

    _fields_ = [(name, LONG) for name in ("outer", "n", "inner")]
    _fields_ += [(name, ctypes.c_double) for name in ("scale", "hit", "miss")]
    _fields_ += [("ignored", LONG), ("use_ignore", INT)]


def read_class_labels(steps, prop, shapes, types, n):
    """The labels, input 1, in data's dtype, which has to represent all `n` class indices."""
    if types[1] != types[0]:
        check_index_dtype(prop, [IndexWrite(("label as data's dtype", types[0], n))])
    return steps.to_ctype(IN[1], types[1], prod(shapes[1]), C_TYPES[types[0]], to=(0, 1))


def reserve_counter(steps, **options):
    """Reserve a counter in temporary memory, set to 0."""
    count = steps.reserve_bytes(8)
    steps += launch_each(8, "fill", "zero_bytes", count, 8, to=(0, 1), **options)
    return count


@register_form(SoftmaxOutputProperty)
def softmax_output(prop, shapes, types, device):
    (data, label), kind = shapes, C_TYPES[types[0]]
    if prop.multi_output:
        sizes = data[0], data[1], prod(data[2:])
    elif prop.preserve_shape:
        sizes = prod(data[:-1]), data[-1], 1
    else:
        sizes = data[0], prod(data[1:]), 1
    size, labels, (_, n, inner) = prod(data), prod(label), sizes
    forward, backward = Steps(), Steps()
    layer = cudnn_softmax(types[0], sizes)
    if layer is None:
        forward += softmax_lines(IN[0], OUT[0], kind, sizes)

    def make_form():
        if layer is None:
            return operator(device, forward, backward)
        return CudnnForm(device, layer, backward)

    dy = OUT_GRAD[0] if prop.out_grad else NULL
    backward += zeros(label, types[1], IN_GRAD[1])
    if label == data:  # probabilities
        given = backward.to_ctype(IN[1], types[1], size, kind, to=(0, 1))
        backward += _loss_gradient_launch(size, kind, given, dy, float(prop.grad_scale), False)
        return make_form()
    given = read_class_labels(backward, prop, shapes, types, n)
    counted, divisor = NULL, {"null": inner}.get(prop.normalization, labels)
    ignored = prop.ignored_class()
    if prop.normalization == "valid":
        counted, divisor = reserve_counter(backward), 1
        backward += launch_each(
            labels, "softmax", f"count_labels<{kind}>", given, labels, ignored, counted, to=(0, 1)
        )
    smooth = 0.0 if prop.multi_output else prop.smooth_alpha
    scale, miss = prop.grad_scale / divisor, smooth / (n - 1) if n > 1 else 0.0
    target = TargetArgs(*sizes, scale, 1 - smooth, miss, ignored, prop.use_ignore)
    arguments = OUT[0], given, dy, IN_GRAD[0], target, counted, ADD
    backward += launch_each(size, "softmax", f"softmax_output_grad<{kind}>", *arguments)
    return make_form()


def _loss_gradient_launch(n, kind, label, dy, scale, absolute):
    """Launch the gradient of a loss of (output - label), times `dy` unless `dy` is NULL."""
    arrays = OUT[0], label, dy, IN_GRAD[0]
    return launch_each(n, "loss", f"difference_grad<{kind}>", *arrays, n, scale, absolute, ADD)


@launch_form(AllFiniteProperty, MultiAllFiniteProperty)
def all_finite(prop, shapes, types, forward, backward):
    keep = not prop.init_output
    counted = reserve_counter(forward)
    for i, (shape, dtype) in enumerate(zip(shapes, types)):
        n, name = prod(shape), f"count_not_finite<{C_TYPES[dtype]}>"
        forward += launch_each(n, "loss", name, IN[i], n, counted, to=(0, 1))
    forward += Launch("loss", "is_count_zero", (counted, OUT[0], keep, ADD), (1, 1, 1), (1, 1, 1))


@launch_form(RegressionOutputProperty)
def regression_output(prop, shapes, types, forward, backward):
    n, kind = prod(shapes[0]), C_TYPES[types[0]]
    scale = prop.grad_scale / prod(shapes[1][1:])
    forward += apply_functor(n, prop.forward.name, kind, IN[0], OUT[0])
    backward += zeros(shapes[1], types[1], IN_GRAD[1])
    backward += _loss_gradient_launch(n, kind, IN[1], NULL, scale, prop.absolute)


@launch_form(BlockGradProperty, PlainLossProperty, MakeLossProperty, CastStorageProperty)
def constant_gradient(prop, shapes, types, forward, backward):
    n, dtype = prod(shapes[0]), types[0]
    kind = C_TYPES[dtype]
    forward += identity(n, dtype, IN[0], OUT[0])
    if isinstance(prop, CastStorageProperty):
        backward += identity(n, dtype, OUT_GRAD[0], IN_GRAD[0])
        return
    if isinstance(prop, BlockGradProperty):
        backward += zeros(shapes[0], dtype, IN_GRAD[0])
        return
    scale = float(getattr(prop, "grad_scale", 1.0))
    normalization = getattr(prop, "normalization", "null")
    if normalization == "valid":
        counted = reserve_counter(backward)
        above = IN[0], n, float(prop.valid_thresh), counted
        backward += launch_each(n, "loss", f"count_above<{kind}>", *above, to=(0, 1))
        backward += launch_each(
            n, "loss", f"divided_gradient<{kind}>", IN_GRAD[0], n, scale, counted, ADD
        )
        return
    if normalization == "batch":
        scale /= prod(shapes[0][:-1])
    backward += fill_range(n, kind, IN_GRAD[0], scale)


@launch_form(SVMOutputProperty)
def svm_output(prop, shapes, types, forward, backward):
    rows, classes, kind = shapes[0][0], prod(shapes[0][1:]), C_TYPES[types[0]]
    forward += identity(rows * classes, types[0], IN[0], OUT[0])
    backward += zeros(shapes[1], types[1], IN_GRAD[1])
    given = read_class_labels(backward, prop, shapes, types, classes)
    numbers = float(prop.margin), float(prop.regularization_coefficient), prop.use_linear
    arguments = OUT[0], given, IN_GRAD[0], rows, classes, *numbers, ADD
    backward += launch_each(rows * classes, "loss", f"hinge_grad<{kind}>", *arguments)


@launch_form(SoftmaxCrossEntropyProperty)
def cross_entropy(prop, shapes, types, forward, backward):
    (rows, classes), kind = shapes[0], C_TYPES[types[0]]
    size, whole = rows * classes, (rows, classes, 1)
    logs = forward.reserve(size, kind)
    forward += softmax_lines(IN[0], logs, kind, whole, 1.0, True, add=False, to=(0, 1))
    given = read_class_labels(forward, prop, shapes, types, classes)
    sizes = rows, classes, ADD
    forward += launch_lines(1, rows, "loss", f"cross_entropy<{kind}>", logs, given, OUT[0], *sizes)
    backward += zeros(shapes[1], types[1], IN_GRAD[1])
    soft = backward.reserve(size, kind)
    backward += softmax_lines(IN[0], soft, kind, whole, add=False, to=(0, 1))
    given = read_class_labels(backward, prop, shapes, types, classes)
    arrays = OUT_GRAD[0], soft, given, IN_GRAD[0]
    backward += launch_each(
        size, "loss", f"cross_entropy_grad<{kind}>", *arrays, rows, classes, ADD
    )
