"""GridSample beside ONNX Runtime, whose values are PyTorch's: modes, paddings, corners, points
inside, on the edge and far outside."""

from itertools import product

import numpy as np
import pytest

from tests.onnx.test_import_values import agree

MODES = {16: ("bilinear", "nearest", "bicubic"), 20: ("linear", "nearest", "cubic")}
CORNERS = [-1, 1, 0, -1.25, 1.25, -0.999, 1.001, -3.7, 3.7, 40]


def points(rng, batch, places, n):
    """At random from -1.6 to 1.6, and at every corner."""
    grid = rng.uniform(-1.6, 1.6, (batch, *places, n)).astype("float32")
    corners = np.array(list(product(CORNERS, repeat=n)), "float32")
    flat = grid.reshape(-1, n)
    flat[: len(corners)] = corners[: len(flat)]
    return grid


@pytest.mark.parametrize("corners", [0, 1])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize(("opset", "mode"), [(o, m) for o, modes in MODES.items() for m in modes])
def test_images(opset, mode, padding, corners, rng, tmp_path):
    for shape in ((2, 2, 4, 5), (1, 1, 1, 5), (1, 3, 6, 1)):
        data = rng.normal(size=shape).astype("float32")
        agree(
            tmp_path / "m.onnx",
            "GridSample",
            [data, points(rng, shape[0], (11, 12), 2)],
            opset=opset,
            mode=mode,
            padding_mode=padding,
            align_corners=corners,
        )


@pytest.mark.parametrize("corners", [0, 1])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["linear", "nearest"])
def test_volumes(mode, padding, corners, rng, tmp_path):
    data = rng.normal(size=(1, 2, 3, 4, 5)).astype("float32")
    agree(
        tmp_path / "m.onnx",
        "GridSample",
        [data, points(rng, 1, (11, 10, 10), 3)],
        opset=20,
        mode=mode,
        padding_mode=padding,
        align_corners=corners,
    )
