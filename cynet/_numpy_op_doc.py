"""Documented functions of the operators whose names begin with ``_np_``."""

from .numpy_op_signature import _get_builtin_op


def __getattr__(name):
    return _get_builtin_op(name)
