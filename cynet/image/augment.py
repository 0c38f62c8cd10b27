"""Augmenters that resize, crop or flip, and the list for classification."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from ..base.errors import ArgumentError, ArgumentTypeError, shown
from ..base.opencv import resize_image, size_by_short_side
from .augmenter import Augmenter
from .color_augment import CastAug, color_augmenters
from .geometry import center_box, choose_interpolation, crop, random_box, random_sized_box

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["CenterCropAug", "CreateAugmenter", "ForceResizeAug", "HorizontalFlipAug"]
__all__ += ["RandomCropAug", "RandomSizedCropAug", "ResizeAug"]


class ResizeAug(Augmenter):
    """Resize an image so that its shorter side is `size`: see :func:`resize_short`.

    Parameters
    ----------
    size : int
        Length of the shorter side.

    Examples
    --------
    >>> image = mx.nd.zeros((8, 10, 3), dtype="uint8")
    >>> mx.image.ResizeAug(4)(image).shape
    (4, 5, 3)
    """

    def __init__(self, size: int, interp: int = 2) -> None:
        super().__init__(size=size, interp=interp)
        self.size, self.interp = size, interp

    def apply(self, array: Any) -> Any:
        height, width = size_by_short_side(*array.shape[:2], self.size)
        sizes = (*array.shape[:2], height, width)
        return resize_image(array, width, height, choose_interpolation(self.interp, sizes))


class ForceResizeAug(Augmenter):
    """Resize an image to (width, height), ignoring its aspect ratio.

    Examples
    --------
    >>> mx.image.ForceResizeAug((6, 4))(mx.nd.zeros((8, 8, 3), dtype="uint8")).shape
    (4, 6, 3)
    """

    def __init__(self, size: Sequence[int], interp: int = 2) -> None:
        super().__init__(size=size, interp=interp)
        self.size, self.interp = size, interp

    def apply(self, array: Any) -> Any:
        sizes = (*array.shape[:2], self.size[1], self.size[0])
        return resize_image(array, *self.size, choose_interpolation(self.interp, sizes))


class RandomCropAug(Augmenter):
    """Crop at a random position: see :func:`random_crop`.

    Examples
    --------
    >>> mx.image.RandomCropAug((4, 6))(mx.nd.zeros((8, 10, 3), dtype="uint8")).shape
    (6, 4, 3)
    """

    def __init__(self, size: Sequence[int], interp: int = 2) -> None:
        super().__init__(size=size, interp=interp)
        self.size, self.interp = size, interp

    def apply(self, array: Any) -> Any:
        return crop(array, *random_box(array, self.size), self.size, self.interp)


class RandomSizedCropAug(Augmenter):
    """Crop with a random area and aspect ratio: see :func:`random_size_crop`.

    Examples
    --------
    >>> crop = mx.image.RandomSizedCropAug((4, 4), area=(0.2, 1), ratio=(0.75, 1.33))
    >>> crop(mx.nd.zeros((8, 10, 3), dtype="uint8")).shape
    (4, 4, 3)
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


class CenterCropAug(Augmenter):
    """Crop at the center: see :func:`center_crop`.

    Examples
    --------
    >>> image = mx.nd.arange(16).reshape((4, 4, 1))
    >>> mx.image.CenterCropAug((2, 1))(image)[:, :, 0]  # width, height
    [[5. 6.]]
    <NDArray 1x2 @cpu(0)>
    """

    def __init__(self, size: Sequence[int], interp: int = 2) -> None:
        super().__init__(size=size, interp=interp)
        self.size, self.interp = size, interp

    def apply(self, array: Any) -> Any:
        return crop(array, *center_box(array, self.size), self.size, self.interp)


class HorizontalFlipAug(Augmenter):
    """Mirrors left and right with probability `p`.

    Parameters
    ----------
    p : float
        Probability that an image is mirrored.

    Examples
    --------
    >>> mx.image.HorizontalFlipAug(1)(mx.nd.array([[[1], [2]]]))[0, :, 0]
    [2. 1.]
    <NDArray 2 @cpu(0)>
    """

    def __init__(self, p: float) -> None:
        super().__init__(p=p)
        self.p = p

    def apply(self, array: Any) -> Any:
        return array[:, ::-1] if random.random() < self.p else array


def checked_shape(data_shape):
    """Check `data_shape` of an iterator; return it as (channels, height, width)."""
    if not isinstance(data_shape, (tuple, list)):
        raise ArgumentTypeError(f"data_shape is (channels, height, width), got {shown(data_shape)}")
    shape = tuple(int(size) for size in data_shape)
    if len(shape) != 3 or shape[0] not in (1, 3) or min(shape) < 1:
        raise ArgumentError(
            f"data_shape is (channels, height, width) with 1 or 3 channels, got {shown(data_shape)}"
        )
    return shape


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
    """Make a list of augmenters for classification.

    Parameters
    ----------
    data_shape : tuple of int
        (channels, height, width) of the result.
    resize : int
        Length that the shorter side is resized to before the crop; 0 leaves the image as it is.
    rand_crop : bool
        Crop at a random place; if False, in the middle.
    rand_resize : bool
        With `rand_crop`, crop a random area of random ratio of width to height.
    mean, std : array of 3 numbers, or True, optional
        Mean and standard deviation to normalize by; True takes those of ImageNet. By default images
        are not normalized.
    brightness, contrast, saturation, hue, pca_noise : float
        Ranges of the changes of color; 0 leaves one out.

    Raises
    ------
    ArgumentError
        If `data_shape` is not that of an image, `mean` or `std` have another length, or
        `rand_resize` is given without `rand_crop`.
    ArgumentTypeError
        If `data_shape` is neither a tuple nor a list.

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
