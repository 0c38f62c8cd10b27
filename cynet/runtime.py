"""mx.runtime: the features of this build, and a description of it for bug reports."""

from __future__ import annotations

import os
import platform
import sys
from importlib import metadata, util
from typing import NamedTuple

import numpy as np

from .base import config
from .base.compat import optional_packages
from .base.cores import usable_cores
from .base.errors import CynetError, NotFoundError
from .base.guard import guarded
from .context import load_gpu_backend, num_gpus
from .engine import get
from .graph.pipeline import PASSES, enabled_passes
from .kernels.conv import onednn
from .kernels.isa.dispatch import cpu_capabilities, cpu_capability
from .kernels.threading.threads import get_num_threads

__all__ = ["Feature", "Features", "describe", "feature_list"]

# Features of MXNet that no build of cynet has: other BLAS libraries, TensorRT, ...
_ABSENT_FEATURES = (  # features of MXNet that cynet lacks
    "NCCL",
    "CUDA_RTC",
    "TENSORRT",
    "SSE",
    "F16C",
    "JEMALLOC",
    "BLAS_ATLAS",
    "BLAS_MKL",
    "BLAS_APPLE",
    "CAFFE",
    "DIST_KVSTORE",
    "SIGNAL_HANDLER",
    "DEBUG",
    "TVM_OP",
)


class Feature(NamedTuple):
    """A feature: its name, and whether this build has it.

    Parameters
    ----------
    name : str
        Name of the feature.
    enabled : bool
        Whether this build has it.

    Examples
    --------
    >>> mx.runtime.Feature("OPENMP", True), mx.runtime.Features()["TVM_OP"]
    (✔ OPENMP, ✖ TVM_OP)
    """

    name: str
    enabled: bool

    def __repr__(self) -> str:
        return f"{'✔' if self.enabled else '✖'} {self.name}"


def feature_list() -> list[Feature]:
    """List MXNet 1.9.1's features, and whether this build of cynet has them.

    Examples
    --------
    >>> found = mx.runtime.feature_list()
    >>> [each for each in found if each.name in ("OPENMP", "TENSORRT")]
    [✔ OPENMP, ✖ TENSORRT]
    """
    levels = cpu_capabilities()
    x86 = platform.machine().lower() in ("x86_64", "amd64")
    gpu = num_gpus() > 0
    there = {
        "CUDA": gpu,
        "CUDNN": gpu,
        "CPU_SSE": x86,
        "CPU_SSE2": x86,
        "CPU_AVX": "avx2" in levels,
        "CPU_AVX2": "avx2" in levels,
        "OPENMP": True,
        "BLAS_OPEN": True,
        "LAPACK": True,
        "MKLDNN": onednn.available(),
        "OPENCV": util.find_spec("cv2") is not None,
        "INT64_TENSOR_SIZE": True,
        "CXX14": True,
        "PROFILER": True,
        **dict.fromkeys(_ABSENT_FEATURES, False),
    }
    return [Feature(name, bool(value)) for name, value in there.items()]


class Features(dict):
    """Feature by name.

    Examples
    --------
    >>> features = Features()
    >>> features.is_enabled("BLAS_OPEN"), features["TVM_OP"].enabled
    (True, False)
    """

    def __init__(self) -> None:
        super().__init__((each.name, each) for each in feature_list())

    def __repr__(self) -> str:
        return repr(list(self.values()))

    @guarded
    def is_enabled(self, feature_name: str) -> bool:
        """Return whether this build has a feature.

        Parameters
        ----------
        feature_name : str
            Name of the feature; case is ignored.

        Raises
        ------
        NotFoundError
            If no feature has that name; the message lists those that there are.

        Examples
        --------
        >>> mx.runtime.Features().is_enabled("openmp")
        True
        """
        name = feature_name.upper()
        if name not in self:
            raise NotFoundError(
                f"no feature is named '{feature_name}'; there are {', '.join(self)}"
            )
        return self[name].enabled


def _package_version(package):
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _processor_model():
    """Return the processor's model, as Linux reports it."""
    try:
        with open("/proc/cpuinfo") as file:
            found = next((line for line in file if line.startswith("model name")), "")
    except OSError:
        found = ""
    return found.partition(":")[2].strip() or platform.processor() or platform.machine()


def _has_onednn():
    if onednn.available():
        return _package_version("onednn-cpu-gomp")
    return f"none ({onednn.failure_reason()})" if onednn.failure_reason() else "none"


def _gpu_names():
    try:
        load_gpu_backend()
    except CynetError as error:
        return f"none ({error})"
    return ", ".join(f"gpu({i})" for i in range(num_gpus())) or "none"


def _count_live_objects():
    """Return the number of live objects by kind, for tests. None if they are not counted: only
    builds with bounds checks or a sanitizer count (CYNET_DEBUG_COUNTERS of setup.py)."""
    from . import executor  # noqa: F401 - which imports _executor in its order
    from ._executor import live_plans
    from ._ndarray import live_chunks
    from .ndarray._resolve import live_states
    from .ndarray._tape import live_records

    found = {"chunks": live_chunks(), "plans": live_plans(), "states": live_states()}
    found["records"] = live_records()
    census = get().census()
    found |= {kind: census[kind] for kind in ("variables", "operators")}
    return None if None in found.values() else found


def describe() -> str:
    """Describe versions, processor, threads, libraries, devices, passes and settings.

    ``python -m cynet`` prints it.

    Examples
    --------
    >>> [line.split()[0] for line in mx.runtime.describe().splitlines()][:4]
    ['cynet', 'Python', 'system', 'processor']
    """
    package = sys.modules[__name__.partition(".")[0]]
    on = enabled_passes()
    optional = [
        f"{name} {_package_version(name)}" for name in optional_packages() if _package_version(name)
    ]
    settings = config.given()
    rows = {
        "cynet": f"{package.__version__}, {os.path.dirname(package.__file__)}",
        "Python": f"{platform.python_version()}, {sys.executable}",
        "system": platform.platform(),
        "processor": _processor_model(),
        "instructions": f"{cpu_capability()} (there are {', '.join(cpu_capabilities())})",
        "threads": f"{get_num_threads()} of {usable_cores()} usable cores",
        "NumPy": np.__version__,
        "OpenBLAS": _package_version("scipy_openblas32"),
        "oneDNN": _has_onednn(),
        "GPUs": _gpu_names(),
        "optional": ", ".join(optional) or "none",
        "passes": ", ".join(each.name for each in PASSES if each.name in on) or "none",
        "settings": " ".join(f"{k}={value}" for k, value in settings.items()) or "none",
    }
    return "\n".join(f"{name:13}{value}" for name, value in rows.items())
