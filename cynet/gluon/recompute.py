"""Blocks that save only their inputs for backward, and recompute the other values."""

from __future__ import annotations

import contextlib

from .. import autograd
from .. import random as mx_random
from ..attribute import AttrScope
from ..base.dtype import is_floating
from ..base.errors import ArgumentError, ArgumentTypeError, GradientError, shown
from ..base.guard import guarded
from ..base.tracing import has_trace
from ..ndarray._tape import Leaf, StepNode, computed_by, wants_gradient
from .block import Block
from .block.structure import flatten, regroup
from .tracing import count_block_change, is_tracing


@guarded
def checkpoint(block: Block) -> Block:
    """Make a Block recompute its intermediate values in backward instead of storing them.

    Between forward and backward it holds its inputs and outputs only. Gradients are the same:
    random numbers are drawn again, and running means and variances move once. In a hybridized
    network the graph's operators are repeated, but those that draw numbers.

    Parameters
    ----------
    block : Block
        Structure, names and files stay as they are. Arrays with gradients that it reads must be its
        arguments or parameters.

    Returns
    -------
    Block
        The same one.

    Raises
    ------
    ArgumentTypeError
        `block` is not a Block.

    Examples
    --------
    >>> net = mx.gluon.nn.HybridSequential()
    >>> for _ in range(3):
    ...     net.add(mx.gluon.checkpoint(mx.gluon.nn.Dense(4, activation="relu")))
    >>> net.initialize()
    >>> with mx.autograd.record():
    ...     loss = net(mx.nd.ones((2, 4))).sum()
    >>> loss.backward()
    """
    if not isinstance(block, Block):
        raise ArgumentTypeError(f"checkpoint takes a Block, got {shown(block)}")
    if not isinstance(vars(block).get("forward"), _CheckpointedForward):
        vars(block).update(forward=_CheckpointedForward(block), _recomputes=True)
        count_block_change()
    return block


class _CheckpointedForward:  # Block's forward without stored activations
    """Replaces a Block's `forward`."""

    def __init__(self, block):
        self.block = block

    def run_forward(self, *args, **kwargs):
        return type(self.block).forward(self.block, *args, **kwargs)

    def __call__(self, *args, **kwargs):
        if has_trace():
            with AttrScope(force_mirroring="True"):
                return self.run_forward(*args, **kwargs)
        if is_tracing() or not autograd.is_recording():
            return self.run_forward(*args, **kwargs)
        try:
            arrays, form = flatten([list(args), kwargs])
        except ArgumentError as error:
            raise ArgumentError(
                f"checkpoint of {self.block.name}: arguments must be arrays, numbers, str, and"
                " lists, tuples and dicts of them"
            ) from error
        before = mx_random.get_state()
        with autograd.pause(train_mode=autograd.is_training()):
            out = self.run_forward(*args, **kwargs)
        params = self.block.collect_params().values()
        context = arrays[0].context
        trained = [each for each in params if each.grad_req != "null"]
        weights = [each.data(context) for each in trained]
        states = [each.data(context) for each in params if not each._differentiable]
        if not wants_gradient(arrays + weights):
            return out
        outputs, out_form = flatten(out, "output")
        given = {id(each) for each in arrays}
        for i, each in enumerate(outputs):
            # an output that is an input is returned as a new array on the same memory
            if id(each) in given:
                outputs[i] = each.detach()
            given.add(id(outputs[i]))
        _RecomputingNode(self, arrays, form, trained, weights, states, outputs, before)
        return regroup(outputs, out_form)[0]


class _RecomputingNode(StepNode):  # backward runs forward again
    """Tape node of a call whose backward runs forward again."""

    def __init__(self, recomputed, arrays, form, params, weights, states, outputs, before):
        self.recomputed, self.form, self.states, self.random = recomputed, form, states, before
        self.training = autograd.is_training()
        self.arrays_in = [each.detach() for each in arrays]
        self.params, self.weights = params, weights
        self.older = {}  # index of a weight -> its array before set_data
        self.attach(arrays + weights, outputs, arrays + weights)

    @property
    def name(self):
        return f"checkpoint of {self.recomputed.block.name}"

    def array_name(self, i):
        return "an input or parameter"

    def on_array_replaced(self, i, array):
        if i < len(self.arrays_in):
            self.arrays_in[i] = array
        else:
            self.older[i - len(self.arrays_in)] = array

    def release_references(self):
        self.arrays_in = self.params = self.weights = self.older = self.states = None

    def backward(self, grads, recorded):
        if recorded:
            raise GradientError(
                f"{self.name}, recorded at {self.location()}: create_graph=True does not go through"
                " what is computed again"
            )
        inputs = [each.detach() for each in self.arrays_in]
        older = {i: each.detach() for i, each in self.older.items()}
        for each in [*inputs, *older.values()]:
            if is_floating(each.dtype):
                each.attach_grad()
        weights = [older.get(i, each) for i, each in enumerate(self.weights)]
        with self._with_forward_weights(weights):
            outputs, _ = flatten(self._rerun_forward(inputs), "output")
        heads = [i for i, each in enumerate(outputs) if grads[i] is not None and computed_by(each)]
        wanted = [*inputs, *weights]
        reached = self._leaf_variables([computed_by(outputs[i])[0] for i in heads], wanted)
        entries = [computed_by(each) for each in wanted]
        positions = [i for i, entry in enumerate(entries) if entry and entry[0] in reached]
        found = [None] * len(wanted)
        if positions:
            parts = autograd.grad(
                [outputs[i] for i in heads],
                [wanted[i] for i in positions],
                [grads[i] for i in heads],
                train_mode=self.training,
            )
            for i, part in zip(positions, parts):
                found[i] = part
        return found

    @contextlib.contextmanager
    def _with_forward_weights(self, weights):
        """Restore the parameters' arrays of the forward pass for a ``with`` block."""
        changes = [
            (param, now, then)
            for param, now, then in zip(self.params, self.weights, weights)
            if now is not then
        ]
        for param, now, then in changes:
            param._data = [then if each is now else each for each in param._data]
        try:
            yield
        finally:
            for param, now, then in changes:
                param._data = [now if each is then else each for each in param._data]

    def _rerun_forward(self, inputs):
        """Run forward again: with the same random numbers, and without changing the states."""
        now, copies = mx_random.get_state(), [each.copy() for each in self.states]
        args, kwargs = regroup(inputs, self.form)[0]
        mx_random.set_state(self.random)
        try:
            with autograd.record(train_mode=self.training):
                return self.recomputed.run_forward(*args, **kwargs)
        finally:
            mx_random.set_state(now)
            with autograd.pause():
                for state, value in zip(self.states, copies):
                    state[:] = value

    def _leaf_variables(self, nodes, wanted):
        """Return the variables that `nodes` depend on; an error unless all are in `wanted`."""
        own = {entry[0] for entry in map(computed_by, wanted) if entry}
        seen, stack = set(), list(nodes)
        while stack:
            node = stack.pop()
            if node in seen:
                continue
            seen.add(node)
            if node.sources is None or (
                isinstance(node, Leaf) and node not in own and node.grad_req != "null"
            ):
                raise GradientError(
                    f"{self.name}, recorded at {self.location()}: it reads an array with a gradient"
                    " that is neither an argument nor a parameter of the Block; make it an argument"
                )
            stack.extend(source for source, _ in filter(None, node.sources))
        return seen & own
