"""Hybridized: a Block as graphs, one for each way in which it is called."""

import contextlib
import json
import random
import threading
import time

from ... import autograd, executor
from ..._ndarray import with_face
from ...autograd.function import FunctionOfSymbolError
from ...base.errors import ArgumentError, CynetError, describe_error, warn_user
from ...base.numpy_state import place_of_numpy
from ...base.overrides import is_ours
from ...executor.plan_cache import PlanCache
from ...ndarray import NDArray
from ...ndarray._tape import get_state
from ...operator.checks.shapes import known, understood
from ...symbol.node import topological_order
from ..errors import DeferredInitializationError
from ..parameter import Parameter
from ..parameter.shapes import has_sizes
from ..tracing import count_of_changes, tracing, watch
from .children import fingerprint, has_hooks, has_own_forward
from .graph import trace_block
from .hooked_graph import HookedGraph
from .structure import Fixed, Table, flatten, format_of_mxnet, refuse_mixture, regroup
from .traced import UntraceableError, kind_for

_conversions = []  # functions that change the graphs before they run: contrib/amp


def convert_graphs(function):
    """Have the graphs made from now on changed by ``function(symbol, names of data inputs)``."""
    _conversions[:] = [function]


_BY_ROWS = (
    "gradients are row_sparse, of which graphs have none; call it once outside of autograd.record()"
)
_MAX_SIGNATURES = 10_000  # signatures whose graph is remembered
_TRAINS = 2  # one of the thread's flags
_MAX_GRAPHS = 64  # graphs for one format of arguments, each for several shapes
_NODE_BYTES = 4096  # approximate bytes of a graph's node
_PAUSES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.2, 0.2)  # s in front of a trace beside drawing threads


class _Constant:
    """An array in a Parameter's place that is not a parameter; copied to each device once."""

    def __init__(self, array):
        self._copies = {array.context: array}

    def data(self, context):
        """The array on a device."""
        found = self._copies.get(context)
        if found is None:
            array = next(iter(self._copies.values()))
            found = self._copies[context] = array.as_in_context(context)
        return found


class _Plan:
    """A graph with the operator that runs it, and the sources of its inputs."""

    def __init__(self, block, graph, arenas, arrays):
        self.graph = graph
        self.face = arrays[0]._face if arrays else NDArray._face  # the face of the outputs, too
        hook = block._op_hook or (watch() and (watch(), False))
        self.watch = None if hook is None else HookedGraph(graph.symbol, *hook)
        symbol = graph.symbol if self.watch is None else self.watch.symbol
        for convert in _conversions:
            symbol = convert(symbol, graph.inputs)
        # the plans of a graph that serves one signature go with it
        plans = PlanCache(apart=not graph.asked)
        self.op = executor.CachedOp(symbol, plans, arenas)
        self._own_bytes = _NODE_BYTES * len(topological_order(symbol.entries))
        params = graph.params
        places = {name: i for i, name in enumerate(graph.inputs)}
        self.sources = []  # for each input its position, a Parameter or a _Constant
        for name in self.op.inputs:
            if name in places:
                self.sources.append(places[name])
            elif name in params:
                self.sources.append(params[name])
            else:
                self.sources.append(_Constant(graph.constants[name]))
        self.params = [each for each in self.sources if isinstance(each, Parameter)]
        self._given = sum(type(each) is int for each in self.sources)
        self._seen, self._one = -1, False
        self.single = graph.out_format == 0
        self._warn_of_unused(graph, [each.name for each in block.collect_params().values()])

    @property
    def nbytes(self):
        return self._own_bytes + self.op.nbytes

    @property
    def kept(self):
        return self.op.kept

    def _warn_of_unused(self, graph, params):
        used = set(self.op.inputs)
        for i, name in enumerate(graph.inputs):
            if name not in used:
                warn_user(f"input {i} of the graph: nothing reads it")
        unused = [name for name in params if name not in used]
        if unused:
            warn_user(
                f"parameter{'s' * (len(unused) > 1)} {', '.join(unused)}: nothing in the graph"
                f" reads {'them' if len(unused) > 1 else 'it'}"
            )

    def __call__(self, arrays):
        if self._seen != count_of_changes():
            self._seen = count_of_changes()
            self._one = len(self.params) + self._given == len(self.sources) and all(
                each._data and len(each._data) == 1 and each._is_plain() for each in self.params
            )
        if self._one:
            inputs = [arrays[s] if type(s) is int else s._data[0] for s in self.sources]
        else:
            context = arrays[0].context
            inputs = [arrays[s] if type(s) is int else s.data(context) for s in self.sources]
        try:
            outputs = self.op(*inputs)
        except ArgumentError:
            for each in self.params:
                each.data(arrays[0].context)  # raises an error with the parameter's contexts
            raise
        if self.watch is not None:
            outputs = self.watch(outputs, dict(zip(self.op.inputs, inputs)))
        if outputs[0]._face is not self.face:  # the face of the parameters
            outputs = [with_face(each, self.face) for each in outputs]
        if self.single:
            return outputs[0]
        return regroup(outputs, self.graph.out_format)[0]

    def waits(self):
        """Return whether a parameter has no arrays: the call is refused, and the next one looks
        again."""
        return any(each._data is None for each in self.params)

    def fits(self, arrays):
        """Return whether the graph can be run with arrays of these shapes and dtypes."""
        shapes = {}
        for name, source in zip(self.op.inputs, self.sources):
            if isinstance(source, Parameter):
                shapes[name] = understood(source.shape)
            else:
                array = arrays[source] if type(source) is int else self.graph.constants[name]
                shapes[name] = known(array.shape)
        try:
            self.op.infer(shapes)
        except CynetError:
            return False
        return True


class Hybridized:
    """The calls of a hybridized HybridBlock.

    A graph is traced for each format of arguments (structure, numbers), mode (training or not) and,
    where the Block looked at shapes, for each of those. It is traced anew when the Block, or one
    inside, was changed.

    Parameters
    ----------
    block : HybridBlock
    graph : Graph, optional
        The only one, of a SymbolBlock.
    """

    def __init__(self, block, graph=None):
        self._block = block
        self.runs_forward = has_own_forward(block)
        self._fixed = graph
        self._plans = {}  # (format, mode) -> list of plans that serve several shapes
        self._served = {}  # (format, mode, shapes and dtypes) -> one of them
        self._alone = PlanCache()  # the same -> plan, of a graph that serves this alone
        self._arenas = {}  # idle arenas of all plans
        self._last = None  # the graph that export writes
        self._changes = -1
        self._finished = -1  # changes after which no parameter waited for its shape
        self._print = None
        self._watched = None
        # parameters with row-sparse gradients, for which graphs write dense ones
        self._by_rows = ()
        self._plain = None  # the reason for running operator by operator, or None
        self._passed_by = None  # the reason why a call was not traced, or None
        self._changed_itself = 0  # how often a `forward` changed attributes while it was traced
        self._told = set()

    def last_graph(self):
        """The Graph of the last trace, or None."""
        return self._last

    def why_no_graph(self):
        """The reason why calls were not traced."""
        if self._plain is not None:
            return f"it cannot be traced: {describe_error(self._plain)}"
        if self._passed_by is not None:
            return self._passed_by
        return "hybridize it and call it once"

    def __call__(self, args, kwargs):
        if self._changes != count_of_changes():
            self._look_at_changes()
        if self._plain is not None or (self._by_rows and self._wants_rows()):
            if self._plain is None:
                self._passed_by = _BY_ROWS
            return self._run_plain(args, kwargs)
        if not kwargs and all(type(each) is NDArray for each in args):
            arrays, key = args, len(args)
        else:
            try:
                arrays, form = flatten([list(args), kwargs])
            except CynetError as error:
                self._passed_by = f"it cannot be traced: {error}"
                self._tell(f"{error}; it runs operator by operator")
                return self._run_plain(args, kwargs)
            if not all(isinstance(each, NDArray) for each in arrays):
                return self._run_plain(args, kwargs)  # symbols
            if any(each.stype != "default" for each in arrays):
                self._passed_by = "graphs hold dense arrays, and it was called with sparse ones"
                return self._run_plain(args, kwargs)
            refuse_mixture(arrays, self._block.name)
            key = (_hashable(form), kind_for(arrays))
        key = (key, get_state() & _TRAINS)
        signature = (key, *[(each.shape, each.dtype_flag) for each in arrays])
        plan = self._served.get(signature) or self._alone.get(signature)
        if plan is None:
            plan = self._plan_for(key, signature, arrays, args, kwargs)
            if plan is None:
                return self._run_plain(args, kwargs)
        return plan(arrays)

    def _run_plain(self, args, kwargs):
        """Operator by operator; hybridized Blocks inside run as graphs."""
        if self.runs_forward:
            first, _ = flatten([list(args), kwargs])
            return self._block._run(first[0], *args, **kwargs)
        return self._block.forward(*args, **kwargs)

    def _wants_rows(self):
        """Return whether this call is recorded and a gradient is to be row_sparse."""
        return autograd.is_recording() and any(
            grad.stype != "default" for each in self._by_rows for grad in each._grad or ()
        )

    # --- tracing ----------------------------------------------------------------------------------
    def _plan_for(self, key, signature, arrays, args, kwargs):
        self._finish_deferred(args, kwargs)
        plans = self._plans.setdefault(key, [])
        plan = next((each for each in plans if each.fits(arrays)), None)
        if plan is None:
            since = time.perf_counter()
            graph = self._fixed or self._traced(args, kwargs)
            if graph is None:
                return None
            plan = _Plan(self._block, graph, self._arenas, arrays)
            self._last = graph
            self._show_formats(args, kwargs)
            if graph.asked and not plan.waits():
                return self._alone.add(signature, plan, time.perf_counter() - since)
            if not graph.asked:
                plans.append(plan)
                del plans[:-_MAX_GRAPHS]
        if plan.waits():
            return plan
        if len(self._served) >= _MAX_SIGNATURES:
            self._served.pop(next(iter(self._served)))
        self._served[signature] = plan
        return plan

    def _show_formats(self, args, kwargs):
        given, more = format_of_mxnet(flatten([list(args), kwargs])[1])
        results = format_of_mxnet(self._last.out_format)
        vars(self._block).update(_in_format=[*given, *more.values()], _out_format=results)

    def _traced(self, args, kwargs):
        """The graph of a call; None if the Block cannot be traced and runs operator by operator."""
        block = self._block
        before = fingerprint(block)
        try:
            graph = _trace(block, args, kwargs)
        except Exception as error:
            if isinstance(error, FunctionOfSymbolError) or self._is_plain_forward():
                self._plain = error
                self._tell(
                    f"{block.name} cannot be hybridized and runs operator by operator:"
                    f" {describe_error(error)}"
                )
                return None
            raise
        after = fingerprint(block)
        if graph.kept or after != before:
            self._print = after
            if self._is_plain_forward() and self._restless():
                return None
            self._tell(
                f"{block.name} changed attributes while it was traced; hybridized calls do not run"
                " that code again"
            )
        self._changes = count_of_changes()
        return graph

    def _restless(self):
        """Note that a `forward` changed attributes; whether it is to run at each call, since it
        does so time and again."""
        self._changed_itself += 1
        if self._changed_itself > 1:
            self._plain = UntraceableError("its forward changes attributes at each call")
            self._tell(
                f"{self._block.name} cannot be hybridized and runs operator by operator:"
                f" {self._plain}"
            )
        return True

    def _is_plain_forward(self):
        """Return whether the Block, or one inside, overrides `forward`, which may do anything."""

        def own(block):
            if not is_ours(vars(block).get("forward", is_ours)):
                return True
            defined_by = next(kind for kind in type(block).__mro__ if "forward" in vars(kind))
            return not vars(defined_by).get("_takes_symbols", False)

        if self.runs_forward:
            return False  # only hybrid_forward is traced
        found = []
        self._block.apply(lambda each: found.append(own(each)))
        return any(found)

    def _finish_deferred(self, args, kwargs):
        """Finish the initialization of parameters: by the graph's inference, or by a run."""
        changes = count_of_changes()
        if self._finished == changes:
            return
        params = list(self._block.collect_params().values())
        if not any(each._data is None and each._deferred_init for each in params):
            self._finished = changes
            return
        with contextlib.suppress(CynetError):
            self._block._deferred_infer_shape(*args, **kwargs)
        for each in params:
            if has_sizes(each._shape):  # an error of its initializer goes to the caller
                each._finish_deferred_init()
        if any(each._data is None and each._deferred_init for each in params):
            if self._fixed is not None:  # running it would call this function again
                self._block._deferred_infer_shape(*args)
                for each in params:
                    each._finish_deferred_init()
                return
            with autograd.pause(), tracing(), contextlib.suppress(DeferredInitializationError):
                self._run_plain(args, kwargs)

    def _look_at_changes(self):
        """Forget graphs where the Block is another one than it was."""
        self._changes = count_of_changes()
        params = self._block.collect_params().values()
        self._by_rows = [each for each in params if each._grad_stype != "default"]
        now = fingerprint(self._block)
        if now == self._print and self._watched is watch():
            return
        self._print, self._watched = now, watch()
        self._plans.clear()
        self._served.clear()
        self._alone.clear()
        if self._changed_itself > 1:
            return
        self._plain = None
        if has_hooks(self._block):
            self._plain = UntraceableError("a Block inside has hooks")
        elif self._watched is not None and self._fixed is None:
            self._plain = UntraceableError("every operator is watched")

    def _tell(self, text):
        if text not in self._told:
            self._told.add(text)
            warn_user(text)


def _trace(block, args, kwargs):
    """The graph of a call, refused where Python or NumPy draws random numbers in it.

    Beside other threads, which may have drawn them, as those of a DataLoader do until their queue
    is full, it is traced again. What a block draws itself makes one graph different from another,
    or it draws in each trace and nobody does in the pauses between them.
    """
    seen, after, others = [], None, False
    for pause in (0, *_PAUSES) if threading.active_count() > 1 else (0,):
        time.sleep(pause)
        before = _python_draws()
        others = others or (pause > 0 and before != after)
        graph = trace_block(block, args, kwargs)
        after = _python_draws()
        if after == before:
            return graph
        seen.append(_content(graph))
    if others and all(each == seen[0] for each in seen):
        return graph
    raise UntraceableError("random numbers that Python draws cannot be part of a graph")


def _python_draws():
    """The states of NumPy's and Python's global generators, which change when they draw."""
    return hash(random.getstate()), place_of_numpy()


def _content(graph):
    """The content of a trace without names: equal for two traces of one function."""
    nodes = json.loads(graph.symbol.tojson())["nodes"]
    constants = [(each.shape, each.asnumpy().tobytes()) for each in graph.constants.values()]
    return [(n["op"], n.get("attrs"), n["inputs"]) for n in nodes], constants


def _hashable(form):
    """A format as a key of a dict."""
    if isinstance(form, Fixed):
        return form
    if isinstance(form, Table):
        return ("dict", form.keys, tuple(map(_hashable, form.formats)))
    if isinstance(form, list):
        return ("list", *map(_hashable, form))
    if isinstance(form, tuple):
        return ("tuple", *map(_hashable, form))
    return form
