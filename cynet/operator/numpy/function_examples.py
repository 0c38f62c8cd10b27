"""Examples of functions of mx.np and mx.npx in docstrings, from ``function_examples.txt``."""

import re
from functools import cache
from pathlib import Path


@cache
def collect_examples():
    """Lines with results: path of a function, ``np.linalg.inv``, to text."""
    text = Path(__file__).with_suffix(".txt").read_text("utf-8")
    parts = re.split(r"^\[([a-z][\w.]+)\]\n", text, flags=re.M)
    return dict(zip(parts[1::2], (each.strip("\n") for each in parts[2::2])))


def add_examples(space, names):
    """Add to the docstrings of functions their examples.

    Parameters
    ----------
    space : str
        ``np``, ``np.linalg``.
    names : dict of str to object
    """
    found = collect_examples()
    for name, value in names.items():
        text = found.get(f"{space}.{name}")
        doc = getattr(value, "__doc__", None)
        if text and doc and ">>>" not in doc:
            value.__doc__ = f"{doc}\n\nExamples\n--------\n{text}\n"
