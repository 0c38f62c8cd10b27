"""Stochastic gradient descent and its relatives: SGD, NAG, Signum, Lion, SGLD, DCASGD."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .. import ndarray as nd
from ..base.kinds import FLAG, number
from .base import OPTIMIZERS, Optimizer, register, zeros_like
from .fused import FusedOptimizer

if TYPE_CHECKING:
    from ..typing import NDArray, State


@register
class SGD(FusedOptimizer):
    """Stochastic gradient descent, with optional momentum.

    ``state = momentum * state - lr * (clip(rescale_grad * grad) + wd * weight)``,
    ``weight = weight + state``.

    Parameters
    ----------
    lazy_update : bool
        For a row_sparse gradient, update only the rows that it has, and their states; False updates
        all rows.
    **kwargs
        See :class:`Optimizer`; the default learning rate is 0.01.

    Examples
    --------
    >>> weight, grad = mx.nd.array([1.0, 2.0]), mx.nd.array([0.5, -0.5])
    >>> optimizer = mx.optimizer.SGD(learning_rate=0.1)
    >>> updater = mx.optimizer.get_updater(optimizer)
    >>> updater(0, grad, weight)
    >>> weight.asnumpy().round(3).tolist()
    [0.949999988079071, 2.049999952316284]
    """

    _by_entry = True
    serialized_fields = {"momentum": number(), "lazy_update": FLAG}

    _keeps_masters, _asks_for_lists, aggregate_num = True, True, 4
    _copy_is_last = True

    def __init__(self, momentum: float = 0.0, lazy_update: bool = True, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.momentum = momentum
        self.lazy_update = lazy_update

    def create_state(self, index: Any, weight: NDArray) -> State:
        return zeros_like(weight) if self.momentum != 0.0 else None

    @property
    def _is_lazy(self):
        return self.lazy_update

    def _update_rule(self, state):
        return "sgd" if state is None else "sgd_mom"

    def _rule_params(self, count):
        return (self.momentum,)


OPTIMIZERS.register("ccsgd", SGD)
ccSGD = SGD  # MXNet's old name


@register
class NAG(FusedOptimizer):
    """Stochastic gradient descent with Nesterov's momentum.

    As in MXNet, the momentum takes the decay of the weight just updated.

    Examples
    --------
    >>> weight, grad = mx.nd.array([1.0, 2.0]), mx.nd.array([0.5, -0.5])
    >>> optimizer = mx.optimizer.NAG(learning_rate=0.1)
    >>> updater = mx.optimizer.get_updater(optimizer)
    >>> updater(0, grad, weight)
    >>> weight.asnumpy().round(3).tolist()
    [0.949999988079071, 2.049999952316284]
    """

    _by_entry = True
    serialized_fields = {"momentum": number()}

    _keeps_masters = _copy_is_last = True

    def __init__(self, momentum: float = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.momentum = momentum

    def create_state(self, index: Any, weight: NDArray) -> State:
        return zeros_like(weight) if self.momentum != 0.0 else None

    def _update_rule(self, state):
        return "sgd" if state is None else "nag"

    def _rule_params(self, count):
        return (self.momentum,)


@register
class Signum(FusedOptimizer):
    """Steps of constant size along the sign of the (averaged) gradient.

    Parameters
    ----------
    momentum : float
        Decay rate of the mean of gradients; 0 takes the sign of the gradient itself.
    wd_lh : float
        Weight decay separate from the gradient (Loshchilov and Hutter); only with a momentum.

    Examples
    --------
    >>> weight, grad = mx.nd.array([1.0, 2.0]), mx.nd.array([0.5, -0.5])
    >>> optimizer = mx.optimizer.Signum(learning_rate=0.1)
    >>> updater = mx.optimizer.get_updater(optimizer)
    >>> updater(0, grad, weight)
    >>> weight.asnumpy().round(3).tolist()
    [0.8999999761581421, 2.0999999046325684]
    """

    _by_entry = True
    serialized_fields = {"momentum": number(), "wd_lh": number()}

    def __init__(
        self, learning_rate: float = 0.01, momentum: float = 0.9, wd_lh: float = 0.0, **kwargs: Any
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.momentum = momentum
        self.wd_lh = wd_lh

    def create_state(self, index: Any, weight: NDArray) -> State:
        return zeros_like(weight) if self.momentum != 0.0 else None

    def _update_rule(self, state):
        return "signsgd" if state is None else "signum"

    def _rule_params(self, count):
        return self.momentum, self.wd_lh


@register
class Lion(FusedOptimizer):
    """Steps of constant size along the sign of a mean of gradients; stores one array per weight.

    ``weight -= lr * (sign(beta1 * mean + (1 - beta1) * grad) + wd * weight)``, then
    ``mean = beta2 * mean + (1 - beta2) * grad``. Chen et al., https://arxiv.org/abs/2302.06675:
    learning rates are 3 to 10 times smaller than those of AdamW, weight decay as much larger.

    Parameters
    ----------
    beta1 : float
        Share of the mean in the direction of a step.
    beta2 : float
        Decay rate of the mean.

    Examples
    --------
    >>> weight, grad = mx.nd.array([1.0, 2.0]), mx.nd.array([0.5, -0.5])
    >>> optimizer = mx.optimizer.Lion(learning_rate=0.1)
    >>> updater = mx.optimizer.get_updater(optimizer)
    >>> updater(0, grad, weight)
    >>> weight.asnumpy().round(3).tolist()
    [0.8999999761581421, 2.0999999046325684]
    """

    _by_entry = True
    serialized_fields = {"beta1": number(), "beta2": number()}
    _rule_name, _n_states = "lion", 1

    def __init__(
        self, learning_rate: float = 1e-4, beta1: float = 0.9, beta2: float = 0.99, **kwargs: Any
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2

    def _rule_params(self, count):
        return self.beta1, self.beta2


@register
class SGLD(Optimizer):
    """Gradient descent with Gaussian noise, which samples from the posterior (Langevin dynamics).

    ``weight -= lr / 2 * (clip(rescale_grad * grad) + wd * weight) + normal(0, sqrt(lr))``.

    Parameters
    ----------
    **kwargs
        See :class:`Optimizer`.

    Examples
    --------
    Samples of a normal distribution of mean 0 and variance 1, whose gradient is the weight:

    >>> mx.random.seed(0)
    >>> update = mx.optimizer.get_updater(mx.optimizer.SGLD(learning_rate=0.5))
    >>> weight = mx.nd.zeros(10000)
    >>> for _ in range(20):
    ...     update(0, weight.copy(), weight)
    >>> 0.8 < float((weight**2).mean()) < 1.4
    True
    """

    _draws = True
    _takes_lists = False

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: State) -> None:
        lr, wd, _ = self._count_and_get_rates(index)
        grad = self._prepare_gradient(grad) + wd * weight
        noise = nd.random.normal(
            0, math.sqrt(lr), shape=weight.shape, dtype=weight.dtype, ctx=weight.context
        )
        weight[:] = weight - lr / 2 * grad + noise


@register
class DCASGD(Optimizer):
    """Gradient descent that compensates for gradients computed at old weights (DC-ASGD).

    Parameters
    ----------
    lamda : float
        Strength of the compensation for the delay.

    Examples
    --------
    >>> weight, grad = mx.nd.array([1.0, 2.0]), mx.nd.array([0.5, -0.5])
    >>> optimizer = mx.optimizer.DCASGD(learning_rate=0.1)
    >>> updater = mx.optimizer.get_updater(optimizer)
    >>> updater(0, grad, weight)
    >>> weight.asnumpy().round(3).tolist()
    [0.949999988079071, 2.049999952316284]
    """

    _by_entry = True
    serialized_fields = {"momentum": number(), "lamda": number()}
    _takes_lists = False

    def __init__(self, momentum: float = 0.0, lamda: float = 0.04, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.momentum = momentum
        self.lamda = lamda

    def create_state(self, index: Any, weight: NDArray) -> State:
        return zeros_like(weight) if self.momentum != 0.0 else None, weight.copy()

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: State) -> None:
        lr, wd, _ = self._count_and_get_rates(index)
        grad = self._prepare_gradient(grad)
        momentum, previous = state
        change = -lr * (grad + wd * weight + self.lamda * grad * grad * (weight - previous))
        if momentum is not None:
            momentum[:] = self.momentum * momentum + change
            change = momentum
        previous[:] = weight
        weight[:] = weight + change
