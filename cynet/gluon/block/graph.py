"""Graphs of HybridBlocks: traced with symbols, used for inference of shapes and types, written to
files."""

from typing import NamedTuple

from ... import autograd
from ... import ndarray as nd
from ... import symbol as sym
from ...base.dtype import name_of
from ...base.errors import ArgumentError, CynetError
from ...base.files import file_name
from ...base.kinds import to_index
from ...base.tracing import active
from ...ndarray import NDArray
from ...symbol import Symbol
from ..errors import StateError
from ..tracing import tracing
from .children import has_own_forward, put_back, remember
from .structure import flatten, regroup
from .traced import Trace, Traced, kind_for


class Graph(NamedTuple):
    """A traced Block.

    symbol : Symbol
        All outputs.
    inputs : list of str
        Names of the variables that the arguments stand for, in order.
    out_format
        See structure.py.
    constants : dict of str to NDArray
        Arrays that are neither inputs nor parameters.
    asked : bool
        Whether the Block looked at shapes, so that the graph is for these alone.
    params : dict of str to Parameter
        Those that came up.
    kept : bool
        Whether the Block kept a symbol as an attribute, which has what it had before again.
    """

    symbol: Symbol
    inputs: list
    out_format: object
    constants: dict
    asked: bool
    params: dict
    kept: bool = False


def variable(param):
    """The Symbol of a parameter inside a graph."""
    trace = active()
    return param.var() if trace is None else trace.parameter(param)


def input_names(count, taken):
    """``data``, or ``data0``, ``data1``, ...; with underscores where a parameter has that name.

    >>> input_names(2, {"data1"})
    ['data0_', 'data1_']
    """
    names = ["data"] if count == 1 else [f"data{i}" for i in range(count)]
    while not taken.isdisjoint(names):
        names = [f"{name}_" for name in names]
    return names


def trace_block(block, args, kwargs):
    """The Graph of a Block called with symbols in place of the arrays in its arguments."""
    before = remember(block)
    try:
        graph = _trace(block, args, kwargs)
    except Exception:
        put_back(before, Traced)
        raise
    return graph._replace(kept=put_back(before, Traced))


def _trace(block, args, kwargs):
    arrays, form = flatten([list(args), kwargs])
    params = block.collect_params()
    names = input_names(len(arrays), params.keys())
    trace = Trace(
        {name: each.shape for name, each in zip(names, arrays)},
        {name: each.dtype for name, each in zip(names, arrays)},
        params.values(),
        arrays[0].context if arrays else None,
        kind_for(arrays),
    )
    given, _ = regroup([trace.kind(sym.var(name).entries) for name in names], form)
    with tracing(trace), block.name_scope():
        # a user's forward in front of hybrid_forward has run, or is running, with the arrays
        run = block._own_forward if has_own_forward(block) else block.forward
        out = run(*given[0], **given[1])
        outputs, out_format = flatten(out, "output")
        outputs = [trace.constant(each) if isinstance(each, NDArray) else each for each in outputs]
        # a plan computes its outputs: an input that is returned unchanged is copied
        outputs = [
            sym.identity(each) if any(node.op is None for node, _ in each.entries) else each
            for each in outputs
        ]
    if not outputs:
        raise ArgumentError(f"{block.name}: a graph needs an output that is computed, got {out!r}")
    heads = [entry for each in outputs for entry in each.entries]
    return Graph(Symbol(heads), names, out_format, trace.constants, trace.asked, trace.used)


def _inferred(block, args, what, of_array):
    """(names of parameters, the inferred value of each) by the inference `what` of the graph."""
    arrays, _ = flatten(list(args))
    graph = trace_block(block, args, {})
    symbol = graph.symbol
    known = set(symbol.list_inputs())
    given = {name: of_array(each) for name, each in zip(graph.inputs, arrays) if name in known}
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
    for name, shape in _inferred(block, args, "infer_shape_partial", lambda each: each.shape):
        if name in params and shape:
            params[name].shape = shape


def infer_types(block, args):
    """Set the dtypes of all parameters that the graph determines from the inputs' dtypes."""
    params = {each.name: each for each in block.collect_params().values()}
    for name, kind in _inferred(block, args, "infer_type", lambda each: each.dtype):
        if name in params and kind is not None and name_of(params[name].dtype) != name_of(kind):
            params[name].cast(kind)


def export(block, path, epoch):
    """Write the graph that was traced last, and its parameters."""
    graph, cached = block._last_graph(), block._cached
    if graph is None:
        why = "hybridize it and call it once" if cached is None else cached.why_no_graph()
        raise StateError(f"{block.name} has no graph to export: {why}")
    path = file_name(path, "export: the beginning of file names")
    epoch = to_index("export: epoch", epoch)
    symbol, params, constants = graph.symbol, graph.params, graph.constants
    symbol.save(f"{path}-symbol.json")
    states = set(symbol.list_auxiliary_states())
    wanted = set(symbol.list_inputs())
    arrays = {
        f"{'aux' if name in states else 'arg'}:{name}": each._reduce()
        for name, each in params.items()
        if name in wanted
    }
    arrays.update((f"arg:{name}", each) for name, each in constants.items())
    with autograd.pause():
        nd.save(f"{path}-{epoch:04d}.params", arrays)
