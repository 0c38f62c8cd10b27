"""Text that several docstrings have, written once: help() shows it in each."""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_Target = TypeVar("_Target")  # a function or class
_ENTRIES = re.compile(r"^( *)Parameters\n\1-+\n((?:\1\S.*\n?|\1 .*\n?| *\n(?=\1 ))*)", re.M)
_SECTION_TITLE = re.compile(r"^( *)\w[\w ]*\n\1---+$", re.M)  # such as Returns, underlined


def with_paragraphs(**shared: str) -> Callable[[_Target], _Target]:
    """Make a decorator that puts paragraphs into a docstring.

    Parameters
    ----------
    **shared
        Name to text. A line ``{name}`` of the docstring stands for it, at that line's indentation.

    Returns
    -------
    callable
        It gives the function back.

    Examples
    --------
    >>> @with_paragraphs(out="out : NDArray\\n    Where to write.")
    ... def draw(out):
    ...     '''Draw.
    ...
    ...     {out}
    ...     '''
    >>> print(draw.__doc__.splitlines()[3])
            Where to write.
    """

    def insert_paragraphs(function: _Target) -> _Target:
        lines = (function.__doc__ or "").splitlines(keepends=True)
        for i, line in enumerate(lines):
            name = line.strip()[1:-1]
            if line.strip() == f"{{{name}}}" and name in shared:
                indent = line[: line.index("{")]
                lines[i] = textwrap.indent(shared[name], indent) + "\n"
        function.__doc__ = "".join(lines) or None
        return function

    return insert_paragraphs


def parameters_of(target: Any) -> str:
    """The entries under *Parameters* in the docstring of `target`, for `with_paragraphs`.

    >>> def scale(x):
    ...     '''Double `x`.
    ...
    ...     Parameters
    ...     ----------
    ...     x : float
    ...
    ...     Returns
    ...     -------
    ...     float
    ...     '''
    >>> parameters_of(scale)
    'x : float'
    """
    doc = inspect.getdoc(target) or ""
    return doc.partition("Parameters\n----------\n")[2].partition("\n\n")[0]


def share_parameters(name: str, text: str | None) -> None:
    """Describe parameters that docstrings leave out in the words that a package has for them.

    Parameters
    ----------
    name : str
        ``__name__`` of a module or package; of a package, the modules that are loaded take part.
    text : str or None
        A docstring that describes the parameters; ``**kwargs`` are those of classes, which hand
        them on. What a docstring describes itself stays, and so does one that has no sections.
        Under ``python -OO`` there are none.
    """
    if text is None:
        return
    known = _parse_entries(_ENTRIES.search(text))
    of_functions = {each: entry for each, entry in known.items() if not entry.startswith("*")}
    for each, module in list(sys.modules.items()):
        # Skips Namespaces of operators, which would create all of their functions.
        if f"{each}.".startswith(f"{name}.") and type(module) is ModuleType:
            for target, function in _iter_documented_objects(module):
                shared = known if isinstance(target, type) else of_functions
                _complete_docstring(target, _parameter_names(function), shared)


def _iter_documented_objects(module: ModuleType) -> Iterator[tuple[Any, FunctionType]]:
    """Yield the functions, classes and methods of a module whose docstrings have sections, with the
    function that is called."""
    for value in list(vars(module).values()):
        if not isinstance(value, (FunctionType, type)) or value.__module__ != module.__name__:
            continue
        kind: Any = value
        found = [(value, value)]
        if isinstance(value, type):
            found = [(kind, kind.__init__), *((each, each) for each in vars(value).values())]
        for target, function in found:
            if "---" in (target.__doc__ or ""):
                function = inspect.unwrap(getattr(function, "__func__", function))
                if isinstance(function, FunctionType):
                    yield getattr(target, "__func__", target), function


def _complete_docstring(target: Any, names: list[str], known: dict[str, str]) -> None:
    """Add entries of `known` to the docstring of `target` for parameters that it leaves out."""
    if known.keys().isdisjoint(names):
        return
    doc = target.__doc__
    section = _ENTRIES.search(doc)
    title = section or _SECTION_TITLE.search(doc)
    own = _parse_entries(section)
    left_out = [name for name in names if name in known and name not in own]
    if not left_out or title is None:
        return
    indent = title[1]
    for name in left_out:
        own[name] = indent + known[name].replace("\n", "\n" + indent)
    entries = [own[name] for name in names if name in own]
    entries += [entry for name, entry in own.items() if name not in names]
    text = "\n".join(dict.fromkeys(entries))
    if section is not None:
        doc = f"{doc[: section.start(2)]}{text}\n{doc[section.end(2) :]}"
    else:
        heading = f"{indent}Parameters\n{indent}----------\n"
        doc = f"{doc[: title.start()]}{heading}{text}\n\n{doc[title.start() :]}"
    while target is not None:  # wrapped functions get it too: messages quote it
        target.__doc__ = doc
        target = getattr(target, "__wrapped__", None)


def _parameter_names(function: FunctionType) -> list[str]:
    """Return the parameters of a function in the order of its signature."""
    code = function.__code__
    end = code.co_argcount + code.co_kwonlyargcount
    names = list(code.co_varnames)
    if code.co_flags & inspect.CO_VARARGS:
        names.insert(code.co_argcount, names.pop(end))
        end += 1
    return names[: end + bool(code.co_flags & inspect.CO_VARKEYWORDS)]


def _parse_entries(section: re.Match[str] | None) -> dict[str, str]:
    """Return {parameter: its entry in a section}; ``a, b : int`` is the entry of both."""
    found = {}
    if section is not None:
        for entry in re.split(rf"\n(?={section[1]}\S)", section[2].rstrip()):
            for name in entry.partition("\n")[0].partition(" : ")[0].split(","):
                found[name.strip(" *")] = entry
    return found
