"""Graphs of HybridBlocks: tracing, running, inference of shapes and dtypes, export."""

import json
import random
import threading
import time
from typing import Any, NamedTuple

from ... import autograd, executor
from ... import ndarray as nd
from ... import symbol as sym
from ..._ndarray import with_face
from ...base.dtype import name_of
from ...base.errors import ArgumentError, CynetError, warn_user
from ...base.files import file_name
from ...base.kinds import to_index
from ...base.numpy_state import numpy_state_token
from ...base.tracing import active_trace
from ...ndarray import NDArray
from ...operator.checks.shapes import declared_shape, known_shape
from ...symbol import Symbol
from ..errors import StateError
from ..parameter import Parameter
from ..tracing import change_count, operator_hook, tracing
from .children import copy_attributes, has_own_forward, restore_attributes
from .structure import flatten, regroup
from .traced import Trace, Traced, UntraceableError, symbol_class_for

_RETRY_DELAYS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.2, 0.2)  # s before a new trace
_BYTES_PER_NODE = 4096  # approximate bytes of a graph's node
_graph_converters = []  # functions that convert graphs before they run, set by contrib/amp


def set_graph_converter(function):
    """Register ``function(symbol, input_names)``, which converts all graphs bound from now on."""
    _graph_converters[:] = [function]


class Graph(NamedTuple):  # the traced graph of a Block, and the names of its inputs
    """A traced Block.

    symbol : Symbol
        All outputs.
    inputs : list of str
        Names of the variables that the arguments stand for, in order.
    out_format
        See structure.py.
    constants : dict of str to NDArray
        Arrays that are neither inputs nor parameters.
    reads_shapes : bool
        Whether the Block looked at shapes, so that the graph is for these alone.
    params : dict of str to Parameter
        Those that came up.
    stored_symbols : bool
        Whether the call stored symbols in attributes of the Block; their old values are back.
    """

    symbol: Symbol
    inputs: list
    out_format: object
    constants: dict
    reads_shapes: bool
    params: dict
    stored_symbols: bool = False


def parameter_symbol(param):
    """Return the Symbol of a parameter in the present trace."""
    trace = active_trace()
    return param.var() if trace is None else trace.symbol_of_parameter(param)


def input_names(count, taken):
    """Return ``data``, or ``data0``, ``data1``, ...; with underscores if a parameter has the name.

    >>> input_names(2, {"data1"})
    ['data0_', 'data1_']
    """
    names = ["data"] if count == 1 else [f"data{i}" for i in range(count)]
    while not taken.isdisjoint(names):
        names = [f"{name}_" for name in names]
    return names


def trace_block(block, arrays, fmt):
    """Trace a Block: call it with symbols for the arrays of its arguments of format `fmt`."""
    before = copy_attributes(block)
    try:
        graph = _trace_block_call(block, arrays, fmt)
    except Exception:
        restore_attributes(before, Traced)
        raise
    return graph._replace(stored_symbols=restore_attributes(before, Traced))


def _trace_block_call(block, arrays, fmt):
    params = block.collect_params()
    names = input_names(len(arrays), params.keys())
    trace = Trace(
        {name: each.shape for name, each in zip(names, arrays)},
        {name: each.dtype for name, each in zip(names, arrays)},
        params.values(),
        arrays[0].context if arrays else None,
        symbol_class_for(arrays),
    )
    given, _ = regroup([trace.kind(sym.var(name).entries) for name in names], fmt)
    with tracing(trace), block.name_scope():
        # a user's forward that wraps hybrid_forward is not part of the graph
        run = block._builtin_forward if has_own_forward(block) else block.forward
        out = run(*given[0], **given[1])
        outputs, out_format = flatten(out, "output")
        outputs = [trace.constant(each) if isinstance(each, NDArray) else each for each in outputs]
        # an executor cannot output one of its inputs: an input that is returned unchanged is copied
        outputs = [
            sym.identity(each) if any(node.op is None for node, _ in each.entries) else each
            for each in outputs
        ]
    if not outputs:
        raise ArgumentError(f"{block.name}: a graph needs an output that is computed, got {out!r}")
    heads = [entry for each in outputs for entry in each.entries]
    return Graph(Symbol(heads), names, out_format, trace.constants, trace.reads_shapes, trace.used)


def trace_without_random_draws(block, arrays, fmt):
    """Trace a call; raise an error if it draws random numbers by Python or NumPy.

    Beside other threads, which may have drawn them, as those of a DataLoader do until their queue
    is full, it is traced again. What a block draws itself makes one graph different from another,
    or it draws in each trace and nobody does in the pauses between them.
    """
    seen, after, others = [], None, False
    for pause in (0, *_RETRY_DELAYS) if threading.active_count() > 1 else (0,):
        time.sleep(pause)
        before = _python_random_states()
        others = others or (pause > 0 and before != after)
        graph = trace_block(block, arrays, fmt)
        after = _python_random_states()
        if after == before:
            return graph
        seen.append(_graph_content_without_names(graph))
    if others and all(each == seen[0] for each in seen):
        return graph
    raise UntraceableError("random numbers that Python draws cannot be part of a graph")


def _python_random_states():
    """Return the states of Python's and NumPy's global generators, which change at each draw."""
    return hash(random.getstate()), numpy_state_token()


def _graph_content_without_names(graph):
    """Return a graph's nodes and constants without names: equal for two traces of one function."""
    nodes = json.loads(graph.symbol.tojson())["nodes"]
    constants = [(each.shape, each.asnumpy().tobytes()) for each in graph.constants.values()]
    return [(n["op"], n.get("attrs"), n["inputs"]) for n in nodes], constants


class _GraphConstant:  # an array that a graph reads, on each context
    """A constant of a graph with the interface of a Parameter; copied to each device once."""

    def __init__(self, array):
        self._copies = {array.context: array}

    def data(self, context):
        """Return the constant's array on a device."""
        found = self._copies.get(context)
        if found is None:
            array = next(iter(self._copies.values()))
            found = self._copies[context] = array.as_in_context(context)
        return found


class RunnableGraph:  # a traced graph that can run: with its CachedOp
    """A Graph with the CachedOp that runs it, and the sources of the CachedOp's inputs.

    block: HybridBlock
    graph: Graph
    arenas (dict): Idle arenas of the CachedOps of all graphs of the Block.
    arrays (list of NDArray): Of the first call.
    """

    def __init__(self, block, graph, arenas, arrays):
        self.graph = graph
        self.face = arrays[0]._face if arrays else NDArray._face  # mx.nd's or mx.np's array class
        hook = block._op_hook or (operator_hook() and (operator_hook(), False))
        self.watch = None if hook is None else HookedGraph(graph.symbol, *hook)
        symbol = graph.symbol if self.watch is None else self.watch.symbol
        for convert in _graph_converters:
            symbol = convert(symbol, graph.inputs)
        # a graph for one signature alone does not share its execution plans
        self.op = executor.CachedOp(symbol, not graph.reads_shapes, arenas)
        params = graph.params
        positions = {name: i for i, name in enumerate(graph.inputs)}
        self.sources = []  # source of each input: argument index, Parameter or _GraphConstant
        for name in self.op.inputs:
            if name in positions:
                self.sources.append(positions[name])
            elif name in params:
                self.sources.append(params[name])
            else:
                self.sources.append(_GraphConstant(graph.constants[name]))
        self.params = [each for each in self.sources if isinstance(each, Parameter)]
        self._given = sum(type(each) is int for each in self.sources)
        self._seen, self._one = -1, False
        self.single = graph.out_format == 0
        self._warn_of_unused_inputs(graph, [each.name for each in block.collect_params().values()])

    @property
    def nbytes(self):
        return _BYTES_PER_NODE * self.op.n_nodes + self.op.nbytes

    @property
    def cached_results(self):
        return self.op.cached_results

    def _warn_of_unused_inputs(self, graph, params):
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
        if self._seen != change_count[0]:
            self._seen = change_count[0]
            self._one = len(self.params) + self._given == len(self.sources) and all(
                each._data and len(each._data) == 1 and each._is_builtin() for each in self.params
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
                each.data(arrays[0].context)  # raises an error that lists its contexts
            raise
        if self.watch is not None:
            outputs = self.watch(outputs, dict(zip(self.op.inputs, inputs)))
        if outputs[0]._face is not self.face:  # the array class of the parameters
            outputs = [with_face(each, self.face) for each in outputs]
        if self.single:
            return outputs[0]
        return regroup(outputs, self.graph.out_format)[0]

    def has_uninitialized_params(self):
        """Return whether a parameter is not initialized, so that a call raises an error."""
        return any(each._data is None for each in self.params)

    def accepts_arrays(self, arrays):
        """Return whether the graph can be run with arrays of these shapes and dtypes."""
        shapes = {}
        for name, source in zip(self.op.inputs, self.sources):
            if isinstance(source, Parameter):
                shapes[name] = declared_shape(source.shape)
            else:
                array = arrays[source] if type(source) is int else self.graph.constants[name]
                shapes[name] = known_shape(array.shape)
        try:
            self.op.infer(shapes)
        except CynetError:
            return False
        return True


class HookedGraph:  # a graph that also outputs all operators' results, for a hook
    """A graph that also outputs the results of all its operators, for a hook.

    symbol: Symbol
    callback (callable): ``callback(name, operator, array)``.
    monitor_all (bool): Tell of the inputs, too.

    Attributes:
    symbol (Symbol): All outputs of all operators, then those of the graph.
    """

    def __init__(self, symbol, callback, monitor_all):
        self._callback, self._monitor_all = callback, monitor_all
        self._entries = [each for each in symbol.get_internals().entries if each[0].op is not None]
        self._nodes = list(dict.fromkeys(node for node, _ in self._entries))
        self.symbol = Symbol(self._entries + symbol.entries)

    def __call__(self, outputs, variables):
        """Call the hook with all operators' outputs; return the graph's own outputs."""
        count = len(self._entries)
        values = dict(zip(self._entries, outputs))
        for node in self._nodes:
            if self._monitor_all:
                for name, (source, i) in zip(node.input_names(), node.inputs):
                    array = values.get((source, i)) if source.op else variables[source.name]
                    if array is not None:  # unused outputs are None
                        self._callback(f"{node.name}_{name}", node.op.name, array)
            for i in range(node.num_visible_outputs):
                self._callback(node.output_name(i), node.op.name, values[node, i])
        return outputs[count:]


def _infer_params(block, args, what, of_array):
    """Yield (name, inferred value) of each parameter, by the Symbol's method `what`."""
    arrays, fmt = flatten([list(args), {}])
    graph = trace_block(block, arrays, fmt)
    symbol = graph.symbol
    read = set(symbol.list_inputs())
    given = {name: of_array(each) for name, each in zip(graph.inputs, arrays) if name in read}
    given.update((name, of_array(each)) for name, each in graph.constants.items())
    try:
        arguments, _, states = getattr(symbol, what)(**given)
    except CynetError as error:
        raise ArgumentError(
            f"{block.name}: shapes of parameters do not follow from these inputs: {error}"
        ) from error
    yield from zip(symbol.list_arguments(), arguments or ())
    yield from zip(symbol.list_auxiliary_states(), states or ())


def infer_shapes(block, args):
    """Set the shapes of all parameters that the graph determines from the inputs' shapes."""
    params = {each.name: each for each in block.collect_params().values()}
    for name, shape in _infer_params(block, args, "infer_shape_partial", lambda each: each.shape):
        if name in params and shape:
            params[name].shape = shape


def infer_types(block, args):
    """Set the dtypes of all parameters that the graph determines from the inputs' dtypes."""
    params = {each.name: each for each in block.collect_params().values()}
    for name, kind in _infer_params(block, args, "infer_type", lambda each: each.dtype):
        if name in params and kind is not None and name_of(params[name].dtype) != name_of(kind):
            params[name].cast(kind)


def exported_graph(block: Any) -> tuple[Any, dict[str, Any]]:
    """Return the Symbol that was traced last, and its parameters by names like ``arg:weight``."""
    graph, cached = block._last_graph(), block._cached
    if graph is None:
        why = "hybridize it and call it once" if cached is None else cached.why_no_graph()
        raise StateError(f"{block.name} has no graph to export: {why}")
    symbol, params, constants = graph.symbol, graph.params, graph.constants
    states = set(symbol.list_auxiliary_states())
    wanted = set(symbol.list_inputs())
    arrays = {
        f"{'aux' if name in states else 'arg'}:{name}": each._reduce()
        for name, each in params.items()
        if name in wanted
    }
    arrays.update((f"arg:{name}", each) for name, each in constants.items())
    return symbol, arrays


def export(block, path, epoch):
    """Write the graph that was traced last, and its parameters."""
    symbol, arrays = exported_graph(block)
    path = file_name(path, "export: the beginning of file names")
    epoch = to_index("export: epoch", epoch)
    symbol.save(f"{path}-symbol.json")
    with autograd.pause():
        nd.save(f"{path}-{epoch:04d}.params", arrays)
