"""The path of oneDNN's shared library."""

import sys
from pathlib import Path


def library_path():
    """Return the path of the shared library in the onednn-cpu-gomp wheel, or None."""
    name = "libdnnl.so.3"
    usual = Path(sys.prefix) / "lib" / name
    if usual.exists():
        return usual
    from importlib import metadata  # imports email and zipfile: 10 ms of an import of cynet

    try:
        files = metadata.distribution("onednn-cpu-gomp").files or ()
    except metadata.PackageNotFoundError:
        return None
    return next((Path(f.locate()).resolve() for f in files if f.name == name), None)
