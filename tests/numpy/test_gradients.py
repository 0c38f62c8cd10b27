"""Gradients of every public function of mx.np, mx.np.linalg, mx.np.random and mx.npx beside
numeric ones; those without a gradient are listed, each with its reason."""

import inspect

import numpy as np
import pytest

import cynet as mx
from tests.numpy.test_every_function import TABLE, given, names_in, public, table

N = mx.np
_RNG = np.random.default_rng(5)


def drawn(*shape):
    """Floats from 0.5 to 2 in any order, no two alike."""
    count = int(np.prod(shape))
    return (0.5 + 1.5 * (_RNG.permutation(count) + 0.3) / count).reshape(shape)


# --- what has none --------------------------------------------------------------------------------
TRUTH = "a result of bools"
PLACE = "a result of places or counts, which are whole numbers"
WHOLE = "takes whole numbers alone"
FLAT = "a step: the gradient is 0 wherever there is one"
FACT = "says something of arrays that does not depend on their elements"
MADE = "makes an array of sizes and Python numbers"
TEXT = "reads or writes text, files or memory of others"
SWITCH = "a switch of the thread"
REJECTED = "is drawn by rejection: a number is no function of its parameters"
NEW = "a new array of given values, which belongs to no graph"
DETECTION = "boxes that are compared and sorted, as in MXNet"


def listed(reason, names):
    return dict.fromkeys(names.split(), reason)


WITHOUT = {
    **listed(
        TRUTH,
        "np.all np.alltrue np.any np.sometrue np.allclose np.array_equal np.array_equiv np.isclose "
        "np.isfinite np.isinf np.isnan np.isneginf np.isposinf np.signbit np.equal np.not_equal "
        "np.greater np.greater_equal np.less np.less_equal np.logical_and np.logical_or "
        "np.logical_xor np.logical_not np.isin np.in1d npx.constraint_check",
    ),
    **listed(
        PLACE,
        "np.argmax np.argmin np.nanargmax np.nanargmin np.argsort np.argpartition np.lexsort "
        "np.argwhere np.nonzero np.flatnonzero np.count_nonzero np.digitize np.searchsorted "
        "np.unravel_index np.ravel_multi_index np.ix_ np.tril_indices np.triu_indices "
        "np.tril_indices_from np.triu_indices_from np.diag_indices_from np.linalg.matrix_rank "
        "np.random.multinomial np.random.randint npx.nonzero npx.random.bernoulli",
    ),
    **listed(
        WHOLE,
        "np.bitwise_and np.bitwise_or np.bitwise_xor np.bitwise_not np.bitwise_invert np.invert "
        "np.left_shift np.right_shift np.bitwise_left_shift np.bitwise_right_shift np.gcd np.lcm "
        "np.packbits np.unpackbits",
    ),
    **listed(FLAT, "np.floor_divide np.nextafter np.spacing npx.one_hot"),
    **listed(
        FACT,
        "np.can_cast np.promote_types np.min_scalar_type np.result_type np.ndim np.shape np.size "
        "np.isrealobj np.iscomplexobj np.empty_like np.full_like np.ones_like np.zeros_like "
        "np.shares_memory np.may_share_memory np.broadcast_shapes npx.shape_array "
        "npx.arange_like npx.multibox_prior",
    ),
    **listed(
        MADE,
        "np.arange np.bartlett np.blackman np.hamming np.hanning np.empty np.zeros np.ones "
        "np.full np.eye np.identity np.tri np.indices np.linspace np.logspace np.mirr np.npv "
        "np.ppmt np.pv np.rate",
    ),
    **listed(NEW, "np.array np.asarray np.asanyarray np.ascontiguousarray np.fill_diagonal"),
    **listed(
        TEXT,
        "np.array_repr np.genfromtxt np.from_dlpack np.set_printoptions npx.load npx.save "
        "npx.savez npx.from_dlpack npx.from_numpy npx.to_dlpack_for_read npx.to_dlpack_for_write "
        "npx.waitall",
    ),
    **listed(
        SWITCH,
        "npx.set_np npx.reset_np npx.set_np_shape npx.use_np npx.use_np_array npx.use_np_shape "
        "npx.is_np_array npx.is_np_shape npx.cpu npx.cpu_pinned npx.gpu npx.gpu_memory_info "
        "npx.num_gpus npx.current_context npx.current_device np.random.seed npx.random.seed",
    ),
    **listed(
        "draws of a number of elements that no parameter stands for",
        "np.random.rand np.random.randn np.random.random np.random.random_sample np.random.ranf "
        "np.random.standard_normal",
    ),
    **listed(REJECTED, "np.random.beta np.random.chisquare np.random.f"),
    **listed(DETECTION, "npx.multibox_detection npx.multibox_target"),
    "npx.stop_gradient": "stops it",
    "np.random.shuffle": "changes an array in place, which record() refuses",
    "np.trapz": "is np.trapezoid",
}

# --- what has one ---------------------------------------------------------------------------------
A, B, S = drawn(4, 3), drawn(4, 3), drawn(3, 3) + 3 * np.eye(3)
SPD = S @ S.T
WIDE = drawn(2, 4, 5, 5)
TEN = drawn(2, 3, 2, 3) + np.eye(6).reshape(2, 3, 2, 3) * 4
L = N.linalg
X = mx.npx
LENGTHS = np.array([2, 3, 1], "float64")


def whole(*values):
    return N.array(np.array(values), dtype="int64")


def signs_fixed(x):
    """Columns, each with its largest part positive: decompositions leave signs open."""
    at = np.abs(x.asnumpy()).argmax(-2)
    return x * N.array(np.sign(np.take_along_axis(x.asnumpy(), at[..., None, :], -2)), x.dtype)


LINALG = {
    "cholesky": (lambda a: L.cholesky(a @ a.T), S),
    "cond": (lambda a: [L.cond(a, p) for p in (None, 1, -2, "fro")], S),
    "cross": (L.cross, A, B),
    "det": (L.det, S),
    "diagonal": (L.diagonal, A),
    "eig": (lambda a: [L.eig(a)[0], signs_fixed(L.eig(a)[1])], SPD + 0.1 * S),
    "eigh": (lambda a: [L.eigh(a + a.T)[0], signs_fixed(L.eigh(a + a.T)[1])], S),
    "eigvals": (L.eigvals, SPD + 0.1 * S),
    "eigvalsh": (lambda a: L.eigvalsh(a + a.T), S),
    "inv": (L.inv, S),
    "lstsq": (lambda a, b: list(L.lstsq(a, b)[:2]), A, B),
    "matmul": (L.matmul, A, S),
    "matrix_norm": (lambda a: [L.matrix_norm(a, ord=p) for p in ("fro", "nuc", 2, 1)], A),
    "matrix_power": (lambda a: [L.matrix_power(a, n) for n in (3, -2)], S),
    "matrix_transpose": (L.matrix_transpose, A),
    "multi_dot": (lambda a, b: L.multi_dot([a, b, a]), A, drawn(3, 4)),
    "norm": (lambda a: [L.norm(a), *(L.norm(a, p, 1) for p in (1, 2, 3, np.inf))], A),
    "outer": (L.outer, A[0], B[:, 0]),
    "pinv": (L.pinv, A),
    "qr": (lambda a: list(L.qr(a)), A),
    "slogdet": (lambda a: L.slogdet(a)[1], S),
    "solve": (L.solve, S, A.T),
    "svd": (lambda a: [L.svd(a)[1], L.svd(a)[0] ** 2, L.svd(a)[2] ** 2], A),
    "svdvals": (L.svdvals, A),
    "tensordot": (lambda a, b: L.tensordot(a, b, 2), A, B),
    "tensorinv": (L.tensorinv, TEN),
    "tensorsolve": (L.tensorsolve, TEN, drawn(2, 3)),
    "trace": (L.trace, A),
    "vecdot": (L.vecdot, A, B),
    "vector_norm": (lambda a: [L.vector_norm(a, ord=p) for p in (1, 2, 3)], A),
}
PAIRS = drawn(2, 3, 2)  # real and imaginary parts
FFT = {
    **{name: (getattr(N.fft, name), A) for name in ("rfft", "rfft2", "rfftn")},
    **{name: (getattr(N.fft, name), PAIRS) for name in ("irfft", "irfft2", "irfftn")},
    **{
        f"{way}{n}": (getattr(N.fft, f"{way}{n}"), PAIRS)
        for way in ("fft", "ifft")
        for n in ("", "2", "n")
    },
}
R = N.random
DRAWS = {
    "choice": (lambda a: R.choice(a, 6), A[:, 0]),
    "exponential": (lambda a: R.exponential(a), A),
    "gamma": (lambda a: R.gamma(2.0, a), A),
    "gumbel": (lambda a, b: R.gumbel(a, b), A, B),
    "laplace": (lambda a, b: R.laplace(a, b), A, B),
    "logistic": (lambda a, b: R.logistic(a, b), A, B),
    "lognormal": (lambda a, b: R.lognormal(a, b), A, B),
    "multivariate_normal": (lambda m, c: R.multivariate_normal(m, c @ c.T, 2), A[0], S),
    "normal": (lambda a, b: R.normal(a, b), A, B),
    "pareto": (lambda a: R.pareto(a), A),
    "permutation": (lambda a: R.permutation(a), A),
    "power": (lambda a: R.power(a), A),
    "rayleigh": (lambda a: R.rayleigh(a), A),
    "uniform": (lambda a, b: R.uniform(a, b + 2), A, B),
    "weibull": (lambda a: R.weibull(a), A),
}
C = WIDE.shape[1]
EXTENSION = {
    "activation": (
        lambda a: [X.activation(a - 1, e) for e in ("relu", "sigmoid", "tanh", "softrelu")],
        A,
    ),
    "batch_dot": (X.batch_dot, drawn(2, 3, 4), drawn(2, 4, 2)),
    "batch_flatten": (X.batch_flatten, WIDE),
    "batch_norm": (
        lambda a, g, b: X.batch_norm(a, g, b, N.zeros_like(g), N.ones_like(g), fix_gamma=False),
        WIDE,
        drawn(C),
        drawn(C),
    ),
    "broadcast_like": (lambda a: X.broadcast_like(a, N.zeros((4, 3))), drawn(1, 3)),
    "cast": (lambda a: X.cast(a, "float64"), A),
    "cond": (lambda a: X.cond(lambda a: a.sum() > 0, lambda a: a * a, lambda a: -a, [a]), A),
    "convolution": (
        lambda a, w, b: X.convolution(a, w, b, kernel=(3, 3), num_filter=2),
        WIDE,
        drawn(2, C, 3, 3),
        drawn(2),
    ),
    "ctc_loss": (lambda a: X.ctc_loss(a, N.array([[1, 2], [2, 1.0]])), drawn(5, 2, 4)),
    "deconvolution": (
        lambda a, w: X.deconvolution(a, w, kernel=(3, 3), num_filter=2, stride=(2, 2)),
        WIDE,
        drawn(C, 2, 3, 3),
    ),
    "dropout": (lambda a: X.dropout(a, 0.5, mode="always"), A),
    "embedding": (lambda w: X.embedding(whole(0, 2, 2), w, 4, 3, dtype="float64"), A),
    "erf": (X.erf, A),
    "erfinv": (lambda a: X.erfinv(a / 3), A),
    "foreach": (lambda a: list(X.foreach(lambda d, s: (d * s, s + d), a, a[0] * 0 + 1)), A),
    "fully_connected": (X.fully_connected, A, drawn(2, 3), drawn(2)),
    "gamma": (X.gamma, A),
    "gammaln": (X.gammaln, A),
    "gather_nd": (lambda a: X.gather_nd(a, N.array([[0, 1, 1], [2, 0, 0]], dtype="int64")), A),
    "group_norm": (lambda a, g, b: X.group_norm(a, g, b, 2), WIDE, drawn(C), drawn(C)),
    "index_add": (lambda a, v: X.index_add(a, whole([0, 0]), v), A, B[:2]),
    "index_update": (lambda a, v: X.index_update(a, whole([0, 2]), v), A, B[:2]),
    "instance_norm": (X.instance_norm, WIDE, drawn(C), drawn(C)),
    "l2_normalization": (X.l2_normalization, A),
    "layer_norm": (X.layer_norm, A, drawn(3), drawn(3)),
    "leaky_relu": (
        lambda a, g: [
            X.leaky_relu(a - 1, g, act_type="prelu"),
            *(X.leaky_relu(a - 1, act_type=e) for e in ("leaky", "elu", "selu", "gelu")),
        ],
        A,
        drawn(3),
    ),
    "log_softmax": (X.log_softmax, A),
    "masked_log_softmax": (lambda a: X.masked_log_softmax(a, N.array([[1, 1, 0]] * 4))[:, :2], A),
    "masked_softmax": (lambda a: X.masked_softmax(a, N.array([[1, 0, 1]] * 4)), A),
    "pick": (lambda a: X.pick(a, N.array([0, 2, 1, 1])), A),
    "pooling": (
        lambda a: [X.pooling(a, kernel=(2, 2), pool_type=e) for e in ("max", "avg", "sum")],
        WIDE,
    ),
    "relu": (lambda a: X.relu(a - 1), A),
    "reshape": (lambda a: X.reshape(a, (-6, 2, 2, -4)), A),
    "reshape_like": (lambda a: X.reshape_like(a, N.zeros((6, 2))), A),
    "rnn": (
        lambda a, p, h: X.rnn(a, p, h, mode="gru", state_size=2, num_layers=1),
        drawn(3, 2, 3),
        drawn(3 * 2 * (3 + 2 + 2)) - 1,
        drawn(1, 2, 2),
    ),
    "roi_pooling": (
        lambda a: X.roi_pooling(a, N.array([[0, 0, 0, 3, 3]], dtype=a.dtype), (2, 2), 1.0),
        WIDE,
    ),
    "sequence_mask": (lambda a: X.sequence_mask(a, N.array(LENGTHS), True, value=7.0), A),
    "sigmoid": (X.sigmoid, A),
    "slice": (lambda a: X.slice(a, (1, 0), (4, 3), (2, 1)), A),
    "smooth_l1": (lambda a: X.smooth_l1(a - 1, 1.0), A),
    "softmax": (lambda a: [X.softmax(a), X.softmax(a, 0, temperature=2.0)], A),
    "softsign": (X.softsign, A),
    "topk": (lambda a: X.topk(a, k=2, ret_typ="value"), A),
    "while_loop": (
        lambda a: X.while_loop(
            lambda i, s: i < 3, lambda i, s: (s * s, (i + 1, s * 0.5)), (N.zeros(()), a), 3
        )[1][1],
        A,
    ),
}
EXTENSION_DRAWS = {
    "uniform_n": (lambda a, b: X.random.uniform_n(a, b + 2, 2), A, B),
    "normal_n": (lambda a, b: X.random.normal_n(a, b, 2), A, B),
}
SPACES = {
    "np.linalg": (L, LINALG),
    "np.fft": (N.fft, FFT),
    "np.random": (R, DRAWS),
    "npx": (X, EXTENSION),
    "npx.random": (X.random, EXTENSION_DRAWS),
}
# rows of the table have nothing in common once their elements are moved
COMMON = {"np.intersect1d": (lambda a: N.intersect1d(a, a.detach()[1:]), A)}
OTHERS = COMMON | {
    f"{space}.{name}": call for space, (_, t) in SPACES.items() for name, call in t.items()
}


def functions_of(space):
    return {
        n
        for n in dir(space)
        if not n.startswith("_")
        and callable(getattr(space, n))
        and not inspect.isclass(getattr(space, n))
    }


def every_name():
    found = {f"np.{name}" for name in public()}
    for path, (space, _) in SPACES.items():
        found |= {f"{path}.{name}" for name in functions_of(space)}
    return found


WALKED = sorted({f"np.{name}" for name in TABLE} - {*WITHOUT, *COMMON})


def test_every_function_is_walked_or_listed():
    walked = {*WALKED, *OTHERS}
    assert not walked & set(WITHOUT)
    assert every_name() == walked | set(WITHOUT)
    assert len(every_name()) >= 475 and len(walked) >= 317


# --- numeric gradients ----------------------------------------------------------------------------
def moved(value, count):
    """Float arrays in float64 with no two elements alike, off the places where steps are."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        count[0] += 1
        wave = np.sin(1.7 * np.arange(value.size) + count[0])
        return value.astype("float64") + 0.013 * wave.reshape(value.shape)
    return [moved(e, count) for e in value] if isinstance(value, list) else value


def arrays_in(args):
    for each in args:
        if isinstance(each, list):
            yield from arrays_in(each)
        elif isinstance(each, mx.np.ndarray) and each.dtype.kind == "f":
            yield each


def total(found):
    parts = found if isinstance(found, (list, tuple)) else [found]
    parts = [p for p in parts if isinstance(p, mx.np.ndarray) and p.dtype.kind == "f" and p.size]
    heads = [
        (p * mx.np.array(np.cos(np.arange(p.size)).reshape(p.shape), dtype=p.dtype)).sum()
        for p in parts
    ]
    return sum(heads[1:], heads[0]) if heads else None


def compared(run, inputs):
    """Whether there was a finite head; its gradients are those of small steps of each element."""

    def head_of():
        mx.random.seed(11)
        return total(run())

    for x in inputs:
        x.attach_grad()
    with mx.autograd.record(train_mode=True):
        head = head_of()
    if head is None or not np.isfinite(head.item()):
        return False
    head.backward()
    for k, x in enumerate(inputs):
        host, got = x.asnumpy(), x.grad.asnumpy()
        for at in np.ndindex(host.shape):
            ends = []
            for step in (1e-6, -1e-6):
                other = host.copy()
                other[at] += step
                x[...] = other
                with mx.autograd.train_mode():
                    ends.append(head_of().item())
            x[...] = host
            slope = (ends[0] - ends[1]) / 2e-6
            assert abs(slope - got[at]) < 1e-3 * (1 + abs(slope)), (k, at, slope, got[at])
    return True


# Rows of the table that hold no floats have none here, either.
MORE_ROWS = {
    "np.mod": [((np.array([5.3, 7.1]), np.array([2.0, 3.1])), {})],
    "np.fmod": [((np.array([5.3, 7.1]), np.array([2.0, 3.1])), {})],
    "np.histogram": [((A[:, 0], 3), {"weights": B[:, 0]})],
    "np.histogram2d": [((A[:, 0], B[:, 0], 3), {"weights": B[:, 1]})],
    "np.histogramdd": [((A, 2), {"weights": B[:, 1]})],
    "np.bincount": [((np.array([0, 2, 2, 1]), B[:, 1]), {})],
    "np.roots": [((np.array([1.0, -6.0, 11.0, -6.0]),), {})],
    "np.polydiv": [((drawn(5), drawn(3)), {})],
    "np.unique_all": [((A,), {})],
}
MORE_ROWS["np.remainder"] = MORE_ROWS["np.mod"]


@pytest.mark.parametrize("name", WALKED)
@pytest.mark.filterwarnings("ignore")
def test_gradients(name):
    run, tried = getattr(mx.np, name[3:]), 0
    rows = (*MORE_ROWS.get(name, ()), *table()[name[3:]])
    for args, kwargs in rows:
        if not {"float64", "float32"} & {*names_in(args)}:
            continue
        count = [0]
        own = [given(moved(a, count)) for a in args]
        own_kwargs = {k: given(moved(v, count)) for k, v in kwargs.items()}
        inputs = [x for x in arrays_in([*own, *own_kwargs.values()]) if x.size]
        if not inputs or tried == 4:
            continue
        tried += compared(lambda: run(*own, **own_kwargs), inputs)  # noqa: B023
    assert tried


@pytest.mark.parametrize("name", sorted(OTHERS))
@pytest.mark.filterwarnings("ignore")
def test_gradients_of_other_spaces(name):
    run, *values = OTHERS[name]
    mx.npx.set_np()
    try:
        inputs = [mx.np.array(each, dtype="float64") for each in values]
        assert compared(lambda: run(*inputs), inputs)
    finally:
        mx.npx.reset_np()
