"""Cases of convolutions and pooling in layouts with channels last.

The references are sums over windows in NumPy; MXNet 1.9.1 has no convolutions of such layouts on
the CPU, and its values of pooling are compared in tests/operator/test_against_mxnet.py.
"""

import numpy as np

from tests.operator.nn.convolution.reference import convolution, data_gradient, windows

from .case import Case, Input, apart


def first(x):
    """(N, *size, C) as (N, C, *size)."""
    return np.moveaxis(x, -1, 1)


def last(x):
    return np.moveaxis(x, 1, -1)


def window_of(kernel, params):
    """stride, dilate, pad."""
    plain = {"stride": 1, "dilate": 1, "pad": 0}
    return [params.get(name, (number,) * len(kernel)) for name, number in plain.items()]


def forward(x, w, *bias, kernel, num_group=1, **params):
    made = convolution(first(x), first(w), *window_of(kernel, params), num_group)
    return last(made) + (bias[0] if bias else 0)


def transposed(x, w, *bias, kernel, num_filter, num_group=1, adj=None, **params):
    stride, dilate, pad = window_of(kernel, params)
    axes = zip(x.shape[1:-1], kernel, stride, dilate, pad, adj or (0,) * len(kernel))
    size = [s * (n - 1) + d * (k - 1) + 1 - 2 * p + a for n, k, s, d, p, a in axes]
    shape = len(x), num_filter, *size
    made = data_gradient(first(x), first(w), shape, stride, dilate, pad, num_group)
    return last(made) + (bias[0] if bias else 0)


def pooled(x, kernel=(), pool_type="max", global_pool=False, p_value=2, **params):
    kernel = x.shape[1:-1] if global_pool else kernel
    stride, dilate, pad = window_of(kernel, params)
    lost = -np.inf if pool_type == "max" else 0
    edges = [(0, 0), (0, 0), *((p, p) for p in pad)]
    x = np.pad(first(x), edges, constant_values=lost)
    seen = windows(x, kernel, stride, dilate, (0,) * len(kernel))
    seen = seen.reshape(*seen.shape[: x.ndim], -1)
    if pool_type == "lp":
        return last((seen**p_value).sum(-1) ** (1 / p_value))
    return last({"max": np.max, "sum": np.sum, "avg": np.mean}[pool_type](seen, -1))


def conv(layout, size, kernel, channels, filters, **params):
    """A convolution, with a bias unless there is `no_bias`."""
    params = {"kernel": kernel, "num_filter": filters, "layout": layout, **params}
    weight = filters, *kernel, channels // params.get("num_group", 1)
    bias = [] if params.get("no_bias") else [(filters,)]
    return Case(
        "Convolution",
        [(2, *size, channels), weight, *bias],
        forward,
        params,
        infers=tuple(range(1, 2 + len(bias))),
    )


def deconv(layout, size, kernel, channels, filters, **params):
    params = {"kernel": kernel, "num_filter": filters, "layout": layout, **params}
    weight = channels, *kernel, filters // params.get("num_group", 1)
    bias = [(filters,)] if params.get("no_bias") is False else []
    return Case(
        "Deconvolution",
        [(2, *size, channels), weight, *bias],
        transposed,
        params,
        infers=tuple(range(1, 2 + len(bias))),
    )


def pool(layout, size, kind, domain=apart, **params):
    params = {"pool_type": kind, "layout": layout, **params}
    return Case("Pooling", [Input((2, *size, 3), domain)], pooled, params)


POSITIVE = (0.5, 1.5)
CASES = [
    conv("NWC", (7,), (3,), 4, 6, stride=(2,), pad=(1,), num_group=2),
    conv("NHWC", (5, 6), (3, 2), 4, 6, stride=(2, 1), pad=(1, 0), num_group=2),
    conv("NHWC", (6, 6), (3, 3), 3, 4, dilate=(2, 1), no_bias=True),
    conv("NHWC", (3, 4), (1, 1), 3, 5),
    conv("NHWC", (5, 4), (3, 4), 1, 3),  # one channel, windows as wide as the data
    conv("NDHWC", (3, 4, 3), (2, 2, 2), 2, 3, stride=(1, 2, 1), pad=(0, 1, 1)),
    deconv("NWC", (4,), (3,), 4, 6, stride=(2,), pad=(1,), num_group=2, no_bias=False),
    deconv("NHWC", (3, 4), (3, 2), 4, 6, stride=(2, 1), pad=(1, 0), adj=(1, 0), no_bias=False),
    deconv("NHWC", (3, 3), (2, 2), 3, 4, dilate=(2, 1)),
    deconv("NDHWC", (2, 3, 2), (2, 2, 2), 2, 3, stride=(1, 2, 1), num_group=1),
    pool("NWC", (7,), "max", kernel=(3,), stride=(2,), pad=(1,)),
    pool("NHWC", (5, 6), "max", kernel=(3, 2), stride=(2, 1), pad=(1, 1)),
    pool("NHWC", (5, 6), "avg", kernel=(3, 2), stride=(2, 2)),
    pool("NHWC", (4, 3), "lp", POSITIVE, kernel=(2, 2), p_value=3),
    pool("NHWC", (4, 3), "sum", global_pool=True),
    pool("NDHWC", (3, 4, 3), "max", kernel=(2, 2, 2), stride=(1, 2, 1)),
    pool("NDHWC", (3, 4, 3), "avg", global_pool=True),
]
