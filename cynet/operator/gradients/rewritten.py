"""Operators in terms of others, whose gradients are then theirs.

A function gets (p, F, x, aux, training): the property, ``mx.nd``, the inputs, the auxiliary states
followed by what backward reads of the outputs that users do not see, and whether the operator ran
as in training. It gives the visible outputs.
"""

import numpy as np

from ..nn.spatial_window import channels_first, is_last


def _leaky_relu(p, F, x, aux, training):
    data = x[0]
    kind = p.act_type
    if kind == "gelu":
        return [data * (F.erf(data * 0.5**0.5) + 1) * 0.5]
    if kind == "selu":
        scale, alpha = 1.0507009873554805, 1.6732632423543772
        low = F.expm1(F.minimum(data, 0)) * alpha
        return [F.where(data > 0, data, low) * scale]
    if kind == "elu":
        return [F.where(data > 0, data, F.expm1(F.minimum(data, 0)) * p.slope)]
    if kind == "prelu":
        gamma = x[1]
        if gamma.size == 1:
            shape = (1,) * data.ndim
        elif gamma.ndim > 1:
            shape = gamma.shape + (1,) * (data.ndim - gamma.ndim)
        else:
            shape = (1, -1) + (1,) * (data.ndim - 2)
        low = F.broadcast_mul(data, gamma.reshape(shape))
        return [F.where(data > 0, data, low)]
    if kind == "leaky" or not training:
        slope = p.slope if kind == "leaky" else (p.lower_bound + p.upper_bound) / 2
        return [F.where(data > 0, data, data * slope)]
    return None  # rrelu in training has drawn its slopes


def _windows(p, size):
    """Row-major places of the elements of each window, `prod(size)` for those beside the data."""
    flat, inside = 0, True
    ndim = len(size)
    for axis, n in enumerate(size):
        n_out, kernel, stride, before, _ = p.geometry(axis, n)
        places = np.arange(n_out)[:, None] * stride - before + np.arange(kernel)
        shape = [1] * (2 * ndim)
        shape[axis], shape[ndim + axis] = places.shape
        places = places.reshape(shape)
        flat = flat * n + np.clip(places, 0, n - 1)
        inside = inside & (places >= 0) & (places < n)
    flat = np.where(inside, flat, np.prod(size))
    return flat.reshape(np.prod(flat.shape[:ndim]), -1)


def _pooling(p, F, x, aux, training):
    last = is_last(p.layout)
    data = F.moveaxis(x[0], -1, 1) if last else x[0]
    size = data.shape[2:]
    windows = _windows(p, size)
    rows = data.reshape((data.shape[0] * data.shape[1], -1))
    if p.pool_type == "max":  # the largest element of each window, which one is by the values
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
    out = out.reshape(channels_first(made, p.layout))
    return [F.moveaxis(out, 1, -1) if last else out]


def _pooling_v1(p, F, x, aux, training):
    """Of maxima, with zeros around the data: the sum of the elements that are the largest of their
    window, whose gradient each of them gets."""
    if p.global_pool:
        size, stride, (rows, columns) = x[0].shape[2:], (1, 1), (0, 0)
    else:
        size, (stride, (rows, columns)) = p.kernel, p.window
    data = F.Pad(x[0], mode="constant", pad_width=(0, 0, 0, 0, rows, rows, columns, columns))
    (made,) = p.output_shapes([x[0].shape])
    flat, inside = 0, True
    for axis, length in enumerate(data.shape[2:]):
        places = np.arange(made[2 + axis])[:, None] * stride[axis] + np.arange(size[axis])
        shape = [1, 1, 1, 1]
        shape[axis], shape[2 + axis] = places.shape
        places = places.reshape(shape)
        flat = flat * length + np.minimum(places, length - 1)
        inside = inside & (places < length)
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


def _sorted_rows(F, data, axis, order):
    """data along an axis in the order of `order` (NumPy), which has as many axes."""
    shape = data.shape
    places = np.indices(order.shape, dtype=np.int64)
    places[axis] = order
    flat = np.ravel_multi_index(places, shape)
    index = F.array(flat.reshape(-1), ctx=data.ctx, dtype="int64")
    return F.take(data.reshape((-1,)), index, axis=0).reshape(order.shape)


def _sort(p, F, x, aux, training):
    data = x[0] if p.axis is not None else x[0].reshape((-1,))
    axis = (p.axis if p.axis is not None else 0) % data.ndim
    order = F.argsort(data.detach(), axis=axis, is_ascend=p.is_ascend, dtype="int64").asnumpy()
    return [_sorted_rows(F, data, axis, order)]


def _topk(p, F, x, aux, training):
    if p.ret_typ not in ("value", "both"):
        return None
    data = x[0] if p.axis is not None else x[0].reshape((-1,))
    axis = (p.axis if p.axis is not None else 0) % data.ndim
    order = F.topk(
        data.detach(), axis=axis, k=p.k, is_ascend=p.is_ascend, ret_typ="indices", dtype="int64"
    )
    value = _sorted_rows(F, data, axis, order.asnumpy())
    return [value] if p.ret_typ == "value" else [value, None]


def _head_parts(F, array, heads, parts):
    """The parts of interleaved projections, each (batch * heads, length, dim)."""
    n, batch, width = array.shape
    split = array.reshape((n, batch * heads, parts, width // (heads * parts)))
    each = F.split(split, num_outputs=parts, axis=2, squeeze_axis=True) if parts > 1 else None
    each = each or [split.reshape((n, batch * heads, -1))]
    return [F.transpose(part, axes=(1, 0, 2)) for part in each]


def _attention_qk(p, F, x, aux, training):
    if len(x) == 1:
        queries, keys, _ = _head_parts(F, x[0], p.heads, 3)
    else:
        queries, keys = _head_parts(F, x[0], p.heads, 1)[0], _head_parts(F, x[1], p.heads, 2)[0]
    return [F.batch_dot(queries, keys, transpose_b=True) * queries.shape[2] ** -0.5]


def _attention_values(p, F, x, aux, training):
    values = _head_parts(F, x[0], p.heads, p.parts()[0])[-1]
    out = F.transpose(F.batch_dot(x[1], values), axes=(1, 0, 2))
    return [out.reshape((out.shape[0], x[0].shape[1], -1))]


def _khatri_rao(p, F, x, aux, training):
    out = x[0]
    for each in x[1:]:
        out = F.broadcast_mul(out.expand_dims(1), each.expand_dims(0))
        out = out.reshape((-1, each.shape[1]))
    return [out]


def _where_inside(F, inside, log, sample):
    """``log(sample)``, -inf with a gradient of 0 where the sample is not `inside`: there log is
    asked about another one, so that it gives no NaN."""
    among = F.broadcast_to(inside, shape=sample.shape)
    value = log(F.where(among, sample, F.ones_like(sample)))
    return F.where(inside, value, (F.ones_like(value) * -np.inf).detach())


def _density(log, support):
    """From ``log(F, x, *parameters)`` and ``support(x, *parameters)``, of arrays that broadcast."""

    def rewritten(p, F, x, aux, training):
        sample = x[0]
        wide = [a.reshape(a.shape + (1,) * (sample.ndim - a.ndim)) for a in x[1:]]
        wide = [F.broadcast_to(a, shape=sample.shape) for a in wide]
        inside = support(sample, *wide)
        value = _where_inside(F, inside, lambda x: log(F, x, *wide), sample)
        return [value if p.is_log else F.exp(value)]

    return rewritten


def _ways(F, x, k):
    """The logarithm of the number of ways to fail k times among x + k attempts; x is counted."""
    x = x.detach()
    return F.gammaln(x + k) - F.gammaln(x + 1) - F.gammaln(k)


def _dispersed(F, x, mu, alpha):
    k, count = F.reciprocal(alpha), x.detach()
    return _ways(F, x, k) + count * F.log(mu * alpha) - (count + k) * F.log1p(mu * alpha)


def _dirichlet(p, F, x, aux, training):
    sample, alpha = x
    shape = (*alpha.shape[:-1], *(1,) * (sample.ndim - alpha.ndim), alpha.shape[-1])
    total = F.gammaln(F.sum(alpha, axis=-1, keepdims=True))
    constant = total - F.sum(F.gammaln(alpha), axis=-1, keepdims=True)

    def log(x):
        powers = F.broadcast_mul(F.log(x), alpha.reshape(shape) - 1)
        powers = F.sum(powers, axis=-1, keepdims=True)
        return F.broadcast_add(powers, constant.reshape((*shape[:-1], 1)))

    out = _where_inside(F, F.min(sample, axis=-1, keepdims=True) >= 0, log, sample)
    out = out.reshape(p.output_shapes([sample.shape, alpha.shape])[0])
    return [out if p.is_log else F.exp(out)]


_DENSITIES = {
    "uniform": lambda F, x, low, high: -F.log(high - low),
    "normal": lambda F, x, mu, sigma: (
        F.square((x - mu) / sigma) * -0.5 - F.log(sigma) - 0.5 * np.log(2 * np.pi)
    ),
    "exponential": lambda F, x, lam: F.log(lam) - lam * x,
    "poisson": lambda F, x, lam: F.log(lam) * x.detach() - lam - F.gammaln(x.detach() + 1),
    "gamma": lambda F, x, alpha, beta: (
        alpha * F.log(beta) + (alpha - 1) * F.log(x) - beta * x - F.gammaln(alpha)
    ),
    "negative_binomial": lambda F, x, k, p: (
        _ways(F, x, k) + k * F.log(p) + x.detach() * F.log1p(-p)
    ),
    "generalized_negative_binomial": _dispersed,
}

_SUPPORTS = {
    "uniform": lambda x, low, high: (x >= low) * (x <= high),
    "normal": lambda x, *_: (x == x) + (x != x),  # everywhere, NaN included
}

REWRITTEN = {
    "khatri_rao": _khatri_rao,
    **{
        f"_random_pdf_{name}": _density(log, _SUPPORTS.get(name, lambda x, *_: x >= 0))
        for name, log in _DENSITIES.items()
    },
    "_random_pdf_dirichlet": _dirichlet,
    "LeakyReLU": _leaky_relu,
    "Pooling": _pooling,
    "Pooling_v1": _pooling_v1,
    "sort": _sort,
    "topk": _topk,
    "_contrib_interleaved_matmul_selfatt_qk": _attention_qk,
    "_contrib_interleaved_matmul_encdec_qk": _attention_qk,
    "_contrib_interleaved_matmul_selfatt_valatt": _attention_values,
    "_contrib_interleaved_matmul_encdec_valatt": _attention_values,
}
