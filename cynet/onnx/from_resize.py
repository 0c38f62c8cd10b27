"""Importer of Resize: along each axis by `take` or by a weight matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import symbol as sym
from .importers import imports

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..symbol import Symbol
    from ..typing import Shape
    from .importers import Node, Reader


@imports("Resize", "Upsample")
def resize(reader: Reader, node: Node) -> Symbol:
    """Import Resize: axes are resized one after another, since the definition is separable."""
    old = node.kind == "Upsample" or node.opset < 11
    shape = node.known_shape(0)
    rank = len(shape)
    data = node.symbol(0)
    mode = node.choice("mode", "nearest", "linear", "cubic", "bilinear")
    if mode == "bilinear":  # Upsample of opset 1
        node.refuse("mode=bilinear")
    if old:
        scales = node.constant(1, node.get("scales"))
        scales = None if scales is None else np.asarray(scales)
        sizes, axes, roi, how = None, list(range(rank)), None, "asymmetric"
        rounding = "floor"
    else:
        scales, sizes, roi = node.constant(2), node.constant(3), node.constant(1)
        axes = [a % rank for a in node.get("axes", range(rank))]
        how = node.choice(
            "coordinate_transformation_mode",
            "half_pixel",
            "half_pixel_symmetric",
            "pytorch_half_pixel",
            "align_corners",
            "asymmetric",
            "tf_crop_and_resize",
            "tf_half_pixel_for_nn",
        )
        rounding = node.choice(
            "nearest_mode", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"
        )
    scales, lengths = _target_sizes(node, shape, axes, scales, sizes)
    kernel = {
        "how": how,
        "rounding": rounding,
        "mode": mode,
        "a": node.get("cubic_coeff_a", -0.75),
        "outside": node.get("exclude_outside", 0),
        "smooth": node.get("antialias", 0),
        "fill": node.get("extrapolation_value", 0.0),
    }
    region = _crop_region(node, roi, len(axes)) if how == "tf_crop_and_resize" else None
    if how != "tf_crop_and_resize":
        node.mark_unused(1)
    whole = all(s == int(s) for s in scales)
    if (
        rank == 4
        and mode == "nearest"
        and how == "asymmetric"
        and rounding == "floor"
        and whole
        and axes == list(range(4))
        and scales[:2] == [1, 1]
        and scales[2] == scales[3]
        and node.dtype(0) in ("float32", "float64")
    ):
        return sym.UpSampling(data, scale=int(scales[2]), sample_type="nearest")
    for i, axis in enumerate(axes):
        part = None if region is None else (region[i], region[len(axes) + i])
        if lengths[i] == shape[axis] and scales[i] == 1 and part is None:
            continue
        data = _resize_axis(
            reader, node, data, axis, rank, shape[axis], lengths[i], scales[i], part, kernel
        )
    return sym.identity(data)


def _target_sizes(
    node: Node, shape: Shape, axes: Sequence[int], scales: Any, sizes: Any
) -> tuple[list[float], list[int]]:
    """Return the scale and the new length of each axis that is resized."""
    if sizes is not None and sizes.size:
        policy = node.choice("keep_aspect_ratio_policy", "stretch", "not_larger", "not_smaller")
        sizes = [int(v) for v in sizes]
        scales = [y / shape[a] for y, a in zip(sizes, axes)]
        if policy != "stretch":
            scale = min(scales) if policy == "not_larger" else max(scales)
            scales = [scale] * len(axes)
            sizes = [int(np.floor(scale * shape[a] + 0.5)) for a in axes]
        if len(sizes) == len(axes):
            return scales, sizes
    elif scales is not None and scales.size == len(axes):
        node.choice("keep_aspect_ratio_policy", "stretch")
        scales = [float(np.float32(v)) for v in np.ravel(scales)]
        how = node.get("coordinate_transformation_mode", "half_pixel")
        if how in ("align_corners", "pytorch_half_pixel", "half_pixel_symmetric"):
            for a, s in zip(axes, scales):  # runtimes disagree: is the length 2.4 or 2?
                if s != 1 and not (shape[a] * s).is_integer():
                    node.refuse(f"{how} with a scale of {s} of a length of {shape[a]}")
        return scales, [
            int(np.floor(np.float32(shape[a]) * np.float32(s))) for a, s in zip(axes, scales)
        ]
    return node.refuse(f"scales={scales}, sizes={sizes} for the axes {axes}")


def _crop_region(node: Node, roi: Any, count: int) -> list[float]:
    """Return begin and end of the resized region of each axis."""
    if roi is None or roi.size != 2 * count:
        node.refuse("tf_crop_and_resize without a constant roi of all axes")
    return [float(v) for v in np.ravel(roi)]


def _source_coordinates(how: str, length: int, new_length: int, scale: Any, part: Any) -> Any:
    """Return the position of each new element on the old axis, as precise as in other runtimes."""
    x, scale = np.arange(new_length, dtype=np.float32), np.float32(scale)
    if how == "half_pixel":
        return (x + 0.5) / scale - 0.5
    if how == "half_pixel_symmetric":
        adjustment = new_length / (scale * length)
        return length / 2 * (1 - adjustment) + (x + 0.5) / scale - 0.5
    if how == "pytorch_half_pixel":
        return (x + 0.5) / scale - 0.5 if new_length > 1 else np.zeros(new_length)
    if how == "align_corners":
        return x * (length - 1) / (new_length - 1) if new_length > 1 else np.zeros(new_length)
    if how == "asymmetric":
        return x / scale
    if how == "tf_half_pixel_for_nn":
        return (x + 0.5) / scale
    begin, end = map(np.float32, part)
    if new_length > 1:
        return begin * (length - 1) + x * (end - begin) * (length - 1) / (new_length - 1)
    return np.full(new_length, 0.5 * (begin + end) * (length - 1))


def _round_nearest(position: Any, rounding: str) -> Any:
    if rounding == "round_prefer_floor":
        return np.ceil(position - 0.5)
    if rounding == "round_prefer_ceil":
        return np.floor(position + 0.5)
    return np.floor(position) if rounding == "floor" else np.ceil(position)


def _cubic_weights(distance: Any, a: float) -> Any:
    x = np.abs(distance)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0.0))


def _weight_matrix(positions: Any, length: int, scale: float, kernel: dict[str, Any]) -> Any:
    """Return a matrix of weights over the old axis, one row for each new element."""
    stretch = min(scale, 1.0) if kernel["smooth"] else 1.0
    reach = (1 if kernel["mode"] == "linear" else 2) / stretch
    made = np.zeros((len(positions), length))
    for row, x in enumerate(positions):
        taps = np.arange(int(np.floor(x - reach)) + 1, int(np.ceil(x + reach)))
        if not kernel["smooth"]:
            taps = np.arange(int(np.floor(x)) + 1 - int(reach), int(np.floor(x)) + 1 + int(reach))
        distance = (taps - x) * stretch
        weights = (
            np.maximum(0, 1 - np.abs(distance))
            if kernel["mode"] == "linear"
            else _cubic_weights(distance, kernel["a"])
        )
        if kernel["outside"]:
            weights = np.where((taps >= 0) & (taps < length), weights, 0)
        if kernel["outside"] or kernel["smooth"]:
            weights = weights / weights.sum()
        np.add.at(made[row], np.clip(taps, 0, length - 1), weights)
    return made


def _resize_axis(
    reader: Reader,
    node: Node,
    data: Symbol,
    axis: int,
    rank: int,
    length: int,
    made: int,
    scale: float,
    part: tuple[float, float] | None,
    kernel: dict[str, Any],
) -> Symbol:
    """Resize one axis of the data."""
    at = _source_coordinates(kernel["how"], length, made, scale, part)
    beyond = (at < 0) | (at > length - 1) if part is not None else np.zeros(made, bool)
    name, dtype = f"{node.name}_axis{axis}", node.dtype(0)
    if kernel["mode"] == "nearest":
        index = np.clip(_round_nearest(at, kernel["rounding"]), 0, length - 1).astype("int64")
        found = sym.take(data, reader.frozen_var(name, index), axis=axis)
    else:
        if dtype not in ("float32", "float64"):
            node.refuse(f"mode={kernel['mode']} of {dtype}")
        weights = _weight_matrix(at, length, scale, kernel).astype(dtype)
        order = [*(i for i in range(rank) if i != axis), axis]
        found = sym.transpose(data, axes=tuple(order)) if axis != rank - 1 else data
        found = sym.expand_dims(found, axis=0) if rank == 1 else found
        found = sym.FullyConnected(
            found, reader.frozen_var(name, weights), num_hidden=made, no_bias=True, flatten=False
        )
        found = sym.squeeze(found, axis=0) if rank == 1 else found
        if axis != rank - 1:
            found = sym.transpose(found, axes=tuple(int(i) for i in np.argsort(order)))
    if beyond.any():
        mask = reader.frozen_var(
            f"{name}_inside",
            (~beyond).astype(dtype).reshape([-1 if i == axis else 1 for i in range(rank)]),
        )
        found = sym.broadcast_mul(found, mask)
        if kernel["fill"]:
            found = sym.broadcast_add(found, (1 - mask) * kernel["fill"])
    return found
