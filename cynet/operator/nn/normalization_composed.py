"""Normalization in terms of other operators, whose gradients are then theirs."""


def reshape_along(F, array, axis, ndim):
    """A vector along one axis."""
    return array.reshape(tuple(-1 if i == axis else 1 for i in range(ndim)))


def normalize_axes(F, x, axes, eps):
    """Mean 0 and variance 1 along `axes`."""
    centred = F.broadcast_sub(x, F.mean(x, axis=axes, keepdims=True))
    variance = F.mean(F.square(centred), axis=axes, keepdims=True)
    return F.broadcast_mul(centred, F.rsqrt(variance + eps))


def scale_shift(F, x, gamma, beta, axis):
    """x gamma + beta, vectors along `axis`; gamma may be None."""
    x = x if gamma is None else F.broadcast_mul(x, reshape_along(F, gamma, axis, x.ndim))
    return F.broadcast_add(x, reshape_along(F, beta, axis, x.ndim))
