"""SAM: sharpness-aware minimization, by the gradient at the worst nearby weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import autograd
from .. import ndarray as nd
from ..base.errors import ArgumentError, ArgumentTypeError, shown
from ..base.guard import guarded
from ..base.kinds import check_flag
from ..optimizer.settings import check_real
from .errors import StaleGradientError
from .trainer import Trainer

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..typing import NDArray

_MIN_NORM = 1e-12  # avoids division by zero


@guarded(but=("step",))
class SAM:
    """Sharpness-aware minimization with a Trainer: prefers flat minima of the loss.

    A step computes the gradient, goes from the weights `rho` far where the loss grows, computes the
    gradient there, and lets the Trainer's optimizer change the weights by that one. Foret, Kleiner,
    Mobahi and Neyshabur, https://arxiv.org/abs/2010.01412. It takes two forward and two backward
    passes; running statistics of BatchNorm are those of the first. Of several devices or ranks each
    goes by its own gradient.

    Parameters
    ----------
    trainer : Trainer
        With the optimizer, of any kind.
    rho : float
        How far to go, above 0.
    adaptive : bool
        Go in proportion to each weight, which makes the step independent of the scale of layers.
        Kwon, Kim, Park and Choi, https://arxiv.org/abs/2102.11600, where `rho` is ten times as
        large.

    Raises
    ------
    ArgumentError
        `rho` is not above 0.
    ArgumentTypeError
        `trainer` is not a Trainer, or a setting of another type.

    Examples
    --------
    >>> net = mx.gluon.nn.Dense(1, in_units=1, use_bias=False)
    >>> net.initialize(mx.init.One())
    >>> trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    >>> sam = mx.gluon.SAM(trainer, rho=0.5)
    >>> x = mx.nd.array([[1], [1]])
    >>> def closure():
    ...     with mx.autograd.record():
    ...         loss = net(x) ** 2
    ...     loss.backward()
    ...     return loss
    >>> sam.step(closure, batch_size=2).asnumpy().tolist()
    [[1.0], [1.0]]
    >>> round(float(net.weight.data().asscalar()), 4)  # 1 - 0.1 * 2 * 1.5
    0.7
    """

    def __init__(self, trainer: Trainer, rho: float = 0.05, adaptive: bool = False) -> None:
        if not isinstance(trainer, Trainer):
            raise ArgumentTypeError(f"SAM: trainer must be a Trainer, got {shown(trainer)}")
        check_real("SAM: rho", rho)
        if rho <= 0:
            raise ArgumentError(f"SAM: rho must be above 0, got {shown(rho)}")
        check_flag("SAM", "adaptive", adaptive)
        self.trainer, self.rho, self.adaptive = trainer, rho, adaptive

    def step(self, closure: Callable[[], Any], batch_size: int) -> Any:
        """Update the parameters once.

        Parameters
        ----------
        closure : callable
            Computes the loss of a batch under ``autograd.record()``, calls its ``backward()`` and
            returns it. It is called twice.
        batch_size : int
            What ``trainer.step`` takes.

        Returns
        -------
        object
            What `closure` returned the first time: the loss of the weights before the step.

        Raises
        ------
        ArgumentError
            A parameter adds up its gradients, or has a sparse one.
        StaleGradientError
            The closure has not computed the gradient of some parameter.
        """
        params = [each for each in self.trainer._params if each.grad_req != "null"]
        for each in params:
            if each.grad_req == "add" or each.grad_stype != "default":
                raise ArgumentError(
                    f"SAM: parameter '{each.name}' must have grad_req='write' and a dense gradient,"
                    f" got grad_req='{each.grad_req}', grad_stype='{each.grad_stype}'"
                )
        loss = closure()
        _refuse_stale_gradients(params)
        statistics = [
            (array, array.copy())
            for each in self.trainer._params
            if not each._differentiable
            for array in each.list_data()
        ]
        arrays_of = [(each.list_data(), each.list_grad()) for each in params]
        before = [(array, array.copy()) for arrays, _ in arrays_of for array in arrays]
        for array, _ in before:
            array._fresh_grad = False
        try:
            with autograd.pause():
                for pairs in zip(*(list(zip(*each)) for each in arrays_of)):  # of one device
                    self._move_along_gradients(pairs)
            closure()
            _refuse_stale_gradients(params)
        finally:
            with autograd.pause():
                for array, value in (*before, *statistics):
                    array[:] = value
        self.trainer.step(batch_size)
        return loss

    def _move_along_gradients(self, pairs: list[tuple[NDArray, NDArray]]) -> None:
        """Move the weights of a device by the distance `rho` along their gradients."""
        steps = [nd.abs(w) * g if self.adaptive else g for w, g in pairs]
        sums = nd.multi_sum_sq(*steps, num_arrays=len(steps))
        scale = self.rho / (nd.sqrt(sums.sum()) + _MIN_NORM)
        for (weight, _), step in zip(pairs, steps):
            way = nd.abs(weight) * step if self.adaptive else step
            weight[:] = weight + (way.astype("float32") * scale).astype(weight.dtype)


def _refuse_stale_gradients(params):
    for each in params:
        for array in each.list_data():
            if not array._fresh_grad:
                raise StaleGradientError(
                    f"SAM: the closure has not computed the gradient of parameter '{each.name}'; it"
                    " records the loss and calls backward()"
                )
