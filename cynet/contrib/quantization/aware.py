"""Quantization-aware training: prepare_qat makes a network that rounds as int8 layers do, convert
makes the int8 layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import gluon
from ... import symbol as sym_module
from ...base.errors import ArgumentError, ArgumentTypeError, StateError, shown
from ...symbol import Symbol
from ...symbol.node import Node
from .fake import DATA_OPERATOR, OBSERVER_STATES, WEIGHT_OPERATOR, check_averaging_rate, check_bits
from .graph import Quantizer, apply_calibration
from .model import DEFAULT_CONTEXT, check_limits, exclusion_predicate
from .net import count_inputs, default_input_names, excluded_nodes, make_symbol_block, trace_network

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["convert", "prepare_qat"]


class FakeQuantizer(Quantizer):
    """Rewrites a graph like `Quantizer`, but rounds floats in place of int8 operators.

    Parameters
    ----------
    heads, params, excluded
        See `Quantizer`.
    settings : dict
        ``weight_bits``, ``activation_bits``, ``averaging`` and ``tensor_wise``.

    Attributes
    ----------
    observers : dict of str to tuple of Node
        An output of the float graph to the variables of its range.
    """

    def __init__(self, heads, params, excluded, settings):
        plain = Quantizer(heads, dict(params), excluded, "auto")
        plain.run()
        self.read = {*plain.keys}  # outputs that an int8 layer reads
        super().__init__(heads, params, excluded, "auto")
        self.settings, self.observers = settings, {}

    def _float_entry(self, old_entry):
        return self.new[id(old_entry[0])], old_entry[1]

    def _quantized_entry(self, old_entry):
        key = id(old_entry[0]), old_entry[1]
        if key not in self.triples:
            name = old_entry[0].output_name(old_entry[1])
            self.triples[key] = self._fake_quantized_entry(self._float_entry(old_entry), name)
        return self.triples[key]

    def _fake_quantized_entry(self, entry, name):
        if name not in self.observers:
            fixed = {"__shape__": "(1,)", "__dtype__": "0"}
            made = tuple(Node(None, f"{name}_{end}", dict(fixed)) for end in OBSERVER_STATES)
            self.observers[name] = made
        given = [Symbol([each]) for each in (entry, *((node, 0) for node in self.observers[name]))]
        bits, share = self.settings["activation_bits"], self.settings["averaging"]
        made = sym_module.Custom(
            *given, op_type=DATA_OPERATOR, name=f"{name}_rounded", bits=bits, averaging=share
        )
        return made.entries[0]

    def _convert_layer(self, layer):
        node = layer.node
        data = self._quantized_entry(node.inputs[0])
        weight, *bias = (Symbol([self._float_entry(each)]) for each in node.inputs[1:])
        bias = bias[0] if bias else None
        if layer.norm is not None:
            weight, bias = self._fold_batch_norm(layer, weight, bias)
        settings = {
            "bits": self.settings["weight_bits"],
            "tensor_wise": self.settings["tensor_wise"],
        }
        name = f"{node.name}_weight_rounded"
        weight = sym_module.Custom(weight, op_type=WEIGHT_OPERATOR, name=name, **settings)
        inputs = [data, weight.entries[0], *(() if bias is None else bias.entries)]
        params = {**node.params, "no_bias": str(bias is None)}
        prop = node.op.prop(**params)
        made = Symbol([(Node(node.op, node.name, dict(node.attrs), params, prop, inputs), 0)])
        if layer.residual is not None:
            made = made + Symbol([self._quantized_entry(layer.residual)])
        low, high = layer.bounds
        if high is not None:
            made = sym_module.clip(made, low, high)
        elif low is not None:
            made = sym_module.relu(made)  # relu alone has no upper bound
        output = layer.end.output_name(0)
        (entry,) = made.entries
        if output in self.read:  # every reader of this output reads integers
            entry = self.triples[id(layer.end), 0] = self._fake_quantized_entry(entry, output)
        return entry[0]

    def _fold_batch_norm(self, layer, weight, bias):
        """Fold the BatchNorm after a layer into its weight and bias, by the running statistics."""
        prop = layer.norm.prop
        gamma, beta, mean, var = (
            Symbol([self._float_entry(each)]) for each in layer.norm.inputs[1:5]
        )
        gain = sym_module.rsqrt(var + prop.eps)
        if not prop.fix_gamma:
            gain = gain * gamma
        ndim = len(self.params[layer.node.inputs[1][0].name].shape)
        weight = sym_module.broadcast_mul(weight, gain.reshape((-1, *(1,) * (ndim - 1))))
        return weight, ((0 - mean) if bias is None else bias - mean) * gain + beta

    def _copy_node(self, node):
        if not self._has_quantized_output(node):
            return super()._copy_node(node)
        inputs = [self._quantized_entry(each) for each in node.inputs]
        made = Node(node.op, node.name, dict(node.attrs), dict(node.params), node.prop, inputs)
        self.triples[id(node), 0] = made, 0
        return made


class FakeQuantizedBlock(gluon.SymbolBlock):
    """Result of `prepare_qat`: a network to train, with the settings that `convert` needs."""

    def __init__(self, outputs, inputs, params, plan):
        super().__init__(outputs, inputs, params)
        vars(self)["_plan"] = plan

    def limits(self):
        """Return the observed range of each output that is rounded."""
        params, found = self.collect_params(), {}
        for name in self._plan["observed"]:
            states = (params[f"{name}_{end}"]._reduce() for end in OBSERVER_STATES)
            low, high, seen = (float(each.asscalar()) for each in states)
            if not seen:
                raise StateError(
                    f"convert: the range of {name} was not observed; train the network, or call it"
                    " in autograd.train_mode()"
                )
            found[name] = low, high
        return found


def prepare_qat(
    network: gluon.HybridBlock,
    weight_bits: int = 8,
    activation_bits: int = 8,
    quantize_granularity: str = "channel-wise",
    exclude_layers: Sequence[str] | None = None,
    exclude_layers_match: Sequence[str] | None = None,
    exclude_operators: Sequence[str] | None = None,
    data_shapes: Sequence[Any] | None = None,
    averaging: float = 0.01,
) -> FakeQuantizedBlock:
    """Make a trainable network that rounds weights and activations like int8 layers.

    It rounds where `quantize_net` quantizes; gradients go straight through. The BatchNorm after a
    layer is part of its weight and bias: its running statistics stay as they are, its gamma and
    beta are trained. Parameters are those of `network`, which is trained with it. Ranges of
    activations are observed while it is trained, or called in ``autograd.train_mode()``.

    Parameters
    ----------
    network : HybridBlock
        A trained network.
    weight_bits, activation_bits : int
        From 2 to 8; `convert` takes activations of 8.
    quantize_granularity : str
        ``'channel-wise'``: a weight has a step for each filter; or ``'tensor-wise'``.
    exclude_layers, exclude_layers_match, exclude_operators, data_shapes
        See `quantize_net_v2`.
    averaging : float
        The share of the way that a range moves to that of each batch.

    Returns
    -------
    SymbolBlock
        Train it with a Trainer of its ``collect_params()``; in prediction it gives what the
        quantized network gives, but for numbers that lie between two steps.

    Raises
    ------
    ArgumentError
        An unknown option or node.
    ArgumentTypeError
        `network` is no HybridBlock.

    Examples
    --------
    >>> net = mx.gluon.nn.Dense(2, in_units=3)
    >>> net.initialize(mx.init.One())
    >>> tools = mx.contrib.quantization
    >>> rounded = tools.prepare_qat(net)
    >>> trainer = mx.gluon.Trainer(rounded.collect_params(), "sgd", {"learning_rate": 0.1})
    >>> data = mx.nd.array([[1, 2, 3]])
    >>> with mx.autograd.record():
    ...     loss = (rounded(data) - 5).square()
    >>> loss.backward()
    >>> trainer.step(1)
    >>> small = tools.convert(rounded)
    >>> bool((small(data) - rounded(data)).abs().max() < 0.1)
    True
    """
    if not isinstance(network, gluon.HybridBlock):
        raise ArgumentTypeError(f"prepare_qat takes a HybridBlock, got {shown(network)}")
    check_bits("prepare_qat: weight_bits", weight_bits)
    check_bits("prepare_qat: activation_bits", activation_bits)
    check_averaging_rate(averaging)
    if quantize_granularity not in ("channel-wise", "tensor-wise"):
        raise ArgumentError(
            f"quantize_granularity is {shown(quantize_granularity)}, expected channel-wise or"
            " tensor-wise"
        )
    n = len(data_shapes) if data_shapes is not None else count_inputs(network, None)
    names = default_input_names(n)
    symbol, params = trace_network(network, n)
    excluded = sorted(excluded_nodes(symbol, exclude_layers, exclude_layers_match))
    operators = list(exclude_operators or ())
    settings = {
        "weight_bits": weight_bits,
        "activation_bits": activation_bits,
        "averaging": averaging,
        "tensor_wise": quantize_granularity == "tensor-wise",
    }
    is_excluded = exclusion_predicate(symbol, excluded, operators)
    quantizer = FakeQuantizer(symbol.entries, params, is_excluded, settings)
    made = Symbol(quantizer.run())
    plan = {
        "symbol": symbol,
        "names": names,
        "excluded": excluded,
        "operators": operators,
        "observed": list(quantizer.observers),
        **settings,
    }
    own = network.collect_params()
    contexts = next((each.list_ctx() for each in own.values()), None)
    block = FakeQuantizedBlock(made, [sym_module.var(name) for name in names], own, plan)
    for name in params.keys() - own.keys():  # constants of the network's graph
        constant = block.params[name]
        constant.grad_req, constant.shape = "null", params[name].shape
        constant.initialize(ctx=contexts)
        constant.set_data(params[name])
    for name, nodes in quantizer.observers.items():
        for node in nodes:
            if node.name in own:
                raise ArgumentError(
                    f"prepare_qat: {network.name} has a parameter '{node.name}', as the range of"
                    f" output {name} is called; give that layer another prefix"
                )
            param = block.params[node.name]
            param.grad_req, param.shape = "null", (1,)
            param.initialize("zeros", ctx=contexts)
    return block


def convert(network: FakeQuantizedBlock) -> gluon.SymbolBlock:
    """Make an int8 network from a trained network of `prepare_qat`.

    Parameters
    ----------
    network : SymbolBlock
        What `prepare_qat` gave. It is not changed.

    Returns
    -------
    SymbolBlock
        As `quantize_net` gives it: it is saved, exported and written as an ONNX file of QDQ layers.

    Raises
    ------
    ArgumentTypeError
        `network` is not from `prepare_qat`.
    ArgumentError
        Its activations have less than 8 bits.
    StateError
        A range was not observed.

    Examples
    --------
    See `prepare_qat`.

    >>> net = mx.gluon.nn.Dense(2, in_units=3, prefix="fc_")
    >>> net.initialize(mx.init.One())
    >>> tools = mx.contrib.quantization
    >>> rounded = tools.prepare_qat(net)
    >>> with mx.autograd.train_mode():
    ...     y = rounded(mx.nd.array([[1, 2, 3]]))
    >>> sorted(tools.convert(rounded).collect_params())
    ['fc_fwd_bias_quantize', 'fc_fwd_scale_quantize', 'fc_fwd_weight_quantize']
    """
    if not isinstance(network, FakeQuantizedBlock):
        raise ArgumentTypeError(f"convert takes what prepare_qat gave, got {shown(network)}")
    plan = network._plan
    if plan["activation_bits"] != 8:
        raise ArgumentError(
            f"convert: the activations have {plan['activation_bits']} bits, and int8 layers have 8"
        )
    limits = network.limits()
    check_limits(limits)
    symbol, params = plan["symbol"], network.collect_params()
    values = {name: params[name]._reduce() for name in symbol.list_inputs() if name in params}
    quantizer = Quantizer(
        symbol.entries,
        values,
        exclusion_predicate(symbol, plan["excluded"], plan["operators"]),
        "auto",
        plan["tensor_wise"],
        plan["weight_bits"],
    )
    made = Symbol(apply_calibration(quantizer.run(), limits, "auto"))
    return make_symbol_block(
        made, {**values, **quantizer.weight_arrays(DEFAULT_CONTEXT)}, plan["names"], DEFAULT_CONTEXT
    )
