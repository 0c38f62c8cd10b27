"""Augmenters against models of them in NumPy and OpenCV, which draw the same numbers.

A model draws from a generator of its own with the seed that the augmenter's has, in the order that
MXNet documents: what is drawn, where it begins and ends, and what becomes of it, are all compared.
"""

import inspect
import json
import math
import random

import numpy as np
import pytest

import cynet as mx
from cynet.image.record_augment import RecordAugmenter
from cynet.image.record_options import AUGMENT_OPTIONS

cv2 = pytest.importorskip("cv2")
image = mx.image
GREY = np.array([0.299, 0.587, 0.114])
SIZES = [(17, 23, 3), (23, 17, 3), (12, 12, 3), (9, 31, 3)]  # (H, W, C)
DRAWS = 24  # of each augmenter


def picture(shape, seed):
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def resized(x, width, height, interp):
    return cv2.resize(x, (width, height), interpolation=interp)


def fitting(x, size):
    """(w, h): `size`, with its ratio kept, no larger than the image."""
    height, width = x.shape[:2]
    w, h = size
    if height < h:
        w, h = w * height / h, height
    if width < w:
        w, h = width, h * width / w
    return int(w), int(h)


def cut(x, left, top, w, h, size, interp=2):
    part = np.ascontiguousarray(x[top : top + h, left : left + w])
    return part if (w, h) == tuple(size) else resized(part, *size, interp)


def number(x, like):
    """Results in the image's own dtype: those of uint8 are cut off to it."""
    return x.clip(0, 255).astype(like.dtype) if like.dtype == np.uint8 else x.astype(like.dtype)


# --- models: function of (image, Random, RandomState) ---------------------------------------------
def short_side(x, rng, _, size=8):
    height, width = x.shape[:2]
    if height > width:
        return resized(x, size, size * height // width, 2)
    return resized(x, size * width // height, size, 2)


def random_crop(x, rng, _, size=(11, 7)):
    w, h = fitting(x, size)
    left, top = rng.randint(0, x.shape[1] - w), rng.randint(0, x.shape[0] - h)
    return cut(x, left, top, w, h, size)


def center_crop(x, rng=None, _=None, size=(11, 7)):
    w, h = fitting(x, size)
    return cut(x, (x.shape[1] - w) // 2, (x.shape[0] - h) // 2, w, h, size)


def sized_crop(size=(6, 5), area=(0.2, 0.9), ratio=(0.5, 2.0)):
    def model(x, rng, _):
        height, width = x.shape[:2]
        for _ in range(10):
            wanted = rng.uniform(*area) * height * width
            sides = math.exp(rng.uniform(math.log(ratio[0]), math.log(ratio[1])))
            w, h = round(math.sqrt(wanted * sides)), round(math.sqrt(wanted / sides))
            if 0 < w <= width and 0 < h <= height:
                left, top = rng.randint(0, width - w), rng.randint(0, height - h)
                return cut(x, left, top, w, h, size)
        return center_crop(x, size=size)

    return model


def flip(p):
    return lambda x, rng, _: x[:, ::-1] if rng.random() < p else x


def brightness(x, rng, _, by=0.5):
    return number(x * (1 + rng.uniform(-by, by)), x)


def contrast(x, rng, _, by=0.5):
    alpha = 1 + rng.uniform(-by, by)
    return number(x * alpha + (1 - alpha) * (x * GREY).sum(2).mean(), x)


def saturation(x, rng, _, by=0.5):
    alpha = 1 + rng.uniform(-by, by)
    return number(x * alpha + (1 - alpha) * (x * GREY).sum(2, keepdims=True), x)


def hue(x, rng, _, by=0.5):
    """A turn of the plane of I and Q around Y."""
    angle = rng.uniform(-by, by) * math.pi
    cos, sin = math.cos(angle), math.sin(angle)
    to_yiq = np.array([[0.299, 0.587, 0.114], [0.596, -0.274, -0.321], [0.211, -0.523, 0.311]])
    from_yiq = np.array([[1, 0.956, 0.621], [1, -0.272, -0.647], [1, -1.107, 1.705]])
    y, i, q = np.moveaxis(x @ to_yiq.T, 2, 0)
    turned = np.stack([y, cos * i - sin * q, sin * i + cos * q], 2)
    return number(turned @ from_yiq.T, x)


def color_jitter(x, rng, state):
    order = [brightness, contrast, saturation]
    rng.shuffle(order)
    for each in order:
        x = each(x, rng, state)
    return x


VALUES = np.array([55.46, 4.794, 1.148])
VECTORS = np.array(
    [[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]]
)


def lighting(x, rng, state, by=0.3):
    alpha = state.normal(0, by, 3)
    return number(x + sum(alpha[k] * VALUES[k] * VECTORS[:, k] for k in range(3)), x)


def grey(x, rng, _, p=0.5):
    if rng.random() >= p:
        return x
    return number((x @ np.array([0.21, 0.72, 0.07]))[..., None].repeat(3, 2), x)


MEAN, STD = np.array([120.0, 110.0, 100.0]), np.array([50.0, 60.0, 70.0])
MODELS = {
    "ResizeAug": (lambda: image.ResizeAug(8), short_side),
    "ForceResizeAug": (lambda: image.ForceResizeAug((7, 9), 1), lambda x, *_: resized(x, 7, 9, 1)),
    "RandomCropAug": (lambda: image.RandomCropAug((11, 7)), random_crop),
    "RandomSizedCropAug": (
        lambda: image.RandomSizedCropAug((6, 5), (0.2, 0.9), (0.5, 2.0)),
        sized_crop(),
    ),
    "RandomSizedCropAug of a least area": (
        lambda: image.RandomSizedCropAug((6, 5), 0.5, (0.5, 2.0)),
        sized_crop(area=(0.5, 1.0)),
    ),
    "RandomSizedCropAug that seldom fits": (
        lambda: image.RandomSizedCropAug((6, 5), (0.9, 1.0), (3.0, 4.0)),
        sized_crop(area=(0.9, 1.0), ratio=(3.0, 4.0)),
    ),
    "CenterCropAug": (lambda: image.CenterCropAug((11, 7)), center_crop),
    "HorizontalFlipAug": (lambda: image.HorizontalFlipAug(0.3), flip(0.3)),
    "BrightnessJitterAug": (lambda: image.BrightnessJitterAug(0.5), brightness),
    "ContrastJitterAug": (lambda: image.ContrastJitterAug(0.5), contrast),
    "SaturationJitterAug": (lambda: image.SaturationJitterAug(0.5), saturation),
    "HueJitterAug": (lambda: image.HueJitterAug(0.5), hue),
    "ColorJitterAug": (lambda: image.ColorJitterAug(0.5, 0.5, 0.5), color_jitter),
    "LightingAug": (lambda: image.LightingAug(0.3, VALUES, VECTORS), lighting),
    "RandomGrayAug": (lambda: image.RandomGrayAug(0.5), grey),
    "ColorNormalizeAug": (
        lambda: image.ColorNormalizeAug(MEAN, STD),
        lambda x, *_: (x - MEAN) / STD,
    ),
    "ColorNormalizeAug of a mean": (
        lambda: image.ColorNormalizeAug(MEAN, None),
        lambda x, *_: x - MEAN,
    ),
    "CastAug": (lambda: image.CastAug("float32"), lambda x, *_: x.astype(np.float32)),
    "SequentialAug": (
        lambda: image.SequentialAug([image.HorizontalFlipAug(0.5), image.BrightnessJitterAug(0.5)]),
        lambda x, rng, s: brightness(flip(0.5)(x, rng, s), rng, s),
    ),
    "RandomOrderAug": (
        lambda: image.RandomOrderAug([image.ResizeAug(8), image.CenterCropAug((11, 7))]),
        lambda x, rng, s: _in_order(x, rng, s, [short_side, center_crop]),
    ),
}


def _in_order(x, rng, state, order):
    rng.shuffle(order)
    for each in order:
        x = each(x, rng, state)
    return x


def test_every_augmenter_has_a_model():
    kinds = {
        name
        for name, kind in vars(image).items()
        if inspect.isclass(kind) and issubclass(kind, image.Augmenter)
    }
    assert kinds - {"Augmenter"} == {name.partition(" ")[0] for name in MODELS}


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
@pytest.mark.parametrize("name", MODELS)
def test_models(name, dtype):
    make, model = MODELS[name]
    if "Normalize" in name and dtype == "uint8":
        dtype = "float64"
    for number_ in range(DRAWS):
        random.seed(number_)
        np.random.seed(number_)
        own, state = random.Random(number_), np.random.RandomState(number_)
        x = picture(SIZES[number_ % len(SIZES)], number_).astype(dtype)
        found = make()(mx.nd.array(x, dtype=dtype)).asnumpy()
        wanted = model(x, own, state)
        assert found.shape == wanted.shape
        error = np.abs(found.astype(float) - wanted)
        if dtype == "uint8":  # a sum in float32 may fall on the other side of a whole number
            steps, share = (3, 0.1) if name == "ColorJitterAug" else (1, 0.02)
            assert error.max() <= steps and (error > 0).mean() < share
        else:
            assert error.max() <= 2e-4 * max(1.0, np.abs(wanted).max())
        assert random.random() == own.random(), "as many numbers are drawn"
        assert np.random.rand() == state.rand()


def test_crops_of_the_whole_image():
    """The least and the largest area and ratio belong to the range."""
    x = picture((8, 8, 3), 1)
    for seed in range(20):
        random.seed(seed)
        whole = image.RandomSizedCropAug((8, 8), (1, 1), (1, 1))
        assert np.array_equal(whole(mx.nd.array(x, dtype="uint8")).asnumpy(), x)


def test_what_is_created():
    """Names and parameters of all augmenters of CreateAugmenter, as MXNet 1.9.1 tells them."""
    plain = [json.loads(each.dumps()) for each in image.CreateAugmenter((3, 8, 9), 10)]
    assert plain == [
        ["resizeaug", {"size": 10, "interp": 2}],
        ["centercropaug", {"size": [9, 8], "interp": 2}],
        ["castaug", {"type": "float32"}],
    ]
    made = image.CreateAugmenter(
        (3, 8, 9),
        rand_crop=True,
        rand_resize=True,
        rand_mirror=True,
        mean=True,
        std=True,
        brightness=0.1,
        contrast=0.2,
        saturation=0.3,
        hue=0.4,
        pca_noise=0.5,
        rand_gray=0.6,
        inter_method=1,
    )
    told = [each.dumps() for each in made]
    assert json.loads(told[0]) == [
        "randomsizedcropaug",
        {"size": [9, 8], "area": 0.08, "ratio": [0.75, 4 / 3], "interp": 1},
    ]
    assert [json.loads(each) for each in told[1:3]] == [
        ["horizontalflipaug", {"p": 0.5}],
        ["castaug", {"type": "float32"}],
    ]
    assert [type(each).__name__ for each in made[3:]] == [
        "ColorJitterAug",
        "HueJitterAug",
        "LightingAug",
        "RandomGrayAug",
        "ColorNormalizeAug",
    ]
    assert json.loads(told[4]) == ["huejitteraug", {"hue": 0.4}]
    name, values = json.loads(told[5])
    assert name == "lightingaug" and values["alphastd"] == 0.5
    assert np.allclose(values["eigval"], VALUES) and np.allclose(values["eigvec"], VECTORS)
    assert json.loads(told[6]) == ["randomgrayaug", {"p": 0.6}]
    name, values = json.loads(told[7])
    assert np.allclose(values["mean"], [123.68, 116.28, 103.53])
    assert np.allclose(values["std"], [58.395, 57.12, 57.375])


# --- those of ImageRecordIter ---------------------------------------------------------------------
def augmented(x, seed, shape, **options):
    """What a record iterator makes of an image, by the numbers of a generator with that seed."""
    known = {key: option.default for key, option in AUGMENT_OPTIONS.items()} | options
    return RecordAugmenter(known, shape)(x, np.random.default_rng(seed))


def sized_box(x, draws, areas, ratios):
    height, width = x.shape[:2]
    for _ in range(10):
        area = draws.uniform(*areas) * height * width
        ratio = draws.uniform(*ratios)
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if draws.integers(2):
            w, h = h, w
        if 0 < w <= width and 0 < h <= height:
            return int(draws.integers(width - w + 1)), int(draws.integers(height - h + 1)), w, h
    return None


def test_records_crops_by_area():
    for seed in range(40):
        x, draws = picture((18, 25, 3), seed), np.random.default_rng(seed)
        found = augmented(
            x,
            seed,
            (3, 6, 7),
            random_resized_crop=True,
            min_random_area=0.3,
            max_random_area=0.8,
            min_aspect_ratio=1.2,
            max_aspect_ratio=1.5,
        )
        left, top, w, h = sized_box(x, draws, (0.3, 0.8), (1.2, 1.5))
        assert np.array_equal(found, cut(x, left, top, w, h, (7, 6), 1))


def test_records_crops_lie_and_stand_equally_often():
    """``min_aspect_ratio`` of 1 and more: width and height change places in half of the crops."""
    rows, columns = np.mgrid[:40, :40].astype(np.uint8)
    x, wide = np.stack([columns, rows, rows], 2), 0
    for seed in range(400):
        found = augmented(
            x,
            seed,
            (3, 9, 9),
            random_resized_crop=True,
            min_random_area=0.3,
            max_random_area=0.3,
            min_aspect_ratio=2.0,
            max_aspect_ratio=2.0,
            inter_method=0,
        ).astype(int)
        spread = np.ptp(found[..., 0]), np.ptp(found[..., 1])
        assert max(spread) > 1.7 * min(spread)
        wide += spread[0] > spread[1]
    assert 150 < wide < 250


def test_records_places_and_sizes():
    for seed in range(20):
        x, draws = picture((18, 25, 3), seed), np.random.default_rng(seed)
        left, top = int(draws.integers(25 - 7 + 1)), int(draws.integers(18 - 6 + 1))
        found = augmented(x, seed, (3, 6, 7), rand_crop=True)
        assert np.array_equal(found, x[top : top + 6, left : left + 7])
        draws = np.random.default_rng(seed)
        side = int(draws.integers(5, 12 + 1))
        left, top = int(draws.integers(25 - side + 1)), int(draws.integers(18 - side + 1))
        found = augmented(x, seed, (3, 6, 7), rand_crop=True, min_crop_size=5, max_crop_size=12)
        assert np.array_equal(found, cut(x, left, top, side, side, (7, 6), 1))
    x = picture((18, 25, 3), 1)
    assert np.array_equal(augmented(x, 0, (3, 6, 7)), x[6:12, 9:16])
    for size, wanted in ((9, (12, 9)), (30, (41, 30))):
        assert np.array_equal(
            augmented(x, 0, (3, wanted[1], wanted[0]), resize=size), resized(x, *wanted, 1)
        )
    found = augmented(x, 0, (3, 22, 29), pad=2, fill_value=7)
    assert np.array_equal(found, np.pad(x, ((2, 2), (2, 2), (0, 0)), constant_values=7))


def test_records_colors():
    for seed in range(12):
        x, draws = picture((6, 7, 3), seed), np.random.default_rng(seed)
        found = augmented(x, seed, (3, 6, 7), pca_noise=0.3).astype(int)
        alpha = draws.normal(0, 0.3, 3)
        shift = sum(alpha[k] * VALUES[k] * VECTORS[:, k] for k in range(3))
        assert np.abs(found - np.rint(x + shift).clip(0, 255)).max() <= 1
        draws = np.random.default_rng(seed)
        h, light, s = (int(draws.integers(-by, by + 1)) for by in (30, 40, 50))
        hls = cv2.cvtColor(x, cv2.COLOR_RGB2HLS).astype(int)
        hls[..., 0] = (hls[..., 0] + h) % 180
        hls[..., 1:] = (hls[..., 1:] + [light, s]).clip(0, 255)
        wanted = cv2.cvtColor(hls.astype(np.uint8), cv2.COLOR_HLS2RGB)
        found = augmented(x, seed, (3, 6, 7), random_h=30, random_l=40, random_s=50)
        assert np.array_equal(found, wanted)
