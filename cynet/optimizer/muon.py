"""Muon: momentum whose matrices are made nearly orthogonal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ndarray as nd
from .._core.sparse_kind import dense_of
from ..base.errors import ArgumentError, shown
from ..base.kinds import FLAG, count, number, to_count, word
from .base import Optimizer, register

if TYPE_CHECKING:
    from ..typing import NDArray, State

_POLYNOMIAL_FACTORS = (3.4445, -4.775, 2.0315)  # of orders 1, 3, 5


def _orthogonalize(matrix, steps, epsilon):
    """Return a matrix with the same singular vectors and singular values near 1."""
    a, b, c = _POLYNOMIAL_FACTORS
    wide = matrix.shape[0] <= matrix.shape[1]
    x = matrix if wide else matrix.T
    x = nd.broadcast_div(x, nd.maximum(nd.norm(x), epsilon).reshape((1, 1)))
    for _ in range(steps):
        square = nd.dot(x, x, transpose_b=True)
        x = a * x + nd.dot(b * square + c * nd.dot(square, square), x)
    return x if wide else x.T


@register
class Muon(Optimizer):
    """Muon: orthogonalized momentum, so that all directions of a weight matrix change equally.

    Keller Jordan, https://kellerjordan.github.io/posts/muon/. All axes of a weight but the first
    are one, so that a kernel of a convolution is a matrix, too. Weights of one axis, as biases,
    step as AdamW's, with `beta1` and `beta2`.
    Embeddings and the last layer are better trained by AdamW: give them a Trainer of their own.
    Weight decay is apart from the gradient: ``weight -= learning_rate * wd * weight``.

    Parameters
    ----------
    learning_rate : float
        Step size; ignored if there is an `lr_scheduler`.
    momentum : float
        Share of the momentum that remains.
    nesterov : bool
        Look ahead by one step of momentum.
    ns_steps : int
        Steps of the iteration that orthogonalizes.
    adjust : str
        Of matrices m x n: ``'original'`` multiplies steps by ``sqrt(max(1, m / n))``,
        ``'match_rms_adamw'`` by ``0.2 * sqrt(max(m, n))``, so that rates of AdamW fit.
    beta1, beta2 : float
        AdamW's, for weights of one axis.
    epsilon : float
        Least norm of a momentum, and what AdamW adds to roots.

    Raises
    ------
    ArgumentError
        `adjust` is another word, or `ns_steps` below 1.

    Examples
    --------
    >>> weight, grad = mx.nd.zeros((2, 2)), mx.nd.array([[5, 0], [0, 1]])
    >>> updater = mx.optimizer.get_updater(mx.optimizer.Muon(learning_rate=0.1))
    >>> updater(0, grad, weight)
    >>> bool((abs(weight.asnumpy().diagonal() + 0.1) < 0.04).all())  # both by about 0.1
    True
    """

    serialized_fields = {
        "momentum": number(0, 1),
        "nesterov": FLAG,
        "ns_steps": count(1),
        "adjust": word("original", "match_rms_adamw"),
        "beta1": number(0, 1),
        "beta2": number(0, 1),
        "epsilon": number(0),
    }
    _takes_lists = False

    def __init__(
        self,
        learning_rate: float = 0.02,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_steps: int = 5,
        adjust: str = "original",
        beta1: float = 0.9,
        beta2: float = 0.95,
        epsilon: float = 1e-7,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        if adjust not in ("original", "match_rms_adamw"):
            raise ArgumentError(
                f"Muon: adjust is 'original' or 'match_rms_adamw', got {shown(adjust)}"
            )
        self.momentum, self.nesterov, self.adjust = momentum, nesterov, adjust
        self.ns_steps = to_count("Muon: ns_steps", ns_steps)
        self.beta1, self.beta2, self.epsilon = beta1, beta2, epsilon

    def create_state(self, index: Any, weight: NDArray) -> State:
        def zeros():
            return nd.zeros(weight.shape, ctx=weight.context, dtype=_state_dtype(weight.dtype))

        return zeros() if len(weight.shape) > 1 else (zeros(), zeros())

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: State) -> None:
        lr, wd, step = self._count_and_get_rates(index)
        dtype = _state_dtype(weight.dtype)
        exact, grad = weight.astype(dtype), self._prepare_gradient(dense_of(grad).astype(dtype))
        if len(weight.shape) > 1:
            move = self._orthogonal_update(grad, state)
        else:
            mean, square = state
            mean[:] = self.beta1 * mean + (1 - self.beta1) * grad
            square[:] = self.beta2 * square + (1 - self.beta2) * nd.square(grad)
            root = nd.sqrt(square / (1 - self.beta2**step)) + self.epsilon
            move = mean / (1 - self.beta1**step) / root
        weight[:] = (exact * (1 - lr * wd) - lr * move).astype(weight.dtype)

    def _orthogonal_update(self, grad, state):
        state[:] = self.momentum * state + (1 - self.momentum) * grad
        move = state
        if self.nesterov:
            move = (1 - self.momentum) * grad + self.momentum * state
        rows, columns = grad.shape[0], int(np.prod(grad.shape[1:]))
        move = _orthogonalize(move.reshape((rows, columns)), self.ns_steps, self.epsilon)
        scale = max(1, rows / columns) ** 0.5
        if self.adjust != "original":
            scale = 0.2 * max(rows, columns) ** 0.5
        return scale * move.reshape(grad.shape)


def _state_dtype(dtype):
    """Return the dtype of states and of the iteration."""
    return np.float64 if np.dtype(dtype) == np.float64 else np.float32
