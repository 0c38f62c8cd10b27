"""Deformable convolution in terms of other operators, which its second order differentiates."""

import numpy as np

from .between_pixels import sample_bilinear


def compose_deformable(p, F, x):
    """Compute the outputs of property `p` for inputs `x`, as `OperatorProperty.compose_outputs`."""
    data, offset, *others = x
    mask = others.pop(0) if p.modulated else None
    n, channels, size = data.shape[0], data.shape[1], offset.shape[2:]
    taps, spread = p.kernel[0] * p.kernel[1], p.num_deformable_group
    each = channels // spread
    starts = []  # positions of the window's taps, (taps, *size)
    for axis, taps_of_axis in enumerate(np.indices(p.kernel).reshape(2, taps, 1, 1)):
        stride, dilate, pad = (values[axis] for values in p.window)
        starts.append(np.indices(size)[axis] * stride - pad + taps_of_axis * dilate)
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
        values = sample_bilinear(F, part, *at, holds=p.holds)
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
