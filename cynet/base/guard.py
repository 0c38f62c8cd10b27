"""The decorator `guarded`: turns Python's exceptions for wrong arguments into errors of cynet.

Checks with messages of their own stand in the functions. What passes those and fails further in, as
an attribute of None or an int too large for C, is told here with the call and what it takes.
"""

from __future__ import annotations

import functools
import inspect
import re
import struct
import sys
import types
import zlib
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeVar, overload

from .errors import (
    ArgumentError,
    ArgumentTypeError,
    BoundsError,
    CynetError,
    FormatError,
    OutOfMemoryError,
    UndefinedError,
    file_error,
    shorten,
    shown,
    wrap_error,
)
from .other_names import OTHER_KEYWORDS, keyword_hint

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_Target = TypeVar("_Target")
_UNCHANGED_ERRORS = (CynetError, StopIteration, StopAsyncIteration, AssertionError, Warning)
_ERROR_CLASS_OF_EXCEPTION = (
    (UnicodeDecodeError, FormatError),
    (struct.error, FormatError),
    (zlib.error, FormatError),
    (EOFError, FormatError),
    (MemoryError, OutOfMemoryError),
    (IndexError, BoundsError),
    (NotImplementedError, UndefinedError),
    ((TypeError, AttributeError), ArgumentTypeError),
    ((ValueError, re.error), ArgumentError),
)
_SPECIAL_METHODS = (  # the special methods that are guarded
    *("__init__", "__new__", "__call__", "__getitem__", "__setitem__", "__delitem__"),
    *("__contains__", "__enter__", "__exit__", "__len__", "__iter__", "__next__"),
)
# Methods that a training loop calls for every batch: not decorated, they check their arguments.
PER_BATCH_METHODS = (
    *("forward", "backward", "update", "forward_backward", "train_step", "update_metric"),
    *("prepare", "get_outputs", "next", "iter_next", "getdata", "getlabel", "getpad", "getindex"),
    *("__next__", "__iter__"),
)
_PACKAGE = __name__.partition(".")[0]
_OWN_PACKAGES = {_PACKAGE, "numpy", *sys.stdlib_module_names}  # not the user's code
_OWN_PACKAGES -= {"__main__"}
_PARAMETER_PATTERN = re.compile(r"^[ ]*(\w[\w, *]*) : (.+)$", re.M)  # in a docstring
_UNEXPECTED_PATTERN = re.compile(r"unexpected keyword argument '(\w+)'")
_MISSING_PATTERN = re.compile(r"missing \d+ required")  # error text of a call
_MAX_MESSAGE_CHARS = 1000  # characters of a message


@overload
def guarded(target: _Target, *, but: Sequence[str] = ()) -> _Target: ...


@overload
def guarded(*, but: Sequence[str] = ()) -> Callable[[_Target], _Target]: ...


def guarded(target: Any = None, *, but: Sequence[str] = ()) -> Any:
    """Decorate a function or class, so that wrong arguments raise errors of cynet.

    Of a class these are the public methods and properties it defines itself, not those that a
    subclass defines. What code of the user raises that is called on the way, passes unchanged.

    Parameters
    ----------
    target : function or class
    but : sequence of str
        Methods that are left as they are: what is called for every batch checks for itself.

    Examples
    --------
    >>> @guarded
    ... def half(number):
    ...     return number / 2
    >>> try:
    ...     half("x")
    ... except ArgumentTypeError as error:
    ...     print(str(error)[:17])
    half(number='x'):
    """
    if target is None:
        return functools.partial(guarded, but=but)
    if not isinstance(target, type):
        return _guard_function(target)
    for name, member in list(vars(target).items()):
        if name in but or (name.startswith("_") and name not in _SPECIAL_METHODS):
            continue
        if isinstance(member, types.FunctionType):
            setattr(target, name, _guard_function(member))
        elif isinstance(member, (staticmethod, classmethod)):
            if isinstance(member.__func__, types.FunctionType):
                setattr(target, name, type(member)(_guard_function(member.__func__)))
        elif isinstance(member, property) and member.fset is not None:
            setattr(target, name, member.setter(_guard_function(member.fset)))
    return target


class Guarded:
    """Base class whose subclasses in cynet are decorated with `guarded`; users' subclasses are not.

    Attributes
    ----------
    _unguarded : tuple of str
        Methods that are left as they are.
    """

    __slots__ = ()
    _unguarded: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.__module__.partition(".")[0] == _PACKAGE and not cls.__name__.startswith("_"):
            guarded(cls, but=cls._unguarded)


def _guard_function(function: Callable[..., Any]) -> Callable[..., Any]:
    if hasattr(function, "unguarded"):  # guarded already
        return function
    if inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                yield from function(*args, **kwargs)
            except _UNCHANGED_ERRORS:
                raise
            except Exception as error:
                refused = refusal_error(error, function, args, kwargs)
                if refused is error:
                    raise
                raise refused from error

    else:

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*args, **kwargs)
            except _UNCHANGED_ERRORS:
                raise
            except Exception as error:
                refused = refusal_error(error, function, args, kwargs)
                if refused is error:
                    raise
                raise refused from error

    vars(call)["unguarded"] = function
    return call


def refusal_error(
    error: Exception, function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]
) -> Exception:
    """Return cynet's error for one that a call raised; the error itself if user code raised it."""
    if isinstance(error, _UNCHANGED_ERRORS) or _is_user_traceback(error.__traceback__):
        return error
    if isinstance(error, OSError) and error.errno is not None:
        return file_error(error, "use", error.filename or describe_call(function, args, kwargs))
    text = "nested too deep" if isinstance(error, RecursionError) else _error_text(error)
    trace = error.__traceback__
    if trace is not None and trace.tb_next is not None:  # Python's message lacks its name
        text = f"{describe_call(function, args, kwargs)}: {text}"
    if isinstance(error, TypeError):
        text += _keyword_hint(text, function, args, kwargs)
        if args and function.__name__ == "__init__":  # the class may inherit __init__
            kind = next(k for k in type(args[0]).__mro__ if not _is_user_module(k.__module__))
            text = text.replace(f"{function.__qualname__}()", f"{kind.__name__}.__init__()")
    for raised, kind in _ERROR_CLASS_OF_EXCEPTION:
        if isinstance(error, raised):
            return kind(shorten(text, _MAX_MESSAGE_CHARS))
    wrapped: Exception = wrap_error(error, shorten(text, _MAX_MESSAGE_CHARS))
    return wrapped


def refuse(error: Exception, function: Callable[..., Any], *args: Any) -> NoReturn:
    """Raise the result of `refusal_error`, in an except block of a method that is not guarded."""
    refused = refusal_error(error, function, args, {})
    if refused is error:
        raise error
    raise refused from error


def _error_text(error: Exception) -> str:
    try:
        text = str(error)
    except Exception:  # raised by the error's own __str__
        text = ""
    if isinstance(error, KeyError):
        return f"there is no {text}"
    return text or type(error).__name__


def _keyword_hint(
    text: str, function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]
) -> str:
    """Return a hint at the right keyword for an unexpected or missing keyword; "" for other errors.

    A method that hands keywords on also takes the keywords of the base classes' methods.
    """
    found = _UNEXPECTED_PATTERN.search(text)
    if found is None and not _MISSING_PATTERN.search(text):
        return ""
    functions = [function]
    if args and function.__name__ in ("__init__", "__new__"):
        kinds = (args[0] if isinstance(args[0], type) else type(args[0])).__mro__
        functions += [each for kind in kinds if (each := vars(kind).get(function.__name__))]
    known = []
    for each in functions:
        if not isinstance(each, types.FunctionType):
            break
        parameters = inspect.signature(each).parameters.values()
        known += [p.name for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
        if each is not function and all(p.kind != p.VAR_KEYWORD for p in parameters):
            break
    known = [name for name in dict.fromkeys(known) if name not in ("self", "cls")]
    if found is not None:
        return keyword_hint(found[1], known)
    for name in kwargs:  # a missing argument may have been given under another name
        hint = keyword_hint(name, known) if name.lower() in OTHER_KEYWORDS else ""
        if hint and name not in known:
            return f"; {name}: {hint[2:]}"
    return ""


def _is_user_traceback(trace: types.TracebackType | None) -> bool:
    """Return whether the error was raised in user code: outside of cynet, Python and NumPy."""
    while trace is not None:
        if _is_user_module(trace.tb_frame.f_globals.get("__name__")):
            return True
        trace = trace.tb_next
    return False


def _is_user_module(module: object) -> bool:
    """Return whether a module of this name is user code: outside of cynet, Python and NumPy."""
    return not isinstance(module, str) or module.partition(".")[0] not in _OWN_PACKAGES


def describe_call(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> str:
    """Return a call as text, with the documented types of its arguments.

    >>> describe_call(guarded, (3,), {})
    'guarded(target=3) [target: function or class]'
    """
    signature = inspect.signature(function)
    name, doc = function.__name__, inspect.getdoc(function) or ""
    try:
        given = dict(signature.bind(*args, **kwargs).arguments)
    except TypeError:
        given = {str(i): value for i, value in enumerate(args)} | kwargs
    first = next(iter(given), None)
    if first in ("self", "cls"):
        subject = given.pop(first)
        kind = subject if isinstance(subject, type) else type(subject)
        if name in ("__init__", "__new__"):
            name, doc = kind.__name__, inspect.getdoc(kind) or ""
        else:
            name = f"{kind.__name__}.{name}"
    wanted: dict[str, str] = {}
    for names, what in _PARAMETER_PATTERN.findall(doc):
        wanted.update((each.strip(" *"), what.strip()) for each in names.split(","))
    listed = ", ".join(f"{key}={shown(value)}" for key, value in given.items())
    expected = "; ".join(f"{key}: {wanted[key]}" for key in given if key in wanted)
    return f"{name}({listed})" + (f" [{expected}]" if expected else "")
