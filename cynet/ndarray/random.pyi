# Written by scripts/make_stubs.py; do not edit.

from collections.abc import Sequence
from typing import Any
from ..typing import ContextLike, DTypeLike, ShapeLike
from .ndarray import NDArray

def uniform(low: float | NDArray=0, high: float | NDArray=1, shape: ShapeLike | None=None, dtype: DTypeLike | None=None, ctx: ContextLike | None=None, out: NDArray | None=None) -> NDArray:
    """Numbers from [low, high), each equally likely."""
def normal(loc: float | NDArray=0, scale: float | NDArray=1, shape: ShapeLike | None=None, dtype: DTypeLike | None=None, ctx: ContextLike | None=None, out: NDArray | None=None) -> NDArray:
    """Draw normally distributed numbers."""
def randn(*shape: int, loc: float | NDArray=0, scale: float | NDArray=1, dtype: DTypeLike | None=None, ctx: ContextLike | None=None, out: NDArray | None=None) -> NDArray:
    """Draw normally distributed numbers; the lengths of the axes are given one by one."""
def exponential(scale: float | NDArray=1, shape: ShapeLike | None=None, dtype: DTypeLike | None=None, ctx: ContextLike | None=None, out: NDArray | None=None) -> NDArray:
    """Draw exponentially distributed numbers."""
def gamma(alpha: float | NDArray=1, beta: float | NDArray=1, shape: ShapeLike | None=None, dtype: DTypeLike | None=None, ctx: ContextLike | None=None, out: NDArray | None=None) -> NDArray:
    """Draw Gamma distributed numbers."""
def poisson(lam: float | NDArray=1, shape: ShapeLike | None=None, dtype: DTypeLike | None=None, ctx: ContextLike | None=None, out: NDArray | None=None) -> NDArray:
    """Draw Poisson distributed counts, in a float type."""
def negative_binomial(k: float | NDArray=1, p: float | NDArray=1, shape: ShapeLike | None=None, dtype: DTypeLike | None=None, ctx: ContextLike | None=None, out: NDArray | None=None) -> NDArray:
    """Draw counts, in a float type, of successes before the k-th failure."""
def generalized_negative_binomial(mu: float | NDArray=1, alpha: float | NDArray=1, shape: ShapeLike | None=None, dtype: DTypeLike | None=None, ctx: ContextLike | None=None, out: NDArray | None=None) -> NDArray:
    """Draw negative binomial counts, in a float type, of a mean and a dispersion."""
def randint(low: int, high: int, shape: ShapeLike | None=None, dtype: DTypeLike | None=None, ctx: ContextLike | None=None, out: NDArray | None=None) -> NDArray:
    """Draw integers from [low, high), each equally likely."""
def multinomial(data: NDArray, shape: ShapeLike | None=None, get_prob: bool=False, out: NDArray | None=None, dtype: DTypeLike='int32') -> Any:
    """Indices drawn with the probabilities in each row of `data`."""
def shuffle(data: NDArray, out: NDArray | None=None) -> NDArray:
    """Put the rows of an array (its first axis) into random order."""
def exponential_like(data: NDArray, lam: float = 1.0, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """An array of exponentially distributed numbers of mean 1 / lam, of the shape and type of `data`."""
def gamma_like(data: NDArray, alpha: float = 1.0, beta: float = 1.0, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """An array of gamma distributed numbers of mean alpha * beta, of the shape and type of `data`."""
def generalized_negative_binomial_like(data: NDArray, mu: float = 1.0, alpha: float = 1.0, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """An array of negative binomial counts (in a float type) given by their mean and dispersion, of the shape and type of `data`."""
def negative_binomial_like(data: NDArray, k: int = 1, p: float = 1.0, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """An array of counts (in a float type) of successes before the k-th failure, of mean k (1 - p) / p, of the shape and type of `data`."""
def normal_like(data: NDArray, loc: float = 0.0, scale: float = 1.0, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """An array of normally distributed numbers, given by mean and standard deviation, of the shape and type of `data`."""
def pdf_dirichlet(sample: NDArray, alpha: NDArray, is_log: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Densities of samples under Dirichlet distributions, whose `alpha` is in the last axis."""
def pdf_exponential(sample: NDArray, lam: NDArray, is_log: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Densities of samples under exponential distributions, 0 outside of what can be drawn."""
def pdf_gamma(sample: NDArray, alpha: NDArray, beta: NDArray, is_log: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Densities of samples under gamma distributions, 0 outside of what can be drawn."""
def pdf_generalized_negative_binomial(sample: NDArray, mu: NDArray, alpha: NDArray, is_log: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Densities of samples under negative binomial distributions given by mean and dispersion, 0 outside of what can be drawn."""
def pdf_negative_binomial(sample: NDArray, k: NDArray, p: NDArray, is_log: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Densities of samples under negative binomial distributions, 0 outside of what can be drawn."""
def pdf_normal(sample: NDArray, mu: NDArray, sigma: NDArray, is_log: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Densities of samples under normal distributions, 0 outside of what can be drawn."""
def pdf_poisson(sample: NDArray, lam: NDArray, is_log: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Densities of samples under Poisson distributions, 0 outside of what can be drawn."""
def pdf_uniform(sample: NDArray, low: NDArray, high: NDArray, is_log: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Densities of samples under uniform distributions over [low, high], 0 outside of what can be drawn."""
def poisson_like(data: NDArray, lam: float = 1.0, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """An array of Poisson distributed counts (in a float type) of mean lam, of the shape and type of `data`."""
def uniform_like(data: NDArray, low: float = 0.0, high: float = 1.0, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """An array of uniform numbers from [low, high), of the shape and type of `data`."""
