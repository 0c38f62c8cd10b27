"""Chains whose arithmetic is joined: the bytes of the same calls one by one."""

import numpy as np
import pytest

import cynet as mx
from cynet import nd
from cynet.kernels.elementwise import fused

TWO = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
}
ONE = {
    "neg": lambda a: -a,
    "square": lambda a: a.square(),
    "relu": lambda a: a.relu(),
    "exp": lambda a: a.exp(),
}
SPECIAL = [0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, -1.0, 1e-40, 3e38]


def values(rng, dtype, shape):
    """Numbers of all sizes, some of them special."""
    place = rng.random(shape)
    with np.errstate(all="ignore"):
        out = (rng.standard_normal(shape) * 10.0 ** rng.integers(-20, 20, shape)).astype(dtype)
        special = np.array(SPECIAL).astype(dtype)
    out[place < 0.2] = rng.choice(special, int((place < 0.2).sum()))
    return out


def as_bytes(array):
    """Of its elements; NaNs are alike, since of two the loops take the one or the other."""
    out = array.asnumpy()
    out[np.isnan(out)] = np.nan
    return out.tobytes()


def bytes_of(function, size, *arrays):
    """Of all that the function gives, with that many calls in a bulk."""
    with mx.engine.bulk(size):
        outs = function(*[each.copy() for each in arrays])
    return [as_bytes(each) for each in outs]


def check(function, *arrays):
    assert bytes_of(function, 0, *arrays) == bytes_of(function, 40, *arrays)


def firsts():
    """Names and functions of two arrays."""
    for name, op in TWO.items():
        yield f"x{name}y", op
        yield f"x{name}c", lambda x, y, op=op: op(x, 0.7)
        yield f"c{name}x", lambda x, y, op=op: op(0.7, x)
    for name, op in ONE.items():
        yield f"{name}(x)", lambda x, y, op=op: op(x)


def added(*terms):
    """Their sum, by loops of which each but the first adds to what there is."""
    return (mx.sym if isinstance(terms[0], mx.sym.Symbol) else nd).add_n(*terms)


def seconds():
    """Names and functions of a value and an array."""
    for name, op in TWO.items():
        yield f"t{name}z", op
        yield f"z{name}t", lambda t, z, op=op: op(z, t)
        yield f"t{name}c", lambda t, z, op=op: op(t, 1.3)
        yield f"c{name}t", lambda t, z, op=op: op(1.3, t)
        yield f"t{name}t", lambda t, z, op=op: op(t, t)
    for name, op in ONE.items():
        yield f"{name}(t)", lambda t, z, op=op: op(t)
    yield "t+z+t", lambda t, z: added(t, z, t)
    yield "z+t/2+z", lambda t, z: added(z, t * 0.5, z)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("n", [1024, 1031, 1300])
def test_all_pairs(dtype, n, rng):
    x, y, z = [nd.array(values(rng, dtype, n), dtype=dtype) for _ in range(3)]
    before, wrong = fused.count_joined_lines(), []
    for first, f in firsts():
        for second, g in seconds():
            for kept in (False, True):

                def both(x, y, z, f=f, g=g, kept=kept):
                    t = f(x, y)
                    out = g(t, z)
                    return [out, t] if kept else [out]

                if bytes_of(both, 0, x, y, z) != bytes_of(both, 40, x, y, z):
                    wrong.append((first, second, kept))
    assert not wrong
    assert (fused.count_joined_lines() > before) == (dtype != "float16")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_of_products_with_numbers_are_rounded_twice(dtype, rng):
    x, y = [nd.array(values(rng, dtype, 5000), dtype=dtype) for _ in range(2)]
    for function in (
        lambda x, y: [x * 0.9 + y * 0.1],
        lambda x, y: [x * 0.9 - y * 0.1],
        lambda x, y: [0.1 * y - (x + y)],
        lambda x, y: [(x / y) - 0.1 * y],
        lambda x, y: [((2 * x + 1) * x + y) * y - 0.5 * x],
        lambda x, y: [x - (0.3 * x + 0.7 * y) * 0.01],
    ):
        before = fused.count_joined_lines()
        check(function, x, y)
        assert fused.count_joined_lines() > before


def _changed_source(x, y):
    t = x * 0.5
    x += y
    return [x - t]


def _changed_through_a_view(x, y):
    t, whole = x * 0.5, x.reshape((-1,))
    whole += y
    return [x - t, whole]


def _product_of_a_value_that_goes(x, y):
    a = x + y
    b = a * 0.5
    a = y * y
    c = a - x
    return [c * y + b]


def _read_twice(x, y):
    t = x * 0.5
    u = y + t
    return [u * y - t]


def _written_and_read(x, y):
    t = x + y
    x[:] = t * t
    u = x - t
    x[:] = u * 2.0
    return [x * y + u]


def _added_to(x, y):
    t = added(x * 0.5, y, x * y, x)
    return [t * x - y, added(x * 0.5, y - x, t)]


@pytest.mark.parametrize("n", [1031, 5000])
@pytest.mark.parametrize(
    "function",
    [
        _added_to,
        _changed_source,
        _changed_through_a_view,
        _product_of_a_value_that_goes,
        _read_twice,
        _written_and_read,
    ],
)
def test_a_product_is_read_when_it_is_computed(function, n, rng):
    check(function, *[nd.array(rng.standard_normal(n)) for _ in range(2)])


@pytest.mark.parametrize("columns", [30, 300, 3000])
@pytest.mark.parametrize("small", [(1, -1), (-1, 1), (1, 1)])
def test_rows_and_columns(columns, small, rng):
    shape = (23, columns)
    size = tuple(n if each < 0 else 1 for each, n in zip(small, shape))
    x, y, z = [nd.array(values(rng, "float32", s)) for s in (shape, size, shape)]

    def function(x, y, z):
        t = nd.broadcast_sub(nd.broadcast_mul(x, y), z)
        return [nd.broadcast_add(nd.relu(t * 2.0 + x), y) * 0.5]

    check(function, x, y, z)


@pytest.mark.parametrize("face", ["bulk", "bound"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_random_programs(face, dtype, rng):
    for _ in range(60):
        n = int(rng.choice([3, 64, 257, 1100, 1500]))
        arrays = [nd.array(values(rng, dtype, n), dtype=dtype) for _ in range(3)]
        plan = []
        for k in range(int(rng.integers(2, 14))):
            two = [f for _, f in firsts()] + [f for _, f in seconds()]
            plan.append((two[rng.integers(len(two) - 1)], *rng.integers(0, 3 + k, 2)))
        plan = [(f, a if rng.random() < 0.4 else 2 + k, b) for k, (f, a, b) in enumerate(plan)]
        kept = [k for k in range(len(plan)) if rng.random() < 0.2]

        def function(*arrays, plan=plan, kept=kept):
            made = list(arrays)
            for f, a, b in plan:
                made.append(f(made[a], made[b]))
            return [made[-1]] + [made[3 + k] for k in kept]

        expected = bytes_of(function, 0, *arrays)
        if face == "bulk":
            assert bytes_of(function, 40, *arrays) == expected
            continue
        symbols = mx.sym.Group(function(*map(mx.sym.var, "xyz")))
        inputs = dict(zip("xyz", arrays))
        names = set(symbols.list_arguments())
        exe = symbols.bind(
            mx.cpu(), {k: v for k, v in inputs.items() if k in names}, grad_req="null"
        )
        assert [as_bytes(each) for each in exe.forward()] == expected
