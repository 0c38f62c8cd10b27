"""Checks of random generators: means, variances, chi-square tests."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import ArgumentError
from .compare import to_numpy

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..typing import NumpyArray

__all__ = ["chi_square_check", "gen_buckets_probs_with_ppf", "mean_check", "var_check"]
__all__ += ["verify_generator"]


def gen_buckets_probs_with_ppf(
    ppf: Callable[[float], float], nbuckets: int
) -> tuple[list[tuple[float, float]], list[float]]:
    """Make buckets of equal probability from a quantile function.

    Parameters
    ----------
    ppf : callable
        Takes a probability and returns the value below which that share lies.
    nbuckets : int
        Number of buckets.

    Returns
    -------
    (buckets, probabilities) : list of (float, float), list of float
        What `chi_square_check` takes.

    Raises
    ------
    ArgumentError
        If `nbuckets` is less than 1.

    Examples
    --------
    >>> mx.test_utils.gen_buckets_probs_with_ppf(lambda p: 2 * p, 2)
    ([(0.0, 1.0), (1.0, 2.0)], [0.5, 0.5])
    """
    if nbuckets < 1:
        raise ArgumentError(
            f"gen_buckets_probs_with_ppf: nbuckets must be 1 or more, got {nbuckets}"
        )
    width = 1.0 / nbuckets
    edges = [float(ppf(width * i)) for i in range(nbuckets)] + [float(ppf(1.0))]
    return list(pairwise(edges)), [width] * nbuckets


def _draw_samples(generator, nsamples):
    return to_numpy(generator(nsamples)).reshape(-1)


def mean_check(
    generator: Callable[[int], Any], mu: float, sigma: float, nsamples: int = 1000000
) -> bool:
    """Return whether the mean of samples is within three standard deviations of `mu`.

    Parameters
    ----------
    mu, sigma : float
        The distribution's mean and standard deviation.

    Returns
    -------
    bool
        False by chance once in 370 calls.

    Examples
    --------
    >>> draw = lambda n: np.random.default_rng(0).normal(2, 1, n)
    >>> from cynet.test_utils import mean_check
    >>> mean_check(draw, mu=2, sigma=1, nsamples=10000), mean_check(draw, 2.1, 1, 10000)
    (True, False)
    """
    mean = float(_draw_samples(generator, nsamples).mean(dtype=np.float64))
    return abs(mean - mu) < 3 * sigma / math.sqrt(nsamples)


def var_check(generator: Callable[[int], Any], sigma: float, nsamples: int = 1000000) -> bool:
    """Return whether the variance of samples is within three standard deviations of ``sigma**2``.

    That is: from ``sigma ** 2``, for normal distributions.

    Parameters
    ----------
    sigma : float
        The distribution's standard deviation.

    Examples
    --------
    >>> draw = lambda n: np.random.default_rng(0).normal(0, 2, n)
    >>> from cynet.test_utils import var_check
    >>> var_check(draw, sigma=2, nsamples=10000), var_check(draw, 2.1, 10000)
    (True, False)
    """
    variance = float(_draw_samples(generator, nsamples).var(ddof=1, dtype=np.float64))
    return abs(variance - sigma**2) < 3 * math.sqrt(2 * sigma**4 / (nsamples - 1))


def chi_square_tail(statistic, freedom):
    """Return the probability of a larger chi-square statistic, for `freedom` degrees of freedom.

    A finite sum: the recurrence of the upper incomplete gamma function in steps of 1, from
    ``exp(-x)`` or ``erfc(sqrt(x))``.
    """
    half = statistic / 2
    if freedom % 2 == 0:
        tail, power, order = math.exp(-half), math.exp(-half), 1.0
    else:
        tail = math.erfc(math.sqrt(half))
        power, order = math.exp(-half) * math.sqrt(half) / math.gamma(1.5), 1.5
        if freedom > 1:
            tail += power
    while order < freedom / 2 - 0.75:
        power *= half / order
        order += 1
        tail += power
    return tail


def chi_square_check(
    generator: Callable[[int], Any],
    buckets: Sequence[Any],
    probs: Sequence[float],
    nsamples: int = 1000000,
) -> tuple[float, NumpyArray, NumpyArray]:
    """Apply Pearson's chi-square test to a generator.

    Parameters
    ----------
    buckets : list of (low, high), or list of number
        Ranges of a continuous distribution, or all values of a discrete one.
    probs : list of float
        The probability of each bucket.

    Returns
    -------
    (p, counts, expected counts)
        Float, int array, int32 array; a small `p` speaks against the generator.

    Raises
    ------
    ArgumentError
        If there are no buckets, or not as many as probabilities.

    Examples
    --------
    >>> draw = lambda n: np.random.default_rng(1).integers(0, 2, n)
    >>> p, counts, due = mx.test_utils.chi_square_check(draw, [0, 1], [0.5, 0.5], nsamples=1000)
    >>> counts, due, p > 0.05
    (array([509, 491]), array([500, 500], dtype=int32), True)
    """
    if len(buckets) != len(probs) or not len(buckets):
        raise ArgumentError(
            f"chi_square_check: {len(buckets)} buckets for {len(probs)} probabilities"
        )
    expected = (nsamples * np.asarray(probs, np.float64)).round().astype(np.int32)
    samples = _draw_samples(generator, nsamples)
    if isinstance(buckets[0], (list, tuple)):
        # a sample on an edge belongs to the bucket below
        counts = np.array([((samples > low) & (samples <= high)).sum() for low, high in buckets])
    else:
        counts = np.array([(samples == value).sum() for value in buckets])
    statistic = float(((counts - expected) ** 2 / expected).sum())
    return chi_square_tail(statistic, len(buckets) - 1), counts, expected


def verify_generator(
    generator: Callable[[int], Any],
    buckets: Sequence[Any],
    probs: Sequence[float],
    nsamples: int = 1000000,
    nrepeat: int = 5,
    success_rate: float = 0.2,
    alpha: float = 0.05,
) -> list[float]:
    """Raise AssertionError unless enough chi-square tests have ``p > alpha``; return all p values.

    Parameters
    ----------
    generator, buckets, probs, nsamples
        See `chi_square_check`.
    nrepeat : int
        Number of tests.
    success_rate : float
        Share of the tests that must succeed.
    alpha : float
        Bound that `p` has to exceed for a test to succeed.

    Raises
    ------
    AssertionError
        If fewer tests succeed; the message has the counts.
    ArgumentError
        If there are no buckets, or not as many as probabilities.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> draw = lambda n: rng.random(n)
    >>> halves = [(0, 0.5), (0.5, 1)]
    >>> found = mx.test_utils.verify_generator(draw, halves, [0.5, 0.5], nsamples=1000)
    >>> len(found), max(found) > 0.05
    (5, True)
    """
    tests = [chi_square_check(generator, buckets, probs, nsamples) for _ in range(nrepeat)]
    values = [p for p, _, _ in tests]
    passed = sum(p > alpha for p in values)
    if passed < nrepeat * success_rate:
        raise AssertionError(
            f"{passed} of {nrepeat} chi-square tests succeed: p={values}, buckets={list(buckets)},"
            f" counts={[counts.tolist() for _, counts, _ in tests]}, expected"
            f" {tests[0][2].tolist()}"
        )
    return values
