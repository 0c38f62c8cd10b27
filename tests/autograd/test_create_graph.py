"""``grad(create_graph=True)`` gives what `backward` gives, also where functions have corners, poles
and ties: every case of the registry that has gradients of gradients."""

import numpy as np
import pytest
from scipy import special

import cynet as mx
from cynet import autograd as ag
from cynet import nd
from tests.autograd.test_second_order import CASES, Point

KINDS = {
    "zeros": [0.0],
    "ones": [1.0],
    "ties": [-1.0, 0.0, 1.0, 2.0],
    "negative": [-0.5, -1.0, -2.5],
    "infinite": [np.inf, -np.inf, 1.0, 0.0],
    "nan": [np.nan, 1.0, -2.0, 0.0],
}
# Where operators refuse the numbers: singular matrices, complex eigenvalues, NaN.
SINGULAR = {"_linalg_det", "_linalg_slogdet", "_linalg_inverse", "_linalg_potri", "_linalg_solve"}
SINGULAR |= {"_linalg_svd", "_linalg_eig"}


def _has_poles(case):
    """The formula of the second order has other numbers than backward at some of these places:
    densities at the ends of their range, points between pixels that lie on one, roots below 0,
    angles of (0, 0)."""
    return (
        "arctan2" in case.op
        or case.op.startswith(("_random_pdf", "random_pdf"))
        or "Deformable" in case.op
        or case.op in ("BilinearSampler", "SpatialTransformer", "_contrib_hawkesll")
        or case.params.get("p_value") == 3
    )


class Special(Point):
    """A case whose smooth inputs hold numbers of one kind."""

    def __init__(self, case, kind):
        super().__init__(case)
        for i in self.smooth:
            self.inputs[i] = self.rng.choice(KINDS[kind], self.inputs[i].shape)

    def heads(self, arrays):
        """The outputs; `weights` are their gradients."""
        mx.random.seed(1)
        aux = [nd.array(a, dtype=a.dtype) for a in self.aux]
        out = getattr(nd, self.case.op)(*arrays, *aux, **self.case.params)
        out = [o for o in (out if isinstance(out, list) else [out]) if o.dtype == np.float64]
        if self.weights is None:
            self.weights = [self.rng.uniform(-1.5, 1.5, o.shape) for o in out]
        return out

    def backward(self, weights):
        """The gradients that backward gives."""
        arrays = self.variables()
        with ag.record(train_mode=self.case.is_train):
            outs = self.heads(arrays)
        ag.backward(outs, [nd.array(w, dtype="float64") for w in weights])
        return [arrays[i].grad.asnumpy() for i in self.smooth]


@pytest.mark.parametrize("kind", KINDS)
def test_first_gradients_and_their_transpose(kind):
    """The gradient is linear in the heads' gradients, so what goes back to those is known: with
    the gradient J'g its product with v has the gradient Jv, and <Jv, d> = <v, J'd>."""
    compared = 0
    for case in CASES:
        if case.op in SINGULAR:
            continue
        point = Special(case, kind)
        arrays = point.variables()
        inputs = [arrays[i] for i in point.smooth]
        with ag.record(train_mode=case.is_train):
            outs = point.heads(arrays)
            weights = [nd.array(w, dtype="float64") for w in point.weights]
            for each in weights:
                each.attach_grad()
            first = ag.grad(outs, inputs, weights, create_graph=True)
            vectors = [point.rng.uniform(-1, 1, x.shape) for x in inputs]
            product = sum((g * nd.array(v, dtype="float64")).sum() for g, v in zip(first, vectors))
        found = [each.asnumpy() for each in first]
        for got, expected in zip(found, point.backward(point.weights)):
            np.testing.assert_array_equal(got, expected, case.id)
        if (
            kind in ("infinite", "nan")
            or _has_poles(case)
            # a pole, which rounding may leave finite
            or not all((np.abs(g) < 1e12).all() for g in found)
        ):
            continue
        directions = [point.rng.uniform(-1, 1, w.shape) for w in weights]
        expected = sum((v * g).sum() for v, g in zip(vectors, point.backward(directions)))
        product.backward()
        got = sum((w.grad.asnumpy() * d).sum() for w, d in zip(weights, directions))
        np.testing.assert_allclose(got, expected, 1e-7, 1e-9, err_msg=case.id)
        compared += 1
    assert compared > 100 or kind in ("infinite", "nan")


def test_a_penalty_with_a_zero_row():
    """A gradient penalty, one row of whose gradients is 0, has finite gradients."""
    w = nd.array([[1.0, 2.0], [0.5, -1.0]])
    x = nd.array([[0.0, 0.0], [3.0, 4.0]])
    for each in (w, x):
        each.attach_grad()
    with ag.record():
        y = (nd.dot(x, w) ** 2).sum()
        (g,) = ag.grad(y, [x], create_graph=True)
        penalty = ((nd.norm(g, axis=1) - 1) ** 2).sum()
    penalty.backward()
    assert np.isfinite(w.grad.asnumpy()).all() and np.isfinite(x.grad.asnumpy()).all()
    again = nd.array([[0.0, 0.0], [3.0, 4.0]])
    again.attach_grad()
    with ag.record():
        (g,) = ag.grad(nd.norm(again, axis=1), [again], create_graph=True)
        product = (g * nd.array([[1.0, 1.0], [1.0, 0.0]])).sum()
    np.testing.assert_array_equal(g.asnumpy(), np.float32([[0, 0], [0.6, 0.8]]))
    product.backward()
    # of x / |x| at (3, 4): (1 - 0.36) / 5, -0.48 / 5
    np.testing.assert_allclose(again.grad.asnumpy(), [[0, 0], [0.128, -0.096]], 1e-6)


@pytest.mark.parametrize("base", [-2.0, 0.0, 3.0])
def test_a_number_to_the_power_of_an_array(base):
    x = nd.array([0.5, 2.0, 3.0], dtype="float64")
    x.attach_grad()
    with ag.record():
        (first,) = ag.grad(base**x, [x], create_graph=True, retain_graph=True)
    with ag.record():
        y = base**x
    y.backward()
    np.testing.assert_array_equal(first.asnumpy(), x.grad.asnumpy())


def test_ties_of_broadcast_extrema():
    a, b = nd.array([[1.0], [2.0]]), nd.array([[1.0, 3.0]])
    for name, want in (
        ("broadcast_minimum", ([[2], [1]], [[1, 0]])),
        ("broadcast_maximum", ([[1], [1]], [[0, 2]])),
    ):
        for each in (a, b):
            each.attach_grad()
        with ag.record():
            first = ag.grad(getattr(nd, name)(a, b), [a, b], create_graph=True)
            y = getattr(nd, name)(a, b)
        y.backward()
        for got, x, expected in zip(first, (a, b), want):
            assert got.asnumpy().tolist() == x.grad.asnumpy().tolist() == expected


_INSIDE = {  # where the function is smooth; elsewhere (-0.8, 0.8)
    "log": (0.3, 2),
    "log2": (0.3, 2),
    "log10": (0.3, 2),
    "sqrt": (0.3, 2),
    "rsqrt": (0.3, 2),
    "cbrt": (0.3, 2),
    "rcbrt": (0.3, 2),
    "reciprocal": (0.3, 2),
    "arccosh": (1.2, 3),
    "gamma": (0.5, 3),
    "gammaln": (0.5, 3),
}
_REFERENCES = {
    "square": np.square,
    "exp": np.exp,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "expm1": np.expm1,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: x**-0.5,
    "cbrt": np.cbrt,
    "rcbrt": lambda x: 1 / np.cbrt(x),
    "reciprocal": np.reciprocal,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "arcsin": np.arcsin,
    "arccos": np.arccos,
    "arctan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "arcsinh": np.arcsinh,
    "arccosh": np.arccosh,
    "arctanh": np.arctanh,
    "sigmoid": special.expit,
    "softsign": lambda x: x / (1 + np.abs(x)),
    "erf": special.erf,
    "erfinv": special.erfinv,
    "gamma": special.gamma,
    "gammaln": special.gammaln,
}


@pytest.mark.parametrize("name", _REFERENCES)
def test_second_derivatives_of_functions_of_one_number(rng, name):
    """Against differences of NumPy's and SciPy's function itself."""
    low, high = _INSIDE.get(name, (0.1, 0.8))
    values = rng.uniform(low, high, 20) * (rng.choice([-1, 1], 20) if name not in _INSIDE else 1)
    x = nd.array(values, dtype="float64")
    x.attach_grad()
    with ag.record():
        (first,) = ag.grad(getattr(nd, name)(x), [x], create_graph=True)
    first.backward()
    function, h = _REFERENCES[name], 1e-4
    f = [function(values + k * h) for k in (-2, -1, 0, 1, 2)]
    once = (f[0] - 8 * f[1] + 8 * f[3] - f[4]) / (12 * h)
    twice = (-f[0] + 16 * f[1] - 30 * f[2] + 16 * f[3] - f[4]) / (12 * h * h)
    np.testing.assert_allclose(first.asnumpy(), once, 1e-8, 1e-9)
    np.testing.assert_allclose(x.grad.asnumpy(), twice, 1e-5, 1e-5)


@pytest.mark.parametrize("scalar", [0, 0.5, 2])
def test_smooth_l1_where_it_turns(scalar):
    """Of 0, too, by which the turning point is at infinity."""
    turn = 1 / scalar**2 if scalar else 3.0
    x = nd.array([-2 * turn, -turn, -turn / 2, 0, turn / 2, turn, 2 * turn], dtype="float64")
    found = []
    for create_graph in (False, True):
        x.attach_grad()
        with ag.record():
            y = nd.smooth_l1(x, scalar=scalar)
            if create_graph:
                found.append(ag.grad(y, [x], create_graph=True)[0].asnumpy())
        if not create_graph:
            y.backward()
            found.append(x.grad.asnumpy())
    np.testing.assert_array_equal(*found)
    assert (found[0] != 0).any() == bool(scalar)
