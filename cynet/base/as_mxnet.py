"""install_as_mxnet(): ``import mxnet`` finds cynet, for scripts that are run as they are."""

import importlib
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

import numpy as np

from .errors import CynetError, MissingModuleError, NotFoundError, shown

_PACKAGE = __name__.partition(".")[0]
_VERSION = "1.9.1"  # what scripts compare mxnet.__version__ with

# Modules of MXNet that have another name here, in part because several of its files are one here.
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

# Names that NumPy had when scripts for MXNet were written, as expressions of what it has now.
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


def _asscalar(a):
    return np.asarray(a).item()


def give_numpy_names():
    """Give NumPy the names back that it had in MXNet's time; what it has itself stays.

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
    for name, value in (("asscalar", _asscalar), ("PINF", np.inf), ("NINF", -np.inf)):
        if name not in there:
            setattr(np, name, value)


def _copied(module, name):
    """A module of that name with all that `module` has."""
    made = ModuleType(name, module.__doc__)
    own = {"__name__", "__spec__", "__loader__", "__package__", "__path__"}
    vars(made).update({k: v for k, v in vars(module).items() if k not in own})
    return made


def _root():
    """The module ``mxnet``: all that cynet has, and a version that MXNet's scripts accept."""
    package = sys.modules[_PACKAGE]
    root = _copied(package, "mxnet")
    root.__path__ = []  # a package; the finder knows its modules
    root.libinfo = _copied(package.libinfo, "mxnet.libinfo")
    root.__version__ = root.libinfo.__version__ = _VERSION
    root.__getattr__ = lambda name: getattr(package, name)
    return root


def _module(name):
    """cynet's module for MXNet's ``name``, as ``mxnet.module.base_module``."""
    path = name.partition(".")[2]
    if path == "libinfo":
        return importlib.import_module("mxnet").libinfo
    target = f"{_PACKAGE}.{_ELSEWHERE.get(path, path)}"
    try:
        found = importlib.import_module(target)
    except ModuleNotFoundError as error:
        if not target.startswith(error.name or " "):
            raise
    else:
        if "." in path and not hasattr(found, "__path__"):
            _look_above(found)
        return found
    owner, _, last = name.rpartition(".")
    above = importlib.import_module(owner)
    try:  # the short names of modules: mxnet.nd, mxnet.sym
        found = getattr(above, last)
    except CynetError as error:
        raise MissingModuleError(str(error), name=name) from None
    except AttributeError:  # of a package whose names libinfo does not know
        raise MissingModuleError(f"{above.__name__} has no module {shown(last)}", name=name) from (
            None
        )
    if not isinstance(found, ModuleType):
        raise MissingModuleError(f"{shown(name)} is no module", name=name)
    return found


def _look_above(module):
    """Let a module find what its package has: MXNet's modules hold more than those of one name
    here, as mxnet.symbol.symbol (Symbol, Variable, Group) and mxnet.gluon.nn.conv_layers."""
    if module in _looking_above:
        return
    _looking_above.add(module)
    above = sys.modules[module.__name__.rpartition(".")[0]]
    inner = vars(module).get("__getattr__")

    def find(name):
        if name.startswith("__") or not hasattr(above, name):
            if inner is not None:
                return inner(name)
            raise NotFoundError(f"module '{module.__name__}' has no attribute '{name}'")
        return getattr(above, name)

    module.__getattr__ = find


_looking_above = set()


class _Finder(MetaPathFinder, Loader):
    """Answers ``import mxnet`` and ``import mxnet.x`` with cynet's modules."""

    def find_spec(self, name, path=None, target=None):
        if name == "mxnet" or name.startswith("mxnet."):
            return ModuleSpec(name, self, is_package=name == "mxnet")
        return None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        # importlib hands out what stands in sys.modules afterwards
        name = module.__spec__.name
        sys.modules[name] = _root() if name == "mxnet" else _module(name)


_finder = _Finder()


def install_as_mxnet(numpy_names=True):
    """Let ``import mxnet`` and ``from mxnet.x import y`` find cynet in this process.

    Parameters
    ----------
    numpy_names : bool
        Also give NumPy the names back that it had in MXNet's time: ``np.int``, ``np.bool``, ...

    Raises
    ------
    CynetError
        When the real MXNet has been imported already.

    Examples
    --------
    >>> install_as_mxnet()
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
