"""Libraries of NVIDIA over host memory, with which a machine without a GPU runs the GPU forms of
operators.

Plain loops that share no code with cynet's kernels, and that check what the documentation says a
caller must keep to.
"""

import subprocess
from pathlib import Path

SOURCES = Path(__file__).parent
# library -> its sources
LIBRARIES = {
    "libcublas.so.13": ("cublas.cpp",),
    "libcudnn.so.9": ("cudnn.cpp", "cudnn_convolution.cpp", "cudnn_layers.cpp"),
}


def build(folder):
    """Compile the libraries into `folder`, a Path."""
    for name, sources in LIBRARIES.items():
        command = ["c++", "-O1", "-std=c++17", "-Wall", "-Werror", "-shared", "-fPIC"]
        command += [f"-Wl,-soname,{name}", *(str(SOURCES / s) for s in sources)]
        subprocess.run([*command, "-o", str(folder / name), "-ldl"], check=True)
