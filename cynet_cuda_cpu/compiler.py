"""The host compiler: finding it, calling it, and a disk cache of its objects."""

import atexit
import functools
import hashlib
import itertools
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from cynet.base import cache, config
from cynet.base.errors import KernelError
from cynet.cuda.sources import CUDA_SOURCES, KERNELS, explain_errors

from .source import included_headers

INCLUDE_FOLDER = Path(__file__).parent / "include"  # headers of the emulator
_INCLUDE_FLAGS = tuple(f"-I{folder}" for folder in (INCLUDE_FOLDER, KERNELS, CUDA_SOURCES))
# A frame of more than this many bytes does not fit a fibre's stack (cynet_fibre.h).
_MAX_FRAME_BYTES = 128 << 10  # half of a fibre's stack
_COMPUTED_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]+[A-Za-z_]", re.M)
# Directives that may include a file which `included_headers` does not find.
# Names that begin with CYNET_ are those of cynet's own headers, all of which then count.
_OPAQUE_DIRECTIVE = re.compile(  # may include an unseen file
    r"""^[ \t]*\#[ \t]*include\b(?![ \t]*["<][^">\\\n]+[">]|[ \t]+CYNET_)
    | ^[ \t]*\#[ \t]*(?:include_next|import|embed)\b | %: | \?\?=
    | ^[ \t]*\#[ \t]*[a-z_]*[ \t]*\\\r?\n
    | ^(?!\s*(?:\#|//)).*\#[ \t]*include\b""",
    re.M | re.X,
)
_PATH_VARIABLES = "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH"  # each adds header folders
_loaded_library_ids = itertools.count()  # names of objects that are not cached
_COMPILE_SECONDS = 300  # seconds; a kernel of normal size takes one or two


@functools.cache
def host_compiler(what="CUDA kernels on mx.cpu() need"):
    """The command of the C++ compiler, a tuple of str: the setting CXX, g++, clang++ or c++.
    `what` needs it, for the message.

    Raises KernelError when there is none.
    """
    wanted = config.get("CXX")
    if wanted:
        command = tuple(shlex.split(wanted))
        if shutil.which(command[0]):
            return command
        raise KernelError(f"the C++ compiler CXX={wanted!r} was not found; {what} one")
    for name in ("g++", "clang++", "c++"):
        if shutil.which(name):
            return (name,)
    raise KernelError(
        f"{what} a C++ compiler (g++ or clang++, or the variable CXX), and "
        "none was found; on Debian or Ubuntu: apt-get install g++"
    )


def _command_output(command):
    """The output of a command, or an empty string."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except OSError:
        return ""
    return done.stdout


@functools.cache
def _compiler_identity():
    """Return a text of what objects depend on beside source and options: compiler, headers."""
    command = host_compiler()
    version = _command_output([*command, "--version"])
    headers, seen = hashlib.sha256(), set()  # the user's headers are in the key of each source
    for path in sorted(INCLUDE_FOLDER.rglob("*.h")):
        text = path.read_text()
        for each in (text, *included_headers(text, [path.parent, INCLUDE_FOLDER, KERNELS], seen)):
            headers.update(each.encode())
    native = (
        _command_output([*command, "-Q", "--help=target", *_cpu_flags()]) or platform.processor()
    )
    parts = shlex.join(command), version, headers.hexdigest(), native, platform.machine()
    return "\n".join(parts)


def _cpu_flags():
    # an object runs where it was compiled: its cache key has the processor
    return ["-march=native"] if platform.machine() in ("x86_64", "AMD64") else ["-mcpu=native"]


@functools.cache
def _is_clang():
    return "clang" in _command_output([*host_compiler(), "--version"])


def _compiler_flags(checked):
    flags = [
        "-x",
        "c++",
        "-std=gnu++17",
        "-ftrack-macro-expansion=0",
        "-fPIC",
        "-fvisibility=hidden",
        "-fno-gnu-unique",
        "-fno-math-errno",
        "-fno-trapping-math",
        "-fno-strict-aliasing",
        "-fopenmp",
        "-pthread",
        f"-Werror=frame-larger-than={_MAX_FRAME_BYTES}",
        *_INCLUDE_FLAGS,
        "-include",
        "cynet_emulator.h",
    ]
    if _is_clang():
        flags = [f for f in flags if f not in ("-fno-gnu-unique", "-ftrack-macro-expansion=0")]
    if not checked:
        return [*flags, "-O3", "-g1", *_cpu_flags()]
    if _is_clang():
        raise KernelError("the checking mode of CUDA kernels on mx.cpu() needs g++, not clang++")
    return [
        *flags,
        "-O1",
        "-g",
        "-DCYNET_CHECKED=1",
        "-fno-omit-frame-pointer",
        "-fno-delete-null-pointer-checks",  # else a kernel that only reads null is optimised away
        "-fsanitize=kernel-address,bounds",
        "--param=asan-instrumentation-with-call-threshold=0",
        "--param=asan-stack=0",
        "--param=asan-globals=1",
    ]


def _cache_path(text, flags, headers):
    flags = [each for each in flags if each not in _INCLUDE_FLAGS]  # headers are hashed instead
    # a computed #include may name any header
    if any(map(_COMPUTED_INCLUDE.search, (text, *headers))):
        own = [*sorted(KERNELS.rglob("*.h")), *sorted(CUDA_SOURCES.rglob("*.cuh"))]
        headers = [*headers, *(each.read_text() for each in own)]
    key = hashlib.sha256(
        "\0".join([text, *headers, _compiler_identity(), *flags]).encode()
    ).hexdigest()[:40]
    try:
        return cache.code_folder("kernels") / f"{key}.so"
    except OSError as error:
        raise _cache_error(config.cache_folder() / "kernels", error) from None


@functools.cache
def _temporary_folder():
    """Return this process's temporary folder, for objects that are not cached."""
    folder = tempfile.mkdtemp(prefix="cynet-kernels-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def _includes_are_known(texts, options):
    """Return whether `texts` has all that a source includes: else the cache key misses some."""
    return (
        not any(map(_OPAQUE_DIRECTIVE.search, texts))
        and not any(each.startswith(("-include", "-imacros")) for each in options)
        and not any(map(config.variables().get, _PATH_VARIABLES))
    )


def _cache_error(folder, error):
    return KernelError(
        f"compiled kernels cannot be stored in {folder}: {error}; set CYNET_HOME to a folder that "
        "can be written"
    )


def compile_object(text, user_text, title, options, checked, headers=()):
    """Compile `text` to a shared object, which is cached on disk.

    text (str): What the compiler reads. Lines of the user's are numbered in it by ``#line``, under
        the file name `title`.
    user_text (str): The user's source, to quote lines from.
    title (str): What messages call the source.
    options (sequence of str): Further options of the compiler.
    checked (bool): Compile for the checking mode.
    headers (sequence of str): Texts of what it includes beside the emulator's own and the system's.

    Returns Path: the object. Raises KernelError when there is no compiler or the source does not
    compile; the message quotes the line.
    """
    flags = [*_compiler_flags(checked), *options]
    target = _cache_path(text, flags, headers)
    if not _includes_are_known((text, *headers), options):
        # each library has a new name: the system loads a name only once
        target = _temporary_folder() / f"{next(_loaded_library_ids)}.so"
    elif cache.read_cached(target) is not None:
        return target
    try:
        work = tempfile.mkdtemp(prefix="build-", dir=target.parent)
    except OSError as error:
        raise _cache_error(target.parent, error) from None
    try:
        source = Path(work) / "kernel.cu"
        source.write_text(text)
        _run_cc([*flags, "-c", source.name, "-o", "kernel.o"], work, user_text, title)
        # without the sanitizers' flags: their functions are in the object itself
        _run_cc(["-shared", "-fopenmp", "-pthread", "kernel.o", "-o", "kernel.so"], work, "", title)
        cache.write_cached(target, (Path(work) / "kernel.so").read_bytes())
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return target


def _run_cc(arguments, folder, user_text, title):  # runs the C++ compiler
    command = [*host_compiler(), *arguments]
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_COMPILE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise KernelError(f"{title}: compiling took more than {_COMPILE_SECONDS} seconds") from None
    if done.returncode:
        said = done.stderr.strip() or f"{shlex.join(host_compiler())} exits with {done.returncode}"
        raise KernelError(explain_errors(said, user_text, title))


# bytes before an address without a line, which are searched for one that has a line
_LINE_SEARCH_BYTES = 512  # searched around an address


def source_line_of_address(path, offset, title):
    """The user's line of a code address in a compiled object, and whether it is approximate.

    It is where the address has none, but what follows it in its function does: compilers move
    what a loop reads in front of the loop. (None, False) where nothing is known."""
    tool = shutil.which("addr2line") or shutil.which("llvm-addr2line")
    if tool is None or sys.platform == "win32":
        return None, False
    places = [hex(at) for at in range(offset - 1, offset + _LINE_SEARCH_BYTES)]
    said = _command_output([tool, "-a", "-f", "-i", "-e", str(path), *places])
    inside = None
    for address, frames in enumerate(re.split(r"^0x[0-9a-f]+\n", said, flags=re.M)[1:]):
        functions, lines = frames.splitlines()[::2], frames.splitlines()[1::2]
        inside = inside or functions[-1]
        if functions[-1] != inside:
            break
        for file, number in re.findall(r"^(.*):(\d+)", "\n".join(lines), re.M):
            if os.path.basename(file) == title:
                return int(number), address > 0
    return None, False
