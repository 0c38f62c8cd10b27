"""Convolutions over any number of axes as sums over windows in NumPy, in float64."""

from itertools import product

import numpy as np


def windows(x, kernel, stride, dilate, pad):
    """(N, C, *out, *kernel): what each output sees of x (N, C, *size)."""
    n = len(kernel)
    x = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in pad)])
    spans = [d * (k - 1) + 1 for k, d in zip(kernel, dilate)]
    seen = np.lib.stride_tricks.sliding_window_view(x, spans, range(2, 2 + n))
    steps = [slice(None, None, s) for s in (*stride, *dilate)]
    return seen[(slice(None), slice(None), *steps)]


def convolution(x, w, stride, dilate, pad, groups):
    """(N, F, *out) of x (N, C, *size) and w (F, C / groups, *kernel)."""
    seen = windows(x, w.shape[2:], stride, dilate, pad)
    n, c, *out = seen.shape[: x.ndim]
    taps = int(np.prod(w.shape[2:]))
    seen = seen.reshape(n, groups, c // groups, -1, taps)
    w = w.reshape(groups, -1, c // groups, taps)
    return np.einsum("ngcpk,gfck->ngfp", seen, w, optimize=True).reshape(n, -1, *out)


def data_gradient(dy, w, shape, stride, dilate, pad, groups):
    """The gradient of x of `shape`: each output's, spread over its window."""
    batch, channels, *size = shape
    total = np.zeros((batch, channels, *(n + 2 * p for n, p in zip(size, pad))))
    grad = dy.reshape(batch, groups, -1, *dy.shape[2:])
    for tap in product(*map(range, w.shape[2:])):
        part = w[(..., *tap)].reshape(groups, -1, channels // groups)
        part = np.einsum("ngf...,gfc->ngc...", grad, part).reshape(batch, channels, *dy.shape[2:])
        at = [
            slice(t * d, t * d + s * n, s) for t, d, s, n in zip(tap, dilate, stride, dy.shape[2:])
        ]
        total[(slice(None), slice(None), *at)] += part
    return total[(..., *(slice(p, p + n) for p, n in zip(pad, size)))]


def weight_gradient(x, dy, shape, stride, dilate, pad, groups):
    """The gradient of w of `shape`."""
    seen = windows(x, shape[2:], stride, dilate, pad)
    seen = seen.reshape(len(x), groups, x.shape[1] // groups, -1, int(np.prod(shape[2:])))
    dy = dy.reshape(len(x), groups, -1, seen.shape[3])
    return np.einsum("ngcpk,ngfp->gfck", seen, dy, optimize=True).reshape(shape)
