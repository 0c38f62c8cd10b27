"""Dynamic loss scaling: losses are scaled up so that float16 gradients do not vanish."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from ... import ndarray as nd
from ...base.errors import ArgumentTypeError, StateError, shown
from ...gluon.errors import MismatchError
from ...gluon.trainer import Trainer
from ...operator.paragraphs import with_paragraphs
from . import amp

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["LossScaler", "init_trainer", "scale_loss", "unscale"]


class LossScaler:
    """A loss scale that is halved at each overflow, and doubled after many steps without overflow.

    Parameters
    ----------
    init_scale : float
        The first scale.
    scale_factor : float
        Factor by which the scale grows and shrinks.
    scale_window : int
        Number of steps without overflow after which the scale grows.

    Attributes
    ----------
    loss_scale : float
        The present scale, from 1 to 2 ** 24.

    Examples
    --------
    >>> scaler = LossScaler(scale_window=2)
    >>> scaler.has_overflow([]), scaler.has_overflow([]), scaler.loss_scale
    (False, False, 131072.0)
    """

    MOST = 2.0**24

    def __init__(
        self, init_scale: float = 2.0**16, scale_factor: float = 2.0, scale_window: int = 2000
    ) -> None:
        self.loss_scale = init_scale
        self._factor, self._window, self._unskipped = scale_factor, scale_window, 0

    def has_overflow(self, params: Any) -> bool:
        """Return whether a gradient is infinite or NaN, and update the scale; waits for the
        gradients.

        Parameters
        ----------
        params : iterable of Parameter
            The parameters; those with ``grad_req="null"`` are ignored.
        """
        finite = []
        by_kind = {}
        for each in params:
            if each.grad_req != "null":
                for grad in each.list_grad():
                    if grad.stype != "default":
                        grad = grad.parts()[0]
                    if not grad.size:
                        continue
                    by_kind.setdefault((grad.context, grad.dtype), []).append(grad)
        for grads in by_kind.values():
            finite.append(nd.multi_all_finite(*grads, num_arrays=len(grads)))
        overflow = any(each.asscalar() == 0 for each in finite)
        self._update_scale(overflow)
        return overflow

    def _update_scale(self, overflow):
        if overflow:
            self.loss_scale = max(1.0, self.loss_scale / self._factor)
            self._unskipped = 0
        else:
            self._unskipped += 1
        if self._unskipped == self._window:
            self._unskipped = 0
            self.loss_scale = min(self.MOST, self.loss_scale * self._factor)


_add_example_network_docs = with_paragraphs(
    network=""">>> mx.contrib.amp.init()
>>> net = mx.gluon.nn.Dense(1, in_units=2)
>>> net.initialize(mx.init.Constant(0.1))
>>> net.hybridize()
>>> trainer = mx.gluon.Trainer(
...     net.collect_params(), "sgd", {"learning_rate": 0.1}, update_on_kvstore=False
... )
>>> mx.contrib.amp.init_trainer(trainer)
>>> loss = mx.gluon.loss.L2Loss()
>>> loss.hybridize()
>>> data, label = mx.nd.ones((4, 2)), mx.nd.zeros((4, 1))
>>> with mx.autograd.record():
...     plain = loss(net(data), label)
...     with mx.contrib.amp.scale_loss(plain, trainer) as scaled:"""
)


@_add_example_network_docs
def init_trainer(optimizer_or_trainer: Trainer) -> None:
    """Make a Trainer skip steps whose gradients overflow, and give it a loss scale.

    Parameters
    ----------
    optimizer_or_trainer : gluon.Trainer
        A Trainer that was made with ``update_on_kvstore=False``.

    Raises
    ------
    ArgumentTypeError
        That is not a Trainer.
    StateError
        `init` has not been called yet.
    MismatchError
        The Trainer's KVStore is to update the weights.

    Examples
    --------
    {network}
    ...         mx.autograd.backward(scaled)
    >>> trainer.step(4)
    >>> net.weight.data().asnumpy()
    array([[0.08000489, 0.08000489]], dtype=float32)
    """
    trainer = optimizer_or_trainer
    if not isinstance(trainer, Trainer):
        raise ArgumentTypeError(f"amp: init_trainer takes a gluon Trainer, got {shown(trainer)}")
    if not amp._amp_initialized:
        raise StateError("amp: call amp.init() before init_trainer")
    if trainer._wished[1]:
        raise MismatchError("amp: make the Trainer with update_on_kvstore=False")
    trainer._amp_loss_scaler = LossScaler()
    trainer._amp_original_scale = trainer._scale


def _loss_scaler_of(trainer, what):
    scaler = getattr(trainer, "_amp_loss_scaler", None)
    if scaler is None:
        raise StateError(f"amp: call init_trainer before {what}")
    return scaler


@contextlib.contextmanager
@_add_example_network_docs
def scale_loss(loss: Any, optimizer_or_trainer: Trainer) -> Iterator[Any]:
    """Multiply a loss, or a list of losses, by the scale; the Trainer divides the gradients by it.

    Parameters
    ----------
    loss : NDArray or list of NDArray
        Losses that were computed in a record scope.
    optimizer_or_trainer : gluon.Trainer
        The Trainer, after `init_trainer`.

    Returns
    -------
    context manager
        For ``with``: gives the scaled loss, or the list of them.

    Raises
    ------
    StateError
        `init_trainer` has not been called for the Trainer.

    Examples
    --------
    {network}
    ...         print((scaled / plain)[0].asscalar())
    65536.0
    """
    scaler = _loss_scaler_of(optimizer_or_trainer, "scale_loss")
    scale = scaler.loss_scale
    optimizer_or_trainer._scale = optimizer_or_trainer._amp_original_scale / scale
    if isinstance(loss, (list, tuple)):
        yield [each * scale for each in loss]
    else:
        yield loss * scale


@_add_example_network_docs
def unscale(optimizer_or_trainer: Trainer) -> None:
    """Divide the gradients by the scale now, for example to clip them before the step.

    Parameters
    ----------
    optimizer_or_trainer : gluon.Trainer
        The Trainer, after `init_trainer` and a backward pass of the scaled loss.

    Raises
    ------
    StateError
        `init_trainer` has not been called for the Trainer.

    Examples
    --------
    {network}
    ...         mx.autograd.backward(scaled)
    >>> bool(net.bias.grad().asscalar() > 10000)
    True
    >>> mx.contrib.amp.unscale(trainer)
    >>> round(net.bias.grad().asscalar().item(), 2)
    0.8
    """
    trainer = optimizer_or_trainer
    _loss_scaler_of(trainer, "unscale")
    factor = trainer._scale / trainer._amp_original_scale
    for each in trainer._params:
        if each.grad_req != "null":
            for grad in each.list_grad():
                grad[:] = grad * factor
    trainer._scale = trainer._amp_original_scale
