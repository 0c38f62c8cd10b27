"""Exceptions: subclasses of CynetError, and the annotation of errors of asynchronous functions."""

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

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep  # cynet's folder
MAX_SHOWN = 200  # characters of a value in a message
_MAX_TEXT_CHARS = 4000  # maximum length of an annotated error's text
_MAX_ANNOTATIONS = 4  # maximum number of annotations of one error


_OWN_FILES = (PACKAGE, contextlib.__file__)  # files whose frames are not the user's


def user_frame() -> tuple[str, int]:
    """Return (file name, line) of the innermost running Python code outside of cynet.

    What asynchronous functions remember, to say in an error who pushed them.
    """
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OWN_FILES):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


class _ShortRepr(reprlib.Repr):
    """A `repr` in bounded time, which reads only the beginning of long and deep values."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 5
        self.maxlist = self.maxtuple = self.maxset = self.maxfrozenset = self.maxdict = 60
        self.maxdeque = self.maxarray = 60
        self.maxstring = self.maxlong = self.maxother = MAX_SHOWN

    def repr_NDArray(self, x: Any, level: int) -> str:  # without values, which may be pending
        return f"<NDArray {'x'.join(map(str, x.shape))} @{x.context}>"

    def repr_ndarray(self, x: Any, level: int) -> str:
        return " ".join(repr(x).split()) if x.size <= 8 else f"<ndarray {x.shape} {x.dtype}>"

    def repr_int(self, x: int, level: int) -> str:
        if x.bit_length() > 4 * MAX_SHOWN:  # Python refuses to print ints of over 4300 digits
            return f"<an int of {x.bit_length()} bits>"
        return super().repr_int(x, level)


_short_repr = _ShortRepr()


def shown(value: object) -> str:
    """Return the `repr` of a value for a message: at most 200 characters, and it never fails.

    >>> shown("net"), len(shown("x" * 10**6)), shown(10**400)
    ("'net'", 200, '<an int of 1329 bits>')
    """
    try:
        text = _short_repr.repr(value)
    except Exception:  # the value's own repr
        text = f"<{type(value).__name__}>"
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 3] + "..."


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, for a message.

    >>> counted(1, "epoch"), counted(2, "epoch")
    ('1 epoch', '2 epochs')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def listed(values: Iterable[object]) -> str:
    """Return names joined for a message, at most 200 characters.

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
    """Base class of all errors of cynet. ``mx.base.MXNetError`` is the same class, and a
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
    """Names, shapes or contexts that must agree do not; an AssertionError in MXNet."""


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
    """Too many functions of the engine wait inside of one another."""


class KernelError(CynetError):
    """A CUDA kernel does not compile or made an invalid access; the message names its line."""


class PeerError(CynetError):
    """Another process of this training failed or does not answer; the message names rank and
    host."""


class OperatorError(CynetError):
    """A function failed inside of the engine: raised by a wait for its result. Also a failed call
    whose error is of another class of Python."""


def file_error(error: OSError, verb: str, path: object) -> FileError:
    """Return the FileError for an OSError: "cannot VERB 'PATH': reason"."""
    kinds = (MissingFileError, FileAccessError, FolderError, NoFolderError)
    kind = next((k for k in kinds if isinstance(error, k.__bases__[1])), FileError)
    reason = error.strerror or str(error)
    reason = reason[:1].lower() + reason[1:]
    return kind(error.errno, f"cannot {verb} {shown(str(path))}: {reason}", path)


class _AnnotatedError:
    """Base class that `wrap_error` adds to an exception's class: a text and an annotation count."""

    _text, _depth = "", 0
    __cause__: BaseException | None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Replace the method of the original class, which may count or refuse its subclasses."""

    def __new__(cls, error: Any, text: str, depth: int) -> Any:
        if _ExceptionGroup is not None and isinstance(error, _ExceptionGroup):
            return _ExceptionGroup.__new__(cls, text, error.exceptions)
        for base in cls.__mro__:  # the constructor of the builtin base class
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


_ExceptionGroup = getattr(builtins, "BaseExceptionGroup", None)  # None in Python 3.10
_MEMBER_TYPES = (types.MemberDescriptorType, types.GetSetDescriptorType)  # C fields, slots
# class of an error -> its annotated class
_annotated_classes: weakref.WeakValueDictionary[type, Any] = weakref.WeakValueDictionary()


def _extra_attributes(error: BaseException) -> dict[str, Any]:
    """Return the attributes of an error: errno, filename, ..., and those that a user has set."""
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


def _add_class_names(names: dict[str, Any], space: dict[str, Any]) -> None:
    space.update(names)


def _annotated_class(kind: type) -> Any:
    """Return a class that is a subclass of `kind` and of OperatorError.

    Where the two cannot be joined (a base of `kind` is written in C and has no Python layout), the
    nearest base of `kind` stands for it.
    """
    found = _annotated_classes.get(kind)
    if found is not None:
        return found
    names = {"__module__": kind.__module__, "__qualname__": kind.__qualname__}
    for base in kind.__mro__:
        if issubclass(base, _AnnotatedError):
            found = base
        else:
            bases = (base,) if issubclass(base, OperatorError) else (OperatorError, base)
            try:
                found = types.new_class(
                    kind.__name__,
                    (_AnnotatedError, *bases),
                    exec_body=functools.partial(_add_class_names, names),
                )
            except (MemoryError, RecursionError):  # can be raised when memory or stack is short
                raise
            except Exception:  # the two classes cannot be combined
                continue
        _annotated_classes[kind] = found
        return found


# Created in advance: when such errors occur, memory or stack may not suffice for a new class.
_PREPARED_CLASSES = [_annotated_class(kind) for kind in (Exception, MemoryError, RecursionError)]


def shorten(text: str, maximum: int = _MAX_TEXT_CHARS) -> str:
    """Shorten `text` to `maximum` characters: its begin and its end.

    >>> shorten("a" * 30 + "b" * 30, 40)
    'aaaaaaaaaaaaaaaaaaaaaaa [...] bbbbbbbbbb'
    """
    if len(text) <= maximum:
        return text
    tail = maximum // 4
    return f"{text[: maximum - tail - 7]} [...] {text[-tail:]}"


def describe_error(error: BaseException) -> str:
    """Return the class and the text of an exception, for a message.

    >>> describe_error(KeyError("a"))
    "KeyError: 'a'"
    """
    try:
        text = str(error)
    except Exception as again:
        text = f"(no text: its __str__ raised {type(again).__name__})"
    return f"{type(error).__name__}: {shorten(text)}"


def user_traceback(trace: TracebackType | None) -> TracebackType | None:
    """Return the part of a traceback that begins in the user's function; None if there is none."""
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if not name.startswith((*_OWN_FILES, "cynet" + os.sep)):  # compiled: relative paths
            return trace
        trace = trace.tb_next
    return None


def wrap_error(error: Any, message: str) -> Any:
    """Return an `OperatorError` with the text `message` that is also of `error`'s class.

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
    annotated = isinstance(error, _AnnotatedError)
    depth: int = getattr(error, "_depth", 0) if annotated else 0
    kind = _annotated_class(type(error))
    cause: BaseException = error
    trace = error.__traceback__
    if annotated and error.__cause__ is not None:
        cause = error.__cause__
    elif (theirs := user_traceback(trace)) is not None:
        cause = error.with_traceback(theirs)
    trace = user_traceback(cause.__traceback__) or (trace if depth <= _MAX_ANNOTATIONS else None)
    try:
        out = kind(cause, shorten(message), depth + 1)
    except Exception:  # a class whose objects only its own code can create
        kind = _annotated_class(Exception)
        out = kind(cause, shorten(message), depth + 1)
    return BaseException.with_traceback(out, trace)


def loop_error(error: Any, message: str) -> Any:
    """`wrap_error` for an error of a user's code inside of a loop or an iterator. A StopIteration
    would end the loop silently, so it is replaced by an OperatorError.

    >>> type(loop_error(StopIteration(), "in sample 3")).__name__
    'OperatorError'
    """
    if not isinstance(error, StopIteration):
        return wrap_error(error, message)
    out = OperatorError(shorten(message))
    out.__cause__ = error
    return out


def with_message(error: Any, message: str) -> Any:
    """Return an error of the class of `error`, a CynetError, with the text `message`.

    >>> with_message(ShapeError("(2, 3)"), "node 'a': (2, 3)")
    ShapeError("node 'a': (2, 3)")
    """
    if isinstance(error, _AnnotatedError):
        return wrap_error(error, message)
    try:
        return type(error)(message)
    except Exception:  # the class requires its own arguments
        return wrap_error(error, message)


def _restore_error(cause: BaseException | None, text: str) -> Any:
    """Restore a pickled error; its class is created again in the process that loads it."""
    return OperatorError(text) if cause is None else wrap_error(cause, text)
