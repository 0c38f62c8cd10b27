"""CSVIter: batches as MXNet 1.9.1 gives them (noted from a run of it), what bad input gets."""

import numpy as np
import pytest

import cynet as mx
from cynet.errors import ArgumentError, FormatError, ShapeError


@pytest.fixture
def files(tmp_path):
    data, label = tmp_path / "data.csv", tmp_path / "label.csv"
    np.savetxt(data, np.arange(30).reshape(10, 3), delimiter=",")
    np.savetxt(label, np.arange(10), delimiter=",")
    return str(data), str(label)


def epoch(it):
    rows = [
        (
            batch.label[0].asnumpy().tolist(),
            batch.data[0].asnumpy()[:, 0].tolist(),
            batch.pad,
            batch.index.tolist(),
        )
        for batch in it
    ]
    it.reset()
    for label, first, _, index in rows:
        assert first == [3 * each for each in label] and index == label
    return [(label, pad) for label, _, pad, _ in rows]


def test_round_batch(files):
    it = mx.io.CSVIter(data_csv=files[0], data_shape=(3,), label_csv=files[1], batch_size=4)
    assert it.provide_data == [("data", (4, 3))] and it.provide_label == [("softmax_label", (4,))]
    assert epoch(it) == [([0, 1, 2, 3], 0), ([4, 5, 6, 7], 0), ([8, 9, 0, 1], 2)]
    assert epoch(it) == [([2, 3, 4, 5], 0), ([6, 7, 8, 9], 0)]
    assert epoch(it)[0] == ([0, 1, 2, 3], 0)


def test_without_round_batch(files):
    it = mx.io.CSVIter(
        data_csv=files[0], data_shape=(3,), label_csv=files[1], batch_size=4, round_batch=False
    )
    for _ in range(2):
        assert epoch(it) == [([0, 1, 2, 3], 0), ([4, 5, 6, 7], 0), ([8, 9, 0, 1], 2)]


def test_without_labels(files):
    it = mx.io.CSVIter(data_csv=files[0], data_shape=(3, 1), batch_size=5)
    assert it.provide_data == [("data", (5, 3, 1))]
    assert it.next().label[0].asnumpy().tolist() == [0] * 5


def test_refused(files, tmp_path):
    with pytest.raises(ArgumentError, match="nowhere"):
        mx.io.CSVIter(data_csv="nowhere", data_shape=(3,))
    with pytest.raises(ShapeError, match=r"3 columns.*4"):
        mx.io.CSVIter(data_csv=files[0], data_shape=(4,))
    (tmp_path / "bad.csv").write_text("1,2,3\n4,x,6\n")
    with pytest.raises(FormatError, match=r"bad\.csv"):
        mx.io.CSVIter(data_csv=str(tmp_path / "bad.csv"), data_shape=(3,))
    (tmp_path / "short.csv").write_text("1\n2\n")
    with pytest.raises(ShapeError, match="2 rows"):
        mx.io.CSVIter(data_csv=files[0], data_shape=(3,), label_csv=str(tmp_path / "short.csv"))
