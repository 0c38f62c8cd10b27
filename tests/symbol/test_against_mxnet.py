"""Names, lists, attributes, JSON, shapes and types of whole networks, held to what MXNet 1.9.1 says."""

import json
from pathlib import Path

import pytest

import cynet as mx
from tests.fixtures.symbol_networks import NETWORKS, describe

EXPECTED = json.loads((Path(__file__).parent.parent / "fixtures" / "symbol.json").read_text())


@pytest.fixture(scope="module", params=sorted(NETWORKS))
def pair(request):
    found = describe(mx, request.param)
    return json.loads(json.dumps(found)), EXPECTED[request.param]


@pytest.mark.parametrize("what", sorted(EXPECTED["mlp"]))
def test_same_as_mxnet(pair, what):
    found, expected = pair
    assert found[what] == expected[what]


@pytest.mark.parametrize("name", sorted(NETWORKS))
def test_mxnet_json_is_read_and_written_back(name):
    text = EXPECTED[name]["json"]
    net = mx.sym.load_json(text)
    assert net.tojson() == text
    assert net.list_arguments() == EXPECTED[name]["arguments"]
    assert net.list_auxiliary_states() == EXPECTED[name]["states"]
    assert net.list_outputs() == EXPECTED[name]["outputs"]
