"""Integers that become float32 where nobody asked for a dtype are told once, if they change."""

import subprocess
import sys

import pytest

LARGE = (1 << 24) + 1
TELLS = {
    "list": "nd.array([1, {n}])",
    "int": "nd.array({n})",
    "nested": "nd.array([[1], [-{n}]])",
    "int64": "nd.array(np.array([1, {n}]))",
    "int32": "nd.array(np.array([1, {n}], 'int32'))",
    "uint32": "nd.array(np.array([1, {n}], 'uint32'))",
    "uint64": "nd.array(np.array([1, {n}], 'uint64'))",
    "columns": "nd.array(np.array([[1, {n}]] * 3).T)",
    "step": "nd.array(np.array([{n}, 1, 2, 3])[::2])",
    "NDArrayIter": "mx.io.NDArrayIter(np.array([[1], [{n}]]), batch_size=2).next()",
    "labels": "mx.io.NDArrayIter(np.zeros((2, 1)), np.array([1, {n}]), batch_size=2).next()",
}
SILENT = {
    "dtype": "nd.array([{n}], dtype='int64'), nd.array([{n}], dtype='float32')",
    "exact": "nd.array([1 << 24, -(1 << 24), 1 << 30, 0]), nd.array(np.array([1 << 40]))",
    "floats": "nd.array([{n}.5]), nd.array(np.array([{n}.0]))",
    "small": "nd.array(np.arange(9, dtype='uint8')), nd.array([])",
    "DataLoader": "[x.dtype for x in mx.gluon.data.DataLoader(np.array([1, {n}]), 2)]",
    "array": "nd.array(nd.array([{n}], dtype='int64'))",
}


def told(code):
    """The warnings of a fresh process."""
    program = "\n".join(
        [
            "import warnings, numpy as np, cynet as mx",
            "from cynet import nd",
            "with warnings.catch_warnings(record=True) as found:",
            "    warnings.simplefilter('always')",
            f"    for _ in range(2): {code.format(n=LARGE)}",
            "print([str(each.message) for each in found])",
        ]
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120
    )
    assert ran.returncode == 0, ran.stderr
    return eval(ran.stdout)


@pytest.mark.parametrize("name", TELLS)
def test_told_once(name):
    (text,) = told(TELLS[name])
    assert f"{LARGE} becomes" in text
    assert f"{LARGE - 1}.0, as integers are float32" in text
    assert "dtype='int64'" in text


def test_nothing_to_tell():
    assert told("(" + ", ".join(f"({each})" for each in SILENT.values()) + ")") == []
