"""Checks what cynet declares of cuBLAS and cuDNN against the libraries and headers of their wheels.

Every function must be in the library; where the wheels' headers and a C++ compiler are there, every
prototype must have the arguments that the headers say, every number of an enumeration its value.
Then descriptors are made with the real library, which takes no GPU. Run by test_libraries.py, or::

    python tests/cuda/check_libraries.py
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCES = Path(__file__).parent.parent.parent / "cynet" / "cuda" / "libraries"
# name in the headers -> (file, name there)
NUMBERS = {
    "CUBLAS_GEMM_DEFAULT": ("cublas.pyx", "DEFAULT_ALGORITHM"),
    "CUBLAS_COMPUTE_32F": ("cublas.pyx", "COMPUTE_32F"),
    "CUBLAS_COMPUTE_64F": ("cublas.pyx", "COMPUTE_64F"),
    "CUBLAS_COMPUTE_32F_FAST_TF32": ("cublas.pyx", "COMPUTE_32F_FAST_TF32"),
    "CUDNN_TENSOR_NCHW": ("cudnn.pyx", "NCHW"),
    "CUDNN_CROSS_CORRELATION": ("cudnn_layers.pyx", "CROSS_CORRELATION"),
    "CUDNN_DEFAULT_MATH": ("cudnn_layers.pyx", "DEFAULT_MATH"),
    "CUDNN_TENSOR_OP_MATH": ("cudnn_layers.pyx", "TENSOR_OP_MATH"),
    "CUDNN_FMA_MATH": ("cudnn_layers.pyx", "FMA_MATH"),
    "CUDNN_PROPAGATE_NAN": ("cudnn_maps.pyx", "PROPAGATE_NAN"),
    "CUDNN_BATCHNORM_SPATIAL": ("cudnn_layers.pyx", "BATCHNORM_SPATIAL"),
    "CUDNN_SOFTMAX_ACCURATE": ("cudnn_maps.pyx", "SOFTMAX_ACCURATE"),
    "CUDNN_SOFTMAX_LOG": ("cudnn_maps.pyx", "SOFTMAX_LOG"),
    "CUDNN_SOFTMAX_MODE_INSTANCE": ("cudnn_maps.pyx", "MODE_INSTANCE"),
    "CUDNN_SOFTMAX_MODE_CHANNEL": ("cudnn_maps.pyx", "MODE_CHANNEL"),
    "CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING": ("cudnn_maps.pyx", '"avg"'),
    "CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING": ("cudnn_maps.pyx", '"avg_exclude"'),
    "CUDNN_RNN_ALGO_STANDARD": ("cudnn_rnn.pyx", "ALGO_STANDARD"),
    "CUDNN_RNN_DOUBLE_BIAS": ("cudnn_rnn.pyx", "DOUBLE_BIAS"),
    "CUDNN_LINEAR_INPUT": ("cudnn_rnn.pyx", "LINEAR_INPUT"),
    "CUDNN_RNN_PADDED_IO_DISABLED": ("cudnn_rnn.pyx", "NO_PADDED_IO"),
    "CUDNN_RNN_PADDED_IO_ENABLED": ("cudnn_rnn.pyx", "PADDED_IO"),
    "CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED": ("cudnn_rnn.pyx", "SEQ_MAJOR_UNPACKED"),
    "CUDNN_RNN_CLIP_MINMAX": ("cudnn_rnn.pyx", "CLIP_MINMAX"),
    "CUDNN_NOT_PROPAGATE_NAN": ("cudnn_rnn.pyx", "NOT_PROPAGATE_NAN"),
    "CUDNN_WGRAD_MODE_ADD": ("cudnn_rnn.pyx", "WGRAD_ADD"),
    "CUDNN_RNN_RELU": ("cudnn_rnn.pyx", '"rnn_relu"'),
    "CUDNN_RNN_TANH": ("cudnn_rnn.pyx", '"rnn_tanh"'),
    "CUDNN_LSTM": ("cudnn_rnn.pyx", '"lstm"'),
    "CUDNN_GRU": ("cudnn_rnn.pyx", '"gru"'),
    "CUDNN_BIDIRECTIONAL": ("cudnn_rnn.pyx", "BIDIRECTIONAL"),
    "CUDNN_FWD_MODE_TRAINING": ("cudnn_rnn.pyx", "TRAINING"),
}
TYPES = {  # both numberings of types are cynet's DType
    "CUDA_R_32F": 0,
    "CUDA_R_64F": 1,
    "CUDA_R_16F": 2,
    "CUDNN_DATA_FLOAT": 0,
    "CUDNN_DATA_DOUBLE": 1,
    "CUDNN_DATA_HALF": 2,
}
PROGRAM = """
#include <cublas_v2.h>
#include <cudnn.h>
#include <cstdio>
#include <type_traits>
template <class T> char kind() {
  if (std::is_void<T>::value) return 'v';
  if (std::is_pointer<T>::value) return 'p';
  if (std::is_floating_point<T>::value) return sizeof(T) == 8 ? 'd' : 'f';
  return sizeof(T) == 8 ? 'l' : 'i';
}
template <class R, class... A> void show(const char* name, R (*)(A...)) {
  const char kinds[] = {kind<R>(), kind<A>()..., 0};
  printf("%s %s\\n", name, kinds);
}
int main() {
%s
}
"""


def declared(text, functions):
    """Function name -> letters of its result and arguments, as a source declares them."""
    types = {}
    pattern = r"ctypedef ([\w ]+?\*?) \(\*(\w+)\)\(([^()]*)\) noexcept"
    for result, name, arguments in re.findall(pattern, re.sub(r"\s+", " ", text)):
        types[name] = "".join(_letter(t) for t in (result, *arguments.split(",")))
    fields = re.search(r"cdef struct Library:\n((?:    .+\n)+)", text)[1]
    order = []
    for kind, _, count in re.findall(r"^    (\w+) (\w+)(?:\[(\d)\])?", fields, re.M):
        order += [types[kind]] * int(count or 1)
    assert len(order) == len(functions), (len(order), len(functions))
    return dict(zip(functions, order))


def _letter(kind):
    kind = kind.strip()
    if "*" in kind:
        return "p"
    return {"void": "v", "double": "d", "float": "f", "int": "i"}.get(kind, "l")


def number(path, name):
    """The number that stands behind a name in a source."""
    text = (SOURCES / path).read_text()
    return int(re.search(rf"(?:^|[ {{]){re.escape(name)}(?: =|:) (-?\d+)", text, re.M)[1])


def check_headers(functions):
    """Compile a program that prints what the headers say; returns what differs, None where headers
    are missing."""
    places = [p for f in sys.path for p in Path(f).glob("nvidia/*/include")]
    places += [p / "cccl" for p in places]
    for header in ("cublas_v2.h", "cudnn.h", "crt/host_defines.h", "nv/target"):
        if not any((p / header).exists() for p in places):
            print(f"prototypes are not checked: there is no header {header}")
            return None
    lines = [f'show("{n}", &{n});' for n in functions]
    wanted = {n: number(*where) for n, where in NUMBERS.items()} | TYPES
    lines += [f'printf("{n} %d\\n", (int){n});' for n in wanted]
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder) / "check.cpp", Path(folder) / "check"
        source.write_text(PROGRAM.replace("%s\n}", "\n".join(lines) + "\n}"))
        command = [
            "g++",
            "-std=c++17",
            "-w",
            *(f"-I{p}" for p in places),
            str(source),
            "-o",
            str(program),
            "-Wl,--unresolved-symbols=ignore-all",
        ]
        subprocess.run(command, check=True)
        said = dict(
            line.split() for line in subprocess.check_output([program], text=True).splitlines()
        )
    expected = functions | {n: str(v) for n, v in wanted.items()}
    return [f"{n}: declared {v}, headers {said[n]}" for n, v in expected.items() if said[n] != v]


def check_descriptors():
    """Make the layers' descriptors with the real library."""
    from cynet.cuda.libraries.cudnn_layers import BatchNorm, Convolution
    from cynet.cuda.libraries.cudnn_maps import Pooling, Softmax
    from cynet.cuda.libraries.cudnn_rnn import Recurrent

    from cynet.base.errors import ArgumentError

    for dtype in ("float32", "float64", "float16", "bfloat16"):
        for data, weight, out, stride, dilate, pad, groups in (
            ((2, 4, 9), (6, 2, 3), (2, 6, 4), (2,), (1,), (0,), 2),
            ((2, 3, 8, 9), (5, 3, 3, 2), (2, 5, 4, 8), (2, 1), (1, 1), (1, 0), 1),
            ((1, 2, 6, 7, 8), (3, 2, 2, 2, 2), (1, 3, 4, 5, 6), (1, 1, 1), (2, 2, 2), (0, 0, 0), 1),
        ):
            Convolution(dtype, data, weight, out, stride, dilate, pad, groups, 1 << 20, False)
        for kind in ("avg", "avg_exclude", "sum"):
            Pooling(dtype, kind, (2, 3, 8, 8), (2, 3, 4, 4), (3, 3), (2, 2), (1, 1))
            Pooling(dtype, kind, (2, 3, 9, 8, 7), (2, 3, 4, 4, 3), (3, 2, 3), (2, 2, 2), (0, 0, 0))
        for sizes in ((6, 10, 1), (4, 3, 35)):
            Softmax(dtype, sizes, True)
        for mode, gates in (("rnn_relu", 1), ("rnn_tanh", 1), ("lstm", 4), ("gru", 3)):
            clip = (-1.0, 2.0, True) if mode == "lstm" else None
            for directions, padded in ((1, False), (2, True)):
                Recurrent(dtype, mode, 5, 3, 6, 4, 2, directions, [], gates, clip, padded)
    BatchNorm("float32", 2, 3, 20, 1e-3)
    BatchNorm("float16", 2, 3, 20, 1e-3)
    try:
        Convolution(
            "float32", (1, 1, 5, 5), (1, 1, 3, 3), (1, 1, 4, 3), (1, 1), (1, 1), (0, 0), 1, 0, False
        )
    except ArgumentError:
        return
    raise AssertionError("cuDNN was not asked for the size of a convolution's output")


def main():
    from cynet.cuda.libraries import cublas, cudnn

    functions = declared((SOURCES / "cublas.pyx").read_text(), cublas.FUNCTION_NAMES)
    functions |= declared((SOURCES / "cudnn.pxd").read_text(), cudnn.FUNCTION_NAMES)
    cublas.open_cublas()  # a function that is missing is an error
    cudnn.open_cudnn()
    print(f"{len(functions)} functions are in the libraries")
    wrong = check_headers(functions)
    if wrong is not None:
        print("\n".join(wrong) or f"prototypes and {len(NUMBERS) + len(TYPES)} numbers agree")
    check_descriptors()
    print("descriptors made")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
