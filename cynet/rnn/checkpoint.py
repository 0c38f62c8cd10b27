"""Checkpoints of recurrent networks, with the weights of each gate by itself."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from .. import symbol as sym
from ..base.errors import ArgumentError, ArgumentTypeError, shown
from ..base.files import file_name
from ..base.guard import guarded
from ..base.kinds import to_index
from ..io.checkpoint import check_prefix, load_checkpoint, save_checkpoint
from .base import BaseRNNCell

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..typing import FileName, NamedArrays, Symbol

MOST_STEPS = 1_000_000  # for which a graph is made, many nodes a step


def _as_cells(cells):
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
    """``cell.unroll``; without inputs, of variables ``t0_data``, ``t1_data``, ...

    Parameters
    ----------
    cell : BaseRNNCell
        One more.
    length : int
        Number of steps.
    layout : str
        Letters of the axes: ``'NCHW'``.

    Raises
    ------
    ArgumentError
        A value is not one of those allowed; the message names it.
    ArgumentTypeError
        A value has another type; the message names it.
    """
    if not isinstance(cell, BaseRNNCell):
        raise ArgumentTypeError(f"rnn_unroll: cell must be a cell of mx.rnn, got {shown(cell)}")
    length = to_index("rnn_unroll: length", length)
    if not 0 <= length <= MOST_STEPS:
        raise ArgumentError(f"rnn_unroll: length must be from 0 to {MOST_STEPS}, got {length}")
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
    """``mx.model.save_checkpoint`` of unpacked weights, so that fused and single cells can load it.

    Parameters
    ----------
    cells : BaseRNNCell or list of BaseRNNCell
        Those that the symbol was made with.
    prefix, epoch, symbol, arg_params, aux_params
        See ``save_checkpoint``.
    """
    for cell in _as_cells(cells):
        arg_params = cell.unpack_weights(arg_params)
    save_checkpoint(prefix, epoch, symbol, arg_params, aux_params)


@guarded
def load_rnn_checkpoint(
    cells: BaseRNNCell | Sequence[BaseRNNCell], prefix: FileName, epoch: int
) -> tuple[Symbol, NamedArrays, NamedArrays]:
    """What `save_rnn_checkpoint` wrote, with weights packed for `cells`: (symbol, arg_params,
    aux_params).

    Parameters
    ----------
    prefix : str, optional
        Beginning of the names of parameters; by default one with a number.
    epoch : int
        Number of the epoch, in the names of files.
    """
    symbol, arg_params, aux_params = load_checkpoint(prefix, epoch)
    for cell in _as_cells(cells):
        arg_params = cell.pack_weights(arg_params)
    return symbol, arg_params, aux_params


@guarded
def do_rnn_checkpoint(
    cells: BaseRNNCell | Sequence[BaseRNNCell], prefix: FileName, period: int = 1
) -> Callable[..., None]:
    """An epoch-end callback that calls `save_rnn_checkpoint` every `period` epochs.

    Parameters
    ----------
    prefix : str, optional
        Beginning of the names of parameters; by default one with a number.
    """
    prefix = file_name(prefix, "do_rnn_checkpoint: the beginning of file names")
    period = max(1, int(period))

    def callback(epoch, symbol=None, arg_params=None, aux_params=None):
        if (epoch + 1) % period == 0:
            save_rnn_checkpoint(cells, prefix, epoch + 1, symbol, arg_params, aux_params)

    callback.check_before_training = functools.partial(check_prefix, prefix)
    return callback
