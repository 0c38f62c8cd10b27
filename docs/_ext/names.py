"""Ends pages that have code with links to the reference of the names that the code uses."""

import re

from reference import DOCUMENTED

FOLDERS = ("start/", "tutorials/", "guide/", "howto/", "from_", "migration", "deployment")
BLOCK = re.compile(r"^```python\n(.*?)^```", re.M | re.S)
IMPORT = re.compile(r"^from cynet(?:\.([\w.]+))? import ([\w, ]+)$", re.M)


def names_of(text, documented):
    """The documented names that a page's blocks use: {as users write it: in the reference}."""
    code = "\n".join(BLOCK.findall(text))
    short = {"mx": ""}
    for module, names in IMPORT.findall(code):
        for name in map(str.strip, names.split(",")):
            short[name] = f"{module}.{name}".lstrip(".")
    found = {}
    for first, rest in re.findall(r"(?<![\w.\"'])(\w+)((?:\.\w+)*)", code):
        if first not in short:
            continue
        parts = f"{short[first]}{rest}".lstrip(".").split(".")
        while parts and ".".join(parts) not in documented:
            parts.pop()
        if parts:
            path = ".".join(parts)
            found.setdefault(f"mx.{path}", documented[path])
    return found


def on_source_read(app, docname, content):
    """Add the section."""
    if docname.startswith(FOLDERS):
        found = names_of(content[0], DOCUMENTED)
        links = ", ".join(f"{{py:obj}}`{name} <{home}>`" for name, home in found.items())
        if links:
            content[0] += f"\n\n## In the reference\n\n{links}\n"


def setup(app):
    app.connect("source-read", on_source_read, priority=950)
    return {"parallel_read_safe": True}
