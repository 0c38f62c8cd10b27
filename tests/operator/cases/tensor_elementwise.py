"""Cases of the unary, binary, scalar and broadcast families."""

import numpy as np
from scipy import special

from .case import Case, Input, away_from_zero, ints, off_integers

UNIT, POSITIVE, OVER_ONE = (-0.9, 0.9), (0.2, 2.0), (1.2, 3.0)
S = (3, 4)


def sign_nan(x):
    return np.nan_to_num(np.sign(x))


def rint_down(x):
    return np.where(x - np.floor(x) <= 0.5, np.floor(x), np.ceil(x))


def unary(op, reference, domain=(-2.0, 2.0), grad=True, **more):
    return Case(op, [Input(S, domain)], reference, grad=grad, back=(0,), **more)


LOOSE = {"float32": (1e-4, 1e-5), "float64": (1e-9, 1e-10)}
HALF = {"dtypes": ("float16", "float32", "float64")}
WHOLE = {"dtypes": ("float32", "float64", "float16", "int8", "int32", "int64")}

UNARY = [
    unary("_copy", lambda x: x, **WHOLE),
    unary("negative", lambda x: -x, **WHOLE),
    unary("abs", np.abs, away_from_zero, **WHOLE),
    unary("sign", sign_nan, grad=False, **WHOLE),
    unary("square", np.square, **WHOLE),
    unary("relu", lambda x: np.maximum(x, 0), away_from_zero, **WHOLE),
    unary(
        "logical_not",
        lambda x: x == 0,
        ints(0, 2),
        grad=False,
        dtypes=(*WHOLE["dtypes"], "uint8", "bool"),
    ),
    unary("zeros_like", np.zeros_like, grad=False, dtypes=(*WHOLE["dtypes"], "bool")),
    unary("ones_like", np.ones_like, grad=False, dtypes=(*WHOLE["dtypes"], "bool")),
    unary("exp", np.exp, **HALF),
    unary("log", np.log, POSITIVE, **HALF),
    unary("log2", np.log2, POSITIVE),
    unary("log10", np.log10, POSITIVE),
    unary("log1p", np.log1p, UNIT),
    unary("expm1", np.expm1),
    unary("sqrt", np.sqrt, POSITIVE, **HALF),
    unary("rsqrt", lambda x: 1 / np.sqrt(x), POSITIVE),
    unary("cbrt", np.cbrt, away_from_zero),
    unary("rcbrt", lambda x: 1 / np.cbrt(x), away_from_zero),
    unary("reciprocal", lambda x: 1 / x, away_from_zero, **HALF),
    unary("round", lambda x: np.sign(x) * np.floor(np.abs(x) + 0.5), off_integers, grad=False),
    unary("rint", rint_down, lambda rng, s: rng.integers(-6, 7, s) / 2, grad=False),
    unary("ceil", np.ceil, grad=False),
    unary("floor", np.floor, grad=False),
    unary("trunc", np.trunc, grad=False),
    unary("fix", np.trunc, grad=False),
    unary("sin", np.sin),
    unary("cos", np.cos),
    unary("tan", np.tan, UNIT),
    unary("arcsin", np.arcsin, UNIT),
    unary("arccos", np.arccos, UNIT),
    unary("arctan", np.arctan),
    unary("sinh", np.sinh),
    unary("cosh", np.cosh),
    unary("tanh", np.tanh, **HALF),
    unary("arcsinh", np.arcsinh),
    unary("arccosh", np.arccosh, OVER_ONE),
    unary("arctanh", np.arctanh, UNIT),
    unary("sigmoid", special.expit, **HALF),
    unary("softsign", lambda x: x / (1 + np.abs(x)), away_from_zero),
    unary("erf", special.erf),
    unary("erfinv", special.erfinv, UNIT),
    unary("gamma", special.gamma, POSITIVE, tolerance=LOOSE),
    unary("gammaln", special.gammaln, (0.3, 5.0), tolerance=LOOSE),
    *[
        unary(
            "_polygamma",
            lambda x, n=0: special.polygamma(n, x).astype(x.dtype),
            (0.3, 5.0),
            tolerance=LOOSE,
            params=params,
        )
        for params in ({}, {"n": 2})
    ],
    unary("degrees", np.degrees),
    unary("radians", np.radians),
]

# functor: NumPy function, domains of both sides, differentiable
DOMAINS = {
    "plus": (np.add, (-2, 2), (-2, 2), True),
    "minus": (np.subtract, (-2, 2), (-2, 2), True),
    "mul": (np.multiply, (-2, 2), (-2, 2), True),
    "div": (np.divide, (-2, 2), away_from_zero, True),
    "mod": (np.mod, off_integers, lambda rng, s: rng.choice([-1.0, 1.0, 2.0], s), (0,)),
    "power": (np.power, POSITIVE, (-2, 2), True),
    "maximum": (np.maximum, (-2, 2), (-2, 2), True),
    "minimum": (np.minimum, (-2, 2), (-2, 2), True),
    "hypot": (np.hypot, away_from_zero, away_from_zero, True),
    "equal": (np.equal, ints(0, 3), ints(0, 3), False),
    "not_equal": (np.not_equal, ints(0, 3), ints(0, 3), False),
    "greater": (np.greater, ints(0, 3), ints(0, 3), False),
    "greater_equal": (np.greater_equal, ints(0, 3), ints(0, 3), False),
    "lesser": (np.less, ints(0, 3), ints(0, 3), False),
    "lesser_equal": (np.less_equal, ints(0, 3), ints(0, 3), False),
    "logical_and": (np.logical_and, ints(0, 2), ints(0, 2), False),
    "logical_or": (np.logical_or, ints(0, 2), ints(0, 2), False),
    "logical_xor": (np.logical_xor, ints(0, 2), ints(0, 2), False),
}
ELEMENTWISE = {
    "plus": "elemwise_add",
    "minus": "elemwise_sub",
    "mul": "elemwise_mul",
    "div": "elemwise_div",
}
BROADCAST = {"plus": "broadcast_add", "minus": "broadcast_sub"}


def mod_grads(heads, lhs, rhs):
    (g,) = heads
    return [unbroadcast(g, lhs), unbroadcast(-g * np.floor(lhs / rhs), rhs)]


def unbroadcast(g, like):
    """Sum `g` over the axes along which `like` was repeated."""
    g = g.sum(tuple(range(g.ndim - like.ndim)))
    return g.sum(tuple(i for i, n in enumerate(like.shape) if n == 1), keepdims=True)


def binary():
    for name, (function, lhs, rhs, grad) in DOMAINS.items():
        grads = {"grad": grad} if name != "mod" else {"grad": True, "reference_grad": mod_grads}
        more = ("bool", "int32") if not grad else ("float16",)
        yield Case(
            ELEMENTWISE.get(name, "_" + name),
            [Input(S, lhs), Input(S, rhs)],
            function,
            back=(0, 1),
            infers=(1,),
            dtypes=("float32", "float64", *more),
            **grads,
        )
        shapes = [
            ((2, 3, 4), (2, 3, 4)),
            ((2, 3, 4), (3, 1)),
            ((1, 4), (2, 3, 1)),
            ((3, 1, 2), (1, 5, 1)),
        ]
        for left, right in shapes if name in ("plus", "mul", "div") else shapes[2:3]:
            yield Case(
                BROADCAST.get(name, "broadcast_" + name),
                [Input(left, lhs), Input(right, rhs)],
                function,
                note=f"{left}{right}",
                dtypes=("float32", "float64", *more),
                **grads,
            )


SCALARS = [
    ("_plus_scalar", lambda x, s: x + s, 1.5),
    ("_minus_scalar", lambda x, s: x - s, 1.5),
    ("_rminus_scalar", lambda x, s: s - x, 1.5),
    ("_mul_scalar", lambda x, s: x * s, -2.5),
    ("_div_scalar", lambda x, s: x / s, 2.5),
    ("_rdiv_scalar", lambda x, s: s / x, 2.5),
    ("_mod_scalar", lambda x, s: np.mod(x, s), 1.0),
    ("_rmod_scalar", lambda x, s: np.mod(s, x), 5.05),
    ("_power_scalar", lambda x, s: np.power(x, s), 3.0),
    ("_rpower_scalar", lambda x, s: np.power(s, x), 2.5),
    ("_maximum_scalar", lambda x, s: np.maximum(x, s), 0.1),
    ("_minimum_scalar", lambda x, s: np.minimum(x, s), 0.1),
    ("_hypot_scalar", lambda x, s: np.hypot(x, s), 2.0),
    ("_equal_scalar", lambda x, s: x == s, 1.0),
    ("_not_equal_scalar", lambda x, s: x != s, 1.0),
    ("_greater_scalar", lambda x, s: x > s, 1.0),
    ("_greater_equal_scalar", lambda x, s: x >= s, 1.0),
    ("_lesser_scalar", lambda x, s: x < s, 1.0),
    ("_lesser_equal_scalar", lambda x, s: x <= s, 1.0),
    ("_logical_and_scalar", lambda x, s: np.logical_and(x, s), 1.0),
    ("_logical_or_scalar", lambda x, s: np.logical_or(x, s), 0.0),
    ("_logical_xor_scalar", lambda x, s: np.logical_xor(x, s), 1.0),
]


def scalar():
    for op, function, value in SCALARS:
        flat = "equal" in op or "greater" in op or "lesser" in op or "logical" in op
        yield Case(
            op,
            [Input(S, ints(0, 3) if flat else off_integers)],
            lambda x, scalar, f=function: f(x, x.dtype.type(scalar)),
            {"scalar": value},
            grad=not flat,
            back=(0,),
            dtypes=("float32", "float64", "int32" if flat else "float16"),
        )
    yield Case("smooth_l1", [Input((3, 5), (-2, 2))], smooth_l1, {"scalar": 1.3}, back=(0,))


def smooth_l1(x, scalar):
    s = scalar * scalar
    return np.where(np.abs(x) < 1 / s, 0.5 * x * x * s, np.abs(x) - 0.5 / s)


CASES = [*UNARY, *binary(), *scalar(), Case("_grad_add", [S, S], np.add, back=(0, 1))]
