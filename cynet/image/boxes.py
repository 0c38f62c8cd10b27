"""Bounding boxes of objects: rows (class, xmin, ymin, xmax, ymax, ...), coordinates 0 to 1."""

import numpy as np

from ..base.errors import FormatError

MIN_COLUMNS = 5  # columns of a box: class and two corners


def split_box_label(label):
    """Split a record's label into its header and its boxes. The head has its own length, the length
    of a box, and further numbers.

    Raises FormatError when its numbers do not say so.
    """
    raw = np.asarray(label, np.float32).ravel()
    if len(raw) < 2:
        raise FormatError(f"a label with boxes begins with two sizes, this has {len(raw)} numbers")
    if not np.isfinite(raw[:2]).all():
        raise FormatError(f"a label begins with two sizes, this with {raw[:2].tolist()}")
    head, width = int(raw[0]), int(raw[1])
    if head < 2 or width < MIN_COLUMNS or len(raw) < head or (len(raw) - head) % width:
        raise FormatError(
            f"a label of {len(raw)} numbers cannot be a head of {head} and boxes of {width}"
        )
    return raw[:head], raw[head:].reshape(-1, width)


def select_nonempty_boxes(boxes):
    """Return the boxes with an area above 0."""
    return boxes[(boxes[:, 3] > boxes[:, 1]) & (boxes[:, 4] > boxes[:, 2])]


def box_areas(corners):
    """Return the areas of boxes (N, 4): xmin, ymin, xmax, ymax."""
    sides = np.maximum(0, corners[:, 2:4] - corners[:, 0:2])
    return sides[:, 0] * sides[:, 1]


def intersection_areas(corners, within):
    """Return the areas of the parts of boxes (N, 4) inside the box `within`."""
    low, high = np.asarray(within[:2]), np.asarray(within[2:])
    parts = [np.maximum(corners[:, :2], low), np.minimum(corners[:, 2:4], high)]
    return box_areas(np.concatenate(parts, 1))


def to_float_boxes(boxes):
    """Convert boxes of integers to floats, since corners become fractions."""
    return boxes if boxes.dtype.kind == "f" else boxes.astype(np.result_type(boxes, np.float32))


def mirror_boxes(boxes):
    """Mirror boxes left to right."""
    out = boxes.copy()
    out[:, 1], out[:, 3] = 1.0 - boxes[:, 3], 1.0 - boxes[:, 1]
    return out


def move_boxes(boxes, x, y, width, height):
    """Convert boxes to coordinates relative to a frame at (x, y), which may exceed the image; all
    numbers are fractions of the image's size."""
    out = boxes.copy()
    out[:, (1, 3)] = (boxes[:, (1, 3)] - x) / width
    out[:, (2, 4)] = (boxes[:, (2, 4)] - y) / height
    return out
