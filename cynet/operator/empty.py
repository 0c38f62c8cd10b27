"""One rule for all operators that get an input without elements.

Where the outputs that a user sees have none either, there is nothing to compute, and no gradient
flows: no kernel runs. Where an output has elements, they would be made of nothing, which a property
allows (`of_nothing`, `takes_empty`) or refuses.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..base.errors import ShapeError
from .tensor.strided_moves import StridedCopyOperator

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..context import Context
    from ..typing import Shape
    from ._base import Operator
    from .registered import Registered


def empty_operator(
    prop: Registered, ctx: Context, in_shapes: Sequence[Shape], in_types: Sequence[str]
) -> Operator | None:
    """Return the Operator of `prop` for an empty input; None: the ordinary one applies.

    Raises ShapeError when an output has elements that cannot be made of nothing.
    """
    if not prop.pure:  # a user's own code handles empty inputs
        return None
    fill, dtype = None, "float32"
    if any(0 not in s for s in prop.output_shapes(in_shapes)[: prop.num_visible_outputs()]):
        if prop.graph.traits.takes_empty:
            return None
        fill = prop.graph.traits.of_nothing
        dtype = prop.infer_type(list(in_types), [None] * len(prop.list_outputs()))[1][0]
        if fill is None or (math.isnan(fill) and not dtype.startswith("float")):
            named = zip(prop.list_arguments(), in_shapes)
            empty = [f"'{name}' of shape {s} has no elements" for name, s in named if 0 in s]
            raise ShapeError(
                f"operator {prop.op_name}: {', '.join(empty)}, of which its output could be made"
            )
    if ctx.device_type == "gpu":
        from .cuda.empty_outputs import empty_output_form

        return empty_output_form(
            ctx, prop.output_shapes(in_shapes), dtype, fill, in_shapes, in_types
        )
    return StridedCopyOperator(dtype, [], fill=fill)
