"""Search for NVIDIA's libraries, in folders and pip's packages (contract in library.pxd)."""

import ctypes
from importlib import metadata
from pathlib import Path

from ...base import config
from ...base.errors import CynetError


def open_library(what, names, packages):
    """Open library `what` as a ``ctypes.CDLL``: the first of its candidate files that loads.

    Looked for in the folder CYNET_CUDA_LIBRARIES if that is set, in the pip packages, and where
    the system's loader looks.

    what (str): Its name in messages.
    names (tuple of str): File names, newest first.
    packages (tuple of str): Packages of pip that bring it.

    Raises CynetError: one sentence: that it is missing, or why it does not open, and how to get it.
    """
    reasons = []
    for path in [*_paths_in_folder(names), *_paths_in_packages(names, packages), *names]:
        try:
            return ctypes.CDLL(str(path))
        except OSError as error:
            if path not in names:  # the file exists, but cannot be loaded
                reasons.append(str(error))
    why = f"does not open ({'; '.join(reasons)})" if reasons else "is not installed"
    raise CynetError(
        f"{what} {why}: operators on a GPU need {' or '.join(names)} from pip install "
        f"'cynet-mx[cuda]' or 'cynet-mx[cuda12]' ({' or '.join(packages)}), from the system, or "
        "from the folder that CYNET_CUDA_LIBRARIES names")


def _paths_in_folder(names):  # the folder CYNET_CUDA_LIBRARIES
    folder = config.get("CYNET_CUDA_LIBRARIES")
    paths = [Path(folder) / name for name in names] if folder else []
    return [path for path in paths if path.exists()]


def _paths_in_packages(names, packages):
    found = []
    for package in packages:
        try:
            files = metadata.distribution(package).files or ()
        except metadata.PackageNotFoundError:
            continue
        found += [Path(f.locate()).resolve() for f in files if f.name in names]
    return found


cdef int load_functions(void** slots, object library, tuple names, str what) except -1:
    for i, name in enumerate(names):
        function = getattr(library, name, None)
        if function is None:
            raise CynetError(f"{what} at {library._name} has no function {name}: its version is "
                             "too old, or too new, for this version of cynet")
        slots[i] = <void*><size_t>ctypes.cast(function, ctypes.c_void_p).value
    return 0


cdef int store_handle(Handles* handles, const RunContext* run, void* handle, str what) except -1:
    if not handles.add(run.dev_id, run.stream, handle):
        raise CynetError(f"{what}: too many streams have run operators of it")
    return 0
