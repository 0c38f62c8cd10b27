"""EMA and SWA: ``fit`` validates with, and ends with, running means of the weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.errors import ArgumentError, shown
from ..base.guard import guarded
from ..base.kinds import to_count, to_index
from ..optimizer.averages import RunningAverages
from ..optimizer.settings import check_real
from .fit import FitCallback

if TYPE_CHECKING:
    from ..typing import NDArray
    from .fit import FitState

__all__ = ["EMA", "SWA"]

_MEAN_PREFIX = "mean:"  # of the names of means in a state_dict


class _AveragingCallback(FitCallback):
    """Base of callbacks that validate, and end training, with averaged weights."""

    def __init__(self, decay):
        self._averages = RunningAverages(type(self).__name__, decay)
        self._trained = None  # copy of the trained weights while the module has the means

    @property
    def values(self) -> dict[str, NDArray]:
        """The mean of each parameter and auxiliary state, by name."""
        return dict(self._averages.values)

    @property
    def count(self) -> int:
        """The number of times weights were averaged."""
        return self._averages.count

    def epoch_trained(self, state: FitState) -> None:
        """Replace the module's trained weights by their means."""
        if self._averages.count:
            args, aux = state.module.get_params()
            self._trained = [{k: v.copy() for k, v in each.items()} for each in (args, aux)]
            self._swap_parameters(state.module)

    def epoch_closed(self, state: FitState) -> None:
        """Restore the module's trained weights."""
        if self._trained is not None:
            state.module.set_params(*self._trained)
            self._trained = None

    def end(self, state: FitState) -> None:
        """Set the module's weights to their means at the end of training."""
        self._trained = None
        if self._averages.count:
            self._swap_parameters(state.module)

    def _update_average(self, module):
        args, aux = module.get_params()
        self._averages.update({**args, **aux})

    def _swap_parameters(self, module):
        args, aux = module.get_params()
        values = self._averages.values
        self._averages.check_arrays({**args, **aux})
        module.set_params(*({name: values[name] for name in each} for each in (args, aux)))

    def state_dict(self) -> dict[str, Any]:
        """Return the means and the number of averaging steps."""
        means = {f"{_MEAN_PREFIX}{name}": value for name, value in self._averages.values.items()}
        return {"count": self._averages.count, **means}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        means = {
            k.removeprefix(_MEAN_PREFIX): v for k, v in state.items() if k.startswith(_MEAN_PREFIX)
        }
        self._averages.restore(means, state["count"])


@guarded
class EMA(_AveragingCallback):
    """Keeps an exponential moving average: ``mean += (1 - decay) * (weight - mean)``.

    Validation, and callbacks after it, such as `BestCheckpoint`, see the module with the means in
    place of the weights; so does whoever uses the module when ``fit`` has ended. Auxiliary states
    are averaged, too. ``epoch_end_callback`` sees the weights themselves. ``fit(resume=...)`` goes
    on from both.

    Parameters
    ----------
    decay : float
        The mean reaches back about ``1 / (1 - decay)`` updates.
    period : int
        Number of batches between updates.

    Raises
    ------
    ArgumentError
        `decay` is not a number from 0 to 1, or `period` is not an int of 1 or more.

    Examples
    --------
    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    >>> module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    >>> data = mx.io.NDArrayIter(mx.nd.ones((8, 3)), mx.nd.zeros((8,)), batch_size=4)
    >>> ema = mx.callback.EMA(decay=0.9)
    >>> history = module.fit(data, data, num_epoch=2, callbacks=[ema], verbose=False)
    >>> ema.count, sorted(ema.values)
    (4, ['fc_bias', 'fc_weight'])
    >>> bool((module.get_params()[0]["fc_bias"] == ema.values["fc_bias"]).min())
    True
    """

    def __init__(self, decay: float = 0.999, period: int = 1) -> None:
        check_real("EMA: decay", decay)
        super().__init__(decay)
        self.period = to_count("EMA: period", period)

    def batch_end(self, state: FitState) -> None:
        """Update the means every `period` batches."""
        if (state.nbatch + 1) % self.period == 0:
            self._update_average(state.module)


@guarded
class SWA(_AveragingCallback):
    """Keeps the mean of the weights after each epoch from `start` on (stochastic weight averaging).

    Izmailov et al., https://arxiv.org/abs/1803.05407; a learning rate that stays large or goes up
    and down, as of ``CyclicScheduler``, gives means that generalize. Until there is a mean, the
    weights themselves are validated. The means are used as those of `EMA`; statistics of BatchNorm
    are averaged as the weights are.

    Parameters
    ----------
    start : int
        The first epoch whose weights count, from 0.

    Raises
    ------
    ArgumentError
        `start` is not an int of 0 or more.

    Examples
    --------
    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    >>> module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    >>> data = mx.io.NDArrayIter(mx.nd.ones((8, 3)), mx.nd.zeros((8,)), batch_size=4)
    >>> swa = mx.callback.SWA(start=1)
    >>> history = module.fit(data, data, num_epoch=4, callbacks=[swa], verbose=False)
    >>> swa.count, sorted(swa.values)
    (3, ['fc_bias', 'fc_weight'])
    """

    def __init__(self, start: int = 0) -> None:
        super().__init__(None)
        self.start = to_index("SWA: start", start, "an int of 0 or more")
        if self.start < 0:
            raise ArgumentError(f"SWA: start must be an int of 0 or more, got {shown(start)}")

    def epoch_trained(self, state: FitState) -> None:
        """Add the epoch's weights to the mean, then replace the weights by the mean."""
        if state.epoch >= self.start:
            self._update_average(state.module)
        super().epoch_trained(state)
