"""Compiles operators that users write in Cython: for a setup.py, and at run time with a cache.

    import cynet as mx
    mx.operator.compile_pyx("my_op.pyx")      # registers what the file registers
    mx.nd.my_op(mx.nd.ones((2, 3)))

Both find the package's .pxd files and headers wherever it is installed, and compile with the
directives and flags that the built-in operators are compiled with.
"""

from __future__ import annotations

import contextlib
import errno
import importlib.util
import os
import re
import shutil
import sys
import sysconfig
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base import cache, config
from ...base.compat import optional
from ...base.errors import ArgumentError, CynetError, MissingFileError, shown
from ...base.files import file_name, naming

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...typing import FileName

PACKAGE = Path(__file__).parents[2]  # the folder cynet
CYTHON_DIRECTIVES = {  # of all compiled modules
    "language_level": 3,
    "boundscheck": False,
    "wraparound": False,
    "cdivision": True,
    "initializedcheck": False,
    "embedsignature": True,
}
if sys.platform == "win32":
    CFLAGS, LDFLAGS = ["/O2", "/std:c++17", "/openmp"], []
elif sys.platform == "darwin":
    CFLAGS, LDFLAGS = ["-O3", "-std=c++17"], []
else:
    CFLAGS = ["-O3", "-std=c++17", "-g0", "-fopenmp", "-fno-math-errno", "-fno-trapping-math"]
    LDFLAGS = ["-fopenmp"]
# Settings of OpenMP if a user's operator loads it first: by default its threads spin for
# milliseconds after each loop, and slow down all other threads.
_OPENMP_SETTINGS = {"OMP_WAIT_POLICY": "active", "GOMP_SPINCOUNT": "10000"}
_SILENT_SECONDS = 2  # seconds after which a message says that the compiler runs
_COMPILE_SECONDS = 600  # seconds after which a compiler counts as hanging


def _threading_flags():
    """Return compiler flags that make a module use cynet's threads even if loaded first."""
    header = PACKAGE / "kernels" / "threading" / "users_team.h"
    return [] if sys.platform == "win32" else ["-include", str(header)]


def extension(name: str, sources: Sequence[FileName], **kwargs: Any) -> Any:
    r"""A setuptools Extension of a .pyx that cimports cynet, for ``setup(ext_modules=[...])``.

    Parameters
    ----------
    name : str
        Dotted name of the module.
    sources : str or list of str
        The .pyx file, and further C++ sources if any.
    **kwargs
        Further arguments of ``setuptools.Extension``, e.g. ``libraries=``; lists are added to
        those that cynet's own operators are compiled with.

    Returns
    -------
    setuptools.Extension
        Already transposed into C++ by Cython, with the directives `CYTHON_DIRECTIVES`; a line
        ``# cython: boundscheck=True`` in the file overrides one.

    Raises
    ------
    CynetError
        When Cython or setuptools is not installed.

    Examples
    --------
    In a ``setup.py``::

        from setuptools import setup
        import cynet as mx

        setup(name="my_ops", ext_modules=[mx.operator.extension("my_ops", "my_ops.pyx")])

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "scale_op.pyx"
    >>> _ = path.write_text("def twice(double x):\n    return 2 * x\n")
    >>> made = mx.operator.extension("scale_op", str(path), libraries=["m"])
    >>> made.name, made.language, made.libraries
    ('scale_op', 'c++', ['m'])
    """
    purpose = "compiling an operator written in Cython"
    setuptools = optional("setuptools", purpose)
    cython = optional("Cython.Build", purpose)
    folders = [str(PACKAGE / "kernels"), np.get_include()]
    out = setuptools.Extension(
        name,
        [sources] if isinstance(sources, (str, os.PathLike)) else list(sources),
        language="c++",
        include_dirs=[*kwargs.pop("include_dirs", ()), *folders],
        define_macros=[
            *kwargs.pop("define_macros", ()),
            ("NPY_NO_DEPRECATED_API", "NPY_1_7_API_VERSION"),
        ],
        extra_compile_args=[*CFLAGS, *_threading_flags(), *kwargs.pop("extra_compile_args", ())],
        extra_link_args=[*LDFLAGS, *kwargs.pop("extra_link_args", ())],
        **kwargs,
    )
    return cython.cythonize(
        [out],
        compiler_directives=CYTHON_DIRECTIVES,
        include_path=[str(PACKAGE.parent), *map(str, out.include_dirs)],
        quiet=True,
    )[0]


def compile_pyx(path: FileName, name: str | None = None, force: bool = False) -> Any:
    """Compile a .pyx that cimports cynet, import it, and so register the operators in it.

    The compiled module goes to ``CYNET_HOME`` (``~/.cache/cynet``) and used again as long as
    the file, the ``.pxd``, ``.pxi`` and ``.h`` files beside it, cynet and Python stay the same, it
    is undamaged, and nobody but the user can write it.

    Parameters
    ----------
    path : str or path
        The file.
    name : str, optional
        Name of the module; default the file's, without its ending.
    force : bool
        Compile even if there is a compiled module.

    Returns
    -------
    module
        The imported module; a second call for the same contents returns the same one.

    Raises
    ------
    CynetError
        When Cython, setuptools or a C++ compiler is missing, or the file does not compile; the
        message has what the compiler said.
    MissingFileError
        When there is no such file; also a FileNotFoundError.
    ArgumentError
        When it is not a .pyx, or its name is not a module name.

    Examples
    --------
    The first call compiles for some seconds; ``docs/adding_an_operator.md`` has a file that defines
    an operator::

        mx.operator.compile_pyx("my_op.pyx")  # registers what the file registers
        mx.nd.my_op(mx.nd.ones((2, 3)))

    >>> mx.operator.compile_pyx("my_op.cpp")
    Traceback (most recent call last):
        ...
    cynet.errors.ArgumentError: compile_pyx: expected a .pyx file, got '...my_op.cpp'
    """
    path = Path(file_name(path, "compile_pyx: a file name")).resolve()
    if path.suffix != ".pyx":
        raise ArgumentError(f"compile_pyx: expected a .pyx file, got {shown(str(path))}")
    if not path.is_file():
        raise MissingFileError(
            errno.ENOENT, f"compile_pyx: there is no file {shown(str(path))}", str(path)
        )
    name = path.stem if name is None else name
    if not (isinstance(name, str) and name.isidentifier()):
        raise ArgumentError(f"compile_pyx: expected an identifier as the name, got {shown(name)}")
    beside = sorted(p for p in path.parent.iterdir() if p.suffix in (".pxd", ".pxi", ".h"))
    extension = sysconfig.get_config_var("EXT_SUFFIX")
    with naming("write", config.cache_folder() / "pyx"):
        library = cache.code_folder("pyx") / f"{name}-{_hash_inputs([path, *beside])}{extension}"
    loaded = sys.modules.get(name)
    if loaded is not None and getattr(loaded, "__file__", None) == str(library):
        return loaded
    if force or cache.read_cached(library) is None:
        _compile_library(path, name, library)
    spec = importlib.util.spec_from_file_location(name, library)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with config.suggested_settings(_OPENMP_SETTINGS):
            spec.loader.exec_module(module)
    except BaseException:
        if loaded is None:
            del sys.modules[name]
        else:
            sys.modules[name] = loaded
        raise
    return module


def _hash_inputs(files):
    """A hash of everything that the compiled module depends on."""
    import hashlib

    parts = [sys.version, sysconfig.get_platform(), np.__version__.split(".")[0], *CFLAGS, *LDFLAGS]
    digest = hashlib.sha256(repr(parts).encode())
    for path in [*files, *sorted(PACKAGE.rglob("*.pxd")), *sorted(PACKAGE.rglob("*.h"))]:
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def _compile_library(path, name, library):
    """Compile in a separate process and folder, then move the result into place at once."""
    import subprocess  # imported here, because only compiling needs it
    import tempfile

    for package in ("Cython", "setuptools"):
        optional(package, f"compile_pyx of {path.name}")
    with tempfile.TemporaryDirectory(prefix=".", dir=library.parent) as work:
        shutil.copy2(path, Path(work) / f"{name}.pyx")
        code = f"from {__name__} import build_in_cwd; build_in_cwd()"
        search = os.pathsep.join([str(PACKAGE.parent), *filter(None, sys.path)])
        with config.environment("PYTHONPATH", search):
            try:
                with _announce_slow_build(f"compiling {path.name} ..."):
                    done = subprocess.run(
                        [sys.executable, "-c", code, name, str(path.parent)],
                        cwd=work,
                        stdout=subprocess.PIPE,
                        stderr=subprocess.STDOUT,
                        text=True,
                        timeout=_COMPILE_SECONDS,
                    )
            except subprocess.TimeoutExpired:
                raise CynetError(
                    f"compile_pyx: {path} was not compiled within {_COMPILE_SECONDS} s"
                ) from None
        built = Path(work) / (name + sysconfig.get_config_var("EXT_SUFFIX"))
        if done.returncode or not built.exists():
            raise CynetError(_explain_failure(path, done.stdout))
        cache.write_cached(library, built.read_bytes())


@contextlib.contextmanager
def _announce_slow_build(text):
    """Print a line on stderr if the `with` block takes longer than two seconds."""
    timer = threading.Timer(_SILENT_SECONDS, print, (text,), {"file": sys.stderr, "flush": True})
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _explain_failure(path, output):
    missing = re.search(
        r"command '([^']+)' failed: No such file|unable to execute '([^']+)'|"
        r"No such file or directory: '([^']+)'\s*$|"
        r"(Microsoft Visual C\+\+ [\d.]+ or greater is required)",
        output,
    )
    if missing:
        tool = next(filter(None, missing.groups()))
        return (
            f"compile_pyx: {path} needs a C++ compiler, and {tool!r} was not found; install one "
            "(Debian, Ubuntu: apt-get install g++) or name it in the variable CXX"
        )
    # Cython's own traceback is of no use
    messages = output.split("Traceback (most recent call last)")[0].strip()
    return f"compile_pyx: {path} does not compile:\n{(messages or output)[-6000:].strip()}"


def build_in_cwd():
    """Build NAME.pyx of the current folder into a module: the process of `compile_pyx`."""
    name, beside = sys.argv[1:]
    made = extension(name, f"{name}.pyx", include_dirs=[beside])
    setuptools = optional("setuptools", "compile_pyx")
    setuptools.setup(
        name=name, ext_modules=[made], script_args=["-q", "build_ext", "--inplace"], packages=[]
    )
