"""RandAugment: each change beside Pillow or NumPy, what is drawn, what is refused."""

import numpy as np
import pytest
from PIL import Image, ImageEnhance, ImageOps

import cynet as mx
from cynet.gluon.data.vision import transforms
from cynet.gluon.data.vision.rand_augment import OPERATIONS

ENHANCED = {
    "Brightness": ImageEnhance.Brightness,
    "Color": ImageEnhance.Color,
    "Contrast": ImageEnhance.Contrast,
    "Sharpness": ImageEnhance.Sharpness,
}


@pytest.fixture
def image(rng):
    return rng.integers(20, 230, (9, 11, 3)).astype("uint8")


@pytest.mark.parametrize("strength", [-0.9, -0.3, 0.0, 0.5, 0.9])
@pytest.mark.parametrize("name", ENHANCED)
def test_enhancers(name, strength, image):
    wanted = np.asarray(ENHANCED[name](Image.fromarray(image)).enhance(1 + strength))
    found = OPERATIONS[name][2](image, strength)
    assert found.dtype == np.uint8
    assert np.abs(found.astype(int) - wanted).max() <= 1  # Pillow cuts fractions off


@pytest.mark.parametrize(
    "name, function", [("AutoContrast", ImageOps.autocontrast), ("Equalize", ImageOps.equalize)]
)
def test_histograms(name, function, image):
    for pixels in (image, np.zeros_like(image), image // 64 * 64):
        wanted = np.asarray(function(Image.fromarray(pixels)))
        found = OPERATIONS[name][2](pixels, 0.0)
        assert np.abs(found.astype(int) - wanted).max() <= (name == "AutoContrast")


def test_bits(image):
    for gone in (0, 1, 4):
        wanted = ImageOps.posterize(Image.fromarray(image), 8 - gone)
        np.testing.assert_array_equal(OPERATIONS["Posterize"][2](image, float(gone)), wanted)
    for strength in (0.0, 100.0, 255.0):
        wanted = ImageOps.solarize(Image.fromarray(image), 255 - strength)
        np.testing.assert_array_equal(OPERATIONS["Solarize"][2](image, strength), wanted)


def test_geometry(image):
    square = image[:, :9]
    turn = OPERATIONS["Rotate"][2]
    np.testing.assert_array_equal(turn(square, 90), np.rot90(square))  # counterclockwise
    np.testing.assert_array_equal(turn(square, 180), square[::-1, ::-1])
    moved = OPERATIONS["TranslateX"][2](image, 2 / 11 + 1e-9)
    np.testing.assert_array_equal(moved[:, :-2], image[:, 2:])
    assert not moved[:, -2:].any()
    moved = OPERATIONS["TranslateY"][2](image, -(3 / 9 + 1e-9))
    np.testing.assert_array_equal(moved[3:], image[:-3])
    assert not moved[:3].any()
    sheared = OPERATIONS["ShearX"][2](image, 1.0)
    for row in range(9):  # by its distance from the middle row
        by = row - 4
        wanted = np.zeros_like(image[row])
        x = np.arange(11) + by
        inside = (x >= 0) & (x < 11)
        wanted[inside] = image[row, x[inside]]
        np.testing.assert_array_equal(sheared[row], wanted)
    across = OPERATIONS["ShearY"][2](image.transpose(1, 0, 2), 1.0)
    np.testing.assert_array_equal(across.transpose(1, 0, 2), sheared)


def test_what_is_drawn(image, seed):
    x = mx.nd.array(image, dtype="uint8")
    np.testing.assert_array_equal(transforms.RandAugment(0)(x).asnumpy(), image)
    transform = transforms.RandAugment(1, 30)
    data = mx.gluon.data.ArrayDataset(mx.nd.array(np.stack([image] * 60), dtype="uint8"))
    made = []
    for workers in (0, 2):
        mx.random.seed(seed)
        loader = mx.gluon.data.DataLoader(data.transform(transform), 10, num_workers=workers)
        made.append(np.concatenate([batch.asnumpy() for batch in loader]))
    np.testing.assert_array_equal(*made)
    kinds = {each.tobytes() for each in made[0]}
    assert 10 < len(kinds) <= 2 * len(OPERATIONS), "fourteen changes, some with two signs"
    grey = mx.nd.array(image[..., :1], dtype="uint8")
    assert transforms.RandAugment(8)(mx.nd.stack(grey, grey)).shape == (2, 9, 11, 1)


@pytest.mark.parametrize(
    "make, says",
    [
        (lambda: transforms.RandAugment(-1), "num_ops is an int of at least 0, got -1"),
        (lambda: transforms.RandAugment(2, 31), "magnitude is from 0 to 30, got 31"),
        (lambda: transforms.RandAugment()(mx.nd.zeros((4, 4, 3))), "images of uint8, got float32"),
        (
            lambda: transforms.RandAugment()(mx.nd.zeros((4, 4, 2), dtype="uint8")),
            "1 or 3 channels",
        ),
    ],
)
def test_refused(make, says):
    with pytest.raises(mx.MXNetError, match=says):
        make()
    transforms.RandAugment(2, 30)
