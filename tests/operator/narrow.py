"""A case in a narrow dtype beside float32: what the tests of float16 and bfloat16 share."""

import cynet as mx
from tests.operator.runner import ADD, NULL, WRITE


def seeded(call, *args):
    """call(*args) with the random numbers of the beginning."""
    mx.random.seed(4)
    return call(*args)


def cast(array, dtype):
    return array.astype(dtype)


def beside(narrow, wide, close_forward, close_backward, as_type=cast, rounded=lambda head: head):
    """Forward and backward of both runs under every request.

    ``close_forward(found, wanted, what, req)`` compares outputs and states, `close_backward`
    gradients; `as_type` casts, `rounded` gives heads that the narrow dtype holds.
    """
    start = [narrow.rng.integers(1, 5, s) for s in narrow.out_shapes]
    for req in (WRITE, ADD, NULL):
        found, states = seeded(narrow.forward, req, narrow.outputs(start))
        wanted, wanted_states = seeded(wide.forward, req, wide.outputs(start))
        for i, (a, b) in enumerate(zip((*found, *states), (*wanted, *wanted_states))):
            if narrow.n_visible <= i < len(found) and narrow.case.reference is None:
                continue  # what was drawn, which backward reads: no graph adds to it
            close_forward(a, b, f"output {i}, request {req}", req)
    if not narrow.prop.differentiable:
        return
    outputs = narrow.forward()[0]
    heads = narrow.head_grads()
    start = [narrow.rng.integers(1, 5, a.shape) for a in narrow.inputs]
    for req in (WRITE, ADD, NULL):
        found, wanted = (
            run.backward(
                [as_type(rounded(h), t) for h, t in zip(heads, run.out_types)],
                [as_type(o, t) for o, t in zip(outputs, run.out_types)],
                req,
                [as_type(s, a.dtype) for s, a in zip(start, run.inputs)],
            )
            for run in (narrow, wide)
        )
        for i, (a, b) in enumerate(zip(found, wanted)):
            close_backward(a, b, f"gradient {i}, request {req}", req)
