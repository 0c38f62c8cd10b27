"""The documents are true: links lead somewhere, settings are listed, the README's Python runs."""

import base64
import json
import os
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest

from cynet.base import config

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    p for p in ROOT.rglob("*.md") if not {".venv", "build", "dist"} & set(p.relative_to(ROOT).parts)
)


def blocks(page, language):
    """The fenced code blocks of a page in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.M | re.S)


def anchors(page):
    """What a link to a heading of the page may name, as GitHub makes it."""
    heads = re.findall(r"^#+ (.+)$", page.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def test_links_lead_somewhere():
    broken = []
    for page in PAGES:
        for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)]*))?\)", page.read_text()):
            there = page.parent / target if target else page
            if "://" not in target and not (
                there.exists() and (not anchor or anchor in anchors(there))
            ):
                broken.append(f"{page.relative_to(ROOT)}: {target}#{anchor}")
    assert not broken


def test_pages_are_short():
    """A page of docs/architecture has one concept; a question of docs/architecture/how a minute."""
    long = {}
    for page in (ROOT / "docs/architecture").rglob("*.md"):
        most = 60 if page.parent.name == "how" else 200 if page.stem == "performance" else 250
        if (lines := page.read_text().count("\n")) > most:
            long[page.name] = lines
    assert not long
    assert len((ROOT / "benchmarks/README.md").read_text().split()) <= 3000


def _readme():
    return (ROOT / "README.md").read_text()


def test_the_claim_of_speed_is_the_tables():
    """README says what the training steps of benchmarks/README.md span; its rows are theirs."""
    table = (ROOT / "benchmarks/README.md").read_text()
    text = " ".join(_readme().split())
    ratios = [
        float(x) for x in re.findall(r"\| [^|]*training step(?: \|[^|]*){3}\| ([\d.]+)", table)
    ]
    low, high = re.search(r"trains ([\d.]+) to ([\d.]+) times as fast as PyTorch", text).groups()
    assert len(ratios) > 20
    assert (float(low), float(high)) == (round(min(ratios), 1), round(max(ratios), 1))
    rows = re.findall(r"^\| ([^|]+) \| ([\d.]+) [mu]s \| ([\d.]+) \| ([\d.]+) \|$", _readme(), re.M)
    measured = dict(reversed(re.findall(r"^\| ([^|]+) \| (.*) \|$", table, re.M)))  # the first
    for work, cynet, torch, mxnet in rows:
        cells = measured[work].split(" | ")
        assert [cynet, torch, mxnet] == [cells[0], cells[3], cells[4].split()[0]], work
    assert len(rows) > 5


def test_paths_named_in_the_documents_exist():
    pattern = r"`((?:cynet|tests|docs|examples|benchmarks)/[\w./-]+\.(?:pyx|pxd|py|h|md|npz|sh))`"
    lost = [
        f"{page.relative_to(ROOT)}: {path}"
        for page in PAGES
        if page.name != "adding_an_operator.md"  # there the reader makes the files
        for path in re.findall(pattern, page.read_text())
        if not (ROOT / path).exists()
    ]
    assert not lost


def test_the_house_names_every_folder():
    """docs/architecture/README.md has a word for each folder of the package."""
    page = (ROOT / "docs/architecture/README.md").read_text()
    folders = {p.parent.relative_to(ROOT / "cynet") for p in (ROOT / "cynet").rglob("*.py*")}
    unknown = [
        str(folder)
        for folder in folders
        if folder.parts
        and "__pycache__" not in folder.parts
        and folder.parts[0] != "gluon"  # gluon.md has those
        and f"`{folder}/`" not in page
        and f"`{folder.name}/`" not in page
    ]
    assert not unknown


def test_names_in_the_architecture_pages_exist():
    """Functions, classes and files that a page names in backticks are in the sources."""
    suffixes = {".py", ".pyx", ".pxd", ".h", ".cuh", ".cu"}
    tops = "cynet", "cynet_cuda_cpu", "tests", "benchmarks", "scripts"
    folders = [ROOT / top for top in tops]
    sources = [p for folder in folders for p in folder.rglob("*") if p.suffix in suffixes]
    sources.append(ROOT / "setup.py")
    files = {f"/{p.relative_to(ROOT)}" for p in sources}
    words = {word for p in sources for word in re.findall(r"\w+", p.read_text(errors="ignore"))}
    name = r"(?:\w+\.)*(_?(?!cudnn)[A-Za-z]+(?:_[a-z]+|[a-z][A-Z])\w*)(\(.*\))?"  # a_b, aB
    lost = []
    for page in (ROOT / "docs/architecture").rglob("*.md"):
        for code in re.findall(r"`([^`\n]+)`", page.read_text()):
            if re.fullmatch(r"[\w/]+\.(py|pyx|pxd|h|cu|cuh)", code) and "NAME" not in code:
                there = any(path.endswith(f"/{code}") for path in files)
            else:
                found = re.fullmatch(name, code)
                there = not found or found[1] in words
            if not there:
                lost.append(f"{page.name}: {code}")
    assert not lost


def test_every_setting_is_documented():
    rows = [
        f"| `{s.name}` | {f'`{s.default}`' if s.default != '' else 'empty'} | {s.doc} |"
        for s in config.settings()
    ]
    text = (ROOT / "docs/environment_variables.md").read_text()
    assert [line for line in text.splitlines() if line.startswith("| `")] == rows


# Modules of mx that are no part of the reference: what others are made of.
HIDDEN = {"base", "binding", "checkpoint", "executor_manager", "libinfo", "storage"}

# Pages whose blocks are programs. Those of adding_an_operator.md, which edit the sources, have a
# test of their own; those of distributed.md and of pages of docs/architecture are parts of files.
PROGRAMS = [
    str(page.relative_to(ROOT))
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if blocks(page, "python")
    and page.name not in ("adding_an_operator.md", "distributed.md")
    and ("architecture" not in page.parts or page.name in ("performance.md", "where.md"))
]


@pytest.fixture(scope="module")
def runs(request):
    """How each page that is asked for went: (passed, what it wrote)."""
    pytest.importorskip("Cython")
    pytest.importorskip("matplotlib")
    asked = {
        getattr(item, "callspec", None) and item.callspec.params.get("page")
        for item in request.session.items
    }
    pages = [page for page in PROGRAMS if page in asked]
    done = subprocess.run(
        [sys.executable, "-m", "tests.pages", *pages],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=290,
    )
    passed = re.findall(r"^passed \S+ (.+)$", done.stdout, re.M)
    said = dict(re.findall(r"^=== (.+)\n((?:(?!===).*\n)*)", done.stderr, re.M))
    return {page: (page in passed, said.get(page, done.stderr)[-3000:]) for page in pages}


@pytest.mark.parametrize("page", PROGRAMS)
def test_a_page_runs_and_prints_what_it_shows(runs, page):
    passed, said = runs[page]
    assert passed, said


def test_names_of_other_packages_are_listed(monkeypatch):
    """docs/from_pytorch.md ends with the table that AttributeErrors read."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    from make_names_table import table

    page = (ROOT / "docs/from_pytorch.md").read_text()
    assert page.endswith(f"\n{table()}"), "run scripts/make_names_table.py"


def test_tutorials_end_with_what_they_made():
    """Each tutorial ends with a picture or a table."""
    pages = [p for p in (ROOT / "docs/tutorials").glob("*.md") if p.name != "index.md"]
    assert len(pages) >= 13
    assert not [
        page.name
        for page in pages
        if not re.search(r"^```text\n|^!\[", page.read_text()[-1500:], re.M)
    ]


def test_notebooks_have_the_blocks_of_their_pages(monkeypatch):
    """Their code cells are the page's blocks, so that what runs above runs there."""
    monkeypatch.syspath_prepend(str(ROOT / "docs/_ext"))
    from notebooks import NOTEBOOKS, notebook

    for name in NOTEBOOKS:
        page = ROOT / f"docs/tutorials/{name}.md"
        cells = json.loads(notebook(page.read_text(), page.parent))["cells"]
        code = ["".join(c["source"]) + "\n" for c in cells if c["cell_type"] == "code"]
        assert code == blocks(page, "python") and len(code) > 5
        # it stands by itself: outputs and pictures are in it, no link leads to a file beside it
        outputs = [each for c in cells for each in c.get("outputs", ())]
        printed = ["".join(each["text"]) for each in outputs if each["output_type"] == "stream"]
        assert printed == blocks(page, "text")
        drawn = [each["data"]["image/png"] for each in outputs if "data" in each]
        assert len(drawn) == len(re.findall(r"^!\[", page.read_text(), re.M))
        assert all(base64.b64decode(each).startswith(b"\x89PNG") for each in drawn)
        text = "".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
        assert not re.findall(r"\]\((?!\w+:)", text) and "needs cynet" in text


def test_pages_name_what_their_code_uses(monkeypatch):
    """What ends a page of the site: names of its blocks that the reference has."""
    monkeypatch.syspath_prepend(str(ROOT / "docs/_ext"))
    from names import names_of

    there = {"mod.Module": "M", "mod": "m", "gluon.nn.Dense": "D", "nd.ones": "o", "nd": "n"}
    page = """
```python
import cynet as mx
from cynet import autograd, nd
from cynet.gluon import nn

mx.mod.Module.load("mx.mod", 3); nn.Dense(3)(nd.ones(2)); x.nd.ones(); mx.nothing.there()
```

Text of `mx.mod`.
"""
    wanted = {"mx.nd": "n", "mx.mod.Module": "M", "mx.gluon.nn.Dense": "D", "mx.nd.ones": "o"}
    found = names_of(page, there)
    assert found.items() >= {k: v for k, v in wanted.items() if k != "mx.nd"}.items()
    assert found.keys() <= wanted.keys()


def test_each_page_is_in_the_site():
    """Pages of docs/ stand in a toctree, those of modules and operators are made for it."""
    listed = {ROOT / "docs/index.md"}
    for page in (ROOT / "docs").rglob("*.md"):
        for tree in re.findall(r"^```{toctree}\n(.*?)^```", page.read_text(), re.M | re.S):
            for line in tree.splitlines():
                listed.add((page.parent / f"{line}.md").resolve())
    assert not set((ROOT / "docs").rglob("*.md")) - listed


def test_the_reference_has_every_public_module(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs/_ext"))
    import reference

    import cynet as mx

    named = {name.partition(".")[0] for name in reference.MODULES}
    homes = {id(getattr(mx, name)) for name in named}
    modules = {n for n in mx.__all__ if isinstance(getattr(mx, n), types.ModuleType)}
    assert not {n for n in modules if id(getattr(mx, n)) not in homes} - HIDDEN


def test_the_reference_has_every_public_operator():
    """In a fresh process: tests register operators of their own."""
    code = """
import cynet as mx, reference
found = {name for family in reference.operators().values() for name in family}
operators = {n for n in dir(mx.nd) if reference.is_operator(getattr(mx.nd, n))}
operators |= {f"contrib.{name}" for name in dir(mx.nd.contrib)}
print(len(operators), *{n for n in operators if not n.split(".")[-1].startswith("_")} - found)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": "docs/_ext"},
        capture_output=True,
        text=True,
        check=True,
    )
    count, *missing = done.stdout.split()
    assert int(count) > 300 and not missing
