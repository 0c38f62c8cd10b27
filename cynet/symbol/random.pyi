# Written by scripts/make_stubs.py; do not edit.

from typing import Any
from ..typing import DTypeLike, ShapeLike
from .symbol import Symbol

def uniform(low: float | Symbol=0, high: float | Symbol=1, shape: ShapeLike | None=None, dtype: DTypeLike | None=None, **kwargs: Any) -> Symbol:
    """Numbers from [low, high), each equally likely."""
def normal(loc: float | Symbol=0, scale: float | Symbol=1, shape: ShapeLike | None=None, dtype: DTypeLike | None=None, **kwargs: Any) -> Symbol:
    """Draw normally distributed numbers."""
def randn(*shape: int, loc: float | Symbol=0, scale: float | Symbol=1, dtype: DTypeLike | None=None, **kwargs: Any) -> Symbol:
    """Draw normally distributed numbers; the lengths of the axes are given one by one."""
def exponential(scale: float | Symbol=1, shape: ShapeLike | None=None, dtype: DTypeLike | None=None, **kwargs: Any) -> Symbol:
    """Draw exponentially distributed numbers."""
def gamma(alpha: float | Symbol=1, beta: float | Symbol=1, shape: ShapeLike | None=None, dtype: DTypeLike | None=None, **kwargs: Any) -> Symbol:
    """Draw Gamma distributed numbers."""
def poisson(lam: float | Symbol=1, shape: ShapeLike | None=None, dtype: DTypeLike | None=None, **kwargs: Any) -> Symbol:
    """Draw Poisson distributed counts, in a float type."""
def negative_binomial(k: float | Symbol=1, p: float | Symbol=1, shape: ShapeLike | None=None, dtype: DTypeLike | None=None, **kwargs: Any) -> Symbol:
    """Draw counts, in a float type, of successes before the k-th failure."""
def generalized_negative_binomial(mu: float | Symbol=1, alpha: float | Symbol=1, shape: ShapeLike | None=None, dtype: DTypeLike | None=None, **kwargs: Any) -> Symbol:
    """Draw negative binomial counts, in a float type, of a mean and a dispersion."""
def randint(low: float | Symbol, high: float | Symbol, shape: ShapeLike | None=None, dtype: DTypeLike | None=None, **kwargs: Any) -> Symbol:
    """Draw integers from [low, high), each equally likely."""
def multinomial(data: Symbol, shape: ShapeLike | None=None, get_prob: bool=True, dtype: DTypeLike='int32', **kwargs: Any) -> Symbol:
    """Draw indices with the probabilities in each row of a matrix."""
def shuffle(data: Symbol, **kwargs: Any) -> Symbol:
    """Put the rows of an array (its first axis) into random order."""
def exponential_like(data: Symbol | None = None, lam: float = 1.0, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """An array of exponentially distributed numbers of mean 1 / lam, of the shape and type of `data`."""
def gamma_like(data: Symbol | None = None, alpha: float = 1.0, beta: float = 1.0, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """An array of gamma distributed numbers of mean alpha * beta, of the shape and type of `data`."""
def generalized_negative_binomial_like(data: Symbol | None = None, mu: float = 1.0, alpha: float = 1.0, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """An array of negative binomial counts (in a float type) given by their mean and dispersion, of the shape and type of `data`."""
def negative_binomial_like(data: Symbol | None = None, k: int = 1, p: float = 1.0, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """An array of counts (in a float type) of successes before the k-th failure, of mean k (1 - p) / p, of the shape and type of `data`."""
def normal_like(data: Symbol | None = None, loc: float = 0.0, scale: float = 1.0, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """An array of normally distributed numbers, given by mean and standard deviation, of the shape and type of `data`."""
def pdf_dirichlet(sample: Symbol | None = None, alpha: Symbol | None = None, is_log: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Densities of samples under Dirichlet distributions, whose `alpha` is in the last axis."""
def pdf_exponential(sample: Symbol | None = None, lam: Symbol | None = None, is_log: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Densities of samples under exponential distributions, 0 outside of what can be drawn."""
def pdf_gamma(sample: Symbol | None = None, alpha: Symbol | None = None, beta: Symbol | None = None, is_log: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Densities of samples under gamma distributions, 0 outside of what can be drawn."""
def pdf_generalized_negative_binomial(sample: Symbol | None = None, mu: Symbol | None = None, alpha: Symbol | None = None, is_log: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Densities of samples under negative binomial distributions given by mean and dispersion, 0 outside of what can be drawn."""
def pdf_negative_binomial(sample: Symbol | None = None, k: Symbol | None = None, p: Symbol | None = None, is_log: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Densities of samples under negative binomial distributions, 0 outside of what can be drawn."""
def pdf_normal(sample: Symbol | None = None, mu: Symbol | None = None, sigma: Symbol | None = None, is_log: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Densities of samples under normal distributions, 0 outside of what can be drawn."""
def pdf_poisson(sample: Symbol | None = None, lam: Symbol | None = None, is_log: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Densities of samples under Poisson distributions, 0 outside of what can be drawn."""
def pdf_uniform(sample: Symbol | None = None, low: Symbol | None = None, high: Symbol | None = None, is_log: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Densities of samples under uniform distributions over [low, high], 0 outside of what can be drawn."""
def poisson_like(data: Symbol | None = None, lam: float = 1.0, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """An array of Poisson distributed counts (in a float type) of mean lam, of the shape and type of `data`."""
def uniform_like(data: Symbol | None = None, low: float = 0.0, high: float = 1.0, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """An array of uniform numbers from [low, high), of the shape and type of `data`."""
