"""Makes notebooks of tutorials: their blocks of Python are code cells, the rest is Markdown.

Each page of NOTEBOOKS gets a link to its notebook, which ``make docs`` writes beside it. A notebook
stands by itself: what a cell prints is its output, pictures are in the file, a link to another page
is the page's name, and the first cell says what is needed.
"""

import base64
import json
import re
from pathlib import Path

from outside import rewritten

DOCS = Path(__file__).resolve().parents[1]
NOTEBOOKS = "arrays", "symbol", "module", "gluon", "regression", "characters", "operators"
OUTPUT = re.compile(r"^```text\n(.*?)^```\n", re.M | re.S)  # output of the cell
PICTURE = re.compile(r"^!\[([^\]]*)\]\((?!\w+:)([^)]+)\)\n?", re.M)
PAGE = re.compile(r"(?<!!)\[([^\]\n]+)\]\((?!\w+:)[^)\s]+\)")
NEEDS = (
    "This notebook needs cynet, which no package index has yet: install a wheel or a checkout of it"
    " as its README says, with the extra `viz` for pictures (`pip install '.[viz]'` in a checkout)."
)


def cells(text, folder=None):
    """The cells of a page as (kind, source, outputs)."""
    code = None
    for number, part in enumerate(re.split(r"^```python\n(.*?)^```\n", text, flags=re.M | re.S)):
        if number % 2:
            code = part.rstrip()
            continue
        printed, pictures = OUTPUT.findall(part), PICTURE.findall(part)
        if code is not None:
            outputs = [stream(each) for each in printed]
            yield "code", code, outputs + [picture(folder, *each) for each in pictures if folder]
        part = PAGE.sub(r"\1", PICTURE.sub("", OUTPUT.sub("", part))).strip()
        if part:
            yield "markdown", part, None


def stream(text):
    """What a cell printed."""
    return {"name": "stdout", "output_type": "stream", "text": text.splitlines(keepends=True)}


def picture(folder, label, path):
    """A picture that a cell drew."""
    data = base64.b64encode((folder / path).read_bytes()).decode()
    data = {"image/png": data, "text/plain": [label]}
    return {"data": data, "metadata": {}, "output_type": "display_data"}


def notebook(text, folder=None):
    """A page of a folder as the JSON of a notebook (nbformat 4.5)."""
    title, *rest = cells(text, folder)
    first = title[0], f"{title[1]}\n\n{NEEDS}", None
    made, count = [], 0
    for number, (kind, source, outputs) in enumerate([first, *rest]):
        cell = {"cell_type": kind, "id": f"cell{number}", "metadata": {}}
        cell["source"] = source.splitlines(keepends=True)
        if kind == "code":
            count += 1
            cell |= {"execution_count": count, "outputs": outputs}
        made.append(cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return json.dumps(
        {"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5},
        indent=1,
    )


def on_source_read(app, docname, content):
    """Add the link under the title."""
    folder, _, name = docname.rpartition("/")
    if folder == "tutorials" and name in NOTEBOOKS:
        title, _, rest = content[0].partition("\n")
        link = f'<a href="{name}.ipynb" download>Download this page as a notebook</a>'
        content[0] = f"{title}\n\n{link}\n{rest}"


def on_finished(app, error):
    """Write the notebooks beside the pages."""
    if error is None and app.builder.name in ("html", "dirhtml"):
        for name in NOTEBOOKS:
            page = DOCS / "tutorials" / f"{name}.md"
            text = rewritten(page.read_text(), page.parent)
            (Path(app.outdir) / "tutorials" / f"{name}.ipynb").write_text(
                notebook(text, page.parent)
            )


def setup(app):
    app.connect("source-read", on_source_read, priority=900)
    app.connect("build-finished", on_finished)
    return {"parallel_read_safe": True}
