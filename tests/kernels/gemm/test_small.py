"""Products of small matrices and convolutions of small images against sums in float64, by level."""

import itertools

import numpy as np
import pytest

from cynet.kernels.gemm.small import _convolve_arrays, _multiply_arrays
from cynet.kernels.isa.dispatch import cpu_capabilities
from tests.pairs import pairwise

# Of the largest number of a result.
TOLERANCE = 1e-5
LEVELS = cpu_capabilities()
SIZES = [  # m, n, k
    (1, 1, 1),
    (64, 512, 128),
    (7, 5, 3),
    (70, 49, 513),
    (130, 200, 1100),
    (3, 1000, 40),
    (600, 17, 600),
    (9, 33, 0),
    (5, 130, 34),  # whole and parts of what is transposed at a time
    (5, 64, 1031),
    (15, 10, 100),  # few rows whose weights are read where they lie
    (1, 7, 4100),
    (14, 130, 16),
]


def draw(seed, *shapes):
    print("seed", seed)
    rng = np.random.RandomState(seed)
    return [rng.standard_normal(shape).astype(np.float32) for shape in shapes]


def close(ours, wanted):
    assert np.isfinite(ours).all()
    assert np.abs(ours - wanted).max() <= TOLERANCE * max(1, np.abs(wanted).max())


def untouched(behind):
    assert len(behind) and (behind == 255).all(), "written behind the scratch"


ORDERS = [(False, False), (False, True), (True, False), (True, True)]


def check_products(size, change=lambda a: a, orders=ORDERS, **options):
    """Each of `orders` of the operands, written and added, of an `a` that is changed first."""
    m, n, k = size
    for (a_transposed, b_transposed), add in itertools.product(orders, (False, True)):
        a, b, c, bias = draw(1, (m, k), (k, n), (m, n), (n,))
        a = change(a)
        wanted = a.astype(np.float64) @ b.astype(np.float64) + bias + (c if add else 0)
        if not add:
            c[...] = np.nan
        a = np.ascontiguousarray(a.T) if a_transposed else a
        b = np.ascontiguousarray(b.T) if b_transposed else b
        behind = _multiply_arrays(
            a,
            b,
            c,
            a_transposed=a_transposed,
            b_transposed=b_transposed,
            bias=bias,
            add=add,
            **options,
        )
        untouched(behind)
        close(c, wanted)


@pytest.mark.parametrize("size, threads, level", pairwise(SIZES, [1, 2, 3], LEVELS), ids=str)
def test_products(size, threads, level):
    check_products(size, threads=threads, level=level)


B_SHARED = [*SIZES, (128, 784, 128), (64, 130, 33)]


@pytest.mark.parametrize("size, threads, level", pairwise(B_SHARED, [2, 3], LEVELS), ids=str)
def test_shared_out_by_rows_where_all_have_read_b(size, threads, level):
    check_products(size, threads=threads, level=level, b_shared=True)


@pytest.mark.parametrize("level", cpu_capabilities())
def test_few_rows(level):
    """All numbers of rows, columns and vectors of them that are left over, and ends of lines."""
    for m, n, k in itertools.product(range(1, 18), (1, 2, 4, 7), (1, 16, 37)):
        check_products((m, n, k), level=level)
    for m, n, k in itertools.product(range(1, 18), (16, 33, 47, 64, 97), (1, 6, 39)):
        check_products((m, n, k), level=level, orders=[(False, False)], way="narrow", threads=2)
    for m, n, k in itertools.product((18, 19, 21, 67), range(1, 10), (1, 70)):
        check_products((m, n, k), level=level, orders=[(False, True)], way="narrow", threads=3)


FEW = [1, 2, 3, 7, 15, 16, 67]


@pytest.mark.parametrize("m, b_transposed, level", pairwise(FEW, [False, True], LEVELS))
def test_threads_change_no_bit_of_few_rows(m, b_transposed, level):
    a, b, first, other = draw(9, (m, 130), (130, 201), (m, 201), (m, 201))
    b = np.ascontiguousarray(b.T) if b_transposed else b
    options = {"b_transposed": b_transposed, "level": level, "way": "narrow"}
    _multiply_arrays(a, b, first, threads=1, **options)
    for threads in (2, 3, 5):
        _multiply_arrays(a, b, other, threads=threads, **options)
        assert other.tobytes() == first.tobytes()


@pytest.mark.parametrize("level", cpu_capabilities())
@pytest.mark.parametrize("rows, b_transposed", [(20, False), (20, True), (5, True), (5, False)])
def test_relu_comes_last(rows, b_transposed, level):
    """After the bias, what was there, and all blocks of the sum."""
    a, b, c, bias = draw(2, (rows, 1100), (1100, 40), (rows, 40), (40,))
    wanted = np.maximum(a.astype(np.float64) @ b + bias + c, 0)
    b = np.ascontiguousarray(b.T) if b_transposed else b
    options = {
        "b_transposed": b_transposed,
        "bias": bias,
        "relu": True,
        "add": True,
        "level": level,
    }
    options["way"] = "narrow" if rows == 5 else "panels"
    untouched(_multiply_arrays(a, b, c, **options))
    close(c, wanted)
    assert (c == 0).any() and (c > 0).any()


def relu_gradient(given):
    return np.where(given > 0, 1, given * np.float32(0))


# Every way of `product` that packs b, at each level that has it.
WAYS = [(level, "panels") for level in cpu_capabilities()]
if "amx" in cpu_capabilities():
    WAYS.append(("amx", "amx"))


ROWS = [(70, 0, 0), (70, 1, 1), (5, 0, 1), (33, 1, 0)]
MASKED = [(level, way, *rows) for level, way in WAYS for rows in ROWS]
MASKED += [(level, "narrow", 5, 0, turned) for level in cpu_capabilities() for turned in (0, 1)]


@pytest.mark.parametrize("level, way, rows, a_transposed, b_transposed", MASKED)
def test_masked(rows, a_transposed, b_transposed, level, way):
    """By what a relu gave, after all blocks of the sum; NaN and infinity go where they would."""
    a, b, c, mask = draw(7, (rows, 1100), (1100, 53), (rows, 53), (rows, 53))
    mask = np.maximum(mask, 0)
    mask[0, :3] = np.nan, np.inf, -0.0
    a[1] = np.inf
    with np.errstate(invalid="ignore"):
        wanted = (a.astype(np.float64) @ b) * relu_gradient(mask)
    a = np.ascontiguousarray(a.T) if a_transposed else a
    b = np.ascontiguousarray(b.T) if b_transposed else b
    options = {
        "a_transposed": a_transposed,
        "b_transposed": b_transposed,
        "way": way,
        "level": level,
    }
    untouched(_multiply_arrays(a, b, c, mask=mask, threads=2, **options))
    assert np.isnan(c[0, 0]) and not np.isfinite(c[1]).any()
    np.testing.assert_array_equal(np.isnan(c), np.isnan(wanted))
    assert ((c == 0) == (wanted == 0)).all()
    finite = np.isfinite(wanted)
    close(c[finite], wanted[finite])


SUMMED = [size for size in SIZES if size[2]] + [(520, 40, 1100)]


@pytest.mark.parametrize("size, threads, how", pairwise(SUMMED, [1, 2, 3], WAYS), ids=str)
def test_sums_of_a_turned_a(size, threads, how):
    """Written and added, whichever way the product goes, and the product is the same."""
    (m, n, k), (level, way) = size, how
    a, b, c, same, before = draw(8, (k, m), (k, n), (m, n), (m, n), (m,))
    a *= np.random.RandomState(8).rand(k, m) < 0.5
    options = {"a_transposed": True, "threads": threads, "level": level, "way": way}
    for b_shared, add in itertools.product((False, True), repeat=2):
        sums = before.copy()
        behind = _multiply_arrays(a, b, c, sums=sums, add_sums=add, b_shared=b_shared, **options)
        untouched(behind)
        _multiply_arrays(a, b, same, b_shared=b_shared, **options)
        assert c.tobytes() == same.tobytes()
        close(sums, a.sum(0, dtype=np.float64) + (before if add else 0))


WINDOWS = [  # batch, height, width, channels, filters, kernel, stride, dilate, pad
    (32, 2, 2, 24, 40, (3, 3), (1, 1), (1, 1), (1, 1)),
    (5, 4, 4, 20, 33, (3, 3), (2, 2), (1, 1), (1, 1)),
    (3, 4, 3, 17, 16, (5, 5), (1, 1), (1, 1), (2, 2)),
    (9, 1, 1, 16, 64, (3, 3), (1, 1), (1, 1), (1, 1)),
    (2, 5, 4, 8, 50, (3, 2), (2, 3), (2, 1), (2, 1)),
    (4, 3, 3, 3, 5, (1, 1), (2, 2), (1, 1), (0, 0)),
    (1, 6, 2, 70, 7, (7, 1), (1, 1), (1, 1), (3, 0)),
    (6, 3, 3, 32, 64, (3, 3), (1, 1), (1, 1), (1, 1)),
    (3, 5, 5, 19, 21, (5, 5), (1, 1), (1, 1), (2, 2)),
    (2, 3, 3, 5, 4, (1, 1), (1, 1), (1, 1), (1, 1)),  # an edge that sees no pixel
]


def window(shape, seed):
    """x, w, y, and (i, j, rows and columns of the padded x that tap (i, j) sees)."""
    n, h, width, c, f, kernel, stride, dilate, pad = shape
    sizes = [
        (size + 2 * p - d * (k - 1) - 1) // s + 1
        for size, k, s, d, p in zip((h, width), kernel, stride, dilate, pad)
    ]
    x, w, y = draw(seed, (n, h, width, c), (f, c, *kernel), (n, *sizes, f))
    seen = [
        (
            i,
            j,
            np.s_[
                :,
                i * dilate[0] : i * dilate[0] + (sizes[0] - 1) * stride[0] + 1 : stride[0],
                j * dilate[1] : j * dilate[1] + (sizes[1] - 1) * stride[1] + 1 : stride[1],
            ],
        )
        for i, j in np.ndindex(*kernel)
    ]
    return x, w, y, seen


def padded(x, pad):
    return np.pad(x.astype(np.float64), [(0, 0), (pad[0],) * 2, (pad[1],) * 2, (0, 0)])


def forward(x, w, y, seen, pad):
    wide = padded(x, pad)
    return sum(wide[part] @ w[:, :, i, j].T.astype(np.float64) for i, j, part in seen)


def backward_data(x, w, y, seen, pad):
    wide = np.zeros_like(padded(x, pad))
    for i, j, part in seen:
        wide[part] += y @ w[:, :, i, j].astype(np.float64)
    return wide[:, pad[0] : pad[0] + x.shape[1], pad[1] : pad[1] + x.shape[2]]


def backward_weight(x, w, y, seen, pad):
    wide, dw = padded(x, pad), np.zeros(w.shape)
    for i, j, part in seen:
        dw[:, :, i, j] = np.einsum("nhwf,nhwc->fc", y.astype(np.float64), wide[part])
    return dw


@pytest.mark.parametrize("shape, threads, level", pairwise(WINDOWS, [1, 2, 3], LEVELS), ids=str)
def test_windows(shape, threads, level):
    x, w, y, seen = window(shape, 3)
    for index, function in enumerate((backward_data, backward_weight, forward)):
        wanted = function(x, w, y, seen, shape[8])
        for add in (False, True):
            arrays = [x.copy(), w.copy(), y.copy()]
            if not add:
                arrays[index][...] = np.nan
            options = {"add": add, "threads": threads, "level": level}
            untouched(_convolve_arrays(function.__name__, *arrays, *shape[6:], **options))
            close(arrays[index], wanted + (x, w, y)[index] if add else wanted)
            for i in {0, 1, 2} - {index}:
                np.testing.assert_array_equal(arrays[i], (x, w, y)[i])


SPREAD = [  # as WINDOWS, of few channels, of some chunks of them, of a last one that is short
    (3, 8, 12, 3, 20, (4, 4), (2, 2), (1, 1), (1, 1)),
    (1, 17, 9, 1, 9, (5, 3), (3, 2), (1, 1), (2, 1)),
    (2, 30, 70, 4, 33, (3, 3), (1, 1), (1, 1), (1, 1)),
    (1, 8, 11, 2, 8, (2, 2), (3, 3), (1, 1), (0, 0)),  # some pixels in no window
    (5, 9, 10, 3, 16, (7, 7), (2, 2), (1, 1), (3, 3)),
    (2, 3, 2, 3, 40, (5, 5), (1, 1), (1, 1), (4, 3)),  # windows of the padding alone
    (1, 8, 8, 64, 50, (4, 4), (2, 2), (1, 1), (1, 1)),
    (2, 6, 5, 33, 7, (3, 3), (2, 1), (1, 1), (0, 1)),
    (1, 4, 4, 70, 130, (4, 4), (1, 1), (1, 1), (0, 0)),
]


@pytest.mark.parametrize("level", cpu_capabilities())
@pytest.mark.parametrize("shape", SPREAD, ids=str)
@pytest.mark.parametrize("what", ["spread", "packed_spread"])
def test_windows_are_spread(what, shape, level):
    x, w, y, seen = window(shape, 8)
    wanted = backward_data(x, w, y, seen, shape[8])
    for add in (False, True):
        found = []
        for threads in (1, 2, 3, 7):
            dx = x.copy() if add else np.full_like(x, np.nan)
            options = {"add": add, "threads": threads, "level": level}
            untouched(_convolve_arrays(what, dx, w, y, *shape[6:], **options))
            close(dx, wanted + x if add else wanted)
            found.append(dx)
        assert all(np.array_equal(found[0], each) for each in found)


@pytest.mark.parametrize("level", cpu_capabilities())
def test_window_with_bias_and_relu(level):
    shape = WINDOWS[0]
    x, w, y, seen = window(shape, 4)
    (bias,) = draw(5, (shape[4],))
    wanted = np.maximum(forward(x, w, y, seen, shape[8]) + bias, 0)
    untouched(_convolve_arrays("forward", x, w, y, *shape[6:], bias=bias, relu=True, level=level))
    close(y, wanted)


@pytest.mark.parametrize("level", cpu_capabilities())
def test_same_whatever_the_threads(level):
    x, w, y, _ = window(WINDOWS[0], 6)
    a, b, turned = draw(7, (300, 90), (90, 200), (23, 90))
    for index, what in enumerate(("backward_data", "backward_weight", "forward")):
        results = []
        for threads in (1, 2, 3):
            arrays = [x.copy(), w.copy(), y.copy()]
            _convolve_arrays(what, *arrays, *WINDOWS[0][6:], threads=threads, level=level)
            results.append(arrays[index])
        assert all(np.array_equal(results[0], each) for each in results)
    for rows, given in (300, b), (11, turned):
        products = [np.empty((rows, 200 if given is b else 23), np.float32) for _ in range(3)]
        for threads, c in enumerate(products, 1):
            _multiply_arrays(
                a[:rows], given, c, b_transposed=given is turned, threads=threads, level=level
            )
        assert all(np.array_equal(products[0], each) for each in products)
