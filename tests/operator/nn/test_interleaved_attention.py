"""A BERT-like encoder on interleaved attention: what MXNet 1.9.1 gives of it, names included.

bert_encoder.npz is what tests/fixtures/bert_encoder.py computed there.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from tests.fixtures.bert_encoder import LENGTH, inputs, network, nodes, step

FIXTURE = Path(__file__).parents[2] / "fixtures" / "bert_encoder.npz"


@pytest.fixture(scope="module")
def wanted():
    with np.load(FIXTURE) as file:
        return dict(file)


@pytest.mark.parametrize("hybridized", [False, True])
def test_outputs_and_gradients(hybridized, wanted):
    net = network(mx)
    if hybridized:
        net.hybridize()
    found = step(mx, net)
    assert list(found) == [key for key in wanted if key != "nodes"]
    for key, array in found.items():
        np.testing.assert_allclose(array, wanted[key], 2e-5, 2e-5, err_msg=key)


def test_symbol(wanted, tmp_path):
    """Its nodes, and what an executor makes of the exported files."""
    net = network(mx)
    with mx.name.NameManager():  # names count from 0, as in the process that made the file
        assert nodes(mx, net) == json.loads(str(wanted["nodes"]))
    net.hybridize()
    words, segments, lengths, *_ = inputs(mx)
    net(words, segments, lengths)
    net.export(str(tmp_path / "bert"))
    symbol, args, aux = mx.model.load_checkpoint(str(tmp_path / "bert"), 0)
    given = dict(zip(("data0", "data1", "data2"), (words, segments, lengths)))
    executor = symbol.bind(mx.cpu(), {**args, **given}, aux_states=aux)
    for array, key in zip(executor.forward(), ("encoded", "pooled", "scores")):
        np.testing.assert_allclose(array.asnumpy(), wanted[key], 2e-5, 2e-5, err_msg=key)


def test_masked_places_change_nothing():
    """What stands behind a sequence's length is seen by none of its places."""
    net = network(mx)
    words, segments, lengths, *_ = inputs(mx)
    behind = mx.nd.array(np.arange(LENGTH)) >= mx.nd.expand_dims(lengths, axis=1)
    other = mx.nd.where(behind.broadcast_to(words.shape), (words + 5) % 20, words)
    for i, n in enumerate(lengths.asnumpy().astype(int)):
        a, b = (net(each, segments, lengths)[0][i, :n].asnumpy() for each in (words, other))
        np.testing.assert_array_equal(a, b)
    assert (other.asnumpy() != words.asnumpy()).any()
