"""Normalization composed of other operators, so that gradients of gradients exist."""


def reshape_along(F, array, axis, ndim):
    """Reshape a vector so that it broadcasts along one axis of `ndim`."""
    return array.reshape(tuple(-1 if i == axis else 1 for i in range(ndim)))


def normalize_axes(F, x, axes, eps):
    """Normalize x to mean 0 and variance 1 along `axes`."""
    centred = F.broadcast_sub(x, F.mean(x, axis=axes, keepdims=True))
    variance = F.mean(F.square(centred), axis=axes, keepdims=True)
    return F.broadcast_mul(centred, F.rsqrt(variance + eps))


def scale_shift(F, x, gamma, beta, axis):
    """Return x * gamma + beta, where gamma (or None) and beta are vectors along `axis`."""
    x = x if gamma is None else F.broadcast_mul(x, reshape_along(F, gamma, axis, x.ndim))
    return F.broadcast_add(x, reshape_along(F, beta, axis, x.ndim))
