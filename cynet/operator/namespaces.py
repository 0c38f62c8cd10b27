"""Modules whose functions are operators: created at first use."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..base.errors import NotFoundError
from ..base.guard import guarded
from ._base import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Callable

# Reads a module's real ``__dict__``, which has only the functions created so far.
module_dict: Callable[[ModuleType], dict[str, Any]] = vars(ModuleType)["__dict__"].__get__
_operator_counts: dict[str, int] = {}  # module name -> count of operators at its last listing
created_names: dict[str, set[str]] = {}  # module name -> names of its functions created so far


class Namespace(ModuleType):  # module of operators, created on access
    """A module of operators. Access to its ``__dict__`` creates all functions, which takes some 40
    ms; attributes are created one by one."""

    @property  # a property, unlike in typeshed: Python reads the names here
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        own = module_dict(self)
        count = sum(1 for _ in OPERATORS)
        if _operator_counts.get(self.__name__) != count:
            _operator_counts[self.__name__] = count
            for name in own["__dir__"]():
                if not name.startswith("__"):
                    getattr(self, name)
        return own

    def __dir__(self) -> list[str]:  # a module's __dir__ reads its __dict__
        names: list[str] = module_dict(self)["__dir__"]()
        return names


def public_names(space: dict[str, Any]) -> list[str]:
    """Return the ``__all__`` of a package: its names without a leading underscore, no modules."""
    shown = (name for name, value in space.items() if not isinstance(value, ModuleType))
    return sorted(name for name in shown if not name.startswith("_"))


def guard_public_names(space: dict[str, Any]) -> list[str]:
    """Return `public_names` of a package; wrap functions and classes so that errors name them."""
    names = public_names(space)
    for name in names:
        value = guarded(space[name], but=getattr(space[name], "_unguarded", ()))
        space[name] = value
        setattr(sys.modules[value.__module__], name, value)  # pickle looks it up there
    return names


def accept_any_name(name: str) -> bool:
    return True


def make_namespace(
    module_name: str,
    prefix: str,
    make: Callable[[str, str], Any],
    is_shown: Callable[[str], bool] = accept_any_name,
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` for a module of operators, which becomes a Namespace.

    module_name: The module; functions are set there once made, but for those of users, whose names
        may be registered again.
    prefix: What the operators' names start with: ``"_linalg_"`` shows ``_linalg_gemm2`` as
        ``gemm2``.
    make: ``make(operator, name)`` gives the function that the module shows as `name`.
    is_shown: Whether a name, without prefix, is shown; each is when not given.
    """
    module, made = sys.modules[module_name], created_names.setdefault(module_name, set())
    module.__class__ = Namespace

    def find_function(name: str) -> Any:
        operator = prefix + name
        if name.startswith("__") or operator not in OPERATORS or not is_shown(name):
            raise NotFoundError(f"module '{module_name}' has no attribute '{name}'")
        function = make(operator, name)
        if not OPERATORS.get(operator).prop.users:
            module_dict(module)[name] = function
            made.add(name)
        return function

    def names() -> list[str]:
        named = (name[len(prefix) :] for name in OPERATORS if name.startswith(prefix))
        return sorted({*filter(is_shown, named), *module_dict(module)})

    return find_function, names
