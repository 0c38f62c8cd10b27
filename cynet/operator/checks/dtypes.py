"""Checks of operators that compute in floating point, before they are created."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...base.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...context import Context


FLOATS = ("float32", "float64")  # what operators accept by default
GPU_FLOATS = ("float32", "float64", "float16")  # dtypes of cuBLAS and cuDNN
NARROW_FLOATS = ("float16", "bfloat16")  # 16 bits
# dtypes of update rules, and of operators with conversions around them
CPU_FLOATS = (*GPU_FLOATS, "bfloat16")  # of update rules and converted operators


def require_floats(
    prop: Any, names: Sequence[str], types: Sequence[str], allowed: Sequence[str] = FLOATS
) -> None:
    """Raise ArgumentTypeError with operator, input and dtype unless `types` are all `allowed`."""
    for name, dtype in zip(names, types):
        if dtype not in allowed:
            raise ArgumentTypeError(
                f"operator {prop.op_name} computes in {' or '.join(allowed)}; input '{name}' is "
                f"{dtype}"
            )
        if dtype != types[0]:
            raise ArgumentTypeError(
                f"operator {prop.op_name}: input '{name}' is {dtype} but '{names[0]}' is {types[0]}"
            )


def require_float_cpu(
    prop: Any,
    ctx: Context,
    names: Sequence[str],
    types: Sequence[str],
    allowed: Sequence[str] = FLOATS,
) -> None:
    """Raise unless `ctx` is a CPU and all `types` are one of `allowed`.

    Raises ArgumentError: on a GPU, where this implementation does not run. Raises
    ArgumentTypeError: naming the operator, the input and its dtype.
    """
    if ctx.device_type == "gpu":
        raise ArgumentError(f"operator {prop.op_name} has no implementation on {ctx}")
    require_floats(prop, names, types, allowed)
