"""mx.image.draw_boxes: which pixels change, words, colors, and what is refused."""

import re

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentError, ArgumentTypeError, ShapeError

RED, BLUE = (255, 0, 0), (0, 0, 255)


def frame(height, width, box, line):
    """The pixels of a box's lines, one by one."""
    found = np.zeros((height, width), bool)
    left, top, right, bottom = box
    for y in range(height):
        for x in range(width):
            inside = left <= x <= right and top <= y <= bottom
            deep = min(x - left, right - x, y - top, bottom - y)
            found[y, x] = inside and deep < line
    return found


@pytest.mark.parametrize("line", [1, 2, 5])
@pytest.mark.parametrize(
    "box",
    [
        (3, 4, 10, 9),
        (0, 0, 15, 11),
        (-4, -3, 6, 5),
        (9, 8, 40, 30),
        (5, 5, 5, 5),
        (2, 7, 13, 7),
        (30, 30, 40, 40),
        (-9, -9, -3, -3),
        (2.4, 3.6, 7.5, 8.4),
    ],
)
def test_lines_lie_inside(rng, box, line):
    image = rng.integers(0, 200, (12, 16, 3), dtype=np.uint8)
    kept = image.copy()
    found = mx.image.draw_boxes(image, [box], colors=[RED], width=line)
    assert found.dtype == np.uint8 and (image == kept).all()
    wanted = image.copy()
    wanted[frame(12, 16, [round(v) for v in box], line)] = RED
    np.testing.assert_array_equal(found.asnumpy(), wanted)


def test_later_boxes_cover_and_colors_go_round():
    image = mx.nd.zeros((40, 40, 3), dtype="uint8")
    found = mx.image.draw_boxes(
        image, mx.nd.array([[2, 2, 9, 9], [2, 2, 9, 5]]), colors=[RED, BLUE], width=1
    ).asnumpy()
    assert tuple(found[2, 4]) == BLUE and tuple(found[9, 4]) == RED
    boxes = [[i * 4, 0, i * 4 + 2, 2] for i in range(9)]
    found = mx.image.draw_boxes(image, boxes, width=1).asnumpy()
    of = [tuple(found[0, i * 4]) for i in range(9)]
    assert len(set(of)) == 8 and of[8] == of[0] and (0, 0, 0) not in of
    same = mx.image.draw_boxes(image, np.zeros((0, 4)))
    assert (same == image).asnumpy().all() and same is not image
    assert (mx.image.draw_boxes(image, []) == image).asnumpy().all()


def test_words():
    pytest.importorskip("cv2")
    image = np.full((60, 80, 3), 90, np.uint8)
    boxes = [[10, 30, 60, 50], [10, 0, 60, 20]]
    plain = mx.image.draw_boxes(image, boxes, colors=[RED, RED]).asnumpy()
    found = mx.image.draw_boxes(image, boxes, ["cat", "dog"], [RED, RED]).asnumpy()
    changed = (found != plain).any(axis=2)
    rows = np.flatnonzero(changed.any(axis=1))
    assert rows.min() < 15 and rows[rows > 20].min() > 15 and rows.max() < 30  # above, and within
    assert (found[changed] > 200).all(axis=1).any()  # white on red
    again = mx.image.draw_boxes(image, boxes, ["dog", "dog"]).asnumpy()
    assert tuple(again[50, 30]) == tuple(again[20, 30])  # one label, one color
    apart = mx.image.draw_boxes(image, boxes, ["cat", "dog"]).asnumpy()
    assert tuple(apart[50, 30]) != tuple(apart[20, 30])
    assert (mx.image.draw_boxes(image, boxes, ["", ""], [RED, RED]).asnumpy() == plain).all()


WRONG = [
    (
        ArgumentError,
        "3 channels of uint8, got (4, 4, 3) of float32",
        {"image": mx.nd.ones((4, 4, 3))},
    ),
    (ArgumentError, "3 channels of uint8", {"image": np.zeros((4, 4, 1), np.uint8)}),
    (ShapeError, "has the shape (H, W, C)", {"image": np.zeros((4, 4), np.uint8)}),
    (ArgumentTypeError, "an image is an NDArray", {"image": "cat.jpg"}),
    (ShapeError, "boxes have the shape (boxes, 4)", {"boxes": [[1, 2, 3]]}),
    (ShapeError, "got (4,)", {"boxes": [1, 2, 3, 4]}),
    (ArgumentError, "box 1, [3.0, 0.0, 1.0, 2.0], is not", {"boxes": [[0, 0, 1, 1], [3, 0, 1, 2]]}),
    (ArgumentError, "box 0", {"boxes": [[0, 0, float("nan"), 1]]}),
    (ArgumentTypeError, "boxes are numbers", {"boxes": [["a", 0, 1, 1]]}),
    (ArgumentError, "2 labels for 1 boxes", {"labels": ["a", "b"]}),
    (ArgumentError, "0 colors for 1 boxes", {"colors": []}),
    (ArgumentTypeError, "labels are str, got 7", {"labels": [7]}),
    (ArgumentError, "a color is (red, green, blue)", {"colors": ["red"]}),
    (ArgumentError, "0 to 255 each, got (0, 0, 256)", {"colors": [(0, 0, 256)]}),
    (ArgumentError, "width", {"width": 0}),
]


@pytest.mark.parametrize(("kind", "told", "settings"), WRONG)
def test_what_is_refused(kind, told, settings):
    given = {"image": np.zeros((4, 4, 3), np.uint8), "boxes": [[0, 0, 2, 2]], **settings}
    with pytest.raises(kind, match=re.escape(told)):
        mx.image.draw_boxes(**given)
