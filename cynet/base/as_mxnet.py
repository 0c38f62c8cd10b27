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
from .mxnet_globals import MXNetModule, globals_of_mxnet, is_missing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_PACKAGE = __name__.partition(".")[0]
_VERSION = "1.9.1"  # the version that scripts see as mxnet.__version__

# Modules of MXNet that have another name here: MXNet's name -> cynet's name.
_CYNET_MODULE_OF_MXNET = {
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

# Types that NumPy has removed since MXNet 1.9.1, and the Python types they were.
_REMOVED_NUMPY_TYPES = {
    "bool": bool,
    "complex": complex,
    "float": float,
    "int": int,
    "long": int,
    "object": object,
    "str": str,
    "unicode": str,
}
_NUMPY_NAME_OF_REMOVED = {
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


def _accept_ragged_lists(make: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `make`, such as np.array, so that it accepts lists of different lengths."""

    @wraps(make)
    def make_array(*args: Any, **kwargs: Any) -> Any:
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

    vars(make_array)["takes_ragged"] = True
    return make_array


def restore_numpy_names() -> None:
    """Restore names that NumPy has removed since MXNet 1.9.1.

    >>> restore_numpy_names()
    >>> import numpy
    >>> numpy.int is int, float(numpy.asscalar(numpy.float32([2])))
    (True, 2.0)
    """
    there = vars(np)
    for name, value in _REMOVED_NUMPY_TYPES.items():
        if name not in there:
            setattr(np, name, value)
    for name, now in _NUMPY_NAME_OF_REMOVED.items():
        if name not in there and now in there:
            setattr(np, name, there[now])
    for name, given in (("asscalar", _scalar_of_array), ("PINF", np.inf), ("NINF", -np.inf)):
        if name not in there:
            setattr(np, name, given)


def accept_ragged_lists() -> None:
    """Let NumPy turn lists of different lengths into arrays of objects, as before 1.24."""
    for name in ("array", "asarray", "asanyarray"):
        make = getattr(np, name)
        if not hasattr(make, "takes_ragged"):
            setattr(np, name, _accept_ragged_lists(make))


def _make_root_module() -> MXNetModule:
    """Make the module ``mxnet``: cynet with a version that MXNet's scripts accept."""
    root = MXNetModule("mxnet", [sys.modules[_PACKAGE]])
    root.__version__ = _VERSION
    return root


def _make_module(name: str) -> MXNetModule:
    """Make the module that is imported as ``name``, such as ``mxnet.module.base_module``."""
    path = name.partition(".")[2]
    target = f"{_PACKAGE}.{_CYNET_MODULE_OF_MXNET.get(path, path)}"
    try:
        found = importlib.import_module(target)
    except ModuleNotFoundError as error:
        if not target.startswith(error.name or " "):
            raise
    else:
        # Some of MXNet's modules have more names than the module of that name here, such as
        # mxnet.symbol.symbol (Symbol, Variable, Group): the parent package defines the missing
        # names.
        inner = "." in path and not hasattr(found, "__path__")
        above = [sys.modules[found.__name__.rpartition(".")[0]]] if inner else []
        face = MXNetModule(name, [found, *above])
        if path == "libinfo":
            face.__version__ = _VERSION
        return face
    owner, _, last = name.rpartition(".")
    parent: Any = importlib.import_module(owner)
    try:  # the short names of modules: mxnet.nd, mxnet.sym
        found = parent._find_in_sources(last)
    except AttributeError as error:
        if path in globals_of_mxnet() and not is_missing(name):  # a module that only MXNet has
            return MXNetModule(name, parent._sources)
        # the import goes on after an ImportError that has the full name
        raise MissingModuleError(str(error), name=last) from None
    if not isinstance(found, ModuleType):
        raise MissingModuleError(f"{shown(name)} is not a module", name=name)
    return MXNetModule(name, found._sources)


class _ImportHook:
    """Import hook: ``import mxnet`` and ``import mxnet.x`` give cynet's modules."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name == "mxnet" or name.startswith("mxnet."):
            # no subclass of Loader: importlib.abc takes long to import
            return ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]
        return None

    def create_module(self, spec: ModuleSpec) -> MXNetModule:
        return _make_root_module() if spec.name == "mxnet" else _make_module(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


_import_hook = _ImportHook()


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
    if loaded is not None and _import_hook not in sys.meta_path:
        raise CynetError(
            f"install_as_mxnet: mxnet has been imported from {shown(loaded.__file__)}; call it"
            " before"
        )
    if _import_hook not in sys.meta_path:
        sys.meta_path.insert(0, _import_hook)
    if numpy_names:
        restore_numpy_names()
        accept_ragged_lists()
