"""Optional packages, imported when first needed; nothing else in cynet imports them."""

import importlib
from typing import Any

from .errors import CynetError

# package -> the extra of cynet-mx that installs it
_EXTRAS_OF_PACKAGE = {
    "Cython": "cython",
    "cv2": "image",
    "grandalf": "viz",
    "graphviz": "viz",
    "matplotlib": "viz",
    "mlflow": "track",
    "mpi4py": "mpi",
    "onnx": "onnx",
    "optuna": "optuna",
    "pycuda": "cuda",
    "ray": "ray",
    "safetensors": "safetensors",
    "scipy": "scipy",
    "setuptools": "cython",
    "sklearn": "sklearn",
    "tensorboardX": "viz",
    "waitress": "serve",
    "wandb": "track",
}
# package -> its module, where the names differ
_PIP_NAMES = {  # module -> its package on PyPI
    "cv2": "opencv-python-headless",
    "mlflow": "mlflow-skinny",
    "ray": "ray[tune]",
    "sklearn": "scikit-learn",
}


def optional_packages() -> list[str]:
    """Return the sorted names of the optional packages."""
    return sorted((_PIP_NAMES.get(name, name) for name in _EXTRAS_OF_PACKAGE), key=str.lower)


def optional(name: str, purpose: str) -> Any:
    """Import an optional module. If it is missing, the error names the package that `purpose`
    needs.

    name: Dotted module name.
    purpose: The feature that needs the module, for the error.

    Raises CynetError when the package is not installed.
    """
    package = name.partition(".")[0]
    extra, package = _EXTRAS_OF_PACKAGE[package], _PIP_NAMES.get(package, package)
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise CynetError(
            f"{purpose} needs the package {package}: pip install 'cynet-mx[{extra}]' ({error})"
        ) from None
