"""Rotation of images."""

from __future__ import annotations

from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ndarray as nd
from ..base.errors import ArgumentError, ArgumentTypeError, ShapeError, shown

if TYPE_CHECKING:
    from ..ndarray import NDArray

__all__ = ["imrotate", "random_rotate"]


def _zoom_factor(height, width, angles, zoom_in):
    """Return the zoom factor that fits corners of the result onto the image (in), or corners of the
    image into the result (out)."""
    cos, sin = np.abs(np.cos(angles)), np.abs(np.sin(angles))
    spans = (width * cos + height * sin) / width, (width * sin + height * cos) / height
    largest = np.maximum(*spans)
    return 1.0 / largest if zoom_in else largest


def _sample_bilinear(batch, x, y):
    """Interpolate pixels at positions (N, H, W); outside of the image they are 0."""
    count, _, height, width = batch.shape
    left, top = np.floor(x).astype(int), np.floor(y).astype(int)
    out = np.zeros_like(batch)
    of = np.arange(count)[:, None, None]
    for row, down in ((top, y - top), (top + 1, top + 1 - y)):
        for column, right in ((left, x - left), (left + 1, left + 1 - x)):
            inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
            part = ((1 - down) * (1 - right) * inside).astype(batch.dtype)
            found = batch[of, :, row.clip(0, height - 1), column.clip(0, width - 1)]
            out += (found * part[..., None]).transpose(0, 3, 1, 2)
    return out


def imrotate(
    src: NDArray, rotation_degrees: Any, zoom_in: bool = False, zoom_out: bool = False
) -> NDArray:
    """Rotate images around their center; pixels from outside are 0.

    Parameters
    ----------
    src : NDArray of float32
        An image (C, H, W) or a batch (N, C, H, W).
    rotation_degrees : float or array
        Angle in degrees, counterclockwise; for a batch one number, or one for each image.

    Raises
    ------
    ArgumentError
        Both `zoom_in` and `zoom_out` are set.
    ArgumentTypeError
        `src` is not float32, or one image is given several angles.
    ShapeError
        Shapes do not fit; the message has them.

    Examples
    --------
    >>> mx.image.imrotate(mx.nd.array([[[1, 2, 3], [4, 5, 6], [7, 8, 9]]]), 90).asnumpy().round()
    array([[[3., 6., 9.],
            [2., 5., 8.],
            [1., 4., 7.]]], dtype=float32)
    """
    if zoom_in and zoom_out:
        raise ArgumentError("zoom_in and zoom_out exclude each other")
    if src.dtype != np.float32:
        raise ArgumentTypeError(f"imrotate takes float32, got {np.dtype(src.dtype)}")
    if src.ndim not in (3, 4):
        raise ShapeError(f"imrotate takes (C, H, W) or (N, C, H, W), got {src.shape}")
    if src.ndim == 3 and not isinstance(rotation_degrees, Number):
        raise ArgumentTypeError(
            f"rotation_degrees of one image is a number, got {shown(rotation_degrees)}"
        )
    batch = src.expand_dims(0) if src.ndim == 3 else src
    count, _, height, width = batch.shape
    if hasattr(rotation_degrees, "asnumpy"):
        rotation_degrees = rotation_degrees.asnumpy()
    angles = np.asarray(rotation_degrees, np.float64)
    if angles.ndim > 1 or (angles.ndim == 1 and len(angles) != count):
        raise ShapeError(f"{angles.shape} angles for {count} images")
    angles = np.deg2rad(np.broadcast_to(angles, (count,))).reshape(count, 1, 1)
    half_h, half_w = (height - 1) / 2, (width - 1) / 2
    y, x = np.arange(height)[:, None] - half_h, np.arange(width)[None, :] - half_w
    cos, sin = np.cos(angles), np.sin(angles)
    zoom = _zoom_factor(height, width, angles, zoom_in) if zoom_in or zoom_out else 1.0
    x, y = zoom * (x * cos - y * sin) + half_w, zoom * (x * sin + y * cos) + half_h
    out = nd.array(_sample_bilinear(batch.asnumpy(), x, y), ctx=src.context)
    return out[0] if src.ndim == 3 else out


def check_angle_limits(limits):
    """Return (smallest, largest) angle, or raise an error that shows the expected form."""
    try:
        low, high = limits
        return float(low), float(high)
    except (TypeError, ValueError):
        one = isinstance(limits, (int, float)) and not isinstance(limits, bool)
        hint = f"; ({-abs(limits)}, {abs(limits)}) turns to both sides" if one else ""
        kind = ArgumentError if isinstance(limits, (list, tuple)) else ArgumentTypeError
        raise kind(f"angle_limits are (low, high), got {shown(limits)}{hint}") from None


def random_rotate(
    src: NDArray, angle_limits: Any, zoom_in: bool = False, zoom_out: bool = False
) -> NDArray:
    """Rotate images by random angles between two limits, from ``numpy.random``.

    Parameters
    ----------
    src : NDArray of float32
        An image (C, H, W), or a batch (N, C, H, W) in which each image gets an angle of its own.
    angle_limits : (float, float)
        Smallest and largest angle, in degrees, counterclockwise.

    Returns
    -------
    NDArray
        Of the shape of `src`.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        If `angle_limits` are not two numbers, both zooms are wished for, or the dtype is another.
    ShapeError
        If `src` has neither three axes nor four.

    Examples
    --------
    >>> mx.image.random_rotate(mx.nd.ones((2, 3, 8, 8)), (-15, 15)).shape
    (2, 3, 8, 8)
    """
    low, high = check_angle_limits(angle_limits)
    if src.ndim == 3:
        return imrotate(src, np.random.uniform(low, high), zoom_in, zoom_out)
    return imrotate(src, np.random.uniform(low, high, len(src)), zoom_in, zoom_out)
