"""Lists of algorithms: the alternatives for computing an operator, and the choice among them.

A call is described by a hashable value, `desc`. Of the algorithms that support it the one with the
lowest estimate wins, of equals the first of the list. A setting can force one by its name.
"""

from __future__ import annotations

from functools import lru_cache
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

from ..base import config
from ..base.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

MAX_CHOICES = 4096  # maximum of cached choices of one list
NEVER = inf  # the cost of an algorithm that runs only where it is forced


class Algorithm(NamedTuple):  # one way to compute an operator, and its cost
    """One way to compute an operator.

    name (str): As settings and `Executor.debug_str` have it.
    supports (callable): ``supports(desc)``: whether it computes this at all.
    cost (callable): ``cost(desc)``: estimated cycles of one core, in the unit of the whole list.
    make (callable or None): ``make(desc, prop)``: the Operator; `prop` says what `desc` does not,
        an epilogue for one. None: a part of an operator, which reads the name.
    prepack (callable or None): ``prepack(desc, prop, replaces)``: the `PackWeight` of the weight
        that `make` reads if ``desc.packed``, or None where that does not pay; as
        `GraphHooks.prepack`.
    """

    name: str
    supports: Callable[[Any], bool]
    cost: Callable[[Any], float]
    make: Callable[..., Any] | None = None
    prepack: Callable[..., Any] | None = None


class Choice(NamedTuple):  # the chosen algorithm, and all estimates
    """The chosen algorithm, and the estimates of all that could run; ``str`` describes both."""

    algorithm: Algorithm
    costs: dict[str, float]
    forced: bool

    @property
    def name(self) -> str:
        return self.algorithm.name

    @property
    def cost(self) -> float:
        return self.costs[self.name]

    def __str__(self) -> str:
        others = [each for each in self.costs if each != self.name and self.costs[each] < NEVER]
        shown = ["forced"] if self.forced else []
        shown += [f"cost {_cost_text(self.cost)}"] if self.cost < NEVER else []
        shown += [f"{each} {_cost_text(self.costs[each])}" for each in others]
        return f"{self.name} ({'; '.join(shown)})"


class Algorithms:  # a list to choose from
    """An ordered list of algorithms.

    setting: The environment variable that forces one. Where that does not support a call, the list
        decides as without it.
    names: Names that the setting may have beside those of the algorithms: of other lists.
    """

    def __init__(self, setting: str, *algorithms: Algorithm, names: Any = ()) -> None:
        self.setting, self.algorithms = setting, algorithms
        self.names = (*(each.name for each in algorithms), *names)
        self.limit_cache(MAX_CHOICES)

    def __iter__(self) -> Iterator[Algorithm]:
        return iter(self.algorithms)

    def limit_cache(self, maximum: int) -> None:
        """Clear the cached choices, and from now on cache at most the `maximum` last used ones."""
        self._choose = lru_cache(maximum)(self._choose_cheapest)

    def is_forced(self, desc: Any) -> bool:
        """Return whether the environment variable forces the algorithm of this call."""
        choice = self.choose(desc)
        return choice is not None and choice.forced

    def choose(self, desc: Any) -> Choice | None:
        """Choose the algorithm for `desc`; None if no algorithm in the list supports it.

        Raises ArgumentError when the setting names no algorithm; the message lists them.
        """
        choice: Choice | None = self._choose(desc, self._forced_name())
        return choice

    def _choose_cheapest(self, desc: Hashable, forced: str | None) -> Choice | None:
        costs = {each: each.cost(desc) for each in self.algorithms if each.supports(desc)}
        if not costs:
            return None
        named = [each for each in costs if each.name == forced]
        best = named[0] if named else min(costs, key=costs.__getitem__)
        return Choice(best, {each.name: costs[each] for each in costs}, bool(named))

    def _forced_name(self) -> str | None:
        name: str | None = config.get(self.setting)
        if name and name not in self.names:
            raise ArgumentError(
                f"environment variable {self.setting}='{name}': expected one of "
                f"{', '.join(dict.fromkeys(self.names))}"
            )
        return name


def _cost_text(cycles: float) -> str:
    return f"{cycles / 1e6:.3g} Mcycles"


def log_choices(prop: Any, in_shapes: Any, in_types: Any) -> None:
    """Log the algorithm of an imperative call (CYNET_LOG_ALGORITHMS), and its alternatives."""
    import logging  # imported here: it would add 3 ms to the import of cynet

    for what, choice in prop.graph.algorithms(prop, in_shapes, in_types).items():
        inputs = ", ".join(f"{s} {t}" for s, t in zip(in_shapes, in_types))
        of = prop.op_name if what == "forward" else f"{prop.op_name}, gradient of {what}"
        logging.getLogger("cynet").info("%s on (%s): %s", of, inputs, choice)
