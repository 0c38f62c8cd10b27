"""Conversion of every float16 and of rounding cases, against NumPy bit for bit."""

import numpy as np
import pytest

import cynet as mx
from tests.operator.direct import call


def test_every_half_to_float_and_back():
    bits = np.arange(65536, dtype="uint16")
    half = bits.view("float16")
    wide = call("Cast", half, dtype="float32")
    with np.errstate(invalid="ignore"):  # NumPy warns of signalling NaN on ARM
        expected = half.astype("float32")
    np.testing.assert_array_equal(wide.view("uint32"), expected.view("uint32"))
    back = call("Cast", wide, dtype="float16")
    numbers = ~np.isnan(half)
    np.testing.assert_array_equal(back[numbers].view("uint16"), bits[numbers])
    assert np.isnan(back[~numbers]).all()


def test_float_to_half_rounds_to_nearest_even(rng):
    half = np.arange(0x7C00, dtype="uint16").view("float16").astype("float32")
    between = (half[:-1] + half[1:]) / 2  # every tie
    beside = np.nextafter(between, np.float32(0)), np.nextafter(between, np.float32(1e9))
    edge = np.array(
        [65519.0, 65520.0, 1e30, np.inf, 2.0**-25, 2.0**-24, 1e-45, -65520.0], "float32"
    )
    anything = rng.integers(0, 2**32, 200_000, dtype="uint32").view("float32")
    x = np.concatenate([between, *beside, -between, edge, anything[~np.isnan(anything)]])
    with np.errstate(over="ignore"):
        wanted = x.astype("float16")
    np.testing.assert_array_equal(
        call("Cast", x, dtype="float16").view("uint16"), wanted.view("uint16")
    )


def test_real_to_integer_out_of_range_is_defined():
    x = np.array([np.nan, np.inf, -np.inf, 1e20, -1e20, 3e9, 255.9, 300.0, -1.5])
    low32, low64 = np.iinfo("int32").min, np.iinfo("int64").min
    assert call("Cast", x, dtype="int32").tolist() == [low32] * 6 + [255, 300, -1]
    assert call("Cast", x, dtype="int64").tolist() == [low64] * 5 + [3_000_000_000, 255, 300, -1]
    assert call("Cast", x, dtype="uint8").tolist() == [0] * 6 + [255, 44, 255]
    assert call("Cast", x, dtype="bool").all()


@pytest.mark.parametrize("target", ["int32", "int8", "uint8", "int64"])
@pytest.mark.parametrize("source", ["float32", "float64", "float16"])
def test_astype_to_integers(source, target, rng):
    """Whole numbers in vectors; those that do not fit in 32 bits change nothing beside them."""
    x = (rng.standard_normal(1000) * 90).astype(source)
    if target == "uint8":
        x = np.abs(x)
    a = mx.nd.array(x, dtype=source)
    np.testing.assert_array_equal(a.astype(target).asnumpy(), x.astype(target))
    strange = x.copy()
    strange[::50] = 6e4 if source == "float16" else 2.0**40
    strange[25::50] = np.nan
    got = mx.nd.array(strange, dtype=source).astype(target).asnumpy()
    kept = (np.arange(1000) % 25) != 0
    np.testing.assert_array_equal(got[kept], x.astype(target)[kept])


@pytest.mark.parametrize("step", [1, -1, 2])
def test_astype_of_every_length(step):
    for n in (*range(1, 40), 63, 64, 65, 130):
        x = np.linspace(-5, 5, 2 * n).astype(np.float32)
        a = mx.nd.array(x)[::step]
        for target in ("float16", "float64", "int32", "bool"):
            np.testing.assert_array_equal(a.astype(target).asnumpy(), x[::step].astype(target))
