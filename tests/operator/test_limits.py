"""The least and the largest number that each parameter of each operator takes."""

import json
import math
from pathlib import Path

import pytest

from cynet.base.errors import CynetError
from cynet.operator import OPERATORS
from tests import own_defaults

MXNET = Path(own_defaults.__file__).parent / "fixtures" / "operator_limits.json"


def takes(operator, name, value):
    field = OPERATORS.get(operator).prop.fields[name]
    if type(field).__name__ == "Shape":
        value = (value,) * (field.length or 1)
    try:
        field.parse(value, operator)
    except CynetError as error:
        assert f"'{name}'" in str(error) and operator in str(error)
        return False
    return True


def beyond(value, step):
    """The next number: of floats the next in double precision."""
    return math.nextafter(value, step * math.inf) if isinstance(value, float) else value + step


def test_each_limit_is_the_one_that_is_written_down():
    """A limit that changes is a change for users: ``python -m tests.own_defaults`` writes them."""
    lines = own_defaults.LIMITS.read_text().splitlines()
    assert lines == own_defaults.limits()
    for line in lines:
        operator, name, _, *ends = line.split()
        for end, step in zip(ends, (-1, 1)):
            if end != "-":
                value = json.loads(end)
                assert takes(operator, name, value), line
                assert not takes(operator, name, beyond(value, step)), line


@pytest.mark.parametrize("operator, name, value", json.loads(MXNET.read_text()))
def test_limits_of_mxnet(operator, name, value):
    """What its parser refuses is refused (tests/fixtures/operator_limits.py)."""
    assert takes(operator, name, value)
    assert takes(operator, name, beyond(value, -1)) != takes(operator, name, beyond(value, 1))
