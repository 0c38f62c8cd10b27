"""Functions of NumPy that MXNet has in ``mx.np`` alone: one row each.

Their operators are made in `of_elements.py`.
"""

import math

from ..functions.examples import shown
from ..functions.row import BITS, BOOL, FLOAT, INTEGERS, Binary, Form, Gradient, Unary
from ..precision import FLOAT32, Precision

_FLAT = Gradient("grad_one", "grad_one", False, False)
_FULL = Precision(FLOAT32)


def _unary(name, doc, example, **more):
    elements, output = example
    code = f"mx.nd.op._npi_{name}(mx.nd.array({elements}))"
    return Unary(
        f"_npi_{name}", doc, functor=name, method=False, example=shown(code, output), **more
    )


def _binary(name, doc, lhs, rhs, outputs, gradient=_FLAT, functor="", **more):
    """A function with operators of two arrays, and of an array and a number.

    `lhs`, `rhs`: elements of the arrays of the examples, whose dtype may follow; the number is the
    second one of `rhs`, the reflected one of `lhs`. `outputs`: what the examples print.
    """
    kind = ', dtype="int32"' if more.get("takes") else ""
    a, b = f"mx.nd.array({lhs}{kind})", f"mx.nd.array({rhs}{kind})"
    prefix, forms = "mx.nd.op._npi_", {}
    calls = {
        "broadcast": ("", f"({a}, {b})", "{}, of arrays that broadcast."),
        "scalar": ("_scalar", f"({a}, scalar={rhs[1]})", "{}, of an array and a number."),
        "reflected": ("_scalar", f"({b}, scalar={lhs[1]})", "{}, of a number and an array."),
    }
    for (form, (suffix, call, words)), output in zip(calls.items(), outputs):
        start = "r" if form == "reflected" else ""
        operator = f"_npi_{start}{name}{suffix}"
        code = prefix + operator.removeprefix("_npi_") + call
        forms[form] = Form(operator, words.format(doc), shown(code, output))
    return Binary("", functor or name, gradient, **forms, **more)


def _signs(F, a):
    return F._internal._npi_copysign(F.ones_like(a), a)


# fmt: off
UNARY = (
    _unary("bitwise_not", "Each bit turned over, of integers: ``-1 - data`` of signed ones.",
        ("[0, 5], dtype='int32'", "[-1 -6]"), takes=INTEGERS),
    _unary("isnan", "1 where an element is NaN, else 0.", ("[1, float('nan')]", "[0. 1.]"),
        result=BOOL),
    _unary("isinf", "1 where an element is infinite, else 0.", ("[1, float('-inf')]", "[0. 1.]"),
        result=BOOL),
    _unary("isfinite", "1 where an element is neither NaN nor infinite, else 0.",
        ("[1, float('inf')]", "[1. 0.]"), result=BOOL),
    _unary("signbit", "1 where an element is negative, or -0., else 0.", ("[-1, 2]", "[1. 0.]"),
        result=BOOL),
)
BINARY = (
    _binary("arctan2", "The angle of the point (rhs, lhs) in radians, within [-pi, pi]",
        [1, -1], [1, 0], ["[ 0.7853982 -1.5707964]", "[ 1.5707964 -1.5707964]",
            "[-0.7853982 -1.5707964]"],
        Gradient("arctan2_lgrad", "arctan2_rgrad"), result=FLOAT, amp=_FULL,
        derivatives=(lambda F, a, b: b / (F.square(a) + F.square(b)),
                     lambda F, a, b: -a / (F.square(a) + F.square(b)))),
    _binary("copysign", "lhs with the sign of rhs", [3, -4], [-1, 2],
        ["[-3.  4.]", "[3. 4.]", "[-4.  4.]"], Gradient("copysign_lgrad", "grad_zero"),
        result=FLOAT,
        derivatives=(lambda F, a, b: _signs(F, a) * _signs(F, b),
                     lambda F, a, b: F.zeros_like(b))),
    _binary("ldexp", "``lhs * 2 ** rhs``", [3, 5], [2, -1], ["[12.   2.5]", "[1.5 2.5]",
            "[20.   2.5]"], Gradient("ldexp_lgrad", "ldexp_rgrad"), result=FLOAT, amp=_FULL,
        derivatives=(lambda F, a, b: 2**b, lambda F, a, b: a * 2**b * math.log(2))),
    _binary("logaddexp", "``log(exp(lhs) + exp(rhs))``, without overflow", [0, 100], [0, 100],
        ["[  0.6931472 100.69315  ]", "[100.      100.69315]", "[100.      100.69315]"],
        Gradient("logaddexp_lgrad", "logaddexp_rgrad"), result=FLOAT, amp=_FULL,
        derivatives=(lambda F, a, b: F.sigmoid(a - b), lambda F, a, b: F.sigmoid(b - a))),
    _binary("fmod", "Remainder with the sign of lhs", [5, -5], [3, 3], ["[ 2. -2.]", "[ 2. -2.]",
            "[-2. -2.]"], Gradient("grad_one", "fmod_rgrad"),
        derivatives=(lambda F, a, b: F.ones_like(a), lambda F, a, b: -F.trunc(a / b))),
    _binary("fmax", "The larger of two elements; the number where one is NaN", [1, 5], [2, 3],
        ["[2. 5.]", "[3. 5.]", "[5. 5.]"], Gradient("fmax_lgrad", "fmax_rgrad"),
        derivatives=(lambda F, a, b: F.logical_or(a >= b, b != b),
                     lambda F, a, b: F.logical_not(F.logical_or(a >= b, b != b)))),
    _binary("fmin", "The smaller of two elements; the number where one is NaN", [1, 5], [2, 3],
        ["[1. 3.]", "[1. 3.]", "[2. 3.]"], Gradient("fmin_lgrad", "fmin_rgrad"),
        derivatives=(lambda F, a, b: F.logical_or(a <= b, b != b),
                     lambda F, a, b: F.logical_not(F.logical_or(a <= b, b != b)))),
    _binary("floor_divide", "The quotient, rounded towards minus infinity", [7, -7], [2, 2],
        ["[ 3. -4.]", "[ 3. -4.]", "[-4. -4.]"]),
    _binary("nextafter", "The number next to lhs in the direction of rhs", [1, 4], [2, 4],
        ["[1.0000001 4.       ]", "[1.0000001 4.       ]", "[3.9999998 4.       ]"], result=FLOAT),
    _binary("bitwise_and", "The bits that both elements have", [6, 5], [3, 4],
        ["[2 4]", "[4 4]", "[1 4]"], takes=BITS),
    _binary("bitwise_or", "The bits that an element has", [6, 5], [3, 4],
        ["[7 5]", "[6 5]", "[7 5]"], takes=BITS),
    _binary("bitwise_xor", "The bits that exactly one element has", [6, 5], [3, 4],
        ["[5 1]", "[2 1]", "[6 1]"], takes=BITS),
    _binary("bitwise_left_shift", "The bits of lhs moved up by rhs", [6, 5], [3, 1],
        ["[48 10]", "[12 10]", "[40 10]"], functor="left_shift", takes=INTEGERS),
    _binary("bitwise_right_shift", "The bits of lhs moved down by rhs", [6, 5], [3, 1],
        ["[0 2]", "[3 2]", "[0 2]"], functor="right_shift", takes=INTEGERS),
    _binary("gcd", "The greatest common divisor", [12, 18], [8, 12], ["[4 6]", "[12  6]", "[2 6]"],
        takes=INTEGERS),
    _binary("lcm", "The least common multiple", [4, 6], [6, 8], ["[12 24]", "[ 8 24]", "[ 6 24]"],
        takes=INTEGERS),
)
# fmt: on
