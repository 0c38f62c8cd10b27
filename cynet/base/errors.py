"""Exceptions: few classes under CynetError, and the one way an asynchronous error is annotated."""

import builtins
import contextlib
import functools
import os
import reprlib
import sys
import types
import warnings
import weakref
from collections.abc import Iterable
from types import TracebackType
from typing import Any

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
MAX_SHOWN = 200  # characters of a value in a message
_MAX_TEXT = 4000  # characters of a annotated error's text
_MAX_ANNOTATIONS = 4  # limit of annotating one error again with its traceback


_NOT_USERS = (PACKAGE, contextlib.__file__)  # files of scopes around cynet's functions


def user_frame() -> tuple[str, int]:
    """(file name, line) of the innermost running Python code that is not cynet's own.

    What asynchronous functions remember, to say in an error who pushed them.
    """
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_NOT_USERS):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


class _ShortRepr(reprlib.Repr):
    """`repr` in bounded time: of long and deep values only the beginning is read."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 5
        self.maxlist = self.maxtuple = self.maxset = self.maxfrozenset = self.maxdict = 60
        self.maxdeque = self.maxarray = 60
        self.maxstring = self.maxlong = self.maxother = MAX_SHOWN

    def repr_NDArray(self, x: Any, level: int) -> str:  # NDArray values may have to be waited for
        return f"<NDArray {'x'.join(map(str, x.shape))} @{x.context}>"

    def repr_ndarray(self, x: Any, level: int) -> str:
        return " ".join(repr(x).split()) if x.size <= 8 else f"<ndarray {x.shape} {x.dtype}>"

    def repr_int(self, x: int, level: int) -> str:
        if x.bit_length() > 4 * MAX_SHOWN:  # Python refuses to write the longest ints
            return f"<an int of {x.bit_length()} bits>"
        return super().repr_int(x, level)


_short = _ShortRepr()


def shown(value: object) -> str:
    """`repr` of a value for a message: at most 200 characters, and it never fails.

    >>> shown("net"), len(shown("x" * 10**6)), shown(10**400)
    ("'net'", 200, '<an int of 1329 bits>')
    """
    try:
        text = _short.repr(value)
    except Exception:  # the value's own repr
        text = f"<{type(value).__name__}>"
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 3] + "..."


def counted(number: int, noun: str) -> str:
    """A number with its noun, for a message.

    >>> counted(1, "epoch"), counted(2, "epoch")
    ('1 epoch', '2 epochs')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def listed(values: Iterable[object]) -> str:
    """Names for a message, at most 200 characters of them.

    >>> listed(["a", "b"])
    "'a', 'b'"
    """
    names = [shown(value) for value in values]
    count, length = 0, 0
    while count < len(names) and length + len(names[count]) + 2 <= MAX_SHOWN:
        length += len(names[count]) + 2
        count += 1
    if count == len(names):
        return ", ".join(names)
    return f"{', '.join(names[:count] or [names[0]])} and {len(names) - max(count, 1)} more"


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the innermost line of Python code that is not cynet's own."""
    warnings.warn_explicit(message, category, *user_frame())


class CynetError(RuntimeError):
    """Base of every error cynet raises by itself; ``mx.base.MXNetError`` is the same class, and a
    RuntimeError as in MXNet.

    An error that is also of a class with an ``__init__`` of its own (OSError, ImportError) names
    that class first: RuntimeError's takes no keywords and leaves errno unset.
    """


MXNetError = CynetError


class NotSupportedForSparseNDArray(CynetError):
    """A method of dense arrays was called on a sparse array."""


class ArgumentError(CynetError, ValueError):
    """An argument has an unsuitable value; the message names the value and what was expected."""


class ArgumentTypeError(CynetError, TypeError):
    """An argument has the wrong type."""


class ShapeError(ArgumentError):
    """Shapes do not fit together; the message names the node, the shapes found and wanted."""


class MismatchError(ArgumentError, AssertionError):
    """Things that must agree do not: names, shapes, contexts; an AssertionError in MXNet."""


class NotImplementedForSymbol(CynetError, NotImplementedError, TypeError):
    """An operation needs values, but a symbol or a traced graph has none."""


class NumberError(ArgumentError, OverflowError):
    """A Python int does not fit into the dtype of the other operand."""


class BoundsError(CynetError, IndexError):
    """An index is out of range; the message names the size."""


class NotFoundError(CynetError, AttributeError, KeyError):
    """A name is not registered; the message offers similar names."""

    def __str__(self) -> str:
        return Exception.__str__(self)


class MissingModuleError(ModuleNotFoundError, CynetError):
    """``import mxnet.x`` of a module that cynet does not have; `name` is the module's name."""


class UndefinedError(CynetError, NotImplementedError):
    """A method that a subclass must define is not defined."""


class FormatError(CynetError, ValueError):
    """A file is truncated, corrupt or of another format."""


class FileError(OSError, CynetError):
    """A file cannot be read or written; the message names it. Also the OSError of its kind."""

    def __str__(self) -> str:
        return str(self.strerror) if self.strerror else OSError.__str__(self)


class MissingFileError(FileError, FileNotFoundError, ArgumentError):
    """A file or folder does not exist."""


class FileAccessError(FileError, PermissionError):
    """The operating system refused access to a file."""


class FolderError(FileError, IsADirectoryError):
    """A folder was found where a file was expected."""


class NoFolderError(FileError, NotADirectoryError):
    """A part of the path is a file, not a folder."""


class HostMemoryError(CynetError, BufferError):
    """The host cannot read this memory; the message names the device."""


class OutOfMemoryError(CynetError, MemoryError):
    """There is not enough memory for an array or a function."""

    def __new__(cls, *args: Any) -> Any:
        return Exception.__new__(cls, *args)  # MemoryError.__new__ refuses two bases


class SizeError(ShapeError, OutOfMemoryError):
    """An array would have more elements than any memory holds."""


class StateError(CynetError):
    """An object is not in the state for a call: closed, opened otherwise, not initialized, ..."""


class GradientError(CynetError):
    """The recorded graph does not lead to the wanted gradient, or must not be changed; the message
    names the step and the line that recorded it."""


class NestingError(CynetError, RecursionError):
    """Functions of the engine wait for one another too deep."""


class KernelError(CynetError):
    """A CUDA kernel does not compile, or made an invalid access; names the kernel and its line."""


class PeerError(CynetError):
    """Another process of this training failed, ended or does not answer; names rank and host."""


class OperatorError(CynetError):
    """A function failed inside the engine, raised when its result is waited for; or a call failed
    with an error for which Python has its own class."""


def file_error(error: OSError, verb: str, path: object) -> FileError:
    """The FileError of an OSError that happened to `path`: "cannot VERB 'PATH': reason"."""
    kinds = (MissingFileError, FileAccessError, FolderError, NoFolderError)
    kind = next((k for k in kinds if isinstance(error, k.__bases__[1])), FileError)
    reason = error.strerror or str(error)
    reason = reason[:1].lower() + reason[1:]
    return kind(error.errno, f"cannot {verb} {shown(str(path))}: {reason}", path)


class _Annotated:
    """Base that `wrap_error` adds to an exception class: its own text, and its depth."""

    _text, _depth = "", 0
    __cause__: BaseException | None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Replaces the original's, which may count its subclasses or refuse them."""

    def __new__(cls, error: Any, text: str, depth: int) -> Any:
        if _Group is not None and isinstance(error, _Group):
            return _Group.__new__(cls, text, error.exceptions)
        for base in cls.__mro__:  # the constructor that Python's own base class insists on
            if isinstance(vars(base).get("__new__"), types.BuiltinFunctionType):
                try:
                    return base.__new__(cls, text)  # type: ignore[arg-type]
                except TypeError:
                    continue
        raise TypeError(f"{cls.__name__} cannot be made")

    def __init__(self, error: BaseException, text: str, depth: int) -> None:
        set_ = object.__setattr__  # a frozen class refuses to set attributes
        set_(self, "__cause__", error)
        vars(BaseException)["args"].__set__(self, (text,))
        for name, value in _extra_attributes(error).items():
            try:
                set_(self, name, value)
            except Exception:  # the attribute is read-only
                continue
        set_(self, "_text", text)
        set_(self, "_depth", depth)

    def __str__(self) -> str:
        return self._text

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore_error, (self.__cause__, self._text)


_Group = getattr(builtins, "BaseExceptionGroup", None)  # Python 3.10 has no BaseExceptionGroup
_MEMBER_TYPES = (types.MemberDescriptorType, types.GetSetDescriptorType)
# class of an error -> its annotated class
_annotated: weakref.WeakValueDictionary[type, Any] = weakref.WeakValueDictionary()


def _extra_attributes(error: BaseException) -> dict[str, Any]:
    """The attributes of an error beside its text: errno, filename, ..., and those of a user."""
    found: dict[str, Any] = {}
    for base in type(error).__mro__:
        for name, member in vars(base).items():
            if isinstance(member, _MEMBER_TYPES) and name != "args" and not name.startswith("__"):
                try:
                    found[name] = member.__get__(error)
                except Exception:  # the attribute is not set
                    continue
    found.update((k, v) for k, v in vars(error).items() if not k.startswith("__"))
    return found


def _fill(names: dict[str, Any], space: dict[str, Any]) -> None:
    space.update(names)


def _annotated_class(kind: type) -> Any:
    """The class of errors that are of `kind` and an OperatorError.

    Where the two cannot be joined (a base of `kind` is written in C and has no Python layout), the
    nearest base of `kind` stands for it.
    """
    found = _annotated.get(kind)
    if found is not None:
        return found
    names = {"__module__": kind.__module__, "__qualname__": kind.__qualname__}
    for base in kind.__mro__:
        if issubclass(base, _Annotated):
            found = base
        else:
            bases = (base,) if issubclass(base, OperatorError) else (OperatorError, base)
            try:
                found = types.new_class(
                    kind.__name__, (_Annotated, *bases), exec_body=functools.partial(_fill, names)
                )
            except (MemoryError, RecursionError):  # can be raised when memory or stack is short
                raise
            except Exception:  # no such class can be
                continue
        _annotated[kind] = found
        return found


# Created in advance: when they are needed, memory or stack may be too little for a class.
_PREPARED_CLASSES = [_annotated_class(kind) for kind in (Exception, MemoryError, RecursionError)]


def shorten(text: str, maximum: int = _MAX_TEXT) -> str:
    """`text` with at most `maximum` characters: its begin and its end.

    >>> shorten("a" * 30 + "b" * 30, 40)
    'aaaaaaaaaaaaaaaaaaaaaaa [...] bbbbbbbbbb'
    """
    if len(text) <= maximum:
        return text
    tail = maximum // 4
    return f"{text[: maximum - tail - 7]} [...] {text[-tail:]}"


def describe_error(error: BaseException) -> str:
    """The class and the text of an exception, for messages about it.

    >>> describe_error(KeyError("a"))
    "KeyError: 'a'"
    """
    try:
        text = str(error)
    except Exception as again:
        text = f"(no text: its __str__ raised {type(again).__name__})"
    return f"{type(error).__name__}: {shorten(text)}"


def of_user(trace: TracebackType | None) -> TracebackType | None:
    """The part of a traceback that begins in the user's function; None if there is none."""
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if not name.startswith((*_NOT_USERS, "cynet" + os.sep)):  # compiled modules' are relative
            return trace
        trace = trace.tb_next
    return None


def wrap_error(error: Any, message: str) -> Any:
    """An exception with the text `message`: an `OperatorError` of `error`'s own type, caused by it.

    So ``except mx.base.MXNetError`` and ``except ZeroDivisionError`` both catch a division by zero
    that happened in a worker; what the error holds (errno, the errors of a group, attributes of the
    user's class) is there, too. KeyboardInterrupt, SystemExit and the like come back as they are.
    The cause is the first error of all, with a traceback that begins in the user's function, if one
    raised it; what went through many functions keeps a text and a traceback of sensible size.

    >>> e = wrap_error(ZeroDivisionError("division by zero"), "in operator 'f'")
    >>> isinstance(e, OperatorError), isinstance(e, ZeroDivisionError), str(e)
    (True, True, "in operator 'f'")
    """
    if not isinstance(error, Exception):
        return error
    annotated = isinstance(error, _Annotated)
    depth: int = getattr(error, "_depth", 0) if annotated else 0
    kind = _annotated_class(type(error))
    cause: BaseException = error
    trace = error.__traceback__
    if annotated and error.__cause__ is not None:
        cause = error.__cause__
    elif (theirs := of_user(trace)) is not None:
        cause = error.with_traceback(theirs)
    trace = of_user(cause.__traceback__) or (trace if depth <= _MAX_ANNOTATIONS else None)
    try:
        out = kind(cause, shorten(message), depth + 1)
    except Exception:  # a class whose objects only its own code can create
        kind = _annotated_class(Exception)
        out = kind(cause, shorten(message), depth + 1)
    return BaseException.with_traceback(out, trace)


def loop_error(error: Any, message: str) -> Any:
    """`wrap_error` for a user's code inside of a loop or an iterator. A StopIteration would end the
    loop silently, so it is replaced by an OperatorError.

    >>> type(loop_error(StopIteration(), "in sample 3")).__name__
    'OperatorError'
    """
    if not isinstance(error, StopIteration):
        return wrap_error(error, message)
    out = OperatorError(shorten(message))
    out.__cause__ = error
    return out


def with_message(error: Any, message: str) -> Any:
    """An error of the class of `error`, a CynetError, with `message` for its text.

    >>> with_message(ShapeError("(2, 3)"), "node 'a': (2, 3)")
    ShapeError("node 'a': (2, 3)")
    """
    if isinstance(error, _Annotated):
        return wrap_error(error, message)
    try:
        return type(error)(message)
    except Exception:  # the class requires its own arguments
        return wrap_error(error, message)


def _restore_error(cause: BaseException | None, text: str) -> Any:
    """A pickled error restored; its class is created again where it is loaded."""
    return OperatorError(text) if cause is None else wrap_error(cause, text)
