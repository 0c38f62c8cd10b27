"""Lookahead: slow weights that follow the weights of an optimizer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import ndarray as nd
from ..base.errors import ArgumentError, FormatError, shown
from ..base.guard import guarded
from ..base.kinds import to_count
from ..optimizer.settings import check_real
from .averaging import _ParameterAverage

if TYPE_CHECKING:
    from ..typing import NDArray
    from .block import Block

_STEPS_KEY = "steps"  # key of the step count in a saved state


@guarded
class Lookahead(_ParameterAverage):
    """Lookahead optimization: every `k` steps, slow weights move towards the optimizer's weights.

    After each `k` steps: ``slow += alpha * (weight - slow)``, then ``weight = slow``. Zhang, Lucas,
    Hinton and Ba, https://arxiv.org/abs/1907.08610. It goes with every optimizer; states of the
    optimizer stay as they are. Running statistics of BatchNorm are not changed.

    Parameters
    ----------
    net : Block
        Initialized, and with shapes known: its weights are the first slow ones.
    k : int
        Steps of the optimizer between two of the slow weights.
    alpha : float
        Which part of the way the slow weights go, above 0 and at most 1.

    Raises
    ------
    ArgumentError
        `k` is not an int from 1 on, or `alpha` not above 0 and at most 1.
    ArgumentTypeError
        `net` is not a Block.
    DeferredInitializationError
        The shape of a parameter is not known.

    Examples
    --------
    >>> net = mx.gluon.nn.Dense(1, in_units=1, use_bias=False)
    >>> net.initialize(mx.init.One())
    >>> lookahead = mx.gluon.Lookahead(net, k=2, alpha=0.5)
    >>> for weight in (3.0, 5.0):  # an optimizer would set these weights
    ...     net.weight.set_data(mx.nd.array([[weight]]))
    ...     lookahead.update()  # call it after trainer.step in a training loop
    >>> float(net.weight.data().asscalar())
    3.0
    >>> lookahead.count, float(lookahead.values["weight"].asscalar())
    (2, 3.0)
    >>> lookahead.save("slow.params")
    >>> lookahead.load("slow.params")
    >>> lookahead.load_state_dict(lookahead.state_dict())
    >>> with lookahead.applied():  # validate with the slow weights
    ...     print(net(mx.nd.ones((1, 1))).asscalar())
    3.0
    >>> lookahead.apply()
    """

    def __init__(self, net: Block, k: int = 5, alpha: float = 0.5) -> None:
        check_real("Lookahead: alpha", alpha)
        if not 0 < alpha <= 1:
            raise ArgumentError(
                f"Lookahead: alpha must be above 0 and at most 1, got {shown(alpha)}"
            )
        self._k = to_count("Lookahead: k", k)
        super().__init__(net, 1 - alpha)
        self._steps = 0
        self._averages.update(self._parameter_arrays())

    def update(self) -> None:
        """Count a step of the optimizer; at every `k`-th step, update slow weights and weights.

        Raises
        ------
        StateError
            The slow weights are in the network, see `applied`.
        """
        self._refuse_while_applied("update")
        self._steps += 1
        if self._steps % self._k == 0:
            super().update()
            self._set_parameter_values(self._averages.values)

    def state_dict(self) -> dict[str, NDArray]:
        """Return slow weights, ``'mean:NAME'``, and counts of updates and steps, as arrays."""
        return {_STEPS_KEY: nd.array([self._steps], dtype="int64"), **super().state_dict()}

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
        if not isinstance(state, dict) or _STEPS_KEY not in state:
            raise FormatError(f"{source}: it has no slow weights of Lookahead")
        super().load_state_dict(state, source)
        self._steps = int(state[_STEPS_KEY].asscalar())

    def _averaged_parameters(self):
        found = super()._averaged_parameters()
        return {name: each for name, each in found.items() if each.grad_req != "null"}
