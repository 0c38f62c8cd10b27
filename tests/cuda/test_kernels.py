"""Every kernel of cynet/cuda/kernels/, run by the emulator, against the CPU operator that computes
the same."""

import ctypes
from types import SimpleNamespace

import numpy as np
import pytest
from cynet.operator._elementwise import LoopsOperator
from cynet.operator._testing import run_forward
from cynet.optimizer._joined import JoinedUpdate

import cynet as mx
from cynet.base import config
from cynet.cuda import families
from cynet.kernels.table import update_rules
from cynet.operator.cuda.kernel_args import axes_of, layout_args, space_of
from cynet.operator.cuda.update import KernelArgs
from cynet.operator.elementwise_loop import Loop
from cynet_cuda_cpu import EmulatedModule
from tests.cuda.running import DOUBLE, DTYPES, INT, LONG, close, kernel, samples, types_of
from tests.operator.runner import ADD, WRITE


def quotient(a, b):
    """a / b of integers, its fraction cut off; 0 where b is 0."""
    return 0 if b == 0 else (1 if (a < 0) == (b < 0) else -1) * (abs(a) // abs(b))


def whole_power(a, b):
    """a ** b of integers; a negative power of 1 and -1 is whole, of others 0."""
    return a**b if b >= 0 else {1: 1, -1: 1 - 2 * (b % 2)}.get(a, 0)


# Gradients of integers, which wrap: g * f(a, b, wrap).
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


FAMILIES = {"unary": 1, "unary_grad": 2, "binary": 2, "binary_grad": 3}  # how many arrays are read
FUNCTORS = [(family, functor) for family in FAMILIES for functor in families.functors(family)]


def on_the_cpu(family, functor, arrays, add):
    """What the CPU's loop of a functor writes, or adds to 1; arrays of one element are numbers."""

    def loops(prop, inputs, outputs):
        reads = (float(a[0]) if a.size == 1 else i for a, i in zip(arrays, inputs))
        return [Loop(family, functor, tuple(reads), outputs[0])]

    graph = SimpleNamespace(forward_loops=loops, backward_loops=lambda *_: [])
    prop = SimpleNamespace(graph=graph, list_arguments=lambda: arrays, list_outputs=lambda: ["y"])
    out = np.ones(max(a.size for a in arrays), arrays[0].dtype)
    operator = LoopsOperator(prop, out.dtype.name)
    run_forward(operator, [a.ravel() for a in arrays], [ADD if add else WRITE], [out])
    return out


@pytest.mark.parametrize("family, functor", FUNCTORS)
def test_functor(family, functor):
    """Every instance of elementwise.cu and broadcast.cu, against the CPU's loop of the functor."""
    for kind in types_of("elementwise", family, f"cynet::functor::{functor}"):
        dtype = DTYPES[kind]
        a, b, g = samples(dtype), samples(dtype, low=0.5, high=2)[::-1], samples(dtype, 257, 1, 2)
        arrays = ([g] if family.endswith("grad") else []) + [a, b.copy()]
        arrays = arrays[: FAMILIES[family]]
        name = f"{family}<cynet::functor::{functor}, {kind}>"
        for numbers in [(), (-1,), (-2,)] if family.startswith("binary") else [()]:
            given = [x[100:101] if i - len(arrays) in numbers else x for i, x in enumerate(arrays)]
            told = given
            if family.startswith("binary"):
                told = [*given[:-2], *(v for x in given[-2:] for v in (x, INT(x.size > 1)))]
            for add in (0, 1):
                out = np.ones_like(a)
                run = kernel("elementwise", name)
                run.launch([*told, out, LONG(a.size), INT(add)], 4, 32, threads=2)
                close(out, on_the_cpu(family, functor, given, add), dtype)
        if functor in WHOLE_GRADIENTS and a.dtype.kind in "iu":
            want = on_the_cpu(family, functor, arrays, False)
            np.testing.assert_array_equal(want, whole_gradient(functor, *arrays, dtype))
        if family.startswith("binary"):
            check_broadcast(family, functor, name.replace("binary", "broadcast"), arrays)


def check_broadcast(family, functor, name, arrays):
    shape = (4, 3, 5)
    left, right = arrays[-2][:20].reshape(4, 1, 5), arrays[-1][:15].reshape(3, 5)
    given = [arrays[0][:60].copy()] * (len(arrays) - 2) + [left, right]
    walk, full = (
        space_of(shape, (5, 0, 1), (0, 5, 1)),
        [np.broadcast_to(x, shape) for x in given[-2:]],
    )
    for add in (0, 1):
        out = np.ones(60, left.dtype)
        kernel("broadcast", name).launch([*given, out, walk, INT(add)], 2, 32)
        want = on_the_cpu(family, functor, given[:-2] + [x.ravel() for x in full], add)
        close(out, want, left.dtype.name)


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


RULES = {rule: states for rule, (states, on_gpus, _) in update_rules().items() if on_gpus}
NUMBERS = {  # of their own, up to five
    "sgd": (),
    "sgd_mom": (0.9,),
    "nag_mom": (0.9,),
    "signsgd": (),
    "signum": (0.9, 0.01),
    "adam": (0.9, 0.99, 1e-3),
    "rmsprop": (0.9, 1e-3, 1.5),
    "rmspropalex": (0.9, 0.8, 1e-3, 1.5),
    "ftrl": (0.1, 1.0),
    "ftml": (0.6, 0.99, 1e-3, 3.0),
    "nag": (0.9,),
    "adagrad": (1e-3,),
    "adadelta": (0.9, 1e-3),
    "adamax": (0.9, 0.99),
    "nadam": (0.9, 0.99, 1e-3, 0.5, 0.25),
    "lion": (0.9, 0.99),
    "adamw": (0.9, 0.99, 1e-3, 0.5),
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("clip", [-1.0, 0.4])
def test_update(rule, clip, rng):
    """Against the joined update on the CPU."""
    assert rule in NUMBERS, "a rule for GPUs needs numbers in NUMBERS"
    numbers, count = NUMBERS[rule], RULES[rule]
    for kinds in types_of("update", "update", f"cynet::{rule}"):
        kind, _, _, master = kinds.split(", ")
        dtype, master = DTYPES[kind], master == "true"
        weight, grad = (rng.standard_normal(100).astype(dtype) for _ in range(2))
        state = [rng.uniform(0.5, 1.5, 100).astype("f" if master else dtype) for _ in range(count)]
        if rule == "rmspropalex":
            state[0] += 2  # n is larger than the square of the mean
        exact = weight.astype("f") if master else np.zeros(1, "d" if kind == "double" else "f")
        first, gradient, *kept = (mx.nd.array(a, dtype=a.dtype) for a in (weight, grad, *state))
        known = (mx.nd.array(exact), tuple(kept)) if master else tuple(kept)
        JoinedUpdate(rule, [first], [gradient], [known], master)(
            [0.1], [0.01], 0.5, clip, [numbers]
        )
        params = KernelArgs(0.1, 0.01, 0.5, clip, *numbers)
        forms = [params]
        if not config.get("CYNET_CHECK_KERNELS"):  # which allows no pointer within a structure
            forms.append(KernelArgs(now=ctypes.addressof(params)))  # as in a recorded graph
        unused = [np.zeros(1, "f" if master else dtype)] * (3 - count)
        for given in forms:
            out, own = np.zeros_like(weight), [s.copy() for s in state]
            run = kernel("update", f"update<cynet::{rule}, {kinds}>")
            arrays = [weight, grad, out, *own, *unused, exact.copy()]
            run.launch([*arrays, given, LONG(100), INT(0)], 2, 64, threads=2)
            close(out, first.asnumpy(), dtype)
            for mine, theirs in zip(own, kept):
                close(mine, theirs.asnumpy(), mine.dtype.name)
            if master:
                close(arrays[-1], known[0].asnumpy(), "float32")


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
            walk = layout_args(shape, to, strides, start=begin)
            out = np.ones(want.size, dtype)
            run = kernel("index", f"copy<{kind}>")
            run.launch([x, out, walk, INT(0)], 2, 32)
            close(out, want.asnumpy().ravel(), dtype)
            run.launch([x, out, walk, INT(1)], 2, 32)
            close(out, 2 * want.asnumpy().ravel(), dtype)


@pytest.mark.parametrize(
    "source, names",
    [
        ("softmax", ["softmax<float>", "softmax_grad<float>"]),
        ("reduce", ["reduce<cynet::sum, float>"]),
        ("index", ["copy<float>", "gather<float>"]),
    ],
)
def test_in_the_checking_mode(source, names):
    """No access out of bounds, no divergent barrier, in those that share memory or index."""
    module = EmulatedModule(families.source_text(source), f"{source}.cu", (), names, checked=True)
    x, out = samples("float32", 60), np.zeros(60, "f")
    if source == "softmax":
        for lanes in (1, 64):  # threads of a line
            sizes = [LONG(4), LONG(15), LONG(1), LONG(lanes), DOUBLE(1), INT(0)]
            tail = [*sizes, np.full(4, 15), INT(0)]
            module.get(names[0]).launch([x, out, *tail], 2, 64)
            module.get(names[1]).launch([x, out, x.copy(), *tail], 2, 64)
            close(
                out.reshape(4, 15),
                mx.nd.softmax(mx.nd.array(x).reshape((4, 15))).asnumpy(),
                "float32",
            )
    elif source == "reduce":
        total, parts = np.zeros(12, "f"), np.zeros(12, "d")
        module.get(names[0]).launch(
            [x, total, parts, axes_of((12, 5), (1,)), DOUBLE(1), INT(0)], 5, 64
        )
        close(parts, x.reshape(12, 5).sum(1).astype("d"), "float32")
    else:
        walk = layout_args((5, 12), (12, 1), (1, 5))
        module.get(names[0]).launch([x, out, walk, INT(0)], 3, 32)
        close(out.reshape(5, 12), x.reshape(12, 5).T, "float32")
        index = np.array([0, 11, 3, 2])
        sizes = [LONG(n) for n in (1, 12, 5, 4)]
        module.get(names[1]).launch([x, index, out, *sizes, INT(0)], 1, 32)
        close(out[:20].reshape(4, 5), x.reshape(12, 5)[index], "float32")
