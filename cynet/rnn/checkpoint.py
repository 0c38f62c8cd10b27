"""Checkpoints of recurrent networks, with separate weights for each gate."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from .. import symbol as sym
from ..base.errors import ArgumentError, ArgumentTypeError, NotFoundError, shown
from ..base.files import file_name
from ..base.guard import guarded
from ..base.kinds import to_index
from ..io.checkpoint import check_prefix, load_checkpoint, save_checkpoint
from .base import BaseRNNCell

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..typing import FileName, NamedArrays, Symbol

__all__ = ["do_rnn_checkpoint", "load_rnn_checkpoint", "rnn_unroll", "save_rnn_checkpoint"]

MAX_STEPS = 1_000_000  # limit of an unrolled graph, since a step has many nodes


def _as_cell_list(cells):
    return [cells] if isinstance(cells, BaseRNNCell) else list(cells)


@guarded
def rnn_unroll(
    cell: BaseRNNCell,
    length: int,
    inputs: Symbol | list[Symbol] | None = None,
    begin_state: list[Symbol] | None = None,
    input_prefix: str = "",
    layout: str = "NTC",
) -> tuple[Any, list[Any]]:
    """Unroll a cell; default inputs are variables ``t0_data``, ``t1_data``, ...

    Parameters
    ----------
    cell : BaseRNNCell
        Applied at each step.
    length : int
        Number of steps.
    inputs : Symbol or list of Symbol, optional
        One symbol of all steps, in `layout`, or a list of one (batch, size) for each step.
    begin_state : list of Symbol, optional
        States to begin with; ``cell.begin_state()`` by default.
    input_prefix : str
        Prefix of the names of variables that are made.
    layout : str
        Order of the axes of `inputs`, ``'NTC'`` or ``'TNC'``.

    Returns
    -------
    outputs : Symbol or list of Symbol
        As `inputs` are; without them a list.
    states : list of Symbol
        Those after the last step.

    Raises
    ------
    ArgumentError
        `length` is not from 0 to 1,000,000, or `inputs` is a list of another length.
    ArgumentTypeError
        `cell` is not a cell.

    Examples
    --------
    >>> cell = mx.rnn.RNNCell(4, prefix="rnn_")
    >>> outputs, states = mx.rnn.rnn_unroll(cell, 3, input_prefix="x_")
    >>> [name for name in outputs[-1].list_arguments() if name.startswith("x_")]
    ['x_t2_data', 'x_t1_data', 'x_t0_data']
    """
    if not isinstance(cell, BaseRNNCell):
        raise ArgumentTypeError(f"rnn_unroll: cell must be a cell of mx.rnn, got {shown(cell)}")
    length = to_index("rnn_unroll: length", length)
    if not 0 <= length <= MAX_STEPS:
        raise ArgumentError(f"rnn_unroll: length must be from 0 to {MAX_STEPS}, got {length}")
    if inputs is None:
        inputs = [sym.Variable(f"{input_prefix}t{i}_data") for i in range(length)]
    return cell.unroll(length, inputs, begin_state, layout)


@guarded
def save_rnn_checkpoint(
    cells: BaseRNNCell | Sequence[BaseRNNCell],
    prefix: FileName,
    epoch: int,
    symbol: Symbol,
    arg_params: NamedArrays,
    aux_params: NamedArrays,
) -> None:
    """Save a checkpoint with unpacked weights, which fused and single cells can load.

    Parameters
    ----------
    cells : BaseRNNCell or list of BaseRNNCell
        The cells that the symbol was made with.
    prefix : str
        Beginning of the files' names.
    symbol : Symbol
        The network.
    arg_params, aux_params : dict of str to NDArray
        Its parameters and auxiliary states.

    Examples
    --------
    The one array of a fused cell is written gate by gate:

    >>> fused = mx.rnn.FusedRNNCell(4, mode="lstm", prefix="lstm_")
    >>> outputs, _ = fused.unroll(2, mx.sym.Variable("data"), merge_outputs=True)
    >>> shapes, _, _ = outputs.infer_shape(data=(1, 2, 3))
    >>> weights = {"lstm_parameters": mx.nd.ones(shapes[1])}
    >>> mx.rnn.save_rnn_checkpoint(fused, "net", 1, outputs, weights, {})
    >>> sorted(mx.nd.load("net-0001.params"))[:2]
    ['arg:lstm_l0_h2h_c_bias', 'arg:lstm_l0_h2h_c_weight']
    """
    for cell in _as_cell_list(cells):
        arg_params = cell.unpack_weights(arg_params)
    save_checkpoint(prefix, epoch, symbol, arg_params, aux_params)


@guarded
def load_rnn_checkpoint(
    cells: BaseRNNCell | Sequence[BaseRNNCell], prefix: FileName, epoch: int
) -> tuple[Symbol, NamedArrays, NamedArrays]:
    """Load a checkpoint of `save_rnn_checkpoint`, and pack its weights for `cells`.

    Parameters
    ----------
    cells : BaseRNNCell or list of BaseRNNCell
        The cells that will use the weights.
    prefix : str
        Beginning of the files' names.

    Returns
    -------
    symbol : Symbol
        The network that was saved.
    arg_params, aux_params : dict of str to NDArray
        Its parameters and auxiliary states.

    Raises
    ------
    MissingFileError
        There is no file of this prefix and epoch.
    NotFoundError
        A KeyError: the file lacks a weight of one of the cells.

    Examples
    --------
    Weights of a fused cell, for single cells:

    >>> fused = mx.rnn.FusedRNNCell(4, mode="lstm", prefix="lstm_")
    >>> outputs, _ = fused.unroll(2, mx.sym.Variable("data"), merge_outputs=True)
    >>> shapes, _, _ = outputs.infer_shape(data=(1, 2, 3))
    >>> weights = {"lstm_parameters": mx.nd.ones(shapes[1])}
    >>> mx.rnn.save_rnn_checkpoint(fused, "net", 1, outputs, weights, {})
    >>> symbol, arg_params, aux_params = mx.rnn.load_rnn_checkpoint(fused.unfuse(), "net", 1)
    >>> [(name, arg_params[name].shape) for name in sorted(arg_params)][2:]
    [('lstm_l0_i2h_bias', (16,)), ('lstm_l0_i2h_weight', (16, 3))]
    """
    symbol, arg_params, aux_params = load_checkpoint(prefix, epoch)
    for cell in _as_cell_list(cells):
        try:
            arg_params = cell.pack_weights(arg_params)
        except KeyError:
            raise NotFoundError(
                f"load_rnn_checkpoint: epoch {epoch} of {shown(prefix)} has not, for each gate of a"
                f" {type(cell).__name__}, a weight, as do_rnn_checkpoint writes it; files of"
                " mx.callback.do_checkpoint are read by mx.model.load_checkpoint"
            ) from None
    return symbol, arg_params, aux_params


@guarded
def do_rnn_checkpoint(
    cells: BaseRNNCell | Sequence[BaseRNNCell], prefix: FileName, period: int = 1
) -> Callable[..., None]:
    """Make an epoch-end callback that calls `save_rnn_checkpoint` every `period` epochs.

    Parameters
    ----------
    cells : BaseRNNCell or list of BaseRNNCell
        The cells that the network was made with.
    prefix : str
        Beginning of the files' names; ``fit`` checks the folder before it begins.
    period : int
        Number of epochs between checkpoints.

    Returns
    -------
    callable
        ``callback(epoch, symbol, arg_params, aux_params)``, for `epoch_end_callback` of ``fit``.

    Examples
    --------
    >>> import os
    >>> cell = mx.rnn.RNNCell(2, prefix="rnn_")
    >>> outputs, _ = cell.unroll(2, mx.sym.Variable("data"), merge_outputs=True)
    >>> weights = {name: mx.nd.ones((2, 2)) for name in ("rnn_i2h_weight", "rnn_h2h_weight")}
    >>> weights |= {name: mx.nd.ones(2) for name in ("rnn_i2h_bias", "rnn_h2h_bias")}
    >>> save = mx.rnn.do_rnn_checkpoint(cell, "net", period=2)
    >>> for epoch in range(4):
    ...     save(epoch, outputs, weights, {})
    >>> sorted(os.listdir("."))
    ['net-0002.params', 'net-0004.params', 'net-symbol.json']
    """
    prefix = file_name(prefix, "do_rnn_checkpoint: the beginning of file names")
    period = max(1, int(period))

    def callback(epoch, symbol=None, arg_params=None, aux_params=None):
        if (epoch + 1) % period == 0:
            save_rnn_checkpoint(cells, prefix, epoch + 1, symbol, arg_params, aux_params)

    callback.check_before_training = functools.partial(check_prefix, prefix)
    return callback
