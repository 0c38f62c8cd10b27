"""Random changes of images: ranges, laws, repeatability, batches, gradients, and refusals."""

import numpy as np
import pytest
from scipy import stats

import cynet as mx
from tests.operator.cases.image import COMPONENTS

IMAGE = mx.nd.image
FLIPS = {"random_flip_left_right": 2, "random_flip_top_bottom": 1}


def uniform(sample, low, high, seed):
    assert low <= sample.min()
    assert sample.max() <= high
    assert stats.kstest(sample, stats.uniform(low, high - low).cdf).pvalue > 1e-5, seed


def test_factors_are_uniform(seed):
    """Every image of a batch has its own; float32, 4,000 images of a pixel."""
    mx.random.seed(seed)
    ones = mx.nd.ones((4000, 1, 1, 1))
    uniform(
        IMAGE.random_brightness(ones, min_factor=0.5, max_factor=1.5).asnumpy().ravel(),
        0.5,
        1.5,
        seed,
    )
    blue = mx.nd.broadcast_to(mx.nd.array([[[[0, 0, 1]]]]), (4000, 1, 1, 3))
    made = IMAGE.random_saturation(blue, min_factor=0.2, max_factor=1).asnumpy()[:, 0, 0, 2]
    uniform((made - 0.114) / (1 - 0.114), 0.2, 1, seed)


def test_jitter_draws_its_changes(seed):
    mx.random.seed(seed)
    ones = mx.nd.ones((4000, 1, 1, 1))
    kinds = {"brightness": 0, "contrast": 0, "saturation": 0, "hue": 0}
    made = IMAGE.random_color_jitter(ones, **{**kinds, "brightness": 0.3}).asnumpy().ravel()
    uniform(made, 0.7, 1.3, seed)
    red = mx.nd.broadcast_to(mx.nd.array([[[[255, 0, 0]]]]), (4000, 1, 1, 3))
    made = IMAGE.random_color_jitter(red, **{**kinds, "hue": 0.1}).asnumpy()[:, 0, 0]
    uniform((made[:, 1] - made[:, 2]) / 255 / 6, -0.1, 0.1, seed)
    np.testing.assert_array_equal(IMAGE.random_color_jitter(red, **kinds).asnumpy(), red.asnumpy())


def test_jitter_draws_an_order(seed):
    """Brightness and contrast do not commute where uint8 ends: both orders come."""
    mx.random.seed(seed)
    image = mx.nd.array(np.tile([[[[250], [0]]]], (500, 1, 1, 1)), dtype="uint8")
    made = IMAGE.random_color_jitter(image, brightness=0.9, contrast=0.9, saturation=0, hue=0)
    assert len(np.unique(made.asnumpy()[:, 0, 0])) > 50


def test_light_has_the_covariance_of_the_components(seed):
    mx.random.seed(seed)
    made = IMAGE.random_lighting(mx.nd.zeros((20000, 1, 1, 3)), alpha_std=0.1).asnumpy()[:, 0, 0]
    parts = np.linalg.solve(COMPONENTS, made.T) / 0.1
    for part in parts:
        assert stats.kstest(part, stats.norm().cdf).pvalue > 1e-5, seed
    assert np.abs(np.corrcoef(parts) - np.eye(3)).max() < 0.05, seed


@pytest.mark.parametrize("dtype", ["uint8", "float32", "int64", "float16"])
@pytest.mark.parametrize("name", FLIPS)
def test_every_second_image_is_mirrored(name, dtype, seed):
    mx.random.seed(seed)
    pixels = np.arange(200 * 2 * 3 * 3).reshape(200, 2, 3, 3) % 100
    made = getattr(IMAGE, name)(mx.nd.array(pixels, dtype=dtype)).asnumpy()
    mirrored = np.flip(pixels, FLIPS[name])
    kinds = [(m == p).all() * 2 + (m == q).all() for m, p, q in zip(made, pixels, mirrored)]
    assert set(kinds) == {1, 2}
    assert 60 < kinds.count(1) < 140, seed


@pytest.mark.parametrize("name", FLIPS)
def test_gradient_of_a_random_mirror(name, seed):
    """Each image's gradient is mirrored as the image was; also added."""
    mx.random.seed(seed)
    x = mx.nd.random.normal(shape=(8, 2, 3, 3))
    x.attach_grad(grad_req="add")
    x.grad[:] = 1
    head = mx.nd.random.normal(shape=x.shape)
    with mx.autograd.record():
        y = getattr(IMAGE, name)(x)
    y.backward(head)
    y, heads = y.asnumpy(), head.asnumpy()
    flipped = [not np.array_equal(a, b) for a, b in zip(y, x.asnumpy())]
    wanted = [np.flip(h, FLIPS[name] - 1) if f else h for f, h in zip(flipped, heads)]
    np.testing.assert_allclose(x.grad.asnumpy(), np.array(wanted) + 1, 1e-6)


def test_one_seed_one_image():
    image = mx.nd.random.uniform(0, 255, (6, 5, 3)).astype("uint8")
    calls = [
        lambda: IMAGE.random_color_jitter(
            image, brightness=0.4, contrast=0.4, saturation=0.4, hue=0.4
        ),
        lambda: IMAGE.random_lighting(image, alpha_std=0.5),
        lambda: IMAGE.random_hue(image, min_factor=0, max_factor=1),
    ]
    for call in calls:
        mx.random.seed(5)
        first, second = call().asnumpy(), call().asnumpy()
        mx.random.seed(5)
        np.testing.assert_array_equal(call().asnumpy(), first)
        assert (first != second).any()


def test_to_tensor_twice_differentiable():
    x = mx.nd.random.uniform(0, 255, (4, 5, 3))
    x.attach_grad()
    with mx.autograd.record():
        y = (IMAGE.to_tensor(x) ** 3).sum()
        (first,) = mx.autograd.grad(y, [x], create_graph=True)
    first.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), 6 * x.asnumpy() / 255**3, 1e-4)


def test_numbers_that_are_none():
    """NaN and infinity have no hue; nothing beyond the image is read."""
    odd = [[np.nan, 1, 2], [np.inf, 0, 0], [-np.inf, np.inf, 3]]
    whole = [[200, 30, 7], [1, 90, 255], [12, 12, 12]]
    image, alone = mx.nd.array([odd, whole]), mx.nd.array([whole])
    found, wanted = (
        IMAGE.random_hue(each, min_factor=0.3, max_factor=0.3).asnumpy() for each in (image, alone)
    )
    assert found.shape == image.shape
    np.testing.assert_array_equal(found[1], wanted[0])  # pixels beside them are what they were


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: IMAGE.random_brightness(x, min_factor=2, max_factor=1), "min_factor is 2.0"),
        (lambda x: IMAGE.random_hue(x, min_factor=-1, max_factor=1), "'min_factor' takes a float"),
        (lambda x: IMAGE.random_lighting(x, alpha_std=-1), "'alpha_std' takes a float >= 0"),
        (lambda x: IMAGE.adjust_lighting(x, alpha=(1, 2)), "'alpha' takes three numbers"),
        (lambda x: IMAGE.random_contrast(x[0], min_factor=1, max_factor=1), "got shape"),
        (lambda x: IMAGE.random_hue(x[:, :, :2], min_factor=1, max_factor=1), "1 or 3 channels"),
        (lambda x: IMAGE.random_flip_left_right(x.astype("bool")), "images .* other than bool"),
        (lambda x: IMAGE.crop(x, x=3, y=0, width=2, height=1), "x 3 and width 2 go beyond the 4"),
        (lambda x: IMAGE.resize(x, size=(1, 2, 3)), "'size' takes"),
        (lambda x: IMAGE.resize(x.astype("float16"), size=2), "images .* other than float16"),
        (lambda x: IMAGE.normalize(x, mean=(1, 2)), "'mean' takes one number"),
    ],
)
def test_refused(call, words):
    with pytest.raises(mx.MXNetError, match=words):
        call(mx.nd.zeros((3, 4, 3))).asnumpy()
