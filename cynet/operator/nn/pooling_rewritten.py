"""Max and lp pooling in terms of other operators, which gather the windows' elements."""

import numpy as np

from .spatial_window import channels_first_shape, is_channels_last


def _window_positions(p, size):
    """Row-major positions of the elements of each window; `prod(size)` for those outside of the
    data."""
    flat, inside = 0, True
    ndim = len(size)
    for axis, n in enumerate(size):
        n_out, kernel, stride, before, _ = p.geometry(axis, n)
        positions = np.arange(n_out)[:, None] * stride - before + np.arange(kernel)
        shape = [1] * (2 * ndim)
        shape[axis], shape[ndim + axis] = positions.shape
        positions = positions.reshape(shape)
        flat = flat * n + np.clip(positions, 0, n - 1)
        inside = inside & (positions >= 0) & (positions < n)
    flat = np.where(inside, flat, np.prod(size))
    return flat.reshape(np.prod(flat.shape[:ndim]), -1)


def pooling(p, F, x, aux, training):
    last = is_channels_last(p.layout)
    data = F.moveaxis(x[0], -1, 1) if last else x[0]
    size = data.shape[2:]
    windows = _window_positions(p, size)
    rows = data.reshape((data.shape[0] * data.shape[1], -1))
    if p.pool_type == "max":  # the largest element of each window, found by value
        values = rows.asnumpy()
        edge = np.full((len(values), 1), -np.inf, values.dtype)
        best = np.concatenate([values, edge], 1)[:, windows].argmax(-1)
        flat = (
            windows[np.arange(len(windows)), best]
            + np.arange(len(values))[:, None] * (rows.shape[1])
        )
        index = F.array(flat.reshape(-1), ctx=data.ctx, dtype="int64")
        out = F.take(rows.reshape((-1,)), index, axis=0)
    else:  # lp
        edge = F.zeros((rows.shape[0], 1), ctx=data.ctx, dtype=data.dtype)
        index = F.array(windows, ctx=data.ctx, dtype="int64")
        parts = F.take(F.concat(rows, edge, dim=1), index, axis=1)
        total = F.sum(parts**p.p_value, axis=-1)
        if p.p_value == 1:
            out = total
        else:  # 0 has the gradient 0
            none = total == 0
            root = {2: F.sqrt, 3: F.cbrt}[p.p_value](F.where(none, F.ones_like(total), total))
            out = F.where(none, total, root)
    (made,) = p.output_shapes([x[0].shape])
    out = out.reshape(channels_first_shape(made, p.layout))
    return [F.moveaxis(out, 1, -1) if last else out]


def pooling_v1(p, F, x, aux, training):
    """Max pooling with zeros around the data, as a sum over the elements that equal their window's
    maximum, so that each of them gets the gradient."""
    if p.global_pool:
        size, stride, (rows, columns) = x[0].shape[2:], (1, 1), (0, 0)
    else:
        size, (stride, (rows, columns)) = p.kernel, p.window
    data = F.Pad(x[0], mode="constant", pad_width=(0, 0, 0, 0, rows, rows, columns, columns))
    (made,) = p.output_shapes([x[0].shape])
    flat, inside = 0, True
    for axis, length in enumerate(data.shape[2:]):
        positions = np.arange(made[2 + axis])[:, None] * stride[axis] + np.arange(size[axis])
        shape = [1, 1, 1, 1]
        shape[axis], shape[2 + axis] = positions.shape
        positions = positions.reshape(shape)
        flat = flat * length + np.minimum(positions, length - 1)
        inside = inside & (positions < length)
    pixels = data.shape[2] * data.shape[3]
    windows = np.where(inside, flat, pixels).reshape(made[2] * made[3], -1)
    lines = data.reshape((-1, pixels))
    edge = F.full((lines.shape[0], 1), -np.inf, ctx=data.ctx, dtype=data.dtype)
    index = F.array(windows, ctx=data.ctx, dtype="int64")
    parts = F.take(F.concat(lines, edge, dim=1), index, axis=1)
    largest = F.broadcast_equal(parts, F.max(parts, axis=-1, keepdims=True))
    there = F.array(windows < pixels, ctx=data.ctx, dtype=data.dtype)
    largest = F.broadcast_mul(largest, there.expand_dims(0))
    chosen = F.where(largest, parts, F.zeros_like(parts))
    return [F.sum(chosen, axis=-1).reshape(made)]
