"""Expressions and statements on arrays give what MXNet 1.9.1 gave
(tests/fixtures/make_ndarray.py)."""

import json
from pathlib import Path

import numpy as np
import pytest

import cynet as mx

FIXTURE = json.loads((Path(__file__).parent.parent / "fixtures" / "ndarray.json").read_text())
# Where cynet does something more useful on purpose: MXNet refuses or gives something nobody can
# mean.
BETTER = {  # an array on which the same text, without mx.nd.array, gives the values
    "a + np.ones((2, 3))": lambda: np.arange(6).reshape(2, 3) + 1,
    "np.ones((2, 3)) + a": lambda: np.arange(6).reshape(2, 3) + 1,
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
        np.testing.assert_array_equal(eval(text, arrays()).asnumpy(), BETTER[text]())
    elif expected == {"raises": True}:
        with pytest.raises((mx.base.MXNetError, IndexError, TypeError, ValueError, AttributeError)):
            got = eval(text, arrays())
            got.wait_to_read()
    else:
        check(eval(text, arrays()), expected, text)


@pytest.mark.parametrize("text", FIXTURE["statements"])
def test_statement(text):
    expected = FIXTURE["statements"][text]
    names = arrays()
    if expected == {"raises": True}:
        with pytest.raises((mx.base.MXNetError, IndexError, TypeError, ValueError)):
            exec(text, names)
    else:
        exec(text, names)
        check([names[n] for n in "abcu"], expected, text)
