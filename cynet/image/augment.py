"""Augmenters: functions of an image that draw from Python's ``random`` as MXNet's do."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ndarray as nd
from ..base.errors import ArgumentError, ArgumentTypeError, UndefinedError, shown
from ..base.guard import guarded
from ..base.opencv import resized, short_size
from ..ndarray import NDArray
from .geometry import (
    center_box,
    chosen,
    color_normalize,
    crop,
    made,
    pixels,
    random_box,
    random_sized_box,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..typing import DTypeLike

_GREY = np.array([[[0.299, 0.587, 0.114]]], np.float32)
_MEAN = [123.68, 116.28, 103.53]  # of ImageNet's pixels, as MXNet has them
_STD = [58.395, 57.12, 57.375]
_EIGENVALUES = [55.46, 4.794, 1.148]
_EIGENVECTORS = [
    [-0.5675, 0.7192, 0.4009],
    [-0.5808, -0.0045, -0.8140],
    [-0.5836, -0.6948, 0.4203],
]


def _plain(value):
    """A parameter as JSON has it."""
    if isinstance(value, NDArray):
        value = value.asnumpy()
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def _finish(array, source):
    """Numbers in the dtype of the image that they were computed from."""
    if source.dtype.kind == "f":
        return array.astype(source.dtype, copy=False)
    limits = np.iinfo(source.dtype)
    return array.clip(limits.min, limits.max).astype(source.dtype)


@guarded
class Augmenter:
    """A function of an image (H, W, C); a subclass defines ``__call__``.

    Those of this module define ``apply``, which takes and gives a NumPy array, instead.

    Parameters
    ----------
    **kwargs
        What ``dumps`` tells.
    """

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = {name: _plain(value) for name, value in kwargs.items()}

    def dumps(self) -> Any:
        """Name and parameters as JSON.

        >>> CastAug().dumps()
        '["castaug", {"type": "float32"}]'
        """
        return json.dumps([type(self).__name__.lower(), self._kwargs])

    def __call__(self, src: NDArray) -> NDArray:
        return made(self.apply(pixels(src)))

    def apply(self, array: Any) -> Any:
        """The changed pixels of a NumPy array (H, W, C), which stays as it is."""
        raise UndefinedError(f"{type(self).__name__} defines neither __call__ nor apply")


def applied(augmenter, array):
    """The pixels that an augmenter makes of pixels, also one of the user's for NDArrays."""
    if isinstance(augmenter, Augmenter) and type(augmenter).__call__ is Augmenter.__call__:
        return augmenter.apply(array)
    return pixels(augmenter(made(array)))


@guarded
class SequentialAug(Augmenter):
    """Augmenters one after the other.

    Parameters
    ----------
    ts : list of Augmenter

    Examples
    --------
    >>> import cynet as mx
    >>> augment = mx.image.SequentialAug([mx.image.ForceResizeAug((4, 6)), mx.image.CastAug()])
    >>> augment(mx.nd.zeros((8, 10, 3), dtype="uint8")).shape
    (6, 4, 3)
    """

    def __init__(self, ts: Sequence[Any]) -> None:
        super().__init__()
        self.ts = ts

    def dumps(self) -> Any:
        """Name, and what each one tells."""
        return [type(self).__name__.lower(), [each.dumps() for each in self.ts]]

    def apply(self, array: Any) -> Any:
        for each in self.ts:
            array = applied(each, array)
        return array


@guarded
class RandomOrderAug(SequentialAug):
    """Augmenters in an order that is drawn anew for each image.

    Parameters
    ----------
    ts : list of Augmenter
    """

    def apply(self, array: Any) -> Any:
        order = list(self.ts)
        random.shuffle(order)
        self.ts = order  # the next order is drawn from this one, as in MXNet
        for each in order:
            array = applied(each, array)
        return array


# --- sizes ----------------------------------------------------------------------------------------
@guarded
class ResizeAug(Augmenter):
    """The shorter side `size`: see :func:`resize_short`.

    Parameters
    ----------
    size : int
        Length of the shorter side.
    interp : int
        How to interpolate, by OpenCV's number: 0 nearest, 1 linear, 2 cubic, 3 area.

    Examples
    --------
    >>> import cynet as mx
    >>> image = mx.nd.zeros((8, 10, 3), dtype="uint8")
    >>> mx.image.ResizeAug(4)(image).shape
    (4, 5, 3)
    """

    def __init__(self, size: int, interp: int = 2) -> None:
        super().__init__(size=size, interp=interp)
        self.size, self.interp = size, interp

    def apply(self, array: Any) -> Any:
        height, width = short_size(*array.shape[:2], self.size)
        sizes = (*array.shape[:2], height, width)
        return resized(array, width, height, chosen(self.interp, sizes))


@guarded
class ForceResizeAug(Augmenter):
    """Another size (width, height), whatever the ratio of sides.

    Parameters
    ----------
    size : tuple of int
        Width and height.
    interp : int
        How to interpolate, by OpenCV's number: 0 nearest, 1 linear, 2 cubic, 3 area.
    """

    def __init__(self, size: Sequence[int], interp: int = 2) -> None:
        super().__init__(size=size, interp=interp)
        self.size, self.interp = size, interp

    def apply(self, array: Any) -> Any:
        sizes = (*array.shape[:2], self.size[1], self.size[0])
        return resized(array, *self.size, chosen(self.interp, sizes))


@guarded
class RandomCropAug(Augmenter):
    """A crop anywhere: see :func:`random_crop`.

    Parameters
    ----------
    size : tuple of int
        Width and height.
    interp : int
        How to interpolate, by OpenCV's number: 0 nearest, 1 linear, 2 cubic, 3 area.
    """

    def __init__(self, size: Sequence[int], interp: int = 2) -> None:
        super().__init__(size=size, interp=interp)
        self.size, self.interp = size, interp

    def apply(self, array: Any) -> Any:
        return crop(array, *random_box(array, self.size), self.size, self.interp)


@guarded
class RandomSizedCropAug(Augmenter):
    """A crop of random area and ratio of sides: see :func:`random_size_crop`.

    Parameters
    ----------
    size : tuple of int
        Width and height.
    interp : int
        How to interpolate, by OpenCV's number: 0 nearest, 1 linear, 2 cubic, 3 area.
    """

    def __init__(
        self,
        size: Sequence[int],
        area: float | tuple[float, float],
        ratio: tuple[float, float],
        interp: int = 2,
        *,
        min_area: float | None = None,
    ) -> None:
        area = area if min_area is None else min_area
        super().__init__(size=size, area=area, ratio=ratio, interp=interp)
        self.size, self.area, self.ratio, self.interp = size, area, ratio, interp

    def apply(self, array: Any) -> Any:
        box = random_sized_box(array, self.size, self.area, self.ratio)
        return crop(array, *box, self.size, self.interp)


@guarded
class CenterCropAug(Augmenter):
    """The crop in the middle: see :func:`center_crop`.

    Parameters
    ----------
    size : tuple of int
        Width and height.
    interp : int
        How to interpolate, by OpenCV's number: 0 nearest, 1 linear, 2 cubic, 3 area.

    Examples
    --------
    >>> import cynet as mx
    >>> image = mx.nd.zeros((8, 10, 3), dtype="uint8")
    >>> mx.image.CenterCropAug((4, 6))(image).shape
    (6, 4, 3)
    """

    def __init__(self, size: Sequence[int], interp: int = 2) -> None:
        super().__init__(size=size, interp=interp)
        self.size, self.interp = size, interp

    def apply(self, array: Any) -> Any:
        return crop(array, *center_box(array, self.size), self.size, self.interp)


@guarded
class HorizontalFlipAug(Augmenter):
    """Mirrors left and right with probability `p`.

    Examples
    --------
    >>> import cynet as mx
    >>> mx.image.HorizontalFlipAug(1)(mx.nd.array([[[1], [2]]]))[0, :, 0]
    [2. 1.]
    <NDArray 2 @cpu(0)>
    """

    def __init__(self, p: float) -> None:
        super().__init__(p=p)
        self.p = p

    def apply(self, array: Any) -> Any:
        return array[:, ::-1] if random.random() < self.p else array


# --- colors ---------------------------------------------------------------------------------------
@guarded
class BrightnessJitterAug(Augmenter):
    """Pixels times a number from 1 - `brightness` to 1 + `brightness`.

    Parameters
    ----------
    brightness : float
        Most that it changes, as a part.
    """

    def __init__(self, brightness: float) -> None:
        super().__init__(brightness=brightness)
        self.brightness = brightness

    def apply(self, array: Any) -> Any:
        alpha = 1.0 + random.uniform(-self.brightness, self.brightness)
        return _finish(array * np.float32(alpha), array)


@guarded
class ContrastJitterAug(Augmenter):
    """Pixels moved to or from the image's mean grey, by a part of up to `contrast`.

    Parameters
    ----------
    contrast : float
        Most that it changes, as a part.
    """

    def __init__(self, contrast: float) -> None:
        super().__init__(contrast=contrast)
        self.contrast = contrast
        self.coef = nd.array(_GREY)

    def apply(self, array: Any) -> Any:
        alpha = 1.0 + random.uniform(-self.contrast, self.contrast)
        grey = array * _GREY
        mean = 3.0 * (1.0 - alpha) / grey.size * float(grey.sum())
        return _finish(array * np.float32(alpha) + np.float32(mean), array)


@guarded
class SaturationJitterAug(Augmenter):
    """Pixels moved to or from their grey, by a part of up to `saturation`.

    Parameters
    ----------
    saturation : float
        Most that it changes, as a part.
    """

    def __init__(self, saturation: float) -> None:
        super().__init__(saturation=saturation)
        self.saturation = saturation
        self.coef = nd.array(_GREY)

    def apply(self, array: Any) -> Any:
        alpha = 1.0 + random.uniform(-self.saturation, self.saturation)
        grey = (array * _GREY).sum(axis=2, keepdims=True) * np.float32(1.0 - alpha)
        return _finish(array * np.float32(alpha) + grey, array)


@guarded
class HueJitterAug(Augmenter):
    """Colors turned by up to `hue` of half a circle.

    Parameters
    ----------
    hue : float
        Most that it changes, as a part of the circle.
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
        return _finish(array @ matrix.astype(np.float32), array)


@guarded
class ColorJitterAug(RandomOrderAug):
    """Brightness, contrast and saturation in random order; those that are 0 are left out.

    Parameters
    ----------
    brightness : float
        Most that it changes, as a part.
    contrast : float
        Most that it changes, as a part.
    saturation : float
        Most that it changes, as a part.
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


@guarded
class LightingAug(Augmenter):
    """Noise along the principal components of colors; it is drawn from ``numpy.random``.

    Parameters
    ----------
    alphastd : float
        Standard deviation of each component's part.
    eigval, eigvec : array
        (3,) and (3, 3).
    """

    def __init__(self, alphastd: float, eigval: Any, eigvec: Any) -> None:
        super().__init__(alphastd=alphastd, eigval=eigval, eigvec=eigvec)
        self.alphastd, self.eigval, self.eigvec = alphastd, eigval, eigvec

    def apply(self, array: Any) -> Any:
        alpha = np.random.normal(0, self.alphastd, size=(3,))
        shift = np.dot(np.asarray(self.eigvec) * alpha, np.asarray(self.eigval))
        return _finish(array + shift.astype(np.float32), array)


@guarded
class ColorNormalizeAug(Augmenter):
    """``(image - mean) / std``; either may be None.

    Examples
    --------
    >>> import cynet as mx
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
        self._numbers = tuple(
            None if each is None else each.asnumpy() for each in (self.mean, self.std)
        )

    def apply(self, array: Any) -> Any:
        return color_normalize(array, *self._numbers)


@guarded
class RandomGrayAug(Augmenter):
    """Without colors, in as many channels, with probability `p`."""

    def __init__(self, p: float) -> None:
        super().__init__(p=p)
        self.p = p
        self.mat = nd.array([[0.21] * 3, [0.72] * 3, [0.07] * 3])
        self._matrix = self.mat.asnumpy()

    def apply(self, array: Any) -> Any:
        return _finish(array @ self._matrix, array) if random.random() < self.p else array


@guarded
class CastAug(Augmenter):
    """Another dtype.

    Examples
    --------
    >>> import cynet as mx
    >>> mx.image.CastAug()(mx.nd.zeros((8, 10, 3), dtype="uint8")).dtype
    <class 'numpy.float32'>
    """

    def __init__(self, typ: DTypeLike = "float32") -> None:
        super().__init__(type=typ)
        self.typ = typ

    def apply(self, array: Any) -> Any:
        return array.astype(self.typ, copy=False)


# --- lists of them --------------------------------------------------------------------------------
def _numbers(what, given, default):
    """Mean or deviation of three channels; True stands for ImageNet's."""
    if given is None or given is False:
        return None
    array = np.array(default if given is True else _plain(given), np.float64)
    if array.shape not in ((1,), (3,)):
        raise ArgumentError(f"{what} has 1 number or 3, got {shown(given)}")
    return array


def color_augmenters(brightness, contrast, saturation, hue, pca_noise, rand_gray, mean, std):
    """Those of the colors, for images and for detection."""
    ts: list[Augmenter] = []
    if brightness or contrast or saturation:
        ts.append(ColorJitterAug(brightness, contrast, saturation))
    if hue:
        ts.append(HueJitterAug(hue))
    if pca_noise > 0:
        ts.append(LightingAug(pca_noise, np.array(_EIGENVALUES), np.array(_EIGENVECTORS)))
    if rand_gray > 0:
        ts.append(RandomGrayAug(rand_gray))
    mean, std = _numbers("mean", mean, _MEAN), _numbers("std", std, _STD)
    if mean is not None or std is not None:
        ts.append(ColorNormalizeAug(mean, std))
    return ts


def checked_shape(data_shape):
    """(channels, height, width) of what an iterator of images gives."""
    if not isinstance(data_shape, (tuple, list)):
        raise ArgumentTypeError(f"data_shape is (channels, height, width), got {shown(data_shape)}")
    shape = tuple(int(size) for size in data_shape)
    if len(shape) != 3 or shape[0] not in (1, 3) or min(shape) < 1:
        raise ArgumentError(
            f"data_shape is (channels, height, width) with 1 or 3 channels, got {shown(data_shape)}"
        )
    return shape


@guarded
def CreateAugmenter(
    data_shape: Sequence[int],
    resize: int = 0,
    rand_crop: bool = False,
    rand_resize: bool = False,
    rand_mirror: bool = False,
    mean: Any = None,
    std: Any = None,
    brightness: float = 0,
    contrast: float = 0,
    saturation: float = 0,
    hue: float = 0,
    pca_noise: float = 0,
    rand_gray: float = 0,
    inter_method: int = 2,
) -> list[Augmenter]:
    """A list of augmenters for classification.

    Parameters
    ----------
    data_shape : tuple of int
        (channels, height, width) of the result.
    resize : int
        Length of the shorter side before the crop; 0: as the image has it.
    rand_crop : bool
        A crop anywhere; else in the middle.
    rand_resize : bool
        A crop of random area and ratio of sides, with `rand_crop`.
    rand_mirror : bool
        Mirror half of the images.
    mean, std : array of 3 numbers, or True
        True: ImageNet's.
    brightness, contrast, saturation, hue, pca_noise : float
        Ranges of the jitter.
    rand_gray : float
        Probability of an image without colors.
    inter_method : int
        See :func:`imresize`.

    Raises
    ------
    ArgumentError
        A value is not one of those allowed; the message names it.

    Examples
    --------
    >>> [type(each).__name__ for each in CreateAugmenter((3, 224, 224), rand_mirror=True)]
    ['CenterCropAug', 'HorizontalFlipAug', 'CastAug']
    """
    _, height, width = checked_shape(data_shape)
    if rand_resize and not rand_crop:
        raise ArgumentError("rand_resize needs rand_crop")
    size, ts = (width, height), []
    if resize > 0:
        ts.append(ResizeAug(resize, inter_method))
    if rand_resize:
        ts.append(RandomSizedCropAug(size, 0.08, (3.0 / 4.0, 4.0 / 3.0), inter_method))
    elif rand_crop:
        ts.append(RandomCropAug(size, inter_method))
    else:
        ts.append(CenterCropAug(size, inter_method))
    if rand_mirror:
        ts.append(HorizontalFlipAug(0.5))
    ts.append(CastAug())
    ts += color_augmenters(brightness, contrast, saturation, hue, pca_noise, rand_gray, mean, std)
    return ts
