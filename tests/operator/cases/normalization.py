"""Cases of GroupNorm and of BatchNorm under other names."""

import numpy as np

from .case import Case, Input


def group_norm(data, gamma, beta, num_groups=1, eps=1e-5, output_mean_var=False):
    x = data.reshape(len(data), num_groups, -1)
    mean, std = x.mean(-1), np.sqrt(x.var(-1) + eps)
    out = (x - mean[..., None]) / std[..., None] * gamma[:, None] + beta[:, None]
    out = out.reshape(data.shape)
    return (out, mean, std) if output_mean_var else out


def batch_norm(data, gamma, beta, mean, var, eps=1e-3, momentum=0.9, fix_gamma=True, axis=1, **_):
    """Of training; forward leaves the moving statistics."""
    x = np.moveaxis(data, axis, -1)
    lines = x.reshape(-1, x.shape[-1])
    scale = (1 if fix_gamma else gamma) / np.sqrt(lines.var(0) + eps)
    return np.moveaxis((x - lines.mean(0)) * scale + beta, -1, axis), mean, var


def batch_norm_relu(*args, **params):
    out, *states = batch_norm(*args, **params)
    return np.maximum(out, 0), *states


def norm(op, reference, shape, **params):
    channels = (shape[params.get("axis", 1)],)
    scales = [Input(channels, (0.5, 1.5), wide=True), Input(channels, wide=True)]
    states = [Input(channels, wide=True), Input(channels, (0.5, 1.5), wide=True)]
    grad = (0, 2) if params.get("fix_gamma", True) else (0, 1, 2)
    return Case(op, [shape, *scales], reference, params, states, grad, back=(0,), infers=(1, 2))


RELU = "_contrib_BatchNormWithReLU"
SYNC = "_contrib_SyncBatchNorm"
CASES = [
    Case("GroupNorm", [(2, 4, 3), (2,), (2,)], group_norm, {"num_groups": 2}, back=(0,)),
    Case("GroupNorm", [(2, 3, 2, 2), (1,), (1,)], group_norm, {"eps": 0.1}, back=(0,)),
    Case(
        "GroupNorm",
        [(2, 6, 5), (3,), (3,)],
        group_norm,
        {"num_groups": 3, "output_mean_var": True},
        grad=False,
        reference_grad=lambda grads, *inputs, **params: [None] * 3,
    ),
    norm(RELU, batch_norm_relu, (3, 4, 2, 2), fix_gamma=False),
    norm(RELU, batch_norm_relu, (5, 3)),
    norm(RELU, batch_norm_relu, (2, 3, 4), fix_gamma=False, axis=2, eps=0.1),
    norm(SYNC, batch_norm, (3, 4, 2, 2), fix_gamma=False, key="one"),
    norm(SYNC, batch_norm, (2, 3, 4), key="two"),
]
