"""Gradients of elementwise operators and reductions in terms of operators.

A formula gets (p, F, g, x, y): the property, ``mx.nd``, the gradients of the visible outputs, and
what backward reads of inputs and outputs (None where it reads none). It gives a list, one entry an
input: an array, or a function that computes it where it is wanted.
"""

import math

from ..out_dtype import in_data_dtype

_ROOT_PI = math.sqrt(math.pi)


def _unary(function):
    """A formula from ``function(F, x, y)``, the derivative."""
    return lambda p, F, g, x, y: [lambda: g[0] * function(F, x[0], y[0])]


def _scalar(function):
    """The same of ``function(F, x, s)``, of an array and a number."""
    return lambda p, F, g, x, y: [lambda: g[0] * function(F, x[0], p.scalar)]


def _binary(lhs, rhs):
    """The same of two functions ``(F, a, b)``, the derivatives by operands that broadcast."""

    def formula(p, F, g, x, y):
        a, b = x
        return [
            lambda: summed_to(F, g[0] * lhs(F, a, b), a.shape),
            lambda: summed_to(F, g[0] * rhs(F, a, b), b.shape),
        ]

    def broadcasting(p, F, g, x, y):
        a, b = x
        shape = g[0].shape
        a_wide, b_wide = (F.broadcast_to(_wide(v, len(shape)), shape=shape) for v in (a, b))
        return [
            lambda: summed_to(F, g[0] * lhs(F, a_wide, b_wide), a.shape),
            lambda: summed_to(F, g[0] * rhs(F, a_wide, b_wide), b.shape),
        ]

    return formula, broadcasting


def _wide(array, ndim):
    return array.reshape((1,) * (ndim - array.ndim) + array.shape)


def summed_to(F, grad, shape):
    """The sum over what was broadcast from `shape`."""
    if grad.shape == shape:
        return grad
    wide = (1,) * (grad.ndim - len(shape)) + shape
    axes = tuple(i for i, (a, b) in enumerate(zip(grad.shape, wide)) if a != b)
    return F.sum(grad, axis=axes, keepdims=True).reshape(shape)


def _power_by_base(F, a, b):
    """b a^(b - 1), which is 0 for b = 0."""
    none = b == 0
    b = F.where(none, F.ones_like(b), b)
    return F.where(none, F.zeros_like(b), b * a ** (b - 1))


def _power_by_exponent(F, a, b):
    """a^b log(a), which is 0 for a = 0 and b > 0."""
    a = F.where((a == 0) * (b > 0), F.ones_like(a), a)
    return a**b * F.log(a)


def _smooth_l1(F, x, s):
    square = s * s
    inside = F.abs(x) <= (1 / square if square else math.inf)
    return F.where(inside, x * square, F.sign(x))


def _exponential(F, x, s):
    if s > 0:
        return F.broadcast_power(x * 0 + s, x) * math.log(s)
    return _power_by_exponent(F, F.zeros_like(x) + s, x)


_UNARY = {
    "square": lambda F, x, y: 2 * x,
    "exp": lambda F, x, y: y,
    "log": lambda F, x, y: F.reciprocal(x),
    "log2": lambda F, x, y: F.reciprocal(x) / math.log(2),
    "log10": lambda F, x, y: F.reciprocal(x) / math.log(10),
    "log1p": lambda F, x, y: F.reciprocal(x + 1),
    "expm1": lambda F, x, y: y + 1,
    "sqrt": lambda F, x, y: 0.5 / y,
    "rsqrt": lambda F, x, y: -0.5 * F.rsqrt(x) / x,
    "cbrt": lambda F, x, y: F.reciprocal(F.square(y)) / 3,
    "rcbrt": lambda F, x, y: F.rcbrt(x) / x * (-1 / 3),
    "reciprocal": lambda F, x, y: -F.square(F.reciprocal(x)),
    "sin": lambda F, x, y: F.cos(x),
    "cos": lambda F, x, y: -F.sin(x),
    "tan": lambda F, x, y: F.square(y) + 1,
    "arcsin": lambda F, x, y: F.rsqrt(1 - F.square(x)),
    "arccos": lambda F, x, y: -F.rsqrt(1 - F.square(x)),
    "arctan": lambda F, x, y: F.reciprocal(F.square(x) + 1),
    "sinh": lambda F, x, y: F.cosh(x),
    "cosh": lambda F, x, y: F.sinh(x),
    "tanh": lambda F, x, y: 1 - F.square(y),
    "arcsinh": lambda F, x, y: F.rsqrt(F.square(x) + 1),
    "arccosh": lambda F, x, y: F.rsqrt(F.square(x) - 1),
    "arctanh": lambda F, x, y: F.reciprocal(1 - F.square(x)),
    "sigmoid": lambda F, x, y: y * (1 - y),
    "softsign": lambda F, x, y: F.reciprocal(F.square(F.abs(x) + 1)),
    "erf": lambda F, x, y: F.exp(-F.square(x)) * (2 / _ROOT_PI),
    "gamma": lambda F, x, y: F.gamma(x) * F._internal._polygamma(x),
    "gammaln": lambda F, x, y: F._internal._polygamma(x),
    "erfinv": lambda F, x, y: F.exp(F.square(y)) * (_ROOT_PI / 2),
}
_SCALAR = {
    "_rdiv_scalar": lambda F, x, s: -s / F.square(x),
    "_power_scalar": lambda F, x, s: s * x ** (s - 1) if s else F.zeros_like(x),
    "_rpower_scalar": _exponential,
    "_hypot_scalar": lambda F, x, s: x / F.sqrt(F.square(x) + s * s),
    "_rmod_scalar": lambda F, x, s: -F.floor(s / x),
    "smooth_l1": _smooth_l1,
}
_BINARY = {
    "div": (lambda F, a, b: F.reciprocal(b), lambda F, a, b: -a / F.square(b)),
    "power": (_power_by_base, _power_by_exponent),
    "hypot": (lambda F, a, b: a / F._hypot(a, b), lambda F, a, b: b / F._hypot(a, b)),
    "mod": (lambda F, a, b: F.ones_like(a), lambda F, a, b: -F.floor(a / b)),
    "maximum": (lambda F, a, b: a >= b, lambda F, a, b: a < b),
    "minimum": (lambda F, a, b: a <= b, lambda F, a, b: a > b),
}


# --- reductions ----------------------------------------------------------------------------------
def _kept(p, ndim):
    """The axes that are reduced."""
    axes = p.axis
    if axes is None or axes == ():
        return tuple(range(ndim))
    axes = tuple(a % ndim for a in ((axes,) if isinstance(axes, int) else axes))
    if getattr(p, "exclude", False):
        return tuple(a for a in range(ndim) if a not in axes)
    return axes


def _spread(p, F, array, like):
    """What a reduction gave, along the axes it was reduced over."""
    axes = _kept(p, like.ndim)
    shape = tuple(1 if i in axes else n for i, n in enumerate(like.shape))
    return F.broadcast_to(array.reshape(shape), shape=like.shape)


def _extremum(p, F, g, x, y):
    return [lambda: _spread(p, F, g[0], x[0]) * (x[0] == _spread(p, F, y[0], x[0]).detach())]


def _norm(p, F, g, x, y):
    if p.ord == 1:
        return [lambda: _spread(p, F, g[0], x[0]) * F.sign(x[0])]

    def gradient():  # 0 where the norm is
        none = y[0] == 0
        scale = g[0] / F.where(none, F.ones_like(y[0]), y[0])
        return _spread(p, F, F.where(none, F.zeros_like(scale), scale), x[0]) * x[0]

    return [gradient]


def _prod(p, F, g, x, y):
    return [lambda: _spread(p, F, g[0] * y[0], x[0]) / x[0]]


def _nanprod(p, F, g, x, y):
    def gradient():
        there = x[0] == x[0]
        parts = _spread(p, F, g[0] * y[0], x[0]) / F.where(there, x[0], F.ones_like(x[0]))
        return parts * there

    return [gradient]


def _nansum(p, F, g, x, y):
    return [lambda: _spread(p, F, g[0], x[0]) * (x[0] == x[0])]


FORMULAS = {
    **{name: _unary(function) for name, function in _UNARY.items()},
    **{name: _scalar(function) for name, function in _SCALAR.items()},
    "max": _extremum,
    "min": _extremum,
    "norm": in_data_dtype(_norm),
    "prod": _prod,
    "nanprod": _nanprod,
    "nansum": _nansum,
}
for _name, _pair in _BINARY.items():
    _same, _broadcast = _binary(*_pair)
    FORMULAS["elemwise_div" if _name == "div" else f"_{_name}"] = _same
    FORMULAS[f"broadcast_{_name}"] = _broadcast
for _name in ("_maximum", "_minimum"):
    del FORMULAS[_name]  # linear.FLAT
