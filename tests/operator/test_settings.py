"""Each parameter of each operator once at another value than its case has: as MXNet 1.9.1.

tests/fixtures/operator_settings.py wrote the settings and what MXNet gives.
"""

import json
from pathlib import Path

import pytest

import cynet as mx
from cynet.base.errors import BoundsError
from tests.fixtures.expressions.tools import plain
from tests.fixtures.operator_settings import computed
from tests.test_expressions import same

FILE = Path(__file__).parents[1] / "fixtures" / "operator_settings.json"
ROWS = json.loads(FILE.read_text())["rows"]
# Rows that MXNet computes and then fails for, "data out of bound": number -> what cynet raises.
REFUSED = {184: (BoundsError, "operator Embedding: index -1 in 'data' names none of 6 places")}


@pytest.mark.parametrize("number", range(len(ROWS)), ids=lambda n: f"{n}-{ROWS[n][0]}")
def test_setting(number):
    *row, wanted = ROWS[number]
    where = f"{row[0]}({row[1]})"
    if number in REFUSED:
        kind, words = REFUSED[number]
        with pytest.raises(kind, match=words):
            computed(mx, row)
        return
    outputs, grads = plain(computed(mx, row))
    same(outputs, wanted[0], f"{where} outputs")
    if wanted[1]:
        same(grads, wanted[1], f"{where} gradients")
