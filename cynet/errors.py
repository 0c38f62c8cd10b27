"""Exceptions: few classes under CynetError, and the one way an asynchronous error is dressed."""

import os
import reprlib
import sys

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
MOST_SHOWN = 200  # characters of a value in a message


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


class _Short(reprlib.Repr):
    """`repr` in bounded time: of long and deep values only the beginning is read."""

    def __init__(self):
        super().__init__()
        self.maxlevel = 5
        self.maxlist = self.maxtuple = self.maxset = self.maxfrozenset = self.maxdict = 60
        self.maxdeque = self.maxarray = 60
        self.maxstring = self.maxlong = self.maxother = MOST_SHOWN

    def repr_int(self, x, level):
        if x.bit_length() > 4 * MOST_SHOWN:  # Python refuses to write the longest ones
            return f"<an int of {x.bit_length()} bits>"
        return super().repr_int(x, level)


_short = _Short()


def shown(value):
    """`repr` of a value for a message: at most 200 characters, and it never fails.

    >>> shown("net"), len(shown("x" * 10**6)), shown(10**400)
    ("'net'", 200, '<an int of 1329 bits>')
    """
    try:
        text = _short.repr(value)
    except Exception:  # the value's own repr
        text = f"<{type(value).__name__}>"
    return text if len(text) <= MOST_SHOWN else text[: MOST_SHOWN - 3] + "..."


class CynetError(Exception):
    """Base of every error cynet raises by itself; ``mx.base.MXNetError`` is the same class."""


MXNetError = CynetError


class ArgumentError(CynetError, ValueError):
    """An argument has a value that does not fit; the message names it and what was expected."""


class ArgumentTypeError(CynetError, TypeError):
    """An argument has the wrong type."""


class ShapeError(ArgumentError):
    """Shapes do not fit together; the message names the node, the shapes found and wanted."""


class OutOfMemoryError(CynetError, MemoryError):
    """There is no memory of that size; the message says how much was asked for."""


class SizeError(ShapeError, OutOfMemoryError):
    """An array would have more elements than any memory holds."""


class NotFoundError(CynetError, AttributeError, KeyError):
    """A name is not registered; the message offers near ones."""

    def __str__(self):
        return Exception.__str__(self)


class FormatError(CynetError, ValueError):
    """A file is truncated, corrupt or of another format."""


class FileError(CynetError, OSError):
    """A file cannot be read or written; the message names it. Also the OSError of its kind."""

    def __str__(self):
        return str(self.strerror) if self.strerror else OSError.__str__(self)


class MissingFileError(FileError, FileNotFoundError, ArgumentError):
    """There is no such file or folder."""


class FileAccessError(FileError, PermissionError):
    """The system does not allow it."""


class FolderError(FileError, IsADirectoryError):
    """It is a folder, not a file."""


class NoFolderError(FileError, NotADirectoryError):
    """A part of the path is a file, not a folder."""


class KernelError(CynetError):
    """A CUDA kernel does not compile, or did what it must not; names the kernel and its line."""


class OperatorError(CynetError):
    """A function failed inside the engine; raised where its result is awaited."""


def file_error(error, verb, path):
    """The FileError of an OSError that happened to `path`: "cannot VERB 'PATH': reason"."""
    kinds = (MissingFileError, FileAccessError, FolderError, NoFolderError)
    kind = next((k for k in kinds if isinstance(error, k.__bases__[1])), FileError)
    reason = error.strerror or str(error)
    reason = reason[:1].lower() + reason[1:]
    return kind(error.errno, f"cannot {verb} {shown(path)}: {reason}", path)


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
