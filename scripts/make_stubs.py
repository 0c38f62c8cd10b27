#!/usr/bin/env python3
"""Write the type stubs of mx.nd and mx.sym from the registry of operators, and those of mx.np and
mx.npx from their functions.

    python scripts/make_stubs.py    # writes .pyi in cynet/{ndarray,symbol,numpy,numpy_extension}

Each build runs it, so that git need not keep the files. What no operator defines stands in
scripts/stubs/ and, for functions written in Python, in their own modules.
"""

import argparse
import ast
import importlib
import inspect
import keyword
import re
from pathlib import Path

from cynet.operator import OPERATORS
from cynet.operator import parameters as kinds
from cynet.operator.array_methods import METHODS
from cynet.operator.parameters import REQUIRED
from cynet.operator.signature import describe_operator
from cynet.symbol.methods import OperatorMethods

ROOT = Path(__file__).parent.parent
HEADER = "# Written by scripts/make_stubs.py; do not edit.\n\n"
IMPORTS = (  # module, and the names that a stub takes from there where it has them
    ("collections.abc", "Callable Sequence"),
    ("typing", "Any Literal"),
    ("..typing", "ContextLike DTypeLike ShapeLike"),
    (".ndarray", "NDArray"),
    (".symbol", "Symbol"),
)
ORDERED = (  # the first class that a field is an instance of
    (kinds.Bool, "bool"),
    (kinds.IntOrNone, "int | None"),
    (kinds.Int, "int"),
    (kinds.FloatTuple, "float | Sequence[float]"),
    (kinds.Float, "float"),
    (kinds.Shape, "ShapeLike"),
    (kinds.DType, "DTypeLike"),
    (kinds.Str, "str"),
)
TAIL = {  # keywords that every operator's function takes
    "NDArray": (("out", "NDArray | Sequence[NDArray] | None"), ("name", "str | None")),
    "Symbol": (("name", "str | None"), ("attr", "dict[str, str] | None")),
}
# Modules of a face that show the operators whose names begin so.
NAMESPACES = {"contrib": "_contrib_", "linalg": "_linalg_", "image": "_image_"}
RANDOM = "_random_"
ALIASES = {  # modules that a face imports when they are used first
    "ndarray": {"np": ("..", "numpy"), "npx": ("..", "numpy_extension")},
    "symbol": {"np": (".", "numpy"), "npx": (".numpy", "extension")},
}
OWN = ("functions", "register")  # modules that make the functions of the stubs
# Modules of arrays of mx.np, many of whose functions are made by loops.
OF_NUMPY = {
    "numpy": "cynet/numpy/__init__.pyi",
    "numpy.fft": "cynet/numpy/fft.pyi",
    "numpy.linalg": "cynet/numpy/linalg.pyi",
    "numpy.random": "cynet/numpy/random.pyi",
    "numpy_extension": "cynet/numpy_extension/__init__.pyi",
    "numpy_extension.image": "cynet/numpy_extension/image.pyi",
    "numpy_extension.random": "cynet/numpy_extension/random.pyi",
}


def type_of(name, field):
    """The annotation of a parameter."""
    if isinstance(field, kinds.Enum):
        return f"Literal[{', '.join(map(repr, field.choices))}]"
    if name == "ctx":
        return "ContextLike"
    return next((text for cls, text in ORDERED if isinstance(field, cls)), "Any")


def always_there(entry):
    """The inputs that an operator has whatever its flags and choices are, in order."""
    prop = entry.prop
    names = list(describe_operator(entry).inputs)
    for key, field in prop.fields.items():
        values = (True, False) if isinstance(field, kinds.Bool) else ()
        for value in field.choices if isinstance(field, kinds.Enum) else values:
            probe = prop.with_defaults()
            vars(probe)[key] = value
            has = {*probe.list_arguments(), *probe.list_auxiliary_states()}
            names = [name for name in names if name in has]
    return names


def inputs_of(entry, tensor):
    """The inputs in a signature, as (name, annotation); Symbols that are left out are made up."""
    if describe_operator(entry).variable:
        return [("*data", f"{tensor} | Sequence[{tensor}]")]
    names = describe_operator(entry).inputs
    needed = always_there(entry) if tensor == "NDArray" else ()
    return [(n, tensor if n in needed else f"{tensor} | None = None") for n in names]


def parameters_of(entry):
    """The parameters in a signature, as (name, annotation and default)."""
    for name, field in describe_operator(entry).fields.items():
        if keyword.iskeyword(name):
            continue
        text, default = type_of(name, field), field.default
        if default is REQUIRED:
            yield name, text
        elif default is None:
            none = "" if text == "Any" or "None" in text else " | None"
            yield name, f"{text}{none} = None"
        else:
            yield name, f"{text} = {default!r}"
    if entry.prop.key_var_num_args is not None:
        yield entry.prop.key_var_num_args, "int = ..."


def result_of(entry, tensor):
    """A Symbol, or the list of NDArrays that an operator with several outputs gives."""
    if tensor == "Symbol":
        return tensor
    if entry.prop.any_parameters:
        return "Any"
    try:
        count = entry.prop.with_defaults().num_visible_outputs()
    except Exception:  # a parameter without default gives the number of arrays
        count = None
    return tensor if count == 1 else f"list[{tensor}]"


def function(name, entry, tensor, indent=""):
    """The stub of one operator's function; with an indent, of the method."""
    inputs = inputs_of(entry, tensor)
    if indent:
        inputs = [("self", ""), *(inputs[1:] if not describe_operator(entry).variable else inputs)]
    given = dict(inputs)
    for key, text in parameters_of(entry):
        given.setdefault(key, text)
    unlisted = {key: given.pop(key) for key in entry.prop.unlisted if key in given}
    for key, text in TAIL[tensor]:
        given.setdefault(key, f"{text} = None")
    if unlisted:
        given.setdefault("*", "")
        given.update(unlisted)
    if entry.prop.any_parameters:
        given["**kwargs"] = "Any"
    texts, optional = [], False
    for key, text in given.items():
        optional = optional or "=" in text or key.startswith("*")
        if optional and text and "=" not in text and not key.startswith("*"):
            text += " = ..."  # a required parameter after optional ones
        texts.append(f"{key}: {text}" if text else key)
    first = " ".join(inspect.cleandoc(entry.doc or "").partition("\n\n")[0].split())
    head = f"{indent}def {name}({', '.join(texts)}) -> {result_of(entry, tensor)}:"
    if not first:
        return f"{head} ...\n"
    quotes = 'r"""' if "\\" in first else '"""'
    return f'{head}\n{indent}    {quotes}{first}"""\n'


def operators(prefix=""):
    """(name as shown, entry) of each of cynet's operators whose name starts so, sorted."""
    for name, entry in sorted(OPERATORS.items()):
        shown = name.removeprefix(prefix)
        public = not shown.startswith("_") and shown.isidentifier()
        if name.startswith(prefix) and public and not entry.prop.users:
            yield shown, entry


def functions(tensor, prefix="", without=()):
    """The stubs of these operators' functions."""
    return "".join(function(n, e, tensor) for n, e in operators(prefix) if n not in without)


def defined(path):
    """Public functions of a Python file: name to its first lines, with annotations."""
    found, module = {}, importlib.import_module(path.removesuffix(".py").replace("/", "."))
    for node in ast.parse((ROOT / path).read_text()).body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
            doc = (inspect.getdoc(getattr(module, node.name)) or "").partition("\n")[0]
            head = f"def {node.name}({ast.unparse(node.args)}){result}:"
            found[node.name] = f'{head}\n    """{doc}"""\n' if doc else f"{head} ...\n"
    return found


def with_imports(text, *leave):
    """A stub's text after the imports that it needs, without those from the modules `leave`."""
    lines = []
    for module, names in IMPORTS:
        used = [name for name in names.split() if re.search(rf"\b{name}\b", text)]
        if used and module not in leave:
            lines.append(f"from {module} import {', '.join(used)}\n")
    return f"{''.join(lines)}\n{text}" if text else ""


def reexported(folder, file="__init__"):
    """The names that a file of a face takes from other modules, as import lines and a set."""
    lines, names = [], set()
    for node in ast.parse((ROOT / "cynet" / folder / f"{file}.py").read_text()).body:
        if isinstance(node, ast.ImportFrom) and node.module not in OWN:
            source = "." * node.level + (node.module or "")
            for alias in node.names:
                lines.append(f"from {source} import {alias.name} as {alias.name}\n")
                names.add(alias.name)
    return "".join(lines), names


def face(folder, tensor):
    """The stubs of mx.nd or mx.sym: path to text."""
    lines, taken = reexported(folder)
    for name, (source, module) in ALIASES[folder].items():
        lines += f"from {source} import {module} as _{name}\n{name} = _{name}\n"
    hidden = f"def __getattr__(name: str) -> Callable[..., {tensor}]: ...\n"
    by_hand = defined(f"cynet/{folder}/random.py")
    files = {
        "__init__": with_imports(lines + functions(tensor, without=taken), f".{folder}"),
        "random": with_imports("".join(by_hand.values()) + functions(tensor, RANDOM, by_hand)),
        # operators whose names begin with an underscore are there, too, but are not listed
        "_internal": with_imports(hidden),
    }
    if folder == "ndarray":
        files["op"] = with_imports(f"from . import *\n\n{hidden}")
    for name, prefix in NAMESPACES.items():
        lines, taken = reexported(folder, name)
        files[name] = with_imports(lines + functions(tensor, prefix, taken))
    return {f"cynet/{folder}/{name}.pyi": HEADER + text for name, text in files.items()}


def methods(names, tensor, known):
    """The stubs of operators that are methods, without those in the text `known`."""
    return "".join(
        function(name, OPERATORS.get(name), tensor, "    ")
        for name in sorted(names)
        if name in OPERATORS and f"def {name}(" not in known
    )


class Text:
    """A value whose representation is a text."""

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return self.text


def numpy_parameters(function):
    """The parameters of a function of mx.np; one that takes MXNet's words for them, too, takes any
    keyword."""
    words, parameters = getattr(function, "aliases", None), []
    for each in inspect.signature(function).parameters.values():
        optional = each.default is not each.empty or (words is not None and "*" not in str(each))
        default = Text("...") if optional else each.empty
        parameters.append(each.replace(annotation=Text("Any"), default=default))
    if words is not None and parameters[-1].kind is not parameters[-1].VAR_KEYWORD:
        any_keyword = inspect.Parameter.VAR_KEYWORD
        parameters.append(inspect.Parameter("kwargs", any_keyword, annotation=Text("Any")))
    return inspect.Signature(parameters)


def numpy_stub(path):
    """The stub of a module of OF_NUMPY: an import of what has types where it is written, else the
    parameters of a function."""
    module = importlib.import_module(f"cynet.{path}")
    constants = importlib.import_module("cynet.numpy.constants")
    lines, written = ["from typing import Any\n"], []
    for name in getattr(module, "__all__", None) or dir(module):
        value = getattr(module, name)
        if inspect.ismodule(value):
            lines.append(f"from . import {name} as {name}\n")
        elif inspect.isfunction(value) and not inspect.get_annotations(value):
            doc = inspect.cleandoc(value.__doc__ or "").partition("\n")[0]
            head = f"def {name}{numpy_parameters(value)} -> Any:"
            written.append(f'{head}\n    r"""{doc}"""\n' if doc else f"{head} ...\n")
        else:
            source = constants.__name__ if hasattr(constants, name) else value.__module__
            lines.append(f"from {source} import {name} as {name}\n")
    return f"{HEADER}{''.join(lines)}\n{''.join(written)}"


def stubs():
    """Path of each stub to its text."""
    head = {path.stem: path.read_text() for path in (ROOT / "scripts" / "stubs").glob("*.pyi")}
    array, symbol = head["ndarray"], head["methods"]
    array += methods(METHODS, "NDArray", array)
    symbol += methods(vars(OperatorMethods), "Symbol", symbol)
    return {
        **face("ndarray", "NDArray"),
        **face("symbol", "Symbol"),
        "cynet/ndarray/ndarray.pyi": HEADER + array,
        "cynet/symbol/methods.pyi": HEADER + symbol,
        **{file: numpy_stub(module) for module, file in OF_NUMPY.items()},
    }


def write(root=ROOT):
    """Write the stubs that are missing or out of date. Returns their paths."""
    changed = []
    for path, text in stubs().items():
        file = Path(root, path)
        if not file.exists() or file.read_text() != text:
            changed.append(path)
            file.write_text(text)
    return changed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--into", default=ROOT, help="the folder that has cynet/ (this checkout)")
    changed = write(parser.parse_args().into)
    print(f"stubs written: {', '.join(changed)}" if changed else "stubs are up to date")


if __name__ == "__main__":
    main()
