"""Networks of a Predictor: a Block and its inputs, made from a Block, a Symbol or a file."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import autograd
from .. import ndarray as nd
from ..base.errors import ArgumentError, ArgumentTypeError, MissingFileError, shown
from ..contrib import amp
from ..gluon import Block, HybridBlock, SymbolBlock
from ..io.checkpoint import load_checkpoint
from ..module.labels import label_inputs
from ..symbol import Symbol, Variable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..typing import Context

DTYPES = ("float32", "bfloat16", "float16")  # dtypes in which a network can compute
_MAX_CACHED_SHAPES = 64  # shapes of inputs for which labels are cached


class Network:  # a Block with names of its inputs
    """A Block with the names of its inputs, and of its labels, which get zeros."""

    def __init__(self, block: Block, names: Sequence[str], labels: Sequence[str] = ()) -> None:
        self.block, self.names, self.labels = block, list(names), list(labels)
        self.symbol: Symbol | None = None
        self.output_names: list[str] = []  # names of the outputs of a Symbol
        self._zeros: dict[Any, list[nd.NDArray]] = {}  # input shapes -> zeros for the labels

    def __call__(self, arrays: Sequence[nd.NDArray]) -> list[nd.NDArray]:
        if self.labels:
            arrays = [*arrays, *self._zeros_for_labels(arrays)]
        found = self.block(*arrays)
        return list(found) if isinstance(found, (list, tuple)) else [found]

    def _zeros_for_labels(self, arrays):
        key = tuple(each.shape for each in arrays)
        if key not in self._zeros:
            if len(self._zeros) >= _MAX_CACHED_SHAPES:  # for inputs of varying lengths
                self._zeros.clear()
            shapes, _, _ = self.symbol.infer_shape(**dict(zip(self.names, key)))
            of = dict(zip(self.symbol.list_arguments(), shapes))
            self._zeros[key] = [nd.zeros(of[name], ctx=arrays[0].context) for name in self.labels]
        return self._zeros[key]


def make_network(
    model: Any,
    params: Any,
    epoch: int | None,
    names: Sequence[str],
    dtype: str,
    ctx: Context,
    row: Callable[[], list[nd.NDArray]],
) -> Network:
    """Create the Network for a Predictor's first argument; parameters as in `Predictor`. `row`
    makes inputs of one row, to call a Block that has no graph yet."""
    if dtype not in DTYPES:
        raise ArgumentError(f"Predictor: dtype must be one of {DTYPES}, got {shown(dtype)}")
    if isinstance(model, Block):
        if params is not None:
            raise ArgumentError("Predictor: a Block has its parameters; params must be None")
        return _network_of_block(model, names, dtype, row)
    if isinstance(model, Symbol):
        return _network_of_symbol(model, *split_params(params), names, dtype, ctx)
    if not isinstance(model, (str, os.PathLike)):
        raise ArgumentTypeError(
            "Predictor takes a Block, a Symbol, the prefix of a checkpoint or an .onnx file, got"
            f" {shown(model)}"
        )
    path = os.fspath(model)
    if path.endswith(".onnx"):
        from ..onnx import import_model

        return _network_of_symbol(*import_model(path), names, dtype, ctx)
    if epoch is None:
        epoch = last_epoch(path)
    return _network_of_symbol(*load_checkpoint(path, epoch), names, dtype, ctx)


def last_epoch(prefix: str) -> int:
    """Return the largest epoch of the checkpoints with this prefix."""
    folder, name = os.path.split(prefix)
    pattern = re.compile(re.escape(name) + r"-(\d{4,})\.params")
    there = Path(folder or ".")
    found = [pattern.fullmatch(each.name) for each in there.iterdir()] if there.is_dir() else []
    epochs = [int(match[1]) for match in found if match]
    if not epochs:
        raise MissingFileError(f"there is no checkpoint {prefix}-NNNN.params")
    return max(epochs)


def split_params(params):
    """Return arguments and auxiliary states of two dicts, or of one with ``arg:``, ``aux:``."""
    if isinstance(params, (str, os.PathLike)):
        params = nd.load(os.fspath(params))
    if isinstance(params, (tuple, list)) and len(params) == 2:
        return dict(params[0]), dict(params[1])
    if not isinstance(params, dict):
        raise ArgumentTypeError(
            "Predictor: the params of a Symbol are a dict, a pair of dicts or a file, got"
            f" {shown(params)}"
        )
    auxs = {k[4:]: v for k, v in params.items() if k.startswith("aux:")}
    return {k.removeprefix("arg:"): v for k, v in params.items() if k[:4] != "aux:"}, auxs


def _network_of_symbol(symbol, args, auxs, names, dtype, ctx):
    states = symbol.list_auxiliary_states()
    args, auxs = dict(args), dict(auxs)
    auxs.update({name: args.pop(name) for name in states if name in args})
    free = [name for name in symbol.list_arguments() if name not in args]
    labels = [name for name in free if name in label_inputs(symbol) and name not in names]
    inputs = [name for name in free if name not in labels]
    if set(names) != set(inputs):
        raise ArgumentError(
            f"Predictor: the network's inputs are {inputs}, shapes has {list(names)}; what is"
            " neither an input nor a parameter is missing from the parameters"
        )
    output_names = symbol.list_outputs()
    if dtype != "float32":
        symbol, args, auxs = amp.convert_model(symbol, args, auxs, target_dtype=dtype)
    block = SymbolBlock(symbol, [Variable(name) for name in (*names, *labels)])
    block.collect_params().load_dict({**args, **auxs}, ctx=ctx, ignore_extra=True)
    block.hybridize()
    found = Network(block, names, labels)
    found.symbol, found.output_names = symbol, output_names
    return found


def _network_of_block(block, names, dtype, row):
    if dtype != "float32":
        if not isinstance(block, HybridBlock):
            raise ArgumentError(f"Predictor: {dtype} needs a HybridBlock, got {shown(block)}")
        if block._last_graph() is None:
            block.hybridize()
            with autograd.pause(train_mode=False):
                block(*row())
        block = amp.convert_hybrid_block(block, target_dtype=dtype)
    block.hybridize()
    return Network(block, names)
