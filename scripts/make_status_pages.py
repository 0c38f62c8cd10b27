"""Makes docs/operators.md and docs/api_status.md: every public name of MXNet 1.9.1, and its status.

``python scripts/make_status_pages.py`` compares cynet with tests/fixtures/api.json, which
tests/fixtures/api.py wrote in MXNet. What signatures cannot show stands in
scripts/status_notes.py. A test checks that the pages are up to date.
"""

from __future__ import annotations

import importlib
import inspect
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import cynet
from cynet.operator import get_operator

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
from status_notes import DIFFERS, INSTANCES, NOT_ASKED, SAME_CALL  # noqa: E402

cynet.install_as_mxnet(numpy_names=False)  # modules are found as scripts find them

FOUND = json.loads((ROOT / "tests" / "fixtures" / "api.json").read_text())
FACES = ("mx.ndarray", "mx.symbol")
SAME, OTHER, ABSENT = "same", "differs", "not provided"


@dataclass
class Row:
    """One name: its status, and how it differs or why it is not there."""

    path: str
    status: str
    note: str = ""
    counted: bool = True


def at(path):
    """The object of cynet that MXNet's path names, or None."""
    found, walked = cynet, "mxnet"
    for part in path.split(".")[1:]:
        walked = f"{walked}.{part}"
        try:
            found = getattr(found, part)
        except AttributeError:
            try:
                found = importlib.import_module(walked)
            except ImportError:
                return None
    return found


def why_not_asked(path):
    """Why a name is none of the Python-level names that are counted, or ""."""
    return next((why for pattern, why in NOT_ASKED if re.search(pattern, path)), "")


def parameters(value):
    """[(name, default or None)] of a callable of cynet; stars keep theirs."""
    try:
        found = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return None
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    return [(stars.get(p.kind, "") + p.name, p.default) for p in found]


def split(text):
    """The names in ``(a, b=1, *c)``, as MXNet's signature was written."""
    words, depth, word = [], 0, ""
    for c in text[1:-1]:
        depth += c in "([{"
        depth -= c in ")]}"
        if c == "," and not depth:
            words.append(word)
            word = ""
        else:
            word += c
    return [w.strip() for w in [*words, word] if w.strip()]


def calls_differ(path, theirs, value):
    """The difference in the parameters of a function, or ""."""
    ours = parameters(value)
    if ours is None or theirs == "(...)" or path in SAME_CALL:
        return ""
    names = [n for n, _ in ours if n != "self"]
    wanted = [w.partition("=")[0] for w in split(theirs)]
    wanted = [w for w in wanted if w not in ("self", "cls")]
    lacking = [w for w in wanted if w not in names and not w.startswith("*")]
    open_ended = any(n.startswith("**") for n in names)
    if lacking and not open_ended:
        return f"without {', '.join(f'`{w}`' for w in lacking)}"
    places = [w for w in wanted if w in names and not w.startswith("*")]
    if places != [n for n in names if n in places]:
        return "parameters in another order"
    return ""


def plain(text):
    """A default of MXNet's documentation as a Python value; None where there is none."""
    match = re.search(r"default=(.*)$", text)
    if not match:
        return None
    word = match[1].strip().strip("'")
    if word in ("None", "", "[]", "()"):
        return None
    if "boolean" in text:
        return word in ("1", "True", "true")
    try:
        return float(word)
    except ValueError:
        return tuple(map(float, re.findall(r"[-\d.]+", word))) if word[:1] in "[(" else word


def same_default(theirs, ours):
    """Whether two defaults mean the same."""
    if ours in ((), "", None, inspect.Parameter.empty):
        ours = None
    if isinstance(ours, (tuple, list)):
        ours = tuple(map(float, ours))
    if isinstance(theirs, float) and isinstance(ours, (int, float)):
        return abs(theirs - ours) <= 1e-6 * max(1.0, abs(theirs))
    return theirs == ours


def _counted(name):
    """The parameter of an operator that counts its arguments, which calls leave out."""
    for each in (name, f"_contrib_{name}", f"_{name}"):
        try:
            return get_operator(each).prop.key_var_num_args
        except cynet.MXNetError:
            continue
    return None


def operator_differs(path, value):
    """The difference of an operator's parameters from MXNet's, or ""."""
    face, _, name = path.rpartition(".")
    key = f"{face.replace('mx.symbol', 'mx.sym').replace('mx.ndarray', 'mx.sym')}.{name}"
    rows = FOUND["operators"].get(key)
    ours = parameters(value)
    if rows is None or ours is None or path in SAME_CALL:
        return ""
    known = dict(ours)
    rest = any(n.startswith("**") and n != "**kwargs" for n in known)
    told = []
    for each, kind in rows:
        bare = each.removesuffix("[]")
        if bare in known or f"*{bare}" in known or rest:
            if "default=" in kind and not same_default(plain(kind), known.get(bare)):
                told.append(f"`{bare}` is {known.get(bare)!r} by default, there {plain(kind)!r}")
        elif bare not in ("args", _counted(name)):
            told.append(f"without `{bare}`")
    return "; ".join(told)


def row(path, theirs):
    """The status of one function, class, operator or value."""
    excuse = why_not_asked(path)
    value = at(path)
    if value is None:
        return Row(path, ABSENT, excuse or "not written yet", counted=not excuse)
    if path in DIFFERS:
        return Row(path, OTHER, DIFFERS[path])
    if theirs == "operator":
        how = operator_differs(path, value)
    elif isinstance(theirs, dict):
        how = calls_differ(path, theirs["__init__"], value) if "__init__" in theirs else ""
    elif theirs != "value" and callable(value):
        how = calls_differ(path, theirs, value)
    else:
        how = ""
    return Row(path, OTHER if how else SAME, how, counted=not excuse)


def method_rows(path, methods):
    """Rows of a class's methods."""
    owner, out = at(path), []
    instance = INSTANCES[path]() if path in INSTANCES else owner  # has attributes of __init__
    for name, theirs in methods.items():
        if name == "__init__":
            continue
        full = f"{path}.{name}"
        excuse = why_not_asked(full)
        found = inspect.getattr_static(owner, name, None) if owner is not None else None
        there = found is not None and type(found).__name__ != "MissingName"
        if not there and owner is not None and type(found).__name__ != "MissingName":
            there = hasattr(owner, name) or hasattr(instance, name)
        if not there:
            out.append(Row(full, ABSENT, excuse or "not written yet", counted=not excuse))
            continue
        how = DIFFERS.get(full, "")
        if not how and theirs != "value" and callable(getattr(owner, name, None)):
            how = calls_differ(full, theirs, getattr(owner, name))
        out.append(Row(full, OTHER if how else SAME, how, counted=not excuse))
    return out


def share(rows):
    """Numbers of names: those that exist here, those that count, those with the same parameters."""
    counted = [r for r in rows if r.counted]
    there = [r for r in counted if r.status != ABSENT]
    return len(there), len(counted), sum(r.status == SAME for r in counted)


def spoken(path):
    """A path as scripts write it."""
    return path.replace("mx.ndarray", "mx.nd").replace("mx.symbol", "mx.sym")


def operators_page():
    """docs/operators.md."""
    spaces = [f + s for s in ("", ".contrib", ".linalg", ".image", ".random") for f in FACES]
    rows = {s: [row(f"{s}.{n}", k) for n, k in names_of(s).items()] for s in spaces}
    every = [r for each in rows.values() for r in each]
    there, counted, same = share(every)
    out = [
        "# Operators of MXNet 1.9.1\n",
        "Every public name of MXNet 1.9.1's `mx.nd` and `mx.sym`, and what it is here: *same*,",
        "*differs* (how), or *not provided* (why). `scripts/make_status_pages.py` compares names,",
        "parameters and defaults with the list that MXNet gave; values are compared by the tests",
        "(`tests/operator`). [Coming from MXNet](migration.md) tells of behaviour.\n",
        f"Of {counted} names {there} are there, {same} the same ({same / counted:.1%}).\n",
    ]
    for space in spaces:
        out += section(space, rows[space])
    return "\n".join(out).rstrip() + "\n"


def names_of(module):
    """MXNet's names of a module, those that stand in another first included."""
    found = dict(FOUND["modules"].get(module, {}))
    for path, home in FOUND["also"].items():
        owner, _, name = path.rpartition(".")
        if owner == module:
            source, _, there = home.rpartition(".")
            found[name] = FOUND["modules"].get(source, {}).get(there, "value")
    return dict(sorted(found.items()))


def section(space, rows):
    """Text of one module: names that are the same in a paragraph, others in a table."""
    if not rows:
        return []
    _, counted, same = share(rows)
    head = f"{same} of {counted} the same" if counted else "not asked for"
    out = [f"## {spoken(space)}: {head}\n"]
    equal = [r.path.rpartition(".")[2] for r in rows if r.status == SAME]
    if equal:
        out += ["Same: " + ", ".join(f"`{n}`" for n in equal) + ".\n"]
    rest = [r for r in rows if r.status != SAME]
    if rest:
        out += ["| name | status | |", "|---|---|---|"]
        out += [f"| `{r.path.rpartition('.')[2]}` | {r.status} | {r.note} |" for r in rest]
        out += [""]
    return out


def api_page():
    """docs/api_status.md."""
    every, sections = [], []
    for module in FOUND["modules"]:
        names = FOUND["modules"][module]
        if module.startswith(FACES) and module.count(".") > 1 and not why_not_asked(f"{module}."):
            continue  # docs/operators.md lists operators
        rows = []
        for name, kind in names.items():
            path = f"{module}.{name}"
            if module in FACES and kind == "operator":
                continue
            rows.append(row(path, kind))
            if isinstance(kind, dict):
                for each in method_rows(path, kind):
                    each.path = f"{module}.{name}·{each.path.rpartition('.')[2]}"
                    rows.append(each)
        every += rows
        sections.append((module, rows))
    there, counted, same = share(every)
    out = [
        "# Status of the API of MXNet 1.9.1\n",
        "Every public name of MXNet 1.9.1 (functions, classes, methods; operators stand in",
        "[operators.md](operators.md)), and what it is here. `scripts/make_status_pages.py` makes",
        "this page. A method stands behind its class (`Module·fit`).\n",
        f"Of {counted} names {there} are there ({there / counted:.1%}), {same} of them with the",
        "same parameters.\n",
        "Not asked for, and not counted:\n",
        *[f"- {why}" for why in dict.fromkeys(why for _, why in NOT_ASKED)],
        "",
    ]
    for module, rows in sections:
        if any(r.counted for r in rows):
            out += section(module, rows)
    return "\n".join(out).rstrip() + "\n"


PAGES = {"operators.md": operators_page, "api_status.md": api_page}

if __name__ == "__main__":
    for name, make in PAGES.items():
        text = make()
        (ROOT / "docs" / name).write_text(text)
        print(f"docs/{name}: " + next(line for line in text.splitlines() if line.startswith("Of ")))
