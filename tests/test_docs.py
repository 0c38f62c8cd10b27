"""The documents are true: links lead somewhere, settings are listed, the README's Python runs."""

import os
import re
import subprocess
import sys
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
    folders = [ROOT / top for top in ("cynet", "tests", "benchmarks", "scripts")]
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


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "docs/migration.md",
        "docs/guide/autograd.md",
        "docs/guide/custom_operators.md",
        "docs/guide/feeding_data.md",
        "docs/guide/gluon.md",
        "docs/guide/interchange.md",
        "docs/architecture/performance.md",
        "docs/architecture/how/where.md",
    ],
)
def test_python_blocks_run(page, tmp_path):
    """The blocks of a page run one after the other in a fresh process, beside its .pyx files."""
    for name, text in re.findall(
        r"`(\w+\.pyx)`:\n\n```cython\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S
    ):
        pytest.importorskip("Cython")
        (tmp_path / name).write_text(text)
    code = "\n".join(blocks(ROOT / page, "python"))
    env = {**os.environ, "PYTHONPATH": str(ROOT), "CYNET_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr[-3000:]


def test_readme_shows_what_its_example_prints(tmp_path):
    code, shown = (blocks(ROOT / "README.md", language)[0] for language in ("python", "text"))
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    assert done.stdout == shown, done.stderr[-3000:]
