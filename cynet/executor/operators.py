"""The operators and constants of a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._executor import Plan
from ..base.errors import ArgumentTypeError, describe_error, shown, wrap_error
from ..graph.ir import Graph
from ..ndarray import empty
from ..operator import Operator

if TYPE_CHECKING:
    from ..graph.ir import Step, Value


def create_operators(graph: Graph) -> dict[Step, Any]:
    """Create the Operator of each forward step."""
    operators: dict[Step, Any] = {}
    alike: dict[Any, Any] = {}
    for step in graph.steps:  # the forward step of a backward step may be fused
        forward = step.origin or step
        if forward in operators:
            continue
        # steps of one property with equal shapes and dtypes share an operator
        key = forward.prop, forward.ctx, *((v.shape, v.dtype) for v in forward.in_data)
        operator = alike.get(key)
        if operator is None or hasattr(forward.prop, "warn_out_of_range"):
            operator = create_operator(forward)
            if not operator.stateful:
                alike[key] = operator
        operators[forward] = operator
        if forward.ctx.device_type == "cpu":
            forward.algorithms = graph.call_hook("algorithms", forward)
    graph.hook_results.clear()
    return operators


def compute_constants(graph: Graph) -> dict[Value, Any]:
    """Compute the values that depend on no argument; returns their arrays."""
    made = [value for step in graph.constant_steps for value in step.out_data]
    arrays = {v: empty(v.shape, ctx=v.ctx, dtype=v.dtype) for v in made}
    if arrays:
        operators = {step: create_operator(step) for step in graph.constant_steps}
        alone = Graph(graph.constant_steps, {}, {}, [])
        Plan(alone, operators, arrays, None, False).run_forward(False)
    read = {value.root for step in graph.steps for value in step.read()}
    return {value: made_array for value, made_array in arrays.items() if value in read}


def create_operator(step: Step) -> Any:
    """Create the Operator of a forward step; an error names the node."""
    prop = step.prop
    if hasattr(prop, "warn_out_of_range"):  # the operator's warnings name the node
        prop = prop.changed(node_name=step.name)
    shapes = [v.shape for v in step.in_data]
    types = [v.dtype for v in step.in_data]
    try:
        operator = prop.operator_on(step.ctx, shapes, types)
    except Exception as error:
        raise wrap_error(
            error,
            f"operator {step.prop.op_name} (node '{step.name}') with inputs {shapes}: "
            f"{describe_error(error)}",
        ) from error
    if not isinstance(operator, Operator):
        raise ArgumentTypeError(
            f"operator {step.prop.op_name} (node '{step.name}'): create_operator returned "
            f"{shown(operator)}, not an Operator"
        )
    return operator
