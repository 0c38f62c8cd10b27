"""Source files, and what each imports: read from their text, so that a broken build tells, too."""

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGES = "cynet", "cynet_cuda_cpu"
CODE = (".py", ".pyx", ".pxd", ".h", ".cc", ".cu", ".cuh", ".sh")
# `#` starts a comment in what is matched here: no import statement holds a string.
NAMES = r"(\([^)]*\)|[^\n#]*)"
IMPORT = re.compile(
    rf"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+c?import[ \t]+{NAMES}|c?import[ \t]+([^\n#]+))", re.M
)


def files(*folders, suffixes=CODE):
    """Source files under the folders, as relative paths."""
    found = [p for folder in folders for p in (ROOT / folder).rglob("*") if p.suffix in suffixes]
    return sorted(p.relative_to(ROOT) for p in found if "build" not in p.parts)


def package_files(*suffixes):
    return files(*PACKAGES, suffixes=suffixes or (".py", ".pyx", ".pxd"))


def dotted(path):
    """The module name of a file: cynet/operator/__init__.py is cynet.operator."""
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {dotted(p) for p in package_files()}


def what_runs(node):
    """Every node below this one but what only type checkers read."""
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"):
            yield child
            yield from what_runs(child)


def _of_python(text):
    for node in what_runs(ast.parse(text)):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield node.lineno, name.name, []
        elif isinstance(node, ast.ImportFrom):
            source = "." * node.level + (node.module or "")
            yield node.lineno, source, [n.name for n in node.names]


def _of_any(text):
    """By lines alone: for Cython, and where speed counts more than what only type checkers read."""
    for match in IMPORT.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        names = re.sub(r"#.*", "", match[2] or match[3]).strip("() \t\n")
        names = [n.split(" as ")[0].strip() for n in names.split(",") if n.strip()]
        if match[1]:
            yield line, match[1], names
        else:
            yield from ((line, name, []) for name in names)


def statements(path, exactly=True):
    """(line, module, names) of each import and cimport in a file; relative names are resolved."""
    package = dotted(path).split(".")
    if path.name != "__init__.py":
        package = package[:-1]
    text = (ROOT / path).read_text()
    for line, source, names in (_of_python if exactly and path.suffix == ".py" else _of_any)(text):
        dots = len(source) - len(source.lstrip("."))
        if dots:
            base = [*package[: len(package) - dots + 1], *filter(None, source[dots:].split("."))]
            source = ".".join(base)
        yield line, source, names


def imported_modules(path):
    """(line, dotted name) of everything imported."""
    for line, source, names in statements(path):
        submodules = [f"{source}.{n}" for n in names if f"{source}.{n}" in MODULES]
        if len(submodules) < max(len(names), 1):
            yield line, source
        yield from ((line, module) for module in submodules)


@cache
def modules():
    """Dict of the dotted names of the package's and the tests' modules to their files."""
    found = [*package_files(".pyx", ".py"), *files("tests", suffixes=(".py",))]
    return {dotted(path): path for path in found}


@cache
def _reexported(package):
    """Dict of the names that a package's __init__.py imports to the modules they come from."""
    path = modules().get(package)
    if path is None or path.name != "__init__.py" or path.parts[0] not in PACKAGES:
        return {}
    found = statements(path, exactly=False)
    return {name: source for _, source, names in found for name in names}


def home(source, name):
    """The module that ``from source import name`` reads, through packages that re-export it."""
    while f"{source}.{name}" not in modules():
        further = _reexported(source).get(name, source)
        if further == source:
            return source
        source = further
    return f"{source}.{name}"


@cache
def importers():
    """Dict of a module's dotted name to the names of those that import it, tests among them."""
    found = {}
    for name, path in modules().items():
        if path.name == "__init__.py" and path.parts[0] in PACKAGES:  # re-exports are followed
            continue
        declared = path.with_suffix(".pxd")
        parts = [path, declared] if path.suffix == ".pyx" and (ROOT / declared).exists() else [path]
        for _, source, names in (row for part in parts for row in statements(part, exactly=False)):
            for each in {home(source, each) for each in names or [""]} - {name}:
                found.setdefault(each, set()).add(name)
    return found
