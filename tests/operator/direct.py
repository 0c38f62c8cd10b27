"""Calls one operator on NumPy arrays in one line, for tests."""

import numpy as np
from cynet.operator._testing import prepare, run_backward, run_forward

from cynet.operator import get_operator


def call(op, *inputs, **params):
    """The visible outputs of operator `op` (one array, or a list of them)."""
    prop = get_operator(op).prop(**params)
    inputs = [np.ascontiguousarray(a) for a in inputs]
    shapes = [a.shape for a in inputs]
    made, out_shapes, out_types, _, _ = prepare(prop, shapes, [str(a.dtype) for a in inputs])
    outputs = [np.empty(s, t) for s, t in zip(out_shapes, out_types)]
    run_forward(made, inputs, [1] * len(outputs), outputs, [], False, prop.forward_resource(shapes))
    visible = outputs[: prop.num_visible_outputs()]
    return visible[0] if len(visible) == 1 else visible


def gradients(op, heads, *inputs, **params):
    """The in_grads of operator `op` for the out_grads `heads`."""
    prop = get_operator(op).prop(**params)
    inputs = [np.ascontiguousarray(a) for a in inputs]
    shapes = [a.shape for a in inputs]
    made, out_shapes, out_types, _, _ = prepare(prop, shapes, [str(a.dtype) for a in inputs])
    outputs = [np.empty(s, t) for s, t in zip(out_shapes, out_types)]
    run_forward(made, inputs, [1] * len(outputs), outputs, [], True, prop.forward_resource(shapes))
    grads = [np.empty_like(a) for a in inputs]
    run_backward(
        made,
        heads,
        inputs,
        outputs,
        [1] * len(grads),
        grads,
        [],
        True,
        prop.backward_resource(shapes),
    )
    return grads
