"""find_learning_rate: trains a few batches with a rising learning rate and records the losses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import autograd
from ..base.errors import ArgumentError, CynetError
from ..base.guard import guarded
from ..callback.rate_search import RateCurve
from ..optimizer.snapshot import OptimizerSnapshot
from .utils import split_and_load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .block import Block
    from .trainer import Trainer


@guarded
def find_learning_rate(
    net: Block,
    loss: Callable[..., Any],
    trainer: Trainer,
    batches: Iterable[Any],
    begin: float = 1e-6,
    end: float = 10.0,
    steps: int = 100,
) -> RateCurve:
    """Find a learning rate: train with a rising rate until the loss diverges, then restore
    parameters and trainer.

    Smith, https://arxiv.org/abs/1506.01186. In ``Module.fit`` it is ``mx.callback.LRFinder``.

    Parameters
    ----------
    net : Block
        The network; its parameters may be on several contexts.
    loss : callable
        ``loss(net(data), label)`` gives the losses of a batch.
    trainer : Trainer
        Trains the parameters of `net`; it must not have a schedule.
    batches : DataLoader or list
        Pairs (data, label); iterated over again as often as necessary.
    begin, end : float
        The first and the last learning rate.
    steps : int
        Number of batches to train on.

    Returns
    -------
    RateCurve
        Rates, losses, ``suggestion``, ``plot``.

    Raises
    ------
    ArgumentError
        There are no batches, or a value is not one of those allowed.
    CynetError
        The trainer has a schedule.

    Examples
    --------
    >>> net = mx.gluon.nn.Dense(1, in_units=2)
    >>> net.initialize(mx.init.One())
    >>> trainer = mx.gluon.Trainer(net.collect_params(), "sgd")
    >>> batches = [(mx.nd.ones((4, 2)), mx.nd.zeros((4,)))]
    >>> loss = mx.gluon.loss.L2Loss()
    >>> curve = mx.gluon.find_learning_rate(net, loss, trainer, batches, 0.001, 10, steps=30)
    >>> 0.001 < curve.suggestion < 1
    True
    >>> trainer.set_learning_rate(curve.suggestion)
    """
    curve = RateCurve(begin, end, steps)
    if trainer.optimizer.lr_scheduler is not None:
        raise CynetError(
            "find_learning_rate: the trainer has an lr_scheduler, which sets the learning rate"
        )
    trainer._prepare_kvstore()
    if trainer._update_on_kvstore and trainer._is_user_store:
        raise CynetError("find_learning_rate: the KVStore keeps the optimizer's states itself")
    stream = _cycle_batches(batches)
    first = next(stream)
    params = list(net.collect_params().values())
    with autograd.pause():
        for part in _split_batch(first, trainer._contexts)[:1]:
            net(part[0])  # the first call infers shapes
    before = [each.data(each.list_ctx()[0]).copy() for each in params]
    snapshot, batch = OptimizerSnapshot(trainer._updaters), first
    try:
        goes_on = True
        while goes_on:
            parts = _split_batch(batch, trainer._contexts)
            trainer.set_learning_rate(curve.next_rate)
            with autograd.record():
                losses = [loss(net(data), label) for data, label in parts]
            autograd.backward(losses)
            size = sum(each.shape[0] for each, _ in parts)
            goes_on = curve.add(
                sum(float(each.sum().asscalar()) for each in losses)
                / sum(each.size for each in losses)
            )
            if goes_on:
                trainer.step(size)
                batch = next(stream)
    finally:
        for each, value in zip(params, before):
            each.set_data(value)
        snapshot.restore()
    return curve


def _cycle_batches(batches):
    """Yield batches, and restart the iterable when it ends."""
    while True:
        count = 0
        for batch in batches:
            count += 1
            if not isinstance(batch, (list, tuple)) or len(batch) != 2:
                raise ArgumentError("find_learning_rate: batches must be pairs (data, label)")
            yield batch
        if not count:
            raise ArgumentError("find_learning_rate: there are no batches, or no more of them")


def _split_batch(batch, contexts):
    data, label = (split_and_load(each, contexts, even_split=False) for each in batch)
    return list(zip(data, label))
