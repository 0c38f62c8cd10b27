"""The mask pass: a relu's gradient is computed by the step in front of it in backward.

Backward of a layer reads its data, and gives the gradient of that. If the data is what a relu gave
that the fuse pass has folded into the layer before, that layer would go through the gradient once
more, and through the data, to multiply one by the signs of the other. The step that makes the
gradient can do so where it has it in registers.
"""

from .graph import BACKWARD, TEMP, WRITE


def mask(graph):
    """Join gradients of relus with the steps that make what they are applied to.

    Parameters
    ----------
    graph : Graph
        With its backward steps, after the fuse pass.

    Returns
    -------
    Graph
        The same graph with other properties of some steps.
    """
    touching = {}  # value to the steps that read or write it
    for step in graph.steps:
        for value in dict.fromkeys(step.touched()):
            touching.setdefault(value, []).append(step)
    for step in graph.steps[graph.n_forward :]:
        if step.direction == BACKWARD and step.out_grad and step.out_grad[0] is not None:
            value = step.out_grad[0]
            if value.kind == TEMP and len(touching[value]) == 2:
                before, behind = touching[value]
                if behind is step:
                    _join(before, step)
    return graph


def _join(before, step):
    """Let `before` give the gradient that `step` reads behind the relu of `step`."""
    if before.direction != BACKWARD or before.in_grad[0] is not step.out_grad[0]:
        return
    if before.req[0] != WRITE or before.in_data[0] is not step.out_data[0]:
        return
    if before.ctx != step.ctx or before.ctx.device_type == "gpu":
        return
    inputs = before.origin.in_data
    masking = before.prop.masking_data([v.shape for v in inputs], [v.dtype for v in inputs])
    behind = step.prop.with_masked_gradient()
    if masking is None or behind is None:
        return
    before.prop = before.origin.prop = masking
    step.prop = step.origin.prop = behind
    step.out_data[0] = None
