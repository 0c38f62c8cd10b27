"""nvcc, called through pycuda: its path, a disk cache of its output, kernels by name."""

import functools
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

from ..base import cache, config
from ..base.compat import optional
from ..base.errors import KernelError
from . import families
from .libraries.symbols import kernel_symbols
from .sources import CUDA_SOURCES, KERNELS, explain_errors

# nvcc's options for every source. Floating point is nvcc's default: a * b + c may be fused.
# Non-constant functions of the CPU must not be called, which would fail at run time.
_NVCC_FLAGS = (
    "-std=c++17",
    "--expt-relaxed-constexpr",
    "--Werror=cross-execution-space-call",
    f"-I{KERNELS}",
    f"-I{CUDA_SOURCES}",
    "-lineinfo",
)


def find_nvcc():
    """The path of nvcc, or None.

    Looked for in PATH, under CUDA_HOME, in /usr/local/cuda and in pip's wheels
    (nvidia-cuda-nvcc).
    """
    folders = config.get("CUDA_HOME"), "/usr/local/cuda"
    candidates = [Path(p) / "bin" / "nvcc" for p in folders if p]
    candidates += [
        path for folder in sys.path for path in sorted(Path(folder).glob("nvidia/*/bin/nvcc"))
    ]
    found = next((str(path) for path in candidates if path.is_file()), None)
    return shutil.which("nvcc") or found


@functools.cache
def _require_nvcc():
    path = find_nvcc()
    if path is None:
        raise KernelError(
            "kernels on a GPU are compiled by nvcc, and none was found: install the CUDA toolkit "
            "(nvcc in PATH or under CUDA_HOME) or pip install nvidia-cuda-nvcc "
            "nvidia-cuda-runtime nvidia-cuda-cccl"
        )
    return path


@functools.cache
def _compiler_identity():
    """Return the version of nvcc and of our headers, on which objects depend."""
    version = subprocess.run(
        [_require_nvcc(), "--version"], capture_output=True, text=True, timeout=60, check=False
    )
    headers = hashlib.sha256()
    for path in sorted([*KERNELS.rglob("*.h"), *CUDA_SOURCES.glob("*.cuh")]):
        headers.update(path.read_bytes())
    return version.stdout + headers.hexdigest()


def translate_rtc_options(options):
    """Translate mx.rtc's options for nvcc: host compiler options follow -Xcompiler."""
    for option in options:
        if option.startswith("-f"):
            yield f"-Xcompiler={option}"
        elif option.startswith("-O"):
            continue  # nvcc optimises by default
        else:
            yield option


def append_exports(text, exports):
    """Append a table to a source, which makes the compiler instantiate each of `exports`."""
    if not exports:
        return text
    rows = "".join(f'#line 1 "kernel {name}"\n  (void*)&{name},\n' for name in exports)
    return f"{text}\nvoid* cynet_instances[] = {{\n{rows}}};\n"


class CompiledObject:
    """An object that nvcc compiled: ``image`` (bytes) and ``symbols``, kernel name to symbol."""

    def __init__(self, image):
        self.image = image
        self.symbols = kernel_symbols(image)


@functools.lru_cache(maxsize=256)
def compile_object(text, user_text, title, options, exports, architecture):
    """Compile CUDA C++ for a device, or read the cached object from disk.

    text (str): What nvcc reads; lines of the user's are numbered in it by ``#line``, under the name
        `title`.
    user_text (str): The user's source, to quote lines from.
    title (str): What messages call the source.
    options (tuple of str): Further options of nvcc.
    exports (tuple of str): Instances of templates that are launched by name.
    architecture (str): ``'sm_90'`` or the like.

    Returns CompiledObject. Raises KernelError when there is no nvcc, or when the source does not
    compile; the message quotes the line.
    """
    compiler = optional("pycuda.compiler", "mx.gpu()")
    flags = [*_NVCC_FLAGS, *options]
    whole = f'#line 1 "{title}"\n{append_exports(text, exports)}'
    parts = [whole, _compiler_identity(), architecture, *flags]
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:40]
    try:
        target = cache.code_folder("kernels") / f"{key}.{architecture}.cubin"
    except OSError as error:
        raise _cache_error(config.cache_folder() / "kernels", error) from None
    image = cache.read_cached(target)
    if image is not None:
        return CompiledObject(image)
    if title.removesuffix(".cu") in families.cu_sources():  # some take a minute
        print(
            f"cynet: nvcc compiles {title} for {architecture}, once for this machine ...",
            file=sys.stderr,
            flush=True,
        )
    try:
        image = compiler.compile(
            whole,
            nvcc=_require_nvcc(),
            options=flags,
            no_extern_c=True,
            arch=architecture,
            cache_dir=False,
            target="cubin",
        )
    except optional("pycuda.driver", "mx.gpu()").CompileError as error:
        raise KernelError(explain_errors(str(error.stderr or error), user_text, title)) from None
    compiled = CompiledObject(image)
    try:
        cache.write_cached(target, image)
    except OSError as error:
        raise _cache_error(target.parent, error) from None
    return compiled


def _cache_error(folder, error):
    return KernelError(
        f"compiled kernels cannot be stored in {folder}: {error}; set CYNET_HOME to a folder that "
        "can be written"
    )
