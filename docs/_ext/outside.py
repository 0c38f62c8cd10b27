"""What lies outside of docs/: files of the source tree, and the manuals of Python and NumPy.

A page may link to any file of the repository. On the site such a link leads to the repository's
web address, the project URL ``Source`` of pyproject.toml; while that is a placeholder (a host that
ends with .example), the path is shown instead.

The inventories of other manuals are fetched once into build/docs/inventories. If one cannot be
had (no network), its names are shown as text, and the build goes on without a warning.
"""

import re
import urllib.parse
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
LINK = re.compile(r"(?<!!)\[([^\]\n]+)\]\((?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)")


def repository():
    """The web address of the source tree, or None."""
    found = re.search(r'^Source = "(.+?)/?"', (ROOT / "pyproject.toml").read_text(), re.M)
    host = found and urllib.parse.urlsplit(found[1]).hostname
    return None if not host or host.endswith(".example") else found[1]


def rewritten(text, folder):
    """The text of a page in `folder`, with links that leave docs/ made absolute."""
    home = repository()

    def replaced(match):
        label, target, anchor = match.groups()
        path = (folder / target).resolve()
        if path.is_relative_to(DOCS) and path != DOCS:
            return match[0]
        shown = path.relative_to(ROOT)
        if home is None:
            return label if str(shown) in label else f"{label} (`{shown}`)"
        return f"[{label}]({home}/{'tree' if path.is_dir() else 'blob'}/main/{shown}{anchor or ''})"

    return LINK.sub(replaced, text)


def on_source_read(app, docname, content):
    """Sphinx's event: a page was read."""
    path = Path(app.env.doc2path(docname))
    if path.suffix == ".md":
        content[0] = rewritten(content[0], path.parent)


def on_config(app, config):
    """Map the manuals whose inventories are there or can be fetched."""
    kept = ROOT / "build" / "docs" / "inventories"
    kept.mkdir(parents=True, exist_ok=True)
    mapping = {}
    for name, home in config.intersphinx_pages.items():
        file = kept / f"{name}.inv"
        if not file.exists():
            try:
                with urllib.request.urlopen(f"{home}/objects.inv", timeout=5) as answer:
                    file.write_bytes(answer.read())
            except OSError as error:
                print(f"{name}: no links to its manual ({error})")
                continue
        mapping[name] = (home, str(file))
    config.intersphinx_mapping = mapping


def setup(app):
    app.add_config_value("intersphinx_pages", {}, "env")
    app.connect("config-inited", on_config, priority=1)  # set before intersphinx reads it
    app.connect("source-read", on_source_read)
    app.setup_extension("sphinx.ext.intersphinx")
    return {"parallel_read_safe": True}
