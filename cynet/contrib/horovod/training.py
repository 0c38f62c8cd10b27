"""Optimizer and Trainer over all processes, under the names of ``horovod.mxnet``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ... import kvstore as kvs
from ...base.errors import ArgumentError, ArgumentTypeError, shown
from ...base.guard import guarded
from ...gluon.trainer import Trainer
from ...optimizer import Optimizer, register
from ...optimizer.settings import check_real
from .arrays import Compression, checked_compression, sum_up
from .sets import ProcessSet, group_of, world_of

if TYPE_CHECKING:
    from collections.abc import Mapping

_subclasses = {}  # optimizer class -> its subclass that averages gradients first


class _GradientAverager:
    """Mixin for an optimizer class: averages gradients over the processes before the update."""

    _predivide = 1.0  # divisor of gradients before they are summed
    _set = None  # set of processes

    def update_all(self, indices, weights, grads, states):
        """Sum the gradients over the processes, then update the weights."""
        if grads:
            names = [f"gradient {i}" for i in indices]
            factor = self._predivide
            arrays = list(grads)
            if factor != 1:
                for each in arrays:
                    each /= factor
            sum_up(names, arrays, process_set=self._set, optimizer=self)
        super().update_all(indices, weights, grads, states)

    def joined_update(self, indices, weights, grads, states):
        """Return None: gradients are summed between backward and update."""
        return None


@guarded
def DistributedOptimizer(
    optimizer: Optimizer,
    gradient_predivide_factor: float = 1.0,
    num_groups: int = 0,
    process_set: ProcessSet | None = None,
) -> Optimizer:
    """Wrap an optimizer so that it averages the gradients over all processes first.

    It is for ``Module.fit`` with ``kvstore=None``.

    Parameters
    ----------
    optimizer : Optimizer
        The optimizer to copy; ``rescale_grad`` of the copy is divided by the number of processes.

    Returns
    -------
    Optimizer
        A copy, of a subclass of the optimizer's class.

    Raises
    ------
    ArgumentTypeError
        `optimizer` is not an Optimizer.
    ArgumentError
        `gradient_predivide_factor` is not above 0.

    Examples
    --------
    >>> import cynet.contrib.horovod as hvd
    >>> hvd.DistributedOptimizer(mx.optimizer.SGD(learning_rate=0.1)).rescale_grad
    1.0
    """
    _check_predivide_factor("DistributedOptimizer", gradient_predivide_factor)
    if not isinstance(optimizer, Optimizer):
        raise ArgumentTypeError(f"DistributedOptimizer takes an Optimizer, got {shown(optimizer)}")
    kind = type(optimizer)
    if kind not in _subclasses:
        body = {"__module__": __name__, "__doc__": kind.__doc__}
        _subclasses[kind] = type(f"Distributed{kind.__name__}", (_GradientAverager, kind), body)
        register(_subclasses[kind])  # files of optimizer states name the class
    out = object.__new__(_subclasses[kind])  # a copy: settings are checked already
    vars(out).update(vars(optimizer))
    size = world_of(process_set).size
    out.rescale_grad = optimizer.rescale_grad / size * gradient_predivide_factor
    out._predivide, out._set = gradient_predivide_factor, process_set
    return out


def _check_predivide_factor(where, factor):
    check_real(f"{where}: gradient_predivide_factor", factor)
    if not 0 < factor < math.inf:
        raise ArgumentError(f"{where}: gradient_predivide_factor is above 0, got {shown(factor)}")


class DistributedTrainer(Trainer):
    """A Trainer that averages gradients over all processes; all begin with the parameters of rank
    0, or of the first of `process_set`.

    Parameters
    ----------
    params, optimizer, optimizer_params
        See ``gluon.Trainer``.
    compression : str, optional
        ``Compression.none`` or ``Compression.fp16``: how gradients travel.
    **options
        Further arguments of ``gluon.Trainer``: ``compression_params``, ...

    Raises
    ------
    ArgumentError
        `compression` is another one, or `gradient_predivide_factor` is not above 0.

    Examples
    --------
    >>> import cynet.contrib.horovod as hvd
    >>> net = mx.gluon.nn.Dense(1, in_units=2)
    >>> net.initialize()
    >>> trainer = hvd.DistributedTrainer(net.collect_params(), "sgd")
    """

    _has_warned = True  # step() takes the batch size of one rank, as in Horovod

    def __init__(
        self,
        params: Any,
        optimizer: Any,
        optimizer_params: Mapping[str, Any] | None = None,
        compression: Any = None,
        gradient_predivide_factor: float = 1.0,
        prefix: str | None = None,
        num_groups: int = 0,
        process_set: ProcessSet | None = None,
        **options: Any,
    ) -> None:
        where = "DistributedTrainer"
        _check_predivide_factor(where, gradient_predivide_factor)
        self._travels_as = checked_compression(where, compression)
        self._predivide = gradient_predivide_factor
        joined = kvs.create("dist_sync", group_of(process_set))
        options.setdefault("update_on_kvstore", False)
        super().__init__(params, optimizer, optimizer_params, kvstore=joined, **options)
        self._scale *= gradient_predivide_factor / joined.num_workers

    def _push_pull_gradients(self, names, grads):
        """Sum gradients over contexts and processes, in float16 if `compression` says so."""
        for each in grads:
            for grad in each if self._predivide != 1 else ():
                grad /= self._predivide
        if self._travels_as == Compression.none:
            super()._push_pull_gradients(names, grads)
            return
        halves = [[grad.astype("float16") for grad in each] for each in grads]
        super()._push_pull_gradients(names, halves)
        for each, half in zip(grads, halves):
            for grad, narrow in zip(each, half):
                grad[:] = narrow.astype(grad.dtype)
