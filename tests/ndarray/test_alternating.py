"""Numbers, shapes and dtypes that alternate: each call gets what it would get by itself."""

import itertools
import operator

import numpy as np
import pytest

import cynet as mx
from cynet import nd

SIGNS = ("add", "sub", "mul", "truediv", "mod", "pow", "eq", "ne", "gt", "ge", "lt", "le")
NUMBERS = [2, 2.0, True, 1, 1.0, 0.0, -0.0, -3, float("nan"), float("inf"), 0.1 + 0.2, 0.3]
NUMBERS += [np.float32(0.3), np.float64(0.3), np.int64(3), *range(4, 20)]


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_numbers_in_turn(rng, sign, dtype):
    """Against NumPy in float64; twice, so that the second time they are known."""
    call = getattr(operator, sign)
    x = nd.array(rng.integers(1, 9, 6), dtype=dtype)
    values = x.asnumpy().astype("float64")
    first = {}
    for _turn, (i, number) in itertools.product(range(2), enumerate(NUMBERS)):
        found = call(x, number)
        assert found.dtype == first.setdefault(i, found).dtype
        np.testing.assert_array_equal(found.asnumpy(), first[i].asnumpy())
        if dtype == "float32" and (sign != "mod" or (number != 0 and number % 1 == 0)):
            with np.errstate(all="ignore"):
                wanted = call(values, np.float64(np.float32(number)))
            np.testing.assert_allclose(found.asnumpy(), wanted * 1.0, 1e-5)


def test_signs_of_zero_are_apart():
    x = nd.ones((3,))
    for _ in range(3):
        assert (1 / (x * 0.0)).asnumpy()[0] == np.inf
        assert (1 / (x * -0.0)).asnumpy()[0] == -np.inf


def test_ints_and_floats_are_apart():
    """`mx.np` gives them other dtypes; `//` of the classic face does."""
    x = mx.np.array([4, 5], dtype="int32")
    for _ in range(3):
        assert (x * 2).dtype == np.int32 and (x * 2.0).dtype == np.float32
        assert (2 - x).dtype == np.int32 and (2.0 - x).dtype == np.float32
    y = nd.array([4, 5], dtype="int32")
    for _ in range(3):
        assert (y // 2).dtype == np.int32 and (y // 2.0).dtype == np.float32


@pytest.mark.parametrize("sign", SIGNS)
def test_shapes_and_dtypes_in_turn(sign):
    call = getattr(operator, sign)
    arrays = [
        nd.ones(shape, dtype=d) + 1
        for shape in ((3,), (2, 4), (1,), (5, 1))
        for d in ("float32", "float64", "int32")
    ]
    for _ in range(3):
        for x in arrays:
            for found in (call(x, x), call(x, 2), call(2, x)):
                assert found.shape == x.shape and found.dtype == x.dtype
                assert (found.asnumpy() == call(x.asnumpy(), x.asnumpy())).all()
            wide = call(x, nd.ones((7, *x.shape), dtype=x.dtype) + 1)
            assert wide.shape == (7, *x.shape)


def test_gradients_go_back_through_their_own_numbers():
    x = nd.ones((2,))
    x.attach_grad()
    for _ in range(3):
        for number in (2.0, 3.0, 5.0):
            with mx.autograd.record():
                y = x * number + 7.0 - number * x * x
            y.backward()
            np.testing.assert_allclose(x.grad.asnumpy(), number - 2 * number)


def test_the_table_is_bounded():
    """It keeps the last 12 alone, however many numbers come."""
    import gc

    x = nd.ones((2,))
    for i in range(100):
        x * (0.5 + i)
    gc.collect()
    before = sum(type(each).__name__ == "Call" for each in gc.get_objects())
    for i in range(1000):
        x * (1000.5 + i)
    gc.collect()
    after = sum(type(each).__name__ == "Call" for each in gc.get_objects())
    assert after - before < 20
