"""Adafactor: an optimizer like Adam, with states of a weight's rows and columns only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ndarray as nd
from .._core.sparse_kind import dense_of
from ..base.errors import ArgumentError, shown
from ..base.kinds import FLAG, number
from .base import Optimizer, register

if TYPE_CHECKING:
    from ..typing import NDArray, State


def _root_mean_square(array):
    """Return the root mean square as an array (1,), without waiting for it."""
    return nd.sqrt(nd.mean(nd.square(array)))


@register
class Adafactor(Optimizer):
    """Adafactor: gradients over their root mean square; of a weight with two axes or more, only row
    and column means are stored.

    Shazeer and Stern, https://arxiv.org/abs/1804.04235. All axes of a weight but the first are one,
    so that a kernel of a convolution is a matrix, too. States are float32 for weights of 16 bits.
    Weight decay is apart from the gradient: ``weight -= learning_rate * wd * weight``.

    Parameters
    ----------
    learning_rate : float
        Largest size of a step, relative to the weight; ignored if there is an `lr_scheduler`.
    epsilon : float
        Added to the squares of gradients.
    min_scale : float
        Smallest root mean square that a weight counts as having.
    clip_threshold : float
        Steps whose root mean square is larger are scaled down to it.
    decay_rate : float
        At the t-th update the mean square keeps the share ``1 - t ** decay_rate``; negative.
    relative_step : bool
        Steps become ``1 / sqrt(t)`` when that is less than `learning_rate`. False: they are as
        `learning_rate` or a schedule says.
    scale_parameter : bool
        A step is a share of the weight's root mean square. False: it is the learning rate itself.

    Raises
    ------
    ArgumentError
        `decay_rate` is not below 0, or `clip_threshold` not above 0.

    Examples
    --------
    >>> weight, grad = mx.nd.ones((2, 3)), mx.nd.ones((2, 3))
    >>> optimizer = mx.optimizer.Adafactor(learning_rate=0.01)
    >>> updater = mx.optimizer.get_updater(optimizer)
    >>> updater(0, grad, weight)
    >>> weight[0].asnumpy().round(3).tolist()
    [0.9900000095367432, 0.9900000095367432, 0.9900000095367432]
    >>> [state.shape for state in updater.states[0]]
    [(2, 1), (1, 3)]
    """

    serialized_fields = {
        "epsilon": number(),
        "min_scale": number(),
        "clip_threshold": number(),
        "decay_rate": number(),
        "relative_step": FLAG,
        "scale_parameter": FLAG,
    }
    _takes_lists = False

    def __init__(
        self,
        learning_rate: float = 0.01,
        epsilon: float = 1e-30,
        min_scale: float = 1e-3,
        clip_threshold: float = 1.0,
        decay_rate: float = -0.8,
        relative_step: bool = True,
        scale_parameter: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        if not decay_rate < 0:
            raise ArgumentError(f"Adafactor: decay_rate must be below 0, got {shown(decay_rate)}")
        if not clip_threshold > 0:
            raise ArgumentError(
                f"Adafactor: clip_threshold must be above 0, got {shown(clip_threshold)}"
            )
        self.epsilon, self.min_scale, self.clip_threshold = epsilon, min_scale, clip_threshold
        self.decay_rate, self.relative_step = decay_rate, relative_step
        self.scale_parameter = scale_parameter

    def create_state(self, index: Any, weight: NDArray) -> State:
        dtype = _state_dtype(weight.dtype)
        if len(weight.shape) < 2:
            return nd.zeros(weight.shape, ctx=weight.context, dtype=dtype)
        rows = weight.shape[0]
        columns = int(np.prod(weight.shape[1:]))
        return tuple(
            nd.zeros(shape, ctx=weight.context, dtype=dtype) for shape in ((rows, 1), (1, columns))
        )

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: State) -> None:
        if weight.context.device_type == "gpu":
            self._update_by_operators(index, weight, grad, state)
            return
        rate, decay, share = self._rates_of_next_step(index)
        clip = -1.0 if self.clip_gradient is None else self.clip_gradient
        grad = dense_of(grad)
        states = state if isinstance(state, tuple) else (state,)
        step = nd._internal._adafactor_update
        if len(states) == 1:
            step = nd._internal._adafactor_vector_update
        step(
            weight,
            grad,
            *states,
            lr=rate,
            decay=decay,
            rescale_grad=self.rescale_grad,
            clip_gradient=clip,
            epsilon=self.epsilon,
            min_scale=max(self.min_scale, 0.0) if self.scale_parameter else -1.0,
            clip_threshold=self.clip_threshold,
            share=share,
            out=weight,
        )

    def _rates_of_next_step(self, index):
        """Count a step; return its learning rate, weight decay, and the weight of new squares."""
        lr, wd, step = self._count_and_get_rates(index)
        return min(lr, step**-0.5) if self.relative_step else lr, lr * wd, step**self.decay_rate

    def _update_by_operators(self, index, weight, grad, state):
        rate, decay, share = self._rates_of_next_step(index)
        dtype, shape = _state_dtype(weight.dtype), weight.shape
        grad = dense_of(grad)
        exact, grad = weight.astype(dtype), self._prepare_gradient(grad.astype(dtype))
        if len(shape) > 1:
            grad = grad.reshape((shape[0], -1))
        squares = nd.square(grad) + self.epsilon
        if isinstance(state, tuple):
            rows, columns = state
            rows[:] = rows + share * (nd.mean(squares, axis=1, keepdims=True) - rows)
            columns[:] = columns + share * (nd.mean(squares, axis=0, keepdims=True) - columns)
            # two roots, because a product of two small means may underflow in float32
            move = nd.broadcast_div(grad, nd.sqrt(nd.broadcast_div(rows, nd.mean(rows))))
            move = nd.broadcast_div(move, nd.sqrt(columns))
        else:
            state[:] = state + share * (squares - state)
            move = grad / nd.sqrt(state)
        size = nd.maximum(_root_mean_square(move) / self.clip_threshold, 1.0)
        if self.scale_parameter:
            rate = nd.maximum(_root_mean_square(exact), self.min_scale) * rate / size
        else:
            rate = rate / size
        move = nd.broadcast_mul(move, rate.reshape((1,) * len(move.shape))).reshape(shape)
        weight[:] = (exact * (1 - decay) - move).astype(weight.dtype)


def _state_dtype(dtype):
    """Return the dtype of states: float16 has too small a range for squares."""
    return np.float64 if np.dtype(dtype) == np.float64 else np.float32
