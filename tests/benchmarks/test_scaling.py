"""benchmarks/scaling.py: its formulas are the times of the algorithms, run message by message."""

import math

import numpy as np
import pytest
from scipy.optimize import nnls

from cynet.graph import cuts

LINK = (3e-6, 2e-9, 5e-10)
RANKS = (2, 3, 4, 5, 6, 7, 8, 12, 16)


@pytest.fixture(scope="module")
def scaling(peers):
    peers("workloads")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend("benchmarks")
        import scaling
    return scaling


class Machine:
    """Ranks with an array each; messages of one step go at once, and all wait for the slowest."""

    def __init__(self, arrays):
        self.arrays, self.seconds = [each.copy() for each in arrays], 0.0

    def step(self, messages, adds):
        """Send (from, to, part) each; receivers add it to theirs, or take it."""
        alpha, beta, gamma = LINK
        sent = [(to, part, self.arrays[source][part].copy()) for source, to, part in messages]
        for to, part, values in sent:
            self.arrays[to][part] = values + (self.arrays[to][part] if adds else 0)
        n = max(values.nbytes for _, _, values in sent)
        self.seconds += alpha + n * (beta + adds * gamma)


def ring(machine, p):
    size = len(machine.arrays[0]) // p
    parts = [slice(i * size, (i + 1) * size) for i in range(p)]
    for adds in (True, False):
        for i in range(p - 1):
            shift = 0 if adds else 1
            messages = [(r, (r + 1) % p, parts[(r + shift - i) % p]) for r in range(p)]
            machine.step(messages, adds)


def folded(inner):
    """Ranks beyond a power of two hand in first, and are told at the end."""

    def run(machine, p):
        q = 1 << (p.bit_length() - 1)
        whole, rest = slice(None), range(q, p)
        if rest:
            machine.step([(r, r - q, whole) for r in rest], True)
        inner(machine, q)
        if rest:
            machine.step([(r - q, r, whole) for r in rest], False)

    return run


@folded
def doubling(machine, p):
    for i in range(p.bit_length() - 1):
        machine.step([(r, r ^ (1 << i), slice(None)) for r in range(p)], True)


@folded
def halving(machine, p):
    n = len(machine.arrays[0])
    kept, given = [(0, n)] * p, []
    for i in reversed(range(p.bit_length() - 1)):
        messages = []
        for r in range(p):
            low, high = kept[r]
            middle = (low + high) // 2
            mine, theirs = (low, middle), (middle, high)
            if r & (1 << i):
                mine, theirs = theirs, mine
            messages.append((r, r ^ (1 << i), slice(*theirs)))
            kept[r] = mine
        machine.step(messages, True)
        given.append((i, list(kept)))
    for i, had in reversed(given):
        machine.step([(r, r ^ (1 << i), slice(*had[r])) for r in range(p)], False)
        kept = [(min(had[r][0], had[r ^ (1 << i)][0]), 0) for r in range(p)]


WAYS = {"ring": ring, "recursive doubling": doubling, "recursive halving": halving}


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("p", RANKS)
def test_formulas(scaling, name, p, rng):
    arrays = rng.integers(0, 100, (p, p * 16)).astype(np.float64)
    machine = Machine(arrays)
    WAYS[name](machine, p)
    for each in machine.arrays:
        np.testing.assert_array_equal(each, arrays.sum(axis=0))
    found = scaling.summed(arrays[0].nbytes, p, scaling.Link(*LINK, 1e-4), name)
    assert math.isclose(found, machine.seconds + 1e-4, rel_tol=1e-12)


def test_the_best_one_is_taken(scaling):
    link = scaling.Link(*LINK)
    assert scaling.summed(8, 16, link) == scaling.doubling(8, 16, link)
    assert scaling.summed(1 << 26, 6, link) == scaling.ring(1 << 26, 6, link)
    assert scaling.summed(1 << 20, 1, link) == 0


def test_a_step(scaling):
    step = scaling.Step(10.0, 8.0, 1.0, [(3.0, 2), (6.0, 4), (8.0, 1)])
    assert step.alone == 19
    # sums run from 3 to 5, 6 to 10, 10 to 11; or from 8 on for 7
    assert step.seconds(lambda n: n) == 10 + 11 + 1
    assert step.seconds(lambda n: n, overlap=False) == 10 + 15 + 1
    assert step.scaled(2.0).seconds(lambda n: 0) == 2 * 19


def test_codes(scaling):
    link, codes = scaling.Link(1.0, 16.0, 0.0), scaling.Codes(0.5, 0.25)
    assert scaling.summed_in_codes(4, 8, link, codes) == 7 * 4 + 3 + 4 * (0.5 + 8 * 0.25)


def test_least_squares(scaling, rng):
    for _ in range(20):
        matrix, wanted = rng.normal(size=(9, 3)), rng.normal(size=9)
        if not nnls(matrix, wanted)[0].any():
            continue
        np.testing.assert_allclose(
            scaling.least_squares(matrix, wanted), nnls(matrix, wanted)[0], rtol=1e-6, atol=1e-9
        )


@pytest.mark.parametrize("name", WAYS)
def test_a_fit_finds_the_link_that_made_the_times(scaling, name):
    link = scaling.Link(*LINK, 2e-4)
    found = [
        {
            "ranks": p,
            "sums": {
                str(n): max(1.0, p / 2) * scaling.summed(n, p, link, name) for n in scaling.SIZES
            },
        }
        for p in (2, 3, 4)
    ]
    fit, error = scaling.fitted(found, LINK[2], 2, name)
    np.testing.assert_allclose(fit, link, rtol=1e-6)
    assert error < 1e-9


def test_a_profiled_network(scaling, monkeypatch):
    monkeypatch.setattr(cuts, "_gradient_parts", cuts._gradient_parts)
    step = scaling.profiled("MLP", 2)
    assert sum(n for _, n in step.buckets) == 4 * (785 * 128 + 129 * 64 + 65 * 10)
    times = [at for at, _ in step.buckets]
    assert times == sorted(times) and times[0] > 0 and times[-1] <= step.backward * 1.0001
    assert min(step.forward, step.backward) > 0
    assert step.seconds(lambda n: 0.0) == pytest.approx(step.alone)
