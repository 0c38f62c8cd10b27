"""Importing cynet from a source folder that is not compiled raises an error that explains it."""

import os
from importlib.util import find_spec

if find_spec("cynet._engine") is None:
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # of the package
    raise ImportError(
        f"cynet's compiled modules are not in {folder}, the source code: "
        "to use the installed package (pip install .), start Python in another folder; to work on "
        "the source code, compile it in place by `make build`"
    )
