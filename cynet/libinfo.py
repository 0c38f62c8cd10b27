"""mx.libinfo: names of MXNet 1.9.1 that are missing here, each explained by the AttributeError.

Importing this module, the last one of the package, gives the modules that MXNet has, too, an
``__getattr__`` that knows these names, and those that are imported when they are first used.
"""

import importlib
import inspect
import sys
from importlib.machinery import PathFinder
from types import ModuleType

from .base.errors import MissingModuleError, NotFoundError
from .base.mxnet_globals import globals_of_mxnet, missing_names
from .base.other_names import OTHER_NAMES
from .operator.families import FAMILIES
from .operator.namespaces import created_names, module_dict

__version__ = "0.1.0"
_PACKAGE = __name__.partition(".")[0]  # "cynet"
# modules that are imported at first use
_LAZY_NAMES = {  # name in the package -> "module" or "module:member"
    each: each
    for each in (
        *("callback", "contrib", "distributed", "executor", "executor_manager", "gluon"),
        *("image", "initializer", "io", "kvstore", "log", "lr_scheduler", "metric"),
        *("misc", "model", "module", "monitor", "onnx", "optimizer", "profiler", "recordio"),
        *("rnn", "rtc", "runtime", "test_utils", "util", "visualization"),
    )
}
_LAZY_NAMES |= {"img": "image", "init": "initializer", "kv": "kvstore", "mod": "module"}
_LAZY_NAMES |= {"mon": "monitor", "opt": "optimizer", "viz": "visualization"}
_LAZY_NAMES |= {"Executor": "executor:Executor", "binding": "executor.bind", "infer": "graph.infer"}
_LAZY_NAMES["checkpoint"] = "io.checkpoint"
_LAZY_NAMES["debug_nans"] = "monitor:debug_nans"
for _each in (
    *("autograd", "explain", "horovod", "io", "onnx", "quantization", "series", "sklearn"),
    *("tables", "tensorboard", "text"),
):
    _LAZY_NAMES[f"contrib.{_each}"] = f"contrib.{_each}"
_LAZY_NAMES["contrib.quant"] = "contrib.quantization"
_LAZY_NAMES["compile"] = "gluon.block:compile"
_LAZY_NAMES["serving"] = "serving"
for _each in ("", "ndarray."):
    _LAZY_NAMES |= {f"{_each}np": "numpy", f"{_each}npx": "numpy_extension"}
_LAZY_NAMES |= {"symbol.np": "symbol.numpy", "symbol.npx": "symbol.numpy.extension"}
_LAZY_NAMES |= {"numpy": "numpy", "numpy_extension": "numpy_extension"}
_LAZY_NAMES["numpy.array_api"] = "numpy.array_api"
_LAZY_NAMES["Predictor"] = "serving:Predictor"
for _each in (
    *("is_np_array", "is_np_shape", "np_array", "np_shape", "set_np_shape"),
    *("use_np", "use_np_array", "use_np_shape"),
):
    _LAZY_NAMES[_each] = f"util:{_each}"
for _each in FAMILIES:
    _LAZY_NAMES[f"operator.{_each}"] = f"operator.{_each}"
_LAZY_NAMES |= dict.fromkeys(("operator.simple", "simple_op"), "operator.custom.simple")
for _each, _source in (
    *((name, "build") for name in ("compile_pyx", "extension")),
    *((name, "custom") for name in ("CustomOp", "CustomOpProp", "register")),
    ("get_all_registered_operators", "custom"),
    *((name, "legacy") for name in ("NDArrayOp", "NumpyOp", "PythonOp")),
):
    _LAZY_NAMES[f"operator.{_each}"] = f"operator.custom.{_source}:{_each}"
for _each in ("", "UInt8", "Int8"):
    _LAZY_NAMES[f"io.ImageRecord{_each}Iter"] = f"image.record_iter:ImageRecord{_each}Iter"
_LAZY_NAMES["io.ImageDetRecordIter"] = "image.record_boxes:ImageDetRecordIter"
for _each in ("", "UInt8"):
    _LAZY_NAMES[f"io.ImageRecord{_each}Iter_v1"] = f"image.record_iter:ImageRecord{_each}Iter"
_SHORT_NAMES = {"ndarray": "nd", "symbol": "sym"}  # module name -> its alias in scripts


# Replacements of missing names; other names have none.
_NP_HINT = "use mx.nd, and Gluon with NDArrays"
_REPLACEMENTS = {  # missing name of MXNet -> what to use instead
    **dict.fromkeys(("np_symbol",), _NP_HINT),
    "notebook": "History of mx.callback keeps the figures of a training; plot them",
    "quantized_rnn": "use RNN, in float32, of (data - data_shift) / data_scale",
    "library": "operators in Cython or CUDA are compiled modules: import them",
}


def replacement_for(name):
    """Return the replacement of a missing name of MXNet; "" if there is none."""
    return _REPLACEMENTS.get(name, "")


def name_hint(path, name, known=()):
    """Return a hint at the name that was meant by a missing name, as the end of a sentence, or "".

    >>> name_hint("mx", "no_grad")
    '; what other packages call no_grad: mx.autograd.pause()'
    """
    other = OTHER_NAMES.get(path, {}).get(name)
    if other is not None:
        return f"; what other packages call {name}: {other}"
    from difflib import get_close_matches

    near = get_close_matches(name, known, 3)
    return f"; did you mean {' or '.join(near)}?" if near else ""


def explain_missing_name(path, name, known=()):
    """Return the error text for a missing name of `path`; `known` are the existing names.

    >>> explain_missing_name("mx", "library")  # doctest: +ELLIPSIS
    'mx.library is a name of MXNet 1.9.1 that cynet does not provide; operators in Cython ...'
    >>> explain_missing_name("mx.metric", "Acuracy", ["Accuracy", "MSE"])
    "mx.metric has no attribute 'Acuracy'; did you mean Accuracy?"
    """
    spoken = ".".join(_SHORT_NAMES.get(part, part) for part in path.split("."))
    if name in missing_names().get(path, ()):
        return (
            f"{spoken}.{name} is a name of MXNet 1.9.1 that cynet does not provide; "
            f"{replacement_for(name) or 'python -m cynet --missing lists them'}"
        )
    custom = sys.modules.get(f"{_PACKAGE}.operator.custom.custom")  # None without any
    if spoken in ("mx.nd", "mx.sym") and custom is not None and name in custom.CUSTOM_OPERATORS:
        return (
            f"{spoken} has no attribute '{name}'; a custom operator is called by"
            f" {spoken}.Custom(..., op_type='{name}')"
        )
    return f"{spoken} has no attribute '{name[:200]}'{name_hint(path, name, known)}"


class _MissingNameError(NotFoundError):  # names similar ones
    """The error for a missing name; similar names are searched when its text is read."""

    def __init__(self, path, name, module):
        super().__init__(path, name)
        self._module = module

    def __str__(self):
        known = [each for each in dir(self._module) if not each.startswith("_")]
        return explain_missing_name(*self.args, known)


class MissingName:  # descriptor: access raises an error
    """Descriptor of an attribute that only MXNet's class has: its access raises an error."""

    def __init__(self, path, name):
        self.path, self.name = path, name

    def __get__(self, instance, owner=None):
        raise NotFoundError(explain_missing_name(self.path, self.name))


def _make_getattr(path, module):
    """Make a ``__getattr__`` for a module, around the module's own, if it has one."""
    inner = getattr(module, "__getattr__", None)

    def find_name(name):
        later = _LAZY_NAMES.get(f"{path}.{name}"[3:])
        if later is not None:
            source, _, member = later.partition(":")
            found = importlib.import_module(f"{_PACKAGE}.{source}")
            setattr(module, name, getattr(found, member) if member else found)
            return getattr(module, name)
        if name.startswith("__"):
            raise NotFoundError(f"module '{module.__name__}' has no attribute '{name}'")
        if inner is not None:
            try:
                return inner(name)
            except AttributeError:
                pass  # the error below explains the name
        raise _MissingNameError(path, name, module)

    return find_name


def _install_getattr(path, module):
    """Give a module ``__getattr__``, and ``__dir__`` of its public names and later imports."""
    later = [
        name
        for owner, _, name in (each.rpartition(".") for each in _LAZY_NAMES)
        if owner == path[3:]
    ]
    inner = module_dict(module).get("__dir__")

    def public_names():
        names = inner() if inner is not None else module_dict(module)
        return sorted({*(name for name in names if _is_listed_by_dir(module, name)), *later})

    module.__dir__ = public_names
    module.__getattr__ = _make_getattr(path, module)


def _is_listed_by_dir(module, name):
    """Return whether `dir` shows a name: names of the module, not its imports."""
    public = module_dict(module).get("__all__")
    if name.startswith("_") or name not in module_dict(module) or (public and name in public):
        return True
    if name in created_names.get(module.__name__, ()):
        return True
    value = module_dict(module)[name]
    if isinstance(value, ModuleType):  # a submodule, if MXNet has one of this name
        path = module.__name__.partition(".")[2]
        return public is None and f"{path}.{name}".lstrip(".") in globals_of_mxnet()
    if public is not None:
        return False
    home = getattr(value, "__module__", None)
    return home is not None and f"{home}.".startswith(f"{module.__name__}.")


class _MissingNameFinder:
    """First import hook: gives modules of `_LAZY_NAMES` errors that explain missing names."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        package, _, inner = name.partition(".")
        if package != _PACKAGE or inner not in _LAZY_NAMES:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None:
            run = spec.loader.exec_module

            def execute_module(module):
                run(module)
                explain_missing_names_of(inner)

            spec.loader.exec_module = execute_module
        return spec


class _MissingModuleFinder:
    """Last import hook, for ``from cynet import np`` and the like: explains a missing module."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        owner, _, last = name.rpartition(".")
        if name.startswith(f"{_PACKAGE}."):
            owner = "mx" + owner[len(_PACKAGE) :]
            if last in missing_names().get(owner, ()):
                # `from owner import last` shows this error if its name is the whole name
                raise MissingModuleError(explain_missing_name(owner, last), name=last)
        return None


def _explain_in_class(cls, path):
    """Give a class MissingName descriptors, which `hasattr` and `dir` do not show."""
    names = {*missing_names().get(path, ()), *OTHER_NAMES.get(path, ())}
    for name in names:
        if not hasattr(cls, name):
            setattr(cls, name, MissingName(path, name))
    own = cls.__dir__

    def list_names(self):
        static = {n for n in names if type(inspect.getattr_static(self, n, None)) is MissingName}
        return sorted({*own(self)} - static)

    cls.__dir__ = list_names


def _mxnet_path_by_owner():
    """Return a dict: module or class with missing names -> its path in MXNet."""
    return {_PACKAGE + path[2:]: path for path in (*missing_names(), *OTHER_NAMES)}


def explain_missing_names_of(package):
    """Install the explanations of missing names in a package that is imported later, such as
    ``"gluon"``."""
    inside = f"{_PACKAGE}.{package}"
    for name, module in list(sys.modules.items()):
        inner = name == inside or (name.startswith(f"{inside}.") and "._" not in name)
        if inner and getattr(module_dict(module).get("__dir__"), "__module__", None) != __name__:
            _install_getattr("mx" + name[len(_PACKAGE) :], module)
    for name, path in _mxnet_path_by_owner().items():
        if name.startswith(f"{inside}.") and name not in sys.modules:
            owner, _, cls = name.rpartition(".")
            _explain_in_class(getattr(sys.modules[owner], cls), path)


def _install_finders():
    package = sys.modules[_PACKAGE]
    modules = {k: each for k, each in vars(package).items() if isinstance(each, ModuleType)}
    spoken = {k: f"{_PACKAGE}.{k}" for k in modules}  # errors and config are defined in base/
    public = {n if (n := spoken[k]) in sys.modules else m.__name__ for k, m in modules.items()}
    later = tuple(f"{_PACKAGE}.{each}" for each in _LAZY_NAMES)
    named = {name for name in _mxnet_path_by_owner() if not name.startswith(later)}
    faces = (f"{_PACKAGE}.ndarray.", f"{_PACKAGE}.symbol.")  # such as mx.nd.random
    named |= {
        n for n, m in sys.modules.items() if n.startswith(faces) and "__dir__" in module_dict(m)
    }
    for name in sorted((public | named) & sys.modules.keys()):
        if name.partition(".")[0] == _PACKAGE:
            _install_getattr("mx" + name[len(_PACKAGE) :], sys.modules[name])
    for name in sorted(named - sys.modules.keys()):
        owner, _, cls = name.rpartition(".")
        _explain_in_class(getattr(sys.modules[owner], cls), "mx" + name[len(_PACKAGE) :])
    sys.meta_path.insert(0, _MissingNameFinder)
    sys.meta_path.append(_MissingModuleFinder)


_install_finders()
