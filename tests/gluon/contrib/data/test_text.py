"""WikiText from files: sequences, numbers and counts as MXNet 1.9.1 makes them of this text."""

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentError, FormatError, MissingFileError
from cynet.gluon.contrib.data.text import WikiText2, WikiText103

TEXT = " \n = Title = \n \n the cat sat on the mat\nthe dog ran\n the end\n"


@pytest.fixture
def folder(tmp_path):
    for part in ("train", "valid", "test"):
        (tmp_path / f"wiki.{part}.tokens").write_text(TEXT, encoding="utf-8")
    return tmp_path


def test_sequences(folder):
    data = WikiText2(root=folder, segment="validation", seq_len=4)
    assert [[part.asnumpy().tolist() for part in sample] for sample in data] == [
        [[3, 4, 3, 1], [4, 3, 1, 2]],
        [[2, 5, 11, 9], [5, 11, 9, 2]],
        [[2, 8, 1, 2], [8, 1, 2, 6]],
        [[6, 10, 1, 2], [10, 1, 2, 7]],
    ]
    assert data.vocabulary.idx_to_token == (
        ["<unk>", "<eos>", "the", "=", "Title", "cat", "dog", "end", "mat", "on", "ran", "sat"]
    )
    assert data.frequencies["the"] == 4 and data[0][0].dtype == np.int32
    batch, following = next(iter(mx.gluon.data.DataLoader(data, 2)))
    assert batch.shape == following.shape == (2, 4)


def test_another_vocabulary(folder):
    words = mx.contrib.text.vocab.Vocabulary(reserved_tokens=["the"])
    data = WikiText103(str(folder), vocab=words, seq_len=5)
    assert data[1][0].asnumpy().tolist() == [0, 0, 0, 1, 0]  # cat sat on the mat


def test_refusals(folder, tmp_path):
    with pytest.raises(ArgumentError, match="one of train, validation, test, got 'valid'"):
        WikiText2(folder, "valid")
    with pytest.raises(MissingFileError, match=r"no file .*wiki\.train\.tokens.*wikitext-2-v1"):
        WikiText2(tmp_path / "nothing")
    with pytest.raises(FormatError, match="18 words are too few for sequences of 20"):
        WikiText2(folder, seq_len=20)
    (folder / "wiki.test.tokens").write_bytes(b"\xff\xfe")
    with pytest.raises(FormatError, match="utf-8"):
        WikiText2(folder, "test")
