"""Transforms that resize, crop and rotate images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .... import ndarray as nd
from .... import symbol
from ....base.errors import ArgumentError, ArgumentTypeError, ShapeError, shown
from ....base.guard import PER_BATCH_METHODS, guarded
from ....base.opencv import N_INTERPOLATIONS, size_by_short_side
from ....image import imrotate
from ....image.geometry import center_box, choose_interpolation, crop, make_image, random_sized_box
from ....image.rotate import check_angle_limits
from ....ndarray import NDArray
from ....symbol import Symbol
from ...block import Block, HybridBlock
from ..seeding import sample_generator

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["CenterCrop", "CropResize", "RandomResizedCrop", "RandomRotation", "Resize", "Rotate"]


class _PythonRandomAdapter:  # NumPy Generator as Python's random
    """Wraps a NumPy Generator in the methods of Python's random that crops use."""

    def __init__(self, generator):
        self.uniform = generator.uniform
        self._integers = generator.integers

    def randint(self, low, high):
        return int(self._integers(low, high + 1))


def _to_width_height(size):
    """Convert an int or a pair to (width, height)."""
    pair = (size, size) if isinstance(size, int) else tuple(size)
    if len(pair) != 2 or min(pair) < 1:
        raise ArgumentError(f"size is an int or (width, height), got {shown(size)}")
    return pair


def _check_array(transform, x):
    if not isinstance(x, (NDArray, Symbol)):
        raise ArgumentTypeError(f"{type(transform).__name__} takes an NDArray, got {shown(x)}")


def _ops_module_of(x):
    return symbol if isinstance(x, Symbol) else nd


@guarded(but=(*PER_BATCH_METHODS, "hybrid_forward"))
class _PixelTransform(Block):  # base of image transforms
    """Base of transforms of images: one (H, W, C), or each of a batch (N, H, W, C)."""

    def forward(self, x: Any) -> Any:
        """Return the transformed image or images."""
        if not isinstance(x, NDArray):
            raise ArgumentTypeError(f"{type(self).__name__} takes an NDArray, got {shown(x)}")
        if x.ndim not in (3, 4):
            raise ShapeError(
                f"{type(self).__name__} takes (H, W, C) or (N, H, W, C), got shape {x.shape}"
            )
        pixels = x.asnumpy()
        if x.ndim == 3:
            return make_image(self._transform_array(pixels))
        return make_image(np.stack([self._transform_array(each) for each in pixels]))

    def _transform_array(self, array):
        return array


def _resize_images(x, size, keep_ratio, interpolation):
    """Resize images; interpolations 9 (by sizes) and 10 (at random) choose a method."""
    if interpolation == 10:
        interpolation = int(sample_generator().integers(N_INTERPOLATIONS))
    elif interpolation == 9 and not isinstance(x, Symbol) and len(x.shape) in (3, 4):
        old = x.shape[-3:-1]
        new = size_by_short_side(*old, size[0]) if keep_ratio else (size[-1], size[0])
        interpolation = choose_interpolation(interpolation, (*old, *new))
    return _ops_module_of(x).image.resize(x, size=size, keep_ratio=keep_ratio, interp=interpolation)


class Resize(HybridBlock):
    """Resizes an image, or a batch of images.

    Parameters
    ----------
    size : int or (int, int)
        (width, height), or one number for both; with `keep_ratio` one number is the length of the
        shorter side.
    keep_ratio : bool
        Keep the ratio of width to height if `size` is one number.
    interpolation : int
        Method of interpolation, see ``mx.image.imresize``.

    Examples
    --------
    >>> Resize(4, keep_ratio=True)(mx.nd.zeros((8, 12, 3), dtype="uint8")).shape
    (4, 6, 3)
    """

    def __init__(self, size: Any, keep_ratio: bool = False, interpolation: int = 1) -> None:
        super().__init__()
        self._size, self._interpolation = _to_width_height(size), interpolation
        self._keeps = bool(keep_ratio and isinstance(size, int))

    def forward(self, x: Any) -> Any:
        """Resize the image (H, W, C), or images (N, H, W, C)."""
        if not hasattr(self.hybrid_forward, "is_undefined"):  # a subclass defines hybrid_forward
            return super().forward(x)
        _check_array(self, x)
        size = self._size[:1] if self._keeps else self._size
        return _resize_images(x, size, self._keeps, self._interpolation)


class CenterCrop(_PixelTransform):
    """Crops the center; of a smaller image, the largest crop of that aspect ratio is enlarged.

    Parameters
    ----------
    size : int or (int, int)
        Size of the result: (width, height), or one number for both.
    interpolation : int
        Method of interpolation if the crop is resized, see ``mx.image.imresize``.

    Examples
    --------
    >>> image = mx.nd.arange(16).reshape((4, 4, 1))
    >>> mx.gluon.data.vision.transforms.CenterCrop((4, 2))(image)[:, :, 0]  # width, height
    [[ 4.  5.  6.  7.]
     [ 8.  9. 10. 11.]]
    <NDArray 2x4 @cpu(0)>
    """

    def __init__(self, size: Any, interpolation: int = 1) -> None:
        super().__init__()
        self._size, self._interpolation = _to_width_height(size), interpolation

    def _transform_array(self, array):
        return crop(array, *center_box(array, self._size), self._size, self._interpolation)


class RandomResizedCrop(_PixelTransform):
    """Crops a region of random area and aspect ratio, and resizes it.

    Parameters
    ----------
    size : int or (int, int)
        Size of the result: (width, height), or one number for both.
    scale : (float, float)
        Smallest and largest area of the crop, as a share of the image's area.
    ratio : (float, float)
        Smallest and largest ratio of width to height of the crop.
    interpolation : int
        Method of interpolation if the crop is resized, see ``mx.image.imresize``.

    Examples
    --------
    >>> transform = mx.gluon.data.vision.transforms.RandomResizedCrop(6)
    >>> transform(mx.nd.zeros((8, 10, 3), dtype="uint8")).shape
    (6, 6, 3)
    """

    def __init__(
        self,
        size: Any,
        scale: tuple[float, float] = (0.08, 1.0),
        ratio: tuple[float, float] = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: int = 1,
    ) -> None:
        super().__init__()
        self._size, self._interpolation = _to_width_height(size), interpolation
        self._scale, self._ratio = scale, ratio

    def _transform_array(self, array):
        draws = _PythonRandomAdapter(sample_generator())
        box = random_sized_box(array, self._size, self._scale, self._ratio, draws)
        return crop(array, *box, self._size, self._interpolation)


class CropResize(HybridBlock):
    """Crops a given part of an image, and resizes it if a size is given.

    Parameters
    ----------
    x, y, width, height : int
        Left edge, top edge and size of the crop, which has to lie inside of the image.
    size : int or (int, int), optional
        Size that the crop is resized to: (width, height), or one number for both.
    interpolation : int, optional
        Method of interpolation, see ``mx.image.imresize``.

    Examples
    --------
    >>> image = mx.nd.arange(16).reshape((4, 4, 1))
    >>> transform = mx.gluon.data.vision.transforms.CropResize(x=1, y=2, width=3, height=1)
    >>> transform(image)[:, :, 0]
    [[ 9. 10. 11.]]
    <NDArray 1x3 @cpu(0)>
    """

    def __init__(
        self,
        x: int,
        y: int,
        width: int,
        height: int,
        size: Any = None,
        interpolation: int | None = None,
    ) -> None:
        super().__init__()
        self._box = x, y, width, height
        self._size = None if size is None else _to_width_height(size)
        self._interpolation = 1 if interpolation is None else interpolation

    def forward(self, x: Any) -> Any:
        """Crop the image (H, W, C), or images (N, H, W, C)."""
        if not hasattr(self.hybrid_forward, "is_undefined"):  # a subclass defines hybrid_forward
            return super().forward(x)
        _check_array(self, x)
        left, top, width, height = self._box
        out = _ops_module_of(x).image.crop(x, x=left, y=top, width=width, height=height)
        return (
            out
            if self._size is None
            else _resize_images(out, self._size, False, self._interpolation)
        )


class Rotate(Block):
    """Rotates images (C, H, W) or (N, C, H, W) of float32; see ``mx.image.imrotate``.

    Parameters
    ----------
    rotation_degrees : float
        The angle, in degrees.

    Examples
    --------
    >>> transform = mx.gluon.data.vision.transforms.Rotate(90)
    >>> transform(mx.nd.arange(4).reshape((1, 2, 2))).round()
    [[[1. 3.]
      [0. 2.]]]
    <NDArray 1x2x2 @cpu(0)>
    """

    def __init__(
        self, rotation_degrees: float, zoom_in: bool = False, zoom_out: bool = False
    ) -> None:
        super().__init__()
        self._args = rotation_degrees, zoom_in, zoom_out

    def forward(self, x: Any) -> Any:
        """Rotate the image or images."""
        return imrotate(x, *self._args)


class RandomRotation(Block):
    """Rotates images (C, H, W) or (N, C, H, W) of float32 by random angles between limits.

    Parameters
    ----------
    angle_limits : (float, float)
        Smallest and largest angle, in degrees.
    rotate_with_proba : float
        Probability that an image is rotated at all.

    Raises
    ------
    ArgumentError
        `angle_limits` is not (low, high) with low below high, both `zoom_in` and `zoom_out` are
        set, or `rotate_with_proba` is not from 0 to 1.

    Examples
    --------
    >>> transform = mx.gluon.data.vision.transforms.RandomRotation((-30, 30))
    >>> transform(mx.nd.ones((3, 8, 8))).shape
    (3, 8, 8)
    """

    def __init__(
        self,
        angle_limits: Sequence[float],
        zoom_in: bool = False,
        zoom_out: bool = False,
        rotate_with_proba: float = 1.0,
    ) -> None:
        super().__init__()
        low, high = check_angle_limits(angle_limits)
        if low >= high:
            raise ArgumentError(f"angle_limits are (low, high), got {shown(angle_limits)}")
        if not 0 <= rotate_with_proba <= 1:
            raise ArgumentError(f"rotate_with_proba is from 0 to 1, got {shown(rotate_with_proba)}")
        self._limits, self._zoom = (low, high), (zoom_in, zoom_out)
        self._probability = rotate_with_proba

    def forward(self, x: Any) -> Any:
        """Rotate the image or images, with the probability that the transform was made with."""
        generator = sample_generator()
        if generator.uniform() >= self._probability:
            return x
        if x.ndim == 3:
            return imrotate(x, float(generator.uniform(*self._limits)), *self._zoom)
        return imrotate(x, generator.uniform(*self._limits, len(x)), *self._zoom)
