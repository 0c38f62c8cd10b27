"""Builds cynet: one table of extensions, found by path. Metadata stands in pyproject.toml."""

import functools
import itertools
import os
import re
import subprocess
import sys
import time
from multiprocessing.pool import ThreadPool
from pathlib import Path

import numpy
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.modified import newer_group

ROOT, KERNELS = Path(__file__).parent, "cynet/kernels"  # KERNELS: the folder of include paths
TABLE = "cynet.kernels.table"  # the module of all that is written in C++ (*.cc)
DEBUG = os.environ.get("CYNET_BUILD_DEBUG") == "1"  # bounds checks on
_told = [0.0]  # when progress was told last
SANITIZER = os.environ.get("CYNET_BUILD_SANITIZER")  # thread, address (make tsan, make asan)
HEADER = re.compile(r'^ *#.*"(.+\.h)"', re.M)
DIRECTIVES = {"language_level": 3, "boundscheck": DEBUG, "wraparound": False, "cdivision": True}
DIRECTIVES |= {"initializedcheck": False, "embedsignature": True, "binding": True}
# Definitions of operators read shapes, tuples of any length; their loops are over pointers.
CHECKED = {"boundscheck": True, "wraparound": True}
# Modules that define operators or call libraries are compiled for size: the loops over elements
# are C++ in kernels. A module that has such loops begins with LOOPS.
SMALL = re.compile(r"cynet/(operator/\w+|cuda|graph|storage|image|ndarray/(legacy|sparse))/")
LOOPS = "# distutils: extra_compile_args = -O3\n"
if sys.platform == "win32":
    COMPILE, LINK = ["/O2", "/std:c++17", "/openmp"], []
elif sys.platform == "darwin":
    COMPILE, LINK = ["-O3", "-std=c++17", "-g0"], []
else:
    COMPILE = ["-O3", "-std=c++17", "-g0", "-fopenmp", "-fno-math-errno", "-fno-trapping-math"]
    COMPILE += ["-pthread", "-fvisibility=hidden", "-Wno-unused-function", "-Wno-unknown-pragmas"]
    COMPILE += ["-DCYNET_TEAM"]  # loops run on cynet's own threads (kernels/parallel.h)
    LINK = ["-Wl,--as-needed", "-fopenmp", "-pthread", "-Wl,--strip-all", "-Wl,-z,noseparate-code"]
if DEBUG or SANITIZER:  # tests read how many objects are alive (engine/live_objects.h)
    COMPILE += ["-DCYNET_DEBUG_COUNTERS"]
if SANITIZER:  # ThreadSanitizer cannot follow OpenMP's runtime
    left_out = ("-O3", "-g0", "-fopenmp") if SANITIZER == "thread" else ("-O3", "-g0")
    COMPILE = [*(f for f in COMPILE if f not in left_out), "-O1", "-g1", f"-fsanitize={SANITIZER}"]
    LINK = [flag for flag in LINK if flag not in (*left_out, "-Wl,--strip-all")]
    LINK += [f"-fsanitize={SANITIZER}"]


def jobs(variables=os.environ):
    """How many compilers run at once: CYNET_BUILD_JOBS, the -j of MAKEFLAGS, or one a core."""
    of_make = re.findall(r"(?:^| )-j ?(\d+)", variables.get("MAKEFLAGS", ""))
    given = variables.get("CYNET_BUILD_JOBS") or (of_make or [os.cpu_count() or 1])[-1]
    if not str(given).isdecimal() or int(given) < 1:
        raise SystemExit(f"CYNET_BUILD_JOBS must be an int of 1 or more, got {given!r}")
    return int(given)


def extensions():
    """Every .pyx of the packages is an extension; wheels leave out those of tests."""
    for source in sorted(ROOT.glob("cynet*/**/*.pyx")):
        relative = source.relative_to(ROOT)
        if "bdist_wheel" in sys.argv and source.stem.endswith("testing"):
            continue
        yield Extension(
            ".".join(relative.with_suffix("").parts),
            [str(relative)],
            language="c++",
            include_dirs=[str(ROOT / KERNELS), numpy.get_include()],
            define_macros=[("NPY_NO_DEPRECATED_API", "NPY_1_7_API_VERSION")],
            extra_compile_args=COMPILE,
            extra_link_args=LINK,
        )


def with_includes(headers):
    """The package's headers among these, and all that they include by a line with "x.h" in it."""
    found, left = set(), {("", header) for header in headers}
    while left:
        left = {os.path.relpath(os.path.join(d, h)) for f, h in left for d in (f, KERNELS)} - found
        left = {path for path in left if path.startswith("cynet") and os.path.isfile(path)}
        found |= left
        left = {(os.path.dirname(p), h) for p in left for h in HEADER.findall(Path(p).read_text())}
    return sorted(found)


def translated(modules):
    """The extensions as C++ by Cython, each with all the headers that it depends on."""
    from Cython.Build import cythonize

    tell(f"cynet: Cython translates what changed of {len(modules)} modules, then C++ compiles")
    options, done = {"include_path": ["."], "nthreads": jobs()}, []
    for operators, directives in {False: DIRECTIVES, True: DIRECTIVES | CHECKED}.items():
        some = [m for m in modules if m.name.startswith("cynet.operator.") == operators]
        done += cythonize(some, compiler_directives=directives, **options)
    for module in done:  # Cython has listed the headers that the .pyx and its cimports declare
        module.depends = with_includes(module.depends)
        if module.name == TABLE:
            module.depends += with_includes(map(str, sorted(Path(KERNELS).rglob("*.cc"))))
        source = module.name.replace(".", "/") + ".pyx"
        small = SMALL.match(source) and not Path(source).read_text().startswith(LOOPS)
        flags = [*exactly(module.depends), *["-Os"] * bool(small and "-O3" in COMPILE)]
        module.extra_compile_args = [*module.extra_compile_args, *flags]
    return done


def exactly(headers):
    """The flag of what includes these: random bytes are CUDA's, joined steps those of loops."""
    exact = any(header.endswith(("exact_math.h", "arithmetic_loops.h")) for header in headers)
    return ["-ffp-contract=off"] * (exact and sys.platform != "win32")


def tell(text, now=True):
    """Show progress on the terminal, because pip hides what a build prints. Without a terminal a
    line a minute, or at once if `now`, goes to the stderr of pip, or else is output."""
    try:
        with open("/dev/tty", "w") as terminal:
            terminal.write(f"\r\x1b[K{text}")
    except OSError:
        if now or time.monotonic() - _told[-1] >= 60:
            _told.append(time.monotonic())
            with outside() as file:
                print(text.rstrip(), file=file, flush=True)


def outside():
    """The stderr of the process that has begun this one to build a package, else our own output."""
    try:
        if b"_in_process.py" in Path("/proc/self/cmdline").read_bytes():
            return open(os.open(f"/proc/{os.getppid()}/fd/2", os.O_WRONLY | os.O_APPEND), "w")
    except OSError:
        pass
    return open(os.dup(1), "w")


class Build(build_ext):
    """Compiles the modules on all cores, and shows how many are done."""

    def initialize_options(self):
        super().initialize_options()
        self.done, self.objects = itertools.count(1), None
        self.parallel = jobs()  # options of setup() are forgotten by an editable build
        if "editable_wheel" in sys.argv:  # a folder that stays, to compile only what has changed
            self.build_lib, self.objects = "build/editable", "build/objects"

    def run(self):
        for built in ROOT.glob("cynet*/**/*.so"):  # remove modules whose source was deleted
            if not built.with_name(built.name.partition(".")[0] + ".pyx").exists():
                built.unlink()  # a stale .so is imported before a new module of its name
        super().run()
        if not SANITIZER:  # type stubs of the operators, from the registry of what was just built
            root = os.path.abspath("." if self.inplace else self.build_lib)
            other = os.environ.get("CYNET_BUILD_PYTHON")  # Python of the machine that is built for
            path = os.pathsep.join([root, *([] if other else sys.path)])  # an isolated build's, too
            command = [other or sys.executable, "scripts/make_stubs.py", "--into", root]
            subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": path})

    def build_extension(self, ext):
        parts, made = [*ext.sources, *ext.depends], self.get_ext_fullpath(ext.name)
        if ext.name == TABLE and (self.force or newer_group(parts, made, "newer")):
            sources = [path for path in ext.depends if path.endswith(".cc")]
            with ThreadPool(jobs()) as pool:
                ext.extra_objects = pool.map(functools.partial(self.compiled, ext), sources)
        super().build_extension(ext)
        done, every = next(self.done), len(self.extensions)
        text = f"cynet: {done} of {every} modules compiled ({ext.name})"
        tell(text + "\n" * (done == every), now=done == every)

    def compiled(self, ext, source):
        """The object file of a .cc file."""
        # in a folder of their own: a .pyx of the same name has an object, too
        options = {"output_dir": os.path.join(self.objects or self.build_temp, "table")}
        found = self.compiler.object_filenames([source], **options)[0]
        parts = with_includes([source])
        if self.force or newer_group(parts, found):
            flags = [*COMPILE, *exactly(parts)]
            options |= {"include_dirs": ext.include_dirs, "extra_postargs": flags}
            self.compiler.compile([source], **options)
        return found


MODULES = list(extensions())
# Metadata, which pip asks for first, and an sdist need no C++. An sdist is without it because it is
# 85 MB, and every build has Cython (pyproject.toml).
if {"build", "build_ext", "bdist_wheel", "editable_wheel", "develop", "install"} & {*sys.argv}:
    MODULES = translated(MODULES)
setup(ext_modules=MODULES, cmdclass={"build_ext": Build})
