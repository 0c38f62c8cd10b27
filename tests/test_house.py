"""The rules of the house, held over every file: floors, sizes, first lines, what is not written."""

import ast
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.imports import (
    CODE,
    MODULES,
    PACKAGES,
    ROOT,
    dotted,
    files,
    imported_modules,
    package_files,
)

PACKAGE = ROOT / "cynet"
# The table of docs/architecture/README.md: a file imports from its own floor and from below.
# Names are modules and folders of cynet/, with all that is in them.
FLOORS = {
    0: "_typedefs base context registry",
    1: "_engine engine _storage storage",
    2: "_resource storage.testing kernels cuda",
    3: "_ndarray _core operator",
    4: "ndarray numpy numpy_extension symbol attribute name",
    5: "graph _executor executor autograd",
    6: "random initializer optimizer lr_scheduler metric io recordio image distributed kvstore "
    "callback monitor profiler visualization rtc test_utils log misc rnn",
    7: "module model executor_manager gluon tools libinfo util runtime contrib onnx typing "
    "launch serving __main__ numpy_dispatch_protocol numpy_op_signature _numpy_op_doc",
}
FLOOR_OF = {name: floor for floor, names in FLOORS.items() for name in names.split()}
FUNCTION = re.compile(r"^( *)(?:async def|def|cdef|cpdef)\b(?! class).*?(\w+)\(")
# Functions of more than 80 lines, and why they stay whole.
LONG_FUNCTIONS = {
    "executor/bind.py:simple_bind": "MXNet's 15 arguments; an argument's arrays are made alike",
    "onnx/export.py:export_model": "MXNet's arguments, each checked before a node is written",
    "ndarray/_call.pyx:invoke": "the hot path of a call: a further function would cost 30 ns",
    "optimizer/_joined.pyx:__init__": "it takes over the fields of the updates that it joins",
}
REQUIRED = {"numpy", "tqdm", "scipy_openblas32"}  # what a module other than compat.py may import


def floor_of(module):
    """The floor, 99 for the package itself (it may import all), None where the table has none."""
    if module.partition(".")[0] == "cynet_cuda_cpu":
        return 7
    if "." not in module:
        return 99
    parts = module.split(".")[1:]
    return FLOOR_OF.get(".".join(parts[:2]), FLOOR_OF.get(parts[0]))


# Imports of a floor above, each in the body of the function that needs it: (importer, imported).
LAZY = {
    ("cynet.context", "cynet._storage"),
    ("cynet.context", "cynet.cuda.backend"),
    ("cynet.operator.numpy.named", "cynet.gluon.block.decomposition"),
    ("cynet.operator.custom.legacy", "cynet.symbol.register"),
    ("cynet.ndarray.functions", "cynet.gluon.block.traced"),
    ("cynet.ndarray.ndarray", "cynet.autograd._walk"),
    ("cynet.ndarray.ndarray", "cynet.autograd.hooks"),
    ("cynet.numpy._call", "cynet.gluon.block.traced"),
    ("cynet.numpy.multiarray", "cynet.gluon.block.traced_numpy"),
    ("cynet.numpy.random", "cynet.random"),
    ("cynet.rtc.rtc", "cynet_cuda_cpu"),
    ("cynet.rtc.rtc", "cynet_cuda_cpu.module"),
    ("cynet.symbol.inference", "cynet.graph.infer"),
    ("cynet.symbol.subgraph", "cynet.graph.infer"),
    ("cynet.symbol.symbol", "cynet.executor.bind"),
}


def test_every_module_has_a_floor():
    homeless = {m for m in MODULES if floor_of(m) is None}
    assert not homeless, "give these a floor, here and in docs/architecture/README.md"


def test_imports_go_down():
    wrong, lazy = [], set()
    for path in package_files():
        here, lines = dotted(path), (ROOT / path).read_text().splitlines()
        for line, module in imported_modules(path):
            if module.split(".")[0] not in PACKAGES or floor_of(module) <= floor_of(here):
                continue
            if (here, module) in LAZY and lines[line - 1].startswith("    "):
                lazy.add((here, module))
            else:
                floors = floor_of(here), floor_of(module)
                wrong.append(f"{path}:{line}, floor {floors[0]}, imports {module}, {floors[1]}")
    assert not wrong, "\n".join(wrong)
    assert lazy == LAZY


def test_optional_packages_come_through_compat():
    cython_own = {"cython", "libc", "libcpp", "cpython", "posix"}
    allowed = REQUIRED | set(sys.stdlib_module_names) | cython_own | {*PACKAGES}
    wrong = [
        f"{path}:{line} imports {module}"
        for path in package_files()
        for line, module in imported_modules(path)
        if module.split(".")[0] not in allowed and path.name != "compat.py"
    ]
    assert not wrong, "\n".join(wrong)


# Modules that MXNet 1.9.1 has at its root, and the compiled ones that users' .pyx files cimport.
DOORS = {"_engine", "_storage", "_resource", "_ndarray", "_executor", "_typedefs"}
MXNET = {
    "attribute",
    "autograd",
    "base",
    "callback",
    "context",
    "contrib",
    "engine",
    "executor",
    "executor_manager",
    "gluon",
    "image",
    "initializer",
    "io",
    "kvstore",
    "libinfo",
    "log",
    "lr_scheduler",
    "metric",
    "misc",
    "model",
    "module",
    "monitor",
    "name",
    "ndarray",
    "onnx",
    "numpy_dispatch_protocol",
    "numpy_op_signature",
    "_numpy_op_doc",
    "operator",
    "optimizer",
    "profiler",
    "random",
    "recordio",
    "registry",
    "rnn",
    "rtc",
    "runtime",
    "symbol",
    "test_utils",
    "util",
    "visualization",
}
# those of cynet's own
FOLDERS = {"_core", "cuda", "distributed", "graph", "kernels", "launch", "serving", "storage"}
FOLDERS |= {"tools", "numpy", "numpy_extension"}


def concepts():
    """Folders of the package, and the concepts in each: files with one stem are one."""
    found = {}
    for path in files("cynet", suffixes=(*CODE, ".txt", ".typed")):
        if path.stem != "__init__":
            found.setdefault(path.parent.relative_to("cynet"), set()).add(path.stem)
    return found


def test_the_root_has_doors_and_what_mxnet_has():
    # py.typed; python -m cynet; what annotations use
    here = concepts()[Path(".")] - {"py", "__main__", "typing"}
    folders = {folder.parts[0] for folder in concepts() if folder.parts}
    assert here <= DOORS | MXNET and here >= DOORS
    assert folders <= FOLDERS | MXNET
    assert {*FLOOR_OF} >= (here | folders)


def test_the_checkout_has_sources_in_folders_alone():
    """What an example wrote was once committed."""
    assert {path.name for each in CODE for path in ROOT.glob(f"*{each}")} == {"setup.py"}


def test_folders_are_small():
    """A family of operators has 40 concepts at the most, other folders 25."""
    families = {Path("operator", name) for name in ("nn", "tensor", "loss", "rnn", "random")}
    most = {folder: 40 if folder in families else 25 for folder in concepts()}
    large = {str(f): len(names) for f, names in concepts().items() if len(names) > most[f]}
    assert not large
    assert families <= {*most}


def test_programs_leave_no_files_at_the_top():
    """What programs of pages and examples write belongs to a folder of their own."""
    written = {".json", ".onnx", ".npz", ".params", ".states", ".png", ".csv", ".log", ".rec"}
    assert not [path.name for path in ROOT.iterdir() if path.suffix in written]


def test_files_are_short():
    """Above 600 lines a file is likely to hold two concepts: few do. Above 1,000 it is split, and
    none ends at 600, as one does that was cut to fit."""
    paths = files(*PACKAGES, "tests", "examples", "benchmarks", ".ci")
    lengths = {str(path): (ROOT / path).read_text().count("\n") for path in paths}
    assert not {path: lines for path, lines in lengths.items() if lines > 1000}
    assert not {path: lines for path, lines in lengths.items() if lines == 600}
    long = {path: lines for path, lines in lengths.items() if lines > 600}
    assert len(long) <= len(lengths) / 100, long
    assert (ROOT / "setup.py").read_text().count("\n") <= 190


def function_lengths(text):
    """(name, lines without its docstring) of each function of Python or Cython."""
    lines = text.split("\n")
    for first, line in enumerate(lines):
        head = FUNCTION.match(line)
        if not head:
            continue
        at, depth = first, 0
        while (
            depth := depth
            + sum(lines[at].count(c) for c in "([")
            - sum(lines[at].count(c) for c in ")]")
        ) > 0:
            at += 1
        if not re.search(r":\s*(#.*)?$", lines[at]):
            continue  # a declaration, or all of it in one line
        doc = re.match(r'\s*r?"""(.*?)"""', "\n".join(lines[at + 1 :]), re.DOTALL)
        end = at
        for i in range(at + 1, len(lines)):
            if lines[i].strip():
                if len(lines[i]) - len(lines[i].lstrip()) <= len(head[1]):
                    break
                end = i
        yield head[2], end - first + 1 - (doc[0].count("\n") + 1 if doc else 0)


def native_function_lengths(text):
    """(name, lines) of each function of C++ as clang-format writes it: the head begins at most one
    level deep, and the body ends with the first line as deep."""
    lines = text.split("\n")
    depth = [len(line) - len(line.lstrip()) if line else 99 for line in lines]
    for body, line in enumerate(lines):
        if not re.search(r"\)( const| noexcept| mutable)*( : .*)? \{$", line):
            continue
        first = body
        while first and depth[first] > 2:
            first -= 1
        name = re.search(r"(\w+)\(", lines[first])
        if not name or re.match(r"\s*([}#]|if|for|while|switch)", lines[first]):
            continue
        end = next(i for i in range(body + 1, len(lines)) if depth[i] <= depth[first])
        if lines[end].strip() == "}":
            yield name[1], end - first + 1


def test_functions_are_short():
    native = (".h", ".cc", ".cu", ".cuh")
    kinds = {(".py", ".pyx"): function_lengths, native: native_function_lengths}
    found = [
        (f"{path.relative_to(path.parts[0])}:{name}", lines)
        for suffixes, lengths in kinds.items()
        for path in files(*PACKAGES, suffixes=suffixes)
        for name, lines in lengths((ROOT / path).read_text())
    ]
    assert {name for name, lines in found if lines > 80} == {*LONG_FUNCTIONS}
    assert sum(not name.partition(":")[0].endswith(("py", "pyx")) for name, _ in found) > 1500


def test_lengths_of_functions_are_counted():
    text = 'class A:\n    def f(\n        x,\n    ):\n        """One.\n\n        Two."""\n'
    text += "        y = x\n\n        return y\n\n\n"
    text += "cdef int g(int x) noexcept nogil:\n    return x\n"
    assert dict(function_lengths(text)) == {"f": 6, "g": 2}
    text = "inline int f(int a,\n             int b) {\n  for (;;) {\n    a();\n  }\n"
    text += "  return b;\n}\n"
    text += "struct A {\n  int g() const {\n    return 1;\n  }\n};\n"
    assert dict(native_function_lengths(text)) == {"f": 7, "g": 3}


def test_a_source_distribution_has_every_source():
    has = {}
    for line in (ROOT / "MANIFEST.in").read_text().splitlines():
        if line.startswith("recursive-include "):
            folder, *patterns = line.split()[1:]
            has[folder] = {pattern.removeprefix("*") for pattern in patterns}
    for package in PACKAGES:  # whose modules setuptools finds
        has[package] |= {".py"}
    wanted = (*CODE, ".pyi", ".cpp", ".md", ".json", ".npz", ".png", ".txt")
    missing = [
        str(path)
        for folder, suffixes in has.items()
        for path in files(folder, suffixes=wanted)
        if path.suffix not in suffixes and not (folder in PACKAGES and path.suffix == ".cpp")
    ]
    assert {"cynet", "tests/smoke", "examples", "benchmarks", "docs"} <= {*has}
    assert not missing


def test_header_lines_are_short():
    """100 columns; `make lint` holds the Python and Cython files to it."""
    wide = [
        f"{path}:{number}"
        for path in files(*PACKAGES, suffixes=(".h", ".cc", ".cu", ".cuh"))
        for number, line in enumerate((ROOT / path).read_text().splitlines(), 1)
        if len(line) > 100
    ]
    assert not wide, "\n".join(wide)


def test_first_line_says_what_a_module_is():
    silent = []
    for path in files(*PACKAGES, "tests", "examples", "benchmarks"):
        lines = (ROOT / path).read_text().splitlines()
        lines = [x for x in lines if not re.match(r"#!|#\s*(cython|distutils):|#pragma once|$", x)]
        native = path.suffix in (".h", ".cc", ".cu", ".cuh")
        opening = ("//", "/*") if native else ('"""', 'r"""', "#")
        if path.suffix == ".py":
            opening = opening[:2]
        if not lines or not lines[0].startswith(opening):
            silent.append(str(path))
    assert not silent


def reexports_only(node):
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return True
    if isinstance(node, ast.Assign):
        return all(isinstance(t, ast.Name) and t.id.startswith("__") for t in node.targets)
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return all(map(reexports_only, node.body))
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def test_init_files_only_reexport():
    wrong = [
        f"{path}:{node.lineno}"
        for path in package_files(".py")
        if path.name == "__init__.py"
        for node in ast.parse((ROOT / path).read_text()).body
        if not reexports_only(node)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "what, pattern, exempt",
    [
        ("source text run as code", r"(?<![\w.])(?<!def )(exec|eval)\(", ()),
        # but what a loader's own processes send to each other
        ("a pickle is loaded", r"pickle\.(load|loads|Unpickler)\b", ("transport.py",)),
        ("left undone", r"\b(TODO|FIXME|XXX)\b", ()),
        # blas.pyx sets a variable of OpenBLAS while that loads
        ("environment", r"\bos\.(environ|getenv)|\bgetenv\(", ("config.py", "blas.pyx")),
        # the emulator compiles where its kernels run, and keeps them by processor
        ("tied to one machine", r"march=native|[\"']/(tmp|home|root)/", ("compiler.py",)),
        # a region of OpenMP has one loop: its barrier is its end (kernels/parallel.h)
        ("a region of threads", r"cython\.parallel c?import (?!prange$)|\bparallel\(", ()),
        ("assert as a check", r"^\s*assert\b", ()),
        # `except mx.base.MXNetError` catches all that a public call raises: errors.py has classes
        # that are Python's, too. In the files named others are caught in the same file, come when
        # cynet is imported, or no user gets there.
        (
            "an error that is no MXNetError",
            r"raise (ValueError|TypeError|KeyError|IndexError|AttributeError|RuntimeError"
            r"|LookupError|NotImplementedError|OSError|IOError|FileNotFoundError|BufferError|MemoryError(?!\(\))"
            r"|OverflowError|ImportError|ZeroDivisionError|PermissionError|Exception)\b",
            (
                "_testing.pyx",
                "binary.py",
                "process.pyx",
                "testing.pyx",
                "_simple.pyx",
                "blas.pyx",
                "built.py",
                "callback_checks.py",
                "config.py",
                "creation.pyx",
                "cudnn_maps.pyx",
                "datasets.py",
                "errors.py",
                "onednn.pyx",
                "state_file.py",
            ),
        ),
    ],
)
def test_what_is_not_written(what, pattern, exempt):
    found = [
        f"{path}:{number}: {line.strip()}"
        for path in files(*PACKAGES)
        if path.name not in exempt
        for number, line in enumerate((ROOT / path).read_text().splitlines(), 1)
        if re.search(pattern, line)
    ]
    assert not found, what + "\n" + "\n".join(found)


def test_passes_ask_no_operator_for_its_name():
    """They ask its hooks (cynet/operator/graph_hooks.py); messages may print names."""
    found = [
        f"{path}:{number}: {line.strip()}"
        for path in files("cynet/graph")
        for number, line in enumerate((ROOT / path).read_text().splitlines(), 1)
        if re.search(r"op_name\s*(==|!=|in\b|not in\b)", line)
    ]
    assert not found, "\n".join(found)


TOOLS = ("check", "fuzz", "gpu", "mutants", "site", "smoke", "tsan", "typing")


def test_tests_are_where_one_looks():
    """tests/operator/nn/test_pooling.py tests cynet/operator/nn/pooling.pyx, and so on."""
    lost = [
        str(path)
        for path in files("tests", suffixes=(".py",))
        if path.name.startswith("test_")
        and path.parts[1] not in TOOLS
        and not PACKAGE.joinpath(*path.parts[1:-1]).is_dir()
        and not ROOT.joinpath(*path.parts[1:-1]).is_dir()
    ]
    assert not lost


def test_the_thread_sanitizer_has_what_its_tests_import():
    """tests/tsan/run.sh copies conftest.py, three files of tests, and all of tests/ they import."""
    script = (ROOT / "tests/tsan/run.sh").read_text()
    copied = ("conftest", "engine/test_engine", "engine/test_stress", "storage/test_storage")
    names = {
        name
        for file in copied
        for name in re.findall(r"from tests\.(\w+)", (ROOT / f"tests/{file}.py").read_text())
    }
    assert names
    listed = re.search(r"cp tests/\{([\w,]+)\}\.py", script).group(1).split(",")
    assert names | {"conftest"} <= set(listed)


def test_paths_of_the_makefile_exist():
    """pytest runs none of its arguments where one of them is missing."""
    text = (ROOT / "Makefile").read_text()
    named = set(re.findall(r"(?<![\w./])(?:tests|benchmarks|examples|scripts)/[\w/.]+", text))
    assert len(named) > 20
    assert [each for each in sorted(named) if not (ROOT / each).exists()] == []


# --- operators by name ----------------------------------------------------------------------------
# Backends, which register by class and have words; names of what is imported when it is asked for,
# which tests/operator/test_families.py holds to what the families have.
NAMES_MAY_STAND = ("onnx", "operator/cuda", "operator/families.py")
# What is called with the name of an operator to register or compute it: that tells nothing of it.
CALLS = (
    r"\b((register_operator|get_operator|call_operator_first|OPERATORS\.get|function_of"
    r"|_?call(?:_op)?|_operator|_apply|_subgraph_node)\(|operator=)$"
)


def quoted(path):
    """(line, text) of each literal string but docstrings, the names of `__all__` and of operators
    that are called; those of a tuple, list, set or dict of four and more names are one text."""
    text = (ROOT / path).read_text()
    if path.suffix != ".py":
        text = re.sub(r'""".*?"""', lambda m: "\n" * m[0].count("\n"), text, flags=re.S)
        text = re.sub(r"#.*", "", text)
        for match in re.finditer(r'"([^"\n]*)"', text):
            if not re.search(CALLS, text[: match.start()][-60:]):
                yield text.count("\n", 0, match.start()) + 1, match[1]
        return
    tree, passed = ast.parse(text), set()
    for node in ast.walk(tree):
        first = getattr(node, "body", None)
        if isinstance(first, list) and first and isinstance(first[0], ast.Expr):
            passed.add(first[0].value)
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            passed.update(ast.walk(node.value))
        if isinstance(node, ast.Call) and re.search(CALLS, ast.unparse(node.func) + "("):
            passed.update(node.args[:1])
        if isinstance(node, ast.ClassDef):  # its operator
            passed.update(each.value for each in node.keywords if each.arg == "operator")
        if isinstance(node, ast.JoinedStr):  # a part of a text is no name
            passed.update(node.values)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Algorithm":  # its own name
            passed.update(node.args[:1])
    for node in ast.walk(tree):
        items = getattr(node, "elts", None) or getattr(node, "keys", None) or ()
        words = [each for each in items if isinstance(getattr(each, "value", None), str)]
        if len(words) >= 4 and not passed.intersection(words):
            passed.update(words)
            yield node.lineno, " ".join(each.value for each in words)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in passed:
            yield node.lineno, node.value


def names_of_operators(own=False):
    """(file, line, name) of each quoted name of an operator outside the file of its `own`.

    A small word (relu, sum, pad) names much else, so it counts only where a string lists names.
    """
    from cynet.operator import OPERATORS

    defined = {name: entry.prop.__module__ for name, entry in OPERATORS.items()}
    for path in package_files(".py", ".pyx"):
        if path.is_relative_to("cynet_cuda_cpu") or any(
            path.is_relative_to(f"cynet/{each}") for each in NAMES_MAY_STAND
        ):
            continue
        for line, text in quoted(path):
            words = text.split()
            listed = len(words) > 1 and all(word in defined for word in words)
            for word in words if listed or len(words) == 1 else ():
                counts = listed or not re.fullmatch("[a-z]+", word)
                if counts and word in defined and (own or defined[word] != dotted(path)):
                    yield path, line, word


def test_names_of_operators_stand_in_their_own_files():
    """Lower the number where you take one away; nothing else may raise it."""
    found = list(names_of_operators())
    assert len(found) <= 4, "\n".join(f"{path}:{line}: {name}" for path, line, name in found)
    files_of = Counter(name for _, name in {(p, n) for p, _, n in names_of_operators(own=True)})
    assert len(files_of) > 50 and {n: k for n, k in files_of.items() if k > 2} == {}


# What was told of operators by their names, table by table: how many names still stand there.
TABLES = {
    "operator/tensor/unary.py ROWS": 0,
    "operator/tensor/binary.py ROWS": 0,
    "operator/tensor/binary_scalar.py ROWS": 0,
    "operator/tensor/broadcast.pyx ROWS": 0,
    "operator/tensor/reduce.pyx ROWS": 0,
    "operator/array_methods.py METHODS": 0,
    "operator/array_methods.py BINARY": 0,
    "operator/storage_types.py ZERO_STAYS": 0,
    "operator/storage_types.py SCALARS": 0,
    "operator/storage_types.py RULES": 0,
    "operator/gradients/formulas.py _UNARY": 0,
    "operator/gradients/formulas.py _SCALAR": 0,
    "operator/gradients/formulas.py _BINARY": 0,
    "operator/gradients/formulas.py FORMULAS": 0,
    "operator/gradients/linear.py _JOINT": 0,
    "operator/gradients/linear.py _FIRST": 0,
    "operator/gradients/linear.py LINEAR": 0,
    "operator/gradients/linear.py _FLAT": 0,
    "operator/gradients/linalg.py LINALG": 0,
    "operator/gradients/recurrent.py RECURRENT": 0,
    "operator/gradients/rewritten.py REWRITTEN": 0,
    "contrib/amp/lists/listing.py _FULL": 0,
    "contrib/amp/lists/listing.py _WIDEST": 0,
    "ndarray/_arithmetic.pyx _COMPARISONS": 0,
}


def test_tables_by_name_are_generated():
    from cynet.operator import OPERATORS

    sizes = {}
    for table in TABLES:
        path, name = table.split()
        text = (PACKAGE / path).read_text() if (PACKAGE / path).exists() else ""
        # up to the line that begins another statement
        found = re.search(
            rf"^(?:cdef list )?{name} = (.*?)^(?:\Z|(?=[^\s)\]}}\"]))", text, re.M | re.S
        )
        sizes[table] = len({*re.findall(r"\w+", found[1] if found else "")} & {*OPERATORS})
    assert {t: n for t, n in sizes.items() if n > TABLES[t]} == {}


# They have no text, or only the number that a program ends with.
TEXTLESS = {"StopIteration", "KeyboardInterrupt", "SystemExit", "GeneratorExit"}


def raises_of(path):
    """Calls of `pytest.raises` in a file of Python."""
    text = (ROOT / path).read_text()
    if "pytest.raises(" in text:
        calls = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))
        yield from (node for node in calls if getattr(node.func, "attr", "") == "raises")


def test_a_refusal_is_told_by_its_message():
    """`pytest.raises` has a match: by its type alone another error would do."""
    without = [
        f"{path}:{node.lineno}"
        for path in files("tests", suffixes=(".py",))
        for node in raises_of(path)
        if not any(keyword.arg == "match" for keyword in node.keywords)
        and ast.unparse(node.args[0]) not in TEXTLESS
    ]
    assert not without


def test_every_seed_is_that_of_the_run():
    """Tests draw by the fixtures `rng` and `seed`, which CYNET_TEST_SEED repeats."""
    own = r"np\.random\.randint\(|SeedSequence\(\)|default_rng\(\)|RandomState\(\)|seed\w* = random"
    but = ("test_numpy_state.py", "test_house.py")
    found = [
        f"{path}:{number}: {line.strip()}"
        for path in files("tests", suffixes=(".py",))
        if path.name.startswith("test_") and path.name not in but
        for number, line in enumerate((ROOT / path).read_text().splitlines(), 1)
        if re.search(own, line)
    ]
    assert not found, "\n".join(found)


# Modules that mypy does not hold to strict types yet; none may come in, each may go.
UNTYPED = {
    "base": "",
    "_core": "",
    "engine": "",
    "storage": "",
    "graph": "",
    "graph/passes": "",
    "executor": "",
    "onnx": "",
    "onnx/quantized": "",
    "operator": "",
    "operator/checks": "",
    "operator/functions": "",
}


@pytest.mark.parametrize("package", UNTYPED)
def test_types_are_strict_but_in_the_listed(package):
    """Every file of these packages is in mypy's list (`make lint`) but those named above."""
    listed = re.findall(r'^    "(cynet/[^"]+)",$', (ROOT / "pyproject.toml").read_text(), re.M)
    folders = [Path("cynet", package), *Path("cynet", package).parents]
    rest = [
        path.stem
        for path in sorted((ROOT / "cynet" / package).glob("*.py"))
        if not {f"cynet/{package}/{path.name}", *map(str, folders)} & set(listed)
    ]
    assert sorted(rest) == sorted(UNTYPED[package].split())
    assert len([path for path in listed if path.endswith(".py")]) >= 17
