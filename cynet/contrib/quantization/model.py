"""quantize_model and its steps: symbols and their parameters are quantized to int8."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from ... import io
from ... import ndarray as nd
from ... import symbol as sym_module
from ...base.errors import ArgumentError, ArgumentTypeError, shown
from ...context import cpu
from ...executor.bind import simple_bind
from ...symbol import Symbol
from ...symbol.node import topological_order
from .calibration import CalibrationCollector, LayerHistogramCollector, LayerOutputMinMaxCollector
from .graph import Quantizer, apply_calibration

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...typing import Context, NDArray

__all__ = ["calib_graph", "quantize_graph", "quantize_model", "quantize_model_mkldnn"]

DEFAULT_CONTEXT = cpu(0)  # where networks are calibrated
CALIBRATION_MODES = ("none", "naive", "entropy", "custom")


def check_options(dtype, calib_mode, quantize_mode, granularity):
    """Raise ArgumentError unless each option has one of the allowed values."""
    for name, value, known in (
        ("quantized_dtype", dtype, ("int8", "uint8", "auto")),
        ("calib_mode", calib_mode, CALIBRATION_MODES),
        ("quantize_mode", quantize_mode, ("full", "smart")),
        ("quantize_granularity", granularity, ("tensor-wise", "channel-wise")),
    ):
        if value not in known:
            raise ArgumentError(f"{name} is {shown(value)}, expected one of {', '.join(known)}")


def exclusion_predicate(sym, names, operators):
    """Make a predicate that is true for nodes that stay unquantized."""
    for what, given in (("excluded_sym_names", names), ("excluded_op_names", operators)):
        if given is not None and not isinstance(given, (list, tuple, set)):
            raise ArgumentTypeError(f"{what} must be a list of str, got {shown(given)}")
    names, operators = set(names or ()), set(operators or ())
    known = {node.name for node in topological_order(sym.entries)}
    for name in names - known:
        raise ArgumentError(
            f"excluded_sym_names: expected names of the symbol's nodes, got {shown(name)}"
        )

    def is_excluded(node):
        return (
            node.name in names
            or node.op.name in operators
            or bool(operators.intersection(node.op.aliases))
        )

    return is_excluded


def quantize_graph(
    sym: Symbol,
    arg_params: dict[str, NDArray],
    aux_params: dict[str, NDArray],
    ctx: Context = DEFAULT_CONTEXT,
    excluded_sym_names: Sequence[str] | None = None,
    excluded_op_names: Sequence[str] | None = None,
    calib_mode: str = "entropy",
    quantized_dtype: str = "int8",
    quantize_mode: str = "full",
    quantize_granularity: str = "tensor-wise",
    LayerOutputCollector: CalibrationCollector | None = None,
    logger: logging.Logger | None = None,
) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray], CalibrationCollector | None]:
    """Quantize a symbol's convolutions and dense layers to int8; return it and a collector.

    The collector is to see what the outputs that it names (`include_layer`) are, of the float
    symbol; `calib_graph` then takes its limits. Parameters are those of `quantize_model`.

    Parameters
    ----------
    sym, arg_params, aux_params, ctx, excluded_sym_names, excluded_op_names, calib_mode
        See `quantize_model`.
    quantized_dtype, quantize_mode, quantize_granularity, logger
        See `quantize_model`.
    LayerOutputCollector : CalibrationCollector, optional
        The collector, for calibration ``'custom'``.

    Returns
    -------
    (Symbol, dict, dict, CalibrationCollector or None)
        None without calibration.

    Raises
    ------
    ArgumentTypeError
        `sym` is not a Symbol, or an exclusion is not a list.
    ArgumentError
        An unknown option or node, or ``'custom'`` without a collector.

    Examples
    --------
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, no_bias=True, name="fc")
    >>> weight = {"fc_weight": mx.nd.ones((2, 3))}
    >>> _, args, _, collector = mx.contrib.quantization.quantize_graph(net, weight, {})
    >>> args["fc_weight_quantize"].dtype, collector.include_layer
    (<class 'numpy.int8'>, ['data'])
    """
    if not isinstance(sym, Symbol):
        raise ArgumentTypeError(f"quantize_graph takes a Symbol, got {shown(sym)}")
    check_options(quantized_dtype, calib_mode, quantize_mode, quantize_granularity)
    excluded = exclusion_predicate(sym, excluded_sym_names, excluded_op_names)
    tensor_wise = quantize_granularity == "tensor-wise"
    params = {**arg_params, **aux_params}
    quantizer = Quantizer(sym.entries, params, excluded, quantized_dtype, tensor_wise)
    made = Symbol(quantizer.run())
    args = {name: arg_params[name] for name in made.list_arguments() if name in arg_params}
    args.update(quantizer.weight_arrays(ctx))
    aux = {name: aux_params[name] for name in made.list_auxiliary_states()}
    if logger is not None:
        logger.info("int8 layers: %s", ", ".join(quantizer.layers) or "none")
    keys, collector = list(dict.fromkeys(quantizer.keys)), LayerOutputCollector
    if calib_mode == "none":
        return made, args, aux, None
    if calib_mode == "custom":
        if collector is None:
            raise ArgumentError("calib_mode 'custom' needs a LayerOutputCollector")
        collector.include_layer = keys
    elif calib_mode == "naive":
        collector = LayerOutputMinMaxCollector(quantized_dtype, keys, logger)
    else:
        collector = LayerHistogramCollector(
            include_layer=keys, logger=logger, quantized_dtype=quantized_dtype
        )
    return made, args, aux, collector


def calib_graph(
    qsym: Symbol,
    arg_params: dict[str, NDArray],
    aux_params: dict[str, NDArray],
    collector: CalibrationCollector,
    calib_mode: str = "entropy",
    quantized_dtype: str = "int8",
    logger: Any = logging,
) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]:
    """Insert the limits that a collector of `quantize_graph` found into a quantized symbol.

    Parameters
    ----------
    qsym, arg_params, aux_params, collector
        What `quantize_graph` returned.
    calib_mode : str
        The same as for `quantize_graph`.
    quantized_dtype : str
        The same as for `quantize_graph`.
    logger : logging.Logger, optional
        Receives messages.

    Returns
    -------
    (Symbol, dict, dict)
        The symbol with limits, and the parameters and states that were given.

    Raises
    ------
    ArgumentError
        There is no collector, it has not seen one of the outputs, or what it saw is not finite.

    Examples
    --------
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, no_bias=True, name="fc")
    >>> weight, tools = {"fc_weight": mx.nd.ones((2, 3))}, mx.contrib.quantization
    >>> *made, collector = tools.quantize_graph(net, weight, {}, calib_mode="naive")
    >>> collector.collect("data", mx.nd.array([[-1, 0, 2]]))
    >>> qsym, args, _ = tools.calib_graph(*made, collector, calib_mode="naive")
    >>> qsym.bind(mx.cpu(), args | {"data": mx.nd.ones((1, 3))}).forward()[0].shape
    (1, 2)
    """
    check_options(quantized_dtype, calib_mode, "full", "tensor-wise")
    if calib_mode == "none" or collector is None:
        raise ArgumentError("calib_graph needs a collector, which calib_mode 'none' has none of")
    limits = collector.post_collect()
    missing = [name for name in collector.include_layer or () if name not in limits]
    if missing:
        raise ArgumentError(
            f"calib_graph: the collector did not see {', '.join(missing)}; run the float symbol "
            "on calibration data and give it what these outputs are"
        )
    check_limits(limits)
    heads = apply_calibration(qsym.entries, limits, quantized_dtype)
    return Symbol(heads), arg_params, aux_params


def check_limits(limits):
    """Raise ArgumentError unless each output's limits are finite and in ascending order."""
    for name, (low, high) in limits.items():
        if not -float("inf") < low <= high < float("inf"):
            raise ArgumentError(f"calibration: the values of {name} go from {low} to {high}")


def collect_statistics(sym, params, batches, collector, ctx):
    """Run the float symbol on batches (dicts of name to NDArray) and collect its outputs."""
    internals = sym.get_internals()
    names = list(collector.include_layer)
    # several outputs may share a name: the outputs of a Block that is called twice
    outputs = [i for i, name in enumerate(internals.list_outputs()) if name in names]
    if not outputs:
        return
    group = sym_module.Group([internals[i] for i in outputs])
    outputs = [internals.list_outputs()[i] for i in outputs]
    needed = {*group.list_arguments(), *group.list_auxiliary_states()}
    executor = None
    for batch in batches:
        given = {name: value for name, value in batch.items() if name in needed}
        if executor is None or any(
            executor.arg_dict[name].shape != value.shape for name, value in given.items()
        ):
            shapes = {name: value.shape for name, value in given.items()}
            executor = simple_bind(group, ctx, shapes, "null")
            executor.copy_params_from(
                {k: v for k, v in params.items() if k in executor.arg_dict},
                {k: v for k, v in params.items() if k in executor.aux_dict},
            )
        for name, value in given.items():
            executor.arg_dict[name][:] = value
        for name, value in zip(outputs, executor.forward(is_train=False)):
            collector.collect(name, value)
    if executor is None:
        raise ArgumentError("calib_data has no batch")


def batches_of(calib_data, data_names, maximum):
    """Yield batches as dicts of name to NDArray, from a DataIter or an iterable of arrays; stop
    after the batch that reaches `maximum` examples."""
    if hasattr(calib_data, "reset"):
        calib_data.reset()
    seen = 0
    for batch in calib_data:
        arrays = batch.data if isinstance(batch, io.DataBatch) else batch
        arrays = [arrays] if isinstance(arrays, nd.NDArray) else list(arrays)
        yield dict(zip(data_names, arrays))
        seen += arrays[0].shape[0]
        if maximum is not None and seen >= maximum:
            return


def quantize_model(
    sym: Symbol,
    arg_params: dict[str, NDArray],
    aux_params: dict[str, NDArray],
    data_names: Sequence[str] = ("data",),
    label_names: Sequence[str] = ("softmax_label",),
    ctx: Context = DEFAULT_CONTEXT,
    excluded_sym_names: Sequence[str] | None = None,
    excluded_op_names: Sequence[str] | None = None,
    calib_mode: str = "entropy",
    calib_data: Iterable[Any] | None = None,
    num_calib_examples: int | None = None,
    quantized_dtype: str = "int8",
    quantize_mode: str = "smart",
    quantize_granularity: str = "tensor-wise",
    logger: logging.Logger | None = None,
) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]:
    """Quantize a trained network to int8, for prediction on CPUs.

    Convolutions and fully connected layers, with the BatchNorm after them, a term that is added
    and relu, become one int8 layer each; maxima and Flatten between them stay in 8 bits.

    Parameters
    ----------
    sym : Symbol
        The network.
    arg_params, aux_params : dict of str to NDArray
        Trained parameters and auxiliary states, by name.
    data_names, label_names : list of str
        Names of the inputs of `calib_data`, and of labels.
    ctx : Context
        Device of the result; only a CPU.
    excluded_sym_names, excluded_op_names : list of str, optional
        Names of nodes, and of operators, that stay float32.
    calib_mode : str
        How the limits of quantized values are found: ``'none'`` takes those of each batch,
        ``'naive'`` the smallest and the largest value on `calib_data`, ``'entropy'`` those of
        `calibrate_entropy`.
    calib_data : DataIter or iterable of NDArray, optional
        Data like that of prediction; needed unless `calib_mode` is ``'none'``.
    num_calib_examples : int, optional
        Number of examples to use; all by default.
    quantized_dtype : str
        Type of the data of layers: ``'int8'``, ``'uint8'``, or ``'auto'``, which is uint8 if no
        value is negative. Weights are int8.
    quantize_mode : str
        ``'full'`` or ``'smart'``, which mean the same.
    quantize_granularity : str
        ``'tensor-wise'``: a weight has one scale; ``'channel-wise'``: it has one for each filter,
        which loses less and costs nothing.
    logger : logging.Logger, optional
        Receives messages.

    Returns
    -------
    (Symbol, dict, dict)
        The quantized symbol, its parameters and states.

    Raises
    ------
    ArgumentError
        An unknown option, node or dtype; calibration without data.

    Examples
    --------
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, no_bias=True, name="fc")
    >>> weight = {"fc_weight": mx.nd.ones((2, 3))}
    >>> qsym, args, aux = mx.contrib.quantization.quantize_model(
    ...     net, weight, {}, calib_mode="naive", calib_data=[mx.nd.ones((4, 3))]
    ... )
    >>> qsym.bind(mx.cpu(), args | {"data": mx.nd.ones((1, 3))}).forward()[0].round()
    [[3. 3.]]
    <NDArray 1x2 @cpu(0)>
    """
    if calib_mode != "none" and calib_data is None:
        raise ArgumentError(f"calib_mode {shown(calib_mode)} needs calib_data")
    if ctx.device_type != "cpu":
        raise ArgumentError(f"quantize_model: int8 layers run on a CPU, got {ctx}")
    made, args, aux, collector = quantize_graph(
        sym,
        arg_params,
        aux_params,
        ctx,
        excluded_sym_names,
        excluded_op_names,
        calib_mode,
        quantized_dtype,
        quantize_mode,
        quantize_granularity,
        None,
        logger,
    )
    if collector is None:
        return made, args, aux
    batches = batches_of(calib_data, data_names, num_calib_examples)
    collect_statistics(sym, {**arg_params, **aux_params}, batches, collector, ctx)
    return calib_graph(made, args, aux, collector, calib_mode, quantized_dtype, logger)


def quantize_model_mkldnn(
    sym: Symbol,
    arg_params: dict[str, NDArray],
    aux_params: dict[str, NDArray],
    data_names: Sequence[str] = ("data",),
    label_names: Sequence[str] = ("softmax_label",),
    ctx: Context = DEFAULT_CONTEXT,
    excluded_sym_names: Sequence[str] | None = None,
    excluded_op_names: Sequence[str] | None = None,
    calib_mode: str = "entropy",
    calib_data: Iterable[Any] | None = None,
    num_calib_examples: int | None = None,
    quantized_dtype: str = "int8",
    quantize_mode: str = "smart",
    quantize_granularity: str = "tensor-wise",
    logger: logging.Logger | None = None,
) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]:
    """Quantize like `quantize_model`, which always fuses layers.

    Parameters
    ----------
    sym, arg_params, aux_params, data_names, label_names, ctx
        See `quantize_model`.
    excluded_sym_names, excluded_op_names, calib_mode, calib_data, num_calib_examples
        See `quantize_model`.
    quantized_dtype, quantize_mode, quantize_granularity, logger
        See `quantize_model`.

    Raises
    ------
    ArgumentError
        As `quantize_model`.

    Examples
    --------
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, no_bias=True, name="fc")
    >>> weight = {"fc_weight": mx.nd.ones((2, 3))}
    >>> qsym, args, aux = mx.contrib.quantization.quantize_model_mkldnn(
    ...     net, weight, {}, calib_mode="none"
    ... )
    >>> args["fc_weight_quantize"].dtype
    <class 'numpy.int8'>
    """
    return quantize_model(
        sym,
        arg_params,
        aux_params,
        data_names,
        label_names,
        ctx,
        excluded_sym_names,
        excluded_op_names,
        calib_mode,
        calib_data,
        num_calib_examples,
        quantized_dtype,
        quantize_mode,
        quantize_granularity,
        logger,
    )
