"""mx.contrib.text: the values in comments of each test are those of MXNet 1.9.1."""

from collections import Counter

import numpy as np
import pytest

import cynet as mx

text = mx.contrib.text
COUNTS = Counter(["a", "b", "b", "c", "c", "c", "some_word$"])


def test_vocabulary():
    v = text.vocab.Vocabulary(COUNTS, reserved_tokens=["<pad>"])
    assert v.idx_to_token == ["<unk>", "<pad>", "c", "b", "a", "some_word$"]
    assert v.token_to_idx["a"] == 4 and len(v) == 6
    assert (v.reserved_tokens, v.unknown_token) == (["<pad>"], "<unk>")
    assert (v.to_indices("c"), v.to_indices(["c", "zz"])) == (2, [2, 0])
    assert (v.to_tokens(1), v.to_tokens([0, 2])) == ("<pad>", ["<unk>", "c"])
    few = text.vocab.Vocabulary(COUNTS, most_freq_count=2, min_freq=2)
    assert few.idx_to_token == ["<unk>", "c", "b"] and few.reserved_tokens is None


def test_a_reserved_token_that_is_counted_takes_no_place():
    v = text.vocab.Vocabulary(COUNTS, reserved_tokens=["b"])
    assert v.idx_to_token == ["<unk>", "b", "c", "a", "some_word$"]


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda v: v.to_tokens(100), ValueError, "numbers 0 to 4, got 100"),
        (lambda v: v.to_tokens([0, -1]), ValueError, "got -1"),
        (lambda v: v.to_tokens("a"), TypeError, "takes ints"),
        (lambda v: text.vocab.Vocabulary(COUNTS, min_freq=0), AssertionError, "min_freq"),
        (
            lambda v: text.vocab.Vocabulary(COUNTS, reserved_tokens=["<unk>"]),
            AssertionError,
            "unknown token",
        ),
        (
            lambda v: text.vocab.Vocabulary(COUNTS, reserved_tokens=["a", "a"]),
            AssertionError,
            "twice",
        ),
    ],
)
def test_refusals_of_vocabularies(make, error, words):
    with pytest.raises(error, match=words):
        make(text.vocab.Vocabulary(COUNTS))


def test_counting():
    counts = text.utils.count_tokens_from_str(
        " Life is great ! \n life is good . \n", to_lower=True
    )
    assert counts == Counter({"life": 2, "is": 2, "great": 1, "!": 1, "good": 1, ".": 1})
    again = text.utils.count_tokens_from_str(r"*is*a*", r"\*", counter_to_update=counts)
    assert again is counts and counts["is"] == 3


@pytest.fixture
def path(tmp_path):
    (tmp_path / "v.txt").write_text("a 0.1 0.2 0.3\nb 1 2 3\nc 4 5 6\n")
    return tmp_path / "v.txt"


def test_custom_embedding(path):
    e = text.embedding.CustomEmbedding(path)
    assert (e.idx_to_token, e.vec_len, len(e)) == (["<unk>", "a", "b", "c"], 3, 4)
    found = e.get_vecs_by_tokens(["c", "zz", "B"], lower_case_backup=True).asnumpy()
    np.testing.assert_array_equal(found, [[4, 5, 6], [0, 0, 0], [1, 2, 3]])
    assert e.get_vecs_by_tokens("b").shape == (3,)
    e.update_token_vectors(["a"], mx.nd.array([[9, 9, 9]]))
    e.update_token_vectors("b", mx.nd.array([7, 7, 7]))
    np.testing.assert_array_equal(e.idx_to_vec.asnumpy()[1:3], [[9] * 3, [7] * 3])
    with pytest.raises(ValueError, match="'zz' is unknown"):
        e.update_token_vectors("zz", mx.nd.array([9, 9, 9]))
    with pytest.raises(
        AssertionError, match=r"2 tokens have vectors of shape \(2, 3\), got \(3,\)"
    ):
        e.update_token_vectors(["a", "b"], mx.nd.array([9, 9, 9]))


def test_with_a_vocabulary(path):
    v = text.vocab.Vocabulary(COUNTS, reserved_tokens=["<pad>"])
    e = text.embedding.CustomEmbedding(path, vocabulary=v)
    assert e.idx_to_token == v.idx_to_token
    np.testing.assert_allclose(
        e.idx_to_vec.asnumpy(),
        [[0] * 3, [0] * 3, [4, 5, 6], [1, 2, 3], [0.1, 0.2, 0.3], [0] * 3],
        rtol=1e-6,
    )
    both = text.embedding.CompositeEmbedding(v, [e, e])
    assert both.vec_len == 6 and both.token_to_idx == v.token_to_idx
    np.testing.assert_array_equal(both.get_vecs_by_tokens("c").asnumpy(), [4, 5, 6, 4, 5, 6])
    with pytest.raises(AssertionError, match="expected embeddings, got a int"):
        text.embedding.CompositeEmbedding(v, 3)


def test_files_as_they_come(tmp_path):
    path = tmp_path / "v.vec"
    path.write_text("3 3\na 1 2 3\nb 1 2 3\na 4 5 6\nalone\n<unk> 5 5 5\n")
    with pytest.warns(UserWarning) as told:
        e = text.embedding.CustomEmbedding(path)
    assert {"4: 'a' appears twice" in str(w.message) for w in told} == {True, False}
    assert e.idx_to_token == ["<unk>", "a", "b"]
    np.testing.assert_array_equal(e.idx_to_vec.asnumpy()[:2], [[5] * 3, [1, 2, 3]])
    path.write_text("a 1 2 3\nb 1 2\n")
    with pytest.raises(AssertionError, match=r"v\.vec:2: the vector of 'b' has 2 numbers"):
        text.embedding.CustomEmbedding(path)
    path.write_text("a 1 x 3\n")
    with pytest.raises(ValueError, match="1: no numbers behind 'a'"):
        text.embedding.CustomEmbedding(path)
    path.write_text("")
    with pytest.raises(ValueError, match="has no vectors"):
        text.embedding.CustomEmbedding(path)


def test_glove_from_a_file(tmp_path):
    (tmp_path / "glove").mkdir()
    (tmp_path / "glove" / "glove.6B.50d.txt").write_text("a 1 2\nb 3 4\n")
    e = text.embedding.create(
        "GloVe",
        pretrained_file_name="glove.6B.50d.txt",
        embedding_root=str(tmp_path),
        init_unknown_vec=mx.nd.ones,
    )
    np.testing.assert_array_equal(e.idx_to_vec.asnumpy(), [[1, 1], [1, 2], [3, 4]])
    with pytest.raises(FileNotFoundError, match="take it from https://fasttext"):
        text.embedding.FastText(embedding_root=str(tmp_path))
    with pytest.raises(KeyError, match=r"no file 'x\.txt'"):
        text.embedding.GloVe("x.txt", str(tmp_path))
    assert "glove.6B.50d.txt" in text.embedding.get_pretrained_file_names("glove")
    assert set(text.embedding.get_pretrained_file_names()) >= {"glove", "fasttext"}
    with pytest.raises(KeyError, match="no embedding 'zz'"):
        text.embedding.get_pretrained_file_names("zz")
    with pytest.raises(AssertionError, match="no embedding 'zz'"):
        text.embedding.create("zz")


def test_bytes_that_are_no_text(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_bytes(b"a 1 2\n\xff\xfe 3 4\n")
    with pytest.raises(mx.errors.FormatError, match="expected text in utf8"):
        mx.contrib.text.embedding.CustomEmbedding(str(path))
