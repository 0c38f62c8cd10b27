"""quantize_net: int8 Gluon networks; layers that lose too much accuracy stay float32."""

from __future__ import annotations

import inspect
import itertools
import logging
import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import gluon, initializer
from ... import ndarray as nd
from ... import symbol as sym_module
from ...base.errors import ArgumentError, ArgumentTypeError, counted, shown
from ...gluon.block.structure import flatten
from ...symbol import Symbol
from ...symbol.node import topological_order
from .calibration import CalibrationCollector
from .graph import apply_calibration
from .layers import is_layer
from .model import (
    DEFAULT_CONTEXT,
    batches_of,
    check_limits,
    check_options,
    collect_statistics,
    quantize_graph,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...typing import Context

__all__ = ["quantize_net", "quantize_net_v2"]


def default_input_names(n):
    """Return default names for `n` inputs: ``data``, or ``data0``, ``data1``, ..."""
    return ["data"] if n == 1 else [f"data{i}" for i in range(n)]


def trace_network(network, n):
    """Return the symbol of a network, and its parameters by name. A Block whose `forward` takes
    arrays only gives the symbol of its last hybridized call."""
    params = {name: each.data() for name, each in network.collect_params().items()}
    try:
        outputs = network(*(sym_module.var(name) for name in default_input_names(n)))
    except ArgumentTypeError as error:
        graph = network._last_graph()
        if graph is None or graph.inputs != default_input_names(n):
            raise ArgumentTypeError(
                f"{network.name} cannot be quantized, for it has no graph: {error}; where its"
                f" forward is written in mx.nd, hybridize it and call it once with"
                f" {counted(n, 'array')}"
            ) from error
        return graph.symbol, {**params, **graph.constants}
    heads, _ = flatten(outputs, "output")
    return heads[0] if len(heads) == 1 else sym_module.Group(heads), params


def _first_batch(calib_data):
    for batch in batches_of(calib_data, itertools.count(), None):
        return list(batch.values())
    raise ArgumentError("calib_data has no batch")


class _QuantizedNet:  # a traced network with the settings for its quantization
    """A traced network with the settings for its quantization."""

    def __init__(self, symbol, params, names, mode, dtype, granularity, ctx, logger):
        self.symbol, self.params, self.names, self.ctx = symbol, params, names, ctx
        self.mode, self.dtype, self.granularity, self.logger = mode, dtype, granularity, logger
        self.limits, self.limits_of = {}, None
        states = set(symbol.list_auxiliary_states())
        self.args = {name: v for name, v in params.items() if name not in states}
        self.aux = {name: v for name, v in params.items() if name in states}

    def calibrate(self, batches, excluded, operators, collector):
        """Find the limits of inputs and outputs of all layers that are not excluded."""
        *_, collector = self._quantized_symbol(excluded, operators, collector)
        if collector is None:
            return
        collector.logger = self.logger
        collect_statistics(self.symbol, self.params, batches, collector, self.ctx)
        self.limits = collector.post_collect()
        check_limits(self.limits)

    def quantize(self, excluded, operators, logger=None):
        """Return the quantized (symbol, parameters, states); excluded nodes stay float32."""
        made, args, aux, _ = self._quantized_symbol(excluded, operators, self.limits_of, logger)
        if self.limits:
            made = Symbol(apply_calibration(made.entries, self.limits, self.dtype))
        return made, args, aux

    def _quantized_symbol(self, excluded, operators, collector, logger=None):
        return quantize_graph(
            self.symbol,
            self.args,
            self.aux,
            self.ctx,
            sorted(excluded),
            operators,
            self.mode,
            self.dtype,
            "full",
            self.granularity,
            collector,
            logger,
        )

    def compute_outputs(self, made, args, aux, batches):
        """Compute the outputs of a symbol on batches, as one float64 NumPy vector."""
        found = []
        for batch in batches:
            known = {name: batch[name] for name in self.names}
            executor = made.bind(self.ctx, args | known, grad_req="null", aux_states=aux)
            found += [v.asnumpy().astype(np.float64).ravel() for v in executor.forward()]
        return np.concatenate(found)


def _relative_error(actual, expected):
    """Return the root mean square of the error, relative to that of the reference."""
    size = math.sqrt(np.square(expected).mean()) or 1.0
    return math.sqrt(np.square(actual - expected).mean()) / size


def _choose_float_layers(net, batches, excluded, operators, tolerance, logger):
    """Choose the layers that stay float32 so that outputs lose at most `tolerance`."""
    wanted = net.compute_outputs(net.symbol, net.args, net.aux, batches)
    all_of = [
        node.name
        for node in topological_order(net.symbol.entries)
        if node.op is not None
        and is_layer(node)
        and node.name not in excluded
        and node.op.name not in (operators or ())
    ]

    def error_with_float(float_layers):
        return _relative_error(
            net.compute_outputs(*net.quantize(excluded | float_layers, operators), batches), wanted
        )

    float_layers: set[str] = set()
    found = error_with_float(float_layers)
    if found <= tolerance:
        return float_layers, found
    alone = {name: error_with_float({*all_of} - {name}) for name in all_of}
    worst = sorted(all_of, key=lambda name: -alone[name])
    for name in worst:
        if logger is not None:
            logger.info("layer %s alone loses %.3g", name, alone[name])
    low, high = 0, len(worst)  # bounds of the number of float layers
    while high - low > 1:
        middle = (low + high) // 2
        if error_with_float(set(worst[:middle])) <= tolerance:
            high = middle
        else:
            low = middle
    float_layers = set(worst[:high])
    return float_layers, error_with_float(float_layers)


def quantize_net_v2(
    network: gluon.HybridBlock,
    quantized_dtype: str = "auto",
    quantize_mode: str = "full",
    quantize_granularity: str = "tensor-wise",
    exclude_layers: Sequence[str] | None = None,
    exclude_layers_match: Sequence[str] | None = None,
    exclude_operators: Sequence[str] | None = None,
    calib_data: Iterable[Any] | None = None,
    data_shapes: Sequence[Any] | None = None,
    calib_mode: str = "none",
    num_calib_examples: int | None = None,
    ctx: Context = DEFAULT_CONTEXT,
    LayerOutputCollector: CalibrationCollector | None = None,
    logger: logging.Logger | None = None,
    tolerance: float | None = None,
) -> gluon.SymbolBlock:
    """Quantize a trained Gluon network to int8, for prediction on CPUs.

    Parameters
    ----------
    network : HybridBlock
        A network with initialized parameters; it is not changed.
    quantized_dtype, quantize_mode, quantize_granularity, calib_mode
        See `quantize_model`; ``'custom'`` calibrates by `LayerOutputCollector`.
    exclude_layers : list of str, optional
        Names of nodes that stay float32, such as ``'conv0_fwd'``.
    exclude_layers_match : list of str, optional
        Regular expressions: nodes in whose names one is found stay float32.
    exclude_operators : list of str, optional
        Operators that stay float32.
    calib_data : DataLoader, DataIter or iterable, optional
        Batches like those of prediction.
    data_shapes : list of tuple or DataDesc, optional
        Shapes of the inputs, which tell how many there are; by default as many as `network` takes,
        and what `calib_data` has after them are labels.
    num_calib_examples : int, optional
        Number of examples of `calib_data` to use; all by default.
    ctx : Context
        Device of the result; only a CPU.
    LayerOutputCollector : CalibrationCollector, optional
        Finds the limits if `calib_mode` is ``'custom'``.
    logger : logging.Logger, optional
        Receives messages.
    tolerance : float, optional
        Largest error of the outputs: the root mean square of the error on the first batch of
        `calib_data`, relative to that of the outputs. Every layer is measured alone, and those that
        lose most stay float32, as few as necessary.

    Raises
    ------
    ArgumentError
        An unknown option or node; calibration or tolerance without data.

    Examples
    --------
    >>> net = mx.gluon.nn.Dense(2, in_units=3)
    >>> net.initialize(mx.init.One())
    >>> data = mx.nd.array([[1, 2, 3]])
    >>> small = mx.contrib.quantization.quantize_net_v2(net, calib_mode="naive", calib_data=[data])
    >>> small(data).round()
    [[6. 6.]]
    <NDArray 1x2 @cpu(0)>
    """
    if not isinstance(network, gluon.HybridBlock):
        raise ArgumentTypeError(f"quantize_net takes a HybridBlock, got {shown(network)}")
    check_options(quantized_dtype, calib_mode, quantize_mode, quantize_granularity)
    if calib_data is None and (calib_mode != "none" or tolerance is not None):
        raise ArgumentError(f"calib_mode {shown(calib_mode)} or tolerance needs calib_data")
    if isinstance(calib_data, nd.NDArray):
        raise ArgumentTypeError("calib_data is an NDArray, expected batches: [array], a DataLoader")
    if ctx.device_type != "cpu":
        raise ArgumentError(f"quantize_net: int8 layers run on a CPU, got {ctx}")
    if calib_data is not None and not _can_be_read_twice(calib_data):
        calib_data = list(calib_data)
    n = len(data_shapes) if data_shapes is not None else count_inputs(network, calib_data)
    names = default_input_names(n)
    symbol, params = trace_network(network, n)
    excluded = excluded_nodes(symbol, exclude_layers, exclude_layers_match)
    how = calib_mode, quantized_dtype, quantize_granularity
    net = _QuantizedNet(symbol, params, names, *how, ctx, logger)
    net.limits_of = LayerOutputCollector
    operators = list(exclude_operators or ())
    if calib_mode != "none":
        batches = batches_of(calib_data, names, num_calib_examples)
        net.calibrate(batches, excluded, operators, LayerOutputCollector)
    if tolerance is not None:
        first = [dict(zip(names, _first_batch(calib_data)))]
        in_float, found = _choose_float_layers(net, first, excluded, operators, tolerance, logger)
        excluded |= in_float
        if logger is not None:
            logger.info(
                "float32: %s; outputs lose %.3g", ", ".join(sorted(in_float)) or "none", found
            )
    made, args, aux = net.quantize(excluded, operators, logger)
    return make_symbol_block(made, {**args, **aux}, names, ctx)


def excluded_nodes(symbol, names, patterns):
    """Return the names of excluded nodes, given by name or by regular expression."""
    nodes = [node.name for node in topological_order(symbol.entries) if node.op is not None]
    excluded = set(names or ())
    for pattern in patterns or ():
        excluded |= {name for name in nodes if re.search(pattern, name)}
    return excluded


def make_symbol_block(made, values, names, ctx):
    """Make a Block that computes a quantized symbol with the given parameters."""
    block = gluon.SymbolBlock(made, [sym_module.var(name) for name in names])
    for name, each in block.collect_params().items():
        value = values[name]
        each.grad_req = "null"
        each.cast(value.dtype)
        each.shape = value.shape
        each.initialize(init=initializer.Zero(), ctx=ctx)
        each.set_data(value)
    return block


def count_inputs(network, calib_data):
    """Return a network's input count: that of its last traced call, else of its `forward`.

    In lists of the user's own and the data of a DataIter all arrays are inputs, as many as it
    takes; data sets have labels behind those that it needs.
    """
    least, maximum = _input_count_range(network)
    if calib_data is None:
        return max(least, 1)
    there = len(_first_batch(calib_data))
    if there < least:
        raise ArgumentError(
            f"quantize_net: {network.name} takes {counted(least, 'input')}, and a batch of "
            f"calib_data has {counted(there, 'array')}"
        )
    all_are_inputs = isinstance(calib_data, (list, tuple)) or hasattr(calib_data, "reset")
    return min(there, maximum) if all_are_inputs else max(least, 1)


def _can_be_read_twice(calib_data):
    return hasattr(calib_data, "__len__") or hasattr(calib_data, "reset")


def _input_count_range(network):
    """Return the smallest and the largest number of arrays that a network takes."""
    if network._in_format is not None:
        count = _count_input_arrays(network._in_format)
        return count, count
    plain = getattr(network.hybrid_forward, "is_undefined", False)
    parameters = inspect.signature(network.forward if plain else network.hybrid_forward).parameters
    taken = [
        each
        for name, each in list(parameters.items())[0 if plain else 1 :]
        if name not in network._reg_params
    ]
    if any(each.kind is each.VAR_POSITIONAL for each in taken):
        maximum = math.inf
    else:
        maximum = sum(each.kind is each.POSITIONAL_OR_KEYWORD for each in taken)
    least = sum(
        each.kind is each.POSITIONAL_OR_KEYWORD and each.default is each.empty for each in taken
    )
    return least, maximum


def _count_input_arrays(form):
    """Return the number of arrays in a nested input format (structure.py)."""
    if isinstance(form, (list, tuple)):
        return sum(map(_count_input_arrays, form))
    return form == 0


def quantize_net(
    network: gluon.HybridBlock,
    quantized_dtype: str = "auto",
    quantize_mode: str = "full",
    exclude_layers: Sequence[str] | None = None,
    exclude_layers_match: Sequence[str] | None = None,
    exclude_operators: Sequence[str] | None = None,
    calib_data: Iterable[Any] | None = None,
    data_shapes: Sequence[Any] | None = None,
    calib_mode: str = "none",
    num_calib_examples: int | None = None,
    ctx: Context = DEFAULT_CONTEXT,
    logger: logging.Logger | None = None,
    tolerance: float | None = None,
) -> gluon.SymbolBlock:
    """Quantize a trained Gluon network to int8, with one weight step for each filter.

    Parameters
    ----------
    network, quantized_dtype, quantize_mode, exclude_layers, exclude_layers_match
        See `quantize_net_v2`.
    exclude_operators, calib_data, data_shapes, calib_mode, num_calib_examples
        See `quantize_net_v2`.
    ctx, logger, tolerance
        See `quantize_net_v2`.

    Raises
    ------
    ArgumentError
        An unknown option or node; calibration or tolerance without data.

    Examples
    --------
    >>> net = mx.gluon.nn.Dense(2, in_units=3)
    >>> net.initialize(mx.init.One())
    >>> small = mx.contrib.quantization.quantize_net(net)
    >>> small(mx.nd.array([[1, 2, 3]])).round()
    [[6. 6.]]
    <NDArray 1x2 @cpu(0)>
    """
    return quantize_net_v2(
        network,
        quantized_dtype,
        quantize_mode,
        "channel-wise",
        exclude_layers,
        exclude_layers_match,
        exclude_operators,
        calib_data,
        data_shapes,
        calib_mode,
        num_calib_examples,
        ctx,
        None,
        logger,
        tolerance,
    )
