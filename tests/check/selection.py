"""Which tests a change touches, the likeliest first, and as many of them as there is time for.

A changed file gives a score to each file of tests that may show a fault in it: the test of the same
path, those that import it or what imports it, those that name what it defines. Where many files
have changed the scores of one test are those of the file that it tells most of.
"""

import re
from pathlib import Path

from tests.imports import PACKAGES, ROOT, dotted, importers, modules
from tests.mutants import selection
from tests.seconds import UNKNOWN, known

ITSELF, NAMED, WALKS = 1000, 40, 35
LEAST = 4  # below that a test only lies in the same part of the package
COMPILED, HEADERS = (".pyx", ".pxd"), (".h", ".cc", ".cuh", ".cu")
DATA = ("fixtures", "mutants", "fuzz")  # folders of tests/ whose files tests name without `import`
COMMON = "tests/operator/test_common.py"
MANY = 25  # operators: from here on the walks over operators are not cut to those


class Chosen:
    """What `pytest` is given, and why: a dict of its arguments to a score, and the operators that
    walks are cut to (an empty set: all)."""

    def __init__(self):
        self.scores, self.operators, self.whole = {}, set(), False

    def add(self, found):
        for name, score in found.items():
            self.scores[name] = max(score, self.scores.get(name, 0))

    def walks(self):
        """The walks over operators: their files, and the expression of -k ("": all of it)."""
        if not (self.operators or self.whole):
            return [], ""
        if self.whole or len(self.operators) > MANY:
            return [COMMON], ""
        return selection.SWEEPS, " or ".join(sorted(self.operators))


def choose(changed):
    """What the changed files touch: `changed` is a dict of their paths to lines, or to None."""
    chosen = Chosen()
    for path, lines in changed.items():
        path = Path(path)
        if path.parts[0] == "tests":
            chosen.add(_of_tests(path))
        elif path.parts[0] in PACKAGES and path.suffix in (".py", *COMPILED, *HEADERS):
            _of_package(chosen, path, lines)
        elif path.suffix == ".md":
            chosen.add(_of_page(path))
        else:
            chosen.add(_that_name(path))
    return chosen


def _of_tests(path):
    """A test itself; of what tests share those that import it, or that name it."""
    if path.name.startswith("test_"):
        return {str(path): ITSELF} if (ROOT / path).exists() else {}
    found, seen, near = {}, set(), {dotted(path)}
    if (ROOT / path).with_name("__init__.py").exists():  # which may load what lies beside it
        near.add(dotted(path.parent))
    for step in (1, 2, 3):
        seen |= near
        near = {user for each in near for user in importers().get(each, ())} - seen
        for user in near:
            file = modules()[user]
            if file.name.startswith("test_"):
                near_it = 40 * (file.stem == f"test_{path.stem}")
                found[str(file)] = max(found.get(str(file), 0), 60 // step + near_it)
    if path.parts[1] in DATA or path.suffix != ".py" or not found:
        found |= {name: NAMED for name in _that_name(path) if name not in found}
    return found


def _of_package(chosen, path, lines):
    chosen.add({"tests/test_docstrings.py": WALKS} if path.suffix in (".py", ".pyx") else {})
    sources = [path]
    if path.suffix in HEADERS:
        sources = selection.modules_of(ROOT / path)[:3] + selection.declarations(ROOT / path)
        sources = [each.relative_to(ROOT) for each in sources if each.name != "table.pyx"]
        if path.suffix == ".cc":
            chosen.add({"tests/kernels/test_table.py": ITSELF})
        elif not sources:  # it is compiled where it is used
            [batch, *_] = selection.for_headers(path)
            chosen.add(dict.fromkeys(batch, NAMED))
        chosen.add(selection.scores(path, set()))
    elif path.suffix == ".pxd":
        sources = [each for each in [path.with_suffix(".pyx")] if (ROOT / each).exists()]
        users = [modules()[user] for user in importers().get(dotted(path), ())]
        sources += [each for each in users if each.parts[0] in PACKAGES][:6]
    for source in sources:
        text = (ROOT / source).read_text() if (ROOT / source).exists() else ""
        words = _words(source, text, lines if source == path else None)
        operators = selection.registered(text) if source.parts[1:2] == ("operator",) else set()
        chosen.operators |= operators
        chosen.whole |= source.parts[1:2] == ("operator",) and not operators
        chosen.add(selection.scores(source, words | operators))
        if text and source.name != "backend.py":
            chosen.add({f"tests/test_doctest.py::test_examples[{dotted(source)}]": WALKS + 30})


def _words(path, text, lines):
    """Public names that lines of a file are in; of a compiled one those of its classes."""
    if path.suffix != ".py":
        return {n for n in re.findall(r"^(?:cdef |cp?def )?class (\w+)", text, re.M) if n[0] != "_"}
    if not text:
        return set()
    names = {name for line in lines or () for name in selection.enclosing(text, line)}
    names = {n for n in names if len(n) > 3}
    public = {n for n in names | selection.callers(path, names) if not n.startswith("_")}
    return public - selection.COMMON


def _of_page(path):
    """Of a page the tests of documents, its own program among those, and what names it."""
    found = {"tests/test_docs.py": ITSELF} | _that_name(path)
    if path.name in ("operators.md", "api_status.md"):
        found["tests/test_status_pages.py"] = ITSELF
    if path.name == "adding_an_operator.md":
        found["tests/test_adding_an_operator.py"] = ITSELF
    return found


def _that_name(path):
    """Tests that name a file, by its path or, if it is a program, by its own name."""
    telling = path.name if path.suffix or len(path.parts) == 1 else str(path)
    whole, found = re.compile(rf"(?<![\w.]){re.escape(telling)}(?!\w)"), {}
    program = path.suffix == ".py" or path.parts[0] == "tests"
    stem = re.compile(rf"\b{re.escape(path.stem)}\b") if program else whole
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        name, text = str(file.relative_to(ROOT)), file.read_text()
        if whole.search(text):
            found[name] = 2 * NAMED
        elif stem.search(text) and path.parts[0] in file.relative_to(ROOT).parts:
            found[name] = NAMED
        elif file.stem.removeprefix("test_") == path.parent.name:
            found[name] = NAMED // 2
    return found


def within(scores, seconds):
    """(the arguments that fit into so many CPU seconds, those that do not), the likeliest first."""
    times, taken, left = known(), [], []
    for name in sorted(scores, key=lambda each: (-scores[each], times.get(each, UNKNOWN), each)):
        cost = times.get(name, UNKNOWN)
        if scores[name] >= LEAST and (scores[name] == ITSELF or cost <= seconds):
            taken.append(name)
            seconds -= cost
        else:
            left.append(name)
    return taken, left
