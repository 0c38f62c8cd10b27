"""Examples of functions of mx.np and mx.npx in docstrings, from ``function_examples.txt``."""

import re
from functools import cache
from pathlib import Path


def split_examples(text):
    """Return {path of a function, ``np.linalg.inv``: lines of its example} of a text.

    A call with its result is the example of the function that it calls. Where an example has more
    lines, empty lines stand around it, and its first line is the function: ``[np.random.shuffle]``.
    """
    found = {}
    for block in text.rstrip("\n").split("\n\n"):
        if block.startswith("["):
            name, _, lines = block.partition("\n")
            found[name[1:-1]] = lines
        else:
            calls = re.split(r"\n(?=>>> )", block)
            found |= {re.match(r">>> mx\.([\w.]+)", each)[1]: each for each in calls}
    return found


@cache
def collect_examples():
    """Return the examples in ``function_examples.txt``."""
    return split_examples(Path(__file__).with_suffix(".txt").read_text("utf-8"))


def add_examples(space, names):
    """Add their examples to the docstrings of functions.

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
