"""HybridBlock: a Block whose computation can become a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...base.errors import ArgumentError, ArgumentTypeError, UndefinedError, shown, warn_user
from ...base.guard import guarded
from ...engine.trace import SPANS_TRACED
from ...ndarray import NDArray
from ...symbol import Symbol, Variable
from ..errors import DeferredInitializationError
from ..tracing import count_block_change, is_tracing
from . import graph
from .block import Block
from .deferred import finish_all_deferred_inits, finish_deferred_init
from .functions import imported_operator_modules
from .hybridized import GraphCache
from .structure import refuse_mixed_arrays, to_mxnet_format

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...typing import DTypeLike, FileName
    from ..parameter import ParameterDict


@guarded(but=("__call__", "forward", "hybrid_forward", "__setattr__"))
class HybridBlock(Block):
    """A Block that runs operator by operator, or as one graph once it is hybridized.

    A subclass defines ``hybrid_forward(F, x, *args, **params)``, where F is ``mx.nd`` or
    ``mx.sym`` and its own parameters come as keywords under the names of its attributes; or
    ``forward``, written in ``mx.nd``.

    Examples
    --------
    >>> class Scaled(mx.gluon.HybridBlock):
    ...     def __init__(self, **kwargs):
    ...         super().__init__(**kwargs)
    ...         self.scale = self.params.get("scale", shape=(1,), init="ones")
    ...     def hybrid_forward(self, F, x, scale):
    ...         return F.broadcast_mul(x, scale)
    >>> net = Scaled()
    >>> net.initialize()
    >>> net(mx.nd.array([1, 2])).asnumpy().tolist()
    [1.0, 2.0]
    """

    _operator_modules = None  # (mx.nd, mx.sym), the argument F of hybrid_forward
    _weight_rule = None  # computes weights from other parameters (nn/computed_weights.py)
    _takes_symbols = True  # whether the class's `forward` accepts symbols

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._operator_modules = None

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        super().__init__(prefix=prefix, params=params)
        vars(self).update(_active=False, _flags={}, _cached=None, _op_hook=None)
        vars(self)["_formats"] = None  # formats of the last traced arguments and results

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name in _FORWARD_METHODS:
            vars(self)["_cached"] = None

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        if name in _FORWARD_METHODS:
            vars(self)["_cached"] = None

    def __getstate__(self):
        """Return the state for copies and pickles, without the graphs, which own memory."""
        return {**vars(self), "_cached": None}

    def register_child(self, block: Block, name: str | None = None) -> None:
        """Register `block`, a HybridBlock, as a child."""
        if not isinstance(block, HybridBlock):
            if isinstance(block, Block):
                raise ArgumentError(
                    f"a HybridBlock has HybridBlocks for children, and {shown(block)}"
                    f" ({type(block).__name__}) is none; in place of a Sequential take a"
                    " HybridSequential"
                )
            raise ArgumentTypeError(f"a child must be a HybridBlock, got {shown(block)}")
        super().register_child(block, name)

    def hybridize(
        self,
        active: bool = True,
        backend: str | None = None,
        clear: bool = True,
        static_alloc: bool = False,
        static_shape: bool = False,
        inline_limit: int = 2,
        forward_bulk_size: int | None = None,
        backward_bulk_size: int | None = None,
        **kwargs: Any,
    ) -> None:
        """Run this Block, and those inside, as graphs from the next call on.

        Parameters
        ----------
        active : bool
            False goes back to operator by operator.
        backend : None
            There are no other backends.
        clear : bool
            Forget earlier graphs.
        static_alloc, static_shape : bool
            Taken for scripts of MXNet: memory is planned for each signature in any case.
            `static_shape` goes with `static_alloc` only.
        inline_limit, forward_bulk_size, backward_bulk_size : int
            Taken for scripts of MXNet; they change nothing.
        """
        if kwargs:
            raise ArgumentTypeError(f"hybridize has no parameter {', '.join(map(shown, kwargs))}")
        if backend is not None:
            raise ArgumentError(f"hybridize: there is no backend {shown(backend)}")
        if static_shape and not static_alloc:
            raise ArgumentError(
                f"hybridize of {self.name}: static_shape=True goes with static_alloc=True only"
            )
        flags = {"static_alloc": static_alloc, "static_shape": static_shape}
        self._set_active(active, flags, clear)
        if active and (self._forward_hooks or self._forward_pre_hooks or self._backward_hooks):
            self._warn_of_hooks()
        super().hybridize(active, clear=clear, **flags)

    def _set_active(self, active, flags=None, clear=True):
        vars(self).update(_active=bool(active), _flags=flags or {})
        if clear or not active:
            self._clear_cached_op()
        count_block_change()

    def _clear_cached_op(self):
        """Drop the graphs: the next call traces again."""
        vars(self)["_cached"] = None

    def _warn_of_hooks(self):
        warn_user(
            f"{self.name} has hooks while it is hybridized: Blocks around it run it apart, so"
            " that its hooks are called"
        )

    def optimize_for(self, x: Any, *args: Any, backend: str | None = None, **kwargs: Any) -> None:
        """Raise an error, because cynet has no other backends.

        Parameters
        ----------
        x, *args : NDArray
            What `forward` takes.
        backend : str, optional
            Name of a backend.
        **kwargs
            Settings of the backend.

        Raises
        ------
        ArgumentError
            Always: there are no other backends.

        Examples
        --------
        >>> net = mx.gluon.nn.Dense(2)
        >>> try:
        ...     net.optimize_for(mx.nd.ones((1, 3)), backend="other")
        ... except mx.MXNetError as error:
        ...     print(type(error).__name__)
        ArgumentError
        """
        raise ArgumentError("optimize_for: a backend is needed, and there is none to choose")

    def cast(self, dtype: DTypeLike) -> None:
        super().cast(dtype)
        self._clear_cached_op()

    def register_op_hook(self, callback: Callable[..., Any], monitor_all: bool = False) -> None:
        """Call ``callback(node_name, operator_name, array)`` for each output of the graph's
        operators; `monitor_all` includes inputs."""
        super().register_op_hook(callback, monitor_all)
        vars(self)["_op_hook"] = (callback, monitor_all)
        count_block_change()

    def infer_shape(self, *args: Any) -> None:
        """Fill in unknown shapes of parameters from the inputs' shapes.

        Parameters
        ----------
        *args : NDArray or Symbol
            Inputs, whose shapes are known.

        Examples
        --------
        >>> net = mx.gluon.nn.Dense(2)
        >>> net.weight.shape
        (2, 0)
        >>> net.infer_shape(mx.nd.ones((4, 3)))
        >>> net.weight.shape
        (2, 3)
        """
        graph.infer_shapes(self, args)

    def infer_type(self, *args: Any) -> None:
        """Set the dtypes of parameters according to the inputs' dtypes.

        Parameters
        ----------
        *args : NDArray or Symbol
            Inputs, whose dtypes are known.

        Examples
        --------
        >>> net = mx.gluon.nn.Dense(2, in_units=3, dtype="float16")
        >>> net.infer_type(mx.nd.ones((4, 3), dtype="float16"))
        >>> net.weight.dtype
        'float16'
        """
        graph.infer_types(self, args)

    def _deferred_infer_shape(self, *args, **kwargs):
        self.infer_shape(*args, **kwargs)

    def _finish_deferred_inits(self, graphs, args, kwargs):
        finish_all_deferred_inits(self, graphs, args, kwargs)

    def export(self, path: FileName, epoch: int = 0, remove_amp_cast: bool = True) -> None:
        """Write the graph to ``path-symbol.json`` and parameters to ``path-0000.params``.

        ``SymbolBlock.imports``, ``Module.load`` and MXNet read them.

        Parameters
        ----------
        path : str
            Beginning of the two files' names.
        epoch : int
            Number in the name of the parameters' file: ``path-0007.params`` for 7.
        remove_amp_cast : bool
            Leave out the casts that mixed precision inserted.

        Raises
        ------
        StateError
            A RuntimeError: nothing was traced yet; hybridize and call it first.

        Examples
        --------
        >>> net = mx.gluon.nn.Dense(2, prefix="dense_")
        >>> net.initialize()
        >>> net.hybridize()
        >>> y = net(mx.nd.ones((1, 3)))
        >>> net.export("net")
        >>> same = mx.gluon.SymbolBlock.imports("net-symbol.json", ["data"], "net-0000.params")
        >>> bool((same(mx.nd.ones((1, 3))) == y).min())
        True
        """
        graph.export(self, path, epoch)

    def __call__(self, *args: Any, **kwargs: Any) -> NDArray:
        """Run `forward`, or its graph, and the hooks around it."""
        if is_tracing():
            with self.name_scope():
                return self.forward(*args, **kwargs)
        if self._forward_pre_hooks or self._forward_hooks or self._backward_hooks or SPANS_TRACED:
            return super().__call__(*args, **kwargs)
        return self._select_forward(args, kwargs)(*args, **kwargs)  # saves 0.1 us of super()

    def _select_forward(self, args, kwargs):
        """Return the method that computes a call: `forward`, or the one that runs the graph."""
        if self._active:
            first = args[0] if args else None
            if type(first) is NDArray or isinstance(_first_array((args, kwargs)), NDArray):
                graphs = self._cached or self._make_graph_cache()
                # a user's `forward` that wraps hybrid_forward runs at each call, as in MXNet
                return self.forward if graphs.runs_forward else self._call_cached_op
        if len(args) > 1 or kwargs:
            refuse_mixed_arrays((args, kwargs), self._name)
        return self.forward

    @property
    def _cached_graph(self):
        """Input and output Symbols of the last traced graph, or (); packages for MXNet read
        this."""
        found = self._last_graph()
        return () if found is None else ([Variable(name) for name in found.inputs], found.symbol)

    @property
    def _in_format(self):
        """The format of the last traced arguments; packages for MXNet read it."""
        if self._formats is None:
            return None
        args, kwargs = to_mxnet_format(self._formats[0])
        return [*args, *kwargs.values()]

    @property
    def _out_format(self):
        """The format of the results that were traced last."""
        return None if self._formats is None else to_mxnet_format(self._formats[1])

    def _last_graph(self):
        """Return the Graph (graph.py) of the last trace, or None."""
        return None if self._cached is None else self._cached.last_graph()

    def _make_graph_cache(self):
        vars(self)["_cached"] = cached = GraphCache(self)
        return cached

    def _call_cached_op(self, *args, **kwargs):
        """Run the graph for these arguments, or operator by operator if there is none."""
        graphs = self._cached or self._make_graph_cache()
        run, given = graphs.graph_for_call(args, kwargs)
        return run(given)

    def _refuse_mixed_inputs(self, inputs, kind):
        """Raise an error if both arrays and symbols are among the inputs."""
        if _first_array(inputs, kind) is not None:
            raise ArgumentError(f"{self.name} takes NDArrays or Symbols, and got some of both")

    def forward(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """Call ``hybrid_forward`` with ``mx.nd`` or ``mx.sym``, according to the inputs."""
        first = x if isinstance(x, (NDArray, Symbol)) else _first_array((x, args, kwargs))
        if not isinstance(first, NDArray):
            return self._forward_symbols(first, x, *args, **kwargs)
        cached = self._cached
        if cached is None or not (cached.runs_forward and self._active) or is_tracing():
            return self._forward_arrays(first, x, *args, **kwargs)
        return self._call_cached_op(x, *args, **kwargs)

    def _forward_symbols(self, first, x, *args, **kwargs):
        """Call ``hybrid_forward`` with symbols; `first` is the first of them."""
        if first is None:
            raise ArgumentError(
                f"{self.name} takes NDArrays or Symbols, and there is none among its arguments:"
                f" {shown(x)}; mx.nd.array(x) makes one"
            )
        # in a trace, mx.nd's functions turn arrays among the symbols into constants of the graph
        tracing = is_tracing()
        mixed = tracing and _first_array((x, args, kwargs), NDArray) is not None
        if not tracing:
            self._refuse_mixed_inputs((x, args, kwargs), NDArray)
        params = self._reg_params.items()
        kwargs.update({name: graph.parameter_symbol(each) for name, each in params})
        with self.name_scope():
            functions = self._operator_modules or self._find_operator_modules()
            if self._weight_rule is not None:
                kwargs = self._weight_rule(functions[not mixed], kwargs)
            return self.hybrid_forward(functions[not mixed], x, *args, **kwargs)

    def _find_operator_modules(self):
        found = type(self)._operator_modules = imported_operator_modules(type(self))
        return found

    def _builtin_forward(self, *args, **kwargs):
        """Call HybridBlock's `forward`, even where a user's class overrides it."""
        return HybridBlock.forward(self, *args, **kwargs)

    def _run_without_graph(self, *args, **kwargs):
        """Call ``hybrid_forward`` with arrays, without a graph."""
        return self._forward_arrays(_first_array((args, kwargs), NDArray), *args, **kwargs)

    def _forward_arrays(self, first, x, *args, **kwargs):
        """Call ``hybrid_forward`` with arrays; `first` is the first of them."""
        params = self._reg_params
        if args or kwargs:
            self._refuse_mixed_inputs((x, args, kwargs), Symbol)
        if params:
            ctx = first.context
            try:
                kwargs.update({name: each.data(ctx) for name, each in params.items()})
            except DeferredInitializationError:
                finish_deferred_init(self, params.values(), (x, *args))
                kwargs.update({name: each.data(ctx) for name, each in params.items()})
        functions = self._operator_modules or self._find_operator_modules()
        if self._weight_rule is not None:
            kwargs = self._weight_rule(functions[0], kwargs)
        return self.hybrid_forward(functions[0], x, *args, **kwargs)

    def hybrid_forward(self, F: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        """Compute the Block's outputs; a subclass defines this method.

        Parameters
        ----------
        F : module
            ``mx.nd`` or ``mx.sym``.
        x, *args
            Arrays of that kind.
        **kwargs
            Own parameters, by the names of attributes.

        Returns
        -------
        NDArray or Symbol, or nested list or tuple of them
            As `x` is.

        Raises
        ------
        UndefinedError
            The subclass does not define it.

        Examples
        --------
        >>> class Swish(mx.gluon.HybridBlock):
        ...     def hybrid_forward(self, F, x):
        ...         return x * F.sigmoid(x)
        ...
        >>> net = Swish()
        >>> net(mx.nd.array([-1, 0, 2]))
        [-0.26894143  0.          1.761594  ]
        <NDArray 3 @cpu(0)>
        >>> net(mx.sym.var("x")).list_arguments()
        ['x']
        """
        raise UndefinedError(f"{type(self).__name__} defines no hybrid_forward and no forward")

    hybrid_forward.is_undefined = True


_FORWARD_METHODS = ("forward", "hybrid_forward")  # names of methods that compute


def _first_array(value, kinds=(NDArray, Symbol)):
    """Return the first NDArray or Symbol in nested lists, tuples and dicts, or None."""
    try:
        return _find_first_instance(value, kinds)
    except RecursionError:
        raise ArgumentError("the arguments of a Block are nested too deep") from None


def _find_first_instance(value, kinds):
    if isinstance(value, kinds):
        return value
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        return None
    for each in value:
        found = _find_first_instance(each, kinds)
        if found is not None:
            return found
    return None
