"""GPU forms of reductions, searches for extremes, orders and running sums."""

import ctypes
from math import prod

from ...base.errors import ArgumentError
from ..checks.places import WIDE
from ..tensor.arg import ArgmaxChannelProperty, ArgProperty
from ..tensor.axes import axis_of, split_at
from ..tensor.reduce import ReduceProperty
from ..tensor.scan import CumSumProperty
from ..tensor.topk import OrderProperty
from .kernel_args import C_TYPES, LONG, axes, cast_target, space, stretched, strides_of
from .launch_program import Steps, computing, constant, fold, operator, zeros
from .launch_steps import ADD, IN, IN_GRAD, NULL, OUT, OUT_GRAD, SPACE, TARGET, Launch, each, lines
from .registry import form

_SORTED = 1024  # positions that a block sorts (sort.cu)


@form(ReduceProperty)
def reduce(prop, shapes, types, device):
    shape, dtype = shapes[0], types[0]
    n, kind = prod(shape), C_TYPES[dtype]
    reduced = prop.reduced(len(shape))
    walk = axes(shape, reduced)
    divisor = float(walk.reduced_size) if prop.mean else 1.0
    forward, backward = Steps(), Steps()
    fold(forward, prop.reduction, kind, IN[0], OUT[0], walk, divisor)
    kept = stretched([1 if i in reduced else m for i, m in enumerate(shape)], shape)
    name, kind = computing("broadcast_grad", prop.gradient, dtype, "broadcast")
    g = backward.read(OUT_GRAD[0], dtype, walk.kept_size, kind)
    if prop.reads:
        x = backward.read(IN[0], dtype, n, kind)
        y = backward.read(OUT[0], dtype, walk.kept_size, kind)
        spread = space(shape, strides_of(shape), kept, kept)
    else:  # the factor is one number, which stands for both
        x = y = constant(device, 1 / divisor, dtype, kind)
        spread = space(shape, *[(0,) * len(shape)] * 2, kept)
    backward.write(
        IN_GRAD[0], dtype, n, kind, each(n, "broadcast", name, g, x, y, TARGET, spread, ADD)
    )
    return operator(device, forward, backward)


def _line(count, length, instance, *arguments):
    """A launch of sort.cu whose blocks, of 512 threads at most, take a line each."""
    return lines(count, length, "sort", instance, *arguments)


@form(ArgProperty, ArgmaxChannelProperty)
def extreme(prop, shapes, types, device):
    shape = shapes[0]
    if isinstance(prop, ArgmaxChannelProperty):
        outer, n, inner = split_at(shape, 1)
    elif prop.axis is None:
        outer, n, inner = 1, prod(shape), 1
    else:
        outer, n, inner = split_at(shape, axis_of(prop.axis, len(shape)))
    forward = Steps()
    kinds = C_TYPES[types[0]], C_TYPES[WIDE.get(types[0], types[0])]
    forward += _line(
        outer * inner,
        n,
        f"extreme<{', '.join(kinds)}>",
        IN[0],
        OUT[0],
        outer,
        n,
        inner,
        prop.op_name != "argmin",
        ADD,
    )
    return operator(device, forward)


@form(CumSumProperty)
def running_sum(prop, shapes, types, device):
    shape, kind = shapes[0], C_TYPES[types[0]]
    outer, n, inner = 1, prod(shape), 1
    if prop.axis is not None:
        outer, n, inner = split_at(shape, axis_of(prop.axis, len(shape)))
    forward, backward = Steps(), Steps()
    for steps, x, y, reverse in (
        (forward, IN[0], OUT[0], False),
        (backward, OUT_GRAD[0], IN_GRAD[0], True),
    ):
        steps += _line(
            outer * inner, n, f"running_sum<{kind}>", x, y, outer, n, inner, reverse, ADD
        )
    return operator(device, forward, backward)


class Lines(ctypes.Structure):
    """An array (outer, n, inner) that is ordered along n (sort.cu)."""

    _fields_ = [(name, LONG) for name in ("outer", "n", "inner", "padded")]


def sort_steps(kind, x, order, lines_of, ascending, **options):
    """The launches that put the positions of each line into `order`, int32 (line, padded)."""
    count, padded = lines_of.outer * lines_of.inner, lines_of.padded
    chunk = min(padded, _SORTED)

    def near(first, last):
        blocks = min(count * padded // chunk, 1 << 16)
        return Launch(
            "sort",
            f"sort_near<{kind}>",
            [x, order, lines_of, first, last, ascending],
            (blocks, 1, 1),
            (chunk // 2, 1, 1),
            **options,
        )

    yield near(2, chunk)
    size = 2 * chunk
    while size <= padded:
        distance = size // 2
        while distance >= chunk:
            yield each(
                count * padded // 2,
                "sort",
                f"sort_far<{kind}>",
                x,
                order,
                lines_of,
                size,
                distance,
                ascending,
                **options,
            )
            distance //= 2
        yield near(size, size)
        size *= 2


@form(OrderProperty)
def ordered(prop, shapes, types, device):
    dtype, kind = types[0], C_TYPES[types[0]]
    shape, axis = prop.flat(shapes[0])
    outer, n, inner = split_at(shape, axis)
    if n >= 1 << 30:
        raise ArgumentError(f"operator {prop.op_name} orders less than 2 ** 30 elements, got {n}")
    padded = max(2, 1 << (n - 1).bit_length())
    line, k, given = Lines(outer, n, inner, padded), prop.count(n), prop.given()
    taken = outer * k * inner
    forward, backward = Steps(), Steps()
    order = forward.space(outer * inner * padded * 4)
    for step in sort_steps(kind, IN[0], order, line, prop.ascending(), to=(0, len(given))):
        forward += step
    for i, what in enumerate(given):
        if what == "value":
            forward += each(
                taken, "sort", f"take_order<{kind}>", IN[0], order, OUT[i], line, k, ADD
            )
        elif what == "mask":
            forward += zeros(shapes[0], dtype, OUT[i])
            forward += each(taken, "sort", f"put_order<{kind}>", NULL, order, OUT[i], line, k)
        else:
            index = forward.space(taken * 8)
            forward += each(taken, "sort", "order_positions", order, index, line, k, to=(i, 1))
            own = cast_target(prop.index_type())
            forward += each(taken, "cast", f"cast<long long, {own}>", index, OUT[i], taken, ADD)
    if prop.differentiable:
        backward.space(outer * inner * padded * 4)
        for step in sort_steps(kind, IN[0], SPACE[0], line, prop.ascending(), to=(0, 1)):
            backward += step
        backward += zeros(shapes[0], dtype, IN_GRAD[0])
        if "value" in given:
            backward += each(
                taken,
                "sort",
                f"put_order<{kind}>",
                OUT_GRAD[given.index("value")],
                SPACE[0],
                IN_GRAD[0],
                line,
                k,
            )
    return operator(device, forward, backward)
