"""Products by AMX: every size and order against sums in float64, as exact as float32's own loops,
numbers that its parts cannot hold, and when it is chosen."""

import itertools

import numpy as np
import pytest

from cynet.kernels.gemm.small import _multiply_arrays
from cynet.kernels.isa.dispatch import cpu_capabilities
from tests.kernels.gemm.test_small import SIZES, check_products, close, draw
from tests.pairs import pairwise

pytestmark = pytest.mark.skipif("amx" not in cpu_capabilities(), reason="no AMX")

TILED = {"level": "amx", "way": "amx"}
MORE = [  # whole and parts of tiles, blocks, chunks, and of what is split at a time
    (16, 16, 32),
    (128, 784, 128),
    (33, 47, 31),
    (65, 200, 1025),
    (40, 1200, 200),
    (1200, 40, 200),
    (31, 17, 2100),
    (300, 300, 1024),
]
ALL = [size for size in SIZES if size[2]] + MORE


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("size", ALL, ids=str)
def test_products(size, threads):
    for b_shared in False, True:
        check_products(size, threads=threads, b_shared=b_shared, **TILED)


def test_relu_comes_last():
    a, b, c, bias = draw(2, (50, 1100), (1100, 40), (50, 40), (40,))
    wanted = np.maximum(a.astype(np.float64) @ b + bias + c, 0)
    _multiply_arrays(a, b, c, bias=bias, relu=True, add=True, **TILED)
    close(c, wanted)
    assert (c == 0).any() and (c > 0).any()


DRAWN = {
    "normal": lambda x: x,
    "positive": abs,
    "24 bits": lambda x: np.sign(x) * (1 + abs(x) % 1),  # all numbers of one magnitude
    "of many magnitudes": lambda x: x * np.exp2(np.round(8 * np.roll(x, 1))),
}


@pytest.mark.parametrize("size", [(64, 64, 128), (40, 50, 1000), (100, 30, 3000)], ids=str)
@pytest.mark.parametrize("kind", DRAWN)
def test_as_exact_as_float32(kind, size):
    """The error is not greater than that of float32 multiply-adds, in the mean and at most."""
    m, n, k = size
    a, b, ours, plain = draw(3, (m, k), (k, n), (m, n), (m, n))
    a, b = (DRAWN[kind](x).astype(np.float32) for x in (a, b))
    wanted = a.astype(np.float64) @ b
    _multiply_arrays(a, b, ours, **TILED)
    _multiply_arrays(a, b, plain, level="amx", way="panels")
    scale = abs(a).astype(np.float64) @ abs(b)
    ours, plain = (abs(x - wanted) / scale for x in (ours, plain))
    assert np.sqrt((ours**2).mean()) <= 1.1 * np.sqrt((plain**2).mean())
    assert ours.max() <= max(1.5 * plain.max(), 2.0**-22)


def test_whole_numbers_are_exact():
    rng = np.random.RandomState(4)
    a, b = (rng.randint(-2047, 2048, shape).astype(np.float32) for shape in [(70, 3), (3, 50)])
    c = np.empty((70, 50), np.float32)
    _multiply_arrays(a, b, c, **TILED)
    np.testing.assert_array_equal(c, a.astype(np.int64) @ b.astype(np.int64))


BITS = [0x7F800000, 0xFF800000, 0x7FC00000, 0x7FFFFFFF, 0xFFFFFFFF, 0x7F800001]  # infinities, NaN
BITS += [0x7F7FFFFF, 0x7F7F8000, 0xFF7F7FFF, 0x7E000000]  # great ones
BITS += [0x00000001, 0x80000100, 0x007FFFFF, 0x00800000, 0x01000001, 0x0B8000FF]  # small ones


@pytest.mark.parametrize("in_a", [True, False])
@pytest.mark.parametrize("bits", BITS, ids=hex)
def test_numbers_that_parts_cannot_hold(bits, in_a):
    """One such number, or a block of them: as the loops for AVX-512 give it."""
    for many, turned in itertools.product((False, True), repeat=2):
        a, b, c, plain = draw(5, (70, 130), (130, 100), (70, 100), (70, 100))
        given = a if in_a else b
        odd = np.array(bits, np.uint32).view(np.float32)
        given[(np.s_[:40], np.s_[:70]) if many else (37, 40)] = odd
        if turned:
            a, b = np.ascontiguousarray(a.T), np.ascontiguousarray(b.T)
        options = {"a_transposed": turned, "b_transposed": turned}
        _multiply_arrays(a, b, c, **options, **TILED)
        _multiply_arrays(a, b, plain, level="amx", way="panels", **options)
        np.testing.assert_array_equal(np.isnan(c), np.isnan(plain))
        np.testing.assert_array_equal(c[np.isinf(plain)], plain[np.isinf(plain)])
        finite = np.isfinite(plain)
        np.testing.assert_allclose(
            c[finite], plain[finite], rtol=1e-5, atol=1e-5 * abs(plain[finite]).max()
        )


@pytest.mark.parametrize("powers", [(-126, 0), (-140, 5), (-60, -60), (-120, 100), (64, 64)])
def test_operands_whose_products_or_parts_vanish_or_overflow(powers):
    """Numbers of one magnitude: every one of the results is exact as by float32's loops."""
    a, b, c, plain = draw(6, (64, 128), (128, 64), (64, 64), (64, 64))
    a, b = (np.ldexp(x, power).astype(np.float32) for x, power in zip((a, b), powers))
    _multiply_arrays(a, b, c, **TILED)
    _multiply_arrays(a, b, plain, level="amx", way="panels")
    if sum(powers) < -100 or sum(powers) > 100 or powers[0] < -100:
        assert c.tobytes() == plain.tobytes()
    else:
        close(c, a.astype(np.float64) @ b)


@pytest.mark.parametrize("turned", [False, True])
def test_results_do_not_depend_on_threads(turned):
    """Nor on how blocks are shared out, where some of them go by float32's loops."""
    a, b, first, other = draw(7, (150, 1200), (1200, 130), (150, 130), (150, 130))
    a[40, 1000], b[5, 100], b[700, 3] = 1e-40, np.inf, 1e-35
    if turned:
        a, b = np.ascontiguousarray(a.T), np.ascontiguousarray(b.T)
    options = {"a_transposed": turned, "b_transposed": turned, **TILED}
    _multiply_arrays(a, b, first, **options, threads=1)
    for threads, b_shared in itertools.product((2, 3, 4), (False, True)):
        _multiply_arrays(a, b, other, **options, threads=threads, b_shared=b_shared)
        assert first.tobytes() == other.tobytes()


@pytest.mark.parametrize("size, turned, threads", pairwise(ALL, [False, True], [1, 2, 3]), ids=str)
def test_products_by_a_packed_matrix(size, turned, threads):
    """What b gives that is split in each product, to the bit."""
    m, n, k = size
    a, b, c, wanted, bias = draw(9, (m, k), (k, n), (m, n), (m, n), (n,))
    if turned:
        b = np.ascontiguousarray(b.T)
    options = {"b_transposed": turned, "bias": bias, "relu": True, **TILED}
    _multiply_arrays(a, b, wanted, **options)
    behind = _multiply_arrays(a, b, c, threads=threads, packed=True, **options)
    np.testing.assert_array_equal(c, wanted)
    assert (behind == 255).all()


@pytest.mark.parametrize("bits", BITS, ids=hex)
@pytest.mark.parametrize("turned", [False, True], ids=["", "turned"])
def test_packed_numbers_that_parts_cannot_hold(bits, turned):
    """In b blocks with them are kept as they are; in a, b is put together from its parts."""
    odd = np.array(bits, np.uint32).view(np.float32)
    for m, n, k in (70, 100, 1130), (20, 50, 40):
        for in_a in True, False:
            a, b, c, wanted = draw(10, (m, k), (k, n), (m, n), (m, n))
            (a if in_a else b)[17, 33] = odd
            if turned:
                b = np.ascontiguousarray(b.T)
            _multiply_arrays(a, b, wanted, b_transposed=turned, **TILED)
            _multiply_arrays(a, b, c, b_transposed=turned, packed=True, **TILED)
            np.testing.assert_array_equal(c, wanted)
