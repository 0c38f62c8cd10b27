"""draw_boxes: draw detected boxes and their names into a copy of an image."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ndarray as nd
from ..base.errors import ArgumentError, ArgumentTypeError, ShapeError, shown
from ..base.kinds import to_count
from ..base.opencv import MAX_SIDE_PIXELS, cv
from .geometry import pixel_array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..ndarray import NDArray
    from ..typing import ArrayLike

__all__ = ["draw_boxes"]

_COLORS = (  # colors far apart in hue and brightness
    (230, 25, 75),
    (60, 180, 75),
    (255, 225, 25),
    (0, 130, 200),
    (245, 130, 48),
    (145, 30, 180),
    (70, 240, 240),
    (240, 50, 230),
)


def draw_boxes(
    image: Any,
    boxes: ArrayLike,
    labels: Sequence[str] | None = None,
    colors: Sequence[Sequence[int]] | None = None,
    width: int = 2,
) -> NDArray:
    """Draw boxes, with labels above them, into a uint8 copy of an image.

    Lines lie inside of their boxes; what is outside of the image is left out. Later boxes cover
    earlier ones.

    Parameters
    ----------
    image : NDArray or numpy.ndarray
        Of uint8, with the shape (H, W, 3), red first.
    boxes : array_like
        Rows xmin, ymin, xmax, ymax in pixels.
    labels : list of str, optional
        A word for each box.
    colors : list of tuple of int, optional
        (red, green, blue), 0 to 255, for each box; by default eight colors in turn, boxes of the
        same label having the same.
    width : int
        Of lines, in pixels.

    Raises
    ------
    ArgumentError
        The image is of another dtype, `labels` or `colors` are not as many as boxes, a color is
        none, or a box has a right side left of its left one, or no finite number.
    ShapeError
        The image or the boxes have another shape.

    Examples
    --------
    >>> image = mx.nd.zeros((8, 8, 3), dtype="uint8")
    >>> drawn = mx.image.draw_boxes(image, [[1, 2, 6, 5]], colors=[(255, 0, 0)], width=1)
    >>> for row in drawn[:, :, 0].asnumpy() // 255:
    ...     print("".join("-#"[each] for each in row))
    --------
    --------
    -######-
    -#----#-
    -#----#-
    -######-
    --------
    --------
    """
    out = pixel_array(image)
    if out.dtype != np.uint8 or out.shape[2] != 3:
        raise ArgumentError(
            f"draw_boxes: an image has 3 channels of uint8, got {out.shape} of {out.dtype.name}"
        )
    out = np.ascontiguousarray(out).copy()
    rows = _box_rows(boxes)
    width = to_count("draw_boxes: width", width)
    for name, given in (("labels", labels), ("colors", colors)):
        if given is not None and len(given) != len(rows):
            raise ArgumentError(f"draw_boxes: there are {len(given)} {name} for {len(rows)} boxes")
    words = [None] * len(rows) if labels is None else [_check_label(each) for each in labels]
    if colors is None:
        numbers = {word: i for i, word in enumerate(dict.fromkeys(words))}
        of_word = [i if labels is None else numbers[word] for i, word in enumerate(words)]
        chosen = [_COLORS[i % len(_COLORS)] for i in of_word]
    else:
        chosen = [_check_color(each) for each in colors]
    for corners, word, color in zip(rows, words, chosen):
        _draw_frame(out, corners, word, color, width)
    return nd.array(out, dtype="uint8")


def _box_rows(boxes):
    try:
        rows = np.asarray(boxes.asnumpy() if hasattr(boxes, "asnumpy") else boxes, np.float64)
    except (TypeError, ValueError):
        raise ArgumentTypeError(f"draw_boxes: boxes are numbers, got {shown(boxes)}") from None
    if not rows.size and rows.ndim <= 2:
        return np.zeros((0, 4), np.int64)
    if rows.ndim != 2 or rows.shape[1] != 4:
        raise ShapeError(
            f"draw_boxes: boxes have the shape (boxes, 4), rows xmin, ymin, xmax, ymax, got"
            f" {rows.shape}"
        )
    if not np.isfinite(rows).all() or (rows[:, :2] > rows[:, 2:]).any():
        bad = int(np.argmin(np.isfinite(rows).all(1) & (rows[:, :2] <= rows[:, 2:]).all(1)))
        raise ArgumentError(
            f"draw_boxes: box {bad}, {rows[bad].tolist()}, is not xmin <= xmax, ymin <= ymax of"
            " finite numbers"
        )
    return np.rint(np.clip(rows, -MAX_SIDE_PIXELS, 2 * MAX_SIDE_PIXELS)).astype(np.int64)


def _check_label(label):
    if not isinstance(label, str):
        raise ArgumentTypeError(f"draw_boxes: labels are str, got {shown(label)}")
    return label


def _check_color(color):
    values = [int(each) for each in color] if isinstance(color, (list, tuple)) else []
    if len(values) != 3 or not all(0 <= each <= 255 for each in values):
        raise ArgumentError(
            f"draw_boxes: a color is (red, green, blue), 0 to 255 each, got {shown(color)}"
        )
    return tuple(values)


def _draw_frame(out, corners, text, color, width):
    left, top, right, bottom = (int(each) for each in corners)
    for y0, y1, x0, x1 in (
        (top, min(top + width, bottom + 1), left, right + 1),
        (max(bottom + 1 - width, top), bottom + 1, left, right + 1),
        (top, bottom + 1, left, min(left + width, right + 1)),
        (top, bottom + 1, max(right + 1 - width, left), right + 1),
    ):
        out[max(y0, 0) : max(y1, 0), max(x0, 0) : max(x1, 0)] = color
    if text:
        _write_label(out, text, left, top, color)


def _write_label(out, text, left, top, color):
    """Write a label on a colored background above a box, or inside it at the image's upper edge."""
    library = cv()
    font, scale = library.FONT_HERSHEY_SIMPLEX, 0.4
    (length, height), below = library.getTextSize(text, font, scale, 1)
    place = max(left, 0), top - below - 1 if top > height + below else top + height + below
    ground = place[1] - height - 1, place[1] + below
    out[max(ground[0], 0) : max(ground[1], 0), place[0] : place[0] + length] = color
    bright = 0.3 * color[0] + 0.6 * color[1] + 0.1 * color[2] > 128
    ink = (0, 0, 0) if bright else (255, 255, 255)
    library.putText(out, text, place, font, scale, ink, 1, library.LINE_AA)
