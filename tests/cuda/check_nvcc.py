"""Compiles every kernel of the project with nvcc, for each architecture (``make check-cuda``).

Run as ``python -m tests.cuda.check_nvcc`` from the folder above tests/.

Beside ``cynet/cuda/kernels/*.cu``, with all instances of their templates, these are the sources of
the emulator's tests and of the example, so that the emulator accepts nothing that nvcc refuses
there. The PTX of sources whose bytes are to be the CPU's has IEEE operations only, each rounded by
itself (ptx.py). No GPU and no driver is needed. Where there is no nvcc, it says so and ends with 0.
"""

import argparse
import concurrent.futures
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import cynet as mx
from cynet.cuda import families
from cynet.cuda.compiler import append_exports, find_nvcc
from cynet.rtc import rtc
from tests.cuda.ptx import inexact
from tests.cynet_cuda_cpu import test_functions, test_module

ROOT = Path(__file__).parent.parent.parent
ARCHITECTURES = ("sm_80", "sm_90", "sm_100")


def example_sources():
    """The kernels of examples/cuda_kernel as mx.rtc would give them to the compiler."""
    sys.path.insert(0, str(ROOT / "examples" / "cuda_kernel"))
    import layers

    reorganise = layers.Reorganise(2)
    four, two = mx.nd.zeros((1, 1, 2, 2)), mx.nd.zeros((1, 4, 1, 1))
    pairs = [("x", four.dtype_flag, 4), ("y", two.dtype_flag, 4)]
    body = reorganise.body("y[to] = x[from];")
    return {"bias_swish": layers.BIAS_SWISH, "reorganise": rtc._rtc_source("r", "r", pairs, body)}


def command(nvcc, architecture, options=()):
    """nvcc with its options, as a list; what to make of which file is to be added."""
    return [
        nvcc,
        "-std=c++17",
        "--expt-relaxed-constexpr",
        "--Werror",
        "cross-execution-space-call",
        f"-I{families.TABLE_FOLDER}",
        f"-I{families.KERNEL_FOLDER}",
        f"-arch={architecture}",
        *options,
    ]


def compile_one(nvcc, architecture, name, text, folder):
    """What nvcc says against a source, or None."""
    path = Path(folder) / f"{name}-{architecture}.cu"
    path.write_text(text)
    whole = command(nvcc, architecture, families.nvcc_options(name))
    whole += ["-cubin", str(path), "-o", str(path.with_suffix(".cubin"))]
    done = subprocess.run(whole, capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).strip() if done.returncode else None


def inexact_in(nvcc, name, text, folder):
    """Instructions in the PTX of a source whose result is not one IEEE operation's (ptx.py)."""
    path = Path(folder) / f"{name}.cu"
    path.write_text(text)
    target = path.with_suffix(".ptx")
    whole = command(nvcc, ARCHITECTURES[0], families.nvcc_options(name))
    subprocess.run([*whole, "-ptx", str(path), "-o", str(target)], check=True)
    return inexact(target.read_text())


def main():
    """Compile all; the exit status is the number of sources that failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nvcc", default=find_nvcc())
    parser.add_argument("--arch", action="append", choices=ARCHITECTURES)
    args = parser.parse_args()
    if args.nvcc is None:
        print(
            "check-cuda: there is no nvcc, so nothing was compiled; it comes with the CUDA toolkit "
            "or with pip install nvidia-cuda-nvcc nvidia-cuda-runtime nvidia-cuda-cccl"
        )
        return 0
    sources = {
        name: append_exports(families.source_text(name), families.kernel_instances(name))
        for name in families.cu_sources()
    }
    sources["test_language"] = append_exports(test_module.LANGUAGE, ["scale<float, 3>"])
    sources["test_atomics"] = append_exports(test_functions.ATOMICS, test_functions.ATOMIC_EXPORTS)
    sources["test_warps"] = append_exports(test_module.WARPS, [])
    sources["test_real"] = append_exports(test_functions.table(test_functions.REAL, "float"), [])
    sources["test_whole"] = append_exports(test_functions.table(test_functions.WHOLE, "int"), [])
    sources.update({f"example_{name}": text for name, text in example_sources().items()})
    failed = 0
    jobs = [(a, name) for a in args.arch or ARCHITECTURES for name in sources]
    with (
        tempfile.TemporaryDirectory() as folder,
        concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool,
    ):
        said = pool.map(
            lambda job: compile_one(args.nvcc, job[0], job[1], sources[job[1]], folder), jobs
        )
        for (architecture, name), problem in zip(jobs, said):
            print(f"{architecture} {name}: {'failed' if problem else 'compiled'}", flush=True)
            if problem:
                failed += 1
                print(problem)
        for name in filter(families.must_match_cpu, families.cu_sources()):
            found = inexact_in(args.nvcc, name, sources[name], folder)
            failed += bool(found)
            print(f"PTX of {name}: {f'not exact: {found}' if found else 'each operation rounds'}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
