"""Arrays of integers beside numbers that their dtype does not hold: beyond it, and fractions.

The number is taken as it is, and what comes out is brought into the array's dtype: whole numbers by
their low bits, fractions cut. The reference is Python's integers and NumPy's float64.
"""

import math
import operator

import numpy as np
import pytest
from cynet.operator._testing import prepare_op, run_forward

import cynet as mx
from cynet import nd, sym
from cynet.operator import get_operator

VALUES = {
    "uint8": [0, 1, 2, 3, 5, 100, 200, 255],
    "int8": [-128, -100, -3, -1, 0, 1, 2, 127],
    "int32": [-(2**31), -7, -1, 0, 1, 5, 1000, 2**31 - 1],
    "int64": [-(2**62), -7, -1, 0, 1, 5, 2**40 + 1, 2**62],
}
SCALARS = [
    -1,
    -3,
    0,
    2,
    3,
    127,
    128,
    255,
    256,
    300,
    1000,
    -129,
    2**31,
    2**40,
    -(2**40) - 1,
    2**53 + 1,
    0.5,
    -0.5,
    1.5,
    2.7,
    -2.5,
    255.5,
    300.5,
    -128.5,
    1e10,
]


def quotient(a, b):
    """Towards 0; 0 where the divisor is."""
    if b == 0:
        return 0
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def power(a, b):
    """Of a negative exponent what a cut fraction is; 0 to it is 0."""
    if b < 0:
        return 1 if a == 1 else (0 if a != -1 else (-1 if b % 2 else 1))
    return pow(a, b, 2**64)


WHOLE = {
    "plus": operator.add,
    "minus": operator.sub,
    "mul": operator.mul,
    "div": quotient,
    "mod": lambda a, b: a % b if b else 0,
    "power": power,
    "maximum": max,
    "minimum": min,
    "hypot": math.hypot,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "lesser": operator.lt,
    "lesser_equal": operator.le,
    "logical_and": lambda a, b: bool(a) and bool(b),
    "logical_or": lambda a, b: bool(a) or bool(b),
    "logical_xor": lambda a, b: bool(a) != bool(b),
}
REAL = {
    "plus": np.add,
    "minus": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "mod": np.mod,
    "power": np.power,
}
OPERATORS = [f"_{name}_scalar" for name in WHOLE]
OPERATORS += [f"_r{name}_scalar" for name in ("minus", "div", "mod", "power")]


def into(dtype, value):
    """A number as the dtype has it, or None: more than 64 bits hold, which is nobody's promise."""
    if isinstance(value, (float, np.floating)):
        if not abs(value) < (2.0**62 if dtype == "int64" else 2.0**31 - 1):
            return None  # as real numbers are cast: the lowest integer of 32 bits, or of 64
        value = math.trunc(value)
    bits = 8 * np.dtype(dtype).itemsize
    value = int(value) % 2**bits
    return value - 2**bits if np.dtype(dtype).kind == "i" and value >= 2 ** (bits - 1) else value


def expected(name, dtype, values, number):
    """What the operator gives, None where that is open."""
    reverse = name.startswith("_r")
    word = name.removeprefix("_r" if reverse else "_").removesuffix("_scalar")
    out = []
    for value in values:
        a, b = (number, value) if reverse else (value, number)
        if float(number).is_integer() or word not in REAL:
            a, b = (int(v) if float(v).is_integer() else v for v in (a, b))
            found = WHOLE[word](a, b)
        else:
            with np.errstate(all="ignore"):
                found = float(REAL[word](np.float64(a), np.float64(b)))
        if dtype == "int64" and isinstance(found, float) and abs(found) >= 2**53:
            found = math.nan  # where float64 rounds
        if word in ("maximum", "minimum"):  # the nearest there is
            info = np.iinfo(dtype)
            found = min(max(found, int(info.min)), int(info.max))
        out.append(None if found != found else into(dtype, found))
    return out


def check(found, wanted, what):
    """Equal where the reference says something."""
    for k, (got, want) in enumerate(zip(found, wanted)):
        assert want is None or got == want, (what, k, got, want)


@pytest.mark.parametrize("dtype", VALUES)
@pytest.mark.parametrize("name", OPERATORS)
def test_every_operator_of_an_array_and_a_number(name, dtype):
    x = nd.array(VALUES[dtype], dtype=dtype)
    told = 0
    for number in SCALARS:
        wanted = expected(name, dtype, VALUES[dtype], number)
        told += sum(w is not None for w in wanted)
        out = getattr(nd._internal, name)(x, scalar=number)
        assert out.dtype == np.dtype(dtype)
        check(out.asnumpy().tolist(), wanted, (name, dtype, number))
        given = x.copy()
        getattr(nd._internal, name)(given, scalar=number, out=given)
        check(given.asnumpy().tolist(), wanted, (name, dtype, number, "in place"))
    assert told > len(SCALARS) * len(x) // 2


@pytest.mark.parametrize("dtype", VALUES)
def test_python_operators(dtype):
    x, values = nd.array(VALUES[dtype], dtype=dtype), VALUES[dtype]
    signs = {
        operator.add: "plus",
        operator.sub: "minus",
        operator.mul: "mul",
        operator.truediv: "div",
        operator.mod: "mod",
        operator.pow: "power",
        operator.eq: "equal",
        operator.ne: "not_equal",
        operator.gt: "greater",
        operator.ge: "greater_equal",
        operator.lt: "lesser",
        operator.le: "lesser_equal",
    }
    back = {
        "minus": "_rminus_scalar",
        "div": "_rdiv_scalar",
        "mod": "_rmod_scalar",
        "power": "_rpower_scalar",
        "greater": "_lesser_scalar",
        "lesser": "_greater_scalar",
        "greater_equal": "_lesser_equal_scalar",
        "lesser_equal": "_greater_equal_scalar",
    }
    inplace = {
        operator.iadd: "plus",
        operator.isub: "minus",
        operator.imul: "mul",
        operator.itruediv: "div",
        operator.imod: "mod",
    }
    for number in [*SCALARS, np.float32(0.5), np.int64(300), True]:
        for sign, word in signs.items():
            wanted = expected(f"_{word}_scalar", dtype, values, number)
            check(sign(x, number).asnumpy().tolist(), wanted, (word, dtype, number))
            if isinstance(number, np.generic):
                continue
            wanted = expected(back.get(word, f"_{word}_scalar"), dtype, values, number)
            check(sign(number, x).asnumpy().tolist(), wanted, ("reflected", word, dtype, number))
        for sign, word in inplace.items():
            given = x.copy()
            wanted = expected(f"_{word}_scalar", dtype, values, number)
            check(sign(given, number).asnumpy().tolist(), wanted, ("in place", word, dtype, number))


@pytest.mark.parametrize("dtype", VALUES)
def test_graphs(dtype):
    """Symbols alone, and chains of them, which run as one loop."""
    values = VALUES[dtype]
    data = sym.Variable("data")
    for name in OPERATORS:
        if "hypot" in name:
            continue
        outs, wanted = [], []
        for number in SCALARS:
            # what the first gives goes through a second one, so that the two are fused
            first = getattr(sym._internal, name)(data, scalar=number)
            outs += [first, sym._internal._plus_scalar(first, scalar=1)]
            each = expected(name, dtype, values, number)
            wanted += [each, [None if w is None else into(dtype, w + 1) for w in each]]
        group = sym.Group(outs)
        executor = group.bind(mx.cpu(), {"data": nd.array(values, dtype=dtype)}, grad_req="null")
        for i, (out, want) in enumerate(zip(executor.forward(), wanted)):
            check(out.asnumpy().tolist(), want, (name, dtype, SCALARS[i // 2]))


@pytest.mark.parametrize("dtype", VALUES)
def test_hybridized(dtype):
    class Net(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return 1000 - x * 0.5, (x / 300 + 300) % 256, x > 0.5, x == 300

    x = nd.array(VALUES[dtype], dtype=dtype)
    plain, net = Net(), Net()
    net.hybridize()
    for a, b in zip(plain(x), net(x)):
        np.testing.assert_array_equal(a.asnumpy(), b.asnumpy())
    half = expected("_mul_scalar", dtype, VALUES[dtype], 0.5)
    wanted = [None if h is None else into(dtype, 1000 - h) for h in half]
    check(net(x)[0].asnumpy().tolist(), wanted, dtype)


@pytest.mark.parametrize("dtype", VALUES)
@pytest.mark.parametrize("number", [0.5, -2.5, 300, -1])
@pytest.mark.parametrize("name", ["_mul_scalar", "_rminus_scalar", "_power_scalar", "_mod_scalar"])
def test_added_to_what_is_there(name, dtype, number):
    """The request to add: the integer that the operator gives, not its fraction."""
    values = np.array(VALUES[dtype], dtype)
    prop = get_operator(name).prop(scalar=number)
    op, *_ = prepare_op(prop, [values.shape], [dtype])
    out = np.full(values.shape, 5, dtype)
    run_forward(op, [values], [3], [out], [], True, prop.forward_resource([values.shape]))
    wanted = expected(name, dtype, VALUES[dtype], number)
    check(out.tolist(), [None if w is None else into(dtype, w + 5) for w in wanted], name)


def test_what_the_reports_had():
    x = nd.array([1, 2, 200, 255], dtype="uint8")
    assert (x**-1).asnumpy().tolist() == [1, 0, 0, 0]
    assert (x / 300).asnumpy().tolist() == [0, 0, 0, 0]
    assert (x % 256).asnumpy().tolist() == [1, 2, 200, 255]
    assert (300 / x).asnumpy().tolist() == [300 % 256, 150, 1, 1]
    assert (x * 0.5).asnumpy().tolist() == [0, 1, 100, 127]
    assert (x >= 0.5).asnumpy().tolist() == [1, 1, 1, 1]
    assert (x == 1.5).asnumpy().tolist() == [0, 0, 0, 0]
    y = nd.array([-128, 100], dtype="int8")
    assert (y / 1000).asnumpy().tolist() == [0, 0]
    z = nd.array([2, -5], dtype="int32")
    assert nd.smooth_l1(z, scalar=0.5).asnumpy().tolist() == [0, 3]  # 0.5, then 5 - 2
    large = nd.array([2**62 + 1], dtype="int64")
    assert (large + 1).asnumpy().tolist() == [2**62 + 2]
    assert (nd.array([7], dtype="int64") % 1e20).asnumpy().tolist() == [7]
