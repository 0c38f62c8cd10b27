"""MXNet's module of recurrent cells: ``from mxnet.gluon.rnn.rnn_cell import LSTMCell``.

Also the helpers that cells of users' own import from there.
"""

from .cell import HybridRecurrentCell, RecurrentCell, merge_steps, split_steps
from .cells import GRUCell, LSTMCell, RNNCell
from .modifiers import DropoutCell, ModifierCell, ResidualCell, ZoneoutCell
from .stacks import BidirectionalCell, HybridSequentialRNNCell, SequentialRNNCell

__all__ = [
    "BidirectionalCell",
    "DropoutCell",
    "GRUCell",
    "HybridRecurrentCell",
    "HybridSequentialRNNCell",
    "LSTMCell",
    "ModifierCell",
    "RNNCell",
    "RecurrentCell",
    "ResidualCell",
    "SequentialRNNCell",
    "ZoneoutCell",
]


def _format_sequence(length, inputs, layout, merge, in_layout=None):
    """Convert inputs of `unroll` to one array or to a list of steps.

    length: int or None
    inputs: array, or list of one (batch, size) for each step
    layout (str): ``'NTC'`` or ``'TNC'``, of the array that is returned.
    merge (bool or None): True: one array; False: a list; None: as they are.
    in_layout (str, optional): Of `inputs`; `layout` by default.

    Returns (inputs, axis of time, mx.nd or mx.sym, batch size): the batch size of symbols is 0.
    """
    given = in_layout or layout
    F, steps, batch_size = split_steps(length, inputs, given)
    axis = layout.find("T")
    if isinstance(inputs, (list, tuple)):
        return (merge_steps(F, steps, layout) if merge else inputs), axis, F, batch_size
    if merge is False:
        return steps, axis, F, batch_size
    if given.find("T") != axis:
        inputs = F.swapaxes(inputs, dim1=axis, dim2=given.find("T"))
    return inputs, axis, F, batch_size


def _get_begin_state(cell, F, begin_state, inputs, batch_size):
    """Return `begin_state`, or a cell's zero states for inputs: one array or a list of steps."""
    return cell._initial_states(F, begin_state, inputs, batch_size)
