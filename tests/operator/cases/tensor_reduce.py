"""Cases of reductions, arg reductions and products."""

import numpy as np

from .case import Case, Input, apart, away_from_zero

S = (2, 3, 4)
AXES = [
    {},
    {"axis": 1},
    {"axis": (0, -1)},
    {"axis": (0, 1), "keepdims": True},
    {"axis": 1, "exclude": True},
]


def reducing(function):
    def reference(x, axis=None, keepdims=False, exclude=False):
        axes = (
            tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        )
        axes = {a % x.ndim for a in axes}
        if exclude:
            axes = set(range(x.ndim)) - axes
        with np.errstate(all="ignore"):
            return function(x, axis=tuple(sorted(axes)), keepdims=keepdims)

    return reference


def with_nan(rng, shape):
    x = away_from_zero(rng, shape)
    x.flat[1] = np.nan
    return x


def nan_grad(function):
    """Gradients of nansum and nanprod, whose numeric ones the NaN would spoil."""

    def grad(heads, x, **params):
        whole = reducing(lambda v, axis, keepdims: function(v, axis=axis, keepdims=True))(
            x, **params
        )
        g = heads[0].reshape(whole.shape)
        value = np.ones_like(x) if function is np.nansum else whole / x
        return [np.where(np.isnan(x), 0, g * value)]

    return grad


def norm(x, ord=2, axis=None, keepdims=False):
    axes = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    if ord == 1:
        return np.abs(x).sum(axis=axes, keepdims=keepdims)
    return np.sqrt(np.square(x).sum(axis=axes, keepdims=keepdims))


def reductions():
    for params in AXES:
        for op, function in (("sum", np.sum), ("mean", np.mean), ("prod", np.prod)):
            domain = away_from_zero if op == "prod" else (-1, 1)
            dtypes = ("float32", "float64", "float16") if op != "prod" else ("float32", "float64")
            yield Case(op, [Input(S, domain)], reducing(function), params, dtypes=dtypes)
        for op, function in (("max", np.max), ("min", np.min)):
            yield Case(
                op,
                [Input(S, apart)],
                reducing(function),
                params,
                dtypes=("float32", "float64", "float16"),
            )
        for op, function in (("nansum", np.nansum), ("nanprod", np.nanprod)):
            yield Case(
                op,
                [Input(S, with_nan)],
                reducing(function),
                params,
                grad=False,
                reference_grad=nan_grad(function),
            )
    for op in ("sum", "max", "min", "prod"):
        yield Case(
            op,
            [Input(S, lambda rng, s: rng.integers(1, 4, s))],
            reducing(getattr(np, op)),
            {"axis": 1},
            grad=False,
            reference_grad=lambda heads, x, **params: [None],
            note="integers",
            dtypes=("int32", "int64"),
            exact=True,
        )
    for params in ({}, {"axis": 1}, {"ord": 1}, {"ord": 1, "axis": (0, 2), "keepdims": True}):
        yield Case("norm", [Input(S, away_from_zero)], norm, params)
    yield Case("sum", [Input((4, 5, 2, 3))], reducing(np.sum), {"axis": (1, 3)}, note="two apart")
    yield Case("sum", [Input((1, 1))], reducing(np.sum), {}, note="one element")


def arg(function):
    def reference(x, axis=None, keepdims=False):
        if axis is None:
            found = np.asarray([function(x)])
            return found.reshape((1,) * x.ndim) if keepdims else found
        found = function(x, axis=axis)
        return np.expand_dims(found, axis) if keepdims else found

    return reference


def args():
    for op, function in (("argmax", np.argmax), ("argmin", np.argmin)):
        for params in ({}, {"axis": 0}, {"axis": -1}, {"axis": 1, "keepdims": True}):
            yield Case(
                op,
                [Input(S, apart)],
                arg(function),
                params,
                grad=False,
                dtypes=("float32", "float64", "float16", "int32"),
            )
    yield Case("argmax_channel", [Input((3, 5), apart)], lambda x: x.argmax(1), grad=False)


def dot(a, b, transpose_a=False, transpose_b=False):
    if transpose_a and a.ndim > 1:
        a = np.moveaxis(a, 0, -1)
    if transpose_b and b.ndim > 1:
        b = np.moveaxis(b, -1, 0)
    return np.tensordot(a, b, 1)


def batch_dot(a, b, transpose_a=False, transpose_b=False):
    a = np.swapaxes(a, -1, -2) if transpose_a else a
    b = np.swapaxes(b, -1, -2) if transpose_b else b
    return a @ b


def products():
    for a, b, params in [
        ((3, 4), (4, 5), {}),
        ((4, 3), (4, 5), {"transpose_a": True}),
        ((3, 4), (5, 4), {"transpose_b": True}),
        ((4, 3), (5, 4), {"transpose_a": True, "transpose_b": True}),
        ((4,), (4,), {}),
        ((3, 4), (4,), {}),
        ((4,), (4, 5), {}),
        ((4,), (5, 4), {"transpose_b": True}),
        ((2, 3, 4), (4, 5, 2), {}),
        ((4, 2, 3), (5, 4), {"transpose_a": True, "transpose_b": True}),
    ]:
        yield Case("dot", [a, b], dot, params, note=f"{a}{b}")
    for ta in (False, True):
        for tb in (False, True):
            a, b = ((2, 4, 3) if ta else (2, 3, 4)), ((2, 5, 4) if tb else (2, 4, 5))
            yield Case("batch_dot", [a, b], batch_dot, {"transpose_a": ta, "transpose_b": tb})
    yield Case("batch_dot", [(2, 3, 3, 4), (2, 3, 4, 5)], batch_dot, note="4-D")


CASES = [*reductions(), *args(), *products()]
