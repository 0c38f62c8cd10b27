"""Runs the examples of operators: ``python -m tests.operator.examples [--write]``.

``--write`` puts what they print into the sources of their classes.
"""

import contextlib
import doctest
import io
import re
import sys
import textwrap
from pathlib import Path

import numpy as np

import cynet
from cynet.operator import OPERATORS
from cynet.operator.signature import example_of

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
NUMBER = re.compile(r"-?\d+\.\d*(?:e[-+]\d+)?")
ROOT = Path(cynet.__file__).parent.parent


class Checker(doctest.OutputChecker):
    """Takes floats that differ in the last digits, as they do between kinds of CPU."""

    def check_output(self, want, got, flags):
        if super().check_output(want, got, flags):
            return True
        said, shown = (np.array(NUMBER.findall(t), float) for t in (want, got))
        words = [" ".join(NUMBER.sub("#", t).split()).replace(" ", "") for t in (want, got)]
        return words[0] == words[1] and np.allclose(said, shown, rtol=1e-5, atol=1e-7)


def own():
    """Entries of the registry that cynet brings, each under its first name."""
    entries = {id(e): e for e in map(OPERATORS.get, OPERATORS) if not e.prop.users}
    return {e.name: e for e in entries.values() if e.prop.__module__.startswith("cynet.operator.")}


def by_module():
    """{module: {operator: its example}}."""
    found = {}
    for name, entry in own().items():
        if text := example_of(entry):
            found.setdefault(entry.prop.__module__, {})[name] = text + "\n"
    return dict(sorted(found.items()))  # families are loaded in any order


def answered(name, text):
    """An example with what its statements print now."""
    names, lines = {"mx": cynet, "np": np, "__name__": "__main__"}, []
    with cynet.name.NameManager():
        for each in doctest.DocTestParser().get_examples(text, name):
            shown = io.StringIO()
            with contextlib.redirect_stdout(shown):
                exec(compile(each.source, f"[{name}]", "single"), names)
            got = shown.getvalue().strip("\n")
            said = Checker().check_output(each.want, got + "\n" if got else "", FLAGS)
            first, *rest = each.source.rstrip("\n").split("\n")
            lines.append(f">>> {first}")
            lines += [f"... {line}".rstrip() for line in rest]
            if rest and re.match(r"with |def |class |@", first):
                lines.append("...")
            assert "\n\n" not in got, f"[{name}] an empty line would end what it prints:\n{got}"
            if got:
                lines.append(each.want.strip("\n") if said else got)
    return "\n".join(lines) + "\n"


def main():
    for module, examples in by_module().items():
        stem = ROOT / module.replace(".", "/")
        path = next(p for p in (stem.with_suffix(".py"), stem.with_suffix(".pyx")) if p.exists())
        for name, text in examples.items():
            fresh = answered(name, text)
            if fresh == text:
                continue
            old, new = (textwrap.indent(each, "    ") for each in (text, fresh))
            source = path.read_text()
            if "--write" in sys.argv and source.count(old) == 1:
                path.write_text(source.replace(old, new))
                print(f"{name}: written to {path.name}")
            else:
                print(f"{name} differs (to be changed in {path.name}):\n{fresh}")


if __name__ == "__main__":
    main()
