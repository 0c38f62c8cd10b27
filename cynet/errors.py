"""Exceptions: few classes under CynetError, and the one way an asynchronous error is dressed."""

import os
import sys

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def user_frame():
    """(file name, line) of the innermost running Python code that is not cynet's own.

    What asynchronous functions remember, to say in an error who pushed them.
    """
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def listed(names):
    """Names for a message, at most 200 characters of them.

    >>> listed(["a", "b"])
    "'a', 'b'"
    """
    text = ", ".join(map(repr, names))
    return text if len(text) <= 200 else f"{text[:190]} ..."


class CynetError(Exception):
    """Base of every error cynet raises by itself; ``mx.base.MXNetError`` is the same class."""


MXNetError = CynetError


class ArgumentError(CynetError, ValueError):
    """An argument has a value that does not fit; the message names it and what was expected."""


class ArgumentTypeError(CynetError, TypeError):
    """An argument has the wrong type."""


class ShapeError(ArgumentError):
    """Shapes do not fit together; the message names the node, the shapes found and wanted."""


class NotFoundError(CynetError, AttributeError, KeyError):
    """A name is not registered; the message offers near ones."""

    def __str__(self):
        return Exception.__str__(self)


class FormatError(CynetError, ValueError):
    """A file is truncated, corrupt or of another format."""


class KernelError(CynetError):
    """A CUDA kernel does not compile, or did what it must not; names the kernel and its line."""


class OperatorError(CynetError):
    """A function failed inside the engine; raised where its result is awaited."""


_DRESSED = {}


def dress(error, message):
    """An exception that says `message`: an `OperatorError` of `error`'s own type, caused by it.

    So ``except mx.base.MXNetError`` and ``except ZeroDivisionError`` both catch a division by zero
    that happened in a worker. KeyboardInterrupt, SystemExit and the like come back as they are.

    >>> e = dress(ZeroDivisionError("division by zero"), "in operator 'f'")
    >>> isinstance(e, OperatorError), isinstance(e, ZeroDivisionError), str(e)
    (True, True, "in operator 'f'")
    """
    if not isinstance(error, Exception):
        return error
    kind = type(error)
    if issubclass(kind, CynetError):
        bases = (kind,) if issubclass(kind, OperatorError) else (OperatorError, kind)
    else:
        bases = (OperatorError, kind)
    dressed = _DRESSED.get(kind)
    if dressed is None:
        body = {
            "__init__": lambda self, text: Exception.__init__(self, text),
            "__str__": lambda self: str(self.args[0]),
            "__module__": kind.__module__,
        }
        try:
            dressed = type(kind.__name__, bases, body)
        except TypeError:  # layouts that cannot be joined, or bases in no consistent order
            dressed = OperatorError
        _DRESSED[kind] = dressed
    try:
        out = dressed.__new__(dressed, message)
        dressed.__init__(out, message)
    except Exception:  # a class that insists on its own arguments
        out = OperatorError(message)
    out.__cause__ = error
    return out.with_traceback(error.__traceback__)
