"""LRFinder: a rising learning rate, and the loss at each rate."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import ArgumentError, CynetError, shown
from ..base.guard import guarded
from ..base.kinds import to_index
from ..distributed import is_joined, world
from ..optimizer.settings import check_real
from ..optimizer.snapshot import OptimizerSnapshot
from ..visualization.figures import new_figure, save_figure
from .fit import FitCallback, StopTraining

if TYPE_CHECKING:
    from ..typing import FileName
    from .fit import FitState

__all__ = ["LRFinder", "RateCurve"]

# decay of the smoothed loss; training has diverged at this multiple of the best loss
_SMOOTHING, _DIVERGED_RATIO = 0.9, 4.0  # decay of the mean loss; multiple of the best loss
_MIN_LOSSES = 5  # minimum of losses for a suggestion


@guarded
class RateCurve:
    """The losses of a training whose learning rate rose from `begin` to `end`.

    Parameters
    ----------
    begin, end : float
        The first and the last learning rate; each rate is the one before times a constant factor.
    steps : int
        Number of batches.

    Raises
    ------
    ArgumentError
        `begin` is not above 0 and below `end`, or `steps` is too small an int.

    Examples
    --------
    >>> curve = RateCurve(0.001, 10.0, 5)
    >>> for loss in (3.0, 2.9, 2.0, 1.9, 50.0):
    ...     if not curve.add(loss):
    ...         break
    >>> curve.rates
    [0.001, 0.01, 0.1, 1.0, 10.0]
    >>> curve.losses[0], len(curve.smoothed)
    (3.0, 5)
    >>> curve.suggestion
    0.1
    >>> figure = curve.plot("rates.png")
    """

    def __init__(self, begin: float, end: float, steps: int) -> None:
        for name, value in (("begin", begin), ("end", end)):
            check_real(f"learning rate finder: {name}", value)
            if not 0 < value < math.inf:
                raise ArgumentError(
                    f"learning rate finder: {name} must be above 0, got {shown(value)}"
                )
        if not begin < end:
            raise ArgumentError(
                f"learning rate finder: begin must be less than end, got {begin} and {end}"
            )
        steps = to_index("learning rate finder: steps", steps, f"an int of {_MIN_LOSSES} or more")
        if steps < _MIN_LOSSES:
            raise ArgumentError(
                f"learning rate finder: steps must be an int of {_MIN_LOSSES} or more, got {steps}"
            )
        every = np.geomspace(begin, end, steps).tolist()
        self._every = [float(f"{rate:.12g}") for rate in every]  # 0.01, not 0.010000000000000002
        self.losses: list[float] = []
        self._mean = 0.0

    @property
    def rates(self) -> list[float]:
        """The learning rates so far, one for each loss."""
        return self._every[: len(self.losses)]

    @property
    def next_rate(self) -> float:
        """The learning rate of the next batch.

        Examples
        --------
        >>> RateCurve(0.1, 1.0, 10).next_rate
        0.1
        """
        return self._every[len(self.losses)]

    @property
    def smoothed(self) -> list[float]:
        """Exponential moving averages of the losses, in which a new loss has weight 0.1."""
        found, mean = [], 0.0
        for i, loss in enumerate(self.losses, 1):
            mean = _SMOOTHING * mean + (1 - _SMOOTHING) * loss
            found.append(mean / (1 - _SMOOTHING**i))
        return found

    def add(self, loss: float) -> bool:
        """Append the loss of a batch that was trained with `next_rate`.

        Parameters
        ----------
        loss : float
            Loss of the batch before the step.

        Returns
        -------
        bool
            Whether to go on: not after the last rate, nor when the smoothed loss is 4 times its
            best value or no number.
        """
        self.losses.append(float(loss))
        smoothed = self.smoothed
        if not math.isfinite(smoothed[-1]):
            self.losses.pop()
            return False
        over = len(smoothed) > _MIN_LOSSES and smoothed[-1] > _DIVERGED_RATIO * min(smoothed) > 0
        return len(self.losses) < len(self._every) and not over

    @property
    def suggestion(self) -> float:
        """The rate at which the loss falls most steeply: the middle of the sixth of the rates (at
        least 5) with the steepest fitted line.

        Raises
        ------
        ArgumentError
            There are fewer than 5 losses.
        """
        if len(self.losses) < _MIN_LOSSES:
            raise ArgumentError(
                f"learning rate finder: {len(self.losses)} losses are too few to tell a rate; the"
                " first rates were too large, or the loss is not a number"
            )
        width = max(_MIN_LOSSES, len(self.losses) // 6)
        windows = np.lib.stride_tricks.sliding_window_view(self.losses, width)
        slopes = windows @ (np.arange(width) - (width - 1) / 2)  # up to a factor
        return self.rates[int(slopes.argmin()) + width // 2]

    def plot(self, path: FileName | None = None) -> Any:
        """Plot the losses over the learning rates, and mark the suggested rate.

        Needs the package matplotlib: ``pip install 'cynet-mx[viz]'``.

        Parameters
        ----------
        path : str, optional
            File to write the picture to.

        Returns
        -------
        matplotlib.figure.Figure
            A notebook shows it.
        """
        figure, (axes,) = new_figure("RateCurve.plot")
        axes.semilogx(self.rates, self.losses, color="0.8", label="loss of a batch")
        axes.semilogx(self.rates, self.smoothed, label="smoothed")
        if len(self.losses) >= _MIN_LOSSES:
            axes.axvline(self.suggestion, ls=":", color="0.3", label=f"{self.suggestion:.3g}")
        axes.set(xlabel="learning rate", ylabel="loss")
        axes.legend()
        return save_figure(figure, path, "RateCurve.plot")


@guarded
class LRFinder(FitCallback):
    """Trains with a learning rate that rises from batch to batch, then restores the weights.

    ``fit`` ends when the last rate is reached or the loss diverges; parameters, and states of the
    optimizer, are those of the beginning then. The first figure of `eval_metric` must be a loss:
    ``"ce"``, ``"mse"``, ``mx.metric.Loss()``. Smith, https://arxiv.org/abs/1506.01186. In Gluon it
    is ``mx.gluon.find_learning_rate``.

    Parameters
    ----------
    begin, end : float
        The first and the last learning rate.
    steps : int
        Number of batches, of as many epochs as they need: `num_epoch` must be large enough.

    Attributes
    ----------
    curve : RateCurve
        Rates, losses, `suggestion` and `plot` of the last ``fit``.

    Raises
    ------
    ArgumentError
        `begin` is not above 0 and below `end`, or `steps` is too small an int.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(64, 4))
    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2)
    >>> module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    >>> data = mx.io.NDArrayIter(x, x[:, 0] > 0, batch_size=16)
    >>> finder = mx.callback.LRFinder(begin=1e-4, end=10.0, steps=40)
    >>> settings = {"eval_metric": "ce", "num_epoch": 20, "verbose": False}
    >>> history = module.fit(data, callbacks=[finder], **settings)
    >>> 0.001 < finder.curve.suggestion <= 10
    True
    """

    def __init__(self, begin: float = 1e-6, end: float = 10.0, steps: int = 100) -> None:
        self._settings = begin, end, steps
        self.curve = RateCurve(begin, end, steps)
        self._before = None

    def begin(self, state: FitState) -> None:
        """Save the state to restore at the end, and set the first rate."""
        if state.optimizer.lr_scheduler is not None:
            raise CynetError(
                "LRFinder: the optimizer has an lr_scheduler, which sets the learning rate"
            )
        self.curve = RateCurve(*self._settings)
        if is_joined() and world().size > 1:
            raise CynetError("LRFinder: it looks at the losses of one process; train in one alone")
        params = [{k: v.copy() for k, v in each.items()} for each in state.module.get_params()]
        self._before = params, OptimizerSnapshot([state.module._updater_with_states("LRFinder")])
        state.optimizer.set_learning_rate(self.curve.next_rate)
        self._seen = (0.0, 0)  # (sum, count) of the metric over the epoch's batches so far

    def batch_end(self, state: FitState) -> None:
        """Append the batch's loss, and set the next learning rate."""
        name, value = state.eval_metric.get_global_name_value()[0]
        metric = getattr(state.eval_metric, "metrics", [state.eval_metric])[0]
        total, count = (0.0, 0) if state.nbatch == 0 else self._seen
        seen = metric.global_num_inst if metric._has_global_stats else metric.num_inst
        self._seen = value * seen, seen
        loss = (self._seen[0] - total) / max(self._seen[1] - count, 1)
        if not self.curve.add(loss):
            raise StopTraining(f"LRFinder has seen {len(self.curve.losses)} rates by {name}")
        state.optimizer.set_learning_rate(self.curve.next_rate)

    def end(self, state: FitState) -> None:
        """Restore the parameters and the optimizer's state from before the search."""
        if self._before is not None:
            (params, snapshot), self._before = self._before, None
            state.module.set_params(*params)
            snapshot.restore()
