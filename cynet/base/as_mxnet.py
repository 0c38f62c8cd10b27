"""install_as_mxnet(): ``import mxnet`` finds cynet, for scripts that run unmodified."""

from __future__ import annotations

import importlib
import sys
import warnings
from functools import wraps
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import CynetError, MissingModuleError, shown
from .mxnet_globals import Face, globals_of_mxnet, is_missing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_PACKAGE = __name__.partition(".")[0]
_VERSION = "1.9.1"  # the version that scripts see as mxnet.__version__

# Modules of MXNet under another name here, as some of MXNet's files are merged in cynet.
_ELSEWHERE = {
    "gluon.contrib.estimator.utils": "gluon.contrib.estimator",
    "image.image": "image",
    "io.io": "io",
    "io.utils": "io.array_iter",
    "kvstore_server": "kvstore.kvstore_server",
    "ndarray.utils": "ndarray.serialization",
    "optimizer.optimizer": "optimizer",
    "rnn.rnn": "rnn",
    "rnn.rnn_cell": "rnn",
    "symbol.op": "symbol",
}

# Names that NumPy has removed since, as expressions of its present names.
_NUMPY_TYPES = {
    "bool": bool,
    "complex": complex,
    "float": float,
    "int": int,
    "long": int,
    "object": object,
    "str": str,
    "unicode": str,
}
_NUMPY_NAMES = {
    "Inf": "inf",
    "Infinity": "inf",
    "NAN": "nan",
    "NaN": "nan",
    "alltrue": "all",
    "complex_": "complex128",
    "cumproduct": "cumprod",
    "float_": "float64",
    "infty": "inf",
    "int0": "intp",
    "mat": "asmatrix",
    "product": "prod",
    "round_": "round",
    "row_stack": "vstack",
    "sometrue": "any",
    "string_": "bytes_",
    "trapz": "trapezoid",
    "unicode_": "str_",
}


def _scalar_of_array(a: Any) -> Any:
    return np.asarray(a).item()


def _takes_ragged(make: Callable[..., Any]) -> Callable[..., Any]:
    """`make`, one of NumPy's makers of arrays, which takes lists of different lengths as well."""

    @wraps(make)
    def made(*args: Any, **kwargs: Any) -> Any:
        try:
            return make(*args, **kwargs)
        except ValueError as error:
            if "inhomogeneous" not in str(error) or len(args) != 1 or kwargs.get("dtype"):
                raise
        warnings.warn(
            f"{make.__name__}: an array of sequences of different lengths is one of objects;"
            " dtype=object says so",
            np.exceptions.VisibleDeprecationWarning,
            stacklevel=2,
        )
        return make(*args, **{**kwargs, "dtype": object})

    vars(made)["takes_ragged"] = True
    return made


def give_numpy_names() -> None:
    """Give NumPy back the names that it had in MXNet's time; names that it still has stay.

    >>> give_numpy_names()
    >>> import numpy
    >>> numpy.int is int, float(numpy.asscalar(numpy.float32([2])))
    (True, 2.0)
    """
    there = vars(np)
    for name, value in _NUMPY_TYPES.items():
        if name not in there:
            setattr(np, name, value)
    for name, now in _NUMPY_NAMES.items():
        if name not in there and now in there:
            setattr(np, name, there[now])
    for name, given in (("asscalar", _scalar_of_array), ("PINF", np.inf), ("NINF", -np.inf)):
        if name not in there:
            setattr(np, name, given)


def take_ragged_arrays() -> None:
    """Let NumPy make arrays of objects of lists of different lengths, as it did before 1.24."""
    for name in ("array", "asarray", "asanyarray"):
        make = getattr(np, name)
        if not hasattr(make, "takes_ragged"):
            setattr(np, name, _takes_ragged(make))


def _root_module() -> Face:
    """The module ``mxnet``: all that cynet has, and a version that MXNet's scripts accept."""
    root = Face("mxnet", [sys.modules[_PACKAGE]])
    root.__version__ = _VERSION
    return root


def _module_for(name: str) -> Face:
    """The module for MXNet's ``name``, as ``mxnet.module.base_module``."""
    path = name.partition(".")[2]
    target = f"{_PACKAGE}.{_ELSEWHERE.get(path, path)}"
    try:
        found = importlib.import_module(target)
    except ModuleNotFoundError as error:
        if not target.startswith(error.name or " "):
            raise
    else:
        # Some of MXNet's modules hold more names than the module of that name here, such as
        # mxnet.symbol.symbol (Symbol, Variable, Group) and mxnet.gluon.nn.conv_layers: the parent
        # package defines the missing ones.
        inner = "." in path and not hasattr(found, "__path__")
        above = [sys.modules[found.__name__.rpartition(".")[0]]] if inner else []
        face = Face(name, [found, *above])
        if path == "libinfo":
            face.__version__ = _VERSION
        return face
    owner, _, last = name.rpartition(".")
    parent: Any = importlib.import_module(owner)
    try:  # the short names of modules: mxnet.nd, mxnet.sym
        found = parent._find_in_sources(last)
    except AttributeError as error:
        if path in globals_of_mxnet() and not is_missing(name):  # a module that only MXNet has
            return Face(name, parent._sources)
        # the import goes on after an ImportError that has the full name
        raise MissingModuleError(str(error), name=last) from None
    if not isinstance(found, ModuleType):
        raise MissingModuleError(f"{shown(name)} is not a module", name=name)
    return Face(name, found._sources)


class _Finder:
    """Answers ``import mxnet`` and ``import mxnet.x`` with cynet's modules."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name == "mxnet" or name.startswith("mxnet."):
            # no subclass of Loader: importlib.abc takes long to import
            return ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]
        return None

    def create_module(self, spec: ModuleSpec) -> Face:
        return _root_module() if spec.name == "mxnet" else _module_for(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


_finder = _Finder()


def install_as_mxnet(numpy_names: bool = True) -> None:
    """Let ``import mxnet`` and ``from mxnet.x import y`` find cynet in this process.

    Parameters
    ----------
    numpy_names : bool
        Also give NumPy back what it had in MXNet's time: ``np.int``, ``np.bool``, ..., arrays of
        lists of different lengths.

    Raises
    ------
    CynetError
        When the real MXNet has been imported already.

    Examples
    --------
    >>> install_as_mxnet(numpy_names=False)
    >>> import mxnet as mx
    >>> from mxnet.module.base_module import BaseModule
    >>> mx.__version__, BaseModule is mx.mod.BaseModule
    ('1.9.1', True)
    """
    loaded = sys.modules.get("mxnet")
    if loaded is not None and _finder not in sys.meta_path:
        raise CynetError(
            f"install_as_mxnet: mxnet has been imported from {shown(loaded.__file__)}; call it"
            " before"
        )
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    if numpy_names:
        give_numpy_names()
        take_ragged_arrays()
