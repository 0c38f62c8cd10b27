"""Initializers of constants and of random numbers."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ndarray as nd
from ..base.errors import ArgumentError, ShapeError, shown

if TYPE_CHECKING:
    pass

from .base import Initializer, alias, register

__all__ = ["Constant", "MSRAPrelu", "Normal", "One", "Orthogonal", "Uniform", "Xavier", "Zero"]


@register
@alias("zeros")
class Zero(Initializer):
    """Weights become 0.

    Examples
    --------
    >>> w = mx.nd.ones((2, 2))
    >>> mx.init.Zero()("fc_weight", w)
    >>> w
    [[0. 0.]
     [0. 0.]]
    <NDArray 2x2 @cpu(0)>
    """

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, _, arr):
        arr[:] = 0.0


@register
@alias("ones")
class One(Initializer):
    """Weights become 1.

    Examples
    --------
    >>> w = mx.nd.zeros((2, 2))
    >>> mx.init.One()("fc_weight", w)
    >>> w
    [[1. 1.]
     [1. 1.]]
    <NDArray 2x2 @cpu(0)>
    """

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, _, arr):
        arr[:] = 1.0


@register
class Constant(Initializer):
    """Sets weights to `value`, a number or an array of their shape.

    Parameters
    ----------
    value : number or NDArray
        The value; an array has the weight's shape, or one that NumPy broadcasts to it.

    Examples
    --------
    >>> w = mx.nd.zeros((2, 2))
    >>> mx.init.Constant(3)("fc_weight", w)
    >>> w
    [[3. 3.]
     [3. 3.]]
    <NDArray 2x2 @cpu(0)>
    """

    def __init__(self, value: Any) -> None:
        super().__init__(value=value)
        self.value = value

    def _init_weight(self, _, arr):
        arr[:] = self.value

    def dumps(self) -> str:
        value = self.value
        if hasattr(value, "asnumpy"):
            value = value.asnumpy()
        if isinstance(value, np.ndarray):
            value = value.tolist()
        return json.dumps(["constant", {"value": value}])

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.dumps() == other.dumps()

    __hash__ = None


@register
class Uniform(Initializer):
    """Draws weights uniformly from ``[-scale, scale)``.

    Parameters
    ----------
    scale : float
        Upper bound; the lower bound is its negative.

    Examples
    --------
    >>> w = mx.nd.zeros((100, 100))
    >>> mx.init.Uniform(0.1)("fc_weight", w)
    >>> round(float(w.max()), 2), round(float(w.min()), 2)
    (0.1, -0.1)
    """

    def __init__(self, scale: float = 0.07) -> None:
        super().__init__(scale=scale)
        self.scale = scale

    def _init_weight(self, _, arr):
        _draw_uniform(arr, self.scale)


@register
class Normal(Initializer):
    """Draws weights from a normal distribution of mean 0 and standard deviation `sigma`.

    Parameters
    ----------
    sigma : float
        Standard deviation.

    Examples
    --------
    >>> mx.random.seed(1)
    >>> w = mx.nd.zeros((100, 100))
    >>> mx.init.Normal(0.1)("fc_weight", w)
    >>> round(float(w.std()), 2)
    0.1
    """

    def __init__(self, sigma: float = 0.01) -> None:
        super().__init__(sigma=sigma)
        self.sigma = sigma

    def _init_weight(self, _, arr):
        _draw_normal(arr, self.sigma)


@register
class Orthogonal(Initializer):
    """Fills the weight matrix with orthogonal rows (or columns, if they are fewer).

    Saxe et al., https://arxiv.org/abs/1312.6120. Axes after the first count as one.

    Parameters
    ----------
    scale : float
        Length of the rows.
    rand_type : str
        Distribution that the matrix is drawn from first: ``'uniform'`` or ``'normal'``.

    Raises
    ------
    ArgumentError
        `rand_type` is another one.

    Examples
    --------
    >>> w = mx.nd.zeros((2, 3))
    >>> mx.init.Orthogonal(scale=1)("fc_weight", w)
    >>> mx.nd.abs(mx.nd.dot(w, w.T)).round()
    [[1. 0.]
     [0. 1.]]
    <NDArray 2x2 @cpu(0)>
    """

    def __init__(self, scale: float = 1.414, rand_type: str = "uniform") -> None:
        super().__init__(scale=scale, rand_type=rand_type)
        if rand_type not in ("uniform", "normal"):
            raise ArgumentError(f"rand_type must be 'uniform' or 'normal', got {shown(rand_type)}")
        self.scale = scale
        self.rand_type = rand_type

    def _init_weight(self, _, arr):
        drawn = nd.zeros((arr.shape[0], int(np.prod(arr.shape[1:]))))
        (_draw_uniform if self.rand_type == "uniform" else _draw_normal)(drawn, 1.0)
        left, _, right = np.linalg.svd(drawn.asnumpy(), full_matrices=False)
        basis = left if left.shape == drawn.shape else right
        arr[:] = self.scale * basis.reshape(arr.shape)


@register
class Xavier(Initializer):
    """Draws weights whose scale preserves the variance of signals from layer to layer.

    The width is ``sqrt(magnitude / factor)``, the factor is the number of inputs, of outputs, or
    the mean of both. Glorot and Bengio, 2010.

    Parameters
    ----------
    rnd_type : str
        ``'uniform'`` draws from ``[-width, width)``, ``'gaussian'`` from a normal distribution with
        that standard deviation.
    factor_type : str
        The factor: number of inputs (``'in'``), of outputs (``'out'``), or the mean of both
        (``'avg'``).
    magnitude : float
        Numerator of the width; 2 suits layers before a ReLU.

    Raises
    ------
    ArgumentError
        `rnd_type` or `factor_type` is another one.
    ShapeError
        From a call: the weight has fewer than two axes.

    Examples
    --------
    >>> w = mx.nd.zeros((50, 100))
    >>> mx.init.Xavier()("fc_weight", w)
    >>> round(float(w.max()), 1)  # sqrt(3 / 75)
    0.2
    """

    def __init__(
        self, rnd_type: str = "uniform", factor_type: str = "avg", magnitude: float = 3
    ) -> None:
        super().__init__(rnd_type=rnd_type, factor_type=factor_type, magnitude=magnitude)
        if rnd_type not in ("uniform", "gaussian"):
            raise ArgumentError(f"rnd_type must be 'uniform' or 'gaussian', got {shown(rnd_type)}")
        if factor_type not in ("in", "out", "avg"):
            raise ArgumentError(
                f"factor_type must be 'in', 'out' or 'avg', got {shown(factor_type)}"
            )
        self.rnd_type = rnd_type
        self.factor_type = factor_type
        self.magnitude = float(magnitude)

    def _init_weight(self, name, arr):
        shape = arr.shape
        if len(shape) < 2:
            raise ShapeError(
                f"{type(self).__name__} needs 2 or more axes, '{name}' has shape {shape}"
            )
        receptive = math.prod(shape[2:])
        fan_in, fan_out = shape[1] * receptive, shape[0] * receptive
        factor = {"in": fan_in, "out": fan_out, "avg": (fan_in + fan_out) / 2}[self.factor_type]
        width = math.sqrt(self.magnitude / factor)
        (_draw_uniform if self.rnd_type == "uniform" else _draw_normal)(arr, width)


@register
class MSRAPrelu(Xavier):
    """Xavier for (leaky) ReLU, with magnitude ``2 / (1 + slope**2)``.

    He et al., https://arxiv.org/abs/1502.01852.

    Parameters
    ----------
    factor_type : str
        Which width counts: ``'in'``, ``'out'`` or ``'avg'``, the mean of both.
    slope : float
        Slope of the rectifier for negative inputs.

    Examples
    --------
    >>> mx.random.seed(1)
    >>> w = mx.nd.zeros((200, 50))
    >>> mx.init.MSRAPrelu("in", slope=0)("fc_weight", w)
    >>> round(float(w.std()), 1)  # sqrt(2 / 50)
    0.2
    """

    def __init__(self, factor_type: str = "avg", slope: float = 0.25) -> None:
        super().__init__("gaussian", factor_type, 2.0 / (1 + slope**2))
        self._kwargs = {"factor_type": factor_type, "slope": slope}


def _draw_uniform(arr, scale):
    nd.random.uniform(-scale, scale, shape=arr.shape, out=arr)


def _draw_normal(arr, sigma):
    nd.random.normal(0, sigma, shape=arr.shape, out=arr)
