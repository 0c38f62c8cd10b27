"""bfloat16 operators: float32's on the same numbers, rounded once; products of the processor's own
instructions, and without them."""

import os
import subprocess
import sys

import numpy as np
import pytest

import cynet as mx
from cynet.base.dtype import BFLOAT16, name_of
from cynet.base.errors import CynetError
from cynet.kernels.conv import onednn
from cynet.operator import get_operator
from tests.bfloat16 import as_type, narrowed, widened
from tests.operator.cases import all_cases
from tests.operator.narrow import beside
from tests.operator.runner import ADD, Run

EXACT = 2.0**-8  # half a unit in the last place
# What is refused, and why
REFUSED = {
    "_contrib_group_adagrad_update": "a state of bfloat16",
    "_image_resize": "OpenCV does it",
    "_contrib_quantize": "float32 alone",
    "_quantize_linear": "float32 alone",
    "_contrib_quantize_asym": "float32 alone",
    "_contrib_quantize_v2": "float32 alone",
    "_npi_nextafter": "computed in float32",
    "_npi_nextafter_scalar": "computed in float32",
    "_npi_rnextafter_scalar": "computed in float32",
}
# A number beside an array is one of the array's dtype, as in MXNet, and this function jumps.
JUMPS = {"_rmod_scalar", "_mod_scalar"}


def bfloat16_of(wide):
    """The Run in bfloat16 on the numbers of `wide`, of float32, which are rounded for both."""
    narrow = Run(wide.case, "bfloat16")
    for a, b in zip((*wide.inputs, *wide.aux), (*narrow.inputs, *narrow.aux)):
        b[...] = as_type(a, b.dtype)
        a[...] = as_type(b, a.dtype)
    return narrow


def follows(case):
    """Whether an input has the dtype under test."""
    return "float32" in case.dtypes and any(
        each.dtype is None for each in (*case.inputs, *case.aux)
    )


CASES = [case for case in all_cases() if follows(case) and case.op not in JUMPS]


def close(found, wanted, what, steps, terms):
    """`found`, of bfloat16, is `wanted` but for its rounding, `steps` times, and where it is a sum
    of `terms` that are rounded, for theirs."""
    if found.dtype != BFLOAT16:
        wanted = wanted.astype(found.dtype)
    scale = np.abs(np.nan_to_num(widened(wanted).astype("d"), posinf=0, neginf=0)).max(initial=0)
    np.testing.assert_allclose(
        widened(found).astype("d"),
        widened(wanted).astype("d"),
        rtol=1.01 * steps * EXACT,
        atol=1e-30 + (EXACT if terms else 1e-6) * scale,
        err_msg=what,
    )


@pytest.mark.parametrize("case", [pytest.param(c, id=c.id) for c in CASES])
def test_as_float32_on_the_same_numbers(case):
    """Forward and backward under every request."""
    wide = Run(case, "float32")
    try:
        narrow = bfloat16_of(wide)
    except CynetError as error:
        assert get_operator(case.op).name in REFUSED, error
        return
    assert get_operator(case.op).name not in REFUSED
    spread = case.op.startswith("broadcast")  # whose gradients are sums
    steps = 3 if case.op in ("add_n", "ElementWiseSum") else 1.5
    beside(
        narrow,
        wide,
        lambda a, b, what, req: close(a, b, what, steps, req == ADD),
        lambda a, b, what, req: close(a, b, what, steps, req == ADD or spread),
        as_type,
        lambda head: narrowed(widened(head)),
    )


# --- products -------------------------------------------------------------------------------------
def draw(rng, *shape):
    return widened(narrowed(rng.standard_normal(shape).astype("f")))


def half(array):
    return mx.nd.array(array, dtype="bfloat16")


def run(function, arrays, head, req="write"):
    """(output, gradients) of a function of bfloat16 arrays, as float32."""
    arrays = [half(each) for each in arrays]
    for each in arrays:
        each.attach_grad(req)
        if req == "add":
            each.grad[:] = 1
    with mx.autograd.record():
        out = function(*arrays)
    out.backward(half(head))
    assert {out.dtype, *(each.grad.dtype for each in arrays)} == {BFLOAT16}
    return out.asnumpy(), [each.grad.asnumpy() for each in arrays]


def near(found, wanted, terms):
    """Within a rounding to bfloat16, and what float32 sums of so many terms may lose."""
    atol = 4 * terms * 2.0**-24 * np.abs(wanted).max() + 1e-6
    np.testing.assert_allclose(found, wanted, rtol=1.01 * EXACT, atol=atol)


@pytest.mark.parametrize("rows, units, hidden", [(64, 96, 33), (1, 7, 5), (130, 300, 70)])
@pytest.mark.parametrize("act", [None, "relu", "tanh"])
def test_fully_connected(rng, rows, units, hidden, act):
    x, w, b = draw(rng, rows, units), draw(rng, hidden, units), draw(rng, hidden)
    head = draw(rng, rows, hidden)
    found, grads = run(lambda *a: mx.nd.FullyConnected(*a, num_hidden=hidden), [x, w, b], head)
    wanted = x.astype("d") @ w.T + b
    near(found, wanted, units)
    for grad, want, n in zip(
        grads,
        (head.astype("d") @ w, head.T.astype("d") @ x, head.sum(0, dtype="d")),
        (hidden, rows, rows),
    ):
        near(grad, want, n)
    # in a graph the activation is joined to it
    net = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=hidden, name="f")
    net = net if act is None else mx.sym.Activation(net, act_type=act)
    arrays = dict(zip(net.list_arguments(), map(half, (x, w, b))))
    places = {k: mx.nd.zeros(v.shape, dtype="bfloat16") for k, v in arrays.items()}
    executor = net.bind(mx.cpu(), arrays, places)
    out = executor.forward(is_train=True)[0].asnumpy()
    want = {None: wanted, "relu": np.maximum(wanted, 0), "tanh": np.tanh(wanted)}[act]
    np.testing.assert_allclose(out, want, rtol=2 * EXACT, atol=2 * EXACT)
    executor.backward([half(head)])
    slope = {None: 1 + 0 * out, "relu": out > 0, "tanh": 1 - out.astype("d") ** 2}[act]
    g = head * slope
    scale = np.abs(g.T @ x).max()
    np.testing.assert_allclose(
        places["f_weight"].asnumpy(), g.T @ x, rtol=2 * EXACT, atol=2 * EXACT * scale
    )


def test_gradients_are_added(rng):
    x, w, b, head = draw(rng, 40, 30), draw(rng, 20, 30), draw(rng, 20), draw(rng, 40, 20)
    call = lambda *a: mx.nd.FullyConnected(*a, num_hidden=20)  # noqa: E731
    wanted = (head.astype("d") @ w, head.T.astype("d") @ x, head.sum(0, dtype="d"))
    for grad, want in zip(run(call, [x, w, b], head, "add")[1], wanted):
        np.testing.assert_allclose(grad, want + 1, rtol=2 * EXACT, atol=EXACT)


@pytest.mark.parametrize("a", [False, True])
@pytest.mark.parametrize("b", [False, True])
@pytest.mark.parametrize("req", ["write", "add"])
@pytest.mark.parametrize("batch", [(), (3,)])
def test_dot(rng, a, b, req, batch):
    """dot and batch_dot, each operand transposed or not."""
    m, n, k = 17, 33, 70
    lhs = draw(rng, *batch, *((k, m) if a else (m, k)))
    rhs = draw(rng, *batch, *((n, k) if b else (k, n)))
    head = draw(rng, *batch, m, n)
    call = mx.nd.batch_dot if batch else mx.nd.dot
    found, grads = run(lambda x, y: call(x, y, transpose_a=a, transpose_b=b), [lhs, rhs], head, req)
    left, right = (
        x.astype("d").swapaxes(-1, -2) if t else x.astype("d") for x, t in ((lhs, a), (rhs, b))
    )
    near(found, left @ right, k)
    wanted = head @ right.swapaxes(-1, -2), left.swapaxes(-1, -2) @ head
    for grad, want, t in zip(grads, wanted, (a, b)):
        want = (want.swapaxes(-1, -2) if t else want) + (req == "add")
        np.testing.assert_allclose(grad, want, rtol=2 * EXACT, atol=EXACT)


CONVOLUTIONS = [  # data, filters, parameters
    ((2, 3, 9, 8), 5, {"kernel": (3, 3), "pad": (1, 1)}),
    ((2, 32, 14, 14), 48, {"kernel": (3, 3), "pad": (1, 1)}),
    ((3, 16, 7, 9), 32, {"kernel": (1, 1), "stride": (2, 2)}),
    ((2, 8, 12, 11), 8, {"kernel": (3, 3), "dilate": (2, 2), "num_group": 4}),
    ((2, 6, 10, 10), 6, {"kernel": (3, 3), "num_group": 6, "no_bias": True}),
    ((2, 4, 17), 6, {"kernel": (5,), "pad": (2,), "stride": (2,)}),
    ((1, 4, 5, 6, 7), 6, {"kernel": (3, 3, 3), "no_bias": True}),
]


@pytest.mark.parametrize("shape, filters, params", CONVOLUTIONS, ids=str)
@pytest.mark.parametrize("req", ["write", "add"])
def test_convolution(rng, shape, filters, params, req):
    """Against float64's on the same numbers, which other tests hold to NumPy's."""
    channels = shape[1] // params.get("num_group", 1)
    arrays = [draw(rng, *shape), draw(rng, filters, channels, *params["kernel"])]
    if not params.get("no_bias"):
        arrays.append(draw(rng, filters))

    def call(*given):
        return mx.nd.Convolution(*given, num_filter=filters, **params)

    exact = [mx.nd.array(each, dtype="float64") for each in arrays]
    for each in exact:
        each.attach_grad()
    with mx.autograd.record():
        wanted = call(*exact)
    head = draw(rng, *wanted.shape)
    wanted.backward(mx.nd.array(head, dtype="float64"))
    found, grads = run(call, arrays, head, req)
    near(found, wanted.asnumpy(), channels * 27)
    for grad, each in zip(grads, exact):
        want = each.grad.asnumpy() + (req == "add")
        atol = 2.0**-14 * np.abs(want).max() + 2 * EXACT * (req == "add")
        np.testing.assert_allclose(grad, want, rtol=2 * EXACT, atol=atol)


def residual_block():
    """Symbols that the passes join, in channels-last memory."""
    x = mx.sym.var("x")
    y = mx.sym.Convolution(x, kernel=(3, 3), pad=(1, 1), num_filter=16, name="a")
    y = mx.sym.Activation(y, act_type="relu")
    y = mx.sym.Convolution(y, kernel=(1, 1), num_filter=8, no_bias=True, name="b")
    y = mx.sym.Activation(y + x, act_type="relu")
    y = mx.sym.Pooling(y, kernel=(2, 2), stride=(2, 2), pool_type="max")
    return mx.sym.FullyConnected(y, num_hidden=4, name="c")


@pytest.mark.parametrize("is_train", [True, False])
def test_a_graph(rng, is_train):
    """Convolutions, a sum, activations and pooling in bfloat16 throughout, and in float32."""
    net, results = residual_block(), []
    shapes = dict(zip(net.list_arguments(), net.infer_shape(x=(3, 8, 12, 12))[0]))
    values = {
        name: draw(rng, *shape) * (1 if name == "x" else 0.2) for name, shape in shapes.items()
    }
    head = draw(rng, 3, 4)
    for dtype in ("float32", "bfloat16"):
        arrays = {k: mx.nd.array(v, dtype=dtype) for k, v in values.items()}
        places = {k: mx.nd.zeros(v.shape, dtype=dtype) for k, v in values.items()}
        executor = net.bind(mx.cpu(), arrays, places if is_train else None)
        for _ in range(3):  # prepacked weights are made by the second run
            found = [executor.forward(is_train=is_train)[0]]
        if is_train:
            executor.backward([mx.nd.array(head, dtype=dtype)])
            found += places.values()
        assert {name_of(each.dtype) for each in found} == {dtype}
        results.append([each.asnumpy() for each in found])
    out, rounded = (each[0] for each in results)
    assert np.abs(out - rounded).max() <= 0.04 * np.abs(out).max()
    # Where a relu or a maximum is that of another pixel, a gradient goes elsewhere: its direction
    # stays. The cosine was 0.967 at least in 260 draws.
    for a, b in zip(*results):
        a, b = a.astype("d").ravel(), b.astype("d").ravel()
        assert a @ b >= 0.9 * np.linalg.norm(a) * np.linalg.norm(b)


ELSEWHERE = """
import sys
from cynet.kernels.conv import onednn
assert not onednn.takes_bfloat16()
import pytest
sys.exit(pytest.main(["-q", "-x", "-p", "no:randomly", "tests/operator/test_bfloat16.py", "-k",
                      "fully_connected or dot or convolution or graph or added"]))
"""


@pytest.mark.skipif(not onednn.takes_bfloat16(), reason="the tests above went that way")
def test_without_instructions_for_it():
    """The same on a processor that has AVX2 alone."""
    run = subprocess.run(
        [sys.executable, "-c", ELSEWHERE],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "CYNET_CPU_CAPABILITY": "avx2"},
    )
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-2000:]


def test_products_beside_float32_are_refused():
    with pytest.raises(ValueError, match="FullyConnected.*bfloat16.*float32.*alike"):
        mx.nd.FullyConnected(
            half(np.ones((2, 3))), half(np.ones((4, 3))), mx.nd.ones((4,)), num_hidden=4
        )


def test_updates(rng):
    """float32 masters, against NumPy."""
    w32, grad = rng.standard_normal((5, 7)).astype("f"), draw(rng, 5, 7)
    master, weight, mom = mx.nd.array(w32), half(w32), mx.nd.zeros((5, 7))
    mx.nd.mp_sgd_mom_update(weight, half(grad), mom, master, lr=0.1, momentum=0.9, out=weight)
    np.testing.assert_allclose(master.asnumpy(), w32 - np.float32(0.1) * grad, rtol=1e-6)
    assert (weight.host_copy() == narrowed(master.asnumpy())).all()
    plain = half(w32)
    mx.nd.sgd_update(plain, half(grad), lr=0.1, out=plain)
    wanted = narrowed(widened(narrowed(w32)) - np.float32(0.1) * grad)
    assert (plain.host_copy() == wanted).all()


@pytest.mark.parametrize("name", ["sgd", "adam", "nag", "adamax"])
@pytest.mark.parametrize("multi", [True, False])
def test_optimizers(name, multi, rng):
    """Ten steps on a bowl, each beside float32's step from the same weights."""
    options = {"learning_rate": 0.05, "multi_precision": multi}
    optimizer, exact = mx.optimizer.create(name, **options), mx.optimizer.create(name, **options)
    start = draw(rng, 30)
    weight, wide = half(start), mx.nd.array(start)
    if multi:
        state = optimizer.create_state_multi_precision(0, weight)
    else:
        with pytest.warns(UserWarning, match="bfloat16 weights lose small updates"):
            state = optimizer.create_state_multi_precision(0, weight)
    other = exact.create_state_multi_precision(0, wide)
    for _ in range(10):
        before = weight.asnumpy().astype("d")
        if not multi:  # the copy in float32 goes on by itself
            wide[:] = before
        grad = half(2 * before)
        optimizer.update_multi_precision(0, weight, grad, state)
        exact.update_multi_precision(0, wide, grad.astype("float32"), other)
        after, wanted = weight.asnumpy().astype("d"), wide.asnumpy().astype("d")
        moved = np.abs(wanted - before)
        # The weight is rounded, and states that have no copy are, too: Adam's mean of squares, of
        # which a thousandth is new in each step, more than others; a mean of gradients of both
        # signs (adamax) is small beside what was rounded, and so is a step that it makes small.
        states = 0 if multi else {"adam": 0.05, "adamax": 0.1}.get(name, 4 * EXACT)
        usual = np.maximum(moved, 0.025) if name in ("adam", "adamax") else moved
        limit = 1.01 * EXACT * np.abs(wanted) + states * usual + 1e-6
        assert (np.abs(after - wanted) <= limit).all()
        assert (np.abs(after - before) >= moved - limit).all() and moved.max() > 0.02
    assert weight.dtype == BFLOAT16
