"""Docstrings of what is exported say enough.

An item is an exported function or class, or a public method or property that an exported class
defines itself. What is asked of it:

``summary``: a first line that is a sentence. ``parameters``: every parameter of the signature has
a line ``name : type``. ``returns``: a section, unless an annotation names the type.
``raises``: a section, if its body raises. ``example``: an example that runs, its own or one of its
class that uses or overrides it. ``make test`` runs the examples (tests/test_doctest.py).

What is there must be right, too. ``twice``: a parameter is documented once. ``unknown``: one that
is documented is in the signature, unless that has ``**kwargs``. ``order``: parameters stand in the
order of the signature (one line may name several). ``empty``: each has a description that says
more than its name and type. ``nameless``: a section Returns names what comes back. ``indented``:
sections stand at the left edge, else nobody reads them. ``bare``: a section Returns says more than
the annotation. ``imported``: examples do not begin with the imports that all would begin with.
"""

import ast
import builtins
import enum
import importlib
import inspect
import re
import textwrap

import pytest

PACKAGES = [
    "gluon", "gluon.nn", "gluon.rnn", "gluon.loss", "gluon.data", "gluon.data.batchify",
    "gluon.data.vision", "gluon.data.vision.transforms", "gluon.utils",
    "gluon.model_zoo.vision", "gluon.contrib.nn", "gluon.contrib.rnn", "gluon.contrib.cnn",
    "gluon.contrib.estimator", "module", "model", "metric", "io", "image", "optimizer",
    "lr_scheduler", "initializer", "callback", "autograd", "symbol", "ndarray", "executor",
    "kvstore", "recordio", "profiler", "monitor", "visualization", "rnn", "random", "context",
    "engine", "operator", "operator.custom.simple", "rtc", "onnx", "contrib.amp", "util",
    "runtime", "attribute", "name", "registry", "log", "misc", "symbol.random",
    "ndarray.sparse", "ndarray.contrib", "symbol.contrib", "executor_manager", "base",
    "storage", "config", "test_utils", "contrib.horovod", "contrib.text.vocab",
    "contrib.text.utils", "contrib.text.embedding", "contrib.quantization",
    "contrib.sklearn", "contrib.tables", "contrib.series",
    "contrib.explain", "numpy.fft", "contrib.svrg_optimization", "contrib.io", "distributed",
    "serving",
]  # fmt: skip
# What a body may raise without a section: ends of loops, methods that a subclass defines.
SILENT = {"NotImplementedError", "StopIteration", "AttributeError", "self._undefined_error"}
# Types that have a name of their own in lower case.
TYPES = {"capsule", "module"}
# Words that say nothing beside a name.
ARTICLES = {"a", "an", "its", "it", "of", "the", "this", "value", "given"}
OPAQUE = {"_Scope", "Iterator[None]"}  # types that tell a reader nothing
FACES = ("cynet.ndarray", "cynet.symbol")  # operators: their docstrings come from declarations


def exported(package):
    """(name, value) of what a package offers that is its own."""
    module = importlib.import_module(f"cynet.{package}")
    names = getattr(module, "__all__", None) or [n for n in dir(module) if not n.startswith("_")]
    for name in names:
        value = getattr(module, name)
        home = getattr(value, "__module__", "") or ""
        ours = home.startswith("cynet") and home not in FACES
        if ours and callable(value) and not name.startswith("_"):
            yield name, value


def members(owner, classes):
    """(name, member) of an exported class: what it defines, or gets from a class not exported.

    One that overrides what an exported base has is documented there.
    """
    bases = [each for each in owner.__mro__[1:] if each in classes]
    for name in dir(owner):
        homes = [each for each in owner.__mro__ if name in vars(each)]
        if name.startswith("_") or any(hasattr(each, name) for each in bases):
            continue
        member = vars(homes[0])[name]
        if isinstance(member, (staticmethod, classmethod)):
            member = member.__func__
        if not homes[0].__module__.startswith("cynet"):
            continue
        # Names of other packages are properties of a class of their own, which only refuse.
        known = hasattr(member, "__code__") or type(member) is property
        operator = re.match(r"``mx\.(nd|sym)\.", inspect.getdoc(member) or "")
        if known and not operator:
            yield name, member


def items():
    """{package: [(path, value, class or None)]}, each item where it is met first."""
    offered = {package: list(exported(package)) for package in PACKAGES}
    classes = {v for each in offered.values() for _, v in each if inspect.isclass(v)}
    found, seen = {}, set()
    for package, names in offered.items():
        found[package] = []
        for name, value in names:
            if id(value) in seen:
                continue
            seen.add(id(value))
            found[package].append((name, value, None))
            if inspect.isclass(value):
                for each, member in members(value, classes):
                    found[package].append((f"{name}.{each}", member, value))
    return found


def needed(value):
    """Names of the parameters of a signature that a docstring must have."""
    if inspect.isclass(value) and issubclass(value, enum.Enum):
        return []  # its signature is that of all enums
    try:
        found = inspect.signature(value).parameters
    except (TypeError, ValueError):
        return []
    names = [name for name in found if name not in ("self", "cls")]
    if names == ["args", "kwargs"]:  # handed on to what the docstring describes
        return ["kwargs"] if "**kwargs" in (value.__doc__ or "") else []
    return names


def returns(value):
    """Whether a function gives something back whose type its annotation does not tell."""
    try:
        annotation = inspect.signature(value).return_annotation
    except (TypeError, ValueError):
        return False
    return "Any" in re.findall(r"\w+", str(annotation)) or str(annotation) in OPAQUE


def spoken(annotation):
    """An annotation in the words of a docstring: ``list[int] | None`` is "list of int or None"."""
    node = ast.parse(annotation, mode="eval").body

    def words(node):
        match node:
            case ast.BinOp():
                return f"{words(node.left)} or {words(node.right)}"
            case ast.Subscript(value=ast.Name(id="dict"), slice=ast.Tuple(elts=[key, each])):
                return f"dict of {words(key)} to {words(each)}"
            case ast.Subscript(slice=ast.Tuple(elts=[each, ast.Constant()])):
                return f"{words(node.value)} of {words(each)}"
            case ast.Subscript(slice=ast.Tuple(elts=each)):
                return f"({', '.join(map(words, each))})"
            case ast.Subscript():
                return f"{words(node.value)} of {words(node.slice)}"
            case ast.Attribute():
                return node.attr
            case _:
                return ast.unparse(node)

    return words(node)


def raises(value):
    """Whether the body of a Python function raises what its caller should know."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(value)))
    except (OSError, TypeError, SyntaxError):
        return False
    raised = [n.exc for n in ast.walk(tree) if isinstance(n, ast.Raise) and n.exc is not None]
    names = {ast.unparse(exc).partition("(")[0] for exc in raised}
    return bool(names - SILENT)


def section(text, title):
    """The lines of a section of a docstring."""
    found = re.search(rf"^{title}\n-+\n(.*?)(?=^\S[^\n]*\n---|\Z)", text, re.M | re.S)
    return found[1].splitlines() if found else []


def entries(text, title):
    """[(names, type, description)] of a section of parameters."""
    found = []
    for line in section(text, title):
        if line[:1].strip():
            names, _, kind = line.partition(" : ")
            found.append([[name.strip().lstrip("*") for name in names.split(",")], kind, ""])
        elif found and line.strip():
            found[-1][2] += f" {line.strip()}"
    return found


def described(text):
    """The names to which the sections of parameters give a type or a meaning."""
    titles = "Parameters", "Other Parameters", "Attributes"
    found = (each for title in titles for each in entries(text, title))
    return {name for names, kind, meaning in found if kind or meaning for name in names}


def says_nothing(names, kind, meaning):
    """Whether a description has no word that the name and the type do not have."""
    words = set(re.findall(r"[a-z0-9]+", meaning.lower())) - ARTICLES
    known = f"{' '.join(names)} {kind}".lower()
    return words <= {*names, *re.findall(r"[a-z0-9]+", known.replace("_", " "))}


def wrong(value, text):
    """What is wrong with the sections of a docstring."""
    found, parameters = set(), entries(text, "Parameters")
    others = [e for title in ("Other Parameters", "Attributes") for e in entries(text, title)]
    names = [name for each in parameters for name in each[0]]
    if len(names) > len(set(names)):
        found.add("twice")
    if any(says_nothing(*each) for each in [*parameters, *others]):
        found.add("empty")
    if re.search(r"^ +(Parameters|Returns|Raises|Examples)\n +---", text, re.M):
        found.add("indented")
    if re.search(r"^Returns\n---", text, re.M):
        kind = (section(text, "Returns") or [""])[0].strip()
        known = kind in TYPES or hasattr(builtins, kind)
        if not kind or (kind.isidentifier() and kind.islower() and not known):
            found.add("nameless")
    if re.search(r"^>>> import (cynet as mx|numpy as np)$", text, re.M):
        found.add("imported")
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return found
    returned = [line.strip().replace(", or ", " or ") for line in section(text, "Returns") if line]
    annotation = signature.return_annotation
    if isinstance(annotation, str) and returned == [spoken(annotation)]:
        found.add("bare")
    signature = signature.parameters
    known = [name for name in signature if name not in ("self", "cls")]
    anything = any(p.kind is p.VAR_KEYWORD for p in signature.values())
    if not anything and set(names) - set(known):
        found.add("unknown")
    lines = [[name for name in each if name in known] for each, _, _ in parameters]
    firsts = [line[0] for line in lines if line]
    if any(line != sorted(line, key=known.index) for line in [firsts, *lines]):
        found.add("order")
    return found


def lacks(path, value, owner):
    """The parts that the docstring of an item does not have."""
    if inspect.isclass(value) and issubclass(value, BaseException):
        return set() if value.__doc__ else {"summary"}
    text = inspect.getdoc(value) or ""
    prop = isinstance(value, property)
    found = wrong(value, text)
    if not re.match(r"\S[^\n]*(\n\S[^\n]*){0,2}(\n\n|\Z)", text):
        found.add("summary")
    known = {name for each in entries(text, "Parameters") for name in each[0]}
    others = {"kwargs"} if known - set(needed(value)) else set()  # keywords by their names
    if not prop and set(needed(value)) - described(text) - others:
        found.add("parameters")
    if (
        not (prop or inspect.isclass(value))
        and returns(value)
        and not re.search(r"^(Returns|Yields)\n", text, re.M)
    ):
        found.add("returns")
    body = vars(value).get("__init__") if inspect.isclass(value) else value
    if not prop and body is not None and raises(body) and not re.search(r"^Raises\n", text, re.M):
        found.add("raises")
    name = path.rpartition(".")[2]
    whole = inspect.getdoc(owner) or "" if owner is not None else ""
    used = re.search(rf"^>>>.*\.{name}\b|^\.\.\. .*(\.|def ){name}\b", whole, re.M)
    if ">>>" not in text and not used:
        found.add("example")
    return found


@pytest.mark.parametrize(("fault", "text"), [
    ("twice", "Parameters\n----------\na : int\n    Rows.\na : int\n    Columns."),
    ("unknown", "Parameters\n----------\nc : int\n    Rows."),
    ("order", "Parameters\n----------\nb : int\n    Rows.\na : int\n    Columns."),
    ("order", "Parameters\n----------\nb, a : int\n    Rows and columns."),
    ("empty", "Parameters\n----------\na : int"),
    ("empty", "Parameters\n----------\nb : int\n    The b."),
    ("empty", "Attributes\n----------\nexecutor : Executor\n    Its executor."),
    ("nameless", "Returns\n-------\n\nRaises\n------\nValueError\n    Always."),
    ("nameless", "Returns\n-------\nextra"),
    ("imported", "Examples\n--------\n>>> import cynet as mx\n>>> mx.nd.zeros(2)"),
    ("indented", "A line.\n\n    Parameters\n    ----------\n    a : int\n        Rows."),
])  # fmt: skip
def test_faults_are_found(fault, text):
    assert wrong(lambda a, b: None, text) == {fault}


def test_right_sections_have_no_faults():
    text = "Parameters\n----------\na, b : int\n    Rows.\n\nReturns\n-------\nint"
    assert wrong(lambda a, b: None, text) == set()
    assert wrong(lambda *, other=0, **kwargs: None, text) == set()


@pytest.mark.parametrize(("annotation", "section"), [
    ("int", "int"), ("list[str]", "list of str"), ("nd.NDArray | None", "NDArray or None"),
    ("dict[str, list[int]]", "dict of str to list of int"), ("tuple[int, ...]", "tuple of int"),
    ("tuple[int, str]", "(int, str)"), ("list[A] | B", "list of A, or B"),
])  # fmt: skip
def test_a_section_that_repeats_the_annotation_is_found(annotation, section):
    def function():
        pass

    function.__annotations__ = {"return": annotation}
    text = f"Returns\n-------\n{section}"
    assert wrong(function, text) == {"bare"}
    assert wrong(function, f"{text}\n    In order.") == set()


@pytest.fixture(scope="module")
def lacking():
    """{package: {part: the items that lack it}}."""
    found = {}
    for package, each in items().items():
        found[package] = {}
        for path, value, owner in each:
            for part in lacks(path, value, owner):
                found[package].setdefault(part, []).append(path)
    return found


@pytest.mark.parametrize("package", PACKAGES)
def test_docstrings_have_every_part(lacking, package):
    assert not lacking[package]
