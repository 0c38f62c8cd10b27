"""The optimizer ``Test``, whose steps are simple enough to check by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .base import Optimizer, register, zeros_like

if TYPE_CHECKING:
    from ..typing import NDArray, State


@register
class Test(Optimizer):
    """Adds the rescaled gradient to the weight, and stores the weight as state; for tests.

    Parameters
    ----------
    **kwargs
        See :class:`Optimizer`.

    Examples
    --------
    >>> optimizer = mx.optimizer.Test(rescale_grad=0.5)
    >>> weight = mx.nd.zeros(2)
    >>> state = optimizer.create_state(0, weight)
    >>> optimizer.update(0, weight, mx.nd.array([1, 2]), state)
    >>> weight.asnumpy(), state.asnumpy()
    (array([0.5, 1. ], dtype=float32), array([0.5, 1. ], dtype=float32))
    """

    __test__ = False  # not a test class, despite its name
    _takes_lists = False

    def create_state(self, index: Any, weight: NDArray) -> State:
        return zeros_like(weight)

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: State) -> None:
        weight[:] = weight + grad * self.rescale_grad
        state[:] = weight
