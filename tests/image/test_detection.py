"""Augmenters of images with boxes, against MXNet 1.9.1 (tests/fixtures/image_cases.py)."""

import random
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from tests.fixtures.image_cases import DETECTION, image_and_label

FIXTURE = np.load(Path(__file__).parent.parent / "fixtures" / "image.npz")


@pytest.mark.parametrize("name", DETECTION)
def test_values(name):
    image, label = image_and_label()
    augmenters = DETECTION[name](mx)
    random.seed(7)
    np.random.seed(7)
    for i in range(3):
        out, boxes = mx.nd.array(image, dtype="uint8"), label
        for each in augmenters:
            out, boxes = each(out, boxes)
        expected = FIXTURE[f"{name}_{i}_image"]
        assert np.array_equal(label, image_and_label()[1])
        assert np.allclose(boxes, FIXTURE[f"{name}_{i}_label"])
        assert out.shape == expected.shape and out.dtype == expected.dtype
        # OpenCV's bicubic of another version may round another way: 1 of 57 after normalization.
        near = 0.03 if out.dtype == np.float32 else 1
        assert np.abs(out.asnumpy().astype(float) - expected).max() <= near


def test_dumps():
    image = mx.image
    assert image.DetBorrowAug(image.CastAug()).dumps() == [
        "detborrowaug",
        '["castaug", {"type": "float32"}]',
    ]
    assert image.DetRandomSelectAug([image.DetHorizontalFlipAug(0.5)]).dumps() == [
        "detrandomselectaug",
        ['["dethorizontalflipaug", {"p": 0.5}]'],
    ]
    assert image.DetRandomPadAug().dumps() == (
        '["detrandompadaug", {"aspect_ratio_range": [0.75, 1.33], "area_range": [1.0, 3.0],'
        ' "max_attempts": 50, "pad_val": [128, 128, 128]}]'
    )


def test_crops_keep_what_they_promise(seed):
    random.seed(seed)
    image, label = image_and_label()
    crop = mx.image.DetRandomCropAug(0.5, (0.5, 2.0), (0.2, 0.9), 0.4, 100)
    for _ in range(200):
        out, boxes = crop.apply(image, label)
        assert (
            (boxes[:, 1:3] < boxes[:, 3:5]).all() and boxes.min() >= 0 and boxes[:, 1:].max() <= 1
        )
        assert out.shape == image.shape or 0.2 <= out.shape[0] * out.shape[1] / (24 * 31) <= 0.9


def test_a_crop_fits_at_the_first_try():
    """A wide crop of a narrow image is as high as its width allows; so does MXNet 1.9.1 (40 of 40),
    while a height drawn from the image's own would seldom do."""
    crop = mx.image.DetRandomCropAug(0.1, (2.0, 2.0), (0.2, 0.9), 0.1, max_attempts=1)
    image, boxes = mx.nd.zeros((100, 50, 3)), np.array([[0, 0, 0, 1, 1.0]])
    for _ in range(40):
        height, width, _ = crop(image, boxes)[0].shape
        assert 22 <= height <= 25 and width == 2 * height


def test_wrong_arguments():
    with pytest.raises(TypeError, match="takes an Augmenter"):
        mx.image.DetBorrowAug(3)
    with pytest.raises(TypeError, match="aug_list has DetAugmenters"):
        mx.image.DetRandomSelectAug([mx.image.CastAug()])
    with pytest.raises(ValueError, match="have 1 or 3 values"):
        mx.image.CreateMultiRandCropAugmenter([0.1, 0.2], max_attempts=[1, 2, 3])


def test_mirrors_and_choices_by_the_numbers_that_are_drawn():
    """Images and boxes change together, with the probability that was given; which one is chosen is
    the first of a shuffled list."""
    x = np.random.default_rng(1).integers(0, 256, (6, 8, 3), dtype=np.uint8)
    boxes = np.array([[1, 0.1, 0.2, 0.5, 0.9, 7.0], [2, 0.0, 0.0, 1.0, 1.0, 8.0]])
    mirrored = boxes.copy()
    mirrored[:, [1, 3]] = 1 - boxes[:, [3, 1]]
    flips = 0
    for seed in range(40):
        own = random.Random(seed)
        random.seed(seed)
        image, label = mx.image.DetHorizontalFlipAug(0.3)(mx.nd.array(x, dtype="uint8"), boxes)
        flip = own.random() < 0.3
        flips += flip
        assert np.array_equal(image.asnumpy(), x[:, ::-1] if flip else x)
        assert np.allclose(label, mirrored if flip else boxes)
        own, sizes = random.Random(seed), [(3, 3), (4, 4), (5, 5)]
        random.seed(seed)
        borrowed = [mx.image.DetBorrowAug(mx.image.ForceResizeAug(size)) for size in sizes]
        chosen = mx.image.DetRandomSelectAug(borrowed, 0.4)
        image, label = chosen(mx.nd.array(x, dtype="uint8"), boxes)
        if own.random() < 0.4:
            assert image.shape == (6, 8, 3)
        else:
            own.shuffle(sizes)
            assert image.shape == (*sizes[0], 3)
        assert np.array_equal(label, boxes)
    assert 3 < flips < 25


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "int8", "bool"])
def test_boxes_in_whole_numbers(dtype):
    """A box of the whole image, written without a point, has the places that it has with one."""
    image = np.zeros((130, 340, 3), np.uint8)
    whole = np.array([[1, 0, 0, 1, 1], [0, 0, 0, 1, 1]], dtype)
    augmenters = mx.image.CreateDetAugmenter(
        (3, 20, 24),
        rand_crop=1,
        rand_pad=1,
        rand_gray=0.5,
        rand_mirror=True,
        mean=True,
        min_object_covered=0.1,
        area_range=(0.3, 2.0),
    )
    moved = 0
    for seed in range(20):
        ends = []
        for label in (whole, whole.astype(np.result_type(whole, "f4"))):
            random.seed(seed)
            out = mx.nd.array(image, dtype="uint8")
            for each in augmenters:
                out, label = each(out, label)
            ends.append(label)
        assert np.array_equal(*ends)
        moved += bool((ends[1] != whole).any())
    assert moved > 5
