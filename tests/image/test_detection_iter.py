"""ImageDetIter: boxes of labels, shapes of batches, and drawing."""

import random

import numpy as np
import pytest

import cynet as mx

from .conftest import picture

BOX = [0.1, 0.2, 0.3, 0.4]


def test_batches(folder):
    iterator = mx.image.ImageDetIter(2, (3, 20, 24), path_imgrec=folder / "boxes.rec")
    assert iterator.label_shape == (2, 5)
    assert iterator.provide_label == [("label", (2, 2, 5))]
    batches = list(iterator)
    for number, batch in enumerate(batches):
        first, second = batch.label[0].asnumpy()
        assert np.allclose(first, [[2 * number, *BOX], [-1] * 5])
        assert np.allclose(second, [[2 * number + 1, *BOX]] * 2)
    assert len(batches) == 2 and batches[0].data[0].shape == (2, 3, 20, 24)
    resized = mx.image.imresize(mx.nd.array(picture(3), dtype="uint8"), 24, 20, 2)
    assert np.array_equal(batches[1].data[0][1].asnumpy(), resized.asnumpy().transpose(2, 0, 1))


def test_shuffling(folder):
    """One seed of Python's random gives MXNet 1.9.1's orders."""
    random.seed(5)
    paths = {"path_imgrec": folder / "boxes.rec", "path_imgidx": folder / "boxes.idx"}
    iterator = mx.image.ImageDetIter(4, (3, 20, 24), shuffle=True, **paths)
    found = []
    for _ in range(3):
        found.append(next(iterator).label[0].asnumpy()[:, 0, 0].tolist())
        iterator.reset()
    assert found == [[2, 1, 0, 3], [3, 2, 1, 0], [2, 3, 1, 0]]


def test_shapes(folder):
    iterator = mx.image.ImageDetIter(
        2, (3, 20, 24), path_imgrec=folder / "boxes.rec", path_imgidx=folder / "boxes.idx"
    )
    iterator.reshape(label_shape=(4, 5))
    batch = next(iterator)
    assert batch.label[0].shape == (2, 4, 5) and iterator.provide_label[0].shape == (2, 4, 5)
    with pytest.raises(ValueError, match="holds less than"):
        iterator.reshape(label_shape=(3, 5))
    other = mx.image.ImageDetIter(2, (3, 8, 8), path_imgrec=folder / "boxes.rec")
    assert iterator.sync_label_shape(other) is other and other.label_shape == (4, 5)
    iterator.reshape((3, 8, 8))
    with pytest.raises(mx.errors.ShapeError, match="data_shape is"):
        next(iterator)


@pytest.mark.parametrize(
    "label, says",
    [
        ([2, 5, 1], "cannot be a head of 2 and boxes of 5"),
        ([2, 5, 1, *BOX, 5], "cannot be a head of 2 and boxes of 5"),
        ([2, 4, 1, *BOX, 5], "cannot be a head of 2 and boxes of 4"),
        ([np.nan, 5, 1, *BOX], "begins with two sizes"),
        ([2, 5, 1, 0.5, 0.2, 0.3, 0.4], "no box of a label has an area"),
    ],
)
def test_labels_that_are_none(folder, label, says):
    with pytest.raises(mx.errors.FormatError, match=says):
        mx.image.ImageDetIter(1, (3, 8, 8), imglist=[[label, "0.png"]], path_root=folder)


def test_labels_with_a_head_and_more(folder):
    label = [4, 6, 9, 9, 1, *BOX, 7, 2, 0.5, 0.5, 0.5, 0.9, 7, 3, *BOX, 8]
    iterator = mx.image.ImageDetIter(1, (3, 8, 8), imglist=[[label, "0.png"]], path_root=folder)
    assert np.allclose(next(iterator).label[0].asnumpy(), [[[1, *BOX, 7], [3, *BOX, 8]]])


def test_drawing(folder):
    iterator = mx.image.ImageDetIter(2, (3, 40, 48), path_imgrec=folder / "boxes.rec")
    drawn = list(iterator.draw_next(color=(255, 0, 0), thickness=1, id2labels={0: "x"}))
    assert len(drawn) == 4 and all(each.shape == (40, 48, 3) for each in drawn)
    assert (drawn[2][8, 4:14] == [255, 0, 0]).all()  # the upper side of its box
    assert np.array_equal(drawn[2][20:], picture(2)[20:])
