"""Groups of a Trainer's parameters with their own learning rate or decay."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..base.errors import ArgumentError, NotFoundError, shown
from ..optimizer.settings import check_real
from .block import Block
from .errors import MismatchError
from .parameter import Parameter, ParameterDict
from .parameter.parameter_dict import brief_list

if TYPE_CHECKING:
    from collections.abc import Iterator

# settings that replace the optimizer's; the others are attributes of parameters
_OVERRIDDEN_SETTINGS = ("lr", "wd")  # of the optimizer
_GROUP_SETTINGS = (*_OVERRIDDEN_SETTINGS, "lr_mult", "wd_mult", "grad_req")  # keys of a group


class ParamGroup(Mapping):  # parameters with learning rate and settings of their own
    """Parameters that a Trainer updates with one learning rate and one weight decay.

    ``group["lr"]`` and ``group["wd"]`` are those of the next step, before any multiplier of a
    Parameter; assigning to them changes them.

    Parameters
    ----------
    trainer : Trainer
        Whose parameters they are.
    params : list of Parameter
        The group.
    settings : dict
        What it was made with, other than its parameters.

    Examples
    --------
    >>> net = mx.gluon.nn.HybridSequential()
    >>> net.add(mx.gluon.nn.Dense(2, in_units=2), mx.gluon.nn.Dense(1, in_units=2))
    >>> net.initialize()
    >>> groups = [{"params": net[0], "lr": 0.01}, {"params": net[1], "wd": 1e-4}]
    >>> trainer = mx.gluon.Trainer(groups, "sgd", {"learning_rate": 0.1})
    >>> [(group["lr"], group["wd"]) for group in trainer.param_groups]
    [(0.01, 0.0), (0.1, 0.0001)]
    >>> trainer.param_groups[0]["lr"] = 0.02
    >>> trainer.set_learning_rate(0.05)  # the group's rate changes with the trainer's
    >>> trainer.param_groups[0]["lr"], trainer.param_groups[1]["lr"]
    (0.01, 0.05)
    """

    def __init__(self, trainer: Any, params: list[Parameter], settings: Mapping[str, Any]) -> None:
        self._trainer, self._params, self._settings = trainer, params, dict(settings)

    def __getitem__(self, key: str) -> Any:
        if key == "params":
            return list(self._params)
        optimizer = self._trainer.optimizer
        names = self._trainer._state_names(self._params)
        if key == "lr":
            ratio = optimizer._group_rates.get(names[0], 1.0) if names else 1.0
            return optimizer.learning_rate * ratio
        if key == "wd":
            return optimizer._group_decays.get(names[0], optimizer.wd) if names else optimizer.wd
        if key in self._settings:
            return self._settings[key]
        raise NotFoundError(f"a group of a Trainer has {brief_list(list(self))}, not {shown(key)}")

    def __setitem__(self, key: str, value: Any) -> None:
        if key not in _OVERRIDDEN_SETTINGS:
            raise ArgumentError(
                f"of a group of a Trainer 'lr' and 'wd' can be set, not {shown(key)}; other"
                " settings are the optimizer's, or attributes of its parameters"
            )
        self._trainer._set_group_value(self, key, _check_group_setting(key, value))

    def __iter__(self) -> Iterator[str]:
        return iter(
            [
                "params",
                *_OVERRIDDEN_SETTINGS,
                *(key for key in self._settings if key not in _OVERRIDDEN_SETTINGS),
            ]
        )

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __repr__(self) -> str:
        shown_ = {**self, "params": [each.name for each in self._params]}
        return f"ParamGroup({shown_})"


class TrainerGroups:  # base of Trainer: groups of parameters
    """Base of Trainer: sets, stores and shows the groups of its parameters."""

    @property
    def param_groups(self) -> list[ParamGroup]:
        """The groups that the Trainer was created with, then a group of the other parameters.

        ``trainer.param_groups[0]["lr"] = 0.01`` changes the rate of a group.

        Examples
        --------
        >>> net = mx.gluon.nn.Dense(1, in_units=2, prefix="dense_")
        >>> net.initialize()
        >>> trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1},
        ...                            groups=[{"select": "bias", "lr": 0.2}])
        >>> for group in trainer.param_groups:
        ...     print([each.name for each in group["params"]], group["lr"])
        ['dense_bias'] 0.2
        ['dense_weight'] 0.1
        """
        grouped = {id(each) for group in self._groups for each in group["params"]}
        others = [each for each in self._params if id(each) not in grouped]
        rest = [ParamGroup(self, others, {})] if others or not self._groups else []
        return [*self._groups, *rest]

    def _state_names(self, params):
        """Return the state names of some parameters."""
        wanted = {id(each) for each in params}
        return [name for name, each in zip(self._names, self._params) if id(each) in wanted]

    def _add_groups(self, given):
        """Create groups from (parameters or a pattern, settings), and set their attributes."""
        self._groups = []
        for i, (select, settings) in enumerate(given):
            unknown = settings.keys() - {*_GROUP_SETTINGS}
            if unknown or not settings.keys():
                has = brief_list(sorted(map(str, unknown))) if unknown else "none"
                raise ArgumentError(
                    "Trainer: a group is a dict with 'params', or 'select' in groups=, and some of"
                    f" {', '.join(_GROUP_SETTINGS)}; group {i} has {has}"
                )
            for key, value in settings.items():
                if key != "grad_req":
                    _check_group_setting(key, value)
            self._groups.append(ParamGroup(self, self._select_parameters(select), settings))
        for key in _OVERRIDDEN_SETTINGS:
            self._refuse_duplicates(key)
        for group in self._groups:
            for each in group["params"]:
                for name, value in group._settings.items():
                    if name not in _OVERRIDDEN_SETTINGS:
                        setattr(each, name, value)

    def _select_parameters(self, select):
        if isinstance(select, str):
            chosen = [
                each
                for name, each in zip(self._names, self._params)
                if re.match(select, name) or re.match(select, each.name)
            ]
            if not chosen:
                raise ArgumentError(f"Trainer: no parameter matches {shown(select)}")
            return chosen
        chosen = parameter_list_of(select)
        own = {id(each) for each in self._params}
        for each in chosen:
            if id(each) not in own:
                raise ArgumentError(
                    f"Trainer: parameter '{each.name}' of a group is not among those that it trains"
                )
        return chosen

    def _refuse_duplicates(self, key):
        seen = {}
        for i, group in enumerate(self._groups):
            if key in group._settings:
                for each in group["params"]:
                    if id(each) in seen:
                        raise ArgumentError(
                            f"Trainer: groups {seen[id(each)]} and {i} both say {key!r} of"
                            f" parameter '{each.name}'"
                        )
                    seen[id(each)] = i

    def _set_group_rates(self):
        """Set the optimizer's rates and decays to those that the groups were created with."""
        rates, decays = {}, {}
        for i, group in enumerate(self._groups):
            settings, indices = group._settings, self._optimizer_keys(group)
            if "lr" in settings:
                ratio = self._learning_rate_ratio(settings["lr"], self._optimizer.lr, f"group {i}")
                rates.update(dict.fromkeys(indices, ratio))
            if "wd" in settings:
                decays.update(dict.fromkeys(indices, float(settings["wd"])))
        self._optimizer._group_rates, self._optimizer._group_decays = rates, decays

    def _optimizer_keys(self, group):
        """Return the state names and indices of a group's parameters, the optimizer's keys."""
        wanted = {id(each) for each in group["params"]}
        numbers = [i for i, each in enumerate(self._params) if id(each) in wanted]
        return [*(self._names[i] for i in numbers), *numbers]

    def _learning_rate_ratio(self, lr, base, what):
        if not base:
            if not lr:
                return 1.0
            raise ArgumentError(
                f"Trainer: {what} has lr={lr}, which is kept as a multiple of the Trainer's"
                f" learning rate, and that is {base}"
            )
        return float(lr) / base

    def _set_group_value(self, group, key, value):
        """Change the learning rate or weight decay of a group."""
        optimizer, indices = self._optimizer, self._optimizer_keys(group)
        if not self._groups:  # all parameters
            if key == "lr":
                optimizer.set_learning_rate(value)
                optimizer._group_rates = {}
            else:
                optimizer.wd, optimizer._group_decays = value, {}
        elif key == "lr":
            ratio = self._learning_rate_ratio(value, optimizer.learning_rate, "a group")
            optimizer._group_rates = {**optimizer._group_rates, **dict.fromkeys(indices, ratio)}
        else:
            optimizer._group_decays = {**optimizer._group_decays, **dict.fromkeys(indices, value)}

    def _restore_groups(self, old, loaded):
        """Apply the groups to a loaded optimizer: with the file's rates, or, if it has none, with
        those of `old`, the previous optimizer."""
        for table, key in (("_group_rates", "lr"), ("_group_decays", "wd")):
            own, theirs = getattr(old, table), getattr(loaded, table)
            if not theirs:
                setattr(loaded, table, own)
                continue
            strange = [name for name in theirs if name not in self._names]
            if strange or any(self._has_mixed_values_by_group(theirs)):
                raise MismatchError(
                    f"the states are of a Trainer with other groups: {brief_list(list(theirs))}"
                    f" have {key!r} of their own there"
                )
            numbers = {i: theirs[n] for i, n in enumerate(self._names) if n in theirs}
            setattr(loaded, table, {**theirs, **numbers})

    def _has_mixed_values_by_group(self, table):
        """Yield for each group whether its parameters have several values in a table."""
        for group in self.param_groups:
            yield len({table.get(name) for name in self._state_names(group["params"])}) > 1


def _check_group_setting(key, value):
    what = f"Trainer: {key!r} of a group"
    check_real(what, value)
    number = float(value)
    if not math.isfinite(number) or (key in _OVERRIDDEN_SETTINGS and number < 0):
        raise ArgumentError(f"{what} must be a number from 0 on, got {shown(value)}")
    return number


def parameter_list_of(chosen):
    """Return a list of the Parameters of a Block, ParameterDict, dict or list, or of one."""
    if isinstance(chosen, Block):
        chosen = chosen.collect_params()
    if isinstance(chosen, Parameter):
        return [chosen]
    found = list(chosen.values()) if isinstance(chosen, (dict, ParameterDict)) else chosen
    if not isinstance(found, (list, tuple)) or not found:
        raise ArgumentError(
            "Trainer: the parameters of a group are a Block, a ParameterDict or a list of"
            f" Parameters, got {shown(chosen)}"
        )
    for each in found:
        if not isinstance(each, Parameter):
            raise ArgumentError(
                f"Trainer: the parameters of a group are Parameters, got a list with {shown(each)}"
            )
    return list({id(each): each for each in found}.values())


def split_parameter_groups(params):
    """Split a list of dicts into parameters, their names, and pairs (group's parameters, settings);
    None if `params` is no such list."""
    if not (isinstance(params, (list, tuple)) and any(isinstance(each, dict) for each in params)):
        return None
    found, names, given = [], [], []
    for i, group in enumerate(params):
        if not isinstance(group, dict) or "params" not in group:
            raise ArgumentError(
                f"Trainer: group {i} of a list of groups must be a dict with 'params', got"
                f" {shown(group)}"
            )
        settings = dict(group)
        source = settings.pop("params")
        if isinstance(source, Block):
            source = source.collect_params()
        own = parameter_list_of(source)
        for each in own:
            if any(each is other for other in found):
                raise ArgumentError(f"Trainer: parameter '{each.name}' is in two groups")
        found += own
        names += [f"{i}.{name}" for name in state_names_of(source, own)]
        given.append((own, settings))
    return found, names, given


def state_names_of(params, found):
    """Return names for states: structural names if `params` is a Block's, else the parameters'."""
    owner = getattr(params, "_owner", None)
    names = {}
    if owner is not None:
        for name, each in owner._collect_params_with_prefix().items():
            names.setdefault(id(each), name)
    out = [names.get(id(each), each.name) for each in found]
    taken, seen = set(out), set()
    for i, name in enumerate(out):  # lists of Parameters may contain a name several times
        numbered, n = name, 1
        while numbered in seen or (n > 1 and numbered in taken):
            n += 1
            numbered = f"{name}#{n}"
        seen.add(numbered)
        out[i] = numbered
    return out
