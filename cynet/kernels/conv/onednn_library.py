"""The path of oneDNN's shared library."""

import os
import sys


def library_path():
    """Return the path of the shared library in the onednn-cpu-gomp wheel, or None."""
    name = "libdnnl.so.3"
    usual = os.path.join(sys.prefix, "lib", name)
    if os.path.exists(usual):
        return usual
    from importlib import metadata  # imported late: it takes 10 ms

    try:
        files = metadata.distribution("onednn-cpu-gomp").files or ()
    except metadata.PackageNotFoundError:
        return None
    return next((os.path.realpath(f.locate()) for f in files if f.name == name), None)
