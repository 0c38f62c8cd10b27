"""Mathematical functions: one row each, from which the elementwise operators are made."""

from .binary import BINARY
from .reductions import REDUCTIONS
from .unary import UNARY

__all__ = ["BINARY", "REDUCTIONS", "UNARY"]
