"""Makes notebooks of tutorials: their blocks of Python are code cells, the rest is Markdown.

Each page of NOTEBOOKS gets a link to its notebook, which ``make docs`` writes beside it.
"""

import json
import re
from pathlib import Path

from outside import rewritten

DOCS = Path(__file__).resolve().parents[1]
NOTEBOOKS = ("arrays", "symbol", "module", "gluon", "operators")
OUTPUT = re.compile(r"^```text\n.*?^```\n", re.M | re.S)  # what running the cell shows


def cells(text):
    """The cells of a page as (kind, source)."""
    for number, part in enumerate(re.split(r"^```python\n(.*?)^```\n", text, flags=re.M | re.S)):
        if number % 2:
            yield "code", part.rstrip()
        elif part := OUTPUT.sub("", part).strip():
            yield "markdown", part


def notebook(text):
    """A page as the JSON of a notebook (nbformat 4.5)."""
    made = []
    for number, (kind, source) in enumerate(cells(text)):
        cell = {"cell_type": kind, "id": f"cell{number}", "metadata": {}}
        cell["source"] = source.splitlines(keepends=True)
        if kind == "code":
            cell |= {"execution_count": None, "outputs": []}
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
            (Path(app.outdir) / "tutorials" / f"{name}.ipynb").write_text(notebook(text))


def setup(app):
    app.connect("source-read", on_source_read, priority=900)
    app.connect("build-finished", on_finished)
    return {"parallel_read_safe": True}
