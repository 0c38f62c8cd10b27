"""The signatures of a simple operator's functions: recognized by the names of their parameters."""

import inspect

from ...base.errors import ArgumentError, ArgumentTypeError, shown
from .._simple import CFunction

# parameter names of a function -> its number of operands
SIGNATURES = {("src", "env", "ret", "req", "ctx"): 1, ("lhs", "rhs", "env", "ret", "req", "ctx"): 2}
SHAPE_SIGNATURES = {("src", "env"): 1, ("lhs", "rhs", "env"): 2}  # parameter names -> operands
GRADIENT_SIGNATURES = {  # parameter names -> (inputs, arrays read in addition to out_grad)
    ("out_grad", "env", "in_grad", "req", "ctx"): (1, "T0"),
    ("out_grad", "out_value", "env", "in_grad", "req", "ctx"): (1, "T1"),
    ("out_grad", "in_data0", "env", "in_grad", "req", "ctx"): (1, "T2"),
    ("out_grad", "env", "lhs_grad", "rhs_grad", "req_lhs_grad", "req_rhs_grad", "ctx"): (2, "T0"),
    (
        "out_grad",
        "lhs",
        "rhs",
        "env",
        "lhs_grad",
        "rhs_grad",
        "req_lhs_grad",
        "req_rhs_grad",
        "ctx",
    ): (2, "T2"),
}


def parameter_names(function, what):
    """Return the names of the parameters of a Python or C function."""
    if isinstance(function, CFunction):
        return function.parameters
    if not callable(function):
        raise ArgumentTypeError(f"simple_op: the {what} {shown(function)} is not callable")
    return tuple(inspect.signature(function).parameters)


def signature_error(name, what, names, wanted):
    """Return the error that lists the allowed parameters of a function."""
    choices = " or ".join(f"({', '.join(w)})" for w in wanted)
    return ArgumentError(
        f"simple_op '{name}': a {what} has parameters {choices}; this one has ({', '.join(names)})"
    )


def check_device(name, device):
    """Return `device` if it is the name of a device type, else raise."""
    if device not in ("cpu", "gpu"):
        raise ArgumentError(
            f"simple_op '{name}': device {shown(device)} is neither 'cpu' nor 'gpu'"
        )
    return device
