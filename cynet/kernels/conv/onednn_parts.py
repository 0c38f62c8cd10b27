"""Cuts oneDNN's work into parts for single threads: by shapes alone, so that results
do not depend on the number of threads."""

from itertools import product
from math import prod

MAX_PARTS = 16  # maximum parts of one computation
THREADS = (2, 4, 8, 16)  # thread counts for which parts should be even
SIMD_FLOATS = 16  # filters, or columns, that oneDNN computes at once
# Multiplications below which the product stays one part: 100 us of work.
MIN_SHARED_CONVOLUTION, MIN_SHARED_MATMUL = 1 << 23, 1 << 22  # multiplications

CUT_COUNTS = (1, 2, 4, 8, 16)  # counts of parts into which filters may be cut
MAX_SUM_ELEMENTS = 1 << 20  # maximum elements of the gradients of all slices
MAX_COPY_ELEMENTS = 1 << 20  # maximum elements of a part's copy of out_grad
MAX_SLOWDOWN = 1.08  # accepted slowdown with two threads, relative to the fastest choice
# Measured on Zen 4 with AVX-512; only their ratios matter.
PART_NS, PRODUCT_NS, SUM_NS, COPY_NS = 5000, 0.021, 0.8, 0.2  # each, in nanoseconds

MIN_ROWS, MIN_COLUMNS = 16, 64  # smallest part


def _imbalance(parts, threads):
    """Return the time with these equal parts, relative to a perfectly even distribution."""
    return -(-parts // threads) * threads / parts


def images_per_slice(batch, slices):
    """Return how many images each slice has; the last one may have fewer."""
    return -(-batch // slices)


def _possible_splits(data, weight, out):
    """Yield the possible pairs (slices, cuts)."""
    for slices, cuts in product(range(1, MAX_PARTS + 1), CUT_COUNTS):
        each, filters = images_per_slice(data[0], slices), out[1] // cuts
        if slices * cuts > MAX_PARTS or (slices - 1) * each >= data[0] or out[1] % cuts:
            continue
        if slices > 1 and slices * prod(weight) > MAX_SUM_ELEMENTS:
            continue
        is_grouped = len(weight) > len(out)
        if cuts > 1 and (is_grouped or each * filters * prod(out[2:]) > MAX_COPY_ELEMENTS):
            continue
        yield slices, cuts


def _cost_of_cuts(data, weight, out, slices, cuts):
    """Return an estimate of the time of all threads together, in nanoseconds."""
    products, filters = prod(weight) * out[0] * prod(out[2:]), out[1] // cuts
    cost = slices * cuts * PART_NS
    cost += products * PRODUCT_NS * (filters + -filters % SIMD_FLOATS) / filters
    if slices > 1:
        cost += slices * prod(weight) * SUM_NS
    if cuts > 1:  # out_grad is copied once; data are reordered for each cut
        cost += (prod(out) + (cuts - 1) * prod(data)) * COPY_NS
    return cost


def choose_slicing(data, weight, out):
    """Return how many slices of the batch and cuts of the filters the gradient of a weight is made
    of.

    Two threads decide which ways are too slow, more threads which of the others is taken.

    data, weight, out (tuple of int): Shapes, as a Convolution takes them.

    Returns (int, int).
    """
    if prod(weight) * out[0] * prod(out[2:]) < MIN_SHARED_CONVOLUTION:
        return 1, 1
    costs = {}
    for slices, cuts in _possible_splits(data, weight, out):
        cost = _cost_of_cuts(data, weight, out, slices, cuts)
        cost *= slices * images_per_slice(data[0], slices) / data[0]
        costs[slices, cuts] = [cost * _imbalance(slices * cuts, threads) for threads in THREADS]
    maximum = MAX_SLOWDOWN * min(each[0] for each in costs.values())
    return min((way for way in costs if costs[way][0] <= maximum), key=lambda way: sum(costs[way]))


def row_image_shapes(data, out):
    """Return the shapes of data and out with one image's pixel rows seen as several images."""
    rows = max(n for n in range(1, MAX_PARTS + 1) if data[2] % n == 0)
    return [(rows, shape[1], shape[2] // rows, *shape[3:]) for shape in (data, out)]


def _divisors(n, least, maximum, multiple=1):
    """Yield 1, and divisors of n with parts >= `least` that are multiples of `multiple`."""
    found = [d for d in range(2, maximum + 1) if n % d == 0]
    return [1, *(d for d in found if n // d >= least and n // d % multiple == 0)]


def count_matmul_parts(stack, m, n, k):
    """Return how many parts the stack, the rows and the columns of products (m, k) (k, n) have.

    Returns (int, int, int).
    """
    if stack * m * n * k < MIN_SHARED_MATMUL:
        return 1, 1, 1
    stacks = _divisors(stack, 1, MAX_PARTS)[-1]
    maximum = MAX_PARTS // stacks
    partitions = [
        (sum(_imbalance(stacks * r * c, threads) for threads in THREADS), m // r + n // c, r, c)
        for r in _divisors(m, MIN_ROWS, maximum)
        for c in _divisors(n, MIN_COLUMNS, maximum, SIMD_FLOATS)
        if r * c <= maximum
    ]
    # the most even partitions; among them the one with the squarest parts
    return stacks, *min(partitions)[2:]
