"""Transforms that resize, crop and turn, against MXNet 1.9.1's functions of images."""

from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from cynet.gluon.data.vision import transforms
from tests.fixtures.image_cases import image_and_label

FIXTURE = np.load(Path(__file__).parents[3] / "fixtures" / "image.npz")
IMAGE = image_and_label()[0]


@pytest.mark.parametrize(
    "transform, expected",
    [
        (transforms.Resize((17, 13)), "imresize1down"),
        (transforms.Resize((50, 41), interpolation=0), "imresize0up"),
        (transforms.Resize(11, keep_ratio=True, interpolation=2), "resize_short"),
        (transforms.CenterCrop((13, 9), 2), "center_crop"),
        (transforms.CropResize(2, 3, 9, 8), "fixed_crop"),
        (transforms.CropResize(2, 3, 9, 8, (12, 14), 2), "fixed_crop_size"),
    ],
)
def test_values(transform, expected):
    image = mx.nd.array(IMAGE, dtype="uint8")
    out = transform(image).asnumpy()
    assert out.dtype == np.uint8 and out.shape == FIXTURE[expected].shape
    assert np.abs(out.astype(int) - FIXTURE[expected]).max() <= 1  # OpenCV's bicubic rounds
    both = transform(mx.nd.stack(image, image)).asnumpy()
    assert np.array_equal(both, [out, out])


def test_rotation():
    image = mx.nd.array(IMAGE.transpose(2, 0, 1) / 255)
    assert np.allclose(transforms.Rotate(30.0)(image).asnumpy(), FIXTURE["imrotate"], atol=1e-3)
    turned = transforms.RandomRotation((29.999, 30.001))(image).asnumpy()
    assert np.allclose(turned, FIXTURE["imrotate"], atol=1e-2)
    same = transforms.RandomRotation((-50, 50), rotate_with_proba=0.0)(image)
    assert np.array_equal(same.asnumpy(), image.asnumpy())


def test_random_crops_repeat():
    """What is drawn: test_models.py."""
    crop = transforms.RandomResizedCrop((8, 6), (0.2, 0.5), (1.0, 1.0), 0)
    image = mx.nd.array(IMAGE, dtype="uint8")
    mx.random.seed(3)
    first = [crop(image).asnumpy() for _ in range(3)]
    assert first[0].shape == (6, 8, 3) and not np.array_equal(first[0], first[1])
    rows, columns = np.mgrid[: IMAGE.shape[0], : IMAGE.shape[1]]
    places = mx.nd.array(np.stack([rows, columns, rows], -1), dtype="uint8")
    mx.random.seed(3)
    for each in first:  # it is a part of the image, nearest pixels of a rectangle
        row, column, _ = np.moveaxis(crop(places).asnumpy().astype(int), -1, 0)
        np.testing.assert_array_equal(each, IMAGE[row, column])
        assert (row == row[:, :1]).all() and (column == column[:1]).all()
        height, width = np.ptp(row[:, 0]) * 6 / 5, np.ptp(column[0]) * 8 / 7
        assert 0.1 < height * width / IMAGE[..., 0].size < 0.65
        assert (np.diff(row[:, 0]) > 0).all() and (np.diff(column[0]) > 0).all()
    mx.random.seed(3)
    assert all(np.array_equal(crop(image).asnumpy(), each) for each in first)


def test_in_a_chain():
    chain = transforms.Compose(
        [transforms.Resize(20, keep_ratio=True), transforms.CenterCrop(16), transforms.ToTensor()]
    )
    out = chain(mx.nd.array(IMAGE, dtype="uint8"))
    assert out.shape == (3, 16, 16) and out.dtype == np.float32


def test_wrong_arguments():
    image = mx.nd.array(IMAGE, dtype="uint8")
    for wrong, says in (
        (lambda: transforms.Resize((3, 4, 5)), "an int or"),
        (lambda: transforms.CenterCrop(0), "an int or"),
        (lambda: transforms.CropResize(20, 3, 30, 9)(image), "go beyond the 31 columns"),
        (lambda: transforms.Resize(3)(image[0]), r"takes \(H, W, C\)"),
        (lambda: transforms.RandomRotation((5, 5)), "angle_limits"),
        (lambda: transforms.RandomRotation((5, 6), rotate_with_proba=2), "from 0 to 1"),
    ):
        with pytest.raises(ValueError, match=says):
            wrong()
    with pytest.raises(TypeError, match="float32"):
        transforms.Rotate(3)(image)
    with pytest.raises(TypeError, match="takes an NDArray"):
        transforms.Resize(3)(IMAGE)
