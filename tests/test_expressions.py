"""Expressions over many settings of many helpers give what they give with MXNet 1.9.1."""

import json
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from tests.fixtures.expressions.tools import Programs, plain

FOUND = json.loads((Path(__file__).parent / "fixtures" / "expressions.json").read_text())
TOOLS = Programs(mx)
NAMES = {name: getattr(TOOLS, name) for name in dir(TOOLS) if name[0] != "_"}


def same(found, wanted, where):
    """Equal, floats within what float32 in another order of sums gives."""
    if isinstance(wanted, dict) and wanted.keys() == {"dtype", "shape", "values"}:
        assert (found["dtype"], found["shape"]) == (wanted["dtype"], wanted["shape"]), where
        a, b = np.array(found["values"]), np.array(wanted["values"])
        if wanted["dtype"] == "uint8":  # OpenCV's cubic weights round another way since 3.4
            assert np.abs(a - b).max(initial=0) <= 1 and np.abs(a - b).mean() < 0.1, where
            return
        if "float" not in wanted["dtype"]:
            np.testing.assert_array_equal(a, b, where)
            return
        largest = np.abs(b[np.isfinite(b)]).max(initial=1e-6)
        loose = 100 if wanted["dtype"] == "float16" else 1
        least = max(2e-5 * largest, 1e-8) * loose  # weights have ended 8 digits behind 0.1
        np.testing.assert_allclose(a, b, 5e-5 * loose, least, err_msg=where)
    elif isinstance(wanted, dict):
        assert found.keys() == wanted.keys(), where
        for key in wanted:
            same(found[key], wanted[key], f"{where}[{key!r}]")
    elif isinstance(wanted, list):
        assert len(found) == len(wanted), where
        for i, (a, b) in enumerate(zip(found, wanted)):
            same(a, b, f"{where}[{i}]")
    elif isinstance(wanted, float) and not isinstance(found, str):
        np.testing.assert_allclose(found, wanted, 2e-6, 1e-12, err_msg=where)
    else:
        assert found == wanted and isinstance(found, bool) == isinstance(wanted, bool), where


@pytest.mark.parametrize("area, text", [(a, t) for a, table in FOUND.items() for t in table])
def test_expression(area, text):
    same(plain(eval(text, dict(NAMES))), FOUND[area][text], text)
