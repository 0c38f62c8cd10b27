"""Backward hooks of Blocks: two tape nodes around a call pass gradients to the hooks."""

from ...autograd.hooks import checked_hook_result
from ...base.errors import ArgumentError, GradientError, shown
from ...ndarray import NDArray
from ...ndarray._tape import StepNode, get_state, wants_gradient
from ...symbol import Symbol
from ..tracing import is_tracing
from .structure import flatten, regroup

_RECORDING_BIT = 1  # bit of autograd's state that means "recording"


class HookedCall:  # one call of a Block with backward hooks
    """One recorded call of a Block with backward hooks.

    block: Block
    args (tuple): Its arguments by position.

    Attributes:
    args (list): The same, with arrays that tell of their gradients.
    """

    def __init__(self, block, args):
        self.block, self.grads_of_outputs = block, None
        arrays, form = flatten(list(args))
        self._count = len(arrays)
        self._gradient_positions = [i for i, each in enumerate(arrays) if wants_gradient([each])]
        if self._gradient_positions:
            inputs = [arrays[i] for i in self._gradient_positions]
            outputs = [each.detach() for each in inputs]
            _InputNode(self, inputs, outputs)
            for i, each in zip(self._gradient_positions, outputs):
                arrays[i] = each
        self.args, _ = regroup(arrays, form)

    def wrap_outputs(self, out):
        """Return the Block's outputs as arrays whose gradients are passed to the hooks."""
        arrays, form = flatten([out])
        chosen = [i for i, each in enumerate(arrays) if wants_gradient([each])]
        if not chosen:
            return out
        inputs = [arrays[i] for i in chosen]
        made = [each.detach() for each in inputs]
        _OutputNode(self, inputs, made, chosen, len(arrays))
        for i, each in zip(chosen, made):
            arrays[i] = each
        return regroup(arrays, form)[0][0]

    def store_output_grads(self, grads):
        """Store the gradients of the outputs for the hooks."""
        self.grads_of_outputs = grads
        if not self._gradient_positions:  # no input gradient will call the hooks
            self.call_hooks([])

    def call_hooks(self, grads):
        """Call the hooks; return the gradients of the inputs, possibly replaced by a hook."""
        if self.grads_of_outputs is None:  # no hooks for second-order gradients
            return grads
        found = [None] * self._count
        for i, grad in zip(self._gradient_positions, grads):
            found[i] = grad
        found = tuple(found)
        for hook in list(self.block._backward_hooks.values()):
            given = hook(self.block, found, self.grads_of_outputs)
            if given is not None:
                found = self._check_hook_gradients(found, given)
        self.grads_of_outputs = None
        return [found[i] for i in self._gradient_positions]

    def _check_hook_gradients(self, found, given):
        hook = f"a backward hook of {self.block.name}"
        given = [given] if isinstance(given, NDArray) else given
        if not isinstance(given, (list, tuple)) or len(given) != len(found):
            raise GradientError(
                f"{hook} returned {shown(given)}, expected None or a gradient for each of"
                f" {len(found)} input{'s' * (len(found) != 1)}"
            )
        pairs = enumerate(zip(found, given))
        return tuple(
            None if old is None else checked_hook_result(old, new, f"{hook}, for input {i}")
            for i, (old, new) in pairs
        )


class _InputNode(StepNode):  # on the tape, before a hooked Block
    """Tape node of a Block's input arrays."""

    def __init__(self, call, inputs, outputs):
        self._call = call
        self.attach(inputs, outputs)

    @property
    def name(self):
        return f"the inputs of {self._call.block.name}, which has backward hooks"

    def backward(self, grads, recorded):
        return self._call.call_hooks(grads)


class _OutputNode(StepNode):  # on the tape, behind a hooked Block
    """Tape node of a Block's output arrays."""

    def __init__(self, call, inputs, outputs, positions, count):
        self._call, self._gradient_positions, self._count = call, positions, count
        self.attach(inputs, outputs)

    @property
    def name(self):
        return f"the outputs of {self._call.block.name}, which has backward hooks"

    def backward(self, grads, recorded):
        found = [None] * self._count
        for i, grad in zip(self._gradient_positions, grads):
            found[i] = grad
        self._call.store_output_grads(tuple(found))
        return grads


def hooked_call_or_none(block, args, kwargs):
    """Return the HookedCall of a Block with backward hooks; None outside of recording."""
    if is_tracing():
        return None
    if any(isinstance(each, Symbol) for each in (*args, *kwargs.values())):
        raise ArgumentError(
            f"{block.name} has backward hooks, which a Symbol, as for a Module, cannot hold; call"
            " it with NDArrays, or detach() the hooks"
        )
    return HookedCall(block, args) if get_state() & _RECORDING_BIT else None
