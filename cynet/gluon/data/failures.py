"""Exceptions of a worker process, sent to the process that waits for its batches.

An exception may be of a class that cannot be pickled, or whose objects cannot be loaded again: what
can be sent of it is, at least its class's nearest base, its text and its traceback.
"""

import pickle
import traceback
from multiprocessing.reduction import ForkingPickler

from ...base.errors import CynetError, describe_error, loop_error
from .transport import load_pickled


def encode_error(error):
    """Convert an exception of `fetch_samples` to plain values: (pickled, text, with traceback)."""
    cause = error.__cause__ if isinstance(error, CynetError) and error.__cause__ else error
    trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    try:
        text = str(error)
    except Exception:  # raised by the error's own __str__
        text = describe_error(error)
    return _pickle_error(cause), text, trace


def decode_error(sent):
    """Return the exception to raise for an error that a worker has sent."""
    pickled, text, trace = sent
    text = f"{text}\nIn a worker process:\n{trace}"
    try:
        cause = load_pickled(pickled)
    except Exception:  # only the worker can import the error's class
        return CynetError(text)
    if isinstance(cause, Exception):
        return loop_error(cause, text)
    cause.__cause__ = CynetError(text)  # raise SystemExit and the like unchanged
    return cause


def _pickle_error(error):
    """Pickle an exception so that it can be unpickled, if need be as one of its base classes."""
    whole = _pickle_or_none(error)
    if whole is not None:
        return whole
    state = {
        name: value for name, value in vars(error).items() if _pickle_or_none(value) is not None
    }
    plain = error.args if _pickle_or_none(error.args) is not None else (describe_error(error),)
    for kind in type(error).__mro__[:-1]:
        for args in (plain, (describe_error(error),)):
            remade = _pickle_or_none(_RestoredError(kind, args, state))
            if remade is not None:
                return remade
    return bytes(pickle.dumps(CynetError(describe_error(error))))


def _pickle_or_none(value):
    """Pickle a value; return None if it could not be unpickled."""
    try:
        content = bytes(ForkingPickler.dumps(value))
        load_pickled(content)
    except Exception:
        return None
    return content


class _RestoredError:  # pickles as an exception made without __init__
    """Pickles as an exception that is created without its class's own ``__init__``."""

    def __init__(self, *parts):
        self._parts = parts

    def __reduce__(self):
        return _rebuild_error, self._parts


def _rebuild_error(kind, args, state):
    error = kind.__new__(kind, *args)
    error.args = args
    vars(error).update(state)
    return error
