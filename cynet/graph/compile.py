"""Makes a Graph from a Symbol: runs all passes except the memory pass.

Nothing is allocated, so networks of any size can be examined.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from ..base import config
from ..base.errors import CynetError, ShapeError
from ..operator.checks.shapes import EMPTY, MAX_NDIM, check_elements, known_shape, plain_shape
from ..operator.property import is_known
from . import pipeline
from .from_symbol import build_graph
from .gradient import gradient
from .infer import Structure, infer_shapes, infer_types
from .memory_plan import plan_memory
from .placement import place_nodes
from .subgraphs import build_bodies
from .verify import verify, verify_memory

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..symbol.node import Entry
    from ..typing import Context, Shape, Symbol
    from .ir import Graph, Value
    from .memory_plan import MemoryReport

MAX_SIMPLE_ELEMENTS = 1 << 40  # larger shapes are checked by `check_elements`


def lower(
    heads: list[Entry],
    ctx: Context,
    shapes: Mapping[str, Shape],
    dtypes: Mapping[str, str],
    grad_req: Mapping[str, str],
    group2ctx: Mapping[str, Context] | None = None,
    names: frozenset[str] | None = None,
    predict: bool = False,
    apart: bool = False,
    inferred: tuple[dict[Entry, Any] | None, dict[Entry, Any] | None] = (None, None),
    structure: Structure | None = None,
) -> Graph:
    """Make a Graph: run placement, inference, build, the gradient pass and the optional passes.

    heads: The symbol's outputs (``symbol.entries``).
    shapes, dtypes: The known ones of arguments and auxiliary states; a length of 0 that an array
        has is `EMPTY`.
    grad_req: The requests of the arguments that have a gradient.
    names: The optional passes that run; by default those of CYNET_GRAPH_PASSES.
    predict: The plan is for ``forward(is_train=False)``, at which some more passes help.
    apart: Every gradient that an operator gives to an input has memory of its own (`gradient`).
    inferred: What `infer_shapes` and `infer_types` found from `shapes` and `dtypes`; None where
        they have not been asked.
    structure: That of `heads`, where it is there already.

    Returns Graph.
    """
    names = pipeline.enabled_passes() if names is None else names
    structure = structure or Structure(heads)
    order = structure.order
    contexts = place_nodes(order, ctx, group2ctx)
    found, types = inferred
    full = _require_known_shapes(found or infer_shapes(heads, shapes, structure=structure))
    types = types or infer_types(heads, dtypes, "float32", structure=structure)
    if any(node.op is not None and node.prop.decomposed for node in order):
        from .decompose import decompose_graph  # imported here, as few graphs use mx.np

        variables = {node.name: (node, 0) for node in order if node.op is None}
        known_shapes = {name: known_shape(full[entry]) for name, entry in variables.items()}
        known_types = {name: types[entry] for name, entry in variables.items()}
        plain_heads = decompose_graph(heads, full, types)
        return lower(
            plain_heads, ctx, known_shapes, known_types, grad_req, group2ctx, names, predict, apart
        )
    stages = (pipeline.FORWARD, pipeline.PREDICT) if predict else (pipeline.FORWARD,)
    if any(0 in shape for shape in full.values()):
        names = frozenset()  # fused kernels do not support arrays without elements
    checks = verify if config.get("CYNET_GRAPH_VERIFY") else lambda graph, after: None
    graph = build_graph(structure, full, types, contexts)
    checks(graph, "building it")
    graph = pipeline.run_passes(graph, stages, names, ctx.device_type)
    graph = gradient(graph, grad_req, apart)
    checks(graph, "the gradient pass")
    graph = build_bodies(graph, names, lower)
    due = [*graph.outputs, *_roots_written_by(graph).intersection(graph.grads.values())]
    graph = pipeline.run_passes(graph, (pipeline.WHOLE,), names, ctx.device_type)
    written = _roots_written_by(graph)
    lost = [value for value in due if value.root not in written]
    if lost:
        raise CynetError(f"a pass has lost the steps that compute {', '.join(map(repr, lost))}")
    return graph


def _require_known_shapes(shapes: dict[Entry, Any]) -> dict[Entry, Shape]:
    """Check that all inferred shapes are known and not too large; returns them for arrays."""
    out = {}
    for entry, shape in shapes.items():
        if (
            shape
            and len(shape) <= MAX_NDIM
            and EMPTY not in shape
            and 0 < prod(shape) <= MAX_SIMPLE_ELEMENTS
        ):
            out[entry] = shape
            continue
        node, index = entry
        if not is_known(shape):
            raise ShapeError(
                f"the shape of '{node.output_name(index)}' is not determined (found "
                f"{shape or 'nothing'}; 0 is unknown)"
            )
        check_elements(shape, f"'{node.output_name(index)}'")
        out[entry] = plain_shape(shape)
    return out


def _roots_written_by(graph: Graph) -> set[Value]:
    """Return the roots of all values that the steps of `graph` write."""
    steps = (*graph.constant_steps, *graph.steps)
    return {value.root for step in steps for _, value in step.written()}


def memory_of(
    symbol: Symbol, ctx: Context, grad_req: str = "write", **shapes: Shape
) -> MemoryReport:
    """Return the MemoryReport that an executor of `symbol` would have; allocates nothing.

    grad_req: The request of all arguments.
    **shapes: The shapes of the inputs.

    Returns MemoryReport.

    Examples
    --------
    >>> net = mx.sym.softmax(mx.sym.softmax(mx.sym.softmax(mx.sym.var("x"))))
    >>> report = memory_of(net, mx.cpu(), "null", x=(32, 8))
    >>> report.planned <= report.unplanned == 2048
    True
    """
    names = pipeline.enabled_passes()
    requests = dict.fromkeys(symbol.list_arguments(), grad_req)
    predict = grad_req == "null"
    graph = lower(symbol.entries, ctx, shapes, {}, requests, names=names, predict=predict)
    plan_memory(graph, "inplace" in names, "reuse" in names)
    if config.get("CYNET_GRAPH_VERIFY"):
        verify_memory(graph)
    report: MemoryReport = graph.memory
    return report
