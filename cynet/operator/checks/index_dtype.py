"""Checks that a dtype can hold the indices of an axis, or its length."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...base.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable


# dtype -> largest integer up to which it represents all integers
MAX_EXACT_INTS = {  # dtype -> integer up to which it has all
    "float32": 1 << 24,
    "float64": 1 << 53,
    "float16": 1 << 11,
    "bfloat16": 1 << 8,
    "uint8": (1 << 8) - 1,
    "int8": (1 << 7) - 1,
    "int32": (1 << 31) - 1,
    "int64": (1 << 63) - 1,
    "bool": 1,
}
WIDER_DTYPES = dict.fromkeys(("float16", "bfloat16", "uint8", "int8", "bool"), "float32")
FLOATS = ("float32", "float64", "float16", "bfloat16")  # dtypes that round large indices


class IndexRead(tuple[Any, ...]):  # (input, dtype, count of indices)
    """Indices that an operator reads from an input: (input name, dtype, count of indices).

    Those of integers are what they are, so that floats alone are looked at.
    """


class IndexWrite(tuple[Any, ...]):  # (output, dtype, count of indices)
    """Indices that an operator writes to an output: (output name, dtype, count of indices)."""


def check_index_dtype(prop: Any, arrays: Iterable[IndexRead | IndexWrite]) -> None:
    """Raise if a dtype cannot represent all indices of an axis.

    Parameters
    ----------
    prop : OperatorProperty
        Whose arrays they are.
    places : iterable of IndexRead or IndexWrite

    Raises
    ------
    ArgumentError
        Naming operator, array, dtype and length.
    """
    for each in arrays:
        name, dtype, n = each
        if isinstance(each, IndexRead) and dtype not in FLOATS:
            continue
        if n - 1 <= MAX_EXACT_INTS[dtype]:
            continue
        wide = "int32" if n <= 1 << 31 else "int64"
        verb = "reads" if isinstance(each, IndexRead) else "writes"
        raise ArgumentError(
            f"operator {prop.op_name} {verb} one of {n} places in '{name}', of {dtype}, which"
            f" names places up to {MAX_EXACT_INTS[dtype]}; expected {wide} or another dtype that"
            " names all"
        )


def infer_loss_dtypes(in_types: list[Any], out_types: list[Any]) -> tuple[list[Any], ...]:
    """Infer the dtypes of a loss, whose labels may have any dtype; float32 if the data's is narrow,
    which represents few classes."""
    kind = in_types[0] or out_types[0]
    if kind is None:
        return [None, in_types[1]], [None], []
    if out_types[0] not in (None, kind):
        raise ArgumentError(f"types of inputs {in_types} and outputs {out_types} must be alike")
    return [kind, in_types[1] or WIDER_DTYPES.get(kind, kind)], [kind], []
