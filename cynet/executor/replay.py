"""A Symbol computed node by node by imperative calls: what autograd takes for a plan where it needs
a gradient of a gradient."""

from ..autograd._adjoint import alias_of
from ..autograd._walk import gradients_to
from ..base.errors import GradientError
from ..ndarray import zeros_like
from ..ndarray._call import invoke
from ..operator.property import ResourceRequest
from ..symbol.node import topological_order


def replay(symbol, arrays, where):
    """The outputs of a Symbol.

    Parameters
    ----------
    symbol : Symbol
    arrays : dict of str to NDArray
        By the variables' names.
    where : str
        What an error calls the run.

    Raises
    ------
    GradientError
        When an operator draws random numbers: they would not be those of the first time.
    """
    values = {}
    for node in topological_order(symbol.entries):
        if node.op is None:
            values[node, 0] = arrays[node.name]
            continue
        inputs = tuple(values[entry] for entry in node.inputs)
        shapes = [array.shape for array in inputs[: node.num_args]]
        if ResourceRequest.random in node.prop.forward_resource(shapes):
            raise GradientError(
                f"{where}: create_graph=True would run it again, and operator {node.op.name} (node "
                f"'{node.name}') draws other numbers then; call the network without hybridize"
            )
        result = invoke(node.op, inputs, node.prop.params())
        for i, value in enumerate(result if isinstance(result, list) else [result]):
            values[node, i] = value
    return [values[entry] for entry in symbol.entries]


def gradients(symbol, arrays, wanted, head_grads, where):
    """The gradients of a Symbol's outputs with respect to the variables `wanted` (names), recorded;
    `arrays` are as `replay` takes them. None where no way leads to one."""
    arrays, nodes = dict(arrays), []
    for name in wanted:
        arrays[name], node = alias_of(arrays[name])
        nodes.append(node)
    outputs = replay(symbol, arrays, where)
    head_grads = [
        zeros_like(out.detach()) if grad is None else grad for out, grad in zip(outputs, head_grads)
    ]
    return gradients_to(outputs, head_grads, nodes, True, True)
