"""Gradients of gradients, by the cases of the registry: against differences of first gradients."""

import re

import numpy as np
import pytest
from scipy import special

import cynet as mx
from cynet import autograd as ag
from cynet import nd
from cynet.operator import OPERATORS
from cynet.operator.second_order import Refused
from tests.operator.cases import all_cases

# Tested below, since their cases have no gradient that differences would show, or (control flow)
# in tests/operator/control_flow.
ELSEWHERE = {
    "_channels_last",
    "_cond",
    "_foreach",
    "_while_loop",
    "_image_random_flip_left_right",
    "_image_random_flip_top_bottom",
    "_image_to_tensor",
    "amp_cast",
    "amp_multicast",
    "nanprod",
    "nansum",
    "softmax_cross_entropy",
}
ELSEWHERE |= {"_linalg_potrf", "_linalg_syevd"}  # tests/operator/linalg
# what goes back is not the derivative
ELSEWHERE |= {f"_contrib_{name}" for name in ("gradientmultiplier", "round_ste", "sign_ste")}
STEP = 1e-5


def property_of(case):
    params = dict(case.params)
    prop = OPERATORS.get(case.op).prop
    count = prop.key_var_num_args
    if count is not None and count in prop.fields and count not in params:
        params[count] = len(case.inputs)
    return prop(**prop.accepted_params(params))


def suits(case):
    prop = property_of(case)
    smooth = case.grad is True or (case.grad and len(case.grad))
    return bool(
        smooth
        and prop.differentiable
        and prop.op_name not in ELSEWHERE
        and not isinstance(prop.second_order, Refused)
        and "float64" in case.dtypes
        and case.params.get("dtype") != "float16"  # whose differences say nothing
        and case.params.get("stype", "default") == "default"  # gradients of sparse arrays have none
        and case.params.get("id_index", -1) < 0  # box_nms: a class is no number to be moved
        and all(np.prod(each.shape) for each in case.inputs)
    )


CASES = [case for case in all_cases() if suits(case)]


def test_each_operator_is_covered():
    """An operator with a gradient has that of its gradient, or says why not."""
    covered, refused = {OPERATORS.get(case.op).name for case in CASES}, set()
    found = {
        entry.name: entry.prop
        for name, entry in OPERATORS.items()
        if entry.prop.__module__.startswith("cynet.") and not name.startswith("test_")
        if entry.prop.differentiable and not name.startswith("doctest_")
        if not entry.prop.users  # of tests that this process has run before
    }
    for name, prop in found.items():
        if isinstance(prop.second_order, Refused):
            refused.add(name)
            assert re.fullmatch(r"[A-Z].{20,}\.", prop.second_order.reason), name
    assert {*found} - covered - refused == ELSEWHERE


class Point:
    """A call of a case: its gradients in a direction."""

    def __init__(self, case):
        print("seed", case.seed)
        rng = np.random.default_rng(case.seed)
        self.case = case
        self.inputs = [each.make(rng, "float64") for each in case.inputs]
        self.aux = [each.make(rng, "float64") for each in case.aux]
        self.smooth = [
            i
            for i, array in enumerate(self.inputs)
            if array.dtype == "float64" and (case.grad is True or i in case.grad)
        ]
        self.rng, self.weights = rng, None

    def variables(self, shift=None):
        arrays = [nd.array(a, dtype=a.dtype) for a in self.inputs]
        for k, i in enumerate(self.smooth):
            if shift is not None:
                arrays[i] = nd.array(self.inputs[i] + shift[k], dtype="float64")
            arrays[i].attach_grad()
        return arrays

    def loss(self, arrays):
        mx.random.seed(1)
        aux = [nd.array(a, dtype=a.dtype) for a in self.aux]
        out = getattr(nd, self.case.op)(*arrays, *aux, **self.case.params)
        out = out if isinstance(out, list) else [out]
        if self.weights is None:
            self.weights = [
                nd.array(self.rng.uniform(0.5, 1.5, o.shape), dtype=o.dtype) for o in out
            ]
        # squares, so that a linear operator has a second order, too
        parts = [(o * o * w).sum() for o, w in zip(out, self.weights) if o.dtype == np.float64]
        return sum(parts[1:], parts[0])

    def gradients(self, shift=None):
        arrays = self.variables(shift)
        with ag.record(train_mode=self.case.is_train):
            loss = self.loss(arrays)
        loss.backward()
        return [arrays[i].grad.asnumpy() for i in self.smooth]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in CASES])
def test_second_order(case):
    """The product of the matrix of second derivatives with a vector."""
    point = Point(case)
    arrays = point.variables()
    inputs = [arrays[i] for i in point.smooth]
    with ag.record(train_mode=case.is_train):
        loss = point.loss(arrays)
        first = ag.grad(loss, inputs, create_graph=True)
        vectors = [point.rng.uniform(-1, 1, x.shape) for x in inputs]
        product = sum((g * nd.array(v, dtype="float64")).sum() for g, v in zip(first, vectors))
    for found, expected in zip(first, point.gradients()):
        np.testing.assert_allclose(found.asnumpy(), expected, 1e-7, 1e-9)
    product.backward()
    up, down = (point.gradients([sign * STEP * v for v in vectors]) for sign in (1, -1))
    for array, above, below in zip(inputs, up, down):
        numeric = (above - below) / (2 * STEP)
        size = max(1, np.abs(numeric).max())
        np.testing.assert_allclose(array.grad.asnumpy() / size, numeric / size, 0, 2e-6)


def second(function, x, *others):
    """(first, second) derivative of the sum of an elementwise function at x."""
    x = nd.array(x, dtype="float64")
    x.attach_grad()
    with ag.record():
        (first,) = ag.grad(function(x, *others), [x], create_graph=True)
    first.backward()
    return first.asnumpy(), x.grad.asnumpy()


def test_what_differences_do_not_show():
    first, again = second(lambda x: nd.nansum(x * x), [np.nan, 3.0])
    assert first[1] == 6 and again[1] == 2
    first, again = second(nd.nanprod, [np.nan, 3.0, 2.0])
    np.testing.assert_allclose([first, again], [[0, 2, 3], [0, 1, 1]], 1e-12)
    first, again = second(lambda x: nd.square(nd.amp_cast(x, dtype="float32")), [2.0, 3.0])
    assert first.tolist() == [4, 6] and again.tolist() == [2, 2]
    half = mx.nd.ones(1, dtype="float16")
    wide = lambda x: nd.amp_multicast(half, nd.cast(x, dtype="float32"))[1]  # noqa: E731
    first, again = second(lambda x: nd.square(wide(x)), [2.0, 3.0])
    assert first.tolist() == [4, 6] and again.tolist() == [2, 2]
    x, label = np.array([[0.2, -0.4, 0.1]]), nd.array([2])
    first, again = second(nd.softmax_cross_entropy, x, label.astype("float64"))
    p = np.exp(x) / np.exp(x).sum()
    np.testing.assert_allclose(first, p - [[0, 0, 1]], 1e-12)
    np.testing.assert_allclose(again, p - p * p.sum(), 0, 1e-12)


def test_drawn_flips_are_repeated():
    """A flip moves elements, so that derivatives of cubes are those of each element."""
    rng = np.random.default_rng(5)
    for shape in ((3, 4, 2), (6, 3, 4, 2)):
        x = rng.uniform(-1, 1, shape)
        for flip in (nd.image.random_flip_left_right, nd.image.random_flip_top_bottom):
            first, again = second(lambda x, flip=flip: flip(x) ** 3, x)
            np.testing.assert_allclose(first, 3 * x**2, 1e-12)
            np.testing.assert_allclose(again, 6 * x, 1e-12)


def test_drawn_slopes_are_repeated():
    x, seen = np.random.default_rng(5).uniform(-1, 1, (3, 40)), []

    def cube(x):
        seen.append(nd.LeakyReLU(x, act_type="rrelu"))
        return seen[0] ** 3

    first, again = second(cube, x)
    y = seen[0].asnumpy()
    assert 0.125 <= (y / x)[x < 0].min() < (y / x)[x < 0].max() <= 0.334
    np.testing.assert_allclose(first, 3 * y**3 / x, 1e-6)
    np.testing.assert_allclose(again, 6 * y**3 / x**2, 1e-6)


def test_channels_last():
    x = nd.array(np.random.default_rng(5).uniform(-1, 1, (2, 3, 4, 5)))
    x.attach_grad()
    with ag.record():
        out = nd._internal._channels_last(x, to_last=True) ** 3
        (first,) = ag.grad(out, [x], create_graph=True)
    first.backward()
    np.testing.assert_allclose(first.asnumpy(), 3 * x.asnumpy() ** 2, 1e-6)
    np.testing.assert_allclose(x.grad.asnumpy(), 6 * x.asnumpy(), 1e-6)


def test_bilinear_upsampling_is_a_deconvolution(rng):
    """Both gradients, of data and weight, and what goes on from them."""
    shapes = (2, 3, 4, 5), (3, 1, 4, 4)
    values = [rng.uniform(-1, 1, shape) for shape in shapes]
    how = {"kernel": (4, 4), "stride": (2, 2), "pad": (1, 1), "num_group": 3, "no_bias": True}
    found = []
    for layer, params in (
        (nd.UpSampling, {"scale": 2, "sample_type": "bilinear"}),
        (nd.Deconvolution, how),
    ):
        arrays = [nd.array(value, dtype="float64") for value in values]
        for each in arrays:
            each.attach_grad()
        with ag.record():
            out = layer(*arrays, num_filter=3, **params) ** 3
            first = ag.grad(out, arrays, create_graph=True)
            total = sum((grad * grad).sum() for grad in first)
        total.backward()
        found.append([each.asnumpy() for each in (*first, *(array.grad for array in arrays))])
    for ours, theirs in zip(*found):
        np.testing.assert_allclose(ours, theirs, 1e-9, 1e-9)


def test_what_has_none_says_so():
    label = nd.array([[1.0, 0.0]], dtype="float64")
    with pytest.raises(
        mx.MXNetError, match="operator LinearRegressionOutput has no gradient written as operators"
    ):
        second(nd.LinearRegressionOutput, [[1.5, 2.0]], label)


@pytest.mark.parametrize("order", range(5))
@pytest.mark.parametrize("x", [0.3, 2.5, 40.0, -0.7, -12.3])
def test_polygamma(order, x):
    """Derivatives of log gamma of every order; below 0 by the recurrence from above."""
    got = nd.gammaln(nd.array([x], dtype="float64"))
    y = nd.array([x], dtype="float64")
    y.attach_grad()
    with ag.record():
        got = nd.gammaln(y)
        for _ in range(order):
            (got,) = ag.grad(got, [y], create_graph=True)
    got.backward()
    shift = max(0, int(np.ceil(-x)))
    sign = -1 if order % 2 else 1
    expected = special.polygamma(order, x + shift) - sign * special.factorial(order) * sum(
        (x + k) ** -(order + 1.0) for k in range(shift)
    )
    np.testing.assert_allclose(y.grad.asscalar(), expected, 1e-11)


def test_poles_of_polygamma():
    x = nd.array([0.0, -3.0], dtype="float64")
    assert nd._internal._polygamma(x, n=1).asnumpy().tolist() == [np.inf, np.inf]
    assert np.isnan(nd._internal._polygamma(x, n=2).asnumpy()).all()
    with pytest.raises(mx.MXNetError, match="_polygamma: parameter .n. takes an int .* got 100"):
        nd._internal._polygamma(x, n=100)


@pytest.mark.parametrize("is_log", [False, True])
@pytest.mark.parametrize(
    "name, parameters",
    [
        ("gamma", (2.0, 3.0)),
        ("exponential", (2.0,)),
        ("uniform", (0.0, 3.0)),
        ("negative_binomial", (2.0, 0.4)),
        ("dirichlet", ([2.0, 3.0],)),
    ],
)
def test_densities_outside_of_what_can_be_drawn(name, parameters, is_log):
    """First gradients by operators are the kernel's: 0 from there."""
    rows = [[[-1.0, 0.4], [0.6, 0.4]]] if name == "dirichlet" else [[-1.0, 2.0]]
    arrays = [nd.array(rows, dtype="float64")]
    arrays += [nd.array([value], dtype="float64") for value in parameters]
    for each in arrays:
        each.attach_grad()
    with ag.record():
        out = getattr(nd, f"random_pdf_{name}")(*arrays, is_log=is_log)
        first = ag.grad(out, arrays, create_graph=True, retain_graph=True)
    out.backward()
    for found, array in zip(first, arrays):
        assert np.isfinite(found.asnumpy()).all()
        np.testing.assert_allclose(found.asnumpy(), array.grad.asnumpy(), 1e-9, 1e-12)


def test_rnn_with_dropout_repeats_its_draws():
    """First gradients by operators are those of the layer, whose dropout has drawn its factors."""
    rng = np.random.default_rng(3)
    size = sum(4 * 4 * (n + 4 + 2) for n in (3, 4))
    arrays = [(5, 2, 3), (size,), (2, 2, 4), (2, 2, 4)]
    arrays = [nd.array(rng.standard_normal(s), dtype="float64") for s in arrays]
    for each in arrays:
        each.attach_grad()
    with ag.record():
        out = nd.RNN(*arrays, mode="lstm", state_size=4, num_layers=2, p=0.5)
        loss = nd.sum(out * out)
        first = ag.grad(loss, arrays, create_graph=True, retain_graph=True)
    loss.backward()
    for found, array in zip(first, arrays):
        np.testing.assert_allclose(found.asnumpy(), array.grad.asnumpy(), 1e-9, 1e-12)


@pytest.mark.parametrize(
    "function, first, again",
    [
        (nd.tanh, [0.7864477, 0.8399487], [-0.7268620, -1.2794000]),
        (nd.sigmoid, [0.2350037, 0.3932239], [-0.0575568, -0.1817155]),
        (nd.exp, [1.6487212, 5.4365635], [1.6487212, 5.4365635]),
        (nd.sqrt, [0.7071068, 1], [-0.7071068, -0.5]),
        (nd.sin, None, [-0.4794256, -1.6829419]),
        (nd.relu, None, [0, 0]),
        (nd.abs, None, [0, 0]),
    ],
)
def test_mxnet_values(function, first, again):
    x = nd.array([0.5, 1])
    x.attach_grad()
    with ag.record():
        (dx,) = ag.grad(function(x), [x], nd.array([1, 2]), create_graph=True)
    dx.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), again, 1e-5, 1e-7)
    if first is not None:
        np.testing.assert_allclose(dx.asnumpy(), first, 1e-5)


def test_sum_of_two():
    x = nd.array([1])
    x.attach_grad()
    with ag.record():
        z = nd.elemwise_add(nd.exp(x), x)
        (dx,) = ag.grad(z, [x], create_graph=True)
    dx.backward()
    np.testing.assert_allclose(dx.asscalar(), 3.7182817, 1e-6)
    np.testing.assert_allclose(x.grad.asscalar(), 2.7182817, 1e-6)


def test_fifth_order():
    x = nd.array([1.5], dtype="float64")
    x.attach_grad()
    with ag.record():
        y = x**5 + nd.sin(x) * x
        for _ in range(4):
            (y,) = ag.grad(y, [x], create_graph=True)
    y.backward()
    expected = 120 + 5 * np.sin(1.5) + 1.5 * np.cos(1.5)
    np.testing.assert_allclose(x.grad.asscalar(), expected, 1e-12)


def test_through_a_function():
    class Cube(ag.Function):
        def forward(self, x):
            self.save_for_backward(x)
            return x * x * x

        def backward(self, dy):
            (x,) = self.saved_tensors
            return dy * 3 * x * x

    first, again = second(lambda x: Cube()(x), [2.0])
    assert (first[0], again[0]) == (12, 12)
