"""Random programs of array calls, run call by call, in bulks, hybridized and by a Module: the same
bytes from all of them.

    python -m tests.fuzz.programs --cases 20000 --seed 7

A program is a list of steps over numbered arrays. Those that write in place, make views, drop or
read arrays run call by call and in bulks; the others as a graph, too, with their gradients.
``--show N`` prints a program and runs it here.
"""

import sys

import numpy as np

from tests.fuzz.worker import Fault, command_line

UNARY = ("exp", "tanh", "sigmoid", "square", "abs", "negative", "relu", "sin", "sqrt", "floor")
SIGNS = ("+", "-", "*", "/")
DTYPES = ("float32", "float32", "float64", "float16", "int32")
SHAPES = ((7,), (1,), (300,), (33, 48), (2, 5, 40), (3, 700), (1, 16), (5000,), (6, 1, 20))
NUMBERS = (2.0, -0.5, 1.0, 0.0, 3.0, 1.25)
WRITES = ("iadd", "put", "part", "view", "drop", "read", "out", "number")


def draw(seed, number):
    """(face, dtype, shapes of the arguments, steps, size of a bulk, whether it is a graph)."""
    rng = np.random.default_rng([seed, number])
    face = "np" if rng.random() < 0.4 else "nd"
    graph = rng.random() < 0.4
    # of integers mx.np makes floats, which do not fit in place
    dtype = str(rng.choice(DTYPES[:3] if graph else DTYPES[:4] if face == "np" else DTYPES))
    shape = SHAPES[rng.integers(len(SHAPES))]
    shapes = [shape, shape, _smaller(rng, shape)]
    known, steps = list(shapes), []
    for _ in range(rng.integers(2, 40)):
        step, made = _step(rng, known, graph)
        steps.append(step)
        if made is not None:
            known.append(made)
    return "nd" if graph else face, dtype, shapes, steps, int(rng.integers(2, 30)), graph


def _smaller(rng, shape):
    """A shape that broadcasts to `shape`."""
    kind = rng.integers(3)
    if kind == 0:
        return (1,) * len(shape)
    if kind == 1:
        return (*shape[:-1], 1)
    return (*[1] * (len(shape) - 1), shape[-1])


def _step(rng, known, graph):
    """A step, and the shape of the array it makes or None."""
    last = len(known) - 1
    a = (
        int(max(0, last - rng.geometric(0.3) + 1))
        if rng.random() < 0.6
        else int(rng.integers(last + 1))
    )
    if not graph and rng.random() < 0.35:
        kind = str(rng.choice(WRITES))
        alike = [i for i, shape in enumerate(known) if shape == known[a]]
        b = int(rng.choice(alike))
        if kind in ("view", "part") and known[a][0] < 2:
            kind = "read"
        if kind == "view":
            return ("view", a), (known[a][0] // 2, *known[a][1:])
        sign = str(rng.choice(SIGNS[:3]))
        return (kind, a, b, sign, float(rng.choice(NUMBERS))), None
    kind = rng.integers(8)
    if kind < 3:
        return ("unary", str(rng.choice(UNARY)), a), known[a]
    if kind < 5:
        number, first = float(rng.choice(NUMBERS)), bool(rng.random() < 0.3)
        return ("scalar", str(rng.choice(SIGNS)), a, number, first), known[a]
    if kind == 5 and rng.random() < 0.5 and len(known[a]) > 1:
        return ("sum", a), (*known[a][:-1], 1)
    fits = [i for i, shape in enumerate(known) if _broadcast(shape, known[a])]
    b = int(rng.choice(fits))
    return ("binary", str(rng.choice(SIGNS)), a, b), _broadcast(known[a], known[b])


def _broadcast(a, b):
    if len(a) != len(b) or any(m != n and 1 not in (m, n) for m, n in zip(a, b)):
        return None
    return tuple(map(max, a, b))


def _apply(sign, a, b):
    return {"+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "/": lambda: a / b}[sign]()


def compute(F, step, arrays, shapes_of=None):
    """The array that a step without side effects makes; F is mx.nd, mx.np or mx.sym."""
    kind = step[0]
    if kind == "unary":
        name, a = step[1], arrays[step[2]]
        if hasattr(F, name):
            return getattr(F, name)(a)
        import cynet as mx

        return getattr(mx.npx, name)(a)
    if kind == "scalar":
        _, sign, a, number, first = step
        return _apply(sign, number, arrays[a]) if first else _apply(sign, arrays[a], number)
    if kind == "sum":
        return F.sum(arrays[step[1]], axis=-1, keepdims=True)
    a, b = arrays[step[2]], arrays[step[3]]
    if F.__name__.endswith("symbol"):  # signs of symbols take one shape
        names = {"+": "add", "-": "sub", "*": "mul", "/": "div"}
        return getattr(F, "broadcast_" + names[step[1]])(a, b)
    return _apply(step[1], a, b)


def _write(F, step, arrays, seen):
    """A step with side effects."""
    kind, a = step[:2]
    if arrays[a] is None:
        return
    if kind == "view":
        arrays.append(arrays[a][: arrays[a].shape[0] // 2])
        return
    b, sign, number = step[2:]
    if kind == "read":
        seen.append(arrays[a].asnumpy())
    elif kind == "drop":
        arrays[a] = None
    elif kind == "number":
        arrays[a][:] = number
    elif arrays[b] is None:
        return
    elif kind == "iadd":
        if sign == "+":
            arrays[a] += arrays[b]
        elif sign == "-":
            arrays[a] -= number
        else:
            arrays[a] *= arrays[b]
    elif kind == "put":
        arrays[a][:] = arrays[b]
    elif kind == "part":
        arrays[a][1:] = arrays[b][1:]
    elif kind == "out":
        getattr(F, "elemwise_add", F.add)(arrays[b], arrays[b], out=arrays[a])


def values_of(seed, dtype, shapes):
    """Arguments as NumPy arrays."""
    rng = np.random.default_rng(seed)
    return [(rng.standard_normal(shape) * 3).astype(dtype) for shape in shapes]


def run_calls(face, dtype, values, steps):
    """What is read on the way and left at the end, call by call."""
    import cynet as mx

    F = getattr(mx, face)
    arrays, seen = [F.array(v, dtype=dtype) for v in values], []
    for step in steps:
        if step[0] in WRITES:
            _write(F, step, arrays, seen)
            if step[0] == "view" and arrays[step[1]] is None:
                arrays.append(None)
            continue
        needed = [i for i in step[2:4] if type(i) is int] if step[0] != "sum" else [step[1]]
        gone = any(arrays[i] is None for i in needed)
        arrays.append(None if gone else compute(F, step, arrays))
    return seen + [None if each is None else each.asnumpy() for each in arrays]


def _left(steps, n):
    """The numbers of the arrays that a graph gives: those that nothing reads."""
    read = {i for s in steps for i in (s[2:4] if s[0] != "sum" else s[1:2]) if type(i) is int}
    return [n + i for i in range(len(steps)) if n + i not in read]


def run_recorded(dtype, values, steps, hybridize=None):
    """Results and gradients of a program without side effects: call by call, or by a block."""
    import cynet as mx

    class Block(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, *arrays):
            arrays = list(arrays)
            for step in steps:
                arrays.append(compute(F, step, arrays))
            return tuple(arrays[i] for i in _left(steps, len(values)))

    block = Block()
    if hybridize:
        block.hybridize()
    arrays = [mx.nd.array(v, dtype=dtype) for v in values]
    for each in arrays:
        each.attach_grad()
    with mx.autograd.record():
        outs = block(*arrays)
    outs = outs if isinstance(outs, (list, tuple)) else [outs]
    mx.autograd.backward(list(outs))
    return [each.asnumpy() for each in (*outs, *[each.grad for each in arrays])]


def run_module(dtype, values, steps):
    """The same by a Module."""
    import cynet as mx

    names = [f"a{i}" for i in range(len(values))]
    arrays = [mx.sym.var(name) for name in names]
    for step in steps:
        arrays.append(compute(mx.sym, step, arrays))
    group = mx.sym.Group([arrays[i] for i in _left(steps, len(values))])
    used = [name for name in names if name in group.list_arguments()]
    module = mx.mod.Module(group, data_names=used, label_names=None)
    descriptions = [
        mx.io.DataDesc(n, v.shape, np.dtype(dtype)) for n, v in zip(names, values) if n in used
    ]
    module.bind(descriptions, for_training=True, inputs_need_grad=True)
    module.init_params()
    data = [mx.nd.array(v, dtype=dtype) for n, v in zip(names, values) if n in used]
    module.forward(mx.io.DataBatch(data, None), is_train=True)
    outs = module.get_outputs()
    module.backward([mx.nd.ones_like(each) for each in outs])
    grads = dict(zip(used, module.get_input_grads()))
    return [each.asnumpy() for each in outs] + [
        grads[n].asnumpy() if n in grads else np.zeros_like(v) for n, v in zip(names, values)
    ]


def _check(what, want, got):
    for i, (a, b) in enumerate(zip(want, got, strict=True)):
        if (a is None) != (b is None) or (
            a is not None
            and (
                a.dtype != b.dtype
                or a.shape != b.shape
                or not np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
            )
        ):
            raise Fault(f"{what}: result {i} differs: {a!r:.200} and {b!r:.200}")


def perform(seed, face, dtype, shapes, steps, size, graph):
    """Run a program in all ways that it has."""
    import cynet as mx

    values = values_of(seed, dtype, shapes)
    if not graph:
        with mx.engine.bulk(0):
            want = run_calls(face, dtype, values, steps)
        with mx.engine.bulk(size):
            got = run_calls(face, dtype, values, steps)
        _check(f"bulk of {size}", want, got)
        return
    with mx.engine.bulk(0):
        want = run_recorded(dtype, values, steps)
    with mx.engine.bulk(size):
        got = run_recorded(dtype, values, steps)
    _check(f"recorded in a bulk of {size}", want, got)
    # A graph adds the gradients of an array that several steps read in another order than the tape.
    outs = len(want) - len(values)
    graph = run_recorded(dtype, values, steps, True)
    _check("hybridized", want[:outs], graph[:outs])
    _check("Module", graph, run_module(dtype, values, steps))


def prepare(seed):
    """What a worker does first; gives the function that runs case number `n`."""
    import warnings

    warnings.simplefilter("ignore")

    def run(number):
        case = draw(seed, number)
        try:
            perform(number, *case)
        except Fault as fault:
            raise Fault(f"{case}: {fault}"[:2000]) from fault
        except Exception as error:
            raise Fault(f"{case}: {type(error).__name__}: {error}"[:2000]) from error

    return run


def show(seed, number):
    """Print a case of a run and perform it here."""
    case = draw(seed, number)
    print(*case[:3], *case[3], *case[4:], sep="\n", flush=True)
    perform(number, *case)


if __name__ == "__main__":
    sys.exit(command_line("tests.fuzz.programs", __doc__, show))
