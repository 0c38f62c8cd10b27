"""RandAugment: a few random image operations of one strength."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....base.errors import ArgumentError, ArgumentTypeError, shown
from ....base.opencv import cv
from ..seeding import sample_generator
from .resizing import _PixelTransform

__all__ = ["RandAugment"]

_GRAY_WEIGHTS = (0.299, 0.587, 0.114)  # of red, green and blue (ITU-R BT.601)
_STRENGTH_BINS = 31  # strengths from 0 to 30


def _blend_images(a, b, share):
    """Interpolate from image a (`share` 0) to image b (1); extrapolate above 1."""
    return np.clip(np.rint(a + share * (b.astype(np.float32) - a)), 0, 255).astype(np.uint8)


def _to_grayscale(image):
    """Return the brightness of each pixel, (H, W, 1)."""
    if image.shape[2] == 1:
        return image.astype(np.float32)
    return (image.astype(np.float32) @ np.array(_GRAY_WEIGHTS, np.float32))[..., None]


def _affine_transform(image, matrix):
    """Sample an image at affinely mapped coordinates; 0 outside of the image."""
    height, width = image.shape[:2]
    # INTER_NEAREST | WARP_INVERSE_MAP
    out = cv().warpAffine(image, matrix, (width, height), flags=0 | 16)
    return out.reshape(image.shape)


def _linear_map_around_center(image, a, b, c, d):
    """Transform an image by the linear map ((a, b), (c, d)) around its center."""
    y, x = ((size - 1) / 2 for size in image.shape[:2])
    matrix = [[a, b, x - a * x - b * y], [c, d, y - c * x - d * y]]
    return _affine_transform(image, np.array(matrix, np.float64))


def _rotate_image(image, degrees):
    cos, sin = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return _linear_map_around_center(image, cos, -sin, sin, cos)


def _sharpen_image(image, share):
    height, width = image.shape[:2]
    smooth = image.astype(np.float32)
    if min(height, width) > 2:  # pixels at the edge have too few neighbours
        total = 4 * smooth[1:-1, 1:-1]
        for i in range(3):
            for j in range(3):
                total = total + smooth[i : height - 2 + i, j : width - 2 + j]
        smooth = smooth.copy()
        smooth[1:-1, 1:-1] = total / 13
    return _blend_images(np.rint(smooth), image, 1 + share)


def _autocontrast(image):
    """Stretch each channel to the range from 0 to 255."""
    low, high = image.min((0, 1)).astype(np.float32), image.max((0, 1)).astype(np.float32)
    scale = np.where(high > low, 255 / np.maximum(high - low, 1), 1)
    low = np.where(high > low, low, 0)
    return np.clip((image - low) * scale, 0, 255).astype(np.uint8)


def _equalize_histogram(image):
    """Equalize the histogram of each channel."""
    out = image.copy()
    for channel in range(image.shape[2]):
        counts = np.bincount(image[..., channel].ravel(), minlength=256)
        there = np.flatnonzero(counts)
        step = (counts.sum() - counts[there[-1]]) // 255
        if len(there) > 1 and step:
            table = (np.cumsum(counts) - counts + step // 2) // step
            out[..., channel] = np.clip(table, 0, 255).astype(np.uint8)[image[..., channel]]
    return out


# name -> (largest strength, whether its sign is random, function of image and strength)
OPERATIONS = {  # RandAugment's image operations
    "Identity": (0.0, False, lambda x, s: x),
    "ShearX": (0.3, True, lambda x, s: _linear_map_around_center(x, 1, s, 0, 1)),
    "ShearY": (0.3, True, lambda x, s: _linear_map_around_center(x, 1, 0, s, 1)),
    "TranslateX": (
        150 / 331,
        True,
        lambda x, s: _affine_transform(x, np.array([[1.0, 0, int(s * x.shape[1])], [0, 1, 0]])),
    ),
    "TranslateY": (
        150 / 331,
        True,
        lambda x, s: _affine_transform(x, np.array([[1.0, 0, 0], [0, 1, int(s * x.shape[0])]])),
    ),
    "Rotate": (30.0, True, _rotate_image),
    "Brightness": (0.9, True, lambda x, s: _blend_images(np.zeros_like(x), x, 1 + s)),
    "Color": (0.9, True, lambda x, s: _blend_images(np.rint(_to_grayscale(x)), x, 1 + s)),
    "Contrast": (
        0.9,
        True,
        lambda x, s: _blend_images(np.rint(np.rint(_to_grayscale(x)).mean()), x, 1 + s),
    ),
    "Sharpness": (0.9, True, _sharpen_image),
    "Posterize": (4.0, False, lambda x, s: x & np.uint8(0xFF << round(s) & 0xFF)),
    "Solarize": (255.0, False, lambda x, s: np.where(x >= 255 - s, 255 - x, x)),
    "AutoContrast": (0.0, False, lambda x, s: _autocontrast(x)),
    "Equalize": (0.0, False, lambda x, s: _equalize_histogram(x)),
}


class RandAugment(_PixelTransform):
    """Applies several operations, drawn at random from fourteen, of the same strength.

    Cubuk, Zoph, Shlens and Le, https://arxiv.org/abs/1909.13719. The changes are: none, shears,
    translations and turns, brightness, color, contrast, sharpness, fewer bits, inverted bright
    pixels, stretched and equalized brightnesses. What lies outside of an image is 0.

    Parameters
    ----------
    num_ops : int
        How many changes each image gets.
    magnitude : int
        Their strength, from 0 to 30.

    Raises
    ------
    ArgumentError
        `num_ops` is below 0, or `magnitude` not from 0 to 30.
    ArgumentTypeError
        An image is not of uint8.

    Examples
    --------
    >>> transform = mx.gluon.data.vision.transforms.RandAugment(num_ops=2, magnitude=9)
    >>> transform(mx.nd.zeros((8, 8, 3), dtype="uint8")).shape
    (8, 8, 3)
    """

    def __init__(self, num_ops: int = 2, magnitude: int = 9) -> None:
        super().__init__()
        if not isinstance(num_ops, int) or num_ops < 0:
            raise ArgumentError(
                f"RandAugment: num_ops is an int of at least 0, got {shown(num_ops)}"
            )
        if not 0 <= magnitude < _STRENGTH_BINS:
            raise ArgumentError(
                f"RandAugment: magnitude is from 0 to {_STRENGTH_BINS - 1}, got {shown(magnitude)}"
            )
        self._num_ops, self._magnitude = num_ops, magnitude

    def _transform_array(self, array: Any) -> Any:
        if array.dtype != np.uint8:
            raise ArgumentTypeError(
                f"RandAugment takes images of uint8, got {array.dtype}; it stands before ToTensor"
            )
        if array.shape[2] not in (1, 3):
            raise ArgumentError(
                f"RandAugment takes images of 1 or 3 channels, got shape {array.shape}"
            )
        draws, names = sample_generator(), list(OPERATIONS)
        for _ in range(self._num_ops):
            limit, is_signed, change = OPERATIONS[names[draws.integers(len(names))]]
            strength = limit * self._magnitude / (_STRENGTH_BINS - 1)
            if is_signed and draws.uniform() < 0.5:
                strength = -strength
            array = np.ascontiguousarray(change(array, strength))
        return array
