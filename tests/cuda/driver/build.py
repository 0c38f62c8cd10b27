"""The simulated driver, built and put in the place of NVIDIA's: GPUs on a machine without one."""

import ctypes
import hashlib
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

from cynet.base import config
from cynet_cuda_cpu.compiler import host_compiler

from .. import simulated
from .make_stubs import stubs

HERE = Path(__file__).parent
ROOT = HERE.parent.parent.parent
SOURCES = [HERE / "driver.cpp", HERE / "modules.cpp"]


def pycuda_object():
    """The path of pycuda's compiled module, or None without pycuda; it is not imported."""
    spec = importlib.util.find_spec("pycuda")
    if spec is None or spec.origin is None:  # a folder of that name is a package to Python
        return None
    return next(iter(sorted(Path(spec.origin).parent.glob("_driver*.so"))), None)


def build():
    """Compile what has changed; the folder that has libcuda.so.1 and bin/nvcc."""
    missing = stubs(pycuda_object(), SOURCES)
    texts = [p.read_text() for p in (*SOURCES, HERE / "machine.h")]
    key = hashlib.sha256("\0".join([missing, sys.executable, str(ROOT), *texts]).encode())
    folder = config.cache_folder() / "simulated" / key.hexdigest()[:16]
    library = folder / "libcuda.so.1"
    if not library.exists():
        (folder / "bin").mkdir(parents=True, exist_ok=True)
        (folder / "stubs.cpp").write_text(missing)
        nvcc = folder / "bin" / "nvcc"
        nvcc.write_text(
            f'#!/bin/sh\nexport PYTHONPATH="{ROOT}"\n'
            f'exec "{sys.executable}" -m tests.cuda.driver.nvcc "$@"\n'
        )
        nvcc.chmod(0o755)
        new = folder / f"new-{os.getpid()}"
        command = [*host_compiler(), "-std=c++17", "-O2", "-shared", "-fPIC", "-pthread", "-w"]
        command += [f"-I{HERE}", "-Wl,-soname,libcuda.so.1", "-o", str(new)]
        command += [*map(str, SOURCES), str(folder / "stubs.cpp"), "-ldl"]
        subprocess.run(command, check=True)
        os.replace(new, library)
    return folder


def put_in_place():
    """Load the simulated driver, so that pycuda finds it loaded, and let nvcc, cuBLAS and cuDNN be
    the simulated ones. Only before pycuda is imported."""
    folder = build()
    ctypes.CDLL(str(folder / "libcuda.so.1"), ctypes.RTLD_GLOBAL)
    os.environ["PATH"] = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    os.environ["CYNET_CUDA_LIBRARIES"] = str(simulated.folder())
