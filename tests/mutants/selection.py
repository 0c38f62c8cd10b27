"""Which tests are run on a fault: those of the same path, then those that name what it is in."""

import ast
import os
import re
from functools import cache
from pathlib import Path

from tests.imports import ROOT, dotted, importers, modules

TESTS, KERNELS = ROOT / "tests", ROOT / "cynet/kernels"
# Walks over all operators: of these the tests of the operators concerned are taken.
SWEEPS = ["test_common", "test_against_mxnet", "test_mxnet_values", "test_dtypes", "test_sizes"]
SWEEPS += ["test_ranks", "test_empty", "test_half", "test_bfloat16", "nn/test_against_mxnet"]
SWEEPS += ["test_update", "test_failures"]
SWEEPS = [f"tests/operator/{name}.py" for name in SWEEPS]
# Not by name alone: they need minutes, or other machines.
LEFT_OUT = re.compile(
    r"tests/(gpu|smoke|fuzz|benchmarks|mutants|typing)/|_stress|test_kills|test_doctest|steady_memory"
    r"|test_(adding_an_operator|house|reporting|status_pages|random_shapes|packages)|onnx/test_models"
)
# Words that tell nothing.
COMMON = {"forward", "backward", "update", "reset", "array", "data", "name", "shape", "init"}


@cache
def texts():
    found = sorted(TESTS.rglob("test_*.py"))
    names = {str(path.relative_to(ROOT)): path.read_text() for path in found}
    return {name: text for name, text in names.items() if not LEFT_OUT.search(name)}


@cache
def includes():
    """For each header the modules (.pyx) that are compiled with it."""
    direct, users = {}, {}
    files = [p for p in ROOT.glob("cynet*/**/*") if p.suffix in (".pyx", ".pxd", ".h", ".cc")]
    for path in files:
        text = path.read_text()
        headers = re.findall(r'"([\w/.]+\.h)"', text)
        folders = (path.parent, KERNELS, KERNELS.parent)
        found = {Path(os.path.normpath(folder / each)) for each in headers for folder in folders}
        if path.suffix != ".h":
            for up, at in re.findall(r"^from (\.*)([\w.]+) cimport", text, re.M):
                folder = path.parents[len(up) - 1] if up else ROOT
                other = folder / (at.replace(".", "/") + ".pxd")
                if not other.with_suffix(".pyx").exists():  # else that is the module
                    found.add(other)
        direct[path] = found.intersection(files)
    for path in files:
        if path.suffix == ".pyx":
            seen, left = set(), {path, path.with_suffix(".pxd")}
            if path == KERNELS / "table.pyx":  # which all files of kernels are linked into
                left |= {each for each in files if each.suffix == ".cc"}
            while left:
                each = left.pop()
                seen.add(each)
                left |= direct.get(each, set()) - seen
            for each in seen:
                users.setdefault(each, set()).add(path)
    return users


def kernels_of(path):
    """Names of the kernels in a .cc file, or in those that include a .h."""
    text = path.read_text() if path.suffix == ".cc" else ""
    if path.suffix == ".h":
        name = f'"{path.relative_to(KERNELS)}"' if KERNELS in path.parents else path.name
        found = [each.read_text() for each in sorted(KERNELS.rglob("*.cc"))]
        text = "".join(each for each in found if name in each)
    return re.findall(r"^CYNET_\w*KERNEL\((\w+)", text, re.M)


def declarations(path):
    """The operators (.py) that name kernels of a .cc, or of those that include a .h."""
    words = "|".join(kernels_of(path))
    if not words:
        return []
    files = sorted((ROOT / "cynet/operator").rglob("*.py"))
    return [each for each in files if re.search(rf'"({words})"', each.read_text())]


def modules_of(path):
    """The compiled modules that a .pyx, .cc or .h is part of, as paths; nearest names first."""
    if path.suffix == ".pyx":
        return [path]
    users = includes().get(path, set())
    stem = path.stem.split("_")[0]
    return sorted(users, key=lambda p: (stem not in p.stem, path.parent.name not in p.parts, p))


def enclosing(text, line):
    """Names of the functions and classes around a line of Python, and of what they are in."""
    names = []
    for node in ast.walk(ast.parse(text)):
        kinds = ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef
        if isinstance(node, kinds) and node.lineno <= line <= node.end_lineno:
            names.append(node.name)
        elif isinstance(node, ast.Assign) and node.lineno <= line <= node.end_lineno:
            names += [t.id for t in node.targets if isinstance(t, ast.Name)]
    return names


def callers(path, names):
    """Public names of the same file that use the private ones among `names`."""
    tree, found = ast.parse((ROOT / path).read_text()), set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            words = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
            words |= {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}
            if words & names:
                found.add(node.name)
    return found


def scores(path, words):
    """Dict of the files of tests that a fault in a file of the package may show in to how likely
    that is, by its path, by the names in `words` and by what imports it."""
    parts, found = path.parts[path.parts[0] == "cynet" : -1], {}
    mirror = Path("tests", *parts, f"test_{path.stem}.py")
    of_folder = Path("tests", *parts[:-1], f"test_{parts[-1]}.py") if parts else None
    pattern = re.compile(r"\b(" + "|".join(map(re.escape, words)) + r")\b") if words else None
    module = re.compile(rf"\b{re.escape(path.stem)}\b") if len(path.stem) > 3 else None
    for name, text in texts().items():
        test, score = Path(name), 0
        if test == mirror:
            score += 100
        elif test == of_folder:
            score += 50
        elif path.stem in test.stem or test.stem.removeprefix("test_") in path.stem:
            score += 20 * (test.parts[1:2] == parts[:1])
        if pattern:
            score += 15 * len(set(pattern.findall(text)))
        if score or (module and module.search(text)):
            score += 3 * sum(a == b for a, b in zip(test.parts[1:], parts)) + 1
            score += 10 * (test.parts[1:-1] == parts)
        elif test.parts[1:-1] == parts:
            score = 8
        elif parts and test.parts[1:2] == parts[:1]:
            score = 2
        if score:
            found[name] = score
    for name, score in _by_imports(path).items():
        found[name] = found.get(name, 0) + score
    return found


def _by_imports(path):
    """Of tests that import a module, and of those of the same path as what imports it: a module
    that many import tells little of each, and so does one that is two steps away."""
    known, found = texts(), {}
    seen, near = set(), {dotted(path)}
    for step in (1, 2):
        seen |= near
        near = {user for each in near for user in importers().get(each, ())} - seen
        for user in near:
            file = str(modules()[user])
            if file in known:
                found[file] = max(found.get(file, 0), 60 // step)
            mirror = f"tests/{'/'.join(user.split('.')[1:-1])}/test_{user.split('.')[-1]}.py"
            if mirror in known and len(near) <= 12 * step:
                found[mirror] = max(found.get(mirror, 0), 24 // step)
    return found


def _ranked(path, words):
    found = scores(path, words)
    return sorted(found, key=lambda name: (-found[name], name))


def for_python(path, line, running=None):
    """Batches of arguments of pytest, the likeliest first; of those that are known to run it, where
    `running` has any."""
    names = {n for n in enclosing((ROOT / path).read_text(), line) if len(n) > 3}
    words = {n for n in names | callers(path, names) if not n.startswith("_")} - COMMON
    ranked = _ranked(path, words)
    if running:
        # those of its own path first: the lines may have been others when they were noted
        first, rest = ranked[:2], [name for name in ranked[2:] if name in running]
        rest += sorted(name for name in running if name not in ranked and name in texts())
        return [first, *_batches(rest)]
    doctest = f"tests/test_doctest.py::test_examples[{dotted(path)}]"
    if path.name == "backend.py" and "cuda" in path.parts:
        return _batches(ranked)
    return [[doctest, *ranked[:2]], *_batches(ranked[2:])]


def registered(text):
    """Names of the operators that a file registers, where they stand in it."""
    calls = " ".join(re.findall(r"(?:register_operator|class \w+)\([^)]*\)", text))
    return set(re.findall(r'"(\w+)"', calls))


def for_compiled(compiled):
    """Batches of arguments of pytest, the likeliest first, of modules and of what declares
    operators that their kernels compute."""
    operators, ranked = set(), []
    for module in compiled:
        text = module.read_text()
        found = registered(text)
        operators |= found
        relative = module.relative_to(ROOT)
        words = {n for n in re.findall(r"^(?:cdef )?class (\w+)", text, re.M) if n[:1] != "_"}
        new = _ranked(relative, words | found)
        ranked += [name for name in new[:12] if name not in ranked]
    sweeps = [name for name in SWEEPS if (ROOT / name).exists()]
    ranked = [name for name in ranked if name not in sweeps]
    batches = []
    if operators:
        chosen = ["-k", " or ".join(sorted(operators))]
        batches = [[sweeps[0], *chosen], ranked[:2], [*sweeps[1:], *chosen]]
        ranked = ranked[2:]
    return [batch for batch in batches + _batches(ranked) if batch]


def for_headers(path):
    """Batches for a header that is compiled when it is used: by the emulator, by users' modules."""
    user = path.parents[1] / path.name
    if "kernels" in path.parts:
        user = Path("cynet/operator/custom/build.py")
    return _batches(_ranked(user, set()))


def _batches(names):
    """Two files, then three, then five, ..."""
    batches, size, at = [], 2, 0
    while at < len(names):
        batches.append(names[at : at + size])
        at, size = at + size, size * 3 // 2
    return batches
