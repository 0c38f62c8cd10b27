"""Cases of Pooling_v1; MXNet's values of it: tests/operator/test_against_mxnet.py."""

import numpy as np

from .case import Case, Input, apart


def pooled(x, kernel=(), pool_type="max", global_pool=False, stride=(1, 1), pad=(0, 0), **params):
    """Windows of data with zeros around them, each cut out."""
    kernel = x.shape[2:] if global_pool else kernel
    x = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in pad)])
    rest = [n - k for n, k in zip(x.shape[2:], kernel)]
    full = params.get("pooling_convention") == "full"
    out = [(-(-r // s) if full else r // s) + 1 for r, s in zip(rest, stride)]
    y = np.zeros((*x.shape[:2], *out))
    for i, j in np.ndindex(*out):
        top, left = i * stride[0], j * stride[1]
        window = x[:, :, top : top + kernel[0], left : left + kernel[1]]
        y[:, :, i, j] = window.max((2, 3)) if pool_type == "max" else window.sum((2, 3))
    return y / np.prod(kernel) if pool_type == "avg" else y


def case(shape, **params):
    return Case("Pooling_v1", [Input(shape, apart)], pooled, params)


CASES = [
    case((2, 3, 5, 4), kernel=(2, 3), stride=(2, 1), pad=(1, 1)),
    case((2, 3, 5, 4), kernel=(3, 3), stride=(3, 2), pooling_convention="full"),
    case((2, 3, 5, 4), kernel=(2, 2), pad=(3, 2), pool_type="avg"),
    case((2, 3, 5, 4), kernel=(2, 2), stride=(2, 3), pool_type="sum", pooling_convention="full"),
    case((2, 3, 5, 4), global_pool=True),
    case((2, 3, 5, 4), global_pool=True, pool_type="avg"),
]
