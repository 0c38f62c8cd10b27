"""Builds cynet: one table of extensions, found by path. Metadata stands in pyproject.toml."""

import os
import re
import sys
from pathlib import Path

import numpy
from Cython.Build import cythonize
from setuptools import Extension, setup

ROOT = Path(__file__).parent
DEBUG = os.environ.get("CYNET_BUILD_DEBUG") == "1"  # bounds checks on
SANITIZER = os.environ.get("CYNET_BUILD_SANITIZER")  # thread, address (make tsan, make asan)

DIRECTIVES = {
    "language_level": 3,
    "boundscheck": DEBUG,
    "wraparound": False,
    "cdivision": True,
    "initializedcheck": False,
    "embedsignature": True,
    "binding": True,
}

if sys.platform == "win32":
    COMPILE, LINK = ["/O2", "/std:c++17", "/openmp"], []
elif sys.platform == "darwin":
    COMPILE, LINK = ["-O3", "-std=c++17", "-g0"], []
else:
    COMPILE = ["-O3", "-std=c++17", "-g0", "-fopenmp", "-fno-math-errno", "-fno-trapping-math"]
    COMPILE += ["-pthread", "-fvisibility=hidden", "-Wno-unused-function", "-Wno-unknown-pragmas"]
    COMPILE += ["-DCYNET_TEAM"]  # loops run on cynet's own threads (kernels/parallel.h)
    LINK = ["-Wl,--as-needed", "-fopenmp", "-pthread", "-Wl,--strip-all"]
if SANITIZER:  # OpenMP's runtime has no annotations that ThreadSanitizer could follow
    left_out = ("-O3", "-g0", "-fopenmp") if SANITIZER == "thread" else ("-O3", "-g0")
    COMPILE = [flag for flag in COMPILE if flag not in left_out]
    COMPILE += ["-O1", "-g1", f"-fsanitize={SANITIZER}"]
    LINK = [flag for flag in LINK if flag not in (*left_out, "-Wl,--strip-all")]
    LINK += [f"-fsanitize={SANITIZER}"]


def extensions():
    """Every .pyx under cynet/ is an extension of the same dotted name."""
    for source in sorted((ROOT / "cynet").rglob("*.pyx")):
        relative = source.relative_to(ROOT)
        yield Extension(
            ".".join(relative.with_suffix("").parts),
            [str(relative)],
            language="c++",
            include_dirs=[str(ROOT / "cynet" / "kernels"), numpy.get_include()],
            define_macros=[("NPY_NO_DEPRECATED_API", "NPY_1_7_API_VERSION")],
            extra_compile_args=COMPILE,
            extra_link_args=LINK,
        )


def with_includes(headers):
    """Those of the package's headers and all that they include by a line with "x.h" in it."""
    found, left = set(), {os.path.relpath(h) for h in headers}
    while left := {h for h in left if h.startswith("cynet") and os.path.exists(h)} - found:
        found |= left
        texts = [(os.path.dirname(h), Path(h).read_text()) for h in left]
        left = {f"{d}/{n}" for d, text in texts for n in re.findall(r'^ *#.*"(.+\.h)"', text, re.M)}
    return sorted(found)


CORES = os.cpu_count() or 1
OPTIONS = {"parallel": CORES}
if "editable_wheel" in sys.argv:  # a folder that stays, so that only what has changed is compiled
    OPTIONS["build_lib"] = "build/editable"
MODULES = cythonize(
    list(extensions()), compiler_directives=DIRECTIVES, include_path=["."], nthreads=CORES
)
for module in MODULES:  # Cython has listed the headers that the .pyx and what it cimports declare
    module.depends = with_includes(module.depends)
    if any(h.endswith("exact_math.h") for h in module.depends) and sys.platform != "win32":
        module.extra_compile_args = [*COMPILE, "-ffp-contract=off"]  # random bytes are CUDA's
setup(ext_modules=MODULES, options={"build_ext": OPTIONS})
