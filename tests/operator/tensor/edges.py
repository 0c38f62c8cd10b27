"""Edge values of every dtype through the operators of one expression, compared with NumPy and with
integers of Python: run by test_edges.py, once for each level of CPU capability.

    python -m tests.operator.tensor.edges
"""

import math
import operator
import os

import numpy as np
from scipy import special

import cynet as mx

os.environ["CYNET_INDEX_OUTSIDE"] = "clip"  # what they count as is looked at here

FLOATS = ("float16", "float32", "float64")
PLACES = dict.fromkeys(("float16", "uint8", "int8"), "float32")  # MXNet's wrap or are rounded
WHOLE = ("uint8", "int8", "int32", "int64")
ROUNDOFF = {"float16": 1e-3, "float32": 4e-7, "float64": 1e-15}  # a unit in the last place, or two


def edges(dtype):
    """The values that go through everything."""
    if dtype in FLOATS:
        info = np.finfo(dtype)
        small = [info.smallest_subnormal, info.tiny, info.eps, info.max]
        plain = [0, 0.5, 1, 1.5, 2, 2.5, 3, 7, 100.25, math.inf]
        values = np.array([*small, *plain], dtype)
        return np.concatenate([values, -values, np.array([math.nan], dtype)])
    info = np.iinfo(dtype)
    values = {info.min, info.min + 1, 0, 1, 2, 3, 7, 100, info.max - 1, info.max}
    if info.min:
        values |= {-1, -2, -3, -7, -100}
    if dtype == "int64":
        values |= {2**53 + 1, -(2**53) - 1, 2**62}
    return np.array(sorted(values), dtype)


def wrapped(value, dtype):
    """An integer of Python as NumPy's arithmetic leaves it."""
    info = np.iinfo(dtype)
    return (int(value) - info.min) % (info.max - info.min + 1) + info.min


def cast(values, dtype):
    """Real values as `dtype`: integers truncate, what does not fit 32 (int64: 64) bits and NaN is
    the lowest of those integers and then the low bits."""
    values, bits = np.asarray(values), 63 if dtype == "int64" else 31
    if dtype == "bool":
        return values != 0
    if dtype in FLOATS or values.dtype.kind != "f":
        return values.astype(dtype)
    flat = [int(v) if -(2**bits) <= v < 2**bits else -(2**bits) for v in values.ravel().tolist()]
    return np.array([wrapped(v, dtype) for v in flat], dtype).reshape(values.shape)


def array(values):
    return mx.nd.array(values, dtype=values.dtype)


def same(found, wanted, what, near=0.0):
    """Equal, NaN to NaN, or within the part `near` of each value."""
    found = found.asnumpy()
    assert found.dtype == wanted.dtype and found.shape == wanted.shape, what
    # what is too small for all its digits may be a smallest number off
    least = float(np.finfo(wanted.dtype).smallest_subnormal) if near else 0
    np.testing.assert_allclose(
        found.astype("longdouble"), wanted.astype("longdouble"), near, 2 * least, err_msg=what
    )


def by_float64(function, *arrays):
    """NumPy's function of float64, as the dtype of the arrays; of float64 by 80 bits where NumPy
    has them."""
    dtype = str(arrays[0].dtype)
    wide = [np.asarray(a, "float64") for a in arrays]
    return cast(function(*wide), dtype)


REAL = {
    "exp": np.exp,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "expm1": np.expm1,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "cbrt": np.cbrt,
    "rcbrt": lambda x: 1 / np.cbrt(x),
    "reciprocal": lambda x: 1 / x,
    "arcsin": np.arcsin,
    "arccos": np.arccos,
    "arctan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "arcsinh": np.arcsinh,
    "arccosh": np.arccosh,
    "arctanh": np.arctanh,
    "sigmoid": special.expit,
    "softsign": lambda x: x / (1 + np.abs(x)),
    "erf": special.erf,
    "degrees": lambda x: x * (180 / math.pi),
    "radians": lambda x: x * (math.pi / 180),
}
EXACT = {
    "negative": operator.neg,
    "abs": abs,
    "square": lambda x: x * x,
    "_copy": lambda x: x,
    "sign": lambda x: (x > 0) - (x < 0),
    "relu": lambda x: x if x > 0 or x != x else 0,
    "logical_not": lambda x: int(x == 0),
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": math.trunc,
    "fix": math.trunc,
    "round": lambda x: math.copysign(math.floor(abs(x) + 0.5), x) if isinstance(x, float) else x,
    "rint": lambda x: math.ceil(x - 0.5) if isinstance(x, float) else x,
}
KEPT = ("floor", "ceil", "trunc", "fix", "round", "rint")  # of values that are not finite


def unary():
    """Each function of each dtype."""
    for dtype in (*FLOATS, *WHOLE):
        x = edges(dtype)
        for name, function in REAL.items():
            same(
                getattr(mx.nd, name)(array(x)),
                by_float64(function, x),
                f"{name} {dtype}",
                8 * ROUNDOFF.get(dtype, 0),
            )
        for name, function in EXACT.items():
            values = []
            for value in x.tolist():
                if name in KEPT and not math.isfinite(value):
                    values.append(value)
                elif dtype in WHOLE:
                    values.append(wrapped(function(value), dtype))
                else:
                    values.append(float(function(value)))
            with np.errstate(over="ignore"):
                wanted = np.array(values, "float64" if dtype in FLOATS else dtype).astype(dtype)
            same(getattr(mx.nd, name)(array(x)), wanted, f"{name} {dtype}")


def whole_power(a, b, dtype):
    if b < 0:
        return {1: 1, -1: -1 if b % 2 else 1}.get(a, 0)
    info = np.iinfo(dtype)
    return pow(a, b, 2 * (info.max - info.min + 1))


WHOLE_BINARY = {
    "add": lambda a, b, t: a + b,
    "sub": lambda a, b, t: a - b,
    "mul": lambda a, b, t: a * b,
    "div": lambda a, b, t: 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1),
    "mod": lambda a, b, t: 0 if b == 0 else a % b,
    "power": whole_power,
    "maximum": lambda a, b, t: max(a, b),
    "minimum": lambda a, b, t: min(a, b),
    "logical_and": lambda a, b, t: a != 0 and b != 0,
    "logical_or": lambda a, b, t: a != 0 or b != 0,
    "logical_xor": lambda a, b, t: (a != 0) != (b != 0),
}
COMPARISONS = {
    "equal": operator.eq,
    "not_equal": operator.ne,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "lesser": operator.lt,
    "lesser_equal": operator.le,
}
REAL_BINARY = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "mod": lambda a, b: np.where(b == 0, 0, np.mod(a, b)),
    "power": np.power,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "hypot": np.hypot,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
}
SCALAR = {"add": "_plus_scalar", "sub": "_minus_scalar"}


def scalar_form(name):
    return getattr(mx.nd._internal, SCALAR.get(name, f"_{name}_scalar"))


def pairs(dtype):
    """All pairs of edge values, as two arrays of one shape."""
    x = edges(dtype)
    return (np.ascontiguousarray(a) for a in np.broadcast_arrays(x[:, None], x[None, :]))


def binary():
    """Each function of two arrays, of an array and a column, and of an array and a number."""
    for dtype in WHOLE:
        a, b = pairs(dtype)
        both = list(zip(a.ravel().tolist(), b.ravel().tolist()))
        for name, function in WHOLE_BINARY.items():
            values = [wrapped(function(u, v, dtype), dtype) for u, v in both]
            compare_forms(name, a, b, np.array(values, dtype).reshape(a.shape))
        for name, function in COMPARISONS.items():
            values = [int(function(u, v)) for u, v in both]
            compare_forms(name, a, b, np.array(values, dtype).reshape(a.shape))
        compare_forms("hypot", a, b, by_float64(np.hypot, a, b))
    for dtype in FLOATS:
        a, b = pairs(dtype)
        for name, function in REAL_BINARY.items():
            near = ROUNDOFF[dtype] * (8 if name == "power" else 1)
            compare_forms(name, a, b, by_float64(function, a, b), near)
        for name, function in COMPARISONS.items():
            compare_forms(name, a, b, function(a, b).astype(dtype))


def compare_forms(name, a, b, wanted, near=0.0):
    what = f"{name} {a.dtype}"
    left = array(a)
    same(getattr(mx.nd, f"broadcast_{name}")(left, array(b)), wanted, what, near)
    same(getattr(mx.nd, f"broadcast_{name}")(left, array(b[:1])), wanted, f"{what} row", near)
    if name not in ("power", "mod") or a.dtype.kind != "f":  # of some numbers they are simpler
        same(getattr(mx.nd, f"broadcast_{name}")(left, array(b)), wanted, f"{what} twice", near)
    for k, number in enumerate(b[0].tolist()):
        found = scalar_form(name)(left, scalar=number)
        same(found[:, k], wanted[:, k], f"{what} {number!r}", near)


BEYOND = (
    300,
    -300,
    10**10,
    -(10**10),
    1e20,
    -1e20,
    1e300,
    math.inf,
    -math.inf,
    math.nan,
    2**53 + 1,
    2**62 + 1,
    -(2**62) - 1,
)


def beyond():
    """Integers compared with numbers that they cannot be, and numbers that no float is."""
    for dtype in WHOLE:
        x = edges(dtype)
        info = np.iinfo(dtype)
        for number in BEYOND:
            if info.min <= number <= info.max:
                number = int(number)
            for name, function in COMPARISONS.items():
                wanted = np.array([int(function(v, number)) for v in x.tolist()], dtype)
                what = f"{name} {dtype} {number!r}"
                same(scalar_form(name)(array(x), scalar=number), wanted, what)
            if number == number:
                for name, function in (("maximum", max), ("minimum", min)):
                    values = [function(v, number) for v in x.tolist()]
                    wanted = np.array([min(max(v, info.min), info.max) for v in values], dtype)
                    what = f"{name} {dtype} {number!r}"
                    same(scalar_form(name)(array(x), scalar=number), wanted, what)
        assert ((array(x) < 1e10).asnumpy() == 1).all() == (dtype != "int64")
        assert ((array(x) < 5).asnumpy() == (x < 5)).all()  # another number after that one
    x = array(np.array([2**53, 2**53 + 1, 2**53 + 2], "int64"))
    assert (x == 2**53 + 1).asnumpy().tolist() == [0, 1, 0]
    assert (x == 2**53).asnumpy().tolist() == [1, 0, 0]
    assert (x - (2**53 + 1)).asnumpy().tolist() == [-1, 0, 1]


def casts():
    """Every dtype to every other one: the operator, astype and assignment, of rows and columns."""
    strange = [3e9, -3e9, 300.7, -1.5, 255.9, 1e20, -1e20, 2147483647.0, -2147483648.0, 65519.99]
    strange += [1 + 2**-11 + 2**-30, 2.0**-24 * 1.5, 2.0**-25]  # halves of float16's units, nearly
    for source in (*FLOATS, *WHOLE, "bool"):
        x = np.array([0, 1], "bool") if source == "bool" else edges(source)
        if source in FLOATS:
            x = np.concatenate([x, np.array(strange).astype(source)])
        x = np.concatenate([x] * 5)
        for target in (*FLOATS, *WHOLE, "bool"):
            what, wanted = f"{source} to {target}", cast(x, target)
            same(mx.nd.Cast(array(x), dtype=target), wanted, what)
            same(array(x).astype(target), wanted, what)
            held = mx.nd.zeros((len(x), 2), dtype=target)
            held[:, 1] = array(x)
            same(held[:, 1], wanted, f"{what}, a column")
            for number in x[:40].tolist() if source == "float64" else ():
                held[0] = number
                same(held[0], cast(np.array([number] * 2), target), f"{number} to {target}")


def reductions():
    """Over all values, and along both axes of a matrix of them."""
    for dtype in WHOLE:
        x = np.stack([edges(dtype)] * 3)
        for axis in (0, 1):
            lines = (x if axis else x.T).tolist()
            kinds = {
                "sum": sum,
                "prod": math.prod,
                "max": max,
                "min": min,
                "nansum": sum,
                "mean": whole_mean,
                "norm1": lambda line: sum(map(abs, line)),
            }
            for name, function in kinds.items():
                wanted = np.array([wrapped(function(line), dtype) for line in lines], dtype)
                how = {"ord": 1} if name == "norm1" else {}
                op = getattr(mx.nd, "norm" if name == "norm1" else name)
                same(op(array(x), axis=axis, **how), wanted, f"{name} {dtype} {axis}")
            for name, function in (("argmax", np.argmax), ("argmin", np.argmin)):
                wanted = function(x, axis).astype(PLACES.get(dtype, dtype))
                found = getattr(mx.nd, name)(array(x), axis=axis)
                same(found, wanted, f"{name} {dtype} {axis}")
    for dtype in FLOATS:
        x = edges(dtype)
        x = np.stack([x, x[::-1], np.where(np.isnan(x), 0, x)]).astype(dtype)
        for axis in (0, 1):
            for name in ("max", "min", "argmax", "argmin"):
                kind = PLACES.get(dtype, dtype) if "arg" in name else dtype
                wanted = getattr(np, name)(x, axis).astype(kind)
                same(getattr(mx.nd, name)(array(x), axis=axis), wanted, f"{name} {dtype} {axis}")
    long = np.zeros((2, 300), "uint8")
    long[0, 299], long[1, 280] = 1, 1
    assert mx.nd.argmax(array(long), axis=1).asnumpy().tolist() == [299, 280]
    truths = array(np.array([[1, 1], [1, 0], [0, 0]], "bool"))
    for name, wanted in (("sum", [1, 1, 0]), ("prod", [1, 0, 0]), ("max", [1, 1, 0])):
        assert getattr(mx.nd, name)(truths, axis=1).asnumpy().tolist() == wanted


def whole_mean(line):
    """The sum in 64 bits, divided towards zero."""
    total = wrapped(sum(line), "int64")
    return abs(total) // len(line) * (1 if total > 0 else -1)


def clipped():
    """Limits beyond the type limit nothing, and fractions are cut off."""
    limits = [
        (0, math.inf),
        (-1e10, 1e10),
        (0, 300),
        (-1, 255),
        (-200, 200),
        (0, 1e19),
        (0.5, 2.5),
        (-0.5, 1.5),
        (300, 400),
        (-1e20, -1e19),
        (math.nan, 5),
    ]
    for dtype in WHOLE:
        x, info = edges(dtype), np.iinfo(dtype)
        for low, high in limits:
            low_ = info.min if low != low else min(max(low, info.min), info.max)
            high_ = min(max(high, info.min), info.max)
            wanted = [int(min(max(v, math.trunc(low_)), math.trunc(high_))) for v in x.tolist()]
            same(mx.nd.clip(array(x), low, high), np.array(wanted, dtype), f"{dtype} {low} {high}")


def indices():
    """NaN counts as the first row, what is beyond all integers as the first or the last."""
    rows = mx.nd.array(np.arange(10.0).reshape(5, 2))
    numbers = [math.nan, 1e20, -1e20, 3e9, math.inf, -math.inf, 7, -2, 1.7]
    wanted = [0, 4, 0, 4, 4, 0, 4, 0, 1]
    for dtype in ("float32", "float64"):
        index = array(np.array(numbers, dtype))
        taken = mx.nd.take(rows, index, mode="clip").asnumpy()[:, 0]
        assert (taken == 2.0 * np.array(wanted)).all(), taken
        taken = mx.nd.Embedding(index, rows, input_dim=5, output_dim=2).asnumpy()[:, 0]
        assert (taken == 2.0 * np.array(wanted)).all(), taken
        hot = mx.nd.one_hot(index, 5).asnumpy()
        assert hot.sum() == 1 and hot[8, 1] == 1
    hot = mx.nd.one_hot(array(np.array([1.0])), 3, on_value=1e20, off_value=math.nan, dtype="int32")
    assert (hot.asnumpy() == -(2**31)).all()


if __name__ == "__main__":
    with np.errstate(all="ignore"):
        for check in (unary, binary, beyond, casts, reductions, clipped, indices):
            check()
    print("done")
