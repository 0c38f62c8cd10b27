"""Runs the examples of cynet/operator/examples: ``python -m tests.operator.examples [--write]``.

``--write`` puts what they print into the files.
"""

import contextlib
import doctest
import io
import re
import sys

import numpy as np

import cynet
from cynet.operator.examples.files import HERE

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
FILES = sorted(HERE.glob("*.txt"))
NUMBER = re.compile(r"-?\d+\.\d*(?:e[-+]\d+)?")


class Checker(doctest.OutputChecker):
    """Takes floats that differ in the last digits, as they do between kinds of CPU."""

    def check_output(self, want, got, flags):
        if super().check_output(want, got, flags):
            return True
        said, shown = (np.array(NUMBER.findall(t), float) for t in (want, got))
        words = [" ".join(NUMBER.sub("#", t).split()).replace(" ", "") for t in (want, got)]
        return words[0] == words[1] and np.allclose(said, shown, rtol=1e-5, atol=1e-7)


def sections(path):
    """{operator: its example} of a file."""
    parts = re.split(r"^\[([A-Za-z_]\w*)\]\n(?=>>>)", path.read_text(), flags=re.M)
    assert not parts[0].strip(), f"{path.name} begins without the name of an operator"
    return dict(zip(parts[1::2], parts[2::2]))


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
    for path in FILES:
        fresh = [f"[{name}]\n{answered(name, text)}" for name, text in sections(path).items()]
        text = "\n".join(fresh)
        if text != path.read_text():
            print(f"{path.name} {'written' if '--write' in sys.argv else 'differs'}")
            if "--write" in sys.argv:
                path.write_text(text)


if __name__ == "__main__":
    main()
