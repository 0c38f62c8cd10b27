"""A Symbol computed node by node by imperative calls, for gradients of gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..autograd._adjoint import make_alias
from ..autograd._walk import gradients_at_nodes
from ..base.dtype import name_of
from ..base.errors import GradientError
from ..ndarray import contrib, zeros, zeros_like
from ..ndarray._call import invoke
from ..operator.property import ResourceRequest
from ..symbol.node import topological_order, variable_nodes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ..symbol.node import Entry, Node
    from ..typing import NDArray, Symbol


def replay_symbol(symbol: Symbol, arrays: Mapping[str, NDArray], where: str) -> list[NDArray]:
    """Compute the outputs of a Symbol.

    arrays: The variables' arrays by name.
    where: The begin of error messages.

    Raises GradientError when an operator draws random numbers: they would not be those of the first
    time.
    """
    variables = variable_nodes(symbol.entries)[2]
    return _replay_graph(symbol.entries, {node: arrays[node.name] for node in variables}, where)


def _replay_graph(
    heads: Sequence[Entry], given: Mapping[Node, NDArray], where: str
) -> list[NDArray]:
    """Compute the arrays of `heads` from the variables' arrays `given`, by node."""
    values = {}
    for node in topological_order(heads):
        if node.op is None:
            values[node, 0] = given[node]
            continue
        inputs = tuple(values[entry] for entry in node.inputs)
        if getattr(node.prop, "subgraphs", ()):
            values.update(((node, i), v) for i, v in enumerate(_run_subgraphs(node, inputs, where)))
            continue
        shapes = [array.shape for array in inputs[: node.num_args]]
        if ResourceRequest.random in node.prop.forward_resource(shapes):
            raise GradientError(
                f"{where}: create_graph=True would run it again, and operator {node.op.name} (node "
                f"'{node.name}') draws other numbers then; call the network without hybridize"
            )
        result = invoke(node.op, inputs, node.prop.params())
        for i, value in enumerate(result if isinstance(result, list) else [result]):
            values[node, i] = value
    return [values[entry] for entry in heads]


def _run_subgraphs(node: Node, inputs: Sequence[NDArray], where: str) -> list[NDArray]:
    """Compute the outputs of a control flow node by the functions of ``mx.nd.contrib``."""
    prop = node.prop

    def run(number: int, carried: Mapping[int, NDArray]) -> list[NDArray]:
        graph, positions = prop.subgraphs[number], prop.inputs_of_variables()[number]
        given = [carried.get(i, inputs[i]) for i in positions]
        return _replay_graph(graph.heads, dict(zip(graph.variables, given)), where)

    if prop.n_subgraphs == 3:
        predicate = run(0, {})[0]
        found: list[NDArray] = contrib.cond(predicate, lambda: run(1, {}), lambda: run(2, {}))
        return found
    row_inputs, state_inputs = list(prop.sliced_inputs()), list(prop.state_inputs())
    states, n_out = [inputs[i] for i in state_inputs], prop.num_out_data

    def run_body(
        rows: Iterable[NDArray], states: Iterable[NDArray]
    ) -> tuple[list[NDArray], list[NDArray]]:
        heads = run(prop.body, dict(zip((*row_inputs, *state_inputs), (*rows, *states))))
        return heads[:n_out], heads[n_out:]

    if prop.condition is None:
        outs, states = contrib.foreach(run_body, [inputs[i] for i in row_inputs], states)
        return [*outs, *states]
    outs, states = contrib.while_loop(
        lambda *states: run(prop.condition, dict(zip(state_inputs, states)))[0],
        lambda *states: run_body((), states),
        states,
        prop.max_iterations,
    )
    if n_out and not outs:  # the loop never ran
        shapes = prop.output_shapes([array.shape for array in inputs])[:n_out]
        types = prop.infer_type(
            [name_of(array.dtype) for array in inputs], [None] * prop.num_outputs
        )[1]
        outs = [zeros(s, ctx=inputs[0].context, dtype=t) for s, t in zip(shapes, types)]
    return [*outs, *states]


def gradients(
    symbol: Symbol,
    arrays: Mapping[str, NDArray],
    wanted: Sequence[str],
    head_grads: Sequence[NDArray | None],
    where: str,
) -> list[NDArray | None]:
    """Compute recorded gradients of a Symbol's outputs for the variables named in `wanted`;
    `arrays` as for `replay_symbol`. None for a variable that no output depends on."""
    linked, nodes = dict(arrays), []
    for name in wanted:
        linked[name], node = make_alias(linked[name])
        nodes.append(node)
    outputs = replay_symbol(symbol, linked, where)
    head_grads = [
        zeros_like(out.detach()) if grad is None else grad for out, grad in zip(outputs, head_grads)
    ]
    found: list[NDArray | None] = gradients_at_nodes(outputs, head_grads, nodes, True, True)
    return found
