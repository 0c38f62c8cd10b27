"""The path of oneDNN's shared library."""

import sys
from pathlib import Path


def library_path():
    """Return where the onednn-cpu-gomp wheel has put its shared library, or None."""
    name = "libdnnl.so.3"
    usual = Path(sys.prefix) / "lib" / name
    if usual.exists():
        return usual
    from importlib import metadata  # with email and zipfile: 10 ms of an import of cynet

    try:
        files = metadata.distribution("onednn-cpu-gomp").files or ()
    except metadata.PackageNotFoundError:
        return None
    return next((Path(f.locate()).resolve() for f in files if f.name == name), None)
