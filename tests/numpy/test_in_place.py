"""What is written where: operators in place and `out=`, whose dtypes are NumPy's "same_kind"."""

import operator

import numpy as np
import pytest

import cynet as mx
from tests.numpy.test_walk import DTYPES

OPERATORS = (
    *("iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow"),
    *("iand", "ior", "ixor", "ilshift", "irshift"),
)
REDUCTIONS = ("sum", "mean", "prod", "max", "min", "std", "var", "cumsum")


def wanted(run, *arrays):
    """What NumPy gives, or the class of its refusal."""
    try:
        with np.errstate(all="ignore"):
            return run(*arrays)
    except TypeError:
        return TypeError


@pytest.mark.parametrize("other", [*DTYPES, 2, 1.5, True])
@pytest.mark.parametrize("name", OPERATORS)
def test_operators_in_place(name, other):
    run = getattr(operator, name)
    for dtype in DTYPES:
        given = np.array([1, 0, 1]).astype(dtype)
        beside = np.array([1, 1, 1]).astype(other) if isinstance(other, str) else other
        expected = wanted(run, given.copy(), beside)
        array = mx.np.array(given, dtype=dtype)
        if isinstance(beside, np.ndarray):
            beside = mx.np.array(beside, dtype=other)
        if expected is TypeError:
            with pytest.raises(TypeError, match="mx.np|operator|operand"):
                run(array, beside)
            assert array.asnumpy().tolist() == given.tolist()
            continue
        found = run(array, beside)
        assert found is array and found.dtype == expected.dtype
        np.testing.assert_allclose(found.asnumpy(), expected, 1e-3)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_outputs_of_another_kind_are_refused(name):
    """NumPy takes some of them, and makes whole numbers of what it sums."""
    for dtype in ("int32", "float32"):
        given = np.array([[1.0, 2.0], [4.0, 7.0]]).astype(dtype)
        expected = getattr(np, name)(given, axis=0)
        for out in ("bool", "int64", "float32", "float64"):
            array, target = mx.np.array(given, dtype=dtype), mx.np.zeros(expected.shape, dtype=out)
            if out == "bool" or (out == "int64" and expected.dtype.kind == "f"):
                with pytest.raises(TypeError, match=f"out is of {out}, which does not hold"):
                    getattr(mx.np, name)(array, axis=0, out=target)
                assert not target.asnumpy().any()
                continue
            assert getattr(mx.np, name)(array, axis=0, out=target) is target
            np.testing.assert_allclose(target.asnumpy(), expected, 1e-6)
