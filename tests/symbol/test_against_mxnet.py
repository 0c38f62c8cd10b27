"""Whole networks held to MXNet 1.9.1: names, lists, attributes, JSON, shapes and types."""

import json
import re
from pathlib import Path

import pytest

import cynet as mx
from tests.fixtures.symbol_networks import NETWORKS, OLD_GRAPHS, describe

FIXTURES = Path(__file__).parent.parent / "fixtures"
EXPECTED = json.loads((FIXTURES / "symbol.json").read_text())
UPGRADED = json.loads((FIXTURES / "symbol_old.json").read_text())


# MXNet keeps scratch memory of these operators as one more output, counted in node_row_ptr
ROWS = re.compile(r'"node_row_ptr": \[[^]]*\]')
SCRATCH = re.compile('"op": "(Pooling|LRN)"')


@pytest.fixture(scope="module", params=sorted(NETWORKS))
def pair(request):
    found = describe(mx, request.param)
    return json.loads(json.dumps(found)), EXPECTED[request.param]


@pytest.mark.parametrize("what", sorted(set(EXPECTED["mlp"]) - {"json", "shapes", "types"}))
def test_same_as_mxnet(pair, what):
    found, expected = pair
    assert found[what] == expected[what]


def test_json_is_mxnets_byte_for_byte(pair):
    found, expected = (each["json"] for each in pair)
    if SCRATCH.search(found):
        found, expected = ROWS.sub("", found), ROWS.sub("", expected)
    assert found == expected


def extends(found, expected):
    """True when `found` is what MXNet inferred, or more where it left something open."""
    if not expected:
        return True
    return len(found) == len(expected) and all(b in (0, a) for a, b in zip(found, expected))


@pytest.mark.parametrize("what", ["shapes", "types"])
def test_inference_as_mxnet(pair, what):
    for found, expected in zip(pair[0][what], pair[1][what], strict=True):
        for mine, its in zip(found, expected, strict=True):
            assert len(mine) == len(its)
            if what == "types":
                assert [b or a for a, b in zip(mine, its)] == mine
            else:
                assert all(map(extends, mine, its)), (mine, its)


@pytest.mark.parametrize("name", sorted(NETWORKS))
def test_mxnet_json_is_read_and_written_back(name):
    text = EXPECTED[name]["json"]
    net = mx.sym.load_json(text)
    found = net.tojson()
    if SCRATCH.search(found):
        found, text = ROWS.sub("", found), ROWS.sub("", text)
    assert found == text
    assert net.list_arguments() == EXPECTED[name]["arguments"]
    assert net.list_auxiliary_states() == EXPECTED[name]["states"]
    assert net.list_outputs() == EXPECTED[name]["outputs"]


@pytest.mark.parametrize("name", sorted(OLD_GRAPHS))
def test_old_dialects_become_what_mxnet_makes_of_them(name):
    found = json.loads(mx.sym.load_json(json.dumps(OLD_GRAPHS[name])).tojson())
    expected = json.loads(UPGRADED[name])
    for graph in (found, expected):  # MXNet gives no versions to the states it adds
        for node in graph["nodes"]:
            node["inputs"] = [edge[:2] for edge in node["inputs"]]
    assert found == expected
