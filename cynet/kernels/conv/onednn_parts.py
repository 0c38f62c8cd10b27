"""How work of oneDNN is cut into parts that are one thread's each: by shapes alone, so that results
do not depend on the number of threads."""

from itertools import product
from math import prod

MOST_PARTS = 16
REGISTER = 16  # filters, or columns, that oneDNN computes at once
# Products of two numbers, of which fewer are one part: 100 us of work.
SHARED_CONVOLUTION, SHARED_MATMUL = 1 << 23, 1 << 22

CUTS = (1, 2, 4, 8, 16)
MOST_SUMMED = 1 << 20  # elements of the gradients of all slices
NEAR = 1.08  # times as slow as the fastest way with two threads, and still taken
# Measured on Zen 4 with AVX-512; what counts is how they compare.
PART_NS, PRODUCT_NS, SUM_NS, COPY_NS = 5000, 0.021, 0.8, 0.2

FEW_ROWS, FEW_COLUMNS = 16, 64  # of a part


def _waste(parts, threads):
    """Time of threads for equal parts, over that for work that could be shared out evenly."""
    return -(-parts // threads) * threads / parts


def _costs(data, weight, out):
    """{(slices, cuts): nanoseconds of all threads together}."""
    products, size = prod(weight) * out[0] * prod(out[2:]), prod(weight)
    is_grouped, found = len(weight) > len(out), {}
    for slices, cuts in product(range(1, MOST_PARTS + 1), CUTS):
        if data[0] % slices or out[1] % cuts or slices * cuts > MOST_PARTS:
            continue
        if (cuts > 1 and is_grouped) or (slices > 1 and slices * size > MOST_SUMMED):
            continue
        filters = out[1] // cuts
        cost = slices * cuts * PART_NS
        cost += products * PRODUCT_NS * (filters + -filters % REGISTER) / filters
        if slices > 1:
            cost += slices * size * SUM_NS
        if cuts > 1:  # out_grad is copied once, data brought into another order for each cut
            cost += (prod(out) + (cuts - 1) * prod(data)) * COPY_NS
        found[slices, cuts] = cost
    return found


def slices_and_cuts(data, weight, out):
    """How many slices of the batch and cuts of the filters the gradient of a weight is made of.

    Two threads decide which ways are too slow, more threads which of the others is taken.

    Parameters
    ----------
    data, weight, out : tuple of int
        Shapes, as a Convolution takes them.

    Returns
    -------
    (int, int)
    """
    if prod(weight) * out[0] * prod(out[2:]) < SHARED_CONVOLUTION:
        return 1, 1
    costs = {
        way: [cost * _waste(prod(way), threads) for threads in (2, 4, 8, 16)]
        for way, cost in _costs(data, weight, out).items()
    }
    most = NEAR * min(each[0] for each in costs.values())
    return min((way for way in costs if costs[way][0] <= most), key=lambda way: sum(costs[way]))


def _divisors(n, least, most, multiple=1):
    """1, and the divisors of n that leave parts of `least` and a multiple of `multiple`."""
    found = [d for d in range(2, most + 1) if n % d == 0]
    return [1, *(d for d in found if n // d >= least and n // d % multiple == 0)]


def stacks_rows_and_columns(stack, m, n, k):
    """How many parts the stack, the rows and the columns of products (m, k) (k, n) have.

    Returns
    -------
    (int, int, int)
    """
    if stack * m * n * k < SHARED_MATMUL:
        return 1, 1, 1
    stacks = _divisors(stack, 1, MOST_PARTS)[-1]
    most = MOST_PARTS // stacks
    ways = [
        (sum(_waste(stacks * r * c, threads) for threads in (2, 4, 8, 16)), m // r + n // c, r, c)
        for r in _divisors(m, FEW_ROWS, most)
        for c in _divisors(n, FEW_COLUMNS, most, REGISTER)
        if r * c <= most
    ]
    # those that can be shared out best; of these the one whose parts are squarest
    return stacks, *min(ways)[2:]
