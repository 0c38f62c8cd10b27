"""GPU forms of random operators: the CPU's numbers from the same stream."""

import ctypes
from math import prod

from ..random.choice import MultinomialProperty, ShuffleProperty
from ..random.distributions import (
    LikeDistribution,
    RandintProperty,
    SampleDistribution,
    ScalarDistribution,
)
from .kernel_args import C_TYPES, INT, LONG, cast_type
from .launch_program import convert, launch_form, zeros
from .launch_steps import ADD, IN, IN_GRAD, NULL, OUT, OUT_GRAD, RANDOM, SIZE, Check, launch_each

kUniform = 0  # values of the enumeration in random_draw.h
_FLOAT_DTYPES = ("float32", "float64", "float16", "bfloat16")  # dtypes that are drawn


class DrawArgs(ctypes.Structure):  # kernel argument: distribution and parameters
    """Kernel argument: a distribution and its parameters (random.cu)."""

    _fields_ = [("a", ctypes.c_double), ("b", ctypes.c_double), ("each", LONG)]
    _fields_ += [("distribution", INT)]


def draw_launch(
    n, kind, out, distribution, a=0.0, b=0.0, arrays=(NULL, NULL), each_pair=1, add=ADD, **options
):
    """``out (+)=`` n draws of a distribution, whose parameters are numbers or arrays of double."""
    what = DrawArgs(a, b, each_pair, distribution)
    return launch_each(n, "random", f"draw<{kind}>", out, n, what, *arrays, RANDOM, add, **options)


@launch_form(ScalarDistribution, LikeDistribution)
def random_form(prop, shapes, types, forward, backward):
    numbers = [float(getattr(prop, name)) for name, *_ in prop.row.parameters]
    # the output's dtype may be inferred from its consumers: types has it
    known = types[:1] or [prop.dtype]
    for dtype in known if known[0] else _FLOAT_DTYPES:
        forward += draw_launch(SIZE, C_TYPES[dtype], OUT[0], prop.row.code, *numbers, dtype=dtype)


@launch_form(RandintProperty)
def randint_form(prop, shapes, types, forward, backward):
    for dtype in [prop.dtype] if prop.dtype else ("int32", "int64"):
        span = OUT[0], SIZE, prop.low, uint64_as_signed(prop.high - prop.low)
        name = f"draw_integers<{C_TYPES[dtype]}>"
        forward += launch_each(SIZE, "random", name, *span, RANDOM, ADD, dtype=dtype)


def uint64_as_signed(number):
    """Reinterpret an unsigned 64-bit number as a signed one.

    >>> uint64_as_signed(2**64 - 1)
    -1
    """
    return number - (1 << 64) if number >= 1 << 63 else number


@launch_form(SampleDistribution)
def sample_form(prop, shapes, types, forward, backward):
    sets, pairs = prod(shapes[0]), prod(prop.shape)
    arrays = [forward.to_ctype(IN[i], t, sets, "double") for i, t in enumerate(types)]
    arrays += [NULL] * (2 - len(arrays))
    for dtype in [prop.dtype] if prop.dtype else _FLOAT_DTYPES:
        given = {"arrays": arrays, "each_pair": pairs, "dtype": dtype}
        forward += draw_launch(SIZE, C_TYPES[dtype], OUT[0], prop.row.code, **given)


@launch_form(ShuffleProperty)
def shuffle_form(prop, shapes, types, forward, backward):
    rows, width = shapes[0][0], prod(shapes[0][1:])
    choice, order = forward.reserve(rows, "long long"), forward.reserve(rows, "long long")
    forward += launch_each(rows, "random", "draw_swaps", choice, rows, RANDOM)
    forward += launch_each(1, "random", "permutation", choice, order, rows)
    arguments = IN[0], order, OUT[0], 1, rows, width, rows, ADD
    forward += launch_each(rows * width, "index", f"gather<{C_TYPES[types[0]]}>", *arguments)


@launch_form(MultinomialProperty)
def multinomial_form(prop, shapes, types, forward, backward):
    shape, kind = shapes[0], C_TYPES[types[0]]
    k, rows = shape[-1], prod(shape[:-1])
    per_row = prod(prop.shape)
    n, outputs = rows * per_row, 2 if prop.get_prob else 1
    sums, choices = forward.reserve(rows * k, "double"), forward.reserve(n, "long long")
    wrong, always = forward.reserve_bytes(16), {"to": (0, 0)}
    forward += launch_each(16, "fill", "zero_bytes", wrong, 16, **always)
    forward += launch_each(
        rows, "random", f"weight_sums<{kind}>", IN[0], sums, rows, k, wrong, **always
    )
    forward += Check(
        wrong,
        f"operator {prop.op_name}: expected probabilities in row {{}} of data: its entries must "
        "not be negative, and one must be positive and all finite",
        **always,
    )
    forward += launch_each(
        n, "random", "draw_choices", sums, choices, n, k, per_row, RANDOM, to=(0, outputs)
    )
    forward += convert(n, "long long", cast_type(prop.dtype), choices, OUT[0])
    if prop.get_prob:
        arrays = IN[0], sums, choices, OUT[1]
        forward += launch_each(n, "random", f"log_probability<{kind}>", *arrays, n, k, per_row, ADD)
        backward += zeros(shape, types[0], IN_GRAD[0])
        choices = backward.to_ctype(OUT[0], prop.dtype, n, "long long")
        arrays = OUT_GRAD[1], IN[0], choices, IN_GRAD[0]
        backward += launch_each(
            n, "random", f"log_probability_grad<{kind}>", *arrays, n, k, per_row
        )
