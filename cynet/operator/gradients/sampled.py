"""Operators that read data between its pixels or choose rows of it, in terms of others: where they
read is computed from values, the weights are differentiated.

A function gets (p, F, x, aux, training) as those of ``rewritten.py`` do.
"""

import numpy as np


def _bilinear(F, data, y, x, holds=False):
    """data (N, C, H, W) at the pixels y, x, both (N, points), as (N, C, points).

    Pixels outside are zeros; `holds`: the last pixel's value goes on to where the next would be,
    and points below 0 are zeros.
    """
    n, channels, *size = data.shape
    places, parts, inside = [], [], True
    for at, length in zip((y, x), size):
        if holds:
            values = at.asnumpy()
            inside = inside & (values >= 0) & (values < length)
            at = F.minimum(at, length - 1)
        low = np.floor(at.asnumpy())
        near = np.clip(np.where(np.isfinite(low), low, -2), -2, length + 1)  # beyond: outside
        part = at - F.array(low, ctx=data.ctx, dtype=data.dtype)
        places.append(near.astype(np.int64))
        parts.append((1 - part, part))
    planes = np.arange(n * channels).reshape(n, channels, 1) * (size[0] * size[1])
    rows = data.reshape((-1,))
    out = None
    for a in (0, 1):
        for b in (0, 1):
            row, column = places[0] + a, places[1] + b
            there = inside & (row >= 0) & (row < size[0]) & (column >= 0) & (column < size[1])
            flat = np.where(there, row * size[1] + column, 0)[:, None] + planes
            index = F.array(flat.reshape(-1), ctx=data.ctx, dtype="int64")
            values = F.take(rows, index, axis=0).reshape(flat.shape)
            mask = F.array(there.astype(data.dtype), ctx=data.ctx, dtype=data.dtype)
            weight = parts[0][a] * parts[1][b] * mask
            value = F.broadcast_mul(values, weight.expand_dims(1))
            out = value if out is None else out + value
    return out


def _bilinear_sampler(p, F, x, aux, training):
    data, grid = x
    points = grid.reshape((grid.shape[0], 2, -1))
    column, row = (
        (F.slice_axis(points, axis=1, begin=i, end=i + 1).reshape((grid.shape[0], -1)) + 1)
        * ((data.shape[3 - i] - 1) / 2)
        for i in (0, 1)
    )
    out = _bilinear(F, data, row, column)
    return [out.reshape((*data.shape[:2], *grid.shape[2:]))]


def _spatial_transformer(p, F, x, aux, training):
    grid = F.GridGenerator(x[1], transform_type="affine", target_shape=p.target_shape)
    return _bilinear_sampler(p, F, [x[0], grid], aux, training)


def _deformable_convolution(p, F, x, aux, training):
    data, offset, *others = x
    mask = others.pop(0) if p.modulated else None
    n, channels, size = data.shape[0], data.shape[1], offset.shape[2:]
    taps, spread = p.kernel[0] * p.kernel[1], p.num_deformable_group
    each = channels // spread
    starts = []  # where the window's points look from, (taps, *size)
    for axis, places in enumerate(np.indices(p.kernel).reshape(2, taps, 1, 1)):
        stride, dilate, pad = (values[axis] for values in p.window)
        starts.append(np.indices(size)[axis] * stride - pad + places * dilate)
    columns = []
    for group in range(spread):
        shifts = F.slice_axis(offset, axis=1, begin=2 * taps * group, end=2 * taps * (group + 1))
        shifts = shifts.reshape((n, taps, 2, *size))
        at = [
            F.broadcast_add(
                F.slice_axis(shifts, axis=2, begin=i, end=i + 1).reshape((n, taps, *size)),
                F.array(starts[i][None], ctx=data.ctx, dtype=data.dtype),
            ).reshape((n, -1))
            for i in (0, 1)
        ]
        part = F.slice_axis(data, axis=1, begin=each * group, end=each * (group + 1))
        values = _bilinear(F, part, *at, holds=p.holds)
        if mask is not None:
            factors = F.slice_axis(mask, axis=1, begin=taps * group, end=taps * (group + 1))
            values = F.broadcast_mul(values, factors.reshape((n, 1, -1)))
        columns.append(values)
    columns = F.concat(*columns, dim=1).reshape((n, channels * taps, -1))
    outs, rows = [], channels // p.num_group * taps
    filters = p.num_filter // p.num_group
    for group in range(p.num_group):
        weight = F.slice_axis(others[0], axis=0, begin=filters * group, end=filters * (group + 1))
        part = F.slice_axis(columns, axis=1, begin=rows * group, end=rows * (group + 1))
        product = F.dot(weight.reshape((filters, rows)), F.transpose(part, axes=(1, 0, 2)))
        outs.append(F.transpose(product, axes=(1, 0, 2)))
    out = F.concat(*outs, dim=1).reshape((n, p.num_filter, *size))
    return [out if p.no_bias else F.broadcast_add(out, others[1].reshape((1, -1, 1, 1)))]


def _roi_pooling(p, F, x, aux, training):
    data, rois = x
    values, regions = data.asnumpy(), rois.asnumpy()
    out = np.zeros((len(regions), values.shape[1], *p.pooled_size), np.int64)
    found = np.zeros(out.shape, values.dtype)
    for r, region in enumerate(regions):
        if region[0] <= -1:
            continue
        planes = values[int(region[0])]
        corners = region[1:] * np.asarray(p.spatial_scale, values.dtype)
        corners = np.sign(corners) * np.floor(np.abs(corners) + 0.5)
        for i, j in np.ndindex(*p.pooled_size):
            bounds = []
            for axis, at in enumerate((i, j)):
                start, end, bins = corners[1 - axis], corners[3 - axis], p.pooled_size[axis]
                length = np.maximum(end - start + 1, 1) / bins
                ends = np.floor(at * length) + start, np.ceil((at + 1) * length) + start
                bounds.append(np.clip(ends, 0, values.shape[2 + axis]).astype(np.int64))
            (h0, h1), (w0, w1) = bounds
            if h0 >= h1 or w0 >= w1:
                continue
            best = planes[:, h0:h1, w0:w1].reshape(len(planes), -1).argmax(-1)
            row, column = h0 + best // (w1 - w0), w0 + best % (w1 - w0)
            plane = int(region[0]) * len(planes) + np.arange(len(planes))
            out[r, :, i, j] = (plane * values.shape[2] + row) * values.shape[3] + column
            found[r, :, i, j] = 1
    index = F.array(out.reshape(-1), ctx=data.ctx, dtype="int64")
    taken = F.take(data.reshape((-1,)), index, axis=0).reshape(out.shape)
    return [taken * F.array(found, ctx=data.ctx, dtype=data.dtype)]


def _box_nms(p, F, x, aux, training):
    data, record = x[0], aux[-1].asnumpy()
    width = data.shape[-1]
    record = record.reshape(-1, record.shape[-1])
    places = np.where(record >= 0, record, 0) + np.arange(len(record))[:, None] * record.shape[1]
    index = F.array(places.reshape(-1), ctx=data.ctx, dtype="int64")
    out = F.take(data.reshape((-1, width)), index, axis=0)
    if p.topk != 0 and p.in_format != p.out_format:
        step = np.eye(width)  # from a row to the row it becomes
        for low in (p.coord_start, p.coord_start + 1):
            ways = [[0.5, -1], [0.5, 1]] if p.out_format == "center" else [[1, 1], [-0.5, 0.5]]
            step[np.ix_((low, low + 2), (low, low + 2))] = ways
        out = F.dot(out, F.array(step, ctx=data.ctx, dtype=data.dtype))
    kept = F.array(record.reshape(-1, 1) >= 0, ctx=data.ctx, dtype=data.dtype)
    # rows that are left free hold -1
    return [(F.broadcast_mul(out + 1, kept) - 1).reshape(data.shape)]


SAMPLED = {
    "_contrib_box_nms": _box_nms,
    "BilinearSampler": _bilinear_sampler,
    "SpatialTransformer": _spatial_transformer,
    "ROIPooling": _roi_pooling,
    "_contrib_DeformableConvolution": _deformable_convolution,
    "_contrib_ModulatedDeformableConvolution": _deformable_convolution,
}
