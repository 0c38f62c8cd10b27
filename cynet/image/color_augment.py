"""Color augmenters; like MXNet's they draw from Python's ``random``."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ndarray as nd
from ..base.errors import ArgumentError, shown
from ..ndarray import NDArray
from .augmenter import Augmenter, RandomOrderAug, cast_to_dtype_of, to_json_value
from .geometry import color_normalize

if TYPE_CHECKING:
    from ..typing import DTypeLike

__all__ = ["BrightnessJitterAug", "CastAug", "ColorJitterAug", "ColorNormalizeAug"]
__all__ += ["ContrastJitterAug", "HueJitterAug", "LightingAug", "RandomGrayAug"]
__all__ += ["SaturationJitterAug"]

_GRAY_WEIGHTS = np.array([[[0.299, 0.587, 0.114]]], np.float32)  # of red, green, blue
_IMAGENET_MEAN = [123.68, 116.28, 103.53]  # mean color of ImageNet, as in MXNet
_IMAGENET_STD = [58.395, 57.12, 57.375]  # standard deviation of its colors
_PCA_EIGENVALUES = [55.46, 4.794, 1.148]  # of the colors of ImageNet
_PCA_VECTORS = [[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]]


class BrightnessJitterAug(Augmenter):
    """Multiplies pixels by a random factor from 1 - `brightness` to 1 + `brightness`.

    Parameters
    ----------
    brightness : float
        The factor is drawn from ``[1 - brightness, 1 + brightness]``.

    Examples
    --------
    >>> image = mx.nd.array([[[40, 80, 120]]])
    >>> ratio = mx.image.BrightnessJitterAug(0.5)(image) / image
    >>> bool((ratio >= 0.5).asnumpy().all()), bool((ratio <= 1.5).asnumpy().all())
    (True, True)
    """

    def __init__(self, brightness: float) -> None:
        super().__init__(brightness=brightness)
        self.brightness = brightness

    def apply(self, array: Any) -> Any:
        alpha = 1.0 + random.uniform(-self.brightness, self.brightness)
        return cast_to_dtype_of(array * np.float32(alpha), array)


class ContrastJitterAug(Augmenter):
    """Changes the contrast around the image's mean gray by a random share up to `contrast`.

    Parameters
    ----------
    contrast : float
        The factor is drawn from ``[1 - contrast, 1 + contrast]``.

    Examples
    --------
    An image of one grey has no contrast to change:

    >>> grey = mx.nd.full((4, 4, 3), 100)
    >>> mx.image.ContrastJitterAug(0.5)(grey)[0, 0].asnumpy().round()
    array([100., 100., 100.], dtype=float32)
    """

    def __init__(self, contrast: float) -> None:
        super().__init__(contrast=contrast)
        self.contrast = contrast
        self.coef = nd.array(_GRAY_WEIGHTS)

    def apply(self, array: Any) -> Any:
        alpha = 1.0 + random.uniform(-self.contrast, self.contrast)
        grey = array * _GRAY_WEIGHTS
        mean = 3.0 * (1.0 - alpha) / grey.size * float(grey.sum())
        return cast_to_dtype_of(array * np.float32(alpha) + np.float32(mean), array)


class SaturationJitterAug(Augmenter):
    """Changes the saturation, the distance to gray, by a random share up to `saturation`.

    Parameters
    ----------
    saturation : float
        The factor is drawn from ``[1 - saturation, 1 + saturation]``.

    Examples
    --------
    Grey stays grey; a color becomes more or less of one:

    >>> image = mx.nd.array([[[100, 100, 100], [200, 0, 0]]])
    >>> grey, red = mx.image.SaturationJitterAug(0.5)(image)[0].asnumpy()
    >>> grey.round(), bool(red[0] > red[1])
    (array([100., 100., 100.], dtype=float32), True)
    """

    def __init__(self, saturation: float) -> None:
        super().__init__(saturation=saturation)
        self.saturation = saturation
        self.coef = nd.array(_GRAY_WEIGHTS)

    def apply(self, array: Any) -> Any:
        alpha = 1.0 + random.uniform(-self.saturation, self.saturation)
        grey = (array * _GRAY_WEIGHTS).sum(axis=2, keepdims=True) * np.float32(1.0 - alpha)
        return cast_to_dtype_of(array * np.float32(alpha) + grey, array)


class HueJitterAug(Augmenter):
    """Shifts the hue by a random angle of up to `hue` half turns.

    Parameters
    ----------
    hue : float
        The angle is drawn from ``[-hue, hue]``, as a share of half the color circle.

    Examples
    --------
    >>> image = mx.nd.array([[[100, 100, 100], [200, 0, 0]]])
    >>> mx.image.HueJitterAug(0)(image).asnumpy().round() + 0
    array([[[100., 100., 100.],
            [200.,   0.,   0.]]], dtype=float32)
    >>> mx.image.HueJitterAug(0.5)(image).shape
    (1, 2, 3)
    """

    def __init__(self, hue: float) -> None:
        super().__init__(hue=hue)
        self.hue = hue
        self.tyiq = np.array(
            [[0.299, 0.587, 0.114], [0.596, -0.274, -0.321], [0.211, -0.523, 0.311]]
        )
        self.ityiq = np.array([[1.0, 0.956, 0.621], [1.0, -0.272, -0.647], [1.0, -1.107, 1.705]])

    def apply(self, array: Any) -> Any:
        angle = np.pi * random.uniform(-self.hue, self.hue)
        u, w = np.cos(angle), np.sin(angle)
        turn = np.array([[1.0, 0.0, 0.0], [0.0, u, -w], [0.0, w, u]])
        matrix = (self.ityiq @ turn @ self.tyiq).T
        return cast_to_dtype_of(array @ matrix.astype(np.float32), array)


class ColorJitterAug(RandomOrderAug):
    """Jitters brightness, contrast and saturation in random order; a range of 0 is left out.

    Parameters
    ----------
    brightness : float
        Range of the factor of brightness, see :class:`BrightnessJitterAug`.
    contrast : float
        Range of the factor of contrast, see :class:`ContrastJitterAug`.
    saturation : float
        Range of the factor of saturation, see :class:`SaturationJitterAug`.

    Examples
    --------
    >>> jitter = mx.image.ColorJitterAug(brightness=0.2, contrast=0, saturation=0.4)
    >>> [type(each).__name__ for each in jitter.ts]
    ['BrightnessJitterAug', 'SaturationJitterAug']
    >>> jitter(mx.nd.ones((4, 6, 3))).shape
    (4, 6, 3)
    """

    def __init__(self, brightness: float, contrast: float, saturation: float) -> None:
        ts: list[Augmenter] = []
        if brightness > 0:
            ts.append(BrightnessJitterAug(brightness))
        if contrast > 0:
            ts.append(ContrastJitterAug(contrast))
        if saturation > 0:
            ts.append(SaturationJitterAug(saturation))
        super().__init__(ts)


class LightingAug(Augmenter):
    """Adds noise along the principal components of colors, from ``numpy.random``.

    Parameters
    ----------
    alphastd : float
        Standard deviation of each component's factor.
    eigval, eigvec : array
        Eigenvalues (3,) and eigenvectors (3, 3) of the covariance of colors.

    Examples
    --------
    One component along grey: all three channels get the same noise.

    >>> noise = mx.image.LightingAug(0.1, np.array([50, 0, 0]), np.ones((3, 3)))
    >>> out = noise(mx.nd.full((2, 2, 3), 100)).asnumpy()
    >>> bool(np.ptp(out) < 1e-3), out.shape
    (True, (2, 2, 3))
    """

    def __init__(self, alphastd: float, eigval: Any, eigvec: Any) -> None:
        super().__init__(alphastd=alphastd, eigval=eigval, eigvec=eigvec)
        self.alphastd, self.eigval, self.eigvec = alphastd, eigval, eigvec

    def apply(self, array: Any) -> Any:
        alpha = np.random.normal(0, self.alphastd, size=(3,))
        shift = np.dot(np.asarray(self.eigvec) * alpha, np.asarray(self.eigval))
        return cast_to_dtype_of(array + shift.astype(np.float32), array)


class ColorNormalizeAug(Augmenter):
    """Computes ``(image - mean) / std``; either may be None.

    Parameters
    ----------
    mean, std : array_like or None
        A number, or one for each channel.

    Examples
    --------
    >>> augment = mx.image.ColorNormalizeAug(mx.nd.array([1, 2, 3]), mx.nd.array([1, 2, 4]))
    >>> augment(mx.nd.ones((1, 1, 3)) * 5)[0, 0]
    [4.  1.5 0.5]
    <NDArray 3 @cpu(0)>
    """

    def __init__(self, mean: Any, std: Any) -> None:
        self.mean, self.std = (
            each if each is None or isinstance(each, NDArray) else nd.array(each)
            for each in (mean, std)
        )
        super().__init__(mean=self.mean, std=self.std)
        self._channel_values = tuple(
            None if each is None else each.asnumpy() for each in (self.mean, self.std)
        )

    def apply(self, array: Any) -> Any:
        return color_normalize(array, *self._channel_values)


class RandomGrayAug(Augmenter):
    """Makes images gray with probability `p`; they keep three channels.

    Parameters
    ----------
    p : float
        Probability that an image becomes gray.

    Examples
    --------
    >>> mx.image.RandomGrayAug(1)(mx.nd.array([[[200, 0, 0], [0, 200, 0]]])).asnumpy()
    array([[[ 42.,  42.,  42.],
            [144., 144., 144.]]], dtype=float32)
    """

    def __init__(self, p: float) -> None:
        super().__init__(p=p)
        self.p = p
        self.mat = nd.array([[0.21] * 3, [0.72] * 3, [0.07] * 3])
        self._matrix = self.mat.asnumpy()

    def apply(self, array: Any) -> Any:
        return cast_to_dtype_of(array @ self._matrix, array) if random.random() < self.p else array


class CastAug(Augmenter):
    """Converts images to a dtype.

    Parameters
    ----------
    typ : str or numpy.dtype
        The new element type.

    Examples
    --------
    >>> mx.image.CastAug()(mx.nd.zeros((8, 10, 3), dtype="uint8")).dtype
    <class 'numpy.float32'>
    """

    def __init__(self, typ: DTypeLike = "float32") -> None:
        super().__init__(type=typ)
        self.typ = typ

    def apply(self, array: Any) -> Any:
        return array.astype(self.typ, copy=False)


def _channel_values(what, given, default):
    """Check the mean or deviation of three channels; True means ImageNet's."""
    if given is None or given is False:
        return None
    array = np.array(default if given is True else to_json_value(given), np.float64)
    if array.shape not in ((1,), (3,)):
        raise ArgumentError(f"{what} has 1 number or 3, got {shown(given)}")
    return array


def color_augmenters(brightness, contrast, saturation, hue, pca_noise, rand_gray, mean, std):
    """Make the list of color augmenters, for classification and detection."""
    ts: list[Augmenter] = []
    if brightness or contrast or saturation:
        ts.append(ColorJitterAug(brightness, contrast, saturation))
    if hue:
        ts.append(HueJitterAug(hue))
    if pca_noise > 0:
        ts.append(LightingAug(pca_noise, np.array(_PCA_EIGENVALUES), np.array(_PCA_VECTORS)))
    if rand_gray > 0:
        ts.append(RandomGrayAug(rand_gray))
    mean, std = (
        _channel_values("mean", mean, _IMAGENET_MEAN),
        _channel_values("std", std, _IMAGENET_STD),
    )
    if mean is not None or std is not None:
        ts.append(ColorNormalizeAug(mean, std))
    return ts
