"""The GPU form of any operator that has no elements to compute with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...cuda.device import device
from ..tensor.strided_moves import whole_view
from .launch_program import Steps, operator, zeros
from .launch_steps import IN_GRAD, OUT
from .strided_moves import fill_view_launch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...context import Context
    from ...typing import Operator, Shape


def empty_output_form(
    ctx: Context,
    out_shapes: Sequence[Shape],
    dtype: str,
    fill: float | None,
    in_shapes: Sequence[Shape],
    in_types: Sequence[str],
) -> Operator:
    """Build an operator that writes `fill` to all outputs, and zeros to all gradients."""
    on = device(ctx.device_id)
    forward, backward = Steps(), Steps()
    for i, shape in enumerate(out_shapes):
        if fill is not None and 0 not in shape:
            forward += fill_view_launch(on, fill, dtype, OUT[i], whole_view(shape))
    for i, (shape, kind) in enumerate(zip(in_shapes, in_types)):
        if 0 not in shape:
            backward += zeros(shape, kind, IN_GRAD[i])
    return operator(on, forward, backward)
