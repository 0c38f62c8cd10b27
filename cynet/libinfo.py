"""mx.libinfo: names of MXNet 1.9.1 that are missing here, said in one sentence where one is used.

Importing this module, the last one of the package, gives the modules that MXNet has, too, an
``__getattr__`` that knows these names, and those that are imported when they are first used.
"""

import difflib
import importlib
import sys
from types import ModuleType

from .base.errors import MissingModuleError, NotFoundError
from .base.mxnet_globals import missing_names

__version__ = "0.1.0"
_PACKAGE = __name__.partition(".")[0]
# what is imported when it is first asked for
_LATER = {
    each: each
    for each in (
        *("contrib", "gluon", "image", "log", "misc", "onnx", "profiler"),
        *("recordio", "rnn", "runtime", "util", "visualization"),
    )
}
_LATER["viz"] = "visualization"
_LATER["img"] = "image"
for _each in ("autograd", "io", "onnx", "tensorboard", "text"):
    _LATER[f"contrib.{_each}"] = f"contrib.{_each}"
_LATER["compile"] = "gluon.block:compile"
for _each in ("is_np_shape", "np_shape", "set_np_shape", "use_np_shape"):
    _LATER[_each] = f"util:{_each}"
for _each in ("", "UInt8", "Int8"):
    _LATER[f"io.ImageRecord{_each}Iter"] = f"image.record_iter:ImageRecord{_each}Iter"
_LATER["io.ImageDetRecordIter"] = "image.record_boxes:ImageDetRecordIter"
for _each in ("", "UInt8"):
    _LATER[f"io.ImageRecord{_each}Iter_v1"] = f"image.record_iter:ImageRecord{_each}Iter"
_SPOKEN = {"ndarray": "nd", "symbol": "sym"}  # as scripts write them


def explain(path, name, known=()):
    """What an AttributeError says of a name that `path` lacks; `known` are those that it has.

    >>> explain("mx", "npx")
    'mx.npx is a name of MXNet 1.9.1 that cynet does not provide; see docs/migration.md'
    >>> explain("mx.metric", "Acuracy", ["Accuracy", "MSE"])
    "mx.metric has no attribute 'Acuracy'; did you mean Accuracy?"
    """
    spoken = ".".join(_SPOKEN.get(part, part) for part in path.split("."))
    if name in missing_names().get(path, ()):
        return (
            f"{spoken}.{name} is a name of MXNet 1.9.1 that cynet does not provide; "
            "see docs/migration.md"
        )
    near = difflib.get_close_matches(name, known, 3)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    return f"{spoken} has no attribute '{name[:200]}'{hint}"


class _LacksError(NotFoundError):
    """Looks for near names when it is read: `hasattr` asks often and reads nothing."""

    def __init__(self, path, name, module):
        super().__init__(path, name)
        self._module = module

    def __str__(self):
        known = [each for each in dir(self._module) if not each.startswith("_")]
        return explain(*self.args, known)


class Missing:
    """Stands in a class for an attribute that MXNet's class has; ``hasattr`` says False."""

    def __init__(self, path, name):
        self.path, self.name = path, name

    def __get__(self, instance, owner=None):
        raise NotFoundError(explain(self.path, self.name))


def _finder(path, module):
    """The ``__getattr__`` of a module, around the one that it has, if any."""
    inner = getattr(module, "__getattr__", None)

    def find(name):
        later = _LATER.get(f"{path}.{name}"[3:])
        if later is not None:
            source, _, member = later.partition(":")
            found = importlib.import_module(f"{_PACKAGE}.{source}")
            return getattr(found, member) if member else found
        if name.startswith("__"):
            raise NotFoundError(f"module '{module.__name__}' has no attribute '{name}'")
        if inner is not None:
            try:
                return inner(name)
            except AttributeError:
                pass  # it is said below, with what MXNet has
        raise _LacksError(path, name, module)

    return find


def _answer(path, module):
    """Give a module its ``__getattr__``, and a ``__dir__`` with what is imported later."""
    later = [name for owner, _, name in (each.rpartition(".") for each in _LATER)
             if owner == path[3:]]  # fmt: skip
    if later:
        inner = vars(module).get("__dir__", lambda: vars(module))
        module.__dir__ = lambda: sorted({*inner(), *later})
    module.__getattr__ = _finder(path, module)


class _Explainer:
    """Asked last, by ``from cynet import np`` and ``import cynet.numpy``: says what is missing."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        owner, _, last = name.rpartition(".")
        if name.startswith(f"{_PACKAGE}."):
            owner = "mx" + owner[len(_PACKAGE) :]
            if last in missing_names().get(owner, ()):
                # `from owner import last` goes on where an ImportError has the whole name
                raise MissingModuleError(explain(owner, last), name=last)
        return None


def _own_names():
    """Module or class, as ``cynet.metric``, to MXNet's path of it, where names are missing."""
    return {_PACKAGE + path[2:]: path for path in missing_names()}


def name_missing_in(package):
    """Give the modules of a package that is imported later, ``"gluon"``, their ``__getattr__``."""
    inside = f"{_PACKAGE}.{package}"
    for name, path in _own_names().items():
        if name == inside or name.startswith(f"{inside}."):
            _answer(path, sys.modules[name])


def _install():
    package = sys.modules[_PACKAGE]
    modules = {k: each for k, each in vars(package).items() if isinstance(each, ModuleType)}
    spoken = {k: f"{_PACKAGE}.{k}" for k in modules}  # errors and config are in base/
    public = {n if (n := spoken[k]) in sys.modules else m.__name__ for k, m in modules.items()}
    later = tuple(f"{_PACKAGE}.{each}" for each in _LATER)
    named = {name for name in _own_names() if not name.startswith(later)}
    for name in sorted((public | named) & sys.modules.keys()):
        if name.partition(".")[0] == _PACKAGE:
            _answer("mx" + name[len(_PACKAGE) :], sys.modules[name])
    for name in sorted(named - sys.modules.keys()):
        owner, _, cls = name.rpartition(".")
        path = "mx" + name[len(_PACKAGE) :]
        for each in missing_names()[path]:
            setattr(getattr(sys.modules[owner], cls), each, Missing(path, each))
    sys.meta_path.append(_Explainer)


_install()
