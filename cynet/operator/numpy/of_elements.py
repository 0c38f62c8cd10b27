"""Operators of the functions of one and two elements that MXNet has in ``mx.np`` alone
(`functions.py`)."""

from ..functions.classes import register_binary, register_unary
from ..tensor.binary_scalar import BinaryScalarProperty
from ..tensor.broadcast import BroadcastProperty
from ..tensor.unary import UnaryProperty
from . import functions

register_unary(UnaryProperty, functions)
register_binary(BroadcastProperty, "broadcast", functions)
register_binary(BinaryScalarProperty, "scalar", functions)
register_binary(BinaryScalarProperty, "reflected", functions, reverse=True)
