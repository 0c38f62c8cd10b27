"""Learning-rate schedules: functions from the number of updates so far to a learning rate."""

from __future__ import annotations

import itertools
import logging
import math
from typing import TYPE_CHECKING

from .base.errors import ArgumentError, ArgumentTypeError, FormatError, UndefinedError, shown
from .base.guard import Guarded, guarded
from .base.kinds import RISING_INTS, Kind, count, number, word
from .base.reprs import SettingsRepr

if TYPE_CHECKING:
    from collections.abc import Sequence

_FACTOR_KIND = Kind(lambda value: number(-1).fits(value) and value <= 1, "a number from -1 to 1")
_MAX_FACTORS = 1000  # maximum number of factors multiplied one by one; more become a power


class LRScheduler(Guarded, SettingsRepr):
    """Base class: a learning rate that depends on the number of updates, with an optional warm-up.

    One thread at a time uses it (docs/guide/threads.md).

    An optimizer calls it before each update. A subclass defines ``__call__(num_update)``.

    Parameters
    ----------
    base_lr : float
        Learning rate at first, or after the warm-up.
    warmup_steps : int
        Number of updates in which the rate rises from `warmup_begin_lr` to `base_lr`.
    warmup_begin_lr : float
        Learning rate at the beginning of the warm-up, at most `base_lr`.
    warmup_mode : str
        ``'linear'`` rises evenly, ``'constant'`` stays at `warmup_begin_lr`.

    Raises
    ------
    ArgumentError
        `warmup_steps` is below 0, `warmup_begin_lr` above `base_lr`, or `warmup_mode` neither
        'linear' nor 'constant'.

    Examples
    --------
    >>> warm = LRScheduler(base_lr=1.0, warmup_steps=4)
    >>> [warm.get_warmup_lr(n) for n in range(4)]
    [0.0, 0.25, 0.5, 0.75]
    """

    serialized_fields = {  # settings that are stored in files, and their kinds
        "base_lr": number(),
        "warmup_steps": count(),
        "warmup_final_lr": number(),
        "warmup_begin_lr": number(),
        "warmup_mode": word("linear", "constant"),
    }

    def __init__(
        self,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        _check_int("warmup_steps", warmup_steps)
        if warmup_steps < 0:
            raise ArgumentError(f"warmup_steps must not be negative, got {warmup_steps}")
        if warmup_begin_lr > base_lr:
            raise ArgumentError(
                f"warmup_begin_lr {warmup_begin_lr} must not be above base_lr {base_lr}"
            )
        if warmup_mode not in ("linear", "constant"):
            raise ArgumentError(
                f"warmup_mode must be 'linear' or 'constant', got {shown(warmup_mode)}"
            )
        self.base_lr = base_lr
        self.warmup_steps = warmup_steps
        self.warmup_final_lr = base_lr
        self.warmup_begin_lr = warmup_begin_lr
        self.warmup_mode = warmup_mode

    def get_warmup_lr(self, num_update: int) -> float:
        """Return the rate at `num_update`, which must lie within the warm-up.

        Parameters
        ----------
        num_update : int
            Number of updates so far.

        Raises
        ------
        ArgumentError
            `num_update` lies outside the warm-up.
        """
        if not 0 <= num_update < self.warmup_steps:
            raise ArgumentError(
                f"num_update {num_update} is not within a warm-up of {self.warmup_steps} steps"
            )
        if self.warmup_mode == "constant":
            return self.warmup_begin_lr
        rise = self.warmup_final_lr - self.warmup_begin_lr
        return self.warmup_begin_lr + rise * num_update / self.warmup_steps

    def _check_restored(self):
        """Check that settings from a file do not contradict each other."""

    def __call__(self, num_update: int) -> float:
        raise UndefinedError(f"{type(self).__name__} defines no __call__")


class FactorScheduler(LRScheduler):
    """The rate is multiplied by `factor` after every `step` updates.

    Parameters
    ----------
    step : int
        Number of updates between two changes, at least 1.
    factor : float
        Factor of the learning rate, at most 1.
    stop_factor_lr : float
        Lower bound of the learning rate.
    base_lr, warmup_steps, warmup_begin_lr, warmup_mode
        See :class:`LRScheduler`.

    Raises
    ------
    ArgumentError
        `step` is below 1, or `factor` above 1.

    Examples
    --------
    >>> halve = FactorScheduler(step=2, factor=0.5, base_lr=1.0)
    >>> [halve(n) for n in range(1, 6)]
    [1.0, 1.0, 0.5, 0.5, 0.25]
    """

    serialized_fields = {
        "step": count(1),
        "factor": _FACTOR_KIND,
        "stop_factor_lr": number(),
        "count": count(),
    }

    def __init__(
        self,
        step: int,
        factor: float = 1,
        stop_factor_lr: float = 1e-8,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        if step < 1:
            raise ArgumentError(f"step must be at least 1, got {step}")
        _check_factor(factor)
        self.step = step
        self.factor = factor
        self.stop_factor_lr = stop_factor_lr
        self.count = 0

    def __call__(self, num_update: int) -> float:
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        due = max(num_update - self.count - 1, 0) // self.step
        if due:
            self.count += due * self.step
            self._reduce_rate(num_update, due)
        return self.base_lr

    def _reduce_rate(self, num_update, due):
        """Multiply the rate by the factor `due` times, but not below its least value."""
        if due > _MAX_FACTORS:
            if self.factor > 0:
                self.base_lr *= self.factor ** (due - _MAX_FACTORS)
            due = _MAX_FACTORS
        for _ in range(due):
            self.base_lr *= self.factor
            if self.base_lr < self.stop_factor_lr:
                self.base_lr = self.stop_factor_lr
                logging.info(
                    "Update[%d]: now learning rate arrived at %0.5e, will not change in the future",
                    num_update,
                    self.base_lr,
                )
            else:
                _log_rate_change(num_update, self.base_lr)


class MultiFactorScheduler(LRScheduler):
    """The rate is multiplied by `factor` after each of the listed update counts.

    Parameters
    ----------
    step : list of int
        Numbers of updates after which the rate changes: rising, each at least 1.
    factor : float
        Factor of the learning rate, at most 1.
    base_lr, warmup_steps, warmup_begin_lr, warmup_mode
        See :class:`LRScheduler`.

    Raises
    ------
    ArgumentError
        `step` does not rise from 1 or more, or `factor` is above 1.
    ArgumentTypeError
        `step` is not a list with at least one int.

    Examples
    --------
    >>> steps = MultiFactorScheduler(step=[2, 3], factor=0.5, base_lr=1.0)
    >>> [steps(n) for n in range(1, 6)]
    [1.0, 1.0, 0.5, 0.25, 0.25]
    """

    serialized_fields = {
        "step": RISING_INTS,
        "cur_step_ind": count(),
        "factor": _FACTOR_KIND,
        "count": count(),
    }

    def __init__(
        self,
        step: Sequence[int],
        factor: float = 1,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        if not isinstance(step, (list, tuple)) or not step:
            raise ArgumentTypeError(f"step must be a list of one or more ints, got {shown(step)}")
        if step[0] < 1:
            raise ArgumentError(f"step must hold counts of at least 1, got {step}")
        if any(later <= earlier for earlier, later in itertools.pairwise(step)):
            raise ArgumentError(f"step must rise from entry to entry, got {step}")
        _check_factor(factor)
        self.step = list(step)
        self.cur_step_ind = 0
        self.factor = factor
        self.count = 0

    def __call__(self, num_update: int) -> float:
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        while self.cur_step_ind < len(self.step) and num_update > self.step[self.cur_step_ind]:
            self.count = self.step[self.cur_step_ind]
            self.cur_step_ind += 1
            self.base_lr *= self.factor
            _log_rate_change(num_update, self.base_lr)
        return self.base_lr


@guarded
class _Decay(LRScheduler):  # base of schedulers that fall to `final_lr`
    """A rate that falls from `base_lr` to `final_lr` along a curve over `max_update` updates."""

    serialized_fields = {
        "base_lr_orig": number(),
        "max_update": count(1),
        "final_lr": number(),
        "max_steps": Kind(lambda value: type(value) is int, "an int"),
    }

    def __init__(self, max_update, base_lr, final_lr, warmup_steps, warmup_begin_lr, warmup_mode):
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        _check_int("max_update", max_update)
        if max_update < 1:
            raise ArgumentError(f"max_update must be at least 1, got {max_update}")
        self.base_lr_orig = base_lr
        self.max_update = max_update
        self.final_lr = final_lr
        self.max_steps = max_update - warmup_steps

    def _check_restored(self):
        if self.max_steps != self.max_update - self.warmup_steps:
            raise FormatError(
                f"{type(self).__name__}.max_steps must be {self.max_update - self.warmup_steps},"
                f" got {self.max_steps}"
            )

    def _decay_curve(self, progress):
        """Return the part of the decay that is left (1 to 0) at `progress` (0 to 1)."""
        raise UndefinedError(f"{type(self).__name__} defines no _decay_curve")

    def __call__(self, num_update):
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        if num_update <= self.max_update:
            # max_steps is 0 if the warm-up takes all updates: then the decay is over at once
            done = (num_update - self.warmup_steps) / self.max_steps if self.max_steps > 0 else 1.0
            fall = self.base_lr_orig - self.final_lr
            self.base_lr = self.final_lr + fall * self._decay_curve(done)
        return self.base_lr


class PolyScheduler(_Decay):
    """The rate falls as ``(1 - progress) ** pwr`` from `base_lr` to `final_lr`.

    Parameters
    ----------
    max_update : int
        Number of the update at which `final_lr` is reached, including the warm-up.
    base_lr : float
        The first learning rate.
    pwr : int
        Exponent of the curve.
    final_lr : float
        The last learning rate.
    warmup_steps, warmup_begin_lr, warmup_mode
        See :class:`LRScheduler`.

    Examples
    --------
    >>> fall = PolyScheduler(max_update=4, base_lr=1.0, pwr=2)
    >>> [fall(n) for n in range(6)]
    [1.0, 0.5625, 0.25, 0.0625, 0.0, 0.0]
    """

    serialized_fields = {"power": number(0)}

    def __init__(
        self,
        max_update: int,
        base_lr: float = 0.01,
        pwr: float = 2,
        final_lr: float = 0,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(max_update, base_lr, final_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        self.power = pwr

    def _decay_curve(self, progress):
        return (1 - progress) ** self.power


class CosineScheduler(_Decay):
    """The rate falls along half a cosine wave from `base_lr` to `final_lr`.

    Parameters
    ----------
    max_update : int
        Number of the update at which `final_lr` is reached, including the warm-up.
    base_lr, final_lr : float
        The first and the last learning rate.
    warmup_steps, warmup_begin_lr, warmup_mode
        See :class:`LRScheduler`.

    Examples
    --------
    >>> fall = CosineScheduler(max_update=4, base_lr=1.0)
    >>> [round(fall(n), 4) for n in range(6)]
    [1.0, 0.8536, 0.5, 0.1464, 0.0, 0.0]
    """

    def __init__(
        self,
        max_update: int,
        base_lr: float = 0.01,
        final_lr: float = 0,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(max_update, base_lr, final_lr, warmup_steps, warmup_begin_lr, warmup_mode)

    def _decay_curve(self, progress):
        return (1 + math.cos(math.pi * progress)) / 2


class OneCycleScheduler(LRScheduler):
    """The rate rises from a low value to `max_lr`, then falls far below: Smith's 1cycle policy.

    Parameters
    ----------
    total_steps : int
        Number of updates of the whole training; the last rate holds after it.
    max_lr : float
        The highest learning rate.
    pct_start : float
        Share of the updates in which the rate rises.
    div_factor : float
        The first rate is ``max_lr / div_factor``.
    final_div_factor : float
        The last rate is the first one, divided by this.
    anneal : str
        Form of the rise and the fall: ``'cos'``, half a cosine wave each, or ``'linear'``.

    Raises
    ------
    ArgumentError
        `total_steps` is below 2, `pct_start` not between 0 and 1, a rate or factor not above 0, or
        `anneal` neither 'cos' nor 'linear'.

    Examples
    --------
    >>> cycle = OneCycleScheduler(total_steps=5, max_lr=1.0, pct_start=0.5, anneal="linear")
    >>> [round(cycle(n), 4) for n in range(1, 7)]
    [0.04, 0.68, 0.8, 0.4, 0.0, 0.0]
    """

    serialized_fields = {
        "total_steps": count(2),
        "max_lr": number(),
        "pct_start": number(),
        "div_factor": number(),
        "final_div_factor": number(),
        "anneal": word("cos", "linear"),
    }

    def __init__(
        self,
        total_steps: int,
        max_lr: float = 0.01,
        pct_start: float = 0.3,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        anneal: str = "cos",
    ) -> None:
        super().__init__(max_lr)
        _check_int("total_steps", total_steps)
        self.total_steps, self.max_lr, self.pct_start = total_steps, max_lr, pct_start
        self.div_factor, self.final_div_factor = div_factor, final_div_factor
        self.anneal = anneal
        self._check_restored()

    def _check_restored(self):
        if self.total_steps < 2:
            raise ArgumentError(f"total_steps must be at least 2, got {self.total_steps}")
        for name, value, fits in (
            ("max_lr", self.max_lr, self.max_lr > 0),
            ("pct_start", self.pct_start, 0 < self.pct_start < 1),
            ("div_factor", self.div_factor, self.div_factor > 0),
            ("final_div_factor", self.final_div_factor, self.final_div_factor > 0),
            ("anneal", self.anneal, self.anneal in ("cos", "linear")),
        ):
            if not fits:
                raise ArgumentError(f"OneCycleScheduler: {name} must not be {shown(value)}")

    def __call__(self, num_update: int) -> float:
        first = self.max_lr / self.div_factor
        peak = self.pct_start * self.total_steps - 1  # updates are counted from 0
        last = self.total_steps - 1
        step = min(max(num_update - 1, 0), last)
        if step <= peak:
            return self._interpolate(first, self.max_lr, step / peak if peak else 1.0)
        end = first / self.final_div_factor
        return self._interpolate(self.max_lr, end, (step - peak) / (last - peak))

    def _interpolate(self, start, end, progress):
        if self.anneal == "cos":
            progress = (1 - math.cos(math.pi * progress)) / 2
        return start + (end - start) * progress


class CyclicScheduler(LRScheduler):
    """The rate rises from `base_lr` to `max_lr` and falls back, again and again.

    Parameters
    ----------
    step_size : int
        Number of updates of a rise.
    base_lr, max_lr : float
        The lowest and the highest learning rate.
    step_size_down : int, optional
        Number of updates of a fall; that of a rise by default.
    mode : str
        ``'triangular'``; ``'triangular2'``: each cycle is half as high as the one before;
        ``'exp_range'``: the height is multiplied by ``gamma`` at each update.
    gamma : float
        Factor of ``'exp_range'``.

    Raises
    ------
    ArgumentError
        A step size is below 1, `max_lr` below `base_lr`, `gamma` not above 0, or `mode` unknown.

    Examples
    --------
    >>> cycle = CyclicScheduler(step_size=2, base_lr=0.0, max_lr=1.0)
    >>> [cycle(n) for n in range(1, 7)]
    [0.0, 0.5, 1.0, 0.5, 0.0, 0.5]
    """

    serialized_fields = {
        "step_size": count(1),
        "max_lr": number(),
        "step_size_down": count(1),
        "mode": word("triangular", "triangular2", "exp_range"),
        "gamma": number(),
    }

    def __init__(
        self,
        step_size: int,
        base_lr: float = 0.001,
        max_lr: float = 0.01,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
    ) -> None:
        super().__init__(base_lr)
        step_size_down = step_size if step_size_down is None else step_size_down
        _check_int("step_size", step_size)
        _check_int("step_size_down", step_size_down)
        self.step_size, self.step_size_down = step_size, step_size_down
        self.max_lr, self.mode, self.gamma = max_lr, mode, gamma
        self._check_restored()

    def _check_restored(self):
        for name, value, fits in (
            ("step_size", self.step_size, self.step_size > 0),
            ("step_size_down", self.step_size_down, self.step_size_down > 0),
            ("max_lr", self.max_lr, self.max_lr >= self.base_lr),
            ("mode", self.mode, self.mode in ("triangular", "triangular2", "exp_range")),
            ("gamma", self.gamma, self.gamma > 0),
        ):
            if not fits:
                raise ArgumentError(f"CyclicScheduler: {name} must not be {shown(value)}")

    def __call__(self, num_update: int) -> float:
        step = max(num_update - 1, 0)
        cycle, place = divmod(step, self.step_size + self.step_size_down)
        if place <= self.step_size:
            height = place / self.step_size
        else:
            height = 1 - (place - self.step_size) / self.step_size_down
        scale = {"triangular": 1.0, "triangular2": 0.5**cycle, "exp_range": self.gamma**step}
        return self.base_lr + (self.max_lr - self.base_lr) * height * scale[self.mode]


def _check_int(name, value):
    if isinstance(value, bool) or not isinstance(value, int):
        raise ArgumentTypeError(f"{name} must be an int, got {shown(value)}")


def _check_factor(factor):
    if factor > 1.0:
        raise ArgumentError(f"factor must be at most 1, so that the rate falls, got {factor}")


def _log_rate_change(num_update, rate):
    logging.info("Update[%d]: Change learning rate to %0.5e", num_update, rate)
