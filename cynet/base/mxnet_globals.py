"""Modules under MXNet's names: ``mxnet.metric`` has the names of MXNet's module.

A package that was written for MXNet takes more from its modules than their public names: what they
import themselves (``from mxnet.metric import ndarray``), their private helpers, and all that
``import *`` gives. `MXNetModule` looks a name up in cynet's module, in its parent package, and in
the table of MXNet's globals, ``mxnet_globals.txt`` (``tests/fixtures/globals.py`` writes it).
"""

from __future__ import annotations

import contextlib
import importlib
import math
import os
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Sequence

_PACKAGE = __name__.partition(".")[0]

_MX_DTYPES = (np.float32, np.float64, np.float16, np.uint8, np.int32, np.int8, np.int64, np.bool_)
_STORAGE_CODES = {"undefined": -1, "default": 0, "row_sparse": 1, "csr": 2}  # MXNet's storage types
# Values of MXNet's private names: path of the module -> name -> value.
_PRIVATE_VALUES: dict[str, dict[str, Any]] = {  # module -> name -> value
    "contrib.text._constants": {"UNKNOWN_IDX": 0},
    "gluon.contrib.data._constants": {"EOS_TOKEN": "<eos>"},
    "lr_scheduler": {"pi": math.pi},
    "ndarray.ndarray": {
        "_DTYPE_MX_TO_NP": {-1: None, **dict(enumerate(_MX_DTYPES))},
        "_DTYPE_NP_TO_MX": {None: -1, **{dtype: code for code, dtype in enumerate(_MX_DTYPES)}},
        "_GRAD_REQ_MAP": {"null": 0, "write": 1, "add": 3},
        "_SIGNED_INT32_UPPER_LIMIT": 2**31 - 1,
        "_STORAGE_TYPE_CSR": _STORAGE_CODES["csr"],
        "_STORAGE_TYPE_DEFAULT": _STORAGE_CODES["default"],
        "_STORAGE_TYPE_ID_TO_STR": {code: name for name, code in _STORAGE_CODES.items()},
        "_STORAGE_TYPE_ROW_SPARSE": _STORAGE_CODES["row_sparse"],
        "_STORAGE_TYPE_STR_TO_ID": _STORAGE_CODES,
        "_STORAGE_TYPE_UNDEFINED": _STORAGE_CODES["undefined"],
    },
    "recordio": {"_IR_FORMAT": "IfQQ", "_IR_SIZE": 24},
}


def _read_lines(name: str) -> list[str]:
    """Read the lines of a text file in this file's folder."""
    with open(os.path.join(os.path.dirname(__file__), name), encoding="utf-8") as file:
        return file.read().splitlines()


@cache
def globals_of_mxnet() -> dict[str, Any]:
    """Return a dict: a module's path in MXNet 1.9.1 (``"metric"``, ``"mxnet"`` for the package) ->
    dict of its global names, name -> ``(defining module, name there)``. The name is None for a
    module itself. The key ``"metric *"`` has the names of ``__all__``."""
    table: dict[str, Any] = {}
    for line in _read_lines("mxnet_globals.txt"):
        path, _, words = line.partition(":")
        if path.endswith("*"):
            table[path] = words.split()
        else:
            table[path] = dict(_parse_name_entry(path, word) for word in words.split())
    return table


@cache
def missing_names() -> dict[str, frozenset[str]]:
    """Return a dict: path in MXNet (``"mx.ndarray.contrib"``) -> frozenset of the public names that
    MXNet 1.9.1 has there and cynet lacks. Its file is written by ``tests/fixtures/names.py``."""
    pairs = (line.partition(": ") for line in _read_lines("missing_names.txt"))
    return {path: frozenset(names.split()) for path, _, names in pairs}


def is_missing(name: str) -> bool:
    """Return whether MXNet's module of this dotted name (``"mxnet.ndarray.sparse"``) is missing."""
    owner, _, last = name.rpartition(".")
    return last in missing_names().get("mx" + owner[len("mxnet") :], ())


def _parse_name_entry(path: str, word: str) -> tuple[str, tuple[str, str | None]]:
    name, at, home = word.partition("@")
    if at:
        module, _, other = home.partition(":")
        return name, (_full_module_name(module), other or name)
    name, is_module, home = word.partition("=")
    if is_module:
        return name, (_full_module_name(home), None)
    return name, (_full_module_name("." + path if path != "mxnet" else "."), name)


def _full_module_name(module: str) -> str:
    return ("mxnet" + module).rstrip(".") if module.startswith(".") else module


class MXNetModule(ModuleType):
    """A module under MXNet's name with the names of cynet's module; attributes set on it are set
    there.

    name: MXNet's name, ``"mxnet.metric"``.
    sources: cynet's modules with the names, the main one first.
    """

    def __init__(self, name: str, sources: Sequence[ModuleType]) -> None:
        super().__init__(name, sources[0].__doc__ if sources else None)
        own = self.__dict__
        own["_sources"] = tuple(sources)
        # methods of the class would be slower
        own["__getattr__"], own["__dir__"] = self._find_value, self._public_names
        own["__path__"] = []  # `from x import name` then asks the finder, whose error explains
        if sources:
            own["__file__"] = getattr(sources[0], "__file__", None)
        # Functions and classes are copied, for speed and for code that reads __dict__.
        # Other values may be rebound and are looked up each time. Operators' functions are created
        # when a module first looks one up; names that other modules import later are looked up
        # later.
        for source in sources[:1]:
            operators = self._module_path.partition(".")[0] in ("ndarray", "symbol")
            for key in dir(source) if operators else list(vars(source)):
                value = None if key.startswith("__") else getattr(source, key)
                if callable(value) and not isinstance(value, ModuleType):
                    own[key] = value

    @property
    def _module_path(self) -> str:
        return self.__name__.partition(".")[2] or "mxnet"

    def _find_value(self, name: str) -> Any:
        if name == "__all__":
            return self._star_import_names()
        if name.startswith("__"):
            raise NotFoundError(f"module '{self.__name__}' has no attribute '{name}'")
        if name in _PRIVATE_VALUES.get(self._module_path, ()):
            return _PRIVATE_VALUES[self._module_path][name]
        try:
            return self._find_in_sources(name)
        except AttributeError as error:
            missing = error
        home, there = globals_of_mxnet().get(self._module_path, {}).get(name, (self.__name__, name))
        if there is None:
            with contextlib.suppress(ImportError):
                return importlib.import_module(home)
        elif (home, there) != (self.__name__, name):
            with contextlib.suppress(ImportError, AttributeError):
                return getattr(importlib.import_module(home), there)
        raise missing

    def _find_in_sources(self, name: str) -> Any:
        """Return the value of a name in cynet's modules."""
        missing = NotFoundError(f"module '{self.__name__}' has no attribute '{name}'")
        for source in self._sources:
            try:
                found = as_mxnet_module(getattr(source, name))
            except NotFoundError as error:
                missing = error
            except AttributeError:
                pass
            else:
                if isinstance(found, ModuleType):
                    self.__dict__[name] = found  # not stored: mx.nd is looked up at each use
                return found
        raise missing

    def __setattr__(self, name: str, value: Any) -> None:
        if self._sources and not name.startswith("__") and not isinstance(value, ModuleType):
            setattr(self._sources[0], name, value)
        self.__dict__[name] = value

    def __delattr__(self, name: str) -> None:
        if self._sources and name in vars(self._sources[0]):
            delattr(self._sources[0], name)
        self.__dict__.pop(name, None)

    def _public_names(self) -> list[str]:
        found = {*globals_of_mxnet().get(self._module_path, {}), *vars(self)} - {"_sources"}
        found.update(*map(dir, self._sources[:1]))
        return sorted(name for name in found if hasattr(self, name))

    def _star_import_names(self) -> list[str]:
        """Return the names of ``from mxnet.x import *``: those of MXNet that cynet has."""
        table = globals_of_mxnet()
        names = table.get(f"{self._module_path} *")
        if names is None:
            names = [n for n in table.get(self._module_path, ()) if not n.startswith("_")]
        return [name for name in names if hasattr(self, name)]


def as_mxnet_module(value: Any) -> Any:
    """Return the MXNetModule for a module of cynet; any other value unchanged."""
    if isinstance(value, ModuleType) and value.__name__.partition(".")[0] == _PACKAGE:
        return importlib.import_module("mxnet" + value.__name__[len(_PACKAGE) :])
    return value
