"""An element of an elementwise function depends on its own operands alone: it has the same bytes by
itself, beside ordinary numbers, and beside huge ones, infinities, NaN and denormal ones."""

import itertools
from functools import cache

import numpy as np
import pytest
from cynet.operator._elementwise import LoopsOperator
from cynet.operator._testing import run_forward

from cynet.kernels.table import functors
from cynet.operator.elementwise_loop import Loop
from cynet.operator.graph_hooks import GraphHooks
from cynet.operator.property import OperatorProperty

READS = {"unary": 1, "unary_grad": 2, "binary": 2, "binary_grad": 3}
WRITE, ADD = 1, 3
STRANGE = [3e38, -3e38, np.inf, -np.inf, np.nan, 1e-40, -1e-45, 2e6, -2e6, 1.3e7, 0, -0.0]


class OneLoop(GraphHooks):
    """The loop of a functor over all inputs."""

    def forward_loops(self, prop, in_data, out_data):
        return [Loop(prop.family, prop.functor, tuple(in_data), out_data[0])]

    def backward_loops(self, prop, out_grad, in_data, out_data, in_grad):
        return []


class OfFunctor(OperatorProperty):
    """An operator that is one functor."""

    graph = OneLoop()

    def __init__(self, family, functor):
        super().__init__()
        self.family, self.functor = family, functor

    def list_arguments(self):
        return [f"x{i}" for i in range(READS[self.family])]


@cache
def operands(reads, dtype):
    """(ordinary, strange): rows of operands. Huge numbers among the ordinary ones suit vectors, or
    do not, each by itself."""
    rng = np.random.default_rng(reads)
    spread = rng.standard_normal((reads, 150)) * np.exp(rng.uniform(-12, 12, (reads, 150)))
    near = rng.uniform(-4, 4, (reads, 150))
    whole = rng.integers(-9, 10, (reads, 60)).astype(float)
    ordinary = np.concatenate([spread, near, whole, np.abs(near)], 1)
    strange = np.stack(np.meshgrid(*[STRANGE] * reads), 0).reshape(reads, -1)
    mixed = np.where(rng.random((reads, 100)) < 0.5, rng.choice(STRANGE, (reads, 100)), 1.5)
    strange = np.concatenate([strange[:, rng.permutation(strange.shape[1])[:100]], mixed], 1)
    with np.errstate(over="ignore", under="ignore"):
        return ordinary.astype(dtype), strange.astype(dtype)


def computed(operator, x, req):
    out = np.full(x.shape[1], 0.75, x.dtype)
    run_forward(operator, [np.ascontiguousarray(row) for row in x], [req], [out])
    return out


def check(x, found, alone, what):
    """Bytes; a NaN is one whatever its bits."""
    same = (found.view(f"u{found.itemsize}") == alone.view(f"u{found.itemsize}")) | (
        np.isnan(found) & np.isnan(alone)
    )
    if not same.all():
        i = same.argmin()
        raise AssertionError(
            f"{what}: of {x[:, i]} {found[i]!r}, by itself {alone[i]!r}; {(~same).sum()} differ"
        )


ROWS = [(family, name) for family in READS for name in functors(family)]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("family, name", ROWS, ids=[" ".join(row) for row in ROWS])
def test_neighbours_change_nothing(family, name, dtype):
    ordinary, strange = operands(READS[family], dtype)
    if "polygamma" in name:  # its last operand is an order, which no array gives
        ordinary, strange = ordinary.copy(), strange.copy()
        ordinary[-1], strange[-1] = (
            np.arange(ordinary.shape[1]) % 4,
            np.arange(strange.shape[1]) % 4,
        )
    every = np.concatenate([ordinary, strange], 1)
    operator = LoopsOperator(OfFunctor(family, name), dtype)
    rng = np.random.default_rng(1)
    for req in (WRITE, ADD):
        alone = np.concatenate(
            [computed(operator, every[:, i : i + 1], req) for i in range(every.shape[1])]
        )
        n = ordinary.shape[1]
        check(ordinary, computed(operator, ordinary, req), alone[:n], "beside ordinary numbers")
        check(every, computed(operator, every, req), alone, "all in a row")
        for _ in range(3):
            order = rng.permutation(every.shape[1])
            x = every[:, order]
            check(x, computed(operator, x, req), alone[order], "in another order")
        for length in (2, 3, 5, 7, 9, 15, 17, 31, 33, 63, 65, 127):
            for start in (0, 1, n - length // 2):
                part = slice(start, start + length)
                found = computed(operator, every[:, part], req)
                check(every[:, part], found, alone[part], f"{length} from {start}")
        for k in range(0, strange.shape[1], 37):  # one strange number among ordinary ones
            x = ordinary[:, :200].copy()
            x[:, 100] = strange[:, k]
            expected = alone[:200].copy()
            expected[100] = alone[n + k]
            check(x, computed(operator, x, req), expected, f"beside {strange[:, k]}")


class WithNumbers(OneLoop):
    """The loop where some operands are one number for all."""

    def forward_loops(self, prop, in_data, out_data):
        reads = tuple(2.5 if i in prop.numbers else each for i, each in enumerate(in_data))
        return [Loop(prop.family, prop.functor, reads, out_data[0])]


class OfNumbers(OfFunctor):
    """A functor some of whose operands repeat."""

    graph = WithNumbers()

    def __init__(self, family, functor, numbers):
        super().__init__(family, functor)
        self.numbers = numbers


ADDED = [(*row, dtype) for row in ROWS for dtype in ("float32", "float64")]
ADDED += [(*row, "int32") for row in ROWS if functors(row[0])[row[1]]]


@pytest.mark.parametrize("family, name, dtype", ADDED, ids=[" ".join(row) for row in ADDED])
def test_what_is_written_is_what_is_added(family, name, dtype):
    """Whichever operands repeat: the loops that do have branches of their own."""
    reads = READS[family]
    x = np.random.default_rng(3).uniform(1, 4, (reads, 100)).astype(dtype)
    if "polygamma" in name:
        x[-1] = 2
    for numbers in itertools.chain.from_iterable(
        itertools.combinations(range(reads), n) for n in range(reads)
    ):
        operator = LoopsOperator(OfNumbers(family, name, numbers), dtype)
        start = np.full(100, 0.75, x.dtype)
        written, added = computed(operator, x, WRITE), computed(operator, x, ADD)
        np.testing.assert_allclose(added, start + written, rtol=1e-5, err_msg=str(numbers))
