"""Finds the example of an operator in the text files of this folder.

A file has ``[operator]`` and behind it the example's lines. ``python -m tests.operator.examples
--write`` runs them and puts in what they print; tests/operator/test_examples.py holds them to it.
"""

import inspect
import re
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
FIRST = ">>> import cynet as mx\n"


def example_of(entry):
    """The lines of an operator's example; an empty text for one that users registered."""
    own = entry.prop.example
    if own and isinstance(own, str):  # a user's parameter may have that name
        return FIRST + inspect.cleandoc(own)
    return _examples().get(entry.name, "")


@cache
def _examples():
    """{name in the registry: example} of all files, read when the first docstring is made."""
    found = {}
    for path in sorted(HERE.glob("*.txt")):
        parts = re.split(r"^\[([A-Za-z_]\w*)\]\n(?=>>>)", path.read_text("utf-8"), flags=re.M)
        found.update(zip(parts[1::2], (FIRST + text.strip("\n") for text in parts[2::2])))
    return found
