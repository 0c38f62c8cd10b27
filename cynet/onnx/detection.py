"""Exporters of operators on boxes and regions."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ..operator.detection.box_coding import BoxDecodeProperty
from ..operator.detection.box_nms import BoxNmsProperty
from ..operator.detection.multibox_prior import MultiBoxPriorProperty
from ..operator.vision.bilinear_resize import BilinearResize2DProperty
from ..operator.vision.roi_align import ROIAlignProperty
from ..operator.vision.roi_pooling import ROIPoolingProperty
from .graph import exports

if TYPE_CHECKING:
    from collections.abc import Callable

    from .graph import Graph, OpNode


def _split_columns(g: Graph, value: str, *ends: int) -> list[str]:
    """Split the last axis at the indices `ends`."""
    return [g.emit_slice(value, -1, a, b) for a, b in pairwise(ends)]


def _centers_to_corners(g: Graph, number: Callable[[Any], str], boxes: str) -> str:
    """Convert boxes from centers and sizes to corners."""
    middle, size = _split_columns(g, boxes, 0, 2, 4)
    half = g.emit("Mul", [size, number(0.5)])
    return g.emit("Concat", [g.emit("Sub", [middle, half]), g.emit("Add", [middle, half])], axis=-1)


def _corners_to_centers(g: Graph, number: Callable[[Any], str], boxes: str) -> str:
    """Convert boxes from corners to centers and sizes."""
    low, high = _split_columns(g, boxes, 0, 2, 4)
    middle = g.emit("Mul", [g.emit("Add", [low, high]), number(0.5)])
    return g.emit("Concat", [middle, g.emit("Sub", [high, low])], axis=-1)


@exports(BoxDecodeProperty)
def box_decode(g: Graph, c: OpNode) -> str:
    p = c.prop
    number = partial(g.constant, dtype=c.dtypes[0])
    codes, anchors = c.inputs
    if p.format == "corner":
        anchors = _corners_to_centers(g, number, anchors)
    middle, size = _split_columns(g, anchors, 0, 2, 4)
    at, scale = _split_columns(g, codes, 0, 2, 4)
    at = g.emit("Mul", [at, number([p.std0, p.std1])])
    scale = g.emit("Mul", [scale, number([p.std2, p.std3])])
    if p.clip > 0:
        scale = g.emit("Min", [scale, number(p.clip)])
    at = g.emit("Add", [g.emit("Mul", [at, size]), middle])
    size = g.emit("Mul", [g.emit("Exp", [scale]), size])
    return _centers_to_corners(g, number, g.emit("Concat", [at, size], axis=-1))


@exports(BoxNmsProperty)
def box_nms(g: Graph, c: OpNode) -> str:
    """Write TopK of the rows, NonMaxSuppression of each class, and select the rows that remain."""
    p, shape, dtype = c.prop, c.shapes[0], c.dtypes[0]
    n, width = shape[-2:]
    if p.topk == 0:
        return c.inputs[0]
    if dtype != "float32" or not 0 <= p.overlap_thresh <= 1:
        c.refuse(f"overlap_thresh={p.overlap_thresh} of {dtype}; 0 to 1 of float32 can be written")
    count = min(p.topk, n) if p.topk > 0 else n
    number = partial(g.constant, dtype=dtype)
    data = g.reshape(c.inputs[0], (-1, n, width)) if len(shape) != 3 else c.inputs[0]
    scores = g.squeeze(g.emit_slice(data, 2, p.score_index, p.score_index + 1), 2)
    if p.id_index >= 0:
        ids = g.squeeze(g.emit_slice(data, 2, p.id_index, p.id_index + 1), 2)
        back = g.emit("Equal", [ids, number(p.background_id)])
        scores = g.emit("Where", [back, number(-np.inf), scores])
    scores, index = g.emit_several("TopK", [scores, g.ints(count)], 2, axis=1)
    rows = g.emit("GatherND", [data, g.unsqueeze(index, 2)], batch_dims=1)
    boxes = g.emit_slice(rows, 2, p.coord_start, p.coord_start + 4)
    corners = _centers_to_corners(g, number, boxes) if p.in_format == "center" else boxes
    kinds: str | None = None
    if p.id_index >= 0 and not p.force_suppress:
        kinds = g.squeeze(g.emit_slice(rows, 2, p.id_index, p.id_index + 1), 2)
    keep = _nms_keep_mask(
        g, number, corners, scores, kinds, count, p.overlap_thresh, p.valid_thresh
    )
    if p.in_format != p.out_format:
        made = corners if p.out_format == "corner" else _corners_to_centers(g, number, boxes)
        parts = [g.emit_slice(rows, 2, 0, p.coord_start)] if p.coord_start else []
        parts.append(made)
        if p.coord_start + 4 < width:
            parts.append(g.emit_slice(rows, 2, p.coord_start + 4, width))
        rows = g.emit("Concat", parts, axis=2)
    made = _pack_rows(g, number, rows, keep, count)
    if count < n:
        made = g.emit("Pad", [made, g.ints(0, 0, 0, 0, n - count, 0), number(-1)])
    return g.reshape(made, shape) if len(shape) != 3 else made


def _nms_keep_mask(
    g: Graph,
    number: Callable[[Any], str],
    corners: str,
    scores: str,
    kinds: str | None,
    count: int,
    overlap: float,
    least: float,
) -> str:
    """Write a mask (batch, count): 1 for rows that no better row of their class overlaps."""
    low, high = _split_columns(g, corners, 0, 2, 4)  # ONNX accepts boxes with swapped corners
    boxes = g.emit("Concat", [low, g.emit("Max", [low, high])], axis=-1)
    if kinds is None:
        by_class = g.unsqueeze(scores, 1)
    else:  # (batch, classes, count): no score for rows of another class
        first = g.emit("ReduceMin", [kinds], keepdims=0)
        last = g.emit("ReduceMax", [kinds], keepdims=0)
        end = g.emit("Add", [last, number(1)])
        classes = g.emit("Range", [first, end, number(1)])
        same = g.emit("Equal", [g.unsqueeze(kinds, 1), g.unsqueeze(classes, 0, 2)])
        by_class = g.emit("Where", [same, g.unsqueeze(scores, 1), number(-np.inf)])
    chosen = g.emit(
        "NonMaxSuppression", [boxes, by_class, g.ints(count), number([overlap]), number([least])]
    )
    indices = g.emit("Gather", [chosen, g.ints(0, 2)], axis=1)
    zeros = g.emit("Expand", [number([[0.0]]), g.emit("Shape", [scores])])
    found = g.emit("Expand", [number([1.0]), _write_row_count(g, chosen)])
    return g.emit("ScatterND", [zeros, indices, found])


def _write_row_count(g: Graph, value: str) -> str:
    """Write the number of rows of a value, as a shape of one axis."""
    return g.emit_slice(g.emit("Shape", [value]), 0, 0, 1)


def _pack_rows(g: Graph, number: Callable[[Any], str], rows: str, keep: str, count: int) -> str:
    """Move the selected rows to the front, and fill the other rows with -1."""
    order = g.constant(np.arange(count, 0, -1, dtype="float32")[None])
    key = g.emit("Mul", [keep, order])
    key, index = g.emit_several("TopK", [key, g.ints(count)], 2, axis=1)
    rows = g.emit("GatherND", [rows, g.unsqueeze(index, 2)], batch_dims=1)
    there = g.unsqueeze(g.emit("Greater", [key, number(0)]), 2)
    return g.emit("Where", [there, rows, number(-1)])


@exports(MultiBoxPriorProperty)
def multibox_prior(g: Graph, c: OpNode) -> str:
    """Write anchors as a constant: they depend on the shape alone."""
    from ..ndarray import zeros
    from ..ndarray._internal import _contrib_MultiBoxPrior

    p = c.prop
    made = _contrib_MultiBoxPrior(
        zeros(c.shapes[0], dtype=c.dtypes[0]),
        sizes=p.sizes,
        ratios=p.ratios,
        clip=p.clip,
        steps=p.steps,
        offsets=p.offsets,
    )
    return g.constant(made.asnumpy())


def _split_rois(g: Graph, rois: str) -> tuple[str, str]:
    """Split regions into image indices and corners."""
    index, boxes = _split_columns(g, rois, 0, 1, 5)
    return g.cast(g.squeeze(index, 1), "int64"), boxes


@exports(ROIAlignProperty)
def roi_align(g: Graph, c: OpNode) -> str:
    p = c.prop
    if p.position_sensitive:
        c.refuse("position_sensitive=True")
    if p.aligned:
        c.refuse("aligned=True; ONNX has it from opset 16 on")
    index, boxes = _split_rois(g, c.inputs[1])
    zero = g.constant(np.array(0, "int64"))
    made = g.emit(
        "RoiAlign",
        [c.inputs[0], boxes, g.emit("Max", [index, zero])],
        mode="avg",
        output_height=p.pooled_size[0],
        output_width=p.pooled_size[1],
        sampling_ratio=max(p.sample_ratio, 0),
        spatial_scale=p.spatial_scale,
    )
    none = g.unsqueeze(g.emit("Less", [index, zero]), 1, 2, 3)  # no image: zeros
    return g.emit("Where", [none, g.constant(np.array(0, c.dtypes[0])), made])


@exports(ROIPoolingProperty)
def roi_pooling(g: Graph, c: OpNode) -> str:
    p = c.prop
    return g.emit(
        "MaxRoiPool", c.inputs, pooled_shape=list(p.pooled_size), spatial_scale=p.spatial_scale
    )


@exports(BilinearResize2DProperty)
def bilinear_resize(g: Graph, c: OpNode) -> str:
    p = c.prop
    sizes = g.ints(*c.out_shapes[0])
    how = "align_corners" if p.align_corners else "half_pixel"
    return g.emit(
        "Resize", [c.inputs[0], "", "", sizes], mode="linear", coordinate_transformation_mode=how
    )
