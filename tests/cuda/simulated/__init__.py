"""Libraries of NVIDIA over host memory, with which a machine without a GPU runs the GPU forms of
operators.

Plain loops that share no code with cynet's kernels, and that check what the documentation says a
caller must keep to.
"""

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from cynet.base import config

SOURCES = Path(__file__).parent
# library -> its sources
LIBRARIES = {
    "libcublas.so.13": ("cublas.cpp",),
    "libcudnn.so.9": (
        "cudnn.cpp",
        "cudnn_convolution.cpp",
        "cudnn_layers.cpp",
        "cudnn_rnn.cpp",
        "cudnn_softmax.cpp",
    ),
}


def folder():
    """The folder that has the libraries, for CYNET_CUDA_LIBRARIES; they are compiled once."""
    texts = [p.read_bytes() for p in sorted(SOURCES.iterdir()) if p.suffix in (".cpp", ".h")]
    key = hashlib.sha256(b"\0".join(texts)).hexdigest()[:16]
    place = config.cache_folder() / "simulated" / key
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(dir=place.parent))
        for name, sources in LIBRARIES.items():
            command = ["c++", "-O1", "-std=c++17", "-Wall", "-Werror", "-shared", "-fPIC"]
            command += [f"-Wl,-soname,{name}", *(str(SOURCES / s) for s in sources)]
            subprocess.run([*command, "-o", str(new / name), "-ldl"], check=True)
        try:
            os.replace(new, place)
        except OSError:  # another process was faster
            shutil.rmtree(new)
    return place
