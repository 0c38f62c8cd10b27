"""Transforms that draw, against models of them: what was drawn is found out of the result, or drawn
again by a generator with the same seed, and everything else follows from it."""

import colorsys
import math

import numpy as np
import pytest

import cynet as mx
from cynet.gluon.data.vision import transforms

cv2 = pytest.importorskip("cv2")
GREY = np.array([0.299, 0.587, 0.114])
VALUES = np.array([55.46, 4.794, 1.148])
VECTORS = np.array(
    [[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]]
)


@pytest.fixture
def pixels(rng):
    return rng.uniform(40, 200, (9, 11, 3)).astype(np.float32)


def drawn(transform, pixels, times, dtype="float32"):
    x = mx.nd.array(pixels, dtype=dtype)
    return [transform(x).asnumpy() for _ in range(times)]


def ends(found, low, high):
    """Factors lie in a range, and near both of its ends."""
    width = high - low
    assert low - 1e-3 <= min(found) < low + 0.1 * width
    assert high - 0.1 * width < max(found) <= high + 1e-3
    assert abs(np.mean(found) - (low + high) / 2) < 0.15 * width


OTHERS = {
    "RandomBrightness": lambda x: np.zeros_like(x),
    "RandomContrast": lambda x: np.full_like(x, (x * GREY).sum(2).mean()),
    "RandomSaturation": lambda x: np.repeat((x * GREY).sum(2, keepdims=True), 3, 2),
}


@pytest.mark.parametrize("strength", [0.3, 1.0, 1.5])
@pytest.mark.parametrize("name", OTHERS)
def test_factors_of_colors(name, strength, pixels, seed):
    """Pixels are mixed with others by one factor, from ``max(0, 1 - strength)`` to
    ``1 + strength``."""
    mx.random.seed(seed)
    wanted, factors = pixels.astype(float), []
    other = OTHERS[name](wanted)
    away = (wanted - other).ravel()
    for found in drawn(getattr(transforms, name)(strength), pixels, 120):
        factor = away @ (found - other).ravel() / (away @ away)
        assert np.abs(found - (other + factor * (wanted - other))).max() < 0.01
        factors.append(factor)
    ends(factors, max(0.0, 1 - strength), 1 + strength)


@pytest.mark.parametrize("name", [*OTHERS, "RandomHue"])
def test_bytes_are_cut_off(name, pixels, seed):
    """uint8 stays uint8, and does not wrap around."""
    mx.random.seed(seed)
    bright = np.where(pixels > 120, 250, 5).astype(np.uint8)
    for found in drawn(getattr(transforms, name)(1.5), bright, 20, "uint8"):
        assert found.dtype == np.uint8
        if name == "RandomBrightness":
            factor = found[bright == 5].mean() / 5
            assert (found[bright == 250] >= min(255, 250 * factor) - 30).all()
    for wrong in (-0.1, float("nan")):
        with pytest.raises(ValueError, match=name):
            getattr(transforms, name)(wrong)


def test_hue(pixels, seed):
    """The hue of all pixels turns by one angle; lightness and saturation stay."""
    mx.random.seed(seed)
    before = np.array([colorsys.rgb_to_hls(*each) for each in pixels.reshape(-1, 3) / 255.0])
    turns = []
    for found in drawn(transforms.RandomHue(0.4), pixels, 60):
        after = np.array([colorsys.rgb_to_hls(*each) for each in found.reshape(-1, 3) / 255.0])
        assert np.abs(after[:, 1:] - before[:, 1:]).max() < 0.01
        turn = (after[:, 0] - before[:, 0]) % 1.0
        turn = np.exp(2j * np.pi * turn)
        assert np.abs(turn - turn[0]).max() < 0.02
        turns.append(np.angle(turn.mean()))
    assert np.std(turns) > 0.1


def test_lighting(pixels, seed):
    """One shift of all pixels, along the components; its parts are normal."""
    mx.random.seed(seed)
    parts = []
    for found in drawn(transforms.RandomLighting(0.1), pixels, 300):
        shift = (found - pixels.astype(float)).reshape(-1, 3)
        assert np.ptp(shift, axis=0).max() < 1e-3
        parts.append(np.linalg.solve(VECTORS * VALUES, shift.mean(0)))
    assert np.abs(np.mean(parts, 0)).max() < 0.03
    assert np.abs(np.std(parts, 0) - 0.1).max() < 0.02


def test_jitter_of_one_kind_is_that_kind(pixels, seed):
    """RandomColorJitter with one strength alone; with none it changes nothing."""
    wanted = pixels.astype(float)
    for keyword, name in (
        ("brightness", "RandomBrightness"),
        ("contrast", "RandomContrast"),
        ("saturation", "RandomSaturation"),
    ):
        mx.random.seed(seed)
        other, factors = OTHERS[name](wanted), []
        away = (wanted - other).ravel()
        for found in drawn(transforms.RandomColorJitter(**{keyword: 0.5}), pixels, 80):
            factor = away @ (found - other).ravel() / (away @ away)
            assert np.abs(found - (other + factor * (wanted - other))).max() < 0.01
            factors.append(factor)
        ends(factors, 0.5, 1.5)
    assert np.allclose(drawn(transforms.RandomColorJitter(), pixels, 1)[0], pixels)


@pytest.mark.parametrize("left_out", ["", "brightness", "contrast", "saturation"])
def test_jitter_of_several_kinds(left_out, pixels, seed):
    """Brightness, contrast and saturation in one: whatever their order, a sum of the pixels, their
    greys and the mean grey, which tells all three factors; each has the range of its strength."""
    mx.random.seed(seed)
    strengths = {"brightness": 0.2, "contrast": 0.5, "saturation": 0.8}
    strengths.pop(left_out, None)
    x = pixels.astype(float)
    grey = np.repeat((x * GREY).sum(2, keepdims=True), 3, 2)
    parts = np.stack([x.ravel(), grey.ravel(), np.full(x.size, grey.mean())], 1)
    factors = []
    for found in drawn(transforms.RandomColorJitter(**strengths), pixels, 120):
        (a, b, c), *_ = np.linalg.lstsq(parts, found.ravel().astype(float), rcond=None)
        assert np.abs(parts @ (a, b, c) - found.ravel()).max() < 0.02
        factors.append((a + b + c, (a + b) / (a + b + c), a / (a + b)))
    for name, values in zip(("brightness", "contrast", "saturation"), zip(*factors)):
        if name == left_out:
            assert np.abs(np.array(values) - 1).max() < 1e-3
        else:
            ends(values, 1 - strengths[name], 1 + strengths[name])


@pytest.mark.parametrize(("name", "axis"), [("RandomFlipLeftRight", 1), ("RandomFlipTopBottom", 0)])
def test_mirrors(name, axis, pixels, seed):
    mx.random.seed(seed)
    turned = 0
    for found in drawn(getattr(transforms, name)(), pixels, 200):
        mirrored = np.array_equal(found, np.flip(pixels, axis))
        assert mirrored or np.array_equal(found, pixels)
        turned += mirrored
    assert 70 < turned < 130


# --- those that draw from NumPy's generator -------------------------------------------------------
def generator(seed):
    """That of ``sample_generator`` outside of a DataLoader, after ``numpy.random.seed(seed)``."""
    return np.random.default_rng(np.random.RandomState(seed).randint(1 << 31))


@pytest.mark.parametrize(
    ("scale", "ratio"), [((0.08, 1.0), (0.75, 4 / 3)), ((0.9, 1.0), (3.0, 4.0)), ((1, 1), (1, 1))]
)
def test_crops(scale, ratio, rng):
    """Area and ratio of sides are drawn up to ten times; then the crop is in the middle."""
    for seed in range(25):
        x = rng.integers(0, 256, (13, 13 + seed % 2 * 4, 3), dtype=np.uint8)
        height, width = x.shape[:2]
        draws, box = generator(seed), None
        for _ in range(10):
            area = draws.uniform(*scale) * height * width
            sides = math.exp(draws.uniform(math.log(ratio[0]), math.log(ratio[1])))
            w, h = round(math.sqrt(area * sides)), round(math.sqrt(area / sides))
            if 0 < w <= width and 0 < h <= height:
                left = int(draws.integers(0, width - w, endpoint=True))
                top = int(draws.integers(0, height - h, endpoint=True))
                box = left, top, w, h
                break
        if box is None:
            box = (width - 6) // 2, (height - 5) // 2, 6, 5
        left, top, w, h = box
        part = np.ascontiguousarray(x[top : top + h, left : left + w])
        wanted = part if (w, h) == (6, 5) else cv2.resize(part, (6, 5), interpolation=1)
        np.random.seed(seed)
        crop = transforms.RandomResizedCrop((6, 5), scale, ratio)
        assert np.array_equal(crop(mx.nd.array(x, dtype="uint8")).asnumpy(), wanted)


def test_rotations(rng):
    """The probability is asked first, then one angle is drawn, or one for each image."""
    x = mx.nd.array(rng.uniform(size=(3, 3, 8, 8)).astype(np.float32))
    turned = 0
    for seed in range(20):
        for probability in (0.5, 1.0):
            transform = transforms.RandomRotation((-40, 60), rotate_with_proba=probability)
            for images in (x[0], x):
                draws = generator(seed)
                np.random.seed(seed)
                found = transform(images).asnumpy()
                if draws.uniform() >= probability:
                    assert np.array_equal(found, images.asnumpy())
                    continue
                turned += 1
                if images.ndim == 3:
                    wanted = transforms.Rotate(draws.uniform(-40, 60))(images)
                else:
                    angles = draws.uniform(-40, 60, 3)
                    wanted = mx.nd.stack(*map(mx.image.imrotate, images, angles))
                assert np.abs(found - wanted.asnumpy()).max() < 1e-5
    assert 50 < turned < 79


def test_applied_sometimes():
    x = mx.nd.ones((2, 2, 3))
    for p in (0.0, 0.3, 1.0):
        for seed in range(20):
            np.random.seed(seed)
            found = transforms.RandomApply(transforms.Cast("float64"), p)(x)
            assert (found.dtype == np.float64) == (generator(seed).uniform() < p)
