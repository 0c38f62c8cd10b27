"""Calls the methods of a user's operator, and refuses wrong results: one checker for every way of
writing operators (CustomOpProp, NumpyOp, NDArrayOp, OperatorProperty, SimpleOp).

Every refusal says who (operator, method, the line where it is defined), what came back and what
was expected; what the user's code raises comes back with the line that raised it.
"""

import reprlib
from typing import NamedTuple

import numpy as np

from ...base.dtype import name_of
from ...base.errors import ArgumentError, describe_error, wrap_error
from ..checks.shapes import has_empty_axis, known_shape
from ..property import is_known

MAX_NDIM = 8  # the same as MAX_NDIM in _typedefs.pxd

# Shapes of trial inputs, which show the sizes of an operator's other arrays.
TRIAL_SHAPES = ((6, 10), (6, 10, 14, 14), (6, 10, 14), (6,))  # shapes of inputs in trial calls

_short_repr = reprlib.Repr()  # shortens values in messages
_short_repr.maxstring = _short_repr.maxother = 120
_short_repr.maxlist = _short_repr.maxtuple = 12


class Callback(NamedTuple):  # a user's function, and its name
    """A function of a user, and its name in messages."""

    function: object
    name: str


def callback_of(owner, method):
    """Return the Callback for one method of `owner`."""
    return Callback(getattr(owner, method), method)


class CallbackChecker:  # calls a user's methods, checks results
    """Calls the methods of a user's object or class, and checks their results.

    where (str): Its name in messages: ``"custom operator 'softmax'"``.
    """

    def __init__(self, where):
        self.where = where

    def call(self, callback, /, *args, **kwargs):
        """Call the callback and return its result; an exception names the callback and its line."""
        try:
            return callback.function(*args, **kwargs)
        except Exception as error:
            failure = self.callback_error(callback, error)
        raise failure

    def callback_error(self, callback, error):
        """Return the exception to raise for the exception `error` that `callback` raised."""
        return wrap_error(
            error,
            f"{self.where}: {callback.name} raised {describe_error(error)}"
            f"{_raising_line(error, callback.function)}",
        )

    def refuse_result(self, callback, found, expected):
        """Raise the error for a callback that returned `found`."""
        raise ArgumentError(
            f"{self.where}: {callback.name} returned {_short_repr.repr(found)}; expected "
            f"{expected}{_definition_line(callback.function)}"
        )

    def parse_names(self, callback, least=0):
        """Call the callback; return its list of distinct names."""
        found = self.call(callback)
        if not isinstance(found, (list, tuple)) or not all(isinstance(n, str) for n in found):
            self.refuse_result(callback, found, "a list of str")
        if len(set(found)) < len(found):
            self.refuse_result(callback, found, "names that differ")
        if len(found) < least:
            self.refuse_result(callback, found, "at least one name")
        return list(found)

    def split_result_lists(self, callback, found, lengths, may_lack_states):
        """Return `found` as three lists: the inferred values of inputs, outputs and states."""
        three = f"(inputs, outputs, auxiliary states), lists of lengths {lengths}"
        words = f"(inputs, outputs) or {three}" if may_lack_states else three
        if not isinstance(found, (list, tuple)) or len(found) not in (
            (2, 3) if may_lack_states else (3,)
        ):
            self.refuse_result(callback, found, words)
        out = [*found, []] if len(found) == 2 else list(found)
        for given, length in zip(out, lengths):
            if not isinstance(given, (list, tuple)) or len(given) != length:
                self.refuse_result(callback, found, words)
        return out

    def parse_shapes(self, callback, found, lengths, in_shapes, may_lack_states=True):
        """Return the three lists of shapes in `found`, tuples of int; None: an unknown shape.

        Where all `in_shapes` are known, so must be those of the outputs and states; they may have
        lengths of 0 where one of the inputs has.
        """
        ins, outs, states = self.split_result_lists(callback, found, lengths, may_lack_states)
        complete = all(map(is_known, in_shapes))
        empty = complete and has_empty_axis(in_shapes)
        return (
            [self.parse_shape(callback, s, empty=empty) for s in ins],
            [self.parse_shape(callback, s, complete, empty) for s in outs],
            [self.parse_shape(callback, s, complete, empty) for s in states],
        )

    def parse_shape(self, callback, found, complete=False, empty=False):
        """Return one shape as a tuple of int; None if it is unknown.

        A length of 0 is unknown, which the shape may not have if it is `complete`; it is known if
        `empty`.
        """
        if found is None and not complete:
            return None
        try:
            out = tuple(_as_integer(n) for n in found)
        except (TypeError, ValueError):
            out = (-1,)
        if any(n < 0 for n in out) or len(out) > MAX_NDIM:
            self.refuse_result(
                callback, found, f"shapes: tuples of int >= 0 with at most {MAX_NDIM} axes"
            )
        if empty:
            out = known_shape(out)
        if complete and not (out and all(out)):
            self.refuse_result(
                callback, found, "a complete shape, since those of all inputs are known"
            )
        return out or None

    def parse_types(self, callback, found, lengths, complete, may_lack_states=True):
        """Return the three lists of dtype names in `found`; None: an unknown dtype."""
        ins, outs, states = self.split_result_lists(callback, found, lengths, may_lack_states)
        return (
            [self.parse_dtype(callback, t) for t in ins],
            [self.parse_dtype(callback, t, complete) for t in outs],
            [self.parse_dtype(callback, t, complete) for t in states],
        )

    def parse_dtype(self, callback, found, known=False):
        """Return the name of one dtype; None if it is unknown."""
        if found is None:
            if known:
                self.refuse_result(
                    callback, found, "a NumPy type, since those of all inputs are known"
                )
            return None
        try:
            return name_of(found)
        except (TypeError, ValueError):
            return self.refuse_result(callback, found, "NumPy types, such as numpy.float32")

    def parse_array_ids(self, callback, out_grad, in_data, out_data):
        """Return the ids of the arrays that backward reads, from declare_backward_dependency."""
        found = self.call(callback, list(out_grad), list(in_data), list(out_data))
        known = {*out_grad, *in_data, *out_data}
        if not isinstance(found, (list, tuple)) or not all(_is_known_id(i, known) for i in found):
            self.refuse_result(
                callback,
                found,
                f"a list of ids out of out_grad {list(out_grad)}, in_data {list(in_data)} and "
                f"out_data {list(out_data)}",
            )
        return [int(i) for i in found]

    def parse_inplace_pairs(self, callback, groups, sources, targets):
        """Return the pairs of ids that an in-place option returns for `groups`."""
        found = self.call(callback, *(list(g) for g in groups))
        if not isinstance(found, (list, tuple)):
            self.refuse_result(callback, found, "a list of pairs of ids")
        for pair in found:
            if (
                not isinstance(pair, (list, tuple))
                or len(pair) != 2
                or not _is_known_id(pair[0], sources)
                or not _is_known_id(pair[1], targets)
            ):
                self.refuse_result(
                    callback, pair, f"pairs of one of {list(sources)} with one of {list(targets)}"
                )
        return [(int(a), int(b)) for a, b in found]

    def refuse_replaced_arrays(self, callback, given, arrays):
        """Refuse a list of arrays in which the user's code put others instead of writing into
        them; views of the same memory are fine."""
        if len(given) == len(arrays) and all(map(_has_same_memory, given, arrays)):
            return
        raise ArgumentError(
            f"{self.where}: {callback.name} changed its list of arrays; write into the arrays "
            f"that are there, out_data[0][:] = ...{_definition_line(callback.function)}"
        )


def _has_same_memory(array, old_array):
    return array is old_array or (
        type(array) is type(old_array) and _data_address(array) == _data_address(old_array)
    )


def _data_address(array):
    return array.ctypes.data if isinstance(array, np.ndarray) else array.data_ptr


def _as_integer(number):
    if isinstance(number, float):
        if not number.is_integer():
            raise ValueError(number)
        return int(number)
    try:
        return number.__index__()
    except AttributeError:
        raise TypeError(number) from None


def _is_known_id(value, known):
    return isinstance(value, (int, np.integer)) and value in known


def _code_object(function):
    return getattr(getattr(function, "__func__", function), "__code__", None)


def _definition_line(function):
    """Return the file and line of a Python function, for messages; empty for others."""
    code = _code_object(function)
    return "" if code is None else f" (defined at {code.co_filename}:{code.co_firstlineno})"


def _raising_line(error, function):
    """Return the innermost line of a traceback in the user's file, or else its innermost line."""
    code = _code_object(function)
    lines, trace = [], error.__traceback__.tb_next
    while trace is not None:
        lines.append((trace.tb_frame.f_code.co_filename, trace.tb_lineno))
        trace = trace.tb_next
    if not lines:
        return _definition_line(function)
    own = [line for line in lines if code is not None and line[0] == code.co_filename]
    return " (at {}:{})".format(*(own or lines)[-1])
