"""EMA and SWA: running means of a network's parameters, swapped in for validation."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from .. import ndarray as nd
from ..base.errors import ArgumentTypeError, FormatError, StateError, shown
from ..base.guard import guarded
from ..optimizer.averages import RunningAverages
from ..optimizer.settings import check_real
from .block import Block

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..typing import FileName, NDArray

_COUNT_KEY, _MEAN_PREFIX = "count", "mean:"  # keys of a saved state


@guarded
class _ParameterAverage:
    """Base of EMA and SWA: means of a Block's parameters and running statistics."""

    def __init__(self, net: Block, decay: float | None) -> None:
        if not isinstance(net, Block):
            raise ArgumentTypeError(f"{type(self).__name__}: net must be a Block, got {shown(net)}")
        self._net, self._averages = net, RunningAverages(type(self).__name__, decay)
        self._is_applied = False

    @property
    def count(self) -> int:
        """The number of times parameters were averaged."""
        return self._averages.count

    @property
    def values(self) -> dict[str, NDArray]:
        """The means by structural name, the names that ``save_parameters`` writes."""
        return dict(self._averages.values)

    def update(self) -> None:
        """Update the means by the present parameters, usually after ``trainer.step``.

        Raises
        ------
        StateError
            The means are in the network, see `applied`.
        """
        self._refuse_while_applied("update")
        self._averages.update(self._parameter_arrays())

    @contextlib.contextmanager
    def applied(self) -> Iterator[None]:
        """A scope in which the network's parameters are the means.

        Returns
        -------
        context manager

        Raises
        ------
        ArgumentError
            There is no mean yet.
        StateError
            The means are in the network already.
        """
        self._refuse_while_applied("applied")
        trained = {name: each.copy() for name, each in self._parameter_arrays().items()}
        self.apply()
        self._is_applied = True
        try:
            yield
        finally:
            self._is_applied = False
            self._set_parameter_values(trained)

    def apply(self) -> None:
        """Set the network's parameters to the means permanently.

        Raises
        ------
        ArgumentError
            There is no mean yet.
        """
        self._averages.require_values()
        self._averages.check_arrays(self._parameter_arrays())
        self._set_parameter_values(self._averages.values)

    def save(self, path: FileName) -> None:
        """Write the means and their count to a file; see also ``save_training(average=...)``.

        Parameters
        ----------
        path : str
            The file to write.
        """
        nd.save(path, self.state_dict())

    def load(self, path: FileName) -> None:
        """Continue from the state that `save` wrote.

        Parameters
        ----------
        path : str
            The file that `save` wrote.

        Raises
        ------
        FormatError
            It is another kind of file.
        """
        self.load_state_dict(nd.load(path), path)

    def state_dict(self) -> dict[str, NDArray]:
        """Return the means, ``'mean:NAME'``, and their ``'count'``, as arrays."""
        means = {f"{_MEAN_PREFIX}{name}": value for name, value in self._averages.values.items()}
        return {_COUNT_KEY: nd.array([self._averages.count], dtype="int64"), **means}

    def load_state_dict(self, state: dict[str, NDArray], source: Any = "the state") -> None:
        """Restore the state that `state_dict` returned.

        Parameters
        ----------
        state : dict of str to NDArray
            What `state_dict` returned.
        source : str
            Where the state comes from, for error messages.

        Raises
        ------
        FormatError
            That is no such state, or that of another network.
        """
        who = type(self).__name__
        if not isinstance(state, dict) or _COUNT_KEY not in state:
            raise FormatError(f"{source}: it has no means of {who}")
        means = {
            k.removeprefix(_MEAN_PREFIX): v for k, v in state.items() if k.startswith(_MEAN_PREFIX)
        }
        params = self._averaged_parameters()
        for name in means.keys() ^ (params.keys() if means else set()):
            raise FormatError(f"{source}: its means are of another network: {shown(name)}")
        placed = {}
        for name, mean in means.items():
            param = params[name]
            if param.shape is not None and 0 not in param.shape and param.shape != mean.shape:
                raise FormatError(
                    f"{source}: the mean of {shown(name)} has shape {mean.shape}, the parameter"
                    f" {param.shape}"
                )
            placed[name] = mean.as_in_context(param.list_ctx()[0])
        self._averages.restore(placed, int(state[_COUNT_KEY].asscalar()))

    def _averaged_parameters(self):
        """Return the parameters that are averaged, by structural name."""
        return self._net._collect_params_with_prefix()

    def _parameter_arrays(self):
        return {name: each.list_data()[0] for name, each in self._averaged_parameters().items()}

    def _set_parameter_values(self, values):
        for name, each in self._averaged_parameters().items():
            each.set_data(values[name])

    def _refuse_while_applied(self, what):
        if self._is_applied:
            raise StateError(f"{type(self).__name__}.{what}: the means are in the network")


@guarded
class EMA(_ParameterAverage):
    """Exponential moving average of a network's parameters:
    ``mean += (1 - decay) * (parameter - mean)``.

    In ``Module.fit`` it is ``mx.callback.EMA``. Running statistics of BatchNorm are averaged, too.

    Parameters
    ----------
    net : Block
        Initialized, and with shapes known, at the first `update`.
    decay : float
        The mean reaches back about ``1 / (1 - decay)`` updates.

    Raises
    ------
    ArgumentError
        `decay` is not in [0, 1).
    ArgumentTypeError
        `net` is not a Block.

    Examples
    --------
    >>> net = mx.gluon.nn.Dense(1, in_units=1, use_bias=False)
    >>> net.initialize(mx.init.One())
    >>> ema = mx.gluon.EMA(net, decay=0.75)
    >>> ema.update()  # call it after trainer.step in a training loop
    >>> net.weight.set_data(mx.nd.array([[5.0]]))
    >>> ema.update()
    >>> ema.count, float(ema.values["weight"].asscalar())
    (2, 2.0)
    >>> with ema.applied():  # validate
    ...     print(net(mx.nd.ones((1, 1))).asscalar())
    2.0
    >>> float(net(mx.nd.ones((1, 1))).asscalar())
    5.0
    >>> ema.save("ema.params")
    >>> ema.load("ema.params")
    >>> state = ema.state_dict()
    >>> ema.load_state_dict(state)
    >>> ema.apply()  # sets the weights for good, when training has ended
    >>> float(net(mx.nd.ones((1, 1))).asscalar())
    2.0
    """

    def __init__(self, net: Block, decay: float = 0.999) -> None:
        check_real("EMA: decay", decay)
        super().__init__(net, decay)


@guarded
class SWA(_ParameterAverage):
    """The mean of a network's parameters over all `update` calls, equally weighted (stochastic
    weight averaging).

    Izmailov et al., https://arxiv.org/abs/1803.05407: update it after each of the last epochs,
    with a learning rate that stays large. Methods are those of `EMA`; in ``Module.fit`` it is
    ``mx.callback.SWA``. Running statistics of BatchNorm are averaged as the weights are.

    Parameters
    ----------
    net : Block
        Initialized, and with shapes known, at the first `update`.

    Raises
    ------
    ArgumentTypeError
        `net` is not a Block.

    Examples
    --------
    >>> net = mx.gluon.nn.Dense(1, in_units=1, use_bias=False)
    >>> net.initialize(mx.init.One())
    >>> swa = mx.gluon.SWA(net)
    >>> for weight in (1.0, 2.0, 6.0):
    ...     net.weight.set_data(mx.nd.array([[weight]]))
    ...     swa.update()
    >>> swa.count, round(float(swa.values["weight"].asscalar()), 5)
    (3, 3.0)
    >>> with swa.applied():
    ...     print(round(float(net(mx.nd.ones((1, 1))).asscalar()), 5))
    3.0
    >>> swa.save("swa.params")
    >>> swa.load("swa.params")
    >>> swa.load_state_dict(swa.state_dict())
    >>> swa.apply()
    """

    def __init__(self, net: Block) -> None:
        super().__init__(net, None)
