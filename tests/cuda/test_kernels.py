"""Every kernel of cynet/cuda/kernels/, run by the emulator, against the CPU operator that computes
the same."""

import ctypes
import re
from pathlib import Path

import numpy as np
import pytest
from cynet.kernels.table import update_rules
from cynet.operator.tensor.broadcast import BroadcastProperty
from cynet.operator.update.update import ROWS as UPDATES
from cynet.optimizer._joined import JoinedUpdate

import cynet as mx
from cynet.base import config
from cynet.cuda import families
from cynet.operator.cuda.kernel_args import axes, layout, space
from cynet.operator.cuda.update import Numbers
from cynet.operator.tensor.unary import UnaryProperty
from cynet_cuda_cpu import EmulatedModule
from tests.cuda.running import (
    DOUBLE,
    DTYPES,
    INT,
    LONG,
    close,
    gradients,
    kernel,
    samples,
    types_of,
)  # fmt: skip

UNARY = {p.functor: p for p in reversed(UnaryProperty.__subclasses__()) if p.op_name}


def unary_operator(face, functor, dtype):
    """A function of one array or symbol that is that functor."""
    wide = "float32" if dtype == "float16" else dtype
    if functor == "softrelu":  # the operator takes no float16
        return lambda x: face.cast(
            face.Activation(face.cast(x, dtype=wide), act_type="softrelu"), dtype=dtype
        )
    name = {"zero": "zeros_like", "one": "ones_like"}.get(functor) or UNARY[functor].op_name
    return getattr(face, name)


@pytest.mark.parametrize("functor", families.functors("unary"))
def test_unary(functor):
    for kind in types_of("elementwise", "unary", f"cynet::functor::{functor}"):
        dtype = DTYPES[kind]
        x = samples(dtype)
        with np.errstate(all="ignore"):
            want = unary_operator(mx.nd, functor, dtype)(mx.nd.array(x, dtype=dtype)).asnumpy()
            for add in (0, 1):
                out = np.ones_like(x)
                run = kernel("elementwise", f"unary<cynet::functor::{functor}, {kind}>")
                run.launch([x, out, LONG(x.size), INT(add)], 3, 32, threads=2)
                close(out, want + x.dtype.type(add) if add else want, dtype)


@pytest.mark.parametrize("kind", ["float", "double", "cynet::half", "unsigned char", "long long"])
@pytest.mark.parametrize("offset", [0, 1, 2, 4, 8])
def test_packs(kind, offset, rng):
    """Arrays that begin at a pack or beside one, with elements left behind the last pack; nothing
    in front of or behind them is touched."""
    dtype = DTYPES[kind]
    a, b = (rng.integers(1, 9, 90).astype(dtype) for _ in range(2))
    for n in (1, 3, 4, 5, 8, 31, 64, 67):
        for start in ((offset,) * 3, (0, offset, 0), (0, 0, offset), (offset, 0, 0)):
            x, y, out = a[start[0] :][:n], b[start[1] :][:n], np.full(90, 3, dtype)
            of = [LONG(n), INT(1)]
            for name, arguments, want in (
                ("unary<cynet::functor::square", [x], x * x),
                ("binary<cynet::functor::plus", [x, INT(1), y, INT(1)], x + y),
                ("binary<cynet::functor::mul", [x, INT(1), y, INT(0)], x * y[0]),
                ("unary_grad<cynet::functor::two_x", [y, x], 2 * x * y),
                ("binary_grad<cynet::functor::grad_right", [y, x, INT(0), x, INT(1)], x * y),
            ):
                if "grad" in name and dtype not in ("float16", "float32", "float64"):
                    continue
                out[:] = 3
                target = out[start[2] :][:n]
                kernel("elementwise", f"{name}, {kind}>").launch([*arguments, target, *of], 2, 32)
                assert (target == want.astype(dtype) + out.dtype.type(3)).all(), (name, n, start)
                assert (out[: start[2]] == 3).all()
                assert (out[start[2] + n :] == 3).all()


GRADIENT_OF = {p.gradient: (p.functor, p.reads) for p in UNARY.values() if p.gradient}
GRADIENT_OF["softrelu_grad_y"] = ("softrelu", "y")


@pytest.mark.parametrize("functor", families.functors("unary_grad"))
def test_unary_gradients(functor):
    for kind in types_of("elementwise", "unary_grad", f"cynet::functor::{functor}"):
        dtype = DTYPES[kind]
        low, high = (1.1, 3) if functor == "arccosh_grad" else (-0.95, 0.95)
        x, g = samples(dtype, low=low, high=high), samples(dtype, low=1, high=2)
        known, data = x, mx.nd.array(x, dtype=dtype)
        if functor in UNARY:  # a function of its own: the gradient of another, as sinh is of cosh
            want = g * unary_operator(mx.nd, functor, dtype)(data).asnumpy()
        else:
            forward, reads = GRADIENT_OF[functor]
            if reads == "y":
                known = unary_operator(mx.nd, forward, dtype)(data).asnumpy()
            symbol = unary_operator(mx.sym, forward, dtype)(mx.sym.var("data"))
            found = gradients(symbol, {"data": data}, mx.nd.array(g, dtype=dtype))
            want = found["data"].asnumpy()
        for add in (0, 1):
            out = np.ones_like(x)
            run = kernel("elementwise", f"unary_grad<cynet::functor::{functor}, {kind}>")
            run.launch([g, known, out, LONG(x.size), INT(add)], 2, 64)
            close(out, want + x.dtype.type(add), dtype, 1e-4 if dtype == "float32" else None)


LEAKY = ("leaky", "elu", "selu", "gelu")
BINARY = {p.functor: p for p in BroadcastProperty.__subclasses__()}


def polygamma(x, n):
    """Of the order that n is cut to, element by element."""
    x, n = np.broadcast_arrays(x, n)
    rows = [
        mx.nd._internal._polygamma(mx.nd.array(v.reshape(1), dtype=x.dtype), n=int(k))
        for v, k in zip(x.ravel(), n.ravel())
    ]
    return np.concatenate([row.asnumpy() for row in rows]).reshape(x.shape)


def binary_reference(functor, a, b, dtype):
    """What the CPU operators say; functors that no binary operator has are computed here."""
    if functor == "grad_left":
        return a + b * 0
    if functor == "smooth_l1":
        x, s = a.astype("d"), b.astype("d") ** 2
        want = np.where(abs(x) > 1 / s, abs(x) - 0.5 / s, 0.5 * x * x * s)
        return want.astype(dtype)
    if functor == "polygamma":
        return polygamma(a, b)
    if functor in LEAKY:
        wide = "float32" if dtype == "float16" else dtype
        rows = [  # an operator has one slope for all
            mx.nd.LeakyReLU(mx.nd.array(x.reshape(1), dtype=wide), act_type=functor, slope=float(y))
            for x, y in zip(*(z.ravel() for z in np.broadcast_arrays(a, b)))
        ]
        shape = np.broadcast(a, b).shape
        return np.concatenate([r.asnumpy() for r in rows]).reshape(shape).astype(dtype)
    op = getattr(mx.nd, BINARY[functor].op_name)
    return op(mx.nd.array(a, dtype=dtype), mx.nd.array(b, dtype=dtype)).asnumpy()


@pytest.mark.parametrize("functor", families.functors("binary"))
def test_binary_and_broadcast(functor):
    for kind in types_of("elementwise", "binary", f"cynet::functor::{functor}"):
        dtype = DTYPES[kind]
        a, b = samples(dtype, 240), samples(dtype, 240, 0.5, 2)[::-1].copy()
        run = kernel("elementwise", f"binary<cynet::functor::{functor}, {kind}>")
        for sa, sb in ((1, 1), (1, 0), (0, 1)):
            for add in (0, 1):
                out = np.ones_like(a)
                run.launch([a, INT(sa), b, INT(sb), out, LONG(a.size), INT(add)], 4, 32)
                want = binary_reference(functor, a if sa else a[:1], b if sb else b[:1], dtype)
                close(out, want + a.dtype.type(add) if add else want, dtype)
        run = kernel("broadcast", f"broadcast<cynet::functor::{functor}, {kind}>")
        left, right = a[:20].reshape(4, 1, 5), b[:15].reshape(3, 5)
        out = np.ones((4, 3, 5), dtype)
        run.launch([left, right, out, space((4, 3, 5), (5, 0, 1), (0, 5, 1)), INT(0)], 2, 32)
        close(out, binary_reference(functor, left, right.reshape(1, 3, 5), dtype), dtype)


# Gradient functors that no broadcast operator has: g * f(a, b) in NumPy.
GRADIENTS = {
    "polygamma_grad": lambda a, b: polygamma(a, b + 1),
    "grad_one": lambda a, b: 1 + 0 * a,
    "grad_minus_one": lambda a, b: -1 + 0 * a,
    "grad_left": lambda a, b: a,
    "grad_right": lambda a, b: b,
    "div_lgrad": lambda a, b: 1 / b,
    "div_rgrad": lambda a, b: -a / b**2,
    "mod_rgrad": lambda a, b: -np.floor(a / b),
    "power_lgrad": lambda a, b: b * a ** (b - 1),
    "power_rgrad": lambda a, b: a**b * np.log(a),
    "hypot_lgrad": lambda a, b: a / np.hypot(a, b),
    "hypot_rgrad": lambda a, b: b / np.hypot(a, b),
    "greater_equal": lambda a, b: a >= b,
    "lesser": lambda a, b: a < b,
    "lesser_equal": lambda a, b: a <= b,
    "greater": lambda a, b: a > b,
    "equal": lambda a, b: a == b,
    "prod_grad": lambda a, b: b / a,
    "nansum_grad": lambda a, b: 1 + 0 * a,
    "nanprod_grad": lambda a, b: b / a,
    "norm_grad": lambda a, b: a / b,
    "sign_grad": lambda a, b: np.sign(a),
    "smooth_l1_grad": lambda a, b: np.where(abs(a) > 1 / b**2, np.sign(a), a * b**2),
}


def quotient(a, b):
    """a / b of integers, its fraction cut off; 0 where b is 0."""
    return 0 if b == 0 else (1 if (a < 0) == (b < 0) else -1) * (abs(a) // abs(b))


def whole_power(a, b):
    """a ** b of integers; a negative power of 1 and -1 is whole, of others 0."""
    return a**b if b >= 0 else {1: 1, -1: 1 - 2 * (b % 2)}.get(a, 0)


# The same of integers, which wrap: g * f(a, b, wrap) in Python.
WHOLE_GRADIENTS = {
    "grad_minus_one": lambda a, b, wrap: -1,
    "div_lgrad": lambda a, b, wrap: quotient(1, b),
    "div_rgrad": lambda a, b, wrap: quotient(wrap(-a), wrap(b * b)),
    "mod_rgrad": lambda a, b, wrap: -quotient(wrap(a - a % b), b) if b else 0,
    "power_lgrad": lambda a, b, wrap: b * wrap(whole_power(a, wrap(b - 1))) if b else 0,
    "prod_grad": lambda a, b, wrap: quotient(b, a),
    "nanprod_grad": lambda a, b, wrap: quotient(b, a),
}


def whole_gradient(functor, g, a, b, dtype):
    bits = np.iinfo(dtype).bits
    low = np.iinfo(dtype).min

    def wrap(value):
        return (value - low) % 2**bits + low

    rows = zip(g.tolist(), a.tolist(), b.tolist())
    return np.array([wrap(x * WHOLE_GRADIENTS[functor](y, z, wrap)) for x, y, z in rows], dtype)


@pytest.mark.parametrize("functor", families.functors("binary_grad"))
def test_binary_gradients(functor):
    for kind in types_of("elementwise", "binary_grad", f"cynet::functor::{functor}"):
        dtype = DTYPES[kind]
        a, b = samples(dtype, 60, 0.3, 2.9), samples(dtype, 60, 0.5, 2)[::-1].copy()
        g = samples(dtype, 60, 1, 2)
        if functor in WHOLE_GRADIENTS and np.dtype(dtype).kind in "iu":
            want = whole_gradient(functor, g, a, b, dtype)
        elif functor in GRADIENTS:
            wide = [x.astype("f" if dtype == "float16" else dtype) for x in (g, a, b)]
            want = wide[0] * GRADIENTS[functor](*wide[1:])
        else:
            want = leaky_gradient(functor, g, a, b, dtype)
        args = [g, a, INT(1), b, INT(1)]
        for add in (0, 1):
            out = np.ones_like(a)
            run = kernel("elementwise", f"binary_grad<cynet::functor::{functor}, {kind}>")
            run.launch([*args, out, LONG(60), INT(add)], 2, 32)
            close(out, want + add, dtype)
        run = kernel("broadcast", f"broadcast_grad<cynet::functor::{functor}, {kind}>")
        run.launch([g, a, b, out, space((60,), (1,), (1,)), INT(0)], 1, 64)
        close(out, want, dtype)


def leaky_gradient(functor, g, a, b, dtype):
    """Gradients of the functors that LeakyReLU is made of, by that operator."""
    act_type = functor.removesuffix("_grad")
    wide = "float32" if dtype == "float16" else dtype
    b[:] = b[0]
    symbol = mx.sym.LeakyReLU(mx.sym.var("data"), act_type=act_type, slope=float(b[0]))
    data = mx.nd.array(a, dtype=wide)
    found = gradients(symbol, {"data": data}, mx.nd.array(g, dtype=wide))
    return found["data"].asnumpy().astype(dtype)


JOINED = {  # rules that no operator has: their own numbers, how many states
    "nag": ((0.9,), 1),
    "adagrad": ((1e-3,), 1),
    "adadelta": ((0.9, 1e-3), 2),
    "adamax": ((0.9, 0.99), 2),
    "nadam": ((0.9, 0.99, 1e-3, 0.5, 0.25), 2),
    "lion": ((0.9, 0.99), 1),
    "adamw": ((0.9, 0.99, 1e-3, 0.5), 2),
}


@pytest.mark.parametrize("rule", JOINED)
@pytest.mark.parametrize("clip", [-1.0, 0.4])
def test_update_without_operator(rule, clip, rng):
    numbers, count = JOINED[rule]
    for kinds in types_of("update", "update", f"cynet::{rule}"):
        kind, _, _, master = kinds.split(", ")
        dtype, master = DTYPES[kind], master == "true"
        weight, grad = (rng.standard_normal(100).astype(dtype) for _ in range(2))
        state = [rng.uniform(0.5, 1.5, 100).astype("f" if master else dtype) for _ in range(count)]
        exact = weight.astype("f") if master else np.zeros(1, "d" if kind == "double" else "f")
        own = [*state, *[np.zeros(1, state[0].dtype)] * (3 - count)]
        first, kept = (
            mx.nd.array(weight, dtype=dtype),
            [mx.nd.array(s, dtype=s.dtype) for s in state],
        )
        known = (mx.nd.array(exact), tuple(kept)) if master else tuple(kept)
        update = JoinedUpdate(rule, [first], [mx.nd.array(grad, dtype=dtype)], [known], master)
        update([0.1], [0.01], 0.5, clip, [numbers])
        given, out = Numbers(0.1, 0.01, 0.5, clip, *numbers), np.zeros_like(weight)
        run = kernel("update", f"update<cynet::{rule}, {kinds}>")
        run.launch([weight, grad, out, *own, exact, given, LONG(100), INT(0)], 2, 64, threads=2)
        close(out, first.asnumpy(), dtype)
        for mine, theirs in zip(own, kept):
            close(mine, theirs.asnumpy(), mine.dtype.name)


RULES = [rule for rule, (_, on_gpus, _) in update_rules().items() if on_gpus]


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule not in JOINED])
@pytest.mark.parametrize("clip", [-1.0, 0.4])
def test_update(rule, clip, rng):
    name = next(n for n, p in UPDATES.items() if p.rule == rule)
    for kinds in types_of("update", "update", f"cynet::{rule}"):
        kind, _, _, master = kinds.split(", ")
        dtype, master = DTYPES[kind], master == "true"
        options = {"lr": 0.1, "wd": 0.01, "rescale_grad": 0.5}
        options["clip_grad" if rule == "ftml" else "clip_gradient"] = clip
        if rule == "ftml":
            options["t"] = 3
        prop = UPDATES[name](**options)
        states = ["float32" if master else dtype] * len(prop.states)
        weight, grad = (rng.standard_normal(100).astype(dtype) for _ in range(2))
        state = [rng.uniform(0.5, 1.5, 100).astype(t) for t in states]
        if rule == "rmspropalex":
            state[0] += 2  # n is larger than the square of the mean
        exact = weight.astype("f") if master else np.zeros(1, "d" if kind == "double" else "f")
        known = [mx.nd.array(a, dtype=a.dtype.name) for a in (weight, grad, *state)]
        if master:
            known.append(mx.nd.array(exact))
        want = getattr(mx.nd, ("mp_" if master else "") + name)(*known, **options).asnumpy()
        numbers = (*prop.numbers(), 0, 0, 0, 0, 0)[:5]
        params = Numbers(prop.lr, prop.wd, prop.rescale_grad, prop.clip, *numbers)
        own = [s.copy() for s in state]
        own += [np.zeros(1, states[0] if states else dtype)] * (3 - len(own))
        if master and not states:
            own = [np.zeros(1, "f")] * 3
        run = kernel("update", f"update<cynet::{rule}, {kinds}>")
        forms = [params]
        if not config.get("CYNET_CHECK_KERNELS"):  # which allows no pointer within a structure
            forms.append(Numbers(now=ctypes.addressof(params)))  # as in a recorded graph
        first = [a.copy() for a in (*own, exact)]
        for given in forms:
            out, states = np.zeros_like(weight), [a.copy() for a in first]
            run.launch([weight, grad, out, *states, given, LONG(100), INT(0)], 2, 64, threads=2)
            close(out, want, dtype)
            for mine, theirs in zip(states, known[2:]):
                if mine.size == 100:
                    close(mine, theirs.asnumpy(), mine.dtype.name)


def test_copy():
    for kind in types_of("index", "copy"):
        dtype = DTYPES[kind]
        x = samples(dtype, 60).reshape(3, 4, 5)
        data = mx.nd.array(x, dtype=dtype)
        cases = [  # result, its strides, strides in x, where to begin in x
            (mx.nd.transpose(data, axes=(2, 0, 1)), (1, 20, 5), 0),
            (mx.nd.reverse(data, axis=1), (20, -5, 1), 15),
            (mx.nd.slice(data, begin=(0, 1, 0), end=(3, 4, 5), step=(2, 2, 2)), (40, 10, 2), 5),
            (mx.nd.broadcast_to(data[:, :1], shape=(3, 6, 5)), (20, 0, 1), 0),
        ]
        for want, strides, begin in cases:
            shape = want.shape
            to = [int(np.prod(shape[i + 1 :])) for i in range(3)]
            walk = layout(shape, to, strides, start=begin)
            out = np.ones(want.size, dtype)
            run = kernel("index", f"copy<{kind}>")
            run.launch([x, out, walk, INT(0)], 2, 32)
            close(out, want.asnumpy().ravel(), dtype)
            run.launch([x, out, walk, INT(1)], 2, 32)
            close(out, 2 * want.asnumpy().ravel(), dtype)


@pytest.mark.parametrize("source, names", [
    ("softmax", ["softmax<float>", "softmax_grad<float>"]),
    ("reduce", ["reduce<cynet::sum, float>"]),
    ("index", ["copy<float>", "gather<float>"]),
])  # fmt: skip
def test_in_the_checking_mode(source, names):
    """No access out of bounds, no divergent barrier, in those that share memory or index."""
    module = EmulatedModule(families.text(source), f"{source}.cu", (), names, checked=True)
    x, out = samples("float32", 60), np.zeros(60, "f")
    if source == "softmax":
        for lanes in (1, 64):  # threads of a line
            sizes = [LONG(4), LONG(15), LONG(1), LONG(lanes), DOUBLE(1), INT(0)]
            tail = [*sizes, np.full(4, 15), INT(0)]
            module.get(names[0]).launch([x, out, *tail], 2, 64)
            module.get(names[1]).launch([x, out, x.copy(), *tail], 2, 64)
            close(out.reshape(4, 15), mx.nd.softmax(mx.nd.array(x).reshape((4, 15))).asnumpy(),
                  "float32")  # fmt: skip
    elif source == "reduce":
        total, parts = np.zeros(12, "f"), np.zeros(12, "d")
        module.get(names[0]).launch(
            [x, total, parts, axes((12, 5), (1,)), DOUBLE(1), INT(0)], 5, 64
        )
        close(parts, x.reshape(12, 5).sum(1).astype("d"), "float32")
    else:
        walk = layout((5, 12), (12, 1), (1, 5))
        module.get(names[0]).launch([x, out, walk, INT(0)], 3, 32)
        close(out.reshape(5, 12), x.reshape(12, 5).T, "float32")
        index = np.array([0, 11, 3, 2])
        sizes = [LONG(n) for n in (1, 12, 5, 4)]
        module.get(names[1]).launch([x, index, out, *sizes, INT(0)], 1, 32)
        close(out[:20].reshape(4, 5), x.reshape(12, 5)[index], "float32")


def test_every_source_is_tested():
    files = Path(__file__).parent.glob("test_*kernels.py")
    text = "".join(path.read_text() for path in files)
    tested = set(re.findall(r'(?:types_of|kernel)\(\s*"(\w+)"', text))
    # the others by the forms that launch them (tests/operator/cuda)
    forms = (Path(families.__file__).parent.parent / "operator" / "cuda").glob("*.py")
    text = "".join(path.read_text() for path in forms)
    assert all(name in tested or f'"{name}"' in text for name in families.sources())
