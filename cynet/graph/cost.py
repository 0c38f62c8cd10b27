"""What a step costs, estimated from shapes: arithmetic, and seconds on a plain machine."""

from math import prod

from .graph import FORWARD
from .memory import nbytes

# Rates of one or two cores; only their ratio matters to the passes.
FLOPS_PER_SECOND = 2e11
BYTES_PER_SECOND = 1e10


def flops(step):
    """Additions and multiplications of matrix products and convolutions in a step, else 0.

    A product of (n, k) with (k, m) counts 2nkm. Backward counts as much for each of the gradients
    of data and weight that it writes.
    """
    forward = step.origin or step
    if forward.prop.linear_in_weight:
        data, weight, out = forward.in_data[0], forward.in_data[1], forward.out_data[0]
        shape = forward.prop.weight_shape or weight.shape
        # each element of the one side meets as many weights as stand behind the weight's first axis
        side = data if forward.prop.transposed_weight else out
        once = 2 * prod(side.shape) * prod(shape[1:])
    elif forward.prop.op_name in ("dot", "batch_dot", "linalg_gemm", "linalg_gemm2"):
        lhs, rhs, out = (prod(v.shape) for v in (*forward.in_data[:2], forward.out_data[0]))
        batch = forward.out_data[0].shape[0] if forward.prop.op_name == "batch_dot" else 1
        inner = (lhs * rhs / max(out * batch, 1)) ** 0.5  # (nk)(km)/(nm) = k * k
        once = round(2 * out * inner)
    else:
        return 0
    if step.direction == FORWARD:
        return once
    return once * sum(1 for position, _ in step.written() if position < 2)


def seconds(step):
    """Roughly the time of a step: its arithmetic, and its reads and writes of memory."""
    touched = sum(map(nbytes, step.touched()))
    return flops(step) / FLOPS_PER_SECOND + touched / BYTES_PER_SECOND
