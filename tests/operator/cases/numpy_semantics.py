"""Cases of the operators of mx.np: the functions of mx.nd, with NumPy's dtypes and shapes."""

import numpy as np

from .case import Case, Input, apart, away_from_zero, ints, off_integers
from .tensor_elementwise import DOMAINS, UNARY, S, mod_grads, unbroadcast
from .tensor_reduce import reducing

NAMES = {
    "plus": "add",
    "minus": "subtract",
    "mul": "multiply",
    "div": "true_divide",
    "lesser": "less",
    "lesser_equal": "less_equal",
}
FLAT = (
    "equal",
    "not_equal",
    "greater",
    "greater_equal",
    "lesser",
    "lesser_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
)
FLOATS = ("float32", "float64", "float16")


def binaries():
    for name, (function, lhs, rhs, grad) in DOMAINS.items():
        grads = {"grad": grad} if name != "mod" else {"grad": True, "reference_grad": mod_grads}
        for left, right in ((S, S), ((1, 4), (2, 3, 1))):
            yield Case(
                f"_npi_{NAMES.get(name, name)}",
                [Input(left, lhs), Input(right, rhs)],
                function,
                note=f"{left}{right}",
                dtypes=("float32", "float64", "int32") if name in FLAT else FLOATS,
                **grads,
            )


NUMBERS = {
    "plus": 1.5,
    "minus": 1.5,
    "mul": -2.5,
    "div": 2.5,
    "mod": 1.0,
    "power": 3.0,
    "maximum": 0.1,
    "minimum": 0.1,
    "hypot": 2.0,
}


def scalars():
    for name, (function, domain, _, grad) in DOMAINS.items():
        number, op = NUMBERS.get(name, 1.0), NAMES.get(name, name)
        yield Case(
            f"_npi_{op}_scalar",
            [Input(S, domain)],
            lambda x, scalar, is_int=True, f=function: f(x, x.dtype.type(scalar)),
            {"scalar": number, "is_int": False},
            grad=bool(grad),
            dtypes=("float32", "float64", "int32") if name in FLAT else FLOATS,
        )
        if name in ("minus", "div", "power", "mod"):
            number = 5.05 if name == "mod" else 2.5
            yield Case(
                f"_npi_r{op}_scalar",
                [Input(S, away_from_zero if name in ("div", "mod") else domain)],
                lambda x, scalar, is_int=True, f=function: f(x.dtype.type(scalar), x),
                {"scalar": number, "is_int": False},
            )


OF_ND = (
    "negative",
    "abs",
    "sign",
    "square",
    "relu",
    "round",
    "rint",
    "_copy",
    "zeros_like",
    "ones_like",
    "ceil",
    "floor",
    "trunc",
    "fix",
    "_polygamma",
)


def unaries():
    for case in UNARY:
        if case.op in OF_ND:
            continue
        prefix = "_npi_" if hasattr(np, case.op) else "_npx_"
        yield Case(
            prefix + case.op,
            case.inputs,
            case.reference,
            grad=case.grad,
            back=() if case.op == "logical_not" else (0,),
            dtypes=("float32", "float64", "int32", "bool")
            if case.op == "logical_not"
            else ("float32", "float64"),
            tolerance=case.tolerance,
        )


def reductions():
    rows = {"_np_sum": np.sum, "_npi_mean": np.mean, "_np_prod": np.prod}
    for params in ({}, {"axis": 1}, {"axis": (0, -1)}, {"axis": (0, 1), "keepdims": True}):
        for op, function in rows.items():
            domain = away_from_zero if op == "_np_prod" else (-1, 1)
            yield Case(op, [Input((2, 3, 4), domain)], reducing(function), params)
        for op, function in (("_np_max", np.max), ("_np_min", np.min)):
            yield Case(op, [Input((2, 3, 4), apart)], reducing(function), params)
        for op, function in (("_np_any", np.any), ("_np_all", np.all)):
            yield Case(
                op,
                [Input((2, 3, 4), ints(0, 2))],
                reducing(function),
                params,
                grad=False,
                dtypes=("bool",),
            )
    for op, function in (("_npi_argmax", np.argmax), ("_npi_argmin", np.argmin)):
        for params in ({}, {"axis": 1}, {"axis": 0, "keepdims": True}):
            yield Case(op, [Input((2, 3, 4), apart)], function, params, grad=False)


WHOLE = ("int32", "uint8", "int64")
SHIFTS = ("left_shift", "right_shift")
BITS = {
    **{f"bitwise_{n}": getattr(np, f"bitwise_{n}") for n in ("and", "or", "xor", *SHIFTS)},
    "gcd": np.gcd,
    "lcm": np.lcm,
}
# function, domains, whether its gradient is the numeric one
MORE = {
    "floor_divide": (np.floor_divide, (-2, 2), away_from_zero, False),
    "fmod": (np.fmod, off_integers, lambda rng, s: rng.choice([-1.0, 1.0, 2.0], s), (0,)),
    "fmax": (np.fmax, (-2, 2), (-2, 2), True),
    "fmin": (np.fmin, (-2, 2), (-2, 2), True),
    "arctan2": (np.arctan2, away_from_zero, away_from_zero, True),
    "copysign": (np.copysign, away_from_zero, away_from_zero, (0,)),
    "nextafter": (np.nextafter, (-2, 2), (-2, 2), False),
    "ldexp": (lambda a, b: a * np.exp2(b).astype(a.dtype), (-2, 2), (-2, 2), True),
    "logaddexp": (np.logaddexp, (-2, 2), (-2, 2), True),
}


def fmod_grads(heads, lhs, rhs):
    (g,) = heads
    return [unbroadcast(g, lhs), unbroadcast(-g * np.trunc(lhs / rhs), rhs)]


def bits():
    for name, function in BITS.items():
        for left, right in ((S, S), ((1, 4), (2, 3, 1))):
            yield Case(
                f"_npi_{name}",
                [Input(left, ints(1, 9)), Input(right, ints(1, 5))],
                function,
                grad=False,
                dtypes=WHOLE + ("bool",) * (name not in ("gcd", "lcm")),
                note=f"{left}{right}",
            )
        yield Case(
            f"_npi_{name}_scalar",
            [Input(S, ints(1, 9))],
            lambda x, scalar, f=function: f(x, x.dtype.type(scalar)),
            {"scalar": 3},
            grad=False,
            dtypes=WHOLE,
        )
        if "shift" in name:
            yield Case(
                f"_npi_r{name}_scalar",
                [Input(S, ints(1, 4))],
                lambda x, scalar, f=function: f(x.dtype.type(scalar), x),
                {"scalar": 9},
                grad=False,
                dtypes=WHOLE,
            )
    yield Case(
        "_npi_bitwise_not", [Input(S, ints(0, 9))], np.invert, grad=False, dtypes=(*WHOLE, "bool")
    )


def more():
    for name, (function, lhs, rhs, grad) in MORE.items():
        own = {"grad": True, "reference_grad": fmod_grads} if name == "fmod" else {"grad": grad}
        yield Case(f"_npi_{name}", [Input(S, lhs), Input(S, rhs)], function, **own)
        yield Case(
            f"_npi_{name}_scalar",
            [Input(S, lhs)],
            lambda x, scalar, is_int=True, f=function: f(x, x.dtype.type(scalar)),
            {"scalar": 1.25, "is_int": False},
            grad=bool(grad),
        )
        if name not in ("fmax", "fmin", "logaddexp"):
            yield Case(
                f"_npi_r{name}_scalar",
                [Input(S, rhs if name != "fmod" else away_from_zero)],
                lambda x, scalar, is_int=True, f=function: f(x.dtype.type(scalar), x),
                {"scalar": 1.25, "is_int": False},
                grad=bool(grad),
                reference_grad=(lambda heads, x, **p: [-heads[0] * np.trunc(1.25 / x)])
                if name == "fmod"
                else None,
            )


def strange(rng, shape):
    x = away_from_zero(rng, shape)
    x.flat[:3] = np.nan, np.inf, -np.inf
    return x


def truths():
    for name in ("isnan", "isinf", "isfinite", "signbit"):
        yield Case(f"_npi_{name}", [Input(S, strange)], getattr(np, name), grad=False)


CASES = [
    *bits(),
    *more(),
    *truths(),
    *binaries(),
    *scalars(),
    *unaries(),
    *reductions(),
    Case("_np_reshape", [(2, 6)], lambda x, newshape: x.reshape(newshape), {"newshape": (3, -1)}),
    Case("_np_reshape", [(1, 1)], lambda x, newshape: x.reshape(newshape), {"newshape": ()}),
]
