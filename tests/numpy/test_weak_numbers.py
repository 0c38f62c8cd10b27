"""Python ints beside arrays of integers that do not hold them: NumPy's OverflowError."""

import numpy as np
import pytest

import cynet as mx
from cynet.operator.functions.numpy_rows import BINARIES

DTYPES = ("uint8", "int8", "int32", "int64")
# NumPy's ldexp has exponents of C's int
NAMES = [name for name, *_ in BINARIES if hasattr(np, name) and name != "ldexp"]


def _outcome(function, *args):
    try:
        return function(*args)
    except (OverflowError, ValueError, TypeError) as error:
        return error


def _number(dtype, side):
    bounds = np.iinfo(dtype)
    return {
        "below": int(bounds.min) - 1,
        "low": int(bounds.min),
        "high": int(bounds.max),
        "above": int(bounds.max) + 1,
    }[side]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of NumPy, of quotients by 0
@pytest.mark.parametrize("side", ["below", "low", "high", "above"])
@pytest.mark.parametrize("dtype", DTYPES[:3])
@pytest.mark.parametrize("name", NAMES)
def test_functions_of_an_array_and_an_int(name, dtype, side):
    host, number = np.array([1, 3], dtype), _number(dtype, side)
    for order in (1, -1):
        expected = _outcome(getattr(np, name), *(host, number)[::order])
        found = _outcome(getattr(mx.np, name), *(mx.np.array(host), number)[::order])
        if isinstance(expected, (OverflowError, ValueError)):
            assert isinstance(found, type(expected)), (expected, found)
        elif isinstance(found, Exception):  # floats of more than 64 bits, objects of NumPy
            assert isinstance(expected, TypeError) or expected.dtype == object
        elif found.dtype.kind in "biu" and not isinstance(expected, TypeError):
            assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("dtype", DTYPES[:3])
@pytest.mark.parametrize("side", ["below", "above"])
def test_what_makes_or_fills_arrays(dtype, side):
    number, face = _number(dtype, side), mx.np
    x = face.array([1, 2], dtype=dtype)

    def assign(key, value):
        x[key] = value

    for act in (
        lambda: face.array([1, number], dtype=dtype),
        lambda: face.full((2,), number, dtype=dtype),
        lambda: face.full_like(x, number),
        lambda: face.where(x > 1, x, number),
        lambda: assign(0, number),
        lambda: assign(slice(None), [1, number]),
        lambda: x.fill(number),
        lambda: x.__iadd__(number),
    ):
        with pytest.raises(OverflowError, match=f"{number} is out of bounds for {dtype}"):
            act()
    assert x.tolist() == [1, 2]
    assert mx.nd.array([1, 2], dtype="int8").asnumpy().tolist() == [1, 2]


def test_ints_of_64_bits():
    x, last = mx.np.array([0, 1], dtype="int64"), (1 << 63) - 1
    assert (x + last).tolist() == [last, -last - 1] and (x - last - 1).tolist()[0] == -last - 1
    beyond = lambda: mx.np.full(1, 1 << 63, "int64")  # noqa: E731
    for act in (lambda: x + (1 << 63), lambda: x * (1 << 70), beyond):
        with pytest.raises(OverflowError, match="out of bounds for int64"):
            act()
    assert (x < (1 << 70)).tolist() == [True, True] and (x == (1 << 64)).tolist() == [False, False]


def test_bounds_of_clip_may_be_beyond():
    x = mx.np.array([1, 2, 100], dtype="int8")
    for bounds in ((-1000, 1000), (2, 1000), (None, 300), (-300, 50)):
        assert x.clip(*bounds).tolist() == np.clip(x.asnumpy(), *bounds).tolist()


def test_negative_powers_of_integers_are_refused():
    for dtype in (*DTYPES, "bool"):
        x = mx.np.array([1, 1], dtype=dtype)
        for act in (lambda x=x: x**-1, lambda x=x: mx.np.power(x, -2)):
            with pytest.raises(ValueError, match="negative integer power|out of bounds for uint8"):
                act()
        assert (x**-1.0).tolist() == [1, 1] and mx.np.float_power(x, -1).tolist() == [1, 1]
    net = mx.gluon.nn.HybridLambda(lambda F, x: x**-1)
    net.hybridize()
    with pytest.raises(ValueError, match="negative integer power"):
        net(mx.np.array([2], dtype="int32"))


def test_graphs_refuse_them_too():
    net = mx.gluon.nn.HybridLambda(lambda F, x: x + 300)
    net.hybridize()
    assert net(mx.np.array([2], dtype="int32")).tolist() == [302]
    with pytest.raises(OverflowError, match="300 is out of bounds for int8"):
        net(mx.np.array([2], dtype="int8"))
