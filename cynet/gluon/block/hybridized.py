"""GraphCache: the graphs of a Block, one for each kind of arguments."""

import time

from ... import autograd
from ...autograd.function import FunctionOfSymbolError
from ...base.errors import CynetError, describe_error, warn_user
from ...base.overrides import is_internal
from ...executor.plan_cache import PlanCache
from ...ndarray import NDArray
from ...ndarray._tape import get_state
from ..tracing import change_count, operator_hook
from .children import block_fingerprint, has_hooks, has_own_forward
from .graph import RunnableGraph, trace_without_random_draws
from .structure import DictFormat, flatten, hashable_format, refuse_mixed_arrays

_SPARSE_GRAD_REASON = (  # why a Block has no graph
    "gradients are row_sparse, of which graphs have none; call it once outside of autograd.record()"
)
_ARRAY_TYPES = {NDArray}  # the types of arguments that need no format
_MAX_SIGNATURES = 10_000  # cached signatures (format, mode, shapes, dtypes)
_TRAINING_BIT = 2  # bit of autograd's state that means "training mode"
_MAX_GRAPHS = 64  # graphs for one format of arguments, each for several shapes


class GraphCache:  # the graphs of a hybridized Block
    """Traces and runs the graphs of a hybridized HybridBlock.

    A graph is traced for each format of arguments (structure, numbers), mode (training or not) and,
    where the Block looked at shapes, for each of those. It is traced anew when the Block, or one
    inside, was changed.

    block: HybridBlock
    graph (Graph, optional): The only one, of a SymbolBlock.
    """

    def __init__(self, block, graph=None):
        self._block = block
        self.runs_forward = has_own_forward(block)
        self._fixed = graph
        self._finish_deferred_inits = block._finish_deferred_inits
        self._plans = {}  # (format of arguments, mode) -> RunnableGraphs for several shapes
        self._plan_by_signature = {}  # (format, mode, shapes, dtypes) -> one of `_plans`
        self._exact_plans = PlanCache()  # signature -> RunnableGraph for it alone
        self._arenas = {}  # idle memory arenas of all RunnableGraphs
        self._last = None  # the last traced graph, which export writes
        self._changes = -1
        self._no_deferred_at = -1  # change count at which no parameter was deferred
        self._fingerprint = None
        self._watched = None
        # parameters with row_sparse gradients, which graphs cannot compute
        self._sparse_params = ()
        self._untraceable_reason = None  # the reason for running operator by operator, or None
        self._skip_reason = None  # the reason why a call was not traced, or None
        self._mutating_traces = 0  # traces in which `forward` changed attributes
        self._warned_texts = set()

    def last_graph(self):
        """Return the Graph of the last trace, or None."""
        return self._last

    def why_no_graph(self):
        """Return the reason why calls were not traced."""
        if self._untraceable_reason is not None:
            return f"it cannot be traced: {self._untraceable_reason}"
        if self._skip_reason is not None:
            return self._skip_reason
        return "hybridize it and call it once"

    def graph_for_call(self, args, kwargs):
        """Return (RunnableGraph, arrays) for a call, else (`run_without_graph`, (args, kwargs))."""
        if self._changes != change_count[0]:
            self._drop_outdated_graphs()
        if self._untraceable_reason is not None:
            return self.run_without_graph, (args, kwargs)
        if self._sparse_params and self._wants_sparse_gradient():
            self._skip_reason = _SPARSE_GRAD_REASON
            return self.run_without_graph, (args, kwargs)
        if not kwargs and {*map(type, args)} == _ARRAY_TYPES:
            arrays, fmt, key = args, None, len(args)
        else:
            try:
                arrays, fmt = flatten([list(args), kwargs])
            except CynetError as error:
                self._skip_reason = f"it cannot be traced: {error}"
                self._warn_once(f"{error}; it runs operator by operator")
                return self.run_without_graph, (args, kwargs)
            if not all(isinstance(each, NDArray) for each in arrays):
                return self.run_without_graph, (args, kwargs)  # symbols
            if any(each.stype != "default" for each in arrays):
                self._skip_reason = "graphs hold dense arrays, and it was called with sparse ones"
                return self.run_without_graph, (args, kwargs)
            refuse_mixed_arrays(arrays, self._block.name)
            key = (hashable_format(fmt), arrays[0]._face)
        key = (key, get_state() & _TRAINING_BIT)
        signature = (key, *[(each.shape, each.dtype_flag) for each in arrays])
        plan = self._plan_by_signature.get(signature) or self._exact_plans.get(signature)
        if plan is None:
            self._init_deferred_params(args, kwargs)
            plan = self._make_runnable_graph(key, signature, arrays, fmt)
            if plan is None:
                return self.run_without_graph, (args, kwargs)
        return plan, arrays

    def run_without_graph(self, call):
        """Run the Block operator by operator; hybridized Blocks inside run as graphs."""
        args, kwargs = call
        if self.runs_forward:
            return self._block._run_without_graph(*args, **kwargs)
        return self._block.forward(*args, **kwargs)

    def _wants_sparse_gradient(self):
        """Return whether autograd records this call and a parameter needs a row_sparse gradient."""
        return autograd.is_recording() and any(
            grad.stype != "default" for each in self._sparse_params for grad in each._grad or ()
        )

    def _init_deferred_params(self, args, kwargs):
        """Initialize deferred parameters, if anything changed since the last search for them."""
        count = change_count[0]
        if self._no_deferred_at != count:
            if any(each._data is None and each._deferred_init for each in self._all_params()):
                self._finish_deferred_inits(self, args, kwargs)
            else:
                self._no_deferred_at = count

    def _all_params(self):
        return self._block.collect_params().values()

    def _make_runnable_graph(self, key, signature, arrays, fmt):
        """Return a RunnableGraph for a new signature; None if the Block cannot be traced and runs
        operator by operator."""
        plans = self._plans.setdefault(key, [])
        plan = next((each for each in plans if each.accepts_arrays(arrays)), None)
        if plan is None:
            since = time.perf_counter()
            fmt = fmt or [[0] * len(arrays), DictFormat((), ())]
            graph = self._fixed or self._trace_graph(arrays, fmt)
            if graph is None:
                return None
            plan = RunnableGraph(self._block, graph, self._arenas, arrays)
            self._last = graph
            vars(self._block)["_formats"] = fmt, graph.out_format
            if graph.reads_shapes and not plan.has_uninitialized_params():
                return self._exact_plans.add_plan(signature, plan, time.perf_counter() - since)
            if not graph.reads_shapes:
                plans.append(plan)
                del plans[:-_MAX_GRAPHS]
        if plan.has_uninitialized_params():
            return plan
        if len(self._plan_by_signature) >= _MAX_SIGNATURES:
            self._plan_by_signature.pop(next(iter(self._plan_by_signature)))
        self._plan_by_signature[signature] = plan
        return plan

    def _trace_graph(self, arrays, fmt):
        """Trace a call; return None if the Block cannot be traced and runs operator by operator."""
        block = self._block
        before = block_fingerprint(block)
        try:
            graph = trace_without_random_draws(block, arrays, fmt)
        except Exception as error:
            if isinstance(error, FunctionOfSymbolError) or self._overrides_forward():
                self._untraceable_reason = describe_error(error)
                self._warn_once(
                    f"{block.name} cannot be hybridized and runs operator by operator:"
                    f" {describe_error(error)}"
                )
                return None
            raise
        after = block_fingerprint(block)
        if graph.stored_symbols or after != before:
            self._fingerprint = after
            if self._overrides_forward() and self._count_attribute_change():
                return None
            self._warn_once(
                f"{block.name} changed attributes while it was traced; hybridized calls do not run"
                " that code again"
            )
        self._changes = change_count[0]
        return graph

    def _count_attribute_change(self):
        """Count that `forward` changed attributes; the second time, give up tracing."""
        self._mutating_traces += 1
        if self._mutating_traces > 1:
            self._untraceable_reason = "its forward changes attributes at each call"
            self._warn_once(
                f"{self._block.name} cannot be hybridized and runs operator by operator:"
                f" {self._untraceable_reason}"
            )
        return True

    def _overrides_forward(self):
        """Return whether the Block, or a Block inside, has a `forward` written by the user."""

        def has_user_forward(block):
            if not is_internal(vars(block).get("forward", is_internal)):
                return True
            defined_by = next(kind for kind in type(block).__mro__ if "forward" in vars(kind))
            return not vars(defined_by).get("_takes_symbols", False)

        if self.runs_forward:
            return False  # only hybrid_forward is traced
        found = []
        self._block.apply(lambda each: found.append(has_user_forward(each)))
        return any(found)

    def _drop_outdated_graphs(self):
        """Drop the graphs if the Block was changed since they were traced."""
        self._changes = change_count[0]
        self._sparse_params = [each for each in self._all_params() if each._grad_stype != "default"]
        now = block_fingerprint(self._block)
        if now == self._fingerprint and self._watched is operator_hook():
            return
        self._fingerprint, self._watched = now, operator_hook()
        self._plans.clear()
        self._plan_by_signature.clear()
        self._exact_plans.clear()
        if self._mutating_traces > 1:
            return
        self._untraceable_reason = None
        if has_hooks(self._block):
            self._untraceable_reason = "a Block inside has hooks"
        elif self._watched is not None and self._fixed is None:
            self._untraceable_reason = "every operator is watched"

    def _warn_once(self, text):
        if text not in self._warned_texts:
            self._warned_texts.add(text)
            warn_user(text)
