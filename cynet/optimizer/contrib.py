"""mx.optimizer.contrib: GroupAdaGrad."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import ndarray as nd
from .._core.put_rows import put_rows
from ..base.errors import ArgumentError, ShapeError
from ..base.kinds import number
from ..ndarray.sparse.convert import take_rows, values_of_all_rows
from .base import Optimizer, register

if TYPE_CHECKING:
    from ..typing import NDArray, State

__all__ = ["GroupAdaGrad"]


@register
class GroupAdaGrad(Optimizer):
    """AdaGrad with one step size for each row of a weight, for example of an Embedding.

    ``history += mean(grad ** 2)`` over a row, then
    ``weight -= learning_rate * grad / sqrt(history + eps)``.

    Parameters
    ----------
    eps : float
    **kwargs
        See :class:`Optimizer`; without weight decay. Of a row_sparse gradient only the rows that it
        has change.

    Examples
    --------
    >>> rule = GroupAdaGrad(learning_rate=1.0, eps=0)
    >>> weight, grad = nd.zeros((2, 2)), nd.array([[3, 3], [1, 1]])
    >>> rule.update(0, weight, grad, rule.create_state(0, weight))
    >>> weight.asnumpy().tolist()
    [[-1.0, -1.0], [-1.0, -1.0]]
    """

    serialized_fields = {"float_stable_eps": number()}
    _takes_lists = False

    def __init__(self, eps: float = 1e-5, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.float_stable_eps = eps

    def create_state(self, index: Any, weight: NDArray) -> State:
        if len(weight.shape) != 2:
            raise ShapeError(
                f"GroupAdaGrad: a weight must have two axes, that of {index!r} has shape"
                f" {weight.shape}"
            )
        return nd.zeros((weight.shape[0], 1), ctx=weight.context, dtype=weight.dtype)

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: State) -> None:
        lr, wd, _ = self._count_and_get_rates(index)
        if wd:
            raise ArgumentError(f"GroupAdaGrad: expected wd=0, got wd={wd} for {index!r}")
        clip = -1.0 if self.clip_gradient is None else self.clip_gradient
        numbers = {
            "lr": lr,
            "rescale_grad": self.rescale_grad,
            "clip_gradient": clip,
            "epsilon": self.float_stable_eps,
        }
        if grad.stype == "row_sparse":
            values, (rows,) = grad.parts()
            weight, state = values_of_all_rows(weight), values_of_all_rows(state)
            if len(rows):
                own, history = take_rows(weight, rows), take_rows(state, rows)
                nd.contrib.group_adagrad_update(own, values, history, out=own, **numbers)
                put_rows(weight, own, rows)
                put_rows(state, history, rows)
        else:
            nd.contrib.group_adagrad_update(weight, grad, state, out=weight, **numbers)
