"""LAMB, LARS and LBSGD: optimizers for large batches."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .. import ndarray as nd
from ..base.dtype import is_narrow
from ..base.errors import ArgumentError, shown
from ..base.kinds import FLAG, Kind, count, number, word
from .base import register, zeros_like
from .fused import FusedOptimizer

if TYPE_CHECKING:
    from ..typing import NDArray, State

_DECAY_RANGE = number(0, 1)  # check of a decay
_NUMBER_OR_NONE = Kind(lambda v: v is None or number().fits(v), "a finite number or None")
_WARMUP_STRATEGIES = ("linear", "power2", "sqrt", "lars")


def _float32_norm(array):
    """Return the 2-norm of all entries as a float32 array (1,), without waiting for it."""
    return nd.norm(array.astype("float32"))


def _safe_ratio(above, below):
    """Return ``above / below`` of arrays (1,), or 1 if one of the two is 0."""
    return nd.where(above * below > 0, above / below, nd.ones_like(above))


def _scale_array(array, factor):
    """Multiply an array by an array (1,), in the first one's dtype."""
    factor = factor.astype(array.dtype).reshape((1,) * len(array.shape))
    return nd.broadcast_mul(array, factor)


@register
class LAMB(FusedOptimizer):
    """LAMB: Adam with steps whose norm is proportional to the norm of the weight.

    You et al., https://arxiv.org/abs/1904.00962.

    Parameters
    ----------
    beta1, beta2 : float
        Decay rates of the means of gradients and of their squares.
    epsilon : float
        Added to the root of the mean square.
    lower_bound, upper_bound : float, optional
        Bounds to which the weight's norm is clipped.
    bias_correction : bool
        Whether to correct the means of the first steps for their start at 0.

    Examples
    --------
    >>> weight, grad = mx.nd.array([1.0, 2.0]), mx.nd.array([0.5, -0.5])
    >>> optimizer = mx.optimizer.LAMB(learning_rate=0.1)
    >>> updater = mx.optimizer.get_updater(optimizer)
    >>> updater(0, grad, weight)
    >>> weight.asnumpy().round(3).tolist()
    [0.8420000076293945, 2.1579999923706055]
    """

    serialized_fields = {
        "beta1": _DECAY_RANGE,
        "beta2": _DECAY_RANGE,
        "epsilon": number(),
        "lower_bound": _NUMBER_OR_NONE,
        "upper_bound": _NUMBER_OR_NONE,
        "bias_correction": FLAG,
    }
    _rule_name, _n_states, _norm_rule = "lamb_move", 2, "lamb"
    _keeps_masters, aggregate_num = True, 45

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-6,
        lower_bound: float | None = None,
        upper_bound: float | None = None,
        bias_correction: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound
        self.bias_correction = bias_correction

    def _rule_params(self, count):
        first, second = 1.0, 1.0
        if self.bias_correction:
            first, second = 1 - self.beta1**count, math.sqrt(1 - self.beta2**count)
        bounds = (-1.0 if each is None else each for each in (self.lower_bound, self.upper_bound))
        # the fraction is expanded by `second`, so that the kernel needs only one root
        factors = self.epsilon * second, second / first
        return self.beta1, self.beta2, *factors, *bounds

    def _can_fuse_updates(self, weights):
        # rounding of 16-bit states would change the step after its norm was computed
        rounds = not self.multi_precision and any(is_narrow(weight.dtype) for weight in weights)
        return not rounds and super()._can_fuse_updates(weights)

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: State) -> None:
        if self._can_fuse_updates([weight]):
            super().update(index, weight, grad, state)
            return
        lr, wd, step = self._count_and_get_rates(index)
        mean, square = state
        grad = self._prepare_gradient(grad)
        mean[:] = self.beta1 * mean + (1 - self.beta1) * grad
        square[:] = self.beta2 * square + (1 - self.beta2) * nd.square(grad)
        first, second = mean, square
        if self.bias_correction:
            first = mean / (1 - self.beta1**step)
            second = square / (1 - self.beta2**step)
        move = first / (nd.sqrt(second) + self.epsilon) + wd * weight
        length, size = _float32_norm(weight), _float32_norm(move)
        if self.lower_bound is not None:
            length = nd.maximum(length, self.lower_bound)
        if self.upper_bound is not None:
            length = nd.minimum(length, self.upper_bound)
        weight[:] = weight - _scale_array(move, lr * _safe_ratio(length, size))


@register
class LARS(FusedOptimizer):
    """SGD whose learning rate for each weight, except biases, gammas and betas, is proportional to
    the norm of the weight over that of its gradient.

    Names that end with ``_gamma`` do not decay, either. You et al.,
    https://arxiv.org/abs/1708.03888.

    Parameters
    ----------
    lazy_update : bool
        Part of MXNet's signature; matters for sparse gradients only.
    eta : float
        Factor of the ratio of the two norms.
    eps : float
        Added to the gradient's norm.
    momentum_correction : bool
        If the learning rate changes, scale the momentum by the same factor for one step.

    Examples
    --------
    >>> weight, grad = mx.nd.array([1.0, 2.0]), mx.nd.array([0.5, -0.5])
    >>> optimizer = mx.optimizer.LARS(learning_rate=0.1)
    >>> updater = mx.optimizer.get_updater(optimizer)
    >>> updater(0, grad, weight)
    >>> weight.asnumpy().round(3).tolist()
    [1.0, 2.0]
    """

    serialized_fields = {
        "momentum": number(),
        "lazy_update": FLAG,
        "eta": number(),
        "eps": number(),
        "momentum_correction": FLAG,
        "rate": _NUMBER_OR_NONE,
        "rate_before": _NUMBER_OR_NONE,
        "rate_step": count(),
    }
    _decayed = ("_weight",)
    _norm_rule, _keeps_masters, aggregate_num = "lars", True, 4
    _copy_is_last = True

    def __init__(
        self,
        momentum: float = 0.0,
        lazy_update: bool = True,
        eta: float = 0.001,
        eps: float = 0,
        momentum_correction: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.momentum = momentum
        self.lazy_update = lazy_update
        self.eta = eta
        self.eps = eps
        self.momentum_correction = momentum_correction
        # the learning rates of this step and of the previous step
        self.rate = self.rate_before = None
        self.rate_step = 0

    def create_state(self, index: Any, weight: NDArray) -> State:
        return zeros_like(weight) if self.momentum != 0 else None

    def _corrected_momentum(self):
        """Return the momentum of this step, which all weights share."""
        if self.num_update != self.rate_step:
            self.rate_before, self.rate = self.rate, self.learning_rate
            self.rate_step = self.num_update
        if self.momentum_correction and self.rate_before:
            return self.momentum * self.rate / self.rate_before
        return self.momentum

    def _trust_ratio(self, weight, grad, wd):
        """Return the weight's own factor of the learning rate, an array (1,)."""
        length, slope = _float32_norm(weight), _float32_norm(grad) * abs(self.rescale_grad)
        below = slope + wd * length + self.eps
        known = length * slope > 0
        return nd.where(known, self.eta * length / below, nd.ones_like(length))

    def _update_rule(self, state):
        return "sgd" if state is None else "sgd_mom"

    def _has_trust_ratio(self, index):
        """Return whether the weight has its own factor of the learning rate."""
        return not str(self.idx2name.get(index, index)).endswith(("gamma", "beta", "bias"))

    def _next_step_settings(self, indices, own):
        *step, _ = super()._next_step_settings(indices, own)
        shared = self._corrected_momentum(), self.eta, self.eps
        return *step, [(*shared, self._has_trust_ratio(index)) for index in indices]

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: State) -> None:
        if self._can_fuse_updates([weight]):
            super().update(index, weight, grad, state)
            return
        lr, wd, _ = self._count_and_get_rates(index)
        momentum = self._corrected_momentum()
        move = lr * (self._prepare_gradient(grad) + wd * weight)
        if self._has_trust_ratio(index):
            move = _scale_array(move, self._trust_ratio(weight, grad, wd))
        if state is not None:
            state[:] = momentum * state - move
            weight[:] = weight + state
        else:
            weight[:] = weight - move


@register
class LBSGD(FusedOptimizer):
    """SGD for large batches: sums gradients over `batch_scale` updates, and raises the learning
    rate to `batch_scale` times its value during warm-up.

    Parameters
    ----------
    warmup_strategy : str
        How the factor rises from 1 to `batch_scale`: ``'linear'``, ``'power2'`` or ``'sqrt'``; or
        ``'lars'``: the factor is the root of the ratio of the squared norms of weight and gradient,
        from 0.01 to 100.
    warmup_epochs, updates_per_epoch, begin_epoch : int
        Warm-up lasts for ``warmup_epochs * updates_per_epoch`` updates, counted from
        ``begin_epoch * updates_per_epoch``.
    batch_scale : int
        Number of gradients that are summed up for one step.
    num_epochs : int
        Part of MXNet's signature; not used.

    Raises
    ------
    ArgumentError
        `warmup_strategy` is not one of its names.

    Examples
    --------
    >>> weight, grad = mx.nd.array([1.0, 2.0]), mx.nd.array([0.5, -0.5])
    >>> optimizer = mx.optimizer.LBSGD(learning_rate=0.1)
    >>> updater = mx.optimizer.get_updater(optimizer)
    >>> updater(0, grad, weight)
    >>> weight.asnumpy().round(3).tolist()
    [0.949999988079071, 2.049999952316284]
    """

    serialized_fields = {
        "momentum": number(),
        "warmup_strategy": word(*_WARMUP_STRATEGIES),
        "warmup_epochs": count(),
        "batch_scale": count(1),
        "updates_per_epoch": count(),
        "init_updates": count(),
        "num_epochs": count(),
    }
    _keeps_masters = True

    def __init__(
        self,
        momentum: float = 0.0,
        multi_precision: bool = False,
        warmup_strategy: str = "linear",
        warmup_epochs: int = 5,
        batch_scale: int = 1,
        updates_per_epoch: int = 32,
        begin_epoch: int = 0,
        num_epochs: int = 60,
        **kwargs: Any,
    ) -> None:
        super().__init__(multi_precision=multi_precision, **kwargs)
        if warmup_strategy not in _WARMUP_STRATEGIES:
            raise ArgumentError(
                f"LBSGD: warmup_strategy must be one of {', '.join(_WARMUP_STRATEGIES)}, got"
                f" {shown(warmup_strategy)}"
            )
        self.momentum = momentum
        self.warmup_strategy = warmup_strategy
        self.warmup_epochs = warmup_epochs
        self.batch_scale = batch_scale
        self.updates_per_epoch = updates_per_epoch
        self.init_updates = begin_epoch * updates_per_epoch
        self.num_epochs = num_epochs

    def create_state(self, index: Any, weight: NDArray) -> State:
        """Create the momentum and the sum of gradients."""
        velocity = zeros_like(weight) if self.momentum != 0 else None
        return velocity, zeros_like(weight) if self.batch_scale > 1 else None

    @property
    def _norm_rule(self):  # rule that sets rates by norms
        return "lbsgd" if self.warmup_strategy == "lars" else None

    def _can_fuse_updates(self, weights):
        return self.batch_scale == 1 and super()._can_fuse_updates(weights)

    def _update_rule(self, state):
        return "sgd" if state[0] is None else "sgd_mom"

    def _rule_params(self, count):
        return (self.momentum,)

    def _next_step_settings(self, indices, own):
        rates, decays = [], []
        for index in indices:  # as in MXNet, the rate ignores this update
            rates.append(self._get_lr(index))
            decays.append(self._get_wd(index))
            self._update_count(index)
        clip = -1.0 if self.clip_gradient is None else self.clip_gradient
        return rates, decays, self.rescale_grad, clip, [self._rule_params(0)] * len(indices)

    def _warmup_factor(self, updates):
        """Return the warm-up factor of the learning rate after this many updates."""
        last = self.warmup_epochs * self.updates_per_epoch
        if updates >= last:
            return float(self.batch_scale)
        if last <= 1:
            return 1.0
        share = updates / last
        rise = {"linear": share, "power2": share * share, "sqrt": math.sqrt(share)}
        return 1.0 + (self.batch_scale - 1) * rise[self.warmup_strategy]

    def _lars_factor(self, weight, grad, wd):
        length, slope = _float32_norm(weight) ** 2, _float32_norm(grad) ** 2
        return nd.clip(nd.sqrt(length / (slope + wd * length + 1e-18)), 0.01, 100.0)

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: State) -> None:
        if self._can_fuse_updates([weight]):
            super().update(index, weight, grad, state)
            return
        (lr,), (wd,), *_ = self._next_step_settings([index], False)
        step = self._index_update_count[index]
        velocity, total = state
        updates = self.init_updates + step - self.begin_num_update
        if total is not None:
            total[:] = total + grad
            if updates % self.batch_scale:
                return
            grad = total / self.batch_scale
            total[:] = 0
        move = lr * (self._prepare_gradient(grad) + wd * weight)
        if self.warmup_strategy == "lars":
            move = _scale_array(move, self._lars_factor(weight, grad, wd))
        else:
            move = self._warmup_factor(updates) * move
        if velocity is not None:
            velocity[:] = self.momentum * velocity - move
            weight[:] = weight + velocity
        else:
            weight[:] = weight - move
