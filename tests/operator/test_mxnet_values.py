"""Tensor operators against the values MXNet 1.9.1 gives (tests/fixtures/tensor.py)."""

import json
from pathlib import Path

import numpy as np
import pytest

from cynet.base.errors import CynetError
from cynet.operator import get_operator
from tests.operator.direct import Ready

ENTRIES = json.loads((Path(__file__).parents[1] / "fixtures" / "tensor.json").read_text())

# rounding of a float32 library function, and of MXNet's own float32 sums
RTOL, ATOL = 2e-5, 2e-6

# Integers beside a fraction differ on purpose (docs/migration.md): MXNet cuts the number before,
# cynet what NumPy's float64 gives. By number of the entry: its operator, and NumPy's.
BETTER = {
    92: ("_plus_scalar", np.add),
    94: ("_mul_scalar", np.multiply),
    95: ("_div_scalar", np.divide),
    98: ("_equal_scalar", np.equal),
}


def better(number):
    """The values of an entry in BETTER, which has one array of integers and a scalar."""
    op, function = BETTER[number]
    entry = ENTRIES[number]
    assert entry["op"] == op
    (given,) = entry["inputs"]
    exact = function(np.array(given["value"], "float64"), entry["params"]["scalar"])
    return np.trunc(exact.astype("float64")).astype(given["dtype"])


def run(entry):
    """(outputs, inputs after the call) of one entry; states follow the arguments as in mx.nd."""
    prop_class = get_operator(entry["op"]).prop
    params = dict(entry["params"])
    if prop_class.key_var_num_args:
        params[prop_class.key_var_num_args] = len(entry["inputs"])
    arrays = [np.array(i["value"], dtype=i["dtype"]) for i in entry["inputs"]]
    n = len(prop_class(**params).list_arguments())
    ready = Ready(entry["op"], arrays[:n], params, arrays[n:])
    outputs = ready.forward(train=False)
    return outputs[: ready.prop.num_visible_outputs()], ready.inputs + ready.aux


@pytest.mark.parametrize("number", range(len(ENTRIES)), ids=lambda n: f"{n}-{ENTRIES[n]['op']}")
def test_value(number):
    entry = ENTRIES[number]
    if entry["outputs"] == "error":
        with pytest.raises(
            CynetError, match="Reshape|do not|parameter|range for an array|squeeze: axis 2 of"
        ) as raised:
            run(entry)
        assert len(str(raised.value)) > 20
        return
    outputs, after = run(entry)
    assert len(outputs) == len(entry["outputs"])
    for found, wanted in zip(outputs, entry["outputs"]):
        assert (list(found.shape), str(found.dtype)) == (wanted["shape"], wanted["dtype"])
        compare(found, better(number) if number in BETTER else wanted["value"])
    for found, wanted in zip(after, entry["after"]):
        compare(found, wanted["value"])


def compare(found, value):
    wanted = np.array(value, dtype="float64" if found.dtype.kind == "f" else found.dtype)
    if found.dtype.kind == "f":
        tolerance = (1e-3, 1e-4) if found.dtype == "float16" else (RTOL, ATOL)
        np.testing.assert_allclose(found.astype("float64"), wanted, *tolerance)
    else:
        np.testing.assert_array_equal(found, wanted)
