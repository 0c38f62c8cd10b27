"""SymbolBlock: a Block made from a symbol, for files of other APIs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import symbol as sym
from ...base.dtype import SCALAR_TYPES
from ...base.errors import ArgumentError, ArgumentTypeError, shown
from ...base.tracing import active_trace, has_trace
from ...ndarray import NDArray
from ...operator.checks.values import read_shape
from ...symbol import Group, Symbol
from ..parameter import ParameterDict
from ..tracing import pause_tracing
from .deferred import finish_deferred_init
from .graph import Graph, parameter_symbol
from .hybrid_block import HybridBlock
from .hybridized import GraphCache
from .losses import remove_unlabeled_losses
from .structure import DictFormat, flatten, regroup
from .traced import Traced

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...typing import DTypeLike, FileName
    from ..parameter.parameter import Contexts


class SymbolBlock(HybridBlock):
    """A Block that computes a symbol; its variables that are not inputs are parameters.

    Labels of losses (``softmax_label``) are none: where one is not an input, the loss is left out,
    and its output is differentiated as what it is, a softmax for example.

    Parameters
    ----------
    outputs : Symbol or list of Symbol
        What the Block returns.
    inputs : Symbol or list of Symbol
        The variables that its arguments stand for, in order.
    params : ParameterDict, optional
        Holds the parameters; new ones are made by default.

    Raises
    ------
    ArgumentError
        One of `inputs` is not a variable but what an operator gives.

    Examples
    --------
    >>> data = mx.sym.var("data")
    >>> net = mx.gluon.SymbolBlock(mx.sym.FullyConnected(data, num_hidden=2, name="fc"), data)
    >>> list(net.collect_params().keys())
    ['fc_weight', 'fc_bias']
    """

    _takes_symbols = True

    def __init__(
        self,
        outputs: Symbol | Sequence[Symbol],
        inputs: Symbol | Sequence[Symbol],
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(prefix="", params=None)
        vars(self)["_params"] = ParameterDict("", params)
        inputs = [inputs] if isinstance(inputs, Symbol) and len(inputs) == 1 else list(inputs)
        names = []
        for each in inputs:
            if not isinstance(each, Symbol) or len(each) != 1 or each.entries[0][0].op is not None:
                raise ArgumentError(
                    f"SymbolBlock: inputs are variables, and {shown(each)} is what operators give"
                )
            names.append(each.name)
        heads, form = flatten(outputs, "output")
        if isinstance(outputs, (list, tuple)) and len(outputs) == 1:
            form = form[0]
        whole = heads[0] if len(heads) == 1 else Group(heads)
        # a label that only a loss's backward reads is neither a parameter nor an input
        whole = remove_unlabeled_losses(whole, [*names, *(() if params is None else params.keys())])
        known = set(names)
        states = [name for name in whole.list_auxiliary_states() if name not in known]
        attributes = whole.attr_dict()
        for name in [n for n in whole.list_arguments() if n not in known] + states:
            settings = {"grad_req": "null"} if name in states else {}
            declared = read_shape(attributes.get(name, {}).get("__shape__", ""))
            if declared and all(n > 0 for n in declared) and name not in self.params:
                settings["shape"] = declared
            self.params.get(name, allow_deferred_init=True, **settings)
        for name, each in self.params.items():
            kind = attributes.get(name, {}).get("__dtype__")
            if kind is not None and each._data is None:
                each.cast(_dtype_of_type_flag(kind))
        common = _common_prefix(list(self.params.keys()))
        self._reg_params.update((k.removeprefix(common), each) for k, each in self.params.items())
        vars(self)["_formats"] = [[0] * len(names), DictFormat((), ())], form
        vars(self)["_graph"] = Graph(whole, names, form, {}, False, dict(self.params.items()))

    @staticmethod
    def imports(
        symbol_file: FileName,
        input_names: str | Sequence[str],
        param_file: FileName | None = None,
        ctx: Contexts | None = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
    ) -> SymbolBlock:
        """Load a SymbolBlock from files that `HybridBlock.export` or a Module wrote.

        Parameters
        ----------
        symbol_file : str
            The graph, ``NAME-symbol.json``.
        input_names : str or list of str
            The variables that are inputs; labels only if the gradients should be those of the
            losses.
        param_file : str, optional
            The parameters, ``NAME-0000.params``; without it they have to be initialized.
        ctx : Context or list of Context, optional
            Devices of the parameters; the CPU by default.

        Examples
        --------
        >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, no_bias=True, name="fc")
        >>> net.save("net-symbol.json")
        >>> mx.nd.save("net-0000.params", {"arg:fc_weight": mx.nd.ones((2, 3))})
        >>> block = mx.gluon.SymbolBlock.imports("net-symbol.json", ["data"], "net-0000.params")
        >>> block(mx.nd.ones((1, 3)))
        [[3. 3.]]
        <NDArray 1x2 @cpu(0)>
        """
        if isinstance(input_names, str):
            input_names = [input_names]
        outputs = sym.load(symbol_file)
        block = SymbolBlock(outputs, [sym.var(name) for name in input_names])
        if param_file is not None:
            block.collect_params().load(
                param_file, ctx, allow_missing, ignore_extra, cast_dtype=True, dtype_source="saved"
            )
        return block

    def __repr__(self) -> str:
        names = ", ".join(
            f"<Symbol {n}>" for n in {e[0].name: 0 for e in self._graph.symbol.entries}
        )
        counts = f"{len(self._graph.inputs)} -> {len(self._graph.symbol)}"
        return f"SymbolBlock(\n{names} : {counts}\n)"

    def reset_ctx(self, ctx: Contexts) -> None:
        """Move the parameters to other contexts.

        Parameters
        ----------
        ctx : Context or list of Context
            The new devices.

        Examples
        --------
        >>> out = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
        >>> net = mx.gluon.SymbolBlock(out, mx.sym.var("data"))
        >>> net.initialize()
        >>> net.reset_ctx(mx.cpu(0))
        >>> net.collect_params().list_ctx()
        [cpu(0)]
        """
        self.collect_params().reset_ctx(ctx)

    def cast(self, dtype: DTypeLike) -> None:
        super().cast(dtype)

    def infer_shape(self, *args: Any) -> None:
        super().infer_shape(*args)

    def __call__(self, *args: Any, **kwargs: Any) -> NDArray:
        """Compute the symbol's outputs from arguments in the order of `inputs`."""
        arrays = self._flatten_inputs(args)
        vars(self)["_active"] = True
        if not has_trace() and all(isinstance(each, NDArray) for each in arrays):
            with pause_tracing():  # an outer Block may be inferring shapes
                return super().__call__(*args, **kwargs)
        return super().__call__(*args, **kwargs)

    def _last_graph(self):
        return self._graph

    def _make_graph_cache(self):
        vars(self)["_cached"] = cached = GraphCache(self, self._graph)
        return cached

    def _finish_deferred_inits(self, graphs, args, kwargs):
        finish_deferred_init(self, self.params.values(), args)

    def _builtin_forward(self, *args, **kwargs):
        return SymbolBlock.forward(self, *args, **kwargs)

    def _forward_arrays(self, first, x, *args, **kwargs):
        return SymbolBlock.forward(self, x, *args, **kwargs)

    def _flatten_inputs(self, args):
        """Return the arrays or symbols in nested `args`, one for each input."""
        arrays, _ = flatten(list(args))
        if len(arrays) != len(self._graph.inputs):
            raise ArgumentTypeError(
                f"SymbolBlock takes {len(self._graph.inputs)} inputs"
                f" ({', '.join(self._graph.inputs)}), got {len(arrays)}"
            )
        return arrays

    def forward(self, x: Any, *args: Any) -> Any:
        """Return the symbol with its inputs replaced by the given symbols."""
        given = self._flatten_inputs([x, *args])
        trace = active_trace()
        if trace is not None:
            given = [trace.constant(each) if isinstance(each, NDArray) else each for each in given]
        elif all(isinstance(each, NDArray) for each in given):
            return self._call_cached_op(x, *args)
        elif any(isinstance(each, NDArray) for each in given):
            raise ArgumentError("SymbolBlock: inputs must be all NDArrays or all Symbols")
        weights = {name: parameter_symbol(each) for name, each in self.params.items()}
        whole = self._graph.symbol._compose_by_name(
            {**dict(zip(self._graph.inputs, given)), **weights}
        )
        kind = Symbol if trace is None else Traced
        outputs = [kind([entry]) for entry in whole.entries]
        return regroup(outputs, self._graph.out_format)[0]


def _common_prefix(names):
    """Return the longest prefix of all names that ends with an underscore.

    >>> _common_prefix(["net_fc_weight", "net_fb_bias"])
    'net_'
    """
    first, last = min(names, default=""), max(names, default="")
    count = next((i for i, (a, b) in enumerate(zip(first, last)) if a != b), len(first))
    return first[: first.rfind("_", 0, count) + 1]


def _dtype_of_type_flag(flag):
    return SCALAR_TYPES[int(flag)]
