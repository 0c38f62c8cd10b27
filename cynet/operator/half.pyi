"""Types of half.pyx."""

from collections.abc import Sequence

from ..context import Context
from ..typing import Shape
from ._base import Operator
from .registered import Registered

def float32_operator(
    prop: Registered, ctx: Context, in_shapes: Sequence[Shape], in_types: Sequence[str]
) -> Operator:
    """The operator that computes `prop` on a CPU in float32, from and to float16 or bfloat16."""

def convert_around_operator(operator: Operator, sources: Sequence[str], dtype: str) -> Operator:
    """An operator that runs `operator` in `dtype`."""
