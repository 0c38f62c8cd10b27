"""Decoding, resizing, cropping and padding of images, NDArrays (H, W, C)."""

from __future__ import annotations

import ast
import random
from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ndarray as nd
from ..base.errors import ArgumentError, ArgumentTypeError, ShapeError, shown
from ..base.files import file_name, read_file
from ..base.opencv import N_INTERPOLATIONS, cv, resize_image, size_by_short_side
from ..ndarray import NDArray
from .codec import decode_rgb, image_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..typing import FileName, NumpyArray

__all__ = ["center_crop", "color_normalize", "copyMakeBorder", "fixed_crop", "imdecode", "imread"]
__all__ += ["imresize", "random_crop", "random_size_crop", "resize_short", "scale_down"]

_MAX_ATTEMPTS = 10  # maximum attempts to find a crop of a random size


# --- conversion between NDArrays and NumPy -------------------------------------------------------
def pixel_array(image):
    """Return an image's pixels as a NumPy array (H, W, C)."""
    if isinstance(image, NDArray):
        image = image.asnumpy()
    if not isinstance(image, np.ndarray):
        raise ArgumentTypeError(f"an image is an NDArray, got {type(image).__name__}")
    if image.ndim != 3:
        raise ShapeError(f"an image has the shape (H, W, C), got {image.shape}")
    return image


def make_image(array, out=None):
    """Make an NDArray of pixels, or copy them to `out`."""
    if out is None:
        return nd.array(array, dtype=array.dtype)
    if out.shape != array.shape:
        raise ShapeError(f"the image has the shape {array.shape}, out {out.shape}")
    out[:] = nd.array(array, dtype=array.dtype)
    return out


def choose_interpolation(interp, sizes=None):
    """Return OpenCV's interpolation code; `sizes` are height and width before and after."""
    if interp == 9:
        if not sizes:
            return 2
        if len(sizes) != 4:
            raise ArgumentError(f"sizes are 4: old and new height and width, got {shown(sizes)}")
        old_h, old_w, new_h, new_w = sizes
        if new_h > old_h and new_w > old_w:
            return 2
        return 3 if new_h < old_h and new_w < old_w else 1
    if interp == 10:
        return random.randint(0, N_INTERPOLATIONS - 1)
    if interp not in range(N_INTERPOLATIONS):
        raise ArgumentError(f"interp is 0 to 4, 9 or 10, got {shown(interp)}")
    return interp


_get_interp_method = choose_interpolation  # MXNet's name, which other packages import


def checked_numbers(what, given):
    """Convert numbers, one number, or a string of either to a tuple of floats."""
    try:
        if isinstance(given, str):
            given = ast.literal_eval(given)
        given = given if hasattr(given, "__iter__") else (given,)
        return tuple(float(each) for each in given)
    except (TypeError, ValueError, SyntaxError, MemoryError, RecursionError):
        raise ArgumentTypeError(f"{what} are numbers, got {shown(given)}") from None


# --- on pixels -----------------------------------------------------------------------------------
def crop(array, x0, y0, width, height, size=None, interp=2):
    """Crop an image, and resize the crop if `size` is given."""
    if x0 < 0 or y0 < 0 or width < 1 or height < 1:
        raise ArgumentError(f"a crop of {width} x {height} at ({x0}, {y0}) is none")
    out = array[y0 : y0 + height, x0 : x0 + width]
    if 0 in out.shape:
        raise ArgumentError(f"the image of {array.shape} has nothing at ({x0}, {y0})")
    if size is not None and (width, height) != tuple(size):
        out = resize_image(
            out, *size, choose_interpolation(interp, (height, width, size[1], size[0]))
        )
    return out


def center_box(array, size):
    """Return (x, y, width, height) of the center crop."""
    height, width = array.shape[:2]
    new_w, new_h = scale_down((width, height), size)
    return (width - new_w) // 2, (height - new_h) // 2, new_w, new_h


def random_box(array, size):
    """Return (x, y, width, height) of a crop at a random position."""
    height, width = array.shape[:2]
    new_w, new_h = scale_down((width, height), size)
    return random.randint(0, width - new_w), random.randint(0, height - new_h), new_w, new_h


def random_sized_box(array, size, area, ratio, draws=random):
    """Return (x, y, width, height) of a crop with a random area and aspect ratio; a center crop if
    10 draws do not fit. `draws` has ``uniform`` and ``randint``."""
    height, width = array.shape[:2]
    low, high = (area, 1.0) if isinstance(area, Number) else area
    logs = float(np.log(ratio[0])), float(np.log(ratio[1]))
    for _ in range(_MAX_ATTEMPTS):
        wanted = draws.uniform(low, high) * height * width
        sides = np.exp(draws.uniform(*logs))
        new_w, new_h = round(float(np.sqrt(wanted * sides))), round(float(np.sqrt(wanted / sides)))
        if 0 < new_w <= width and 0 < new_h <= height:
            x0, y0 = draws.randint(0, width - new_w), draws.randint(0, height - new_h)
            return x0, y0, new_w, new_h
    return center_box(array, size)


# --- public --------------------------------------------------------------------------------------
def imdecode(
    buf: bytes | NumpyArray, flag: int = 1, to_rgb: bool = True, out: NDArray | None = None
) -> NDArray:
    """Decode an image from bytes of a JPEG, PNG or other file: (H, W, 3) or (H, W, 1), uint8.

    Parameters
    ----------
    buf : bytes or numpy.ndarray of uint8
        The contents of the file.
    flag : int
        1 for three colors, 0 for gray, -1 for the channels that the file has.
    out : NDArray, optional
        Array that is filled with the image.

    Raises
    ------
    FormatError
        When it is not an image.
    CynetError
        When OpenCV is not installed: ``pip install 'cynet-mx[image]'``.

    Examples
    --------
    >>> header = mx.recordio.IRHeader(0, 0, 0, 0)
    >>> packed = mx.recordio.pack_img(header, np.zeros((8, 10, 3), "uint8"), img_fmt=".png")
    >>> mx.image.imdecode(mx.recordio.unpack(packed)[1]).shape
    (8, 10, 3)
    """
    return make_image(decode_rgb(image_bytes(buf), flag, to_rgb), out)


def imread(
    filename: FileName, flag: int = 1, to_rgb: bool = True, out: NDArray | None = None
) -> NDArray:
    """Read an image from a file: (H, W, 3) or (H, W, 1), uint8.

    Parameters
    ----------
    filename : str
        Path of the image.
    flag : int
        1 for three colors, 0 for gray, -1 for the channels that the file has.
    out : NDArray, optional
        Array that is filled with the image.

    Raises
    ------
    FileError
        If the file cannot be read.
    FormatError
        If it is not an image.

    Examples
    --------
    >>> from pathlib import Path
    >>> header = mx.recordio.IRHeader(0, 0, 0, 0)
    >>> packed = mx.recordio.pack_img(header, np.full((8, 10, 3), 200, "uint8"), img_fmt=".png")
    >>> _ = Path("grey.png").write_bytes(mx.recordio.unpack(packed)[1])
    >>> mx.image.imread("grey.png").shape, mx.image.imread("grey.png", flag=0)[0, 0].asnumpy()
    ((8, 10, 3), array([200], dtype=uint8))
    """
    name = file_name(filename)
    return make_image(decode_rgb(read_file(name), flag, to_rgb, shown(name)), out)


def imresize(src: NDArray, w: int, h: int, interp: int = 1, out: NDArray | None = None) -> NDArray:
    """Resize an image.

    Parameters
    ----------
    w, h : int
        Width and height of the result.
    interp : int
        Method of interpolation: 0 nearest, 1 bilinear, 2 bicubic, 3 by area, 4 Lanczos; 9 bicubic
        to enlarge, by area to shrink, otherwise bilinear; 10 a random one of 0 to 4.
    out : NDArray, optional
        Array that the result is written to.

    Examples
    --------
    >>> image = mx.nd.array([[[10], [20]]], dtype="uint8")  # one row of two pixels
    >>> mx.image.imresize(image, w=4, h=1, interp=0)[:, :, 0]
    [[10 10 20 20]]
    <NDArray 1x4 @cpu(0)>
    """
    array = pixel_array(src)
    return make_image(
        resize_image(array, w, h, choose_interpolation(interp, (*array.shape[:2], h, w))), out
    )


def copyMakeBorder(
    src: NDArray,
    top: int,
    bot: int,
    left: int,
    right: int,
    type: int = 0,
    value: float = 0.0,
    values: Sequence[float] = (),
    out: NDArray | None = None,
) -> NDArray:
    """Put a border around an image.

    Parameters
    ----------
    top, bot, left, right : int
        Width of the border on each side, in pixels.
    type : int
        What fills the border: 0 one color, 1 the edge repeated, 2 the image mirrored with its edge,
        3 the opposite side, 4 the image mirrored without its edge.
    value : float
        Value of all channels, with `type` 0.
    values : tuple of float
        Value of each channel, with `type` 0; a single number is that of the first channel.
    out : NDArray, optional
        Array that the result is written to.

    Raises
    ------
    ArgumentError
        `type` is not 0 to 4, or a border is below 0.

    Examples
    --------
    >>> image = mx.nd.array([[[5], [6]]], dtype="uint8")  # one row of two pixels
    >>> mx.image.copyMakeBorder(image, top=1, bot=0, left=1, right=2, value=9)[:, :, 0]
    [[9 9 9 9 9]
     [9 5 6 9 9]]
    <NDArray 2x5 @cpu(0)>
    """
    if type not in range(5):
        raise ArgumentError(f"type is 0 to 4, got {shown(type)}")
    array, sides = pixel_array(src), (top, bot, left, right)
    if min(sides) < 0:
        raise ArgumentError(f"a border has 0 pixels or more, got {sides}")
    values = checked_numbers("copyMakeBorder: values", values)
    color = list(values) or [float(value)] * 4
    bordered = cv().copyMakeBorder(array, *map(int, sides), int(type), None, color)
    return make_image(bordered.reshape(*bordered.shape[:2], array.shape[2]), out)


def scale_down(src_size: Sequence[int], size: Sequence[int]) -> tuple[int, int]:
    """Scale (width, height) of a crop down to fit into an image, keeping its aspect ratio.

    Parameters
    ----------
    src_size : tuple of int
        Width and height of the image.
    size : tuple of int
        Requested width and height of the crop.

    Examples
    --------
    >>> scale_down((640, 480), (720, 120))
    (640, 106)
    """
    (max_w, max_h), (width, height) = src_size, size
    if height > max_h:
        width, height = width * max_h / height, max_h
    if width > max_w:
        width, height = max_w, height * max_w / width
    return int(width), int(height)


def resize_short(src: NDArray, size: int, interp: int = 2) -> NDArray:
    """Resize an image so that its shorter side is `size`, keeping the aspect ratio.

    Parameters
    ----------
    size : int
        Length of the shorter side.

    Examples
    --------
    >>> mx.image.resize_short(mx.nd.zeros((8, 10, 3), dtype="uint8"), 4).shape
    (4, 5, 3)
    """
    array = pixel_array(src)
    height, width = size_by_short_side(*array.shape[:2], size)
    return make_image(
        resize_image(
            array, width, height, choose_interpolation(interp, (*array.shape[:2], height, width))
        )
    )


def fixed_crop(
    src: NDArray,
    x0: int,
    y0: int,
    w: int,
    h: int,
    size: Sequence[int] | None = None,
    interp: int = 2,
) -> NDArray:
    """Crop an image at a fixed position, and resize the crop if `size` is given.

    Parameters
    ----------
    x0, y0 : int
        Left column and upper row of the crop.
    w, h : int
        Width and height of the crop.
    size : tuple of int, optional
        Width and height that the crop is resized to.

    Raises
    ------
    ArgumentError
        If nothing of the image is there.

    Examples
    --------
    >>> image = mx.nd.arange(16).reshape((4, 4, 1))
    >>> mx.image.fixed_crop(image, x0=1, y0=2, w=3, h=1)[:, :, 0]
    [[ 9. 10. 11.]]
    <NDArray 1x3 @cpu(0)>
    """
    return make_image(crop(pixel_array(src), x0, y0, w, h, size, interp))


def random_crop(
    src: NDArray, size: Sequence[int], interp: int = 2
) -> tuple[NDArray, tuple[int, int, int, int]]:
    """Crop an image to (width, height) at a random position; a smaller image is enlarged.

    Returns
    -------
    (NDArray, (x, y, width, height))
        And where it was.

    Examples
    --------
    >>> image = mx.nd.zeros((8, 10, 3), dtype="uint8")
    >>> mx.image.random_crop(image, (4, 6))[0].shape
    (6, 4, 3)
    """
    array = pixel_array(src)
    box = random_box(array, size)
    return make_image(crop(array, *box, size, interp)), box


def center_crop(
    src: NDArray, size: Sequence[int], interp: int = 2
) -> tuple[NDArray, tuple[int, int, int, int]]:
    """Crop an image to (width, height) at the center; see :func:`random_crop`.

    Returns
    -------
    (NDArray, (x, y, width, height))
        The crop, and where it was.

    Examples
    --------
    >>> image = mx.nd.zeros((8, 10, 3), dtype="uint8")
    >>> cropped, place = mx.image.center_crop(image, (4, 6))  # width, height
    >>> cropped.shape, place
    ((6, 4, 3), (3, 1, 4, 6))
    """
    array = pixel_array(src)
    box = center_box(array, size)
    return make_image(crop(array, *box, size, interp)), box


def random_size_crop(
    src: NDArray,
    size: Sequence[int],
    area: float | tuple[float, float],
    ratio: tuple[float, float],
    interp: int = 2,
    *,
    min_area: float | None = None,
) -> tuple[NDArray, tuple[int, int, int, int]]:
    """Crop an image to a random area and aspect ratio, and resize it.

    The crop in the middle is taken if ten draws do not fit into the image.

    Parameters
    ----------
    size : tuple of int
        Width and height of the result.

    Returns
    -------
    (NDArray, (x, y, width, height))
        The result, and where the crop was.

    Examples
    --------
    >>> image = mx.nd.zeros((80, 100, 3), dtype="uint8")
    >>> cropped, (x, y, w, h) = mx.image.random_size_crop(image, (4, 6), (0.5, 1), (0.75, 1.33))
    >>> cropped.shape, x + w <= 100, y + h <= 80
    ((6, 4, 3), True, True)
    """
    array = pixel_array(src)
    box = random_sized_box(array, size, area if min_area is None else min_area, ratio)
    return make_image(crop(array, *box, size, interp)), box


def color_normalize(src: Any, mean: Any, std: Any = None) -> Any:
    """Compute ``(src - mean) / std``; either may be None.

    Parameters
    ----------
    mean, std : NDArray, float or None
        A number, or one for each channel.

    Returns
    -------
    NDArray
        Of the shape of `src`.

    Examples
    --------
    >>> color_normalize(mx.nd.ones((1, 1, 3)), mx.nd.array([1, 2, 3])).asnumpy().tolist()
    [[[0.0, -1.0, -2.0]]]
    """
    if mean is not None:
        src = src - mean
    return src if std is None else src / std
