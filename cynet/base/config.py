"""Declared settings: all environment variables that cynet reads, with type, default and meaning."""

import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from .errors import ArgumentError, shown

if TYPE_CHECKING:
    from pathlib import Path


class Setting(NamedTuple):  # an environment variable
    """One environment variable: its name, parser, default and meaning."""

    name: str
    parse: Callable[[str], Any]
    default: object
    doc: str


_MAX_MIB = (1 << 43) - 1  # maximum of settings in MiB: as bytes it fits into 64 bits


def _int_parser(maximum: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        digits = text.strip()
        if not digits.isdecimal() or len(digits) > 20 or int(digits) > maximum:
            raise ValueError(f"expected a whole number, 0 to {maximum}")
        return int(digits)

    return parse


_parse_mib, _parse_threads = _int_parser(_MAX_MIB), _int_parser(4096)


def _parse_count_or_auto(text: str) -> int | str:
    return text if text == "auto" else _parse_mib(text)


def _word_parser(*words: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in words:
            raise ValueError(f"expected one of {', '.join(words)}")
        return text

    return parse


def _parse_flag(text: str) -> bool:
    if text.lower() not in ("0", "1", "true", "false"):
        raise ValueError("expected 0, 1, true or false")
    return text.lower() in ("1", "true")


_SETTINGS = {
    s.name: s
    for s in (
        Setting(
            "CYNET_ENGINE_TYPE",
            _word_parser("ThreadedEngine", "NaiveEngine"),
            "ThreadedEngine",
            "ThreadedEngine, or NaiveEngine: every function runs at once on the thread that "
            "pushes it.",
        ),
        Setting(
            "CYNET_CPU_WORKERS",
            _parse_threads,
            0,
            "Threads that run native functions; 0 means half the number of cores that affinity and "
            "a container's quota leave, since each operator uses all of them.",
        ),
        Setting(
            "CYNET_NUM_THREADS",
            _parse_threads,
            0,
            "Threads of one CPU kernel, at most the cores that affinity and a container's quota "
            "leave; 0 means that many.",
        ),
        Setting(
            "CYNET_CPU_CAPABILITY",
            _word_parser("auto", "baseline", "avx2", "avx512", "amx", "neon"),
            "auto",
            "Vector instructions of the CPU kernels: baseline, avx2, avx512, amx (avx512, and AMX "
            "for products of matrices), on aarch64 neon, or auto: the best that the machine has.",
        ),
        Setting(
            "CYNET_KERNELS",
            _word_parser("auto", "portable"),
            "auto",
            "auto: oneDNN's convolutions and matrix products where its wheel is there; portable: "
            "never.",
        ),
        Setting(
            "CYNET_INT8",
            _word_parser("auto", "onednn", "portable"),
            "auto",
            "Layers of quantized networks on the CPU: auto: oneDNN's where the processor has VNNI "
            "or AMX; onednn: wherever its wheel is there (without VNNI sums may saturate); "
            "portable: never.",
        ),
        Setting(
            "CYNET_ONEDNN_THREADS",
            _word_parser("team", "openmp"),
            "team",
            "team: oneDNN's loops run on cynet's own threads, for which its imports of OpenMP are "
            "replaced in memory; openmp: on those of GNU OpenMP (OMP_NUM_THREADS says how many), "
            "and then not in processes that are forked after its first use.",
        ),
        Setting(
            "CYNET_CONV_ALGORITHM",
            str,
            "",
            "The algorithm of convolutions and deconvolutions on the CPU, wherever it supports "
            "them: gemm, direct, winograd, onednn, scatter, by_channel, implicit_gemm or im2col; "
            "empty: the one with the lowest estimate.",
        ),
        Setting(
            "CYNET_GEMM_ALGORITHM",
            str,
            "",
            "The algorithm of FullyConnected, dot, batch_dot and RNN's products on the CPU, "
            "wherever it supports them: panels, narrow, amx, blas or onednn; empty: the one with "
            "the lowest estimate.",
        ),
        Setting(
            "CYNET_LOG_ALGORITHMS",
            _parse_flag,
            False,
            "Log (level INFO, logger cynet) the algorithm of each imperative call with new "
            "shapes, of those operators that have several.",
        ),
        Setting(
            "CYNET_STORAGE_CACHE_MB",
            _parse_mib,
            0,
            "Most memory the CPU pool keeps for reuse, in MiB; 0 means a quarter of physical "
            "memory.",
        ),
        Setting(
            "CYNET_RUNS_BEFORE_PLAN",
            _parse_count_or_auto,
            "auto",
            "Runs of a graph that has a plan already, on inputs of other shapes: how many go "
            "operator by operator before a plan is made for these shapes, too; 0: none; auto: as "
            "many as take about as long as the plan, 2 to 64.",
        ),
        Setting(
            "CYNET_PLAN_CACHE_MB",
            _parse_mib,
            0,
            "Most memory that plans for input shapes met before take, of all hybridized Blocks and "
            "Modules together, in MiB; 0 means a quarter of physical memory.",
        ),
        Setting(
            "CYNET_BULK",
            _int_parser(4096),
            0,
            "How many elementwise calls a thread notes before it runs them together, where "
            "mx.engine.bulk and set_bulk_size say nothing; 0 or 1: each call runs by itself.",
        ),
        Setting(
            "CYNET_CALL_CACHE",
            _parse_mib,
            16384,
            "Most signatures (operator, shapes, dtypes, parameters) of imperative calls that are "
            "remembered, of all operators together; each takes some 2 to 4 KiB.",
        ),
        Setting(
            "CYNET_STORAGE_FALLBACK",
            _word_parser("warn", "error"),
            "warn",
            "What an operator without a form for sparse arrays does: 'warn' once and compute with "
            "dense copies, or refuse ('error').",
        ),
        Setting(
            "CYNET_INDEX_OUTSIDE",
            _word_parser("warn", "error", "clip"),
            "warn",
            "What Embedding, take, pick and batch_take do on the CPU with an index that names no "
            "place, where no mode is written out: 'warn' once of each layer and take the nearest, "
            "refuse it ('error'), or take the nearest without a word ('clip').",
        ),
        Setting(
            "CYNET_GRAPH_PASSES",
            str,
            "all",
            "Graph passes that run when an executor is bound: a comma list of names, all, none, "
            "-name.",
        ),
        Setting(
            "CYNET_GRAPH_VERIFY",
            _parse_flag,
            False,
            "1: each graph pass is followed by a check of what it has made (for who writes one).",
        ),
        Setting(
            "CYNET_BACKWARD_DO_MIRROR",
            _parse_flag,
            False,
            "1: backward computes values again instead of keeping them, for less memory (also "
            "MXNET_BACKWARD_DO_MIRROR).",
        ),
        Setting(
            "CYNET_DIST_BUCKET_KB",
            _parse_mib,
            4096,
            "Most KiB of small arrays that a distributed KVStore joins into one sum over the "
            "ranks.",
        ),
        Setting(
            "CYNET_DIST_STALL",
            _parse_mib,
            300,
            "Seconds that a rank waits for the others without any progress before it gives up with "
            "an error; longer than what any rank computes or reads between two sums.",
        ),
        Setting(
            "CYNET_LAUNCH_JOB",
            str,
            "",
            "Folder of the job of a process that python -m cynet.launch has started (set by it).",
        ),
        Setting(
            "CYNET_LAUNCH_ATTEMPT",
            _parse_mib,
            0,
            "How often python -m cynet.launch has begun this job before (set by it).",
        ),
        Setting(
            "CYNET_DATA_DIR",
            str,
            "",
            "Folder of data sets, e.g. the one that has mnist/train-images-idx3-ubyte.gz.",
        ),
        Setting(
            "CYNET_HOME",
            str,
            "",
            "Folder of downloads and compiled kernels, whose subfolders this user alone can write; "
            "empty means ~/.cache/cynet.",
        ),
        Setting(
            "CYNET_GLUON_REPO",
            str,
            "",
            "Address of a copy of MXNet's files of weights and data sets, https://... or "
            "file:///..., whose files gluon/models/NAME-HASH.zip are checked by their sums; empty "
            "means MXNet's own (also MXNET_GLUON_REPO).",
        ),
        Setting(
            "CXX",
            str,
            "",
            "C++ compiler of CUDA kernels on the CPU; empty means g++, clang++ or c++.",
        ),
        Setting(
            "CUDA_HOME",
            str,
            "",
            "Folder of the CUDA toolkit, whose bin has nvcc; empty means PATH, then "
            "/usr/local/cuda, then pip's wheels.",
        ),
        Setting(
            "CYNET_CUDA_GRAPHS",
            _parse_flag,
            True,
            "0: executors, hybridized Blocks and updates on a GPU launch their kernels one by one "
            "instead of recording them as CUDA graphs and replaying those.",
        ),
        Setting(
            "CYNET_CHECK_KERNELS",
            _parse_mib,
            0,
            "1: CUDA kernels on the CPU run in the checking mode (mx.rtc).",
        ),
        Setting(
            "CYNET_CUDA_LIBRARIES",
            str,
            "",
            "Folder in which cuBLAS and cuDNN are looked for first; empty: pip's packages, then "
            "the system.",
        ),
        Setting(
            "CYNET_CUDNN_AUTOTUNE",
            _word_parser("0", "1", "2"),
            "0",
            "How a convolution on a GPU whose cudnn_tune is not given chooses its algorithm: 0: by "
            "cuDNN's estimate, 1: by timing those within workspace, 2: by timing all (also "
            "MXNET_CUDNN_AUTOTUNE_DEFAULT).",
        ),
        Setting(
            "CYNET_CUDA_TF32",
            _word_parser("none", "convolution", "all"),
            "convolution",
            "Which float32 products on a GPU may be computed from inputs rounded to TF32 (10 bits "
            "of mantissa): none, convolution, or all, matrix products too.",
        ),
    )
}


_MXNET_NAMES = {  # setting -> its variable in MXNet
    "CYNET_BACKWARD_DO_MIRROR": "MXNET_BACKWARD_DO_MIRROR",
    "CYNET_CUDNN_AUTOTUNE": "MXNET_CUDNN_AUTOTUNE_DEFAULT",
    "CYNET_GLUON_REPO": "MXNET_GLUON_REPO",
}
# Variables of MXNet that are not read -> the setting of cynet with the same effect.
_SETTING_OF_MXNET_VARIABLE = {
    "MXNET_ENGINE_TYPE": "CYNET_ENGINE_TYPE",
    "MXNET_CPU_WORKER_NTHREADS": "CYNET_CPU_WORKERS",
    "MXNET_HOME": "CYNET_HOME",
    "MXNET_CUDA_ALLOW_TENSOR_CORE": "CYNET_CUDA_TF32",
    "MXNET_EXEC_ENABLE_INPLACE": "CYNET_GRAPH_PASSES",
    "MXNET_EXEC_BULK_EXEC_INFERENCE": "CYNET_BULK",
    "MXNET_EXEC_BULK_EXEC_TRAIN": "CYNET_BULK",
    "MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN": "CYNET_BULK",
    "MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN_FWD": "CYNET_BULK",
    "MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN_BWD": "CYNET_BULK",
}
# Prefixes of variables that only the build, benchmarks and tests read.
_PREFIXES = ("CYNET_TEST_", "CYNET_STRESS_", "CYNET_FUZZ_", "CYNET_BUILD_", "CYNET_RANDOM_")


def _warn_of_unknown_names(environ: Iterable[str]) -> None:
    """Warn of each environment variable CYNET_... or MXNET_... that cynet does not read."""
    known = {*_SETTINGS, *_MXNET_NAMES.values()}
    for name in sorted(environ):
        if name in known or name.startswith(_PREFIXES) or not name.startswith(("CYNET_", "MXNET_")):
            continue
        near = [_SETTING_OF_MXNET_VARIABLE[name]] if name in _SETTING_OF_MXNET_VARIABLE else None
        if near is None:
            import difflib  # imported late: rarely needed

            near = difflib.get_close_matches("CYNET_" + name[6:], _SETTINGS, 1, 0.75)
        hint = f"; {near[0]} is" if near else "; python -m cynet --settings lists those that are"
        warnings.warn(f"environment variable {name} is not read by cynet{hint}", stacklevel=6)


_warn_of_unknown_names(os.environ)  # unknown names are reported once, at import


def get(name: str) -> Any:
    """Return the value of a declared setting, from the environment or its default.

    Parameters
    ----------
    name : str
        Name of the setting, ``'CYNET_HOME'``, ...; `settings` lists all.

    Returns
    -------
    object
        Of the type of the setting.

    Raises
    ------
    ArgumentError
        If the environment holds a value that does not parse; the message names the variable.

    Examples
    --------
    >>> with mx.test_utils.environment("CYNET_PLAN_CACHE_MB", "64"):
    ...     mx.config.get("CYNET_PLAN_CACHE_MB")
    64
    >>> with mx.test_utils.environment("CYNET_PLAN_CACHE_MB", "much"):
    ...     mx.config.get("CYNET_PLAN_CACHE_MB")
    Traceback (most recent call last):
        ...
    cynet.errors.ArgumentError: environment variable CYNET_PLAN_CACHE_MB='much': expected a whole
        number, 0 to 8796093022207
    """
    setting = _SETTINGS[name]
    for each in (name, _MXNET_NAMES[name]) if name in _MXNET_NAMES else (name,):
        text = os.environ.get(each)
        if text:
            try:
                return setting.parse(text)
            except ValueError as wrong:
                raise ArgumentError(f"environment variable {each}={shown(text)}: {wrong}") from None
    return setting.default


def cache_folder() -> "Path":
    """Return the folder of downloads and compiled kernels: CYNET_HOME, or ~/.cache/cynet.

    Examples
    --------
    >>> with mx.test_utils.environment("CYNET_HOME", "kept"):
    ...     mx.config.cache_folder().name
    'kept'
    """
    from pathlib import Path  # imported here, as it takes 3 ms of an import of cynet

    return Path(get("CYNET_HOME") or Path.home() / ".cache" / "cynet")


def settings() -> tuple[Setting, ...]:
    """List all declared settings, in order.

    Examples
    --------
    >>> "CYNET_HOME" in [each.name for each in mx.config.settings()]
    True
    """
    return tuple(_SETTINGS.values())


def getenv(name: str) -> str | None:
    """Read any environment variable.

    Parameters
    ----------
    name : str
        Name of the variable.

    Returns
    -------
    str or None
        None if it is not set.

    Examples
    --------
    >>> with mx.test_utils.environment("CD_JOB", "1"):
    ...     mx.util.getenv("CD_JOB")
    '1'
    """
    return os.environ.get(name)


def variables() -> dict[str, str]:
    """Copy all environment variables of this process.

    Examples
    --------
    >>> with mx.test_utils.environment("CD_JOB", "1"):
    ...     mx.config.variables()["CD_JOB"]
    '1'
    """
    return dict(os.environ)


def setenv(name: str, value: str | None) -> None:
    """Set any environment variable of this process.

    Parameters
    ----------
    name : str
        Name of the variable.
    value : str or None
        Its value; None removes the variable.

    Examples
    --------
    >>> mx.util.setenv("DOCS_ONLY", "7")
    >>> mx.util.getenv("DOCS_ONLY")
    '7'
    >>> mx.util.setenv("DOCS_ONLY", None)
    """
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


def given() -> dict[str, str]:
    """List the environment variables of cynet, MXNet and OpenMP that are set.

    Returns
    -------
    dict of str to str
        Sorted by name.

    Examples
    --------
    >>> with mx.test_utils.environment("CYNET_HOME", "kept"):
    ...     mx.config.given()["CYNET_HOME"]
    'kept'
    """
    ours = ("CYNET_", "MXNET_", "OMP_")
    return {name: os.environ[name] for name in sorted(os.environ) if name.startswith(ours)}


@contextmanager
def environment(name: str, value: str | None) -> Iterator[None]:
    """Set an environment variable inside a block, then restore it.

    Parameters
    ----------
    name : str
        Name of the variable.
    value : str or None
        Its value; None removes the variable.

    Examples
    --------
    >>> with environment("CYNET_HOME", "elsewhere"):
    ...     get("CYNET_HOME")
    'elsewhere'
    """
    before = getenv(name)
    setenv(name, value)
    try:
        yield
    finally:
        setenv(name, before)


@contextmanager
def suggested_settings(values: dict[str, str]) -> Iterator[None]:
    """Set environment variables inside of a block, unless the user has set one of them.

    Parameters
    ----------
    values : dict of str to str
        Values by name.

    Examples
    --------
    >>> with suggested_settings({"CYNET_HOME": "elsewhere"}):
    ...     get("CYNET_HOME")
    'elsewhere'
    """
    with ExitStack() as stack:
        if not values.keys() & os.environ.keys():
            for name, value in values.items():
                stack.enter_context(environment(name, value))
        yield
