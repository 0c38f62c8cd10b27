"""float16 on the CPU: computed in float32, rounded once; parameters that stay float32."""

import numpy as np
import pytest

import cynet as mx
from cynet.operator import get_operator
from tests.operator.cases import all_cases
from tests.operator.narrow import beside
from tests.operator.runner import ADD, WRITE, Run

HALVED = [
    case
    for case in all_cases()
    if get_operator(case.op).prop.graph.traits.float32_beside_half is not None
]
EXACT = 2.0**-10  # of float16: half a unit in the last place, and what a second rounding may add


def rounded(run, half):
    """The inputs and states of `run`, of float32, as float16 holds them; those of `half`."""
    pairs = zip((*run.inputs, *run.aux), (*half.inputs, *half.aux))
    for wide, narrow in pairs:
        narrow[...] = wide.astype(narrow.dtype)
        wide[...] = narrow.astype(wide.dtype)


def close(found, wanted, what):
    """`found`, of float16, is `wanted` but for its rounding."""
    assert str(found.dtype) in ("float16", str(wanted.dtype)), what
    np.testing.assert_allclose(
        found.astype("d"), wanted.astype("d"), rtol=EXACT, atol=1e-6, err_msg=what
    )


@pytest.mark.parametrize("case", [pytest.param(c, id=c.id) for c in HALVED])
def test_as_float32_on_the_same_numbers(case):
    """Forward and backward under every request; added to what is there in float32, too."""
    wide, half = Run(case, "float32"), Run(case, "float16")
    rounded(wide, half)
    compare = lambda found, wanted, what, req: close(found, wanted, what)  # noqa: E731
    beside(half, wide, compare, compare)


@pytest.mark.parametrize("req", [WRITE, ADD])
@pytest.mark.parametrize("is_train", [True, False])
@pytest.mark.parametrize("fixed", [True, False])
def test_batch_norm(rng, req, is_train, fixed):
    """Against NumPy in float64: data and its gradient in float16, all else in float32."""
    x, head = (rng.standard_normal((6, 3, 5)).astype("float16") for _ in range(2))
    gamma, beta = (rng.uniform(0.5, 1.5, 3).astype("f") for _ in range(2))
    mean, var = rng.standard_normal(3).astype("f"), rng.uniform(0.5, 1.5, 3).astype("f")
    arrays = [mx.nd.array(a, dtype=a.dtype) for a in (x, gamma, beta)]
    grads = [mx.nd.ones(a.shape, dtype=a.dtype) for a in arrays]
    states = [mx.nd.array(mean), mx.nd.array(var)]
    data = mx.sym.Variable("data")
    norm = mx.sym.BatchNorm(data, name="bn", eps=1e-2, momentum=0.8, fix_gamma=fixed)
    names = norm.list_arguments()
    executor = norm.bind(
        mx.cpu(),
        dict(zip(names, arrays)),
        dict(zip(names, grads)),
        "write" if req == WRITE else "add",
        states,
    )
    found = executor.forward(is_train=is_train)[0]
    assert found.dtype == np.float16
    wide, scale = x.astype("d"), np.ones(3) if fixed else gamma.astype("d")
    m, v = (wide.mean((0, 2)), wide.var((0, 2))) if is_train else (mean, var)
    by = 1 / np.sqrt(v.astype("d") + 1e-2)
    normal = (wide - m[:, None]) * by[:, None]
    want = normal * scale[:, None] + beta[:, None]
    np.testing.assert_allclose(found.asnumpy(), want, rtol=2e-3, atol=2e-3)
    if not is_train:
        return
    executor.backward([mx.nd.array(head, dtype="float16")])
    g = head.astype("d")
    dbeta, dgamma = g.sum((0, 2)), (g * normal).sum((0, 2))
    dx = (scale * by)[:, None] * (g - dbeta[:, None] / 30 - normal * dgamma[:, None] / 30)
    before = 1 if req == ADD else 0
    for grad, wanted in zip(grads, (dx, 0 * dgamma if fixed else dgamma, dbeta)):
        tolerance = 2e-3 if grad.dtype == np.float16 else 1e-4
        np.testing.assert_allclose(grad.asnumpy(), wanted + before, tolerance, tolerance)
    np.testing.assert_allclose(states[0].asnumpy(), 0.8 * mean + 0.2 * m, 1e-4, 1e-4)
    np.testing.assert_allclose(states[1].asnumpy(), 0.8 * var + 0.2 * v, 1e-4, 1e-4)


INFERRED = [  # what MXNet 1.9.1 infers: given, then arguments, outputs, states
    ({"data": "float16"}, ["float16", "float32", "float32"], "float16", "float32"),
    ({"data": "float32"}, ["float32"] * 3, "float32", "float32"),
    ({"data": "float64"}, ["float64"] * 3, "float64", "float64"),
    (
        {"data": "float16", "bn_gamma": "float32"},
        ["float16", "float32", "float32"],
        "float16",
        "float32",
    ),
]


@pytest.mark.parametrize("given, arguments, output, state", INFERRED)
def test_types_of_batch_norm(given, arguments, output, state):
    norm = mx.sym.BatchNorm(mx.sym.Variable("data"), name="bn", output_mean_var=True)
    found = norm.infer_type(**given)
    assert [np.dtype(t) for t in found[0]] == arguments
    assert [np.dtype(t) for t in found[1]] == [output, state, state]
    assert [np.dtype(t) for t in found[2]] == [state, state]


def test_types_of_batch_norm_from_behind():
    total = mx.sym.BatchNorm(mx.sym.Variable("data"), name="bn") + mx.sym.Variable("y")
    found = dict(zip(total.list_arguments(), total.infer_type(y="float16")[0]))
    assert np.dtype(found["data"]) == "float16"
    assert np.dtype(found["bn_gamma"]) == "float32"


@pytest.mark.parametrize(
    "given",
    [
        {"data": "float16", "bn_gamma": "float16"},
        {"data": "float64", "bn_gamma": "float32"},
        {"data": "float32", "bn_gamma": "float64"},
    ],
)
def test_types_of_batch_norm_that_are_refused(given):
    norm = mx.sym.BatchNorm(mx.sym.Variable("data"), name="bn")
    with pytest.raises(mx.MXNetError, match="BatchNorm"):
        norm.infer_type(**given)


def test_one_input_of_another_type_is_refused():
    with pytest.raises((TypeError, ValueError), match="float32"):
        mx.nd.Convolution(
            mx.nd.ones((1, 1, 4, 4), dtype="float16"),
            mx.nd.ones((1, 1, 3, 3)),
            kernel=(3, 3),
            num_filter=1,
            no_bias=True,
        )


def test_in_place(rng):
    """An output written where the input lies."""
    x = rng.standard_normal((40, 50)).astype("float16")
    a = mx.nd.array(x, dtype="float16")
    mx.nd.Activation(a, act_type="tanh", out=a)
    np.testing.assert_allclose(a.asnumpy(), np.tanh(x.astype("f")), rtol=EXACT, atol=1e-6)
