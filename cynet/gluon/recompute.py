"""checkpoint: a Block whose values are computed again in backward instead of being kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import autograd
from .. import ndarray as nd
from .. import random as mx_random
from ..base.errors import ArgumentTypeError, shown
from ..base.guard import guarded
from ..ndarray import NDArray
from ..ndarray._tape import entry_of

if TYPE_CHECKING:
    from .block import Block


@guarded
def checkpoint(block: Block, *inputs: NDArray) -> Any:
    """``block(*inputs)``, of which backward keeps the inputs alone and computes the rest again.

    Memory for time: what the Block computes between its inputs and outputs is not kept from
    forward to backward. Random numbers are those of the first time.

    Parameters
    ----------
    block : Block
        Initialized; its outputs are an NDArray or a list of them.
    *inputs : NDArray

    Examples
    --------
    >>> import cynet as mx
    >>> net = mx.gluon.nn.Dense(2, in_units=3)
    >>> net.initialize(mx.init.One())
    >>> x = mx.nd.ones((1, 3))
    >>> with mx.autograd.record():
    ...     y = mx.gluon.checkpoint(net, x)
    >>> y.backward()
    >>> net.weight.grad().asnumpy().tolist()
    [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
    """
    for each in inputs:
        if not isinstance(each, NDArray):
            raise ArgumentTypeError(f"checkpoint takes NDArrays, got {shown(each)}")
    if not autograd.is_recording():
        return block(*inputs)
    context = inputs[0].context
    params = block.collect_params().values()
    if any(each._data is None and each._deferred_init for each in params):
        with autograd.pause():
            block(*inputs)  # which tells shapes
    weights = [each.data(context) for each in params if each.grad_req != "null"]
    return _Recomputed(block, len(inputs))(*inputs, *weights)


class _Recomputed(autograd.Function):
    """A Block as one step; weights are inputs of it, so that their gradients are added up."""

    def __init__(self, block, count):
        self._block, self._count = block, count
        self._random, self._trains = mx_random.get_state(), autograd.is_training()

    def forward(self, *arrays):
        self.save_for_backward(*arrays)
        return self._block(*arrays[: self._count])

    def backward(self, *output_grads):
        inputs = [each.detach() for each in self.saved_tensors[: self._count]]
        weights = self.saved_tensors[self._count :]
        for each in inputs:
            each.attach_grad()
        now = mx_random.get_state()
        mx_random.set_state(self._random)
        try:
            with autograd.record(self._trains):
                outputs = self._block(*inputs)
        finally:
            mx_random.set_state(now)
        outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        variables = [*inputs, *weights]
        reached = _leaves(outputs)
        wanted = [each for each in variables if entry_of(each)[0] in reached]
        grads = iter(autograd.grad(outputs, wanted, list(output_grads)) if wanted else ())
        return [
            next(grads) if entry_of(each)[0] in reached else nd.zeros_like(each)
            for each in variables
        ]


def _leaves(outputs):
    """All nodes that outputs were computed from."""
    stack, seen = [entry_of(each)[0] for each in outputs if entry_of(each)], set()
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            stack.extend(source for source, _ in filter(None, node.sources))
    return seen
