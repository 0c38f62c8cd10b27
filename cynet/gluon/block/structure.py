"""Nested arguments of Blocks: flattened to arrays and a format, and rebuilt.

A format is 0 for an array, -1 for None, n for a list of n arrays of a symbol's outputs, a list (or
tuple) of formats, a ``DictFormat`` of a dict's, or a ``NonArrayFormat`` for any other value.
"""

from typing import NamedTuple

from ...base.errors import ArgumentError, ArgumentTypeError, shown
from ...ndarray import NDArray
from ...symbol import Symbol


class NonArrayFormat(NamedTuple):  # an argument that is no array, such as a number
    """The format of a value that is no array, such as a number or a str: the value itself."""

    value: object


class DictFormat(NamedTuple):  # the structure of an argument that is a dict
    """The format of a dict: its keys and the formats of its values."""

    keys: tuple
    formats: tuple


def flatten(args, where="input"):
    """Flatten nested lists, tuples and dicts to (list of arrays, format).

    >>> x = mx.nd.zeros(1)
    >>> flatten([x, [x, None]])[1]
    [0, [0, -1]]
    """
    arrays = []
    try:
        return arrays, _flatten(args, arrays, where)
    except RecursionError:
        raise ArgumentError(f"{where}: nested too deep") from None


def _flatten(value, arrays, where):
    if isinstance(value, NDArray):
        arrays.append(value)
        return 0
    if isinstance(value, Symbol):
        arrays.append(value)
        return 0 if len(value.entries) == 1 else len(value.entries)
    if value is None:
        return -1
    if isinstance(value, (list, tuple)):
        formats = [_flatten(each, arrays, where) for each in value]
        return formats if isinstance(value, list) else tuple(formats)
    if isinstance(value, dict):
        return DictFormat(tuple(value), tuple(_flatten(v, arrays, where) for v in value.values()))
    if isinstance(value, (bool, int, float, str, bytes, type, slice)):
        return NonArrayFormat((type(value), str(value) if isinstance(value, slice) else value))
    raise ArgumentError(
        f"{where} of a graph: expected an array, number or str, got {shown(value)} "
        f"({type(value).__name__}),"
        " nor a list, tuple or dict of them"
    )


def refuse_mixed_arrays(args, name):
    """Raise an error if both arrays of mx.nd and of mx.np are among nested arguments.

    Raises ArgumentTypeError; ArgumentError for a list that holds itself.
    """
    faces = {}
    try:
        _collect_array_classes(args, faces)
    except RecursionError:
        raise ArgumentError(f"{name}: the arguments are nested too deep") from None
    if len(faces) > 1:
        raise ArgumentTypeError(
            f"{name}: the arguments are arrays of {' and of '.join(faces)}; as_nd_ndarray() and "
            "as_np_ndarray() make one of the other, of the same memory"
        )


def _collect_array_classes(args, faces):
    for each in args:
        if isinstance(each, NDArray):
            faces[each._face.name] = True
        elif isinstance(each, (list, tuple)):
            _collect_array_classes(each, faces)
        elif isinstance(each, dict):
            _collect_array_classes(each.values(), faces)


def to_mxnet_format(fmt):
    """Convert a format to MXNet's, which has lists only.

    >>> to_mxnet_format([0, (0, -1)])
    [0, [0, -1]]
    """
    if isinstance(fmt, NonArrayFormat):
        return fmt.value[1]
    if isinstance(fmt, DictFormat):
        return dict(zip(fmt.keys, map(to_mxnet_format, fmt.formats)))
    return list(map(to_mxnet_format, fmt)) if isinstance(fmt, (list, tuple)) else fmt


def hashable_format(fmt):
    """Convert a format to a hashable value, for keys of dicts."""
    if isinstance(fmt, NonArrayFormat):
        return fmt
    if isinstance(fmt, DictFormat):
        return ("dict", fmt.keys, tuple(map(hashable_format, fmt.formats)))
    if isinstance(fmt, list):
        return ("list", *map(hashable_format, fmt))
    if isinstance(fmt, tuple):
        return ("tuple", *map(hashable_format, fmt))
    return fmt


def regroup(arrays, fmt):
    """Rebuild a value of format `fmt`; return it and the arrays that are left.

    >>> regroup([1, 2, 3], [0, (0, -1)])
    ([1, (2, None)], [3])
    """
    arrays = list(arrays)
    value, position = _rebuild_value(arrays, fmt, 0)
    return value, arrays[position:]


def _rebuild_value(arrays, fmt, position):
    if isinstance(fmt, NonArrayFormat):
        return fmt.value[1], position
    if isinstance(fmt, DictFormat):
        table = {}
        for key, each in zip(fmt.keys, fmt.formats):
            table[key], position = _rebuild_value(arrays, each, position)
        return table, position
    if isinstance(fmt, (list, tuple)):
        values = []
        for each in fmt:
            value, position = _rebuild_value(arrays, each, position)
            values.append(value)
        return (values if isinstance(fmt, list) else tuple(values)), position
    if fmt == -1:
        return None, position
    if fmt == 0:
        return arrays[position], position + 1
    return arrays[position : position + fmt], position + fmt
