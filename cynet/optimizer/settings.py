"""Checks of an optimizer's settings: names and types."""

import functools
import inspect

from ..base.errors import ArgumentTypeError, shown, warn_user
from ..base.other_names import keyword_hint

_DEFAULT_BASE_LR = 0.01  # default `base_lr` of mx.lr_scheduler
_OPTIONAL_NUMBERS = ("learning_rate", "clip_gradient", "clip_weights")  # settings that may be None


def check_real(what, value):
    """Raise an error for a value that cannot be converted to float."""
    if not (hasattr(value, "__float__") or hasattr(value, "__index__")):
        raise ArgumentTypeError(
            f"{what} must be a number, got {shown(value)} ({type(value).__name__})"
        )


def check_settings(klass, args, kwargs):
    """Raise an error for settings that the constructor of `klass` does not take.

    args, kwargs (tuple, dict): What it is made with.

    Returns dict: the same by name. Raises ArgumentTypeError: of a name that no ``__init__`` of the
    class has (with the near ones), and of anything but a number where one of cynet's own classes
    takes a number.
    """
    known, numbers, order = _constructor_parameters(klass)
    given = {**dict(zip(order, args)), **kwargs}
    for name, value in given.items():
        if name not in known:
            raise ArgumentTypeError(
                f"optimizer {klass.__name__} has no parameter {shown(name)}; it has"
                f" {', '.join(known)}{keyword_hint(name, known)}"
            )
        if name not in numbers or (value is None and name in _OPTIONAL_NUMBERS):
            continue
        check_real(f"optimizer {klass.__name__}: {name}", value)
    if given.get("lr_scheduler") is not None and not callable(given["lr_scheduler"]):
        raise ArgumentTypeError(
            f"optimizer {klass.__name__}: lr_scheduler must be a function of the number of updates,"
            f" as those of mx.lr_scheduler, got {shown(given['lr_scheduler'])}"
        )
    return given


def warn_of_two_rates(name, rate, scheduler, given=True, schedule_counts=False):
    """Warn if the learning rates of an optimizer and its schedule differ, and which one is used.

    name (str): The optimizer.
    rate (float): Its learning_rate, that of the schedule from now on.
    scheduler: callable
    given (bool): Somebody chose `rate`; else it is the class's default.
    schedule_counts (bool): The optimizer leaves the schedule its rate.
    """
    own = getattr(scheduler, "base_lr", None)
    fixed = getattr(scheduler, "base_lr_orig", own if schedule_counts else None)
    kind = type(scheduler).__name__
    if fixed is not None:  # base_lr was set explicitly
        if fixed != rate and given:
            warn_user(
                f"optimizer {name}: learning_rate={rate} does not count, {kind} begins at its own"
                f" base_lr={fixed}; give the rate to the schedule alone"
            )
        return
    warms = getattr(scheduler, "warmup_steps", 0) and own != rate
    if warms or own not in (None, rate, _DEFAULT_BASE_LR):
        rise = (
            f", up to which its warm-up of {scheduler.warmup_steps} updates goes" if warms else ""
        )
        warn_user(
            f"optimizer {name}: learning_rate={rate}{'' if given else ', its default,'} counts, not"
            f" the base_lr={own} of {kind}{rise}; give both the same value"
        )


def accepted_setting_names(klass):
    """Return the names of all constructor parameters of an optimizer class."""
    return _constructor_parameters(klass)[0]


@functools.cache
def _constructor_parameters(klass):
    """Return (names, names of numeric settings, names by position) of a class's parameters."""
    known, numbers, order = {}, set(), None
    for owner in klass.__mro__:
        if "__init__" not in vars(owner) or owner is object:
            continue
        parameters = list(inspect.signature(owner.__init__).parameters.values())[1:]
        takes_more = False
        for each in parameters:
            takes_more = takes_more or each.kind is each.VAR_KEYWORD
            if each.kind in (each.VAR_KEYWORD, each.VAR_POSITIONAL) or each.name in known:
                continue
            known[each.name] = True
            is_number = isinstance(each.default, (int, float)) and not isinstance(
                each.default, bool
            )
            own = owner.__module__.startswith(__package__)
            if own and (is_number or each.name in _OPTIONAL_NUMBERS):
                numbers.add(each.name)
        if order is None:
            kinds = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
            order = [each.name for each in parameters if each.kind in kinds]
        if not takes_more:
            break
    return list(known), numbers, order or []


def indices_by_dtype(weights, maximum):
    """Yield lists of at most `maximum` indices of weights of one dtype."""
    of_dtype = {}
    for i, weight in enumerate(weights):
        of_dtype.setdefault(weight.dtype, []).append(i)
    for positions in of_dtype.values():
        for start in range(0, len(positions), maximum):
            yield positions[start : start + maximum]


def check_factors(kind, given):
    """Check that `given` is a dict of factors by name or index, and return it."""
    if not isinstance(given, dict):
        raise ArgumentTypeError(
            f"set_{kind}_mult takes a dict of name or index to factor, got {type(given).__name__}"
        )
    for name, factor in given.items():
        check_real(f"set_{kind}_mult: the factor of {shown(name)}", factor)
    return given
