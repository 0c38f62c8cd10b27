"""JoinedUpdate: several weights in one engine function; wrong arrays are refused."""

import copy
import ctypes
import itertools
import pickle

import numpy as np
import pytest
from cynet.optimizer._joined import KERNEL_ARGS_BYTES, JoinedUpdate

import cynet as mx
from cynet.base.errors import ArgumentError, ArgumentTypeError, ShapeError
from cynet.kernels.parallel import set_num_threads
from cynet.operator.cuda.update import KernelArgs


def test_one_call_is_many(rng):
    shapes = [(3,), (200, 100), (4, 5, 6)]
    for dtype in ("float32", "float64", "float16"):
        first = [rng.integers(-9, 10, shape).astype("d") for shape in shapes]  # sums are exact
        weights = [mx.nd.array(each, dtype=dtype) for each in first]
        grads = [mx.nd.ones(shape, dtype=dtype) for shape in shapes]
        update = JoinedUpdate("sgd", weights, grads, [None] * 3)
        update([0.5, 0.25, 0.0], [0.0, 0.5, 0.0], 2.0, -1.0, [()] * 3)
        wanted = [first[0] - 1.0, first[1] - 0.25 * (2 + 0.5 * first[1]), first[2]]
        for weight, value in zip(weights, wanted):
            np.testing.assert_array_equal(weight.asnumpy(), value.astype(dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("rule", ["sgd", "sgd_mom", "signsgd"])
@pytest.mark.parametrize("decay, rescale", [(0.0, 1.0), (0.25, 1.0), (0.0, -0.5), (0.0, np.nan)])
def test_rows_without_gradients(rule, dtype, decay, rescale, rng):
    """Where a gradient is 0 weights decay and move as ever; nothing else is passed over."""
    size = 70 * 64 + 13
    first = rng.integers(-8, 9, size).astype(dtype)
    grad = np.zeros(size, dtype)
    for begin, end in ((0, 1), (64, 128), (600, 601), (1535, 1537), (2048, 3072), (4470, size)):
        grad[begin:end] = rng.integers(-4, 5, end - begin)
    grad[[0, 600, 1535, 1536, size - 1]] = 4
    weight, state = mx.nd.array(first, dtype=dtype), mx.nd.ones(size, dtype=dtype)
    update = JoinedUpdate(
        rule, [weight], [mx.nd.array(grad, dtype=dtype)], [state if rule == "sgd_mom" else None]
    )
    update([0.5], [decay], rescale, -1.0, [(0.5,) if rule == "sgd_mom" else ()])
    moved = rescale * grad.astype("float64") + decay * first
    wanted = first - 0.5 * moved + (0.5 if rule == "sgd_mom" else 0)
    if rule == "signsgd":
        wanted = (1 - 0.5 * decay) * first - 0.5 * np.sign(grad)
    np.testing.assert_array_equal(weight.asnumpy(), wanted.astype(dtype))


@pytest.mark.parametrize("clip", [-1.0, 0.0, 0.5])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_clipping_at_the_edges(dtype, clip):
    """What is not a number stays it; infinities are clipped, or move a weight to one."""
    special = np.array([np.nan, np.inf, -np.inf, 0.5, -0.5, 2.0, -2.0, 0.0, -0.0])
    grad = np.tile(special, 9).astype(dtype)
    weight = mx.nd.ones(grad.size, dtype=dtype)
    update = JoinedUpdate("sgd", [weight], [mx.nd.array(grad, dtype=dtype)], [None])
    update([1.0], [0.0], 1.0, clip, [()])
    wanted = 1 - (grad if clip < 0 else np.clip(grad, -clip, clip))
    np.testing.assert_array_equal(weight.asnumpy(), wanted.astype(dtype))


def test_it_waits_for_gradients_and_is_waited_for():
    weight, grad = mx.nd.zeros(100000), mx.nd.zeros(100000)
    update = JoinedUpdate("sgd", [weight], [grad], [None])
    for i in range(50):
        grad[:] = i
        update([1.0], [0.0], 1.0, -1.0, [()])
        grad[:] = -1000
    assert (weight.asnumpy() == -sum(range(50))).all()


def test_arrays_may_die_before_the_step_runs():
    for _ in range(20):
        weight, grad = mx.nd.zeros(50000), mx.nd.ones(50000)
        JoinedUpdate("sgd", [weight], [grad], [None])([1.0], [0.0], 1.0, -1.0, [()])
        del weight, grad
    mx.nd.waitall()


def test_one_array_in_several_places():
    weight = mx.nd.ones(4)
    JoinedUpdate("sgd", [weight, weight[0:2]], [weight, weight[2:4]], [None, None])(
        [0.5, 0.5], [0.0, 0.0], 1.0, -1.0, [(), ()]
    )
    assert weight.asnumpy().tolist() == [0.25, 0.25, 0.5, 0.5]


def test_large_arrays_in_several_places(rng):
    """As if one came after the other, though threads share weights that lie apart."""
    first, grad = rng.standard_normal((2, 150000)).astype("f")
    weight = mx.nd.array(first)
    half, grads = weight[50000:], [mx.nd.array(grad), mx.nd.array(grad[50000:])]
    update = JoinedUpdate("sgd", [weight, half, weight], [*grads, weight], [None] * 3)
    update([0.5, 0.25, 0.5], [0.0] * 3, 1.0, -1.0, [()] * 3)
    wanted = first - np.float32(0.5) * grad
    wanted[50000:] -= np.float32(0.25) * grad[50000:]
    np.testing.assert_array_equal(weight.asnumpy(), wanted - np.float32(0.5) * wanted)


def test_fits():
    weights, grads, states = [mx.nd.ones(2)], [mx.nd.ones(2)], [mx.nd.ones(2)]
    update = JoinedUpdate("sgd_mom", weights, grads, states)
    assert update.is_made_for(weights, grads, states)
    assert not update.is_made_for([mx.nd.ones(2)], grads, states)
    assert not update.is_made_for(weights, grads, [mx.nd.ones(2)])
    assert not update.is_made_for([], [], [])


def test_new_arrays_under_an_old_index():
    optimizer = mx.optimizer.SGD(learning_rate=1.0)
    for _ in range(3):
        weight = mx.nd.ones(2)
        optimizer.update(0, weight, mx.nd.ones(2), None)
        assert weight.asnumpy().tolist() == [0, 0]


def test_copies_of_an_optimizer():
    optimizer = mx.optimizer.Adam()
    state = optimizer.create_state(0, mx.nd.ones(2))
    optimizer.update(0, mx.nd.ones(2), mx.nd.ones(2), state)
    for other in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        assert other.num_update == 1 and other._joined is None


@pytest.mark.parametrize(
    "args, error, word",
    [
        (("odd", [1], [1], [None]), ArgumentError, "odd"),
        (("sgd", [1], [1, 1], [None]), ArgumentError, "2 gradients"),
        (("sgd_mom", [1], [1], [None]), ArgumentError, "1 states"),
        (("sgd", [1], [1], [1]), ArgumentError, "0 states"),
        (("sgd", [1], ["text"], [None]), ArgumentTypeError, "gradient"),
        (("sgd", [1], [(3,)], [None]), ShapeError, r"\(2,\).*\(3,\)"),
        (("sgd_mom", [1], [1], [(3,)]), ShapeError, "state"),
    ],
)
def test_refused(args, error, word):
    def made(each):
        if each == 1:
            return mx.nd.ones(2)
        return mx.nd.ones(each) if isinstance(each, tuple) else each

    with pytest.raises(error, match=word):
        JoinedUpdate(args[0], *([made(each) for each in part] for part in args[1:]))


def test_norms_refused():
    one = [mx.nd.ones(2)]
    with pytest.raises(ArgumentError, match="rate by norms.*'odd'"):
        JoinedUpdate("sgd", one, [mx.nd.ones(2)], [None], False, "odd")
    with pytest.raises(
        ArgumentError, match="rule 'lamb_move' runs on CPUs alone"
    ):  # of no use without
        JoinedUpdate("lamb_move", one, [mx.nd.ones(2)], [(mx.nd.ones(2), mx.nd.ones(2))])


def expected(norm, weight, grad, states):
    """A step in NumPy: lr 0.25, wd 0.125, rescale 0.5, clip 0.5."""
    lr, wd, scaled = 0.25, 0.125, np.clip(0.5 * grad, -0.5, 0.5)
    length, slope = np.linalg.norm(weight), np.linalg.norm(grad)
    if norm == "lamb":
        mean, var = 0.5 * states[0] + 0.5 * scaled, 0.25 * states[1] + 0.75 * scaled**2
        step = mean / 0.75 / (np.sqrt(var / 0.875) + 0.01) + wd * weight
        rate = np.clip(length, 3.0, 20.0) / np.linalg.norm(step)
        return [weight - lr * rate * step, mean, var]
    if norm == "lars":
        rate = 0.1 * length / (0.5 * slope + wd * length + 0.01)
    else:
        rate = np.clip(np.sqrt(length**2 / (slope**2 + wd * length**2)), 0.01, 100)
    moved = 0.5 * states[0] - lr * rate * (scaled + wd * weight)
    return [weight + moved, moved]


NORMS = {
    "lamb": ("lamb_move", 2, (0.5, 0.25, 0.01 * 0.875**0.5, 0.875**0.5 / 0.75, 3.0, 20.0)),
    "lars": ("sgd_mom", 1, (0.5, 0.1, 0.01, 1)),
    "lbsgd": ("sgd_mom", 1, (0.5,)),
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("norm", NORMS)
def test_rates_by_norms(norm, dtype, rng):
    """Of weights that end within a block, at its end and before it; whatever the threads, and
    whether an array that lies in two places makes it one weight after the other."""
    rule, count, numbers = NORMS[norm]
    sizes, master = [9000, 3, 4096, 0, 70001, 1], dtype in ("float16", "bfloat16")
    shared, found = rng.standard_normal(max(sizes)), []
    drawn = [rng.uniform(0.5, 1.5, (2 + count, size)) for size in sizes]
    for apart, threads in itertools.product((False, True), (1, 2, 3)):
        weights = [mx.nd.array(each[0], dtype=dtype) for each in drawn]
        grads = [mx.nd.array(shared[:size], dtype=dtype) for size in sizes]
        wide = [weight.astype("float32") if master else weight for weight in weights]
        own = [[mx.nd.array(s, dtype=w.dtype) for s in each[2:]] for each, w in zip(drawn, wide)]
        before = [
            [a.astype("float64").asnumpy() for a in (w, g, *s)] for w, g, s in zip(wide, grads, own)
        ]
        states = [(w, tuple(s)) if master else tuple(s) for w, s in zip(wide, own)]
        if apart:
            for column in (weights, grads, states, wide, own, before):
                column.append(column[0])
        threads = mx.set_num_threads(threads)
        try:
            update = JoinedUpdate(rule, weights, grads, states, master, norm)
            n = len(weights)
            update([0.25] * n, [0.125] * n, 0.5, 0.5, [numbers] * n)
            found.append([a.asnumpy() for w, s in zip(wide, own) for a in (w, *s)])
        finally:
            mx.set_num_threads(threads)
        if not apart:
            for weight, one, old, s in zip(weights, wide, before, own):
                np.testing.assert_array_equal(weight.asnumpy(), one.astype(dtype).asnumpy())
                if one.size:
                    near = {"rtol": 1e-12 if dtype == "float64" else 2e-5, "atol": 1e-6}
                    for mine, want in zip((one, *s), expected(norm, old[0], old[1], old[2:])):
                        np.testing.assert_allclose(mine.asnumpy(), want, **near)
    for others in found[1:3]:
        for one, other in zip(found[0], others):
            np.testing.assert_array_equal(one, other)
    skipped = 1 + count  # the first weight, which has moved twice
    for others in found[3:]:
        for one, other in zip(found[0][skipped:], others[skipped:]):
            np.testing.assert_array_equal(one, other)


def test_dtypes_refused():
    ints, floats = mx.nd.ones(2, dtype="int32"), mx.nd.ones(2)
    with pytest.raises(ArgumentTypeError, match="int32"):
        JoinedUpdate("sgd", [ints], [ints], [None])
    with pytest.raises(ArgumentTypeError, match="float64"):
        JoinedUpdate("sgd", [floats], [mx.nd.ones(2, dtype="float64")], [None])
    half = mx.nd.ones(2, dtype="float16")
    with pytest.raises(ArgumentTypeError, match="float16.*float32 copy float16.*expected float32"):
        JoinedUpdate("sgd", [half], [half], [(half, None)], True)
    update = JoinedUpdate("sgd", [floats], [floats], [None])
    with pytest.raises(ArgumentError, match="2 rates"):
        update([1.0, 1.0], [0.0], 1.0, -1.0, [()])
    with pytest.raises(TypeError, match="must be real number, not str"):
        update(["x"], [0.0], 1.0, -1.0, [()])


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("rule, states", [("sgd", 0), ("nag", 1), ("adam", 2), ("rmspropalex", 3)])
def test_threads_share_all_weights(rule, states, threads, rng):
    """A share ends within a weight; each weight is what it would be alone, bit for bit."""
    sizes, before = [70001, 5, 513, 1, 40000, 300, 90000], mx.set_num_threads(threads)
    kinds = ["float32", "float64", "float32", "float32", "float16", "float32", "float16"]
    master = rule in ("sgd", "nag")
    found = []
    try:
        for together in (True, False):
            mine = np.random.default_rng(4)
            weights, grads, kept = [], [], []
            for size, kind in zip(sizes, kinds):
                first, grad = mine.standard_normal((2, size))
                weights.append(mx.nd.array(first, dtype=kind))
                grads.append(mx.nd.array(grad, dtype=kind))
                other = "float32" if master else kind
                own = [mx.nd.array(mine.uniform(1, 2, size), dtype=other) for _ in range(states)]
                own = own[0] if len(own) == 1 else tuple(own) or None
                if master and kind == "float16":
                    own = (mx.nd.array(first), own)
                kept.append(own)
                if kind != "float16" and master and states:
                    kept[-1] = mx.nd.array(mine.uniform(1, 2, size), dtype=kind)
            numbers = (0.5, 0.25, 0.125, 0.5)[: 1 if rule == "nag" else 4]
            groups = [range(len(sizes))] if together else [[k] for k in range(len(sizes))]
            for group in groups:
                parts = [[column[k] for k in group] for column in (weights, grads, kept)]
                update = JoinedUpdate(rule, *parts, master)
                n = len(group)
                update([0.25] * n, [0.125] * n, 0.5, 1.0, [numbers] * n)
            flat = [a for k in kept for a in (k if isinstance(k, tuple) else (k,))]
            flat = [b for a in flat for b in (a if isinstance(a, tuple) else (a,)) if b is not None]
            found.append([a.asnumpy() for a in (*weights, *flat)])
    finally:
        mx.set_num_threads(before)
    for one, other in zip(*found, strict=True):
        assert one.tobytes() == other.tobytes()


def test_gpus_are_given_what_their_kernel_takes():
    """`KernelArgs` is what the tests of update.cu hand to it."""
    assert ctypes.sizeof(KernelArgs) == KERNEL_ARGS_BYTES


@pytest.mark.parametrize("threads", [1, 2])
def test_a_weight_that_is_anothers_gradient(threads):
    """The second step reads what the first has written, whatever threads there are."""
    n = 1 << 18
    first, second, gradient = mx.nd.ones(n), mx.nd.ones(n), mx.nd.full(n, 2.0)
    before = set_num_threads(threads, beyond_cores=True)
    try:
        update = JoinedUpdate("sgd", [first, second], [gradient, first], [None] * 2)
        for wanted in ([0.0, 1.0], [-1.0, 2.0]):
            update([0.5, 1.0], [0.0, 0.0], 1.0, -1.0, [(), ()])
            for array, value in zip((first, second), wanted):
                np.testing.assert_array_equal(array.asnumpy(), value)
    finally:
        set_num_threads(before)
