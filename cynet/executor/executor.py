"""Executor: a Symbol bound to arrays, ready to run forward and backward."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from .._executor import Plan
from ..base import config
from ..base.dtype import name_of
from ..base.errors import ArgumentError, ArgumentTypeError, CynetError, ShapeError, shown
from ..base.guard import guarded
from ..base.observers import executor_observers
from ..graph import pipeline
from ..graph.collector import garbage_collector_paused
from ..graph.compile import lower
from ..graph.describe import describe
from ..graph.infer import Structure, infer_types
from ..graph.ir import Value
from ..graph.memory_plan import plan_memory
from ..graph.verify import verify_memory
from ..ndarray import NDArray, array, empty
from ..operator.checks.shapes import known_shape
from ..symbol.node import fixed_arguments
from .arena_pool import ArenaLease, ArenaPool, allocate_for_use, arena_size, zeros_for_values
from .cached_results import cached_groups
from .constant_inputs import ConstantInputs
from .gpu_step import GpuStep, joins_steps
from .monitoring import Monitoring
from .notify_observers import notify_backward, notify_forward
from .operators import compute_constants, create_operators
from .plan_cache import bytes_of_graph
from .postponed import PostponedPlan, head_gradients
from .rebind import ArgumentSlots, placeholder
from .reshaping import reshape_arrays
from .update_step import UpdateStep

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from ..graph.ir import Graph
    from ..typing import ArrayLike, Context, NamedArrays, Shape, Symbol


@guarded(but=("forward", "backward", "step"))
class Executor(PostponedPlan, Monitoring):  # a symbol bound to arrays
    """A Symbol bound to arrays, made by ``Symbol.bind`` or ``Symbol.simple_bind``.

    One thread at a time uses it (docs/guide/threads.md).

    Parameters
    ----------
    symbol : Symbol
        The graph.
    ctx : Context
        Its device.
    grad_req : dict of str to str
        What backward does with each gradient, by the argument's name.
    group2ctx, shared_exec, inferred, structure
        Passed on by these two functions, see ``Symbol.bind``.

    Attributes
    ----------
    arg_arrays, grad_arrays, aux_arrays : list of NDArray
        Arrays in the order of ``list_arguments`` and ``list_auxiliary_states``; None where no
        gradient is stored.
    arg_dict, grad_dict, aux_dict, output_dict : dict of str to NDArray
        The same arrays, and the outputs, by name.
    outputs : list of NDArray
        The outputs; every `forward` writes them.
    has_run : bool
        Whether there was a `forward`; who passes the executor on may set it back.
    nbytes : int
        Memory that it takes and shares with no other executor: outputs, tables.
    cached_results : list of CachedResult
        Weights in other forms, which executors share.
    joins_steps : bool
        Whether `step` does more than call `forward`, `backward` and an update one after the other.

    Examples
    --------
    >>> x = mx.sym.var("x")
    >>> args, grads = {"x": mx.nd.array([2, 3])}, {"x": mx.nd.zeros(2)}
    >>> exe = mx.sym.make_loss(x * x).bind(mx.cpu(), args, grads)
    >>> exe.forward(is_train=True)
    [
    [4. 9.]
    <NDArray 2 @cpu(0)>]
    >>> exe.backward()
    >>> exe.grad_dict["x"]
    [4. 6.]
    <NDArray 2 @cpu(0)>
    >>> list(exe.output_dict)
    ['make_loss0_loss']
    >>> exe.copy_params_from({"x": mx.nd.array([4, 5])})
    >>> exe.step()
    >>> exe.outputs[0]
    [16. 25.]
    <NDArray 2 @cpu(0)>
    >>> exe.reshape(x=(3,), allow_up_sizing=True).arg_dict["x"].shape
    (3,)
    >>> print(exe.debug_str().splitlines()[0])
       0 forward  elemwise_mul _mul0 @cpu(0)
    >>> len(exe.profile(exe.forward, n=2)) > 0
    True
    >>> exe.release_arena()
    """

    outputs: list[NDArray]
    grad_dict: NamedArrays
    _slots: Any

    def __init__(
        self,
        symbol: Symbol,
        ctx: Context,
        arg_arrays: list[NDArray],
        grad_arrays: list[Any],
        grad_req: dict[str, str],
        aux_arrays: list[NDArray],
        group2ctx: Mapping[str, Context] | None = None,
        shared_exec: Executor | None = None,
        inferred: tuple[Any, Any] = (None, None),
        structure: Structure | None = None,
    ) -> None:
        self._symbol = symbol
        self._ctx = ctx
        self._group2ctx = group2ctx
        self._grad_req = grad_req
        self._arg_names = symbol.list_arguments()
        self._aux_names = symbol.list_auxiliary_states()
        self.arg_arrays = arg_arrays
        self.grad_arrays = grad_arrays
        self.aux_arrays = aux_arrays
        self.arg_dict = dict(zip(self._arg_names, arg_arrays))
        self.grad_dict = dict(zip(self._arg_names, grad_arrays))
        self.aux_dict = dict(zip(self._aux_names, aux_arrays))
        self.has_run = False
        self._training = True  # is_train of the last forward
        self._monitor = None
        self._monitor_all = False
        near = shared_exec if shared_exec is not None and shared_exec._ctx == ctx else None
        self._arena_pool: ArenaPool = ArenaPool() if near is None else near._arena_pool
        self._lease: ArenaLease | None = None
        self._me = weakref.ref(self)
        self._structure = structure or Structure(symbol.entries)
        fixed = fixed_arguments(self._structure.order)
        pairs = [(self.arg_dict[n], number) for n, number in fixed.items() if n in self.arg_dict]
        shared = shared_exec._constant_inputs if shared_exec is not None else None
        self._constant_inputs: Any = ConstantInputs(pairs, shared) if pairs else None
        if not self._postpone_plan(inferred):
            self._build_plan(inferred)

    # --- building ---------------------------------------------------------------------------------
    @garbage_collector_paused()
    def _build_plan(self, inferred: tuple[Any, Any] = (None, None)) -> None:
        """Run the passes and build the native plan; outputs keep their arrays if built again.

        Without gradients the plan is one for ``forward(is_train=False)``.
        """
        recorded, self._recorded = self._recorded, None  # the lease of a run without a plan
        self.release_arena()
        self._recorded = recorded
        arrays = {**self.arg_dict, **self.aux_dict}
        # monitors and observers need the values of all nodes
        watched = self._watched = self._monitor is not None or bool(executor_observers)
        names = frozenset() if watched else pipeline.enabled_passes()
        dtypes = {name: name_of(value.dtype) for name, value in arrays.items()}
        if inferred[1] is None:
            found = infer_types(self._symbol.entries, dtypes, "float32", structure=self._structure)
            inferred = inferred[0], found
        self._types = inferred[1]
        graph = lower(
            self._symbol.entries,
            self._ctx,
            {name: known_shape(value.shape) for name, value in arrays.items()},
            dtypes,
            {n: self._grad_req[n] for n, grad in self.grad_dict.items() if grad is not None},
            self._group2ctx,
            names,
            not any(grad is not None for grad in self.grad_arrays),
            watched,
            inferred,
            self._structure,
        )
        operators = create_operators(graph)
        python = [s for s in graph.steps if operators[s.origin or s].runs_python]
        plan_memory(graph, "inplace" in names, "reuse" in names, keep=() if watched else python)
        if config.get("CYNET_GRAPH_VERIFY"):
            verify_memory(graph, () if watched else python)
        self._graph = graph
        if not hasattr(self, "outputs"):
            self.outputs = zeros_for_values(graph.outputs)
        self._heads = zeros_for_values(graph.heads)
        self._takes_heads = any(head is not None for head in self._heads)
        self._waits = bool(graph.grads)
        fixed, self.cached_results = compute_constants(graph), []
        self._arrays = {**self._arrays_by_value(graph), **fixed}
        for group in cached_groups(graph):
            self.cached_results.append(
                group.result([self._arrays[source] for source in group.sources])
            )
            self._arrays[group.value] = self.cached_results[-1].array
        self.nbytes = bytes_of_graph(graph, [*fixed.values(), *self.outputs])
        self._arena = self._lease = self._slots = None
        size = arena_size(graph)
        if size and not python and not watched and self._ctx.device_type == "cpu":
            value = Value("arena", (size,), "uint8", self._ctx)
            arena = placeholder(0, value)
            self._plan = Plan(graph, operators, self._arrays, arena, cached=self.cached_results)
            self._slots = ArgumentSlots(self._plan, [arena], set())
            self._arena_size = size
            self._take_arena()
        else:
            # arrays that Python code, the user or a recorded CUDA graph uses keep their addresses
            if size:
                self._arena = allocate_for_use(graph, empty, (size,), self._ctx, "uint8")
                self.nbytes += size
            guarded = watched or not python
            self._plan = Plan(
                graph, operators, self._arrays, self._arena, guarded, self.cached_results
            )
        self._steps: dict[bool, Any] = {}  # has an update -> GpuStep
        self.joins_steps = joins_steps(self._plan)
        self._note_signature_has_plan()

    def _take_arena(self) -> ArenaLease:
        """Lease an arena of the pool for this executor's values."""
        lease = self._lease = allocate_for_use(
            self._graph, self._arena_pool.lease_arena, self._me, self._arena_size, self._ctx
        )
        self._slots.bind(0, [lease.array])
        return lease

    def release_arena(self) -> None:
        """End the lease of the arena, so that other executors can use it."""
        self._drop_recorded_outputs()
        if self._lease is not None and self._lease.holder is self._me:
            self._lease.pending = False
            self._lease = ArenaLease(None, None)

    def _bound_arrays_by_value(self, graph: Graph) -> dict[Value, NDArray]:
        """Return the bound arrays by the graph's values."""
        arrays = {value: self.arg_dict[name] for name, value in graph.args.items()}
        arrays.update((value, self.aux_dict[name]) for name, value in graph.auxs.items())
        arrays.update((value, self.grad_dict[name]) for name, value in graph.grads.items())
        return arrays

    def _arrays_by_value(self, graph: Graph) -> dict[Value, NDArray]:
        arrays = self._bound_arrays_by_value(graph)
        arrays.update(zip(graph.outputs, self.outputs))
        arrays.update((v, a) for v, a in zip(graph.heads, self._heads) if v is not None)
        return arrays

    # --- running ----------------------------------------------------------------------------------
    @property
    def output_dict(self) -> NamedArrays:
        """The outputs by name, a dict of NDArray."""
        return dict(zip(self._symbol.list_outputs(), self.outputs))

    def forward(self, /, is_train: bool = False, **kwargs: ArrayLike) -> list[NDArray]:
        """Compute and return `outputs`; returns at once, reading an output waits.

        Parameters
        ----------
        is_train : bool
            Whether Dropout, BatchNorm and the like behave as in training.
        **kwargs
            Values that are written to arguments first: NDArray or NumPy array of the bound shape,
            by name.

        Raises
        ------
        ArgumentTypeError
            If one of the keywords is not an argument of the symbol.
        ShapeError
            If an array has another shape than the one that is bound.

        Examples
        --------
        >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, no_bias=True, name="fc")
        >>> exe = net.simple_bind(mx.cpu(), data=(1, 3))
        >>> exe.arg_dict["fc_weight"][:] = 1
        >>> exe.forward(data=np.array([[1, 2, 3]]))[0].asnumpy()
        array([[6., 6.]], dtype=float32)
        >>> exe.forward(data=np.ones((2, 3)))
        Traceback (most recent call last):
            ...
        cynet.errors.ShapeError: forward: argument 'data' has shape (2, 3), bound was (1, 3)
        """
        values = {}
        for name, value in kwargs.items():
            bound = self.arg_dict.get(name)
            if bound is None:
                raise ArgumentTypeError(
                    f"forward: unknown argument '{name}'; the arguments are "
                    f"{', '.join(self._arg_names)}"
                )
            if not isinstance(value, NDArray):
                value = array(value, ctx=bound.ctx, dtype=bound.dtype)
            if value.shape != bound.shape:
                raise ShapeError(
                    f"forward: argument '{name}' has shape {value.shape}, bound was {bound.shape}"
                )
            values[name] = value
        targets = [self.arg_dict[name] for name in values]
        if not self.forward_on(list(values.values()), targets, is_train):
            raise CynetError("forward: the arguments changed while they were taken")
        return self.outputs

    def forward_on(
        self, sources: Sequence[NDArray], targets: Sequence[NDArray], is_train: bool
    ) -> bool:
        """Run `forward` after copying arrays into bound arrays, which are given without names.

        Parameters
        ----------
        sources : list of NDArray
            Arrays that are copied first.
        targets : list of NDArray
            Where to copy them: arrays of `arg_arrays`.
        is_train : bool
            Whether Dropout, BatchNorm and the like behave as in training.

        Returns
        -------
        bool
            False, and nothing is done, unless each source is an NDArray of its target's shape.

        Examples
        --------
        >>> exe = mx.sym.square(mx.sym.var("x")).simple_bind(mx.cpu(), x=(2,))
        >>> exe.forward_on([mx.nd.array([2, 3])], exe.arg_arrays, False), exe.outputs[0].asnumpy()
        (True, array([4., 9.], dtype=float32))
        >>> exe.forward_on([mx.nd.ones((5,))], exe.arg_arrays, False)
        False
        """
        if executor_observers or self._watched:
            self._rebuild_for_monitor()
        if self._calls is not None:
            return self._run_call_by_call(sources, targets, is_train)
        if self._recorded is not None:
            self._drop_recorded_outputs()
            self._recorded = None
        if self._constant_inputs is not None:
            self._constant_inputs.restore()
        lease = self._lease
        if lease is not None:
            if lease.holder is not self._me or self._slots.has_stale_tables:
                lease = self._take_arena()
            lease.pending = is_train and self._waits
        if not self._plan.run_forward(bool(is_train), sources, targets):
            return False
        self.has_run, self._training = True, bool(is_train)
        if executor_observers:
            notify_forward(self)
        if self._monitor is not None:
            self._install_callbacks(self._monitor)
        return True

    def backward(
        self, out_grads: NDArray | Sequence[NDArray] | None = None, is_train: bool = True
    ) -> None:
        """Compute the gradients of the last `forward`.

        Without any (all ``grad_req='null'``, or no `args_grad`) there is nothing to do.

        Parameters
        ----------
        out_grads : NDArray, list or dict of NDArray, optional
            Gradients of the outputs; not needed for outputs of loss operators.
        is_train : bool
            Part of MXNet's signature; operators run in the mode of the last `forward`.

        Raises
        ------
        ArgumentError
            If the gradient of an output that is not a loss function is missing, or there are too
            many.
        ArgumentTypeError
            If one is not an NDArray.
        ShapeError
            If one has another shape than its output.
        CynetError
            If an executor that shares memory with this one has run since `forward`.
        """
        if self._recorded is not None:
            self._run_backward_of_calls(out_grads)
            return
        if not self._graph.grads:
            return  # no gradient is requested, as in MXNet
        if out_grads is not None or self._takes_heads:
            self._set_head_gradients(out_grads)
        lease = self._lease
        if lease is not None:
            if lease.holder is not self._me:
                raise CynetError(
                    "backward: what forward left is gone: an executor that shares memory with this"
                    " one has run since; call forward again"
                )
            lease.pending = False
        self._plan.run_backward(self._training)
        if executor_observers and self._watched:
            notify_backward(self)
        if self._monitor is not None:
            self._watch_backward(self._monitor)

    def step(self, update: tuple[Any, tuple[Any, ...]] | None = None) -> None:
        """``forward(True)``, ``backward()`` and optionally an update as one step, without access in
        between: on a GPU its recordable part is one graph.

        Parameters
        ----------
        update : (UpdateStep, tuple), optional
            The update, and the arguments of its call (`Optimizer.joined_update`).
        """
        joined, numbers = (None, ()) if update is None else _check_step_update(update)
        if self.joins_steps and self._can_run_as_one_step():
            self.has_run = self._training = True
            step = self._steps.get(joined is not None)
            if step is None or step.update is not joined:
                step = self._steps[joined is not None] = GpuStep(self._plan, joined)
            step(numbers)
            return
        self.forward(True)
        self.backward()
        if joined is not None:
            joined(*numbers)

    def _can_run_as_one_step(self) -> bool:
        """Return whether both passes can be one step: no access between, no explicit gradients."""
        seen = self._monitor is not None or executor_observers
        return not seen and not self._takes_heads and bool(self._graph.grads)

    def _set_head_gradients(self, out_grads: Any) -> None:
        names = self._symbol.list_outputs()
        shapes = [None if head is None else head.shape for head in self._heads]
        for head, grad in zip(self._heads, head_gradients(names, shapes, out_grads)):
            if head is not None:
                head[:] = grad

    # --- parameters, shapes -----------------------------------------------------------------------
    def copy_params_from(
        self,
        arg_params: NamedArrays,
        aux_params: NamedArrays | None = None,
        allow_extra_params: bool = False,
    ) -> None:
        """Copy parameters into the bound arrays.

        Parameters
        ----------
        arg_params, aux_params : dict of str to NDArray
            Parameters and auxiliary states by name; `aux_params` may be None.
        allow_extra_params : bool
            Ignore names that are not bound.

        Raises
        ------
        ArgumentError
            If a name is not bound and `allow_extra_params` is false.
        ShapeError
            If an array has another shape than the one that is bound.
        """
        for kind, params, arrays in (
            ("arg_params", arg_params, self.arg_dict),
            ("aux_params", aux_params or {}, self.aux_dict),
        ):
            for name, value in params.items():
                if name in arrays:
                    if value.shape != arrays[name].shape:
                        raise ShapeError(
                            f"copy_params_from: {kind} '{name}' has shape {value.shape}, "
                            f"bound was {arrays[name].shape}"
                        )
                    value.astype(arrays[name].dtype, copy=False).copyto(arrays[name])
                elif not allow_extra_params:
                    raise ArgumentError(
                        f"copy_params_from: '{name}' of {kind} is not among the bound names "
                        f"{', '.join(arrays) or '(none)'}"
                    )
        if self._constant_inputs is not None:
            self._constant_inputs.restore()

    def reshape(
        self, /, partial_shaping: bool = False, allow_up_sizing: bool = False, **kwargs: Shape
    ) -> Executor:
        """Make an executor for other input shapes that shares the parameters.

        Parameters
        ----------
        partial_shaping : bool
            Allow arguments that are not named to change their shape, too.
        allow_up_sizing : bool
            Allocate new memory for an array that grows; a smaller one uses the front of the old
            memory.
        **kwargs
            New shapes, by the argument's name.

        Raises
        ------
        ArgumentTypeError
            If one of the keywords is not an argument of the symbol.
        ArgumentError
            If another argument would change its shape, or an array would grow, and neither is
            allowed.
        ShapeError
            If the shapes do not fit the symbol.
        """
        unknown = sorted(set(kwargs) - set(self._arg_names))
        if unknown:
            raise ArgumentTypeError(f"reshape: unknown argument {', '.join(map(repr, unknown))}")
        free = {*self._arg_names, *self._aux_names} if partial_shaping else kwargs
        hint = ", though it is not among the shapes given; pass partial_shaping=True to allow it"
        return self.reshape_free(kwargs, free, allow_up_sizing, hint)

    def reshape_free(
        self,
        shapes: Mapping[str, Shape],
        free: Container[str],
        allow_up_sizing: bool = True,
        hint: str = "",
    ) -> Executor:
        """`reshape` with control over which arrays may change their shape.

        Parameters
        ----------
        shapes : dict of str to tuple
            New shapes, by the argument's name.
        free : container of str
            Names of arguments and auxiliary states that may change their shape.
        allow_up_sizing : bool
            Allocate new memory for an array that grows.
        hint : str
            End of the error message about a name that is not free.

        Examples
        --------
        >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
        >>> exe = net.simple_bind(mx.cpu(), data=(1, 3))
        >>> exe.reshape_free({"data": (8, 3)}, {"data"}).outputs[0].shape
        (8, 2)
        """
        parts = reshape_arrays(self, shapes, free, allow_up_sizing, hint)
        args, grads, auxs, found = parts
        made = Executor(
            self._symbol,
            self._ctx,
            args,
            grads,
            self._grad_req,
            auxs,
            self._group2ctx,
            self,
            (found, self._types),
            self._structure,
        )
        made.set_monitor_callback(self._monitor, self._monitor_all)
        return made

    def debug_str(self) -> str:
        """Return the plan as lines of text: every step with its outputs, then the memory it needs.

        Steps that have several algorithms name the one that was chosen, and the estimates of all.

        The last lines are MXNet's: the MB (2**20 bytes) of all temporaries as they are placed, and
        how many steps ask for temporary space; between them the MB without in-place and sharing.
        Arguments, gradients and outputs, which have arrays of their own, are not counted. In front
        of them stands how much the plan keeps from run to run beside its temporaries: weights
        scaled by BatchNorm, weights in the form that kernels read.
        """
        return describe(self._graph)


def _check_step_update(update: Any) -> tuple[Any, tuple[Any, ...]]:
    if isinstance(update, tuple) and len(update) == 2:
        joined, numbers = update
        if isinstance(joined, UpdateStep) and isinstance(numbers, tuple):
            return update
    raise ArgumentTypeError(
        f"step: update must be None or what Optimizer.joined_update returns, got {shown(update)}"
    )
