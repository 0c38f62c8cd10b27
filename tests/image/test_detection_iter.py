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
        ([2, np.inf, 1, *BOX], "begins with two sizes"),
        ([1, 5, *BOX], "cannot be a head of 1 and boxes of 5"),
        ([0, 5, 1, *BOX, 7, 7][:5], "cannot be a head of 0 and boxes of 5"),
        ([8, 5, 1, *BOX], "cannot be a head of 8 and boxes of 5"),
        ([-3, 5, 1, *BOX], "cannot be a head of -3 and boxes of 5"),
        ([5], "begins with two sizes, this has 1 numbers"),
        ([2, 5, 1, 0.5, 0.2, 0.3, 0.4], "no box of a label has an area"),
    ],
)
def test_labels_that_are_none(folder, label, says):
    with pytest.raises(mx.errors.FormatError, match=says):
        mx.image.ImageDetIter(1, (3, 8, 8), imglist=[[label, "0.png"]], path_root=folder)


def test_the_smallest_label_that_is_one(folder):
    """A head of its two sizes alone, boxes of five numbers."""
    iterator = mx.image.ImageDetIter(
        1, (3, 8, 8), imglist=[[[2, 5, 1, *BOX], "0.png"]], path_root=folder
    )
    assert np.allclose(next(iterator).label[0].asnumpy(), [[[1, *BOX]]])


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


IMAGENET_MEAN, IMAGENET_STD = [123.68, 116.28, 103.53], [58.395, 57.12, 57.375]


@pytest.mark.parametrize(
    "mean, std",
    [
        (None, None),
        (True, None),
        (None, True),
        (True, True),
        ([200, -300, 0], None),
        (None, [2, 0.5, 1]),
        ([250, 250, 250], [1, 1, 1]),
        (-300, None),
    ],
)
def test_drawing_undoes_a_normalization(folder, mean, std):
    """What leaves 0 to 255 is cut off there, and does not begin anew."""
    iterator = mx.image.ImageDetIter(2, (3, 40, 48), path_imgrec=folder / "boxes.rec")
    drawn = list(iterator.draw_next(mean=mean, std=std, color=(0, 0, 0), thickness=1))
    mean, std = (IMAGENET_MEAN if mean is True else mean), (IMAGENET_STD if std is True else std)
    for number in range(4):
        wanted = picture(number)[20:].astype("float32")
        wanted = wanted * np.float32(1 if std is None else std)
        wanted = wanted + np.float32(0 if mean is None else mean)
        np.testing.assert_array_equal(drawn[number][20:], wanted.clip(0, 255).astype("uint8"))


def test_drawing_without_clipping(folder):
    """Numbers that fit are the same."""
    for clip in (False, True):
        iterator = mx.image.ImageDetIter(2, (3, 40, 48), path_imgrec=folder / "boxes.rec")
        drawn = next(iterator.draw_next(std=0.25, mean=3, clip=clip, color=(0, 0, 0)))
        wanted = picture(0)[20:].astype("float32") * 0.25 + 3
        np.testing.assert_array_equal(drawn[20:], wanted.astype("uint8"))


def test_drawing_texts_and_colors(folder):
    """A text beside the boxes of its class alone; without a color each box has its own."""
    plain, named, colors = (
        list(
            mx.image.ImageDetIter(2, (3, 40, 48), path_imgrec=folder / "boxes.rec").draw_next(**how)
        )
        for how in ({"color": (255, 0, 0)}, {"color": (255, 0, 0), "id2labels": {2: "x"}}, {})
    )
    changed = [not np.array_equal(a, b) for a, b in zip(plain, named)]
    assert changed == [False, False, True, False]
    assert not np.array_equal(plain[1], colors[1])
