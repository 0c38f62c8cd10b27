"""OpenCV, if it is installed: resizing of images."""

from functools import cache
from typing import Any

import numpy as np

from .compat import optional
from .errors import ArgumentError, ShapeError

MAX_SIDE_PIXELS = 1 << 16  # maximum width or height of an image
N_INTERPOLATIONS = 5  # OpenCV's: 0 nearest, 1 bilinear, 2 bicubic, 3 area, 4 Lanczos


@cache
def cv() -> Any:
    """Import the module cv2, whose decoding and resizing MXNet uses too."""
    module = optional("cv2", "reading, writing and resizing images")
    # Each thread decodes other images, and OpenCV's own threads would not survive a fork.
    module.setNumThreads(1)
    return module


def error_reason(error: BaseException) -> str:
    """Return the reason in the text of an error of OpenCV."""
    return str(error).partition("error: ")[2].strip()[:200] or type(error).__name__


def size_by_short_side(height: int, width: int, size: int) -> tuple[int, int]:
    """Return (height, width) with the shorter side `size` and the same ratio of sides.

    >>> size_by_short_side(480, 640, 240)
    (240, 320)
    """
    return (size * height // width, size) if height > width else (size, size * width // height)


def resize_image(image: Any, width: int, height: int, interpolation: int) -> Any:
    """Resize pixels (H, W, C).

    image: Array of uint8, int16, uint16, float32 or float64.
    interpolation: 0 to 4.
    """
    if image.ndim != 3 or 0 in image.shape:
        raise ShapeError(f"an image has the shape (H, W, C), got {image.shape}")
    width, height = int(width), int(height)
    if not (0 < width <= MAX_SIDE_PIXELS and 0 < height <= MAX_SIDE_PIXELS):
        raise ArgumentError(
            f"width and height are from 1 to {MAX_SIDE_PIXELS}, got {width} x {height}"
        )
    if image.shape[:2] == (height, width):
        return image
    module = cv()
    try:
        out = module.resize(np.ascontiguousarray(image), (width, height), None, 0, 0, interpolation)
    except module.error as error:
        raise ArgumentError(
            f"an image of {image.shape} {image.dtype} cannot become {width} x {height}:"
            f" {error_reason(error)}"
        ) from None
    return out.reshape(height, width, image.shape[2])
