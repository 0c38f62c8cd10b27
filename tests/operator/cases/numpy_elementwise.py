"""Cases of the functions of elements that MXNet has in mx.np alone."""

import numpy as np

from .case import Case, Input, away_from_zero, ints, off_integers

S = (3, 4)
WHOLE = ("int32", "int64", "int8", "uint8")
FLOATS = ("float32", "float64", "float16")
BELOW, NUMBERS = ints(0, 7), ints(1, 20)


def special(rng, shape):
    """Domain of numbers with NaN, infinities and zeros of both signs among them."""
    out = rng.uniform(-2, 2, shape)
    out.flat[:5] = np.nan, np.inf, -np.inf, 0.0, -0.0
    return out


def apart(rng, shape):
    """Domain of numbers whose products with 3 stay apart from each other's."""
    return rng.choice([-2.3, -1.4, -0.6, 0.7, 1.3, 2.6], shape)


def divisors(rng, shape):
    return rng.choice([-3, -2, -1, 1, 2, 5], shape)


def bitwise_not(x):
    return np.invert(x.astype(np.int64)).astype(x.dtype)


UNARY = [
    Case("_npi_bitwise_not", [Input(S, ints(0, 9))], bitwise_not, grad=False, back=(0,),
         dtypes=WHOLE),
    *[
        Case(f"_npi_{function.__name__}", [Input(S, special)], function, grad=False, back=(0,),
             dtypes=FLOATS)
        for function in (np.isnan, np.isinf, np.isfinite, np.signbit)
    ],
]  # fmt: skip

# NumPy's function, domains of both sides, differentiable, dtypes
BINARY = {
    "arctan2": (np.arctan2, away_from_zero, away_from_zero, True, FLOATS),
    "copysign": (np.copysign, away_from_zero, away_from_zero, True, FLOATS),
    "ldexp": (lambda a, b: a * 2.0**b, away_from_zero, (-2, 2), True, FLOATS),
    "logaddexp": (np.logaddexp, (-2, 2), (-2, 2), True, FLOATS),
    "fmod": (np.fmod, apart, lambda rng, s: rng.choice([-1.0, 1.0, 2.0], s), True, FLOATS),
    "fmax": (np.fmax, apart, off_integers, True, FLOATS),
    "fmin": (np.fmin, apart, off_integers, True, FLOATS),
    "floor_divide": (np.floor_divide, ints(-7, 8), divisors, False, (*FLOATS, *WHOLE[:3])),
    "nextafter": (np.nextafter, (-2, 2), (-2, 2), False, ("float32", "float64")),
    "bitwise_and": (np.bitwise_and, BELOW, BELOW, False, (*WHOLE, "bool")),
    "bitwise_or": (np.bitwise_or, BELOW, BELOW, False, (*WHOLE, "bool")),
    "bitwise_xor": (np.bitwise_xor, BELOW, BELOW, False, (*WHOLE, "bool")),
    "bitwise_left_shift": (np.left_shift, BELOW, ints(0, 4), False, WHOLE),
    "bitwise_right_shift": (np.right_shift, NUMBERS, ints(0, 4), False, WHOLE),
    "gcd": (np.gcd, NUMBERS, NUMBERS, False, WHOLE),
    "lcm": (np.lcm, ints(1, 11), ints(1, 11), False, WHOLE),
}


def as_given(function):
    """`function` of arrays, in their dtype: NumPy's own of integers may be another."""
    return lambda a, b: np.asarray(function(a, b)).astype(a.dtype)


def forms():
    for name, (function, lhs, rhs, grad, dtypes) in BINARY.items():
        of_two = as_given(function)
        for left, right in (((2, 3, 4), (2, 3, 4)), ((1, 4), (2, 3, 1))):
            yield Case(f"_npi_{name}", [Input(left, lhs), Input(right, rhs)], of_two,
                       note=f"{left}{right}", grad=grad, dtypes=dtypes)  # fmt: skip
        number = 0.9 if grad or name == "nextafter" else 3.0
        dtypes = tuple(each for each in dtypes if each != "bool")
        yield Case(f"_npi_{name}_scalar", [Input(S, lhs)],
                   lambda x, scalar, f=of_two: f(x, x.dtype.type(scalar)), {"scalar": number},
                   grad=grad, back=(0,), dtypes=dtypes)  # fmt: skip
        yield Case(f"_npi_r{name}_scalar", [Input(S, rhs)],
                   lambda x, scalar, f=of_two: f(x.dtype.type(scalar), x).astype(x.dtype),
                   {"scalar": number}, grad=grad, back=(0,), dtypes=dtypes)  # fmt: skip


CASES = [*UNARY, *forms()]
