"""What operators that compute in float32 and float64 on the CPU check before they are created."""

from ..errors import ArgumentError, ArgumentTypeError

FLOATS = ("float32", "float64")


def require_float_cpu(prop, ctx, names, types):
    """Raise unless `ctx` is a CPU and all `types` are one of FLOATS.

    Raises
    ------
    ArgumentError
        On a GPU, where this implementation does not run.
    ArgumentTypeError
        Naming the operator, the input and its dtype.
    """
    if ctx.device_type == "gpu":
        raise ArgumentError(f"operator {prop.op_name} has no implementation on {ctx}")
    for name, dtype in zip(names, types):
        if dtype not in FLOATS:
            raise ArgumentTypeError(
                f"operator {prop.op_name} computes in float32 or float64; input '{name}' is {dtype}"
            )
        if dtype != types[0]:
            raise ArgumentTypeError(
                f"operator {prop.op_name}: input '{name}' is {dtype} but '{names[0]}' is {types[0]}"
            )
