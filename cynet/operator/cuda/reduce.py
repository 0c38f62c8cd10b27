"""GPU forms of reductions, searches for extremes, orders and running sums."""

import ctypes
from math import prod

from ...base.errors import ArgumentError
from ..checks.index_dtype import WIDER_DTYPES
from ..tensor.arg import ArgmaxChannelProperty, ArgProperty
from ..tensor.axes import axis_of, sizes_around_axis
from ..tensor.reduce import ReduceProperty
from ..tensor.scan import CumSumProperty
from ..tensor.topk import OrderProperty
from .kernel_args import C_TYPES, LONG, axes_of, broadcast_strides, cast_type, space_of, strides_of
from .launch_program import choose_kernel, constant, convert, fold, launch_form, zeros
from .launch_steps import (
    ADD,
    IN,
    IN_GRAD,
    NULL,
    OUT,
    OUT_GRAD,
    SPACE,
    TARGET,
    Launch,
    launch_each,
    launch_lines,
)

_SORTED_PER_BLOCK = 1024  # elements that one thread block sorts (sort.cu)


@launch_form(ReduceProperty)
def reduce_form(prop, shapes, types, forward, backward):
    shape, dtype = shapes[0], types[0]
    n, kind = prod(shape), C_TYPES[dtype]
    reduced = prop.reduced_axes(len(shape))
    walk = axes_of(shape, reduced)
    divisor = float(walk.reduced_size) if prop.mean else 1.0
    fold(forward, prop.reduction, kind, IN[0], OUT[0], walk, divisor)
    small = broadcast_strides([1 if i in reduced else m for i, m in enumerate(shape)], shape)
    name, kind = choose_kernel("broadcast_grad", prop.gradient, dtype, "broadcast")
    g = backward.to_ctype(OUT_GRAD[0], dtype, walk.preserved_size, kind)
    if prop.reads:
        x = backward.to_ctype(IN[0], dtype, n, kind)
        y = backward.to_ctype(OUT[0], dtype, walk.preserved_size, kind)
        spread = space_of(shape, strides_of(shape), small, small)
    else:  # the gradient uses the mean's divisor
        x = y = constant(forward.device, 1 / divisor, dtype, kind)
        spread = space_of(shape, *[(0,) * len(shape)] * 2, small)
    launch = launch_each(n, "broadcast", name, g, x, y, TARGET, spread, ADD)
    backward.add_launch(IN_GRAD[0], dtype, n, kind, launch)


def _line_sort_launch(instance, source, target, sizes, choice):
    """A launch of sort.cu whose blocks, of 512 threads at most, take a line each of `sizes` (outer,
    n, inner); `choice` is the kernel's bool."""
    outer, n, inner = sizes
    return launch_lines(outer * inner, n, "sort", instance, source, target, *sizes, choice, ADD)


@launch_form(ArgProperty, ArgmaxChannelProperty)
def argmax_argmin_form(prop, shapes, types, forward, backward):
    shape = shapes[0]
    if isinstance(prop, ArgmaxChannelProperty):
        outer, n, inner = sizes_around_axis(shape, 1)
    elif prop.axis is None:
        outer, n, inner = 1, prod(shape), 1
    else:
        outer, n, inner = sizes_around_axis(shape, axis_of(prop.axis, len(shape)))
    kinds = C_TYPES[types[0]], C_TYPES[WIDER_DTYPES.get(types[0], types[0])]
    sizes, largest = (outer, n, inner), prop.op_name != "argmin"
    forward += _line_sort_launch(f"find_extreme<{', '.join(kinds)}>", IN[0], OUT[0], sizes, largest)


@launch_form(CumSumProperty)
def running_sum_form(prop, shapes, types, forward, backward):
    shape, kind = shapes[0], C_TYPES[types[0]]
    sizes = 1, prod(shape), 1
    if prop.axis is not None:
        sizes = sizes_around_axis(shape, axis_of(prop.axis, len(shape)))
    name = f"running_sum<{kind}>"
    forward += _line_sort_launch(name, IN[0], OUT[0], sizes, False)
    backward += _line_sort_launch(name, OUT_GRAD[0], IN_GRAD[0], sizes, True)


class SortLineArgs(ctypes.Structure):  # kernel argument: sizes of sorted lines
    """Kernel argument: sizes of an array (outer, n, inner) that is sorted along n (sort.cu)."""

    _fields_ = [(name, LONG) for name in ("outer", "n", "inner", "padded")]


def sort_launches(kind, x, order, lines_of, ascending, **options):
    """The launches that write each line's sorted positions to `order`, int32 (line, padded)."""
    count, padded = lines_of.outer * lines_of.inner, lines_of.padded
    chunk, arrays, pairs = min(padded, _SORTED_PER_BLOCK), (x, order, lines_of), count * padded // 2

    def sort_chunks(first, last):
        blocks = min(count * padded // chunk, 1 << 16)
        given, sizes = (*arrays, first, last, ascending), ((blocks, 1, 1), (chunk // 2, 1, 1))
        return Launch("sort", f"sort_chunks<{kind}>", given, *sizes, **options)

    yield sort_chunks(2, chunk)
    size = 2 * chunk
    while size <= padded:
        distance = size // 2
        while distance >= chunk:
            given = *arrays, size, distance, ascending
            yield launch_each(pairs, "sort", f"sort_pass<{kind}>", *given, **options)
            distance //= 2
        yield sort_chunks(size, size)
        size *= 2


@launch_form(OrderProperty)
def ordering_form(prop, shapes, types, forward, backward):
    dtype, kind = types[0], C_TYPES[types[0]]
    shape, axis = prop.shape_and_axis(shapes[0])
    outer, n, inner = sizes_around_axis(shape, axis)
    if n >= 1 << 30:
        raise ArgumentError(f"operator {prop.op_name} orders less than 2 ** 30 elements, got {n}")
    padded = max(2, 1 << (n - 1).bit_length())
    line, k, given = (
        SortLineArgs(outer, n, inner, padded),
        prop.output_length(n),
        prop.output_kinds(),
    )
    taken = outer * k * inner
    order = forward.reserve_bytes(outer * inner * padded * 4)
    for step in sort_launches(kind, IN[0], order, line, prop.is_ascending(), to=(0, len(given))):
        forward += step
    for i, what in enumerate(given):
        if what == "value":
            arrays = IN[0], order, OUT[i]
            forward += launch_each(taken, "sort", f"gather_ordered<{kind}>", *arrays, line, k, ADD)
        elif what == "mask":
            forward += zeros(shapes[0], dtype, OUT[i])
            forward += launch_each(
                taken, "sort", f"scatter_ordered<{kind}>", NULL, order, OUT[i], line, k
            )
        else:
            index = forward.reserve_bytes(taken * 8)
            forward += launch_each(
                taken, "sort", "order_positions", order, index, line, k, to=(i, 1)
            )
            own = cast_type(prop.indices_dtype())
            forward += convert(taken, "long long", own, index, OUT[i])
    if prop.differentiable:
        backward.reserve_bytes(outer * inner * padded * 4)
        for step in sort_launches(kind, IN[0], SPACE[0], line, prop.is_ascending(), to=(0, 1)):
            backward += step
        backward += zeros(shapes[0], dtype, IN_GRAD[0])
        if "value" in given:
            arrays = OUT_GRAD[given.index("value")], SPACE[0], IN_GRAD[0]
            backward += launch_each(taken, "sort", f"scatter_ordered<{kind}>", *arrays, line, k)
