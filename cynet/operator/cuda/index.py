"""GPU forms of operators that read and write by index, of sequences, and of choices by value."""

import ctypes
from math import prod

from ..nn.embedding import EmbeddingProperty
from ..sparse.retain import RetainProperty
from ..tensor.axes import axis_of
from ..tensor.sequence import SequenceLastProperty, SequenceMaskProperty, SequenceReverseProperty
from ..tensor.take import (
    MODES,
    BatchTakeProperty,
    GatherNDProperty,
    OneHotProperty,
    PickProperty,
    ScatterAddNDProperty,
    ScatterNDProperty,
    TakeProperty,
)
from ..tensor.where_clip import ClipProperty, HardSigmoidProperty, WhereProperty
from .kernel_args import C_TYPES, INT, LONG, c_int64_array
from .launch_program import convert, fill_range, launch_form, zeros
from .launch_steps import ADD, IN, IN_GRAD, NULL, OUT, OUT_GRAD, Check, launch_each

SOURCE = "where_clip"  # CUDA file with where, clip and hard_sigmoid


def indices(steps, array, dtype, count, n, mode, refusal, low=0, at=0, **options):
    """Convert `array` to int64 indices within [low, low + n), in a workspace.

    `mode` is one of MODES; 'raise' waits for the device and refuses with the message `refusal`.
    """
    index = steps.reserve_bytes(count * 8)
    steps += convert(count, C_TYPES[dtype], "long long", array, index, False, **options)
    normalize_indices(steps, index, count, n, mode, refusal, low, **options)
    return index


def normalize_indices(steps, index, count, n, mode, refusal, low=0, **options):
    """Bring int64 indices within [low, low + n); with `mode` "end" negative ones count from the
    end, and other outside ones are refused."""
    wrong = NULL
    if mode in ("raise", "end"):
        wrong = steps.reserve_bytes(16)
        steps += launch_each(16, "fill", "zero_bytes", wrong, 16, **options)
    steps += launch_each(
        count, "index", "bound_indices", index, count, low, n, _mode_number(mode), wrong, **options
    )
    if mode in ("raise", "end"):
        steps += Check(wrong, refusal, **options)


def _mode_number(mode):  # of MODES in the kernel
    return INT((*MODES, "end").index(mode))


def _bounds_message(prop, n):
    return (
        f"operator {prop.op_name}: index {{}} is out of bounds for an axis of length {n};"
        f" there are 0 to {n - 1}"
    )


@launch_form(TakeProperty, EmbeddingProperty)
def take(prop, shapes, types, forward, backward):
    if isinstance(prop, TakeProperty):
        data, index, mode = 0, 1, prop.mode
        outer, n, inner = prop.split_at_axis(shapes[0], axis_of(prop.axis, len(shapes[0])))
    else:
        data, index, mode = 1, 0, "clip"
        outer, n, inner = 1, prop.input_dim, prop.output_dim
    dtype, kind, count = types[data], C_TYPES[types[data]], prod(shapes[index])
    sizes = outer, n, inner, count
    settings = IN[index], types[index], count, n, mode, _bounds_message(prop, n)
    where = indices(forward, *settings)
    size = outer * count * inner
    forward += launch_each(size, "index", f"gather<{kind}>", IN[data], where, OUT[0], *sizes, ADD)
    backward += zeros(shapes[data], dtype, IN_GRAD[data])
    backward += zeros(shapes[index], types[index], IN_GRAD[index])
    where = indices(backward, *settings, to=(data, 1))
    arrays = OUT_GRAD[0], where, IN_GRAD[data]
    backward += launch_each(size, "index", f"scatter_add<{kind}>", *arrays, *sizes)


@launch_form(RetainProperty)
def retain_form(prop, shapes, types, forward, backward):
    n, inner, count = shapes[0][0], prod(shapes[0][1:]), prod(shapes[1])
    settings = IN[1], types[1], count, n, "raise", _bounds_message(prop, n)

    def retain_rows(steps, x, y):
        marks = steps.reserve_bytes(n)
        where = indices(steps, *settings)
        steps += launch_each(n, "fill", "zero_bytes", marks, n)
        steps += launch_each(count, "index", "mark_rows", where, marks, count)
        name = f"retain_rows<{C_TYPES[types[0]]}>"
        steps += launch_each(n * inner, "index", name, x, marks, y, n, inner, ADD)

    retain_rows(forward, IN[0], OUT[0])
    retain_rows(backward, OUT_GRAD[0], IN_GRAD[0])
    backward += zeros(shapes[1], types[1], IN_GRAD[1])


@launch_form(PickProperty, BatchTakeProperty)
def pick(prop, shapes, types, forward, backward):
    axis = prop.axis if isinstance(prop, PickProperty) else -1
    mode = prop.mode if isinstance(prop, PickProperty) else "clip"
    outer, n, inner = prop.split_at_axis(shapes[0], axis_of(axis, len(shapes[0])))
    kind, count, sizes = C_TYPES[types[0]], outer * inner, (outer, n, inner)
    settings = IN[1], types[1], count, n, mode, _bounds_message(prop, n)
    where = indices(forward, *settings)
    forward += launch_each(count, "index", f"pick<{kind}>", IN[0], where, OUT[0], *sizes, ADD)
    backward += zeros(shapes[0], types[0], IN_GRAD[0])
    backward += zeros(shapes[1], types[1], IN_GRAD[1])
    where = indices(backward, *settings)
    arrays = OUT_GRAD[0], where, IN_GRAD[0]
    backward += launch_each(count, "index", f"pick_grad<{kind}>", *arrays, *sizes)


@launch_form(OneHotProperty)
def one_hot(prop, shapes, types, forward, backward):
    count, depth = prod(shapes[0]), prop.depth
    index = forward.reserve_bytes(count * 8)
    forward += convert(count, C_TYPES[types[0]], "long long", IN[0], index, False)
    arguments = index, OUT[0], count, depth, float(prop.on_value), float(prop.off_value), ADD
    forward += launch_each(count * depth, "index", f"one_hot<{C_TYPES[prop.dtype]}>", *arguments)


class LengthArgs(ctypes.Structure):  # kernel argument: lengths of the indexed axes
    """The lengths of the axes that index tuples address (index.cu)."""

    _fields_ = [("ndim", INT), ("lengths", LONG * 8)]


def _row_major_indices(steps, prop, shape, dtype, lengths):
    """Compute the row-major index of each index tuple in input 1."""
    k, count = shape[0], prod(shape[1:])
    index = steps.reserve_bytes(k * count * 8)
    steps += convert(k * count, C_TYPES[dtype], "long long", IN[1], index, False)
    for a, n in enumerate(lengths):
        refusal = f"operator {prop.op_name}: index {{}} is out of bounds for axis {a} of length {n}"
        normalize_indices(steps, index.offset_by(a * count * 8), count, n, "end", refusal)
    flat = steps.reserve_bytes(count * 8)
    walk = LengthArgs(k, c_int64_array(lengths))
    steps += launch_each(count, "index", "flatten_index", index, flat, count, walk)
    return flat, count


@launch_form(GatherNDProperty, ScatterNDProperty, ScatterAddNDProperty)
def gather_scatter_nd(prop, shapes, types, forward, backward):
    gathers, kind = isinstance(prop, GatherNDProperty), C_TYPES[types[0]]
    whole, k = (shapes[0] if gathers else prop.shape), shapes[1][0]
    lengths, inner = whole[:k], prod(whole[k:])
    n = prod(lengths)

    def gather(steps, x, y):
        flat, m = _row_major_indices(steps, prop, shapes[1], types[1], lengths)
        steps += launch_each(m * inner, "index", f"gather<{kind}>", x, flat, y, 1, n, inner, m, ADD)

    def scatter(steps, x, y, last_wins):
        flat, m = _row_major_indices(steps, prop, shapes[1], types[1], lengths)
        steps += zeros(whole, types[0], y)
        when = {"when": ("add",)} if last_wins else {}
        given = f"scatter_add<{kind}>", x, flat, y, 1, n, inner, m
        steps += launch_each(m * inner, "index", *given, **when)
        if last_wins:
            winner, when = steps.reserve_bytes(n * 8), {"when": ("write",)}
            steps += fill_range(n, "long long", winner, -1.0, add=False, **when)
            steps += launch_each(m, "index", "claim_rows", flat, winner, m, **when)
            given = f"scatter<{kind}>", x, flat, winner, y, inner, m, False
            steps += launch_each(m * inner, "index", *given, **when)

    backward += zeros(shapes[1], types[1], IN_GRAD[1])
    if gathers:
        gather(forward, IN[0], OUT[0])
        scatter(backward, OUT_GRAD[0], IN_GRAD[0], False)
    else:
        scatter(forward, IN[0], OUT[0], not isinstance(prop, ScatterAddNDProperty))
        gather(backward, OUT_GRAD[0], IN_GRAD[0])


@launch_form(SequenceMaskProperty, SequenceLastProperty, SequenceReverseProperty)
def sequence_form(prop, shapes, types, forward, backward):
    shape, kind = shapes[0], C_TYPES[types[0]]
    batch_first = prop.axis == 1
    time, batch, inner = shape[prop.axis], shape[1 - prop.axis], prod(shape[2:])
    masks = isinstance(prop, SequenceMaskProperty)
    last = isinstance(prop, SequenceLastProperty)
    least = 1 if last else 0
    refusal = f"{prop.op_name}: sequence_length {{}} is outside of {least} to {time}"
    for steps, x, y in ((forward, IN[0], OUT[0]), (backward, OUT_GRAD[0], IN_GRAD[0])):
        length = NULL
        if prop.use_sequence_length:
            mode = "clip" if masks else "raise"
            length = indices(steps, IN[1], types[1], batch, time + 1 - least, mode, refusal, least)
        if masks:
            value = float(prop.value) if steps is forward else 0.0
            sizes = time, batch, inner, batch_first
            given = f"sequence_mask<{kind}>", x, length, y, *sizes, value, ADD
            steps += launch_each(time * batch * inner, "index", *given)
            continue
        m = batch if last else time * batch
        rows = steps.reserve_bytes(m * 8)
        steps += launch_each(
            m, "index", "sequence_rows", length, rows, time, batch, batch_first, last
        )
        if steps is forward:
            given = f"gather<{kind}>", x, rows, y, 1, time * batch, inner, m, ADD
            steps += launch_each(m * inner, "index", *given)
        else:
            if last:
                steps += zeros(shape, types[0], y)
            steps += launch_each(
                m * inner, "index", f"scatter<{kind}>", x, rows, NULL, y, inner, m, ADD
            )
    if prop.use_sequence_length:
        backward += zeros(shapes[1], types[1], IN_GRAD[1])


@launch_form(WhereProperty)
def where(prop, shapes, types, forward, backward):
    n, conditions, kind = prod(shapes[1]), prod(shapes[0]), C_TYPES[types[1]]

    def write_condition(steps, to):
        mask = steps.reserve_bytes(conditions)
        steps += convert(conditions, C_TYPES[types[0]], "bool", IN[0], mask, False, to=to)
        return mask

    name, last, mask = f"where<{kind}>", (n, n // conditions, ADD), write_condition(forward, (0, 1))
    forward += launch_each(n, SOURCE, name, mask, IN[1], IN[2], OUT[0], *last)
    backward += zeros(shapes[0], types[0], IN_GRAD[0])
    mask = write_condition(backward, (1, 2))
    for i, operands in ((1, (OUT_GRAD[0], NULL)), (2, (NULL, OUT_GRAD[0]))):
        backward += launch_each(n, SOURCE, name, mask, *operands, IN_GRAD[i], *last)


@launch_form(ClipProperty)
def clip(prop, shapes, types, forward, backward):
    n, kind = prod(shapes[0]), C_TYPES[types[0]]
    last = n, float(prop.a_min), float(prop.a_max), ADD
    forward += launch_each(n, SOURCE, f"clip<{kind}>", IN[0], OUT[0], *last)
    backward += launch_each(n, SOURCE, f"clip_grad<{kind}>", OUT_GRAD[0], IN[0], IN_GRAD[0], *last)


@launch_form(HardSigmoidProperty)
def hard_sigmoid(prop, shapes, types, forward, backward):
    n, kind, slope = prod(shapes[0]), C_TYPES[types[0]], float(prop.alpha)
    numbers, arrays = (n, slope, float(prop.beta)), (OUT_GRAD[0], OUT[0], IN_GRAD[0])
    forward += launch_each(n, SOURCE, f"hard_sigmoid<{kind}>", IN[0], OUT[0], *numbers, ADD)
    backward += launch_each(n, SOURCE, f"hard_sigmoid_grad<{kind}>", *arrays, n, slope, ADD)
