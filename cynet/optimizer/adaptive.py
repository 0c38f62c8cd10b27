"""Optimizers with a step size for each entry: Adam and relatives, AdaGrad, RMSProp, ..."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..base.kinds import FLAG, number
from .base import register, zeros_like
from .fused import FusedOptimizer
from .settings import warn_of_two_rates

if TYPE_CHECKING:
    from ..typing import NDArray, State

# A decay of 1 would divide by 0; above 1, the root does not exist.
_DECAY_RANGE = number(0, 1)  # check of a decay
_FTRL_DEFAULT_RATE = 0.1  # learning rate


@register
class Adam(FusedOptimizer):
    """Adam: running mean of gradients over the root of their running mean square.

    Kingma and Ba, https://arxiv.org/abs/1412.6980. Weight decay is added to the gradient.

    Parameters
    ----------
    beta1, beta2 : float
        Decay rates of the means of gradients and of their squares.
    epsilon : float
        Added to the root of the mean square.
    lazy_update : bool
        For a row_sparse gradient, update only the rows that it has, and their states; False updates
        all rows.

    Examples
    --------
    >>> weight, grad = mx.nd.array([1.0, 2.0]), mx.nd.array([0.5, -0.5])
    >>> optimizer = mx.optimizer.Adam(learning_rate=0.1)
    >>> updater = mx.optimizer.get_updater(optimizer)
    >>> updater(0, grad, weight)
    >>> weight.asnumpy().round(3).tolist()
    [0.8999999761581421, 2.0999999046325684]
    """

    _by_entry = True
    serialized_fields = {
        "beta1": _DECAY_RANGE,
        "beta2": _DECAY_RANGE,
        "epsilon": number(),
        "lazy_update": FLAG,
    }
    _rule_name, _n_states = "adam", 2

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        lazy_update: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.lazy_update = lazy_update

    @property
    def _is_lazy(self):
        return self.lazy_update

    def _rule_params(self, count):
        return self.beta1, self.beta2, self.epsilon

    def _rule_rate(self, lr, count):
        return lr * math.sqrt(1 - self.beta2**count) / (1 - self.beta1**count)


@register
class AdamW(FusedOptimizer):
    """Adam with decoupled weight decay: ``weight -= lr * (step + wd * weight)``.

    Loshchilov and Hutter, https://arxiv.org/abs/1711.05101.

    Parameters
    ----------
    beta1, beta2 : float
        Decay rates of the means of gradients and of their squares.
    epsilon : float
        Added to the root of the mean square.
    correct_bias : bool
        Whether to correct the means of the first steps for their start at 0.

    Examples
    --------
    >>> weight, grad = mx.nd.array([1.0, 2.0]), mx.nd.array([0.5, -0.5])
    >>> optimizer = mx.optimizer.AdamW(learning_rate=0.1)
    >>> updater = mx.optimizer.get_updater(optimizer)
    >>> updater(0, grad, weight)
    >>> weight.asnumpy().round(3).tolist()
    [0.8999999761581421, 2.0999999046325684]
    """

    _by_entry = True
    serialized_fields = {
        "beta1": _DECAY_RANGE,
        "beta2": _DECAY_RANGE,
        "epsilon": number(),
        "correct_bias": FLAG,
    }
    _rule_name, _n_states, _keeps_masters = "adamw", 2, True

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        correct_bias: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.correct_bias = correct_bias

    def _rule_params(self, count):
        first, second = 1.0, 1.0
        if self.correct_bias:
            first, second = 1 - self.beta1**count, math.sqrt(1 - self.beta2**count)
        # the fraction is expanded by `second`, so that the kernel needs only one root
        return self.beta1, self.beta2, self.epsilon * second, second / first


@register
class Adamax(FusedOptimizer):
    """Adam with the decayed maximum of gradients in place of the mean square.

    Parameters
    ----------
    beta1, beta2 : float
        Decay rates of the mean of gradients and of the largest gradient.

    Examples
    --------
    >>> weight, grad = mx.nd.array([1.0, 2.0]), mx.nd.array([0.5, -0.5])
    >>> optimizer = mx.optimizer.Adamax(learning_rate=0.1)
    >>> updater = mx.optimizer.get_updater(optimizer)
    >>> updater(0, grad, weight)
    >>> weight.asnumpy().round(3).tolist()
    [0.8999999761581421, 2.0999999046325684]
    """

    _by_entry = True
    serialized_fields = {"beta1": _DECAY_RANGE, "beta2": _DECAY_RANGE}
    _rule_name, _n_states = "adamax", 2

    def __init__(
        self, learning_rate: float = 0.002, beta1: float = 0.9, beta2: float = 0.999, **kwargs: Any
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2

    def _rule_params(self, count):
        return self.beta1, self.beta2

    def _rule_rate(self, lr, count):
        return lr / (1 - self.beta1**count)


@register
class Nadam(FusedOptimizer):
    """Adam with Nesterov's momentum, whose strength follows a schedule.

    Dozat, https://openreview.net/forum?id=OM0jvwB8jIp57ZJjtNEZ.

    Parameters
    ----------
    beta1, beta2, epsilon : float
        Decay rates of the means of gradients and of their squares; term that keeps the division
        finite.
    schedule_decay : float
        How fast the momentum rises to `beta1`.

    Examples
    --------
    >>> weight, grad = mx.nd.array([1.0, 2.0]), mx.nd.array([0.5, -0.5])
    >>> optimizer = mx.optimizer.Nadam(learning_rate=0.1)
    >>> updater = mx.optimizer.get_updater(optimizer)
    >>> updater(0, grad, weight)
    >>> weight.asnumpy().round(3).tolist()
    [0.8939999938011169, 2.1059999465942383]
    """

    serialized_fields = {
        "beta1": _DECAY_RANGE,
        "beta2": _DECAY_RANGE,
        "epsilon": number(),
        "schedule_decay": number(),
        "m_schedule": number(),
    }
    _rule_name, _n_states = "nadam", 2
    _couples_weights = True  # all weights share `m_schedule`

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        schedule_decay: float = 0.004,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.schedule_decay = schedule_decay
        self.m_schedule = 1.0

    def _rule_rate(self, lr, count):
        return lr * math.sqrt(1 - self.beta2**count)

    def _rule_params(self, count):
        now, then = (
            self.beta1 * (1 - 0.5 * 0.96 ** (t * self.schedule_decay)) for t in (count, count + 1)
        )
        self.m_schedule *= now
        gradient_part = (1 - now) / (1 - self.m_schedule)
        mean_part = then / (1 - self.m_schedule * then)
        epsilon = self.epsilon * math.sqrt(1 - self.beta2**count)
        return self.beta1, self.beta2, epsilon, gradient_part, mean_part

    def _rule_params_per_weight(self, counts):
        # as in MXNet, `m_schedule` changes with every weight
        return [self._rule_params(count) for count in counts]


@register
class FTML(FusedOptimizer):
    """FTML: "follow the moving leader". Zheng and Kwok, ICML 2017.

    Parameters
    ----------
    beta1, beta2, epsilon : float
        Decay rates of the means of gradients and of their squares; term that keeps the division
        finite.

    Examples
    --------
    >>> weight, grad = mx.nd.array([1.0, 2.0]), mx.nd.array([0.5, -0.5])
    >>> optimizer = mx.optimizer.FTML(learning_rate=0.1)
    >>> updater = mx.optimizer.get_updater(optimizer)
    >>> updater(0, grad, weight)
    >>> weight.asnumpy().round(3).tolist()
    [0.8999999761581421, 2.0999999046325684]
    """

    _by_entry = True
    serialized_fields = {"beta1": _DECAY_RANGE, "beta2": _DECAY_RANGE, "epsilon": number()}
    _rule_name, _n_states = "ftml", 3

    def __init__(
        self, beta1: float = 0.6, beta2: float = 0.999, epsilon: float = 1e-8, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon

    def _rule_params(self, count):
        return (self.beta1, self.beta2, self.epsilon, self.beta1**count, self.beta2**count)


@register
class AdaGrad(FusedOptimizer):
    """AdaGrad: gradient over the root of the sum of its squares so far.

    Parameters
    ----------
    eps : float
        Keeps the division finite while the sum of squares is 0.

    Examples
    --------
    >>> weight, grad = mx.nd.array([1.0, 2.0]), mx.nd.array([0.5, -0.5])
    >>> optimizer = mx.optimizer.AdaGrad(learning_rate=0.1)
    >>> updater = mx.optimizer.get_updater(optimizer)
    >>> updater(0, grad, weight)
    >>> weight.asnumpy().round(3).tolist()
    [0.8999999761581421, 2.0999999046325684]
    """

    _by_entry = True
    serialized_fields = {"float_stable_eps": number()}
    _rule_name, _n_states, _is_lazy = "adagrad", 1, True

    def __init__(self, eps: float = 1e-7, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.float_stable_eps = eps

    def _rule_params(self, count):
        return (self.float_stable_eps,)


@register
class AdaDelta(FusedOptimizer):
    """AdaDelta: step sizes from earlier steps and gradients, without a learning rate.

    Zeiler, https://arxiv.org/abs/1212.5701.

    Parameters
    ----------
    rho : float
        Decay rate of both means of squares.
    epsilon : float
        Added to both means of squares.

    Examples
    --------
    >>> weight, grad = mx.nd.array([1.0, 2.0]), mx.nd.array([0.5, -0.5])
    >>> optimizer = mx.optimizer.AdaDelta()
    >>> updater = mx.optimizer.get_updater(optimizer)
    >>> updater(0, grad, weight)
    >>> weight.asnumpy().round(3).tolist()
    [0.9900000095367432, 2.009999990463257]
    """

    _by_entry = True
    serialized_fields = {"rho": number(), "epsilon": number()}
    _rule_name, _n_states = "adadelta", 2

    def __init__(self, rho: float = 0.90, epsilon: float = 1e-5, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rho = rho
        self.epsilon = epsilon

    def _rule_params(self, count):
        return self.rho, self.epsilon


@register
class RMSProp(FusedOptimizer):
    """RMSProp: gradient over the root of its running mean square.

    Tieleman and Hinton's form, or with ``centered`` that of Graves,
    https://arxiv.org/abs/1308.0850, which divides by the standard deviation and has a momentum.

    Parameters
    ----------
    gamma1 : float
        Decay rate of the means.
    gamma2 : float
        Momentum of the centered form.
    epsilon : float
        Added to the mean square, so that the division is finite.
    centered : bool
        Whether to divide by the standard deviation, and to use a momentum.
    clip_weights : float, optional
        Weights are clipped to ``[-clip_weights, clip_weights]`` after each step.

    Examples
    --------
    >>> weight, grad = mx.nd.array([1.0, 2.0]), mx.nd.array([0.5, -0.5])
    >>> optimizer = mx.optimizer.RMSProp(learning_rate=0.1)
    >>> updater = mx.optimizer.get_updater(optimizer)
    >>> updater(0, grad, weight)
    >>> weight.asnumpy().round(3).tolist()
    [0.6840000152587891, 2.315999984741211]
    """

    _by_entry = True
    serialized_fields = {
        "gamma1": number(),
        "gamma2": number(),
        "epsilon": number(),
        "centered": FLAG,
        "clip_weights": number().or_none(),
    }

    def __init__(
        self,
        learning_rate: float = 0.001,
        gamma1: float = 0.9,
        gamma2: float = 0.9,
        epsilon: float = 1e-8,
        centered: bool = False,
        clip_weights: float | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.gamma1 = gamma1
        self.gamma2 = gamma2
        self.epsilon = epsilon
        self.centered = centered
        self.clip_weights = clip_weights

    def create_state(self, index: Any, weight: NDArray) -> State:
        return tuple(zeros_like(weight) for _ in range(3 if self.centered else 1))

    def _update_rule(self, state):
        return "rmspropalex" if len(state) == 3 else "rmsprop"

    def _rule_params(self, count):
        clip = -1.0 if self.clip_weights is None else self.clip_weights
        return self.gamma1, self.epsilon, clip, self.gamma2


@register
class Ftrl(FusedOptimizer):
    """FTRL: "follow the regularized leader"; weights of little effect become exactly 0.

    McMahan et al., KDD 2013.

    Parameters
    ----------
    lamda1 : float
        Strength of the L1 regularization.
    beta : float
        Added to the root of the sum of squares: larger values make the first steps smaller.

    Examples
    --------
    >>> weight, grad = mx.nd.array([1.0, 2.0]), mx.nd.array([0.5, -0.5])
    >>> optimizer = mx.optimizer.Ftrl(learning_rate=0.1)
    >>> updater = mx.optimizer.get_updater(optimizer)
    >>> updater(0, grad, weight)
    >>> weight.asnumpy().round(3).tolist()
    [0.29899999499320984, 0.6990000009536743]
    """

    _by_entry = True
    serialized_fields = {"lamda1": number(), "beta": number()}
    _rule_name, _n_states, _is_lazy = "ftrl", 2, True

    def __init__(
        self,
        lamda1: float = 0.01,
        learning_rate: float = _FTRL_DEFAULT_RATE,
        beta: float = 1,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if self.lr_scheduler is not None and learning_rate != _FTRL_DEFAULT_RATE:
            warn_of_two_rates("Ftrl", learning_rate, self.lr_scheduler, schedule_counts=True)
        self.lr = learning_rate  # a scheduler has its own base_lr, as in MXNet
        self.lamda1 = lamda1
        self.beta = beta

    def _rule_params(self, count):
        return self.lamda1, self.beta
