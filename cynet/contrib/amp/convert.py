"""Conversion of graphs to mixed precision: casts are inserted before operators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import gluon, initializer
from ... import symbol as sym
from ...base.errors import ArgumentError, ArgumentTypeError, StateError, shown
from ...context import current_context
from ...module import BucketingModule
from ...operator import OPERATORS
from ...operator.tensor.cast import AmpCastProperty, AmpMulticastProperty
from ...symbol import Symbol
from ...symbol.node import Node, topological_order
from .lists import listing as lists

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...typing import Context, NDArray

__all__ = ["convert_bucketing_module", "convert_hybrid_block", "convert_model", "convert_symbol"]

FULL_PRECISION_DTYPE = "float32"  # dtype of operators that stay exact


class _CastRules:
    """Rules that decide in which dtype each operator computes. `dtype`: the narrow dtype."""

    def __init__(self, dtype, low, full, conditional, excluded):
        self.dtype = dtype
        self.low = self._check_known_names(
            "target_dtype_ops", lists.list_lp16_ops(dtype) if low is None else low
        )
        self.full = self._check_known_names(
            "fp32_ops", lists.list_fp32_ops(dtype) if full is None else full
        )
        both = self.low & self.full
        if both:
            raise ArgumentError(f"amp: {min(both)} is in target_dtype_ops and in fp32_ops")
        conditional = lists.list_conditional_fp32_ops(dtype) if conditional is None else conditional
        self.conditional = {}
        for operator, parameter, values in conditional:
            self._check_known_names("conditional_fp32_ops", [operator])
            self.conditional.setdefault(operator, []).append((parameter, list(values)))
        self.widest = lists.list_same_dtype_operators(dtype) - self.low - self.full
        self.excluded = set(excluded or ())

    @staticmethod
    def _check_known_names(what, names):
        for name in names:
            if name not in OPERATORS:
                raise ArgumentError(f"amp: {what}: expected names of operators, got {shown(name)}")
        return {OPERATORS.get(name).name for name in names}

    def dtype_of(self, node):
        """Return the dtype that a node's operator computes in, or None if it accepts any dtype."""
        name = node.op.name
        if name in self.low:
            return FULL_PRECISION_DTYPE if node.name in self.excluded else self.dtype
        if name in self.full:
            return FULL_PRECISION_DTYPE
        for parameter, values in self.conditional.get(name, ()):
            if str(getattr(node.prop, parameter)) in values:
                return FULL_PRECISION_DTYPE
        return FULL_PRECISION_DTYPE if getattr(node.prop, "takes_float32", False) else None


class _AmpConverter:
    def __init__(self, rules, unknown=()):
        self.rules = rules
        self.unknown = unknown  # names of variables that may have any dtype
        self.new = {}  # id of an old node -> its new node
        self.kind = {}  # new entry -> the dtype of its values, if known
        self.casts = {}  # (new entry, dtype) -> the entry that casts it

    def new_entry(self, old_entry):
        return self.new[id(old_entry[0])], old_entry[1]

    def convert(self, heads):
        for node in topological_order(heads):
            if node.op is None:
                self.new[id(node)] = node
                self.kind[node, 0] = None if node.name in self.unknown else FULL_PRECISION_DTYPE
            else:
                self.new[id(node)] = self._convert_node(node)
        return [self.new_entry(each) for each in heads]

    def _convert_node(self, node):
        inputs = [self.new_entry(each) for each in node.inputs]
        n, wanted, low = node.num_args, self.rules.dtype_of(node), self.rules.dtype
        kinds = {self.kind.get(each) for each in inputs[:n]}
        if wanted is not None:
            inputs[:n] = [self._cast_entry(each, wanted) for each in inputs[:n]]
            found = wanted
        elif (
            node.op.name in self.rules.widest
            and n > 1
            and kinds != {low}
            and kinds != {FULL_PRECISION_DTYPE}
        ):
            name = f"{node.name}_amp_multicast"
            operator = OPERATORS.get(AmpMulticastProperty.op_name)
            params = {"num_outputs": str(n)}
            many = Node(operator, name, {}, params, operator.prop(num_outputs=n), inputs[:n])
            inputs[:n] = [(many, i) for i in range(n)]
            found = FULL_PRECISION_DTYPE if FULL_PRECISION_DTYPE in kinds else None
        else:  # the dtype of the first input holds for all inputs
            found = self.kind.get(inputs[0]) if n else None
        new = Node(node.op, node.name, dict(node.attrs), dict(node.params), node.prop, inputs)
        for i in range(new.num_outputs):
            self.kind[new, i] = found
        return new

    def _cast_entry(self, entry, dtype):
        if self.kind.get(entry) == dtype:
            return entry
        known = self.casts.get((entry, dtype))
        if known is None:
            node = entry[0]
            name = node.name if node.op is None else node.output_name(entry[1])
            operator = OPERATORS.get(AmpCastProperty.op_name)
            made = Node(
                operator,
                f"{name}_amp_cast_{dtype}",
                {},
                {"dtype": dtype},
                operator.prop(dtype=dtype),
                [entry],
            )
            known = self.casts[entry, dtype] = made, 0
            self.kind[known] = dtype
        return known


def convert_symbol(
    sym: Symbol,
    target_dtype: str = "float16",
    target_dtype_ops: Sequence[str] | None = None,
    fp32_ops: Sequence[str] | None = None,
    conditional_fp32_ops: Sequence[tuple[str, str, Sequence[str]]] | None = None,
    excluded_sym_names: Sequence[str] | None = None,
    data_names: Sequence[str] | None = None,
    cast_optional_params: bool = False,
) -> Symbol:
    """Convert a symbol: its convolutions and dense layers compute in float16 or bfloat16.

    Variables stay float32: ``amp_cast`` converts what an operator reads, ``amp_multicast`` brings
    the inputs of sums and products together.

    Parameters
    ----------
    sym : Symbol
        The network.
    target_dtype : str
        The narrow type, ``'float16'`` or ``'bfloat16'``.
    target_dtype_ops, fp32_ops : list of str, optional
        Operators to compute in the narrow type and in float32, instead of `list_lp16_ops` and
        `list_fp32_ops`.
    conditional_fp32_ops : list of (str, str, list of str), optional
        Operators, parameters and values for which to compute in float32, instead of
        `list_conditional_fp32_ops`.
    excluded_sym_names : list of str, optional
        Names of nodes that stay float32.
    data_names, cast_optional_params
        Part of MXNet's signature; which variables are data makes no difference here.

    Raises
    ------
    ArgumentError
        Another dtype, an unknown operator or node.

    Examples
    --------
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    >>> convert_symbol(net).get_internals().list_outputs()[:3]
    ['data', 'data_amp_cast_float16_output', 'fc_weight']
    """
    if not isinstance(sym, Symbol):
        raise ArgumentTypeError(f"convert_symbol takes a Symbol, got {shown(sym)}")
    dtype = lists.check_dtype(target_dtype)
    names = {node.name for node in topological_order(sym.entries)}
    for name in excluded_sym_names or ():
        if name not in names:
            raise ArgumentError(
                f"amp: excluded_sym_names: expected names of nodes, got {shown(name)}"
            )
    rules = _CastRules(dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names)
    return Symbol(_AmpConverter(rules).convert(sym.entries))


def convert_graph(symbol, inputs, target_dtype, low, full, conditional):
    """Convert a Block's graph; its `inputs` may be outputs of another Block."""
    rules = _CastRules(lists.check_dtype(target_dtype), low, full, conditional, None)
    return Symbol(_AmpConverter(rules, frozenset(inputs)).convert(symbol.entries))


def convert_model(
    sym: Symbol,
    arg_params: dict[str, NDArray],
    aux_params: dict[str, NDArray],
    target_dtype: str = "float16",
    target_dtype_ops: Sequence[str] | None = None,
    fp32_ops: Sequence[str] | None = None,
    conditional_fp32_ops: Sequence[tuple[str, str, Sequence[str]]] | None = None,
    excluded_sym_names: Sequence[str] | None = None,
    cast_optional_params: bool = False,
) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]:
    """Convert a symbol by `convert_symbol`, and cast its parameters.

    Parameters
    ----------
    sym : Symbol
        The network.
    arg_params, aux_params : dict of str to NDArray
        The parameters and auxiliary states, by name.
    target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names
        See `convert_symbol`.
    cast_optional_params : bool
        Whether to store parameters in the narrow type if only operators in that type read them.

    Returns
    -------
    sym : Symbol
        The symbol with casts in it.
    arg_params, aux_params : dict of str to NDArray
        What goes with it.

    Raises
    ------
    ArgumentError
        `target_dtype` is another one, or a list names what is not an operator.

    Examples
    --------
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, no_bias=True, name="fc")
    >>> params = {"fc_weight": mx.nd.ones((2, 3))}
    >>> net, params, _ = mx.contrib.amp.convert_model(net, params, {}, cast_optional_params=True)
    >>> params["fc_weight"].dtype.__name__
    'float16'
    """
    new = convert_symbol(
        sym, target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names
    )
    arguments = dict(arg_params)
    if cast_optional_params:
        low = lists.check_dtype(target_dtype)
        for name in _names_of_variables_cast_to(low, new) & arguments.keys():
            arguments[name] = arguments[name].astype(low)
    return new, arguments, dict(aux_params)


def convert_bucketing_module(
    bucketing_mod: BucketingModule,
    target_dtype: str = "float16",
    target_dtype_ops: Sequence[str] | None = None,
    fp32_ops: Sequence[str] | None = None,
    conditional_fp32_ops: Sequence[tuple[str, str, Sequence[str]]] | None = None,
    excluded_sym_names: Sequence[str] | None = None,
    cast_optional_params: bool = False,
) -> BucketingModule:
    """Make an unbound BucketingModule that computes in mixed precision, with the same parameters.

    Parameters
    ----------
    bucketing_mod : BucketingModule
        A module with parameters. Buckets that it has not bound are converted when they are.
    target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names
        See `convert_symbol`.
    cast_optional_params : bool
        See `convert_model`; of the default bucket's symbol.

    Raises
    ------
    ArgumentTypeError
        `bucketing_mod` is not a BucketingModule.
    CynetError
        It has no parameters yet.

    Examples
    --------
    >>> def sym_gen(length):
    ...     total = mx.sym.sum(mx.sym.Variable("data"), axis=1, keepdims=True)
    ...     return mx.sym.FullyConnected(total, num_hidden=2, name="fc"), ["data"], None
    >>> module = mx.mod.BucketingModule(sym_gen, default_bucket_key=5)
    >>> module.bind([("data", (1, 5))], for_training=False)
    >>> module.init_params(mx.init.One())
    >>> module = mx.contrib.amp.convert_bucketing_module(module, "bfloat16")
    >>> module.bind([("data", (1, 5))], for_training=False)
    >>> [name for name in module.symbol.get_internals().list_outputs() if "amp_cast" in name][:1]
    ['sum0_output_amp_cast_bfloat16_output']
    """
    if not isinstance(bucketing_mod, BucketingModule):
        raise ArgumentTypeError(
            f"convert_bucketing_module takes a BucketingModule, got {shown(bucketing_mod)}"
        )
    rules = target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names

    def generate(key):  # the converted symbol of a bucket
        symbol, *names = bucketing_mod._generate_symbol(key)
        return convert_symbol(symbol, *rules), *names

    key = bucketing_mod._default_bucket_key
    symbol = bucketing_mod._generate_symbol(key)[0]
    _, arguments, states = convert_model(
        symbol, *bucketing_mod.get_params(), *rules, cast_optional_params
    )
    return BucketingModule.load_dict(
        None, generate, key, arguments, states, **bucketing_mod._settings
    )


def _names_of_variables_cast_to(dtype, symbol):
    """Return the names of variables whose only readers are casts to `dtype`."""
    readers = {}
    for node in topological_order(symbol.entries):
        for source, _ in node.inputs:
            if source.op is None:
                low = isinstance(node.prop, AmpCastProperty) and node.prop.dtype == dtype
                readers.setdefault(source.name, []).append(low)
    return {name for name, low in readers.items() if all(low)}


def convert_hybrid_block(
    block: Any,
    target_dtype: str = "float16",
    target_dtype_ops: Sequence[str] | None = None,
    fp32_ops: Sequence[str] | None = None,
    conditional_fp32_ops: Sequence[tuple[str, str, Sequence[str]]] | None = None,
    excluded_sym_names: Sequence[str] | None = None,
    ctx: Context | None = None,
    cast_optional_params: bool = False,
) -> gluon.SymbolBlock:
    """Convert a hybridized Block to a SymbolBlock in mixed precision, with copies of its
    parameters.

    Parameters
    ----------
    block : HybridBlock
        A hybridized Block that was called once.
    target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names
        See `convert_symbol`.
    ctx : Context, optional
        Device of the copies; the current context by default.
    cast_optional_params : bool
        See `convert_model`.

    Raises
    ------
    ArgumentTypeError
        `block` is not a HybridBlock.
    StateError
        The Block has no graph yet.

    Examples
    --------
    >>> net = mx.gluon.nn.Dense(1, in_units=1, use_bias=False)
    >>> net.initialize(mx.init.One())
    >>> net.hybridize()
    >>> data = mx.nd.array([[1.001]])
    >>> net(data).asscalar().item() > 1
    True
    >>> narrow = mx.contrib.amp.convert_hybrid_block(net, "bfloat16")
    >>> narrow(data).asscalar().item()
    1.0
    """
    if not isinstance(block, gluon.HybridBlock):
        raise ArgumentTypeError(f"convert_hybrid_block takes a HybridBlock, got {shown(block)}")
    graph = block._last_graph()
    if graph is None:
        raise StateError(f"{block.name} has no graph yet: hybridize it and call it once")
    values = {name: each.data().copy() for name, each in graph.params.items()}
    values.update(graph.constants)
    new, values, _ = convert_model(
        graph.symbol,
        values,
        {},
        target_dtype,
        target_dtype_ops,
        fp32_ops,
        conditional_fp32_ops,
        excluded_sym_names,
        cast_optional_params,
    )
    made = gluon.SymbolBlock(new, [sym.var(name) for name in graph.inputs])
    for name, parameter in made.collect_params().items():
        parameter.shape = values[name].shape
        parameter.cast(values[name].dtype)
        parameter.initialize(init=initializer.Zero(), ctx=ctx or current_context())
        parameter.set_data(values[name])
    return made
