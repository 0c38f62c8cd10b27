"""What arrays, symbols and traced arrays offer alike: the operators that are methods, and those
behind Python's operators and the functions of two operands."""

from __future__ import annotations

from typing import NamedTuple

from .functions import BINARY as FUNCTIONS

# Operators that are methods of every array and symbol, which is their first input.
METHODS = (
    "abs", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "argmax",
    "argmax_channel", "argmin", "argsort", "broadcast_axes", "broadcast_like", "cbrt", "ceil",
    "clip", "cos", "cosh", "degrees", "depth_to_space", "diag", "exp", "expm1", "fix", "flip",
    "floor", "log", "log10", "log1p", "log2", "log_softmax", "max", "mean", "min", "nanprod",
    "nansum", "norm", "one_hot", "ones_like", "pad", "pick", "prod", "radians", "rcbrt",
    "reciprocal", "relu", "repeat", "reshape_like", "rint", "round", "rsqrt", "shape_array",
    "sigmoid", "sign", "sin", "sinh", "size_array", "slice", "slice_axis", "slice_like",
    "softmax", "softmin", "sort", "space_to_depth", "split", "sqrt", "square", "sum",
    "swapaxes", "take", "tan", "tanh", "tile", "topk", "trunc", "zeros_like",
)  # fmt: skip


class Binary(NamedTuple):
    """The four operators of one function of two operands, and how Python spells it."""

    sign: str  # '' without one
    method: str  # of Python's data model; '' without one
    same: str  # of two arrays of one shape
    broadcast: str  # of two arrays
    scalar: str  # of an array and a number
    reflected: str  # of a number and an array

    @property
    def compares(self):
        """Whether it is ``==`` or its like."""
        return self.sign != "" and self.sign[0] in "=!<>"

    @property
    def operators(self):
        """The names of the four."""
        return self[2:]

    @property
    def hint(self):
        """What MXNet's automatic names of symbols of two symbols begin with."""
        return self.scalar.removesuffix("_scalar")

    @property
    def scalar_hint(self):
        """Likewise of a symbol and a number."""
        return self._hint_of(self.scalar)

    @property
    def reflected_hint(self):
        """Likewise of a number and a symbol."""
        return self._hint_of(self.reflected)

    def _hint_of(self, operator):
        return operator if self.compares else operator.replace("_scalar", "scalar")


def _operators(row):
    scalar, reflected = row.scalar.name, row.reflected
    if reflected is None:
        reflected = scalar
    names = row.same.name, row.broadcast.name, scalar, getattr(reflected, "name", reflected)
    return Binary(row.sign, row.method, *names)


# Function of ``mx.nd`` to its operators.
BINARY = {row.function: _operators(row) for row in FUNCTIONS if row.function}
