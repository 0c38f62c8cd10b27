"""OpenCV, if it is installed: images in another size."""

from functools import cache
from typing import Any

import numpy as np

from .compat import optional
from .errors import ArgumentError, ShapeError

LARGEST_SIDE = 1 << 16
INTERPOLATIONS = 5  # 0 nearest, 1 bilinear, 2 bicubic, 3 by area, 4 Lanczos; OpenCV's numbers


@cache
def cv() -> Any:
    """The module cv2, which decodes and resizes as MXNet does: both are OpenCV."""
    module = optional("cv2", "reading, writing and resizing images")
    # Threads work on different images here; OpenCV's own threads would not survive a fork.
    module.setNumThreads(1)
    return module


def error_reason(error: BaseException) -> str:
    """The reason that an error of OpenCV gives."""
    return str(error).partition("error: ")[2].strip()[:200] or type(error).__name__


def short_size(height: int, width: int, size: int) -> tuple[int, int]:
    """(height, width) with the shorter side `size` and the ratio of sides unchanged.

    >>> short_size(480, 640, 240)
    (240, 320)
    """
    return (size * height // width, size) if height > width else (size, size * width // height)


def resize_image(image: Any, width: int, height: int, interpolation: int) -> Any:
    """Pixels (H, W, C) in another size.

    image: Of uint8, int16, uint16, float32 or float64.
    interpolation: 0 to 4.
    """
    if image.ndim != 3 or 0 in image.shape:
        raise ShapeError(f"an image has the shape (H, W, C), got {image.shape}")
    width, height = int(width), int(height)
    if not (0 < width <= LARGEST_SIDE and 0 < height <= LARGEST_SIDE):
        raise ArgumentError(
            f"width and height are from 1 to {LARGEST_SIDE}, got {width} x {height}"
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
