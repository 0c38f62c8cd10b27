"""Make the library of the predict API in C: libcynet_predict.so and its header, in a folder.

python -m cynet.tools.c_predict lib
cc app.c -Ilib -Llib -lcynet_predict -Wl,-rpath,$PWD/lib

Programs written for MXNet's c_predict_api.h compile with it. The library starts the Python that
made it, with its packages; so it runs where that Python and cynet are. It needs a C++ compiler, and
Python as a shared library (Debian: apt-get install libpython3-dev).
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

from cynet_cuda_cpu.compiler import host_compiler

from ..base.errors import CynetError
from ..serving import c_predict

if TYPE_CHECKING:
    from collections.abc import Sequence

LIBRARY_NAME = "cynet_predict"  # stem of the shared library


def build(folder: str) -> Path:
    """Compile the library into a folder, beside its header; returns the library's path.

    Parameters
    ----------
    folder : str
        Is made if it is not there.

    Raises
    ------
    CynetError
        There is no C++ compiler or no shared library of Python, or it does not compile.
    """
    folders = [str(sysconfig.get_config_var(key)) for key in ("LIBDIR", "LIBPL")]
    version = f"python{sysconfig.get_config_var('LDVERSION')}"
    found = [each for each in folders if os.path.exists(f"{each}/lib{version}.so")]
    if not found:
        raise CynetError(
            f"c_predict: there is no lib{version}.so in {' or '.join(folders)}: the Python of"
            f" {sys.executable} is no shared library (Debian: apt-get install libpython3-dev;"
            " pyenv: PYTHON_CONFIGURE_OPTS=--enable-shared)"
        )
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    sources = Path(c_predict.__file__).parent
    library = target / f"lib{LIBRARY_NAME}.so"
    command = [*host_compiler("c_predict needs"), "-O2", "-std=c++17", "-shared", "-fPIC"]
    command += ["-fvisibility=hidden", f'-DCYNET_PYTHON="{sys.executable}"']
    command += [f"-I{sysconfig.get_path('include')}", str(sources / "c_predict_api.cc")]
    command += ["-o", str(library), f"-L{found[0]}", f"-l{version}", f"-Wl,-rpath,{found[0]}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise CynetError(f"c_predict: {' '.join(command)} failed:\n{done.stderr[-4000:].strip()}")
    shutil.copy(sources / "c_predict_api.h", target)
    return library


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program; returns its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m cynet.tools.c_predict",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", metavar="FOLDER", help="where the library and its header go")
    args = parser.parse_args(argv)
    try:
        library = build(args.folder)
    except (CynetError, OSError) as error:
        print(f"c_predict: {error}".replace("c_predict: c_predict:", "c_predict:"), file=sys.stderr)
        return 1
    there = shlex.quote(str(library.parent.resolve()))
    print(f"{library}\ncc app.c -I{there} -L{there} -l{LIBRARY_NAME} -Wl,-rpath,{there}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
