"""mx.misc: learning-rate schedules of old scripts, called with the iteration."""

import logging
import math

from .base.errors import ArgumentError, UndefinedError
from .base.guard import guarded

__all__ = ["FactorScheduler", "LearningRateScheduler"]


@guarded
class LearningRateScheduler:
    """Base class: ``scheduler(iteration)`` is the learning rate; the optimizer sets `base_lr`.

    Examples
    --------
    >>> class Falling(mx.misc.LearningRateScheduler):
    ...     def __call__(self, iteration):
    ...         return self.base_lr / (1 + iteration)
    >>> Falling()(0), Falling()(4)
    (0.01, 0.002)
    """

    def __init__(self) -> None:
        self.base_lr = 0.01

    def __call__(self, iteration: int) -> float:
        raise UndefinedError(f"{type(self).__name__} defines no __call__")


@guarded
class FactorScheduler(LearningRateScheduler):
    """The rate ``base_lr * factor ** (iteration // step)``.

    Parameters
    ----------
    step : int
        Number of iterations between changes, at least 1.
    factor : float
        Factor of the learning rate, below 1.

    Raises
    ------
    ArgumentError
        If one of them is beyond that.

    Examples
    --------
    >>> schedule = FactorScheduler(10, 0.5)
    >>> schedule(0), schedule(25)
    (0.01, 0.0025)
    """

    def __init__(self, step: int, factor: float = 0.1) -> None:
        super().__init__()
        if step < 1:
            raise ArgumentError("FactorScheduler: step must be at least 1")
        if factor >= 1.0:
            raise ArgumentError("FactorScheduler: factor must be below 1, so that the rate falls")
        self.step = step
        self.factor = factor
        self.old_lr = self.base_lr
        self.init = False

    def __call__(self, iteration: int) -> float:
        if not self.init:
            self.init = True
            self.old_lr = self.base_lr
        lr = self.base_lr * math.pow(self.factor, int(iteration / self.step))
        if lr != self.old_lr:
            self.old_lr = lr
            logging.info("At Iteration [%d]: learning rate is now %.5f", iteration, lr)
        return lr
