"""Importers of RoiAlign and GridSample."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from .. import symbol as sym
from .from_elementwise import round_half_to_even
from .importers import imports

if TYPE_CHECKING:
    from ..symbol import Symbol
    from .importers import Node, Reader

_CUBIC_COEFFICIENT = -0.75  # ONNX's for mode=cubic


@imports("RoiAlign")
def roi_align(reader: Reader, node: Node) -> Symbol:
    if node.choice("mode", "avg", "max") == "max":
        node.refuse("mode=max")
    how = node.choice(
        "coordinate_transformation_mode",
        *(("half_pixel", "output_half_pixel") if node.opset >= 16 else ("output_half_pixel",)),
    )
    rois = sym.Concat(
        sym.expand_dims(sym.Cast(node.symbol(2), dtype=node.dtype(1)), axis=1),
        node.symbol(1),
        dim=1,
    )
    ratio = node.get("sampling_ratio", 0)
    return sym.contrib.ROIAlign(
        node.symbol(0),
        rois,
        pooled_size=(node.get("output_height", 1), node.get("output_width", 1)),
        spatial_scale=node.get("spatial_scale", 1.0),
        sample_ratio=ratio or -1,
        aligned=how == "half_pixel",
    )


@imports("GridSample")
def grid_sample(reader: Reader, node: Node) -> Symbol:
    """Import GridSample: a weighted sum of pixels around each grid point, by flat indices."""
    mode = node.choice(
        "mode",
        *(
            ("linear", "nearest", "cubic")
            if node.opset >= 20
            else ("bilinear", "nearest", "bicubic")
        ),
    )
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)
    padding = node.choice("padding_mode", "zeros", "border", "reflection")
    corners = bool(node.get("align_corners", 0))
    shape, points, dtype = node.known_shape(0), node.known_shape(1), node.dtype(0)
    n = len(shape) - 2
    if dtype not in ("float32", "float64") or node.dtype(1) != dtype:
        node.refuse(f"of {dtype} at points of {node.dtype(1)}")
    if len(points) != n + 2 or points[-1] != n or (mode == "cubic" and n != 2):
        node.refuse(f"mode={mode} of the shapes {shape} and {points}")
    sizes, count = shape[2:], math.prod(points[1:-1])
    order = (0, *range(2, n + 2), 1)
    flat = sym.reshape(sym.transpose(node.symbol(0), axes=order), shape=(-1, shape[1]))
    grid = sym.reshape(node.symbol(1), shape=(shape[0], count, n))
    bounds = [(0.0, x - 1.0) if corners else (-0.5, x - 0.5) for x in sizes]
    at = [
        _grid_to_pixels(grid, n - 1 - k, size, corners, mode, padding, bounds[k])
        for k, size in enumerate(sizes)
    ]
    taps = {"nearest": (0,), "linear": (0, 1), "cubic": (-1, 0, 1, 2)}[mode]
    begin = reader.frozen_var(f"{node.name}_begin", np.arange(shape[0])[:, None] * math.prod(sizes))
    total = None
    for offsets in product(taps, repeat=n):
        place, weight = begin, None
        for k, (offset, size) in enumerate(zip(offsets, sizes)):
            pixel = sym.floor(at[k]) + offset
            part = None if mode == "nearest" else _interpolation_weight(at[k] - pixel, mode)
            inside = (pixel >= 0) * (pixel <= size - 1)
            if padding == "zeros":
                part = inside if part is None else part * inside
            elif padding == "reflection":
                pixel = _reflect_coordinates(pixel, *bounds[k])
            pixel = sym.Cast(sym.clip(pixel, a_min=0, a_max=size - 1), dtype="int64")
            place = sym.broadcast_add(place, pixel * math.prod(sizes[k + 1 :]))
            weight = part if weight is None else weight if part is None else weight * part
        value = sym.take(flat, place, axis=0)
        if weight is not None:
            value = sym.broadcast_mul(value, sym.expand_dims(weight, axis=2))
        total = value if total is None else total + value
    made = sym.transpose(total, axes=(0, 2, 1))
    return sym.reshape(made, shape=(*shape[:2], *points[1:-1]))


def _grid_to_pixels(
    grid: Symbol,
    k: int,
    size: int,
    corners: bool,
    mode: str,
    padding: str,
    bounds: tuple[float, float],
) -> Symbol:
    """Convert coordinates from -1 to 1 to pixels. At a border the pixels around a point are
    clamped; so is the point itself if that makes no difference: not for mode=cubic."""
    x = sym.squeeze(sym.slice_axis(grid, axis=2, begin=k, end=k + 1), axis=2)
    x = (x + 1) * ((size - 1) / 2) if corners else ((x + 1) * size - 1) * 0.5
    x = round_half_to_even(x) if mode == "nearest" else x
    if padding == "border" and mode != "cubic":
        return sym.clip(x, a_min=0, a_max=size - 1)
    return _reflect_coordinates(x, *bounds) if padding == "reflection" else x


def _reflect_coordinates(x: Symbol, low: float, high: float) -> Symbol:
    """Reflect x at both bounds until it lies between them."""
    reach = high - low
    if reach == 0:
        return sym.zeros_like(x)
    turn = sym._internal._mod_scalar(x - low, scalar=2 * reach)
    inside = (x >= low) * (x <= high)
    return sym.where(inside, x, (low + reach) - sym.abs(turn - reach))


def _interpolation_weight(distance: Symbol, mode: str) -> Symbol:
    size = sym.abs(distance)
    if mode == "linear":
        return 1 - size
    a = _CUBIC_COEFFICIENT
    near = ((a + 2) * size - (a + 3)) * size * size + 1
    far = ((a * size - 5 * a) * size + 8 * a) * size - 4 * a
    return sym.where(size <= 1, near, far)
