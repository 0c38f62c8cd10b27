"""mx.np.array_api: the names, defaults and dtypes of the standard, and what others do with it."""

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as onp
import pytest

import cynet as mx

xp = mx.np.array_api


def words(text):
    return text.split()


ELEMENTWISE = words(
    """abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift
bitwise_invert bitwise_or bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh divide
equal exp expm1 floor floor_divide greater greater_equal hypot imag isfinite isinf isnan less
less_equal log log1p log2 log10 logaddexp logical_and logical_not logical_or logical_xor maximum
minimum multiply negative nextafter not_equal positive pow real reciprocal remainder round sign
signbit sin sinh square sqrt subtract tan tanh trunc"""
)
OTHERS = words(
    """arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones
ones_like tril triu zeros zeros_like astype can_cast finfo iinfo isdtype result_type matmul
matrix_transpose tensordot vecdot broadcast_arrays broadcast_to concat expand_dims flip moveaxis
permute_dims repeat reshape roll squeeze stack tile unstack argmax argmin count_nonzero nonzero
searchsorted where unique_all unique_counts unique_inverse unique_values argsort sort
cumulative_prod cumulative_sum max mean min prod std sum var all any diff take take_along_axis
__array_namespace_info__"""
)
LINALG = words(
    """cholesky cross det diagonal eigh eigvalsh inv matmul matrix_norm matrix_power
matrix_rank matrix_transpose outer pinv qr slogdet solve svd svdvals tensordot trace vecdot
vector_norm"""
)


def test_the_names_of_the_standard_are_there():
    assert (len(ELEMENTWISE), len(OTHERS), len(LINALG)) == (67, 67, 23)
    lacking = [name for name in ELEMENTWISE + OTHERS if not callable(getattr(xp, name, None))]
    lacking += [name for name in LINALG if not callable(getattr(xp.linalg, name, None))]
    assert lacking == []
    assert (xp.pi, xp.e, xp.inf, xp.newaxis) == (onp.pi, onp.e, onp.inf, None)
    assert onp.isnan(xp.nan)


def test_an_array_gives_its_namespace():
    x = mx.np.ones(2)
    assert x.__array_namespace__() is xp
    assert x.__array_namespace__(api_version="2024.12") is xp
    with pytest.raises(mx.base.MXNetError, match="2019.01"):
        x.__array_namespace__(api_version="2019.01")


@pytest.mark.parametrize(
    "value, dtype", [(1, "int64"), ([1, 2], "int64"), (1.5, "float32"), ([True], "bool")]
)
def test_numbers_have_the_default_dtypes(value, dtype):
    assert xp.asarray(value).dtype == dtype


def test_results_have_the_dtypes_of_the_standard():
    small = xp.asarray([100, 100], dtype=xp.int8)
    for function in (xp.sum, xp.prod, xp.cumulative_sum, xp.cumulative_prod):
        assert function(small).dtype == xp.int64, function.__name__
    assert xp.sum(small).item() == 200
    assert xp.zeros(2).dtype == xp.arange(2.0).dtype == xp.float32
    assert xp.arange(2).dtype == xp.argmax(small).dtype == xp.int64
    assert xp.result_type(xp.int8, xp.int64) == xp.int64
    assert xp.result_type(small, 1.5) == xp.float32
    assert not xp.can_cast(xp.int64, xp.int8)
    assert not xp.can_cast(xp.float32, xp.int64)
    assert xp.isdtype(xp.int8, ("integral", "bool")) and not xp.isdtype(xp.int8, "real floating")
    with pytest.raises(mx.base.MXNetError, match="whole"):
        xp.isdtype(xp.int8, "whole")


def test_the_namespace_tells_of_itself():
    info = xp.__array_namespace_info__()
    assert set(info.dtypes(kind="integral")) == {"int8", "int32", "int64", "uint8"}
    assert info.default_dtypes()["real floating"] == xp.float32
    assert info.default_device() in info.devices()
    assert info.capabilities()["boolean indexing"] is True


def test_no_copy_is_no_copy():
    x = xp.ones(3)
    assert xp.asarray(x, copy=False) is x
    with pytest.raises(mx.base.MXNetError, match="copy is False"):
        xp.asarray(x, dtype=xp.float64, copy=False)
    with pytest.raises(mx.base.MXNetError, match="copy is False"):
        xp.asarray([1.0], copy=False)


# --- what the standard's suite found wrong in mx.np -----------------------------------------------
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "uint8"])
def test_remainders_are_those_of_numpy(dtype, rng):
    a = rng.integers(0 if dtype == "uint8" else -9, 9, 500)
    b = rng.integers(0 if dtype == "uint8" else -3, 3, 500)
    a, b = (each.astype(dtype) for each in (a, b))
    if dtype.startswith("float"):
        special = [0.0, -0.0, onp.inf, -onp.inf, onp.nan, 1.5, -1.5]
        a[:49], b[:49] = onp.repeat(special, 7), onp.tile(special, 7)
    with onp.errstate(all="ignore"):
        expected = onp.mod(a, b)
    for got in (
        mx.np.array(a) % mx.np.array(b),
        mx.np.mod(mx.np.array(a).reshape(1, -1), mx.np.array(b)),
    ):
        got = got.asnumpy().reshape(-1)
        onp.testing.assert_array_equal(got, expected)
        if dtype.startswith("float"):
            known = ~onp.isnan(expected)
            assert (onp.signbit(got) == onp.signbit(expected))[known].all()


def test_signs_and_rounding_of_special_values():
    x = mx.np.array([onp.nan, -0.4, -0.0, 2.5, -onp.inf])
    onp.testing.assert_array_equal(mx.np.sign(x).asnumpy(), onp.sign(x.asnumpy()))
    out, chosen = mx.np.full((5,), 7.0), mx.np.array([False, True, True, True, True])
    assert mx.np.sign(x, out=out, where=chosen) is out
    assert out.tolist() == [7.0, -1.0, 0.0, 1.0, -1.0]
    rounded = mx.np.round(x).asnumpy()
    onp.testing.assert_array_equal(rounded, onp.round(x.asnumpy()))
    assert onp.signbit(rounded).tolist() == onp.signbit(onp.round(x.asnumpy())).tolist()


@pytest.mark.parametrize("name", ["and", "or", "xor", "add", "mul"])
@pytest.mark.parametrize("truth", [True, False, onp.True_])
def test_a_truth_beside_bools_gives_bools(name, truth):
    x = onp.asarray([True, False])
    own = mx.np.array(x)
    for side in (f"__{name}__", f"__r{name}__"):
        got, expected = getattr(own, side)(truth), getattr(x, side)(truth)
        assert got.dtype == expected.dtype == bool
        assert got.asnumpy().tolist() == expected.tolist()


@pytest.mark.parametrize("truth", [True, False])
@pytest.mark.parametrize("kind", ["bool", "scalar", "array"])
@pytest.mark.parametrize("place", ["alone", "first", "last", "behind", "within"])
def test_masks_without_axes(truth, kind, place):
    def key(module):
        mask = {"bool": truth, "scalar": onp.bool_(truth), "array": module.array(truth, "bool")}
        return {
            "alone": mask[kind],
            "first": (mask[kind], 0),
            "last": (0, mask[kind]),
            "behind": (..., mask[kind]),
            "within": (slice(None), mask[kind], slice(0, 2)),
        }[place]

    x = onp.arange(6.0).reshape(2, 3)
    own = mx.np.array(x)
    assert own[key(mx.np)].shape == x[key(onp)].shape
    assert own[key(mx.np)].tolist() == x[key(onp)].tolist()
    x[key(onp)] = 9.0
    own[key(mx.np)] = 9.0
    assert own.asnumpy().tolist() == x.tolist()


def test_slices_between_arrays_without_axes():
    x = mx.np.arange(6)
    low, high = mx.np.array(1, dtype="int64"), mx.np.array(4, dtype="int64")
    assert x[low:high].tolist() == [1.0, 2.0, 3.0]
    x[low:high] = 0
    assert x.tolist() == [0.0, 0.0, 0.0, 0.0, 4.0, 5.0]


def test_results_of_too_many_axes():
    x = mx.np.ones((1,) * 5)
    for call in (
        lambda: mx.np.tensordot(x, x, 0),
        lambda: x.reshape((1,) * 9),
        lambda: mx.np.kron(x, x),
    ):
        with pytest.raises(mx.errors.ShapeError, match=r"has (9|10) axes, .*at most 8$"):
            call()


def test_no_rows_of_an_empty_axis():
    empty = mx.np.zeros((0, 3))
    assert mx.np.take(empty, [], axis=0).shape == mx.np.repeat(empty, 2, axis=0).shape == (0, 3)


# --- others ---------------------------------------------------------------------------------------
def test_array_api_compat_and_einops():
    compat = importlib.import_module("array_api_compat")
    einops = importlib.import_module("einops.array_api")
    host = onp.arange(24.0).reshape(2, 3, 4)
    x = mx.np.array(host)
    assert compat.array_namespace(x) is xp
    assert compat.device(x) == x.context
    turned = einops.rearrange(x, "a b c -> (c a) b")
    assert turned.tolist() == host.transpose(2, 0, 1).reshape(8, 3).tolist()
    assert einops.reduce(x, "a b c -> b", "max").tolist() == host.max((0, 2)).tolist()
    assert einops.repeat(x, "a b c -> a b c d", d=2).shape == (2, 3, 4, 2)


@pytest.mark.parametrize("library, least", [("scipy", 150), ("sklearn", 65)])
def test_functions_of_others_take_our_arrays(library, least):
    told = subprocess.run(
        [sys.executable, "-m", f"tests.numpy.{library}_cases"],
        cwd=Path(__file__).parents[2],
        env=os.environ | {"SCIPY_ARRAY_API": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stderr
    told = json.loads(told.stdout)
    assert told["failed"] == {}
    assert len(told["ran"]) >= least
