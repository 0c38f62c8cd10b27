"""Sentences in buckets, training on them and checkpoints, as MXNet 1.9.1."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import cynet as mx

FIXTURES = Path(__file__).parents[1] / "fixtures"
sys.path.insert(0, str(FIXTURES))
import symbolic_rnn_networks as given  # noqa: E402

FACTS = json.loads((FIXTURES / "symbolic_rnn.json").read_text())


def test_batches():
    found, vocab = given.batches(mx)
    assert vocab == FACTS["vocab"]
    assert found == FACTS["batches"]
    assert given.batches(mx, "TN")[0][:3] == FACTS["batches_tn"]


def test_vocabularies():
    vocab = {"a": 1, "b": 2}
    coded, _ = mx.rnn.encode_sentences([["a", "z", "b"]], vocab, unknown_token="?", start_label=3)
    assert coded == [[1, 3, 2]] and vocab["?"] == 3
    with pytest.raises(mx.MXNetError, match="'z' is not in vocab"):
        mx.rnn.encode_sentences([["z"]], {"a": 1})


def test_buckets_by_default_and_what_is_too_long():
    sentences = [[1] * n for n in (2, 2, 2, 3, 5, 5)]
    with pytest.warns(UserWarning, match="1 sentences are longer than the largest bucket, 3"):
        data = mx.rnn.BucketSentenceIter(sentences[:5], 3, buckets=[2, 3])
    assert data.buckets == [2, 3] and [b.bucket_key for b in data] == [2]
    assert mx.rnn.BucketSentenceIter(sentences, 2).buckets == [2, 5]
    with pytest.raises(mx.MXNetError, match="no length has batch_size=9"):
        mx.rnn.BucketSentenceIter(sentences, 9)


@pytest.mark.parametrize("kind", ["fused", "unrolled"])
def test_training(kind):
    np.testing.assert_allclose(given.train(mx, kind), FACTS["training"][kind], rtol=1e-4)


def test_checkpoints_of_fused_cells_load_into_single_ones(tmp_path):
    fused = mx.rnn.FusedRNNCell(4, 2, "lstm", prefix="f_")
    weights = given.weights_of(mx, fused)
    symbol, _ = fused.unroll(2, mx.sym.Variable("data"), merge_outputs=True)
    prefix = str(tmp_path / "net")
    mx.rnn.do_rnn_checkpoint(fused, prefix, 2)(1, symbol, weights, {})
    mx.rnn.do_rnn_checkpoint(fused, prefix, 2)(2, symbol, weights, {})
    assert sorted(p.name for p in tmp_path.iterdir()) == ["net-0002.params", "net-symbol.json"]
    for epoch in range(7):
        mx.rnn.do_rnn_checkpoint(fused, str(tmp_path / "third"), 3)(epoch, symbol, weights, {})
    assert sorted(p.name for p in tmp_path.glob("third-*.params")) == [
        "third-0003.params",
        "third-0006.params",
    ]
    _, again, _ = mx.rnn.load_rnn_checkpoint(fused, prefix, 2)
    np.testing.assert_array_equal(
        again["f_parameters"].asnumpy(), weights["f_parameters"].asnumpy()
    )
    _, single, _ = mx.rnn.load_rnn_checkpoint([fused.unfuse()], prefix, 2)
    assert single["f_l1_i2h_weight"].shape == (16, 4)
    mx.model.save_checkpoint(str(tmp_path / "packed"), 1, symbol, single, {})
    with pytest.raises(KeyError, match="epoch 1 of .*packed' .* read by mx.model.load_checkpoint"):
        mx.rnn.load_rnn_checkpoint(fused.unfuse(), str(tmp_path / "packed"), 1)
    outputs, _ = mx.rnn.rnn_unroll(fused.unfuse(), 2, input_prefix="in_")
    assert outputs[0].list_arguments()[0] == "in_t0_data"


@pytest.mark.parametrize(
    "cell, length", [("x", 3), (mx.rnn.RNNCell(2), 2**63), (mx.rnn.RNNCell(2), 1.5)]
)
def test_what_rnn_unroll_refuses(cell, length):
    with pytest.raises(mx.base.MXNetError, match="rnn_unroll"):
        mx.rnn.rnn_unroll(cell, length)
