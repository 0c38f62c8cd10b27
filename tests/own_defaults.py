"""Defaults of everything public in cynet and limits of operators' parameters, as text:
``python -m tests.own_defaults`` writes them to tests/fixtures/own_defaults.txt and own_limits.txt.
One that changes is a change for users."""

import importlib
import inspect
import json
import pkgutil
import re
from pathlib import Path

import cynet

FILE = Path(__file__).parent / "fixtures" / "own_defaults.txt"
LIMITS = FILE.with_name("own_limits.txt")
NOT_PUBLIC = re.compile(r"\._|testing|cynet\.cuda|__main__|as_mxnet")
FACES = ("cynet.ndarray", "cynet.symbol")
PLAIN = (bool, int, float, str, tuple, type(None))


def plain(value):
    return isinstance(value, PLAIN) and (
        not isinstance(value, tuple) or all(isinstance(v, PLAIN) for v in value)
    )


def of(function):
    """(name, default) of each parameter that has a plain one."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [(p.name, p.default) for p in parameters if plain(p.default)]


def defaults():
    """path -> text of the default, for every public function and method of the package."""
    found = {}
    for info in pkgutil.walk_packages(cynet.__path__, "cynet."):
        if NOT_PUBLIC.search(info.name):
            continue
        module = importlib.import_module(info.name)
        for name, value in list(vars(module).items()):
            if name.startswith("_") or getattr(value, "__module__", None) != info.name:
                continue
            if info.name in FACES and name in cynet.operator.OPERATORS:
                continue  # is there or not, as it was used before; tests of operators hold it
            functions = {name: value} if inspect.isfunction(value) else {}
            if inspect.isclass(value):
                functions = {
                    f"{name}.{key}": getattr(each, "__func__", each)
                    for key, each in vars(value).items()
                    if not key.startswith("_") or key in ("__init__", "__call__")
                }
                for key, default in getattr(value, "_field_defaults", {}).items():
                    if plain(default):
                        found[f"{info.name}.{name}({key})"] = repr(default)
            for path, function in functions.items():
                if inspect.isfunction(function):
                    for parameter, default in of(function):
                        found[f"{info.name}.{path}({parameter})"] = repr(default)
    return found


def limits():
    """Lines of operator, parameter, its kind, the least and the largest number, - for none."""
    lines = []
    for name in sorted(cynet.operator.OPERATORS):
        prop = cynet.operator.OPERATORS.get(name).prop
        if prop.users or name.startswith("test_"):
            continue
        for key, field in prop.fields.items():
            ends = [getattr(field, end, None) for end in ("low", "high")]
            if ends != [None, None]:
                words = ["-" if end is None else json.dumps(end) for end in ends]
                lines.append(" ".join([name, key, type(field).__name__, *words]))
    return lines


if __name__ == "__main__":
    LIMITS.write_text("".join(f"{line}\n" for line in limits()))
    FILE.write_text("".join(f"{k} = {v}\n" for k, v in sorted(defaults().items())))
