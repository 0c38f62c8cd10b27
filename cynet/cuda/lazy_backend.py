"""The way to the backend for GPUs, which needs pycuda and a driver to be imported."""

import importlib

from ..context import install_gpu_backend


def load_backend():
    """Import the backend; CynetError says in one sentence what is missing."""
    return importlib.import_module(".backend", __package__)


install_gpu_backend(load_backend)
