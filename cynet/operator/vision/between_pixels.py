"""Bilinear sampling in terms of other operators: indices are computed from values, the weights are
differentiated."""

import numpy as np


def sample_bilinear(F, data, y, x, holds=False):
    """Sample data (N, C, H, W) at the points y, x, both (N, points): returns (N, C, points).

    Pixels outside are zeros; `holds`: the last pixel's value goes on to where the next would be,
    and points below 0 are zeros.
    """
    n, channels, *size = data.shape
    corners, parts, inside = [], [], True
    for at, length in zip((y, x), size):
        if holds:
            values = at.asnumpy()
            inside = inside & (values >= 0) & (values < length)
            at = F.minimum(at, length - 1)
        low = np.floor(at.asnumpy())
        near = np.clip(np.where(np.isfinite(low), low, -2), -2, length + 1)  # beyond: outside
        part = at - F.array(low, ctx=data.ctx, dtype=data.dtype)
        corners.append(near.astype(np.int64))
        parts.append((1 - part, part))
    planes = np.arange(n * channels).reshape(n, channels, 1) * (size[0] * size[1])
    rows = data.reshape((-1,))
    out = None
    for a in (0, 1):
        for b in (0, 1):
            row, column = corners[0] + a, corners[1] + b
            there = inside & (row >= 0) & (row < size[0]) & (column >= 0) & (column < size[1])
            flat = np.where(there, row * size[1] + column, 0)[:, None] + planes
            index = F.array(flat.reshape(-1), ctx=data.ctx, dtype="int64")
            values = F.take(rows, index, axis=0).reshape(flat.shape)
            mask = F.array(there.astype(data.dtype), ctx=data.ctx, dtype=data.dtype)
            weight = parts[0][a] * parts[1][b] * mask
            value = F.broadcast_mul(values, weight.expand_dims(1))
            out = value if out is None else out + value
    return out
