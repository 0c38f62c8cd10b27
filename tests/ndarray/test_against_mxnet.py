"""Expressions and statements on arrays give what MXNet 1.9.1 gave
(tests/fixtures/ndarray.py)."""

import json
from pathlib import Path

import numpy as np
import pytest

import cynet as mx

FIXTURE = json.loads((Path(__file__).parent.parent / "fixtures" / "ndarray.json").read_text())
A = np.arange(6, dtype="float32").reshape(2, 3)
B = np.array([1, 2], dtype="int32")
# Where cynet does something more useful on purpose (docs/migration.md): MXNet refuses or gives
# something nobody can mean.
BETTER = {  # what NumPy makes of the same arrays
    "a + np.ones((2, 3))": A + 1,
    "np.ones((2, 3)) + a": A + 1,
    "a[a > 2]": A[A > 2],  # a mask; MXNet takes its zeros and ones for positions
    "b * 2.7": np.trunc(B * 2.7).astype(B.dtype),  # MXNet cuts 2.7 before, not the result
}
BETTER_STATEMENTS = {  # the arrays that differ, by name; the others are MXNet's
    "b *= 2.5": {"b": np.trunc(B * 2.5).astype(B.dtype)}  # as above
}


def arrays():
    return {
        "mx": mx,
        "np": np,
        "a": mx.nd.arange(6).reshape((2, 3)),
        "b": mx.nd.array([1, 2], dtype="int32"),
        "c": mx.nd.arange(24).reshape((2, 3, 4)),
        "u": mx.nd.arange(4, dtype="uint8"),
    }


def described(array):
    """An array as the fixture has it."""
    return {"shape": list(array.shape), "dtype": array.dtype.name, "values": array.tolist()}


def check(got, expected, text):
    if isinstance(expected, dict):
        assert isinstance(got, mx.nd.NDArray), text
        assert list(got.shape) == expected["shape"]
        assert np.dtype(got.dtype).name == expected["dtype"]
        np.testing.assert_allclose(
            got.asnumpy(), np.array(expected["values"]).reshape(got.shape), rtol=1e-6
        )
    elif isinstance(expected, list):
        assert len(got) == len(expected)
        for one, other in zip(got, expected):
            check(one, other, text)
    else:
        assert got == expected


@pytest.mark.parametrize("text", FIXTURE["expressions"])
def test_expression(text):
    expected = FIXTURE["expressions"][text]
    if text in BETTER:
        check(eval(text, arrays()), described(BETTER[text]), text)
    elif expected == {"raises": True}:
        kinds = (mx.base.MXNetError, IndexError, TypeError, ValueError, AttributeError)
        with pytest.raises(kinds, match=r"\w+ \w+"):  # it says something
            got = eval(text, arrays())
            got.wait_to_read()
    else:
        check(eval(text, arrays()), expected, text)


@pytest.mark.parametrize("text", FIXTURE["statements"])
def test_statement(text):
    expected = FIXTURE["statements"][text]
    names = arrays()
    if expected == {"raises": True}:
        with pytest.raises(
            (mx.base.MXNetError, IndexError, TypeError, ValueError),
            match="of bounds for axis|operator|value",
        ):
            exec(text, names)
    else:
        exec(text, names)
        better = BETTER_STATEMENTS.get(text, {})
        wanted = [described(better[n]) if n in better else e for n, e in zip("abcu", expected)]
        check([names[n] for n in "abcu"], wanted, text)
