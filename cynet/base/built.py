"""Importing cynet from its source folder before anything is compiled raises an error that says what
to do."""

from importlib.util import find_spec
from pathlib import Path

if find_spec("cynet._engine") is None:
    raise ImportError(
        f"cynet's compiled modules are not in {Path(__file__).parents[1]}, the source code: "
        "to use the installed package (pip install .), start Python in another folder; to work on "
        "the source code, compile it in place by `make build`"
    )
