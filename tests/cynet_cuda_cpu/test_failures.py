"""What goes wrong in a kernel on the host: messages with kernel and line, and nothing else."""

import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from cynet.base.errors import ArgumentError, ArgumentTypeError, KernelError
from cynet_cuda_cpu import EmulatedModule, compiler
from cynet_cuda_cpu.source import CudaSource

INT = ctypes.c_int

WRONG = """
__global__ void past(const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i];
}
__global__ void before(float *x) { x[(int)threadIdx.x - 1] = 1; }
__global__ void tiles(float *x, int k) {
  __shared__ float tile[16];
  __shared__ float other[16];
  float *p = tile;
  other[threadIdx.x] = 1;
  p[threadIdx.x + k] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = p[threadIdx.x] + other[0];
}
__global__ void known(float *x, int k) {
  __shared__ float tile[8][4];
  tile[0][k] = x[0];
  x[0] = tile[0][0];
}
__global__ void local(float *x, int k) {
  float mine[4];
  for (int i = 0; i < k; ++i)
    mine[i] = x[i];
  x[0] = mine[2];
}
__global__ void dynamic(int *x) {
  extern __shared__ int words[];
  atomicAdd(&words[threadIdx.x], x[threadIdx.x]);
}
__global__ void places(float *x) {
  if (threadIdx.x < 3)
    __syncthreads();
  else
    __syncthreads();
}
__device__ void meet() {
  __syncthreads();
}
__global__ void gone(float *x) {
  if (threadIdx.x > 3) return;
  meet();
}
__global__ void forever(float *x) {
  if (threadIdx.x == 0) __syncwarp(3u);
  else __syncthreads();
}
__global__ void mask(float *x) {
  x[threadIdx.x] = __shfl_sync(1u, x[threadIdx.x], 0);
}
__global__ void lanes(float *x) {
  if (threadIdx.x != 2)
    x[threadIdx.x] = __shfl_down_sync(0xfu, x[threadIdx.x], 1);
}
__global__ void asserts(float *x, int n) {
  assert(threadIdx.x < n);
  x[threadIdx.x] = 3;
}
__global__ void traps(float *x) {
  if (blockIdx.x == 2) __trap();
}
__global__ void __launch_bounds__(64) bounded(float *x) { x[0] = 1; }
__global__ void divides(int *x, int n) {
  x[threadIdx.x] = n / x[threadIdx.x];
}
__global__ void remains(int *x, int n) {
  __syncthreads();
  x[threadIdx.x] = n % x[threadIdx.x];
}
__global__ void null(int *x, int n) {
  int *p = n ? x : nullptr;
  x[threadIdx.x] = p[threadIdx.x];
}
__global__ void only_null(int *x) {
  int *p = nullptr;
  x[0] = *p;
}
__global__ void nowhere(int *x, unsigned long long place) {
  x[threadIdx.x] = *(int *)place;
}
__device__ __noinline__ int deeper(volatile int *x, int n) {
  volatile char filler[1024];
  filler[n & 1023] = 1;
  if (*x < 0) return filler[0];
  return deeper(x, n + 1) + filler[0];
}
__global__ void recursion(int *x) {
  x[0] = deeper(x, 0);
}
__global__ void recursion_on_fibres(int *x) {
  __syncthreads();
  x[0] = deeper(x, 0);
}
"""


@pytest.fixture(scope="module")
def fast():
    return EmulatedModule(WRONG, "wrong.cu")


@pytest.fixture(scope="module")
def checked():
    return EmulatedModule(WRONG, "wrong.cu", checked=True)


def message(module, name, arguments, grid=1, block=1, shared=0, threads=2):
    with pytest.raises(KernelError, match="kernel") as caught:
        module.get(name).launch(arguments, grid, block, shared, threads)
    return str(caught.value)


def line(text):
    """The number of the one line of WRONG that has `text`."""
    found = [i for i, each in enumerate(WRONG.split("\n"), 1) if text in each]
    assert len(found) == 1
    return found[0]


def test_past_the_end_of_an_argument(checked):
    x, y = np.ones(40, "f"), np.zeros(30, "f")
    text = message(checked, "past", [x, y], 4, 10)
    assert f"kernel past, line {line('y[i] = x[i]')}, block (3, 0, 0), thread (0, 0, 0)" in text
    assert "writes 4 bytes past the end of argument 2, which has 120 bytes" in text
    assert "y[i] = x[i];" in text
    assert not y.any()  # what a failed kernel wrote is not kept
    x = np.ones(35, "f")
    text = message(checked, "past", [x, np.zeros(40, "f")], 4, 10)
    assert "reads 4 bytes past the end of argument 1" in text and "thread (5, 0, 0)" in text
    checked.get("past").launch([np.ones(40, "f"), y := np.zeros(40, "f")], 4, 10)
    assert y.all()


def test_before_the_start_of_an_argument(checked):
    text = message(checked, "before", [np.zeros(4, "f")])
    assert "writes 4 bytes 4 bytes before the start of argument 1" in text


def test_arguments_that_share_memory(checked):
    whole = np.arange(12, dtype="f")
    checked.get("past").launch([whole[:8], whole[4:]], 1, 4)
    assert whole.tolist() == [0, 1, 2, 3, 0, 1, 2, 3, 8, 9, 10, 11]
    # thread 2 of `past` would read what is in memory, but not in the argument: x[2] is y[0]
    checked.get("past").launch([whole[:2], whole[2:]], 1, 2)


def test_static_shared_arrays(checked):
    text = message(checked, "tiles", [np.zeros(16, "f"), INT(1)], 1, 16)
    assert f"line {line('p[threadIdx.x + k]')}" in text and "thread (15, 0, 0)" in text
    assert "past the end of tile, which has 64 bytes" in text
    checked.get("tiles").launch([np.zeros(16, "f"), INT(0)], 1, 16)


def test_indices_of_arrays_of_known_size(checked):
    for k in (4, -1):
        text = message(checked, "known", [np.zeros(1, "f"), INT(k)])
        assert f"line {line('tile[0][k]')}" in text
        assert f"index {k} is outside of the array, 'float [4]'" in text
    text = message(checked, "local", [np.zeros(8, "f"), INT(5)])
    assert f"line {line('mine[i] = x[i]')}" in text and "index 4 is outside" in text


def test_dynamic_shared_memory(checked):
    x = np.zeros(8, np.int32)
    checked.get("dynamic").launch([x], 1, 8, 32)
    text = message(checked, "dynamic", [x], 1, 8, 28)
    assert "past the end of dynamic shared memory, which has 28 bytes" in text
    assert "thread (7, 0, 0)" in text and f"line {line('atomicAdd(&words')}" in text


def test_barrier_divergence(checked, fast):
    x = np.zeros(8, "f")
    text = message(checked, "places", [x], 1, 8)
    assert "barrier divergence" in text and "others wait at line" in text
    text = message(checked, "gone", [x], 1, 8)
    assert "4 of the block's 8 threads have left" in text
    fast.get("places").launch([x], 1, 8)  # as on a device: who is there meets
    fast.get("gone").launch([x], 1, 8)


@pytest.mark.parametrize("mode", ["fast", "checked"])
def test_threads_that_wait_for_ever(mode, request):
    module = request.getfixturevalue(mode)
    text = message(module, "forever", [np.zeros(8, "f")], 3, 8)
    assert f"line {line('__syncwarp(3u)')}" in text and "deadlock" in text
    assert "0x00000003" in text


@pytest.mark.parametrize("mode", ["fast", "checked"])
def test_masks_of_warp_functions(mode, request):
    module = request.getfixturevalue(mode)
    text = message(module, "mask", [np.zeros(2, "f")], 1, 2)
    assert "lane 1 calls it with the mask 0x00000001" in text
    if mode == "checked":
        text = message(module, "lanes", [np.zeros(4, "f")], 1, 4)
        assert "lane 2 is in the mask 0x0000000f and has left the kernel" in text
    else:
        module.get("lanes").launch([np.zeros(4, "f")], 1, 4)


@pytest.mark.parametrize("mode", ["fast", "checked"])
def test_assert_and_trap(mode, request):
    module = request.getfixturevalue(mode)
    text = message(module, "asserts", [np.zeros(32, "f"), INT(20)], 1, 32)
    assert "thread (20, 0, 0): assertion failed: threadIdx.x < n" in text
    assert f"line {line('assert(threadIdx.x < n)')}" in text
    assert "block (2, 0, 0)" in message(module, "traps", [np.zeros(1, "f")], 4, 1)
    x = np.zeros(32, "f")
    module.get("asserts").launch([x, INT(32)], 1, 32)  # goes on after a failure
    assert (x == 3).all()


@pytest.mark.parametrize("mode", ["fast", "checked"])
@pytest.mark.parametrize("grid", [1, 64])
def test_what_the_processor_refuses(mode, grid, request):
    """It ends the launch, not the process."""
    module = request.getfixturevalue(mode)
    ones = np.ones(8, "i")
    with_zero = np.array([1, 2, 0, 3], "i")
    text = message(module, "divides", [with_zero.copy(), INT(5)], grid, 4)
    assert f"line {line('x[threadIdx.x] = n / ')}, block (" in text and "divided by zero" in text
    assert "x[threadIdx.x] = n / x[threadIdx.x];" in text
    text = message(module, "remains", [with_zero.copy(), INT(5)], grid, 4)
    assert f"line {line('x[threadIdx.x] = n % ')}, block (" in text
    assert "thread (2, 0, 0): an integer was divided by zero" in text
    text = message(module, "null", [ones, INT(0)], grid, 8)
    assert f"line {line('= p[threadIdx.x];')}, block (" in text and "a null pointer" in text
    text = message(module, "only_null", [ones], grid, 8)
    assert "a null pointer" in text and "x[0] = *p" in text
    text = message(module, "dynamic", [ones], grid, 8)  # no shared memory was asked for
    assert "it used a null pointer (dynamic shared memory" in text
    place = ctypes.c_ulonglong(0x1234567890)
    text = message(module, "nowhere", [ones, place], grid, 8)
    assert f"line {line('*(int *)place')}, block (" in text
    assert ("0x1234567890, where no memory is" in text) == (mode == "fast")
    module.get("asserts").launch([np.zeros(8, "f"), INT(8)], grid, 8)


@pytest.mark.parametrize("mode", ["fast", "checked"])
@pytest.mark.parametrize("name", ["recursion", "recursion_on_fibres"])
def test_a_stack_that_is_full(mode, name, request):
    for _ in range(3):
        text = message(request.getfixturevalue(mode), name, [np.ones(4, "i")], 2, 4)
        assert "its stack is full" in text
        if mode == "fast":  # in the other mode it may be full in what checks an access
            assert line("volatile char filler") <= int(re.search(r"line (\d+)", text)[1])


def test_faults_that_are_not_a_kernels_stay():
    """A process in which kernels have run dies of a fault elsewhere, as it would without."""
    code = """
import ctypes, os, signal, sys
import numpy as np
from cynet_cuda_cpu import EmulatedModule
EmulatedModule("__global__ void f(float *x) { x[0] = 1; }").get("f").launch([np.ones(1, "f")], 1, 1)
if sys.argv[1] == "read": ctypes.string_at(0)
else: os.kill(os.getpid(), signal.SIGFPE)
"""
    for how, number in (("read", signal.SIGSEGV), ("kill", signal.SIGFPE)):
        done = subprocess.run([sys.executable, "-c", code, how], check=False, timeout=120)
        assert done.returncode == -number


def test_a_wait_that_cannot_be_seen():
    text = "#define GLUE(a, b) a##b\n__global__ void f(float *x) {\n  GLUE(__sync, threads)();\n}"
    module = EmulatedModule(text, "hidden.cu")
    assert not module.get("f").synchronises
    with pytest.raises(KernelError, match="kernel f, line 3, block .*could not be seen"):
        module.get("f").launch([np.zeros(1, "f")], 2, 32, threads=2)


def test_failures_again_and_again(fast):
    for _ in range(50):  # stacks of stopped threads are given back
        message(fast, "forever", [np.zeros(1, "f")], 2, 512)


@pytest.mark.parametrize(
    "grid, block, shared, words",
    [
        (1, 1025, 0, "1025"),
        (1, (32, 33), 0, "1056 threads, 1024 is the most"),
        (1, (1, 1, 65), 0, "not within"),
        ((1, 65536), 1, 0, "not within"),
        (0, 1, 0, "not within"),
        (1, -1, 0, "not within"),
        (1, 1, 49153, "49153 bytes of shared memory"),
        (1, 1, -1, "-1 bytes"),
        (1, 65, 0, "__launch_bounds__ allow 64"),
    ],
)
def test_limits_of_a_launch(fast, grid, block, shared, words):
    x = np.zeros(1, "f")
    with pytest.raises(ArgumentError, match="kernel bounded") as caught:
        fast.get("bounded").launch([x], grid, block, shared)
    assert words in str(caught.value) and x[0] == 0


@pytest.mark.parametrize("grid, block", [("1", 1), (1.5, 1), ((1, 2, 3, 4), 1), (1, (True,))])
def test_types_of_a_launch(fast, grid, block):
    with pytest.raises(ArgumentTypeError, match="kernel bounded"):
        fast.get("bounded").launch([np.zeros(1, "f")], grid, block)


def test_arguments_of_a_launch(fast):
    with pytest.raises(ArgumentError, match="kernel past takes 2 arguments, got 1"):
        fast.get("past").launch([np.zeros(1, "f")], 1, 1)
    with pytest.raises(ArgumentTypeError, match="argument 2: the source takes int, 4 bytes"):
        fast.get("local").launch([np.zeros(1, "f"), ctypes.c_double(1)], 1, 1)


def test_compile_errors_quote_the_line():
    text = "\n\n__global__ void f(float *x) {\n  x[0] = 1;\n  x[1] = unknown_name(2);\n}\n"
    with pytest.raises(KernelError, match="mine.cu does not compile") as caught:
        EmulatedModule(text, "mine.cu")
    assert "line 5:" in str(caught.value) and "x[1] = unknown_name(2);" in str(caught.value)


def test_errors_around_the_source_name_the_kernel():
    template = "template <class T> __global__ void t(T *x) { x[0] = 1; }"
    with pytest.raises(KernelError, match="kernel t<foo>: .foo. was not declared") as caught:
        EmulatedModule(template, exports=["t<foo>"])
    assert "cynet" not in str(caught.value)
    with pytest.raises(KernelError, match="kernel f must return void"):
        EmulatedModule("__global__ int f(float *x) { return 0; }")
    assert EmulatedModule("__global__ __launch_bounds__(64, 2) void f(float *x) {}").get("f")
    with pytest.raises(KernelError, match="asm with PTX needs a GPU"):
        EmulatedModule('__global__ void f(int *x) { asm("mov.u32 %0, %laneid;" : "=r"(x[0])); }')
    text = "__global__ void f(float *x) {\n  if (x[0] > 0) { // }\n    x[0] = 1;\n  \n}\n"
    with pytest.raises(KernelError, match=r"line 1: this \{ is never closed"):
        EmulatedModule(text)


def test_what_nvcc_says_is_read_alike():
    said = 'kernel t<foo>(1): error: identifier "foo" is undefined\n    (void*)&t<foo>,\n  ^\n'
    wanted = 'source does not compile:\n  kernel t<foo>: identifier "foo" is undefined'
    assert compiler.explain_errors(said, "", "source") == wanted
    said = 'At end of source: error: expected a "}"\nsource(1): note #3196-D: to match this "{"\n'
    text = compiler.explain_errors(said, "void f() {\n  if (1) {\n}\n", "source")
    assert text == "source does not compile:\n  line 1: this { is never closed\n      void f() {"


def test_lines_stay_where_they_are():
    text = """
    extern __shared__
       float s[];
    __global__ void f(float *x) {
      extern __shared__
        float t[];
      t[0] = s[0];
      return 1;
    }
    """
    with pytest.raises(
        KernelError, match="8: return-statement with a value, in function returning ‘void’"
    ) as caught:
        EmulatedModule(text, "normalization.cu")
    assert "line 8:" in str(caught.value) and "return 1;" in str(caught.value)


def test_too_much_static_shared_memory():
    text = "__global__ void f(float *x) {\n  __shared__ float t[12289];\n  t[0] = x[0];\n}"
    with pytest.raises(
        KernelError, match="2: static assertion failed: more than 48 KiB of static shared"
    ) as caught:
        EmulatedModule(text, "large.cu")
    assert "line 2" in str(caught.value) and "48 KiB" in str(caught.value)


def test_too_large_a_frame():
    text = (
        "__global__ void f(float *x) {\n  float t[40000];\n  __syncthreads();\n"
        "  for (int i = 0; i < 40000; ++i) t[i] = x[i];\n  __syncthreads();\n"
        "  for (int i = 0; i < 40000; ++i) x[i] = t[39999 - i];\n}"
    )
    with pytest.raises(KernelError, match="frame size of .* is larger than 131072 bytes"):
        EmulatedModule(text, "frame.cu")


def test_no_such_kernel(fast):
    with pytest.raises(KernelError, match="no kernel named 'pst'; it has past, before"):
        fast.get("pst")
    with pytest.raises(KernelError, match="an instance of a template must be listed in exports"):
        EmulatedModule(
            "template <class T> __global__ void t(T *x) {}\n__global__ void u(int *x) {}"
        ).get("t<float>")
    with pytest.raises(KernelError, match="defines no kernel"):
        EmulatedModule("int x;")


def test_options():
    text = "__global__ void f(float *x) { x[0] = VALUE; }"
    x = np.zeros(1, "f")
    module = EmulatedModule(text, options=["-DVALUE=7", "--use_fast_math", "-arch=sm_80"])
    module.get("f").launch([x], 1, 1)
    assert x[0] == 7
    with pytest.raises(ArgumentError, match="option '-o/x'"):
        EmulatedModule(text, options=["-o/x"])


@pytest.fixture
def fresh_compiler(monkeypatch, tmp_path):
    """The compiler is looked for again, and objects are kept in an empty folder."""
    monkeypatch.setenv("CYNET_HOME", str(tmp_path))
    caches = compiler.host_compiler, compiler._compiler_identity, compiler._is_clang
    for each in caches:
        each.cache_clear()
    yield tmp_path
    for each in caches:
        each.cache_clear()


def test_without_a_compiler(fresh_compiler, monkeypatch):
    monkeypatch.setenv("PATH", str(fresh_compiler))
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(KernelError, match="need a C[+][+] compiler .* none was found"):
        EmulatedModule("__global__ void f(float *x) {}")
    monkeypatch.setenv("CXX", "no-such-compiler -O2")
    compiler.host_compiler.cache_clear()
    with pytest.raises(KernelError, match="CXX='no-such-compiler -O2' was not found"):
        EmulatedModule("__global__ void f(float *x) {}")


def test_objects_are_named_by_the_headers_that_are_included(fresh_compiler, monkeypatch, tmp_path):
    """Wherever the checkout is, and whatever becomes of headers that CPU kernels alone include."""
    text = "__global__ void f(float *x) { x[0] = 1; }"
    shared = '#include "elementwise/functors.h"\n' + text
    computed = f'#define HEADER "elementwise/functors.h"\n#include HEADER\n{text}'

    def names():
        compiler._compiler_identity.cache_clear()
        sources = [CudaSource(each, [compiler.KERNELS], ()) for each in (text, shared, computed)]
        flags = compiler._compiler_flags(False)
        return [compiler._cache_path(each.text, flags, each.headers).name for each in sources]

    first = names()
    assert len({*first}) == 3
    for name in ("INCLUDE_FOLDER", "KERNELS"):
        folder = shutil.copytree(getattr(compiler, name), tmp_path / name)
        monkeypatch.setattr(compiler, name, folder)
    folders = tuple(
        f"-I{each}" for each in (compiler.INCLUDE_FOLDER, compiler.KERNELS, compiler.CUDA_SOURCES)
    )
    monkeypatch.setattr(compiler, "_INCLUDE_FLAGS", folders)
    assert names() == first
    for header, fresh in (
        ("conv/winograd.h", [False, False, True]),
        ("elementwise/functors.h", [False, True, True]),
        ("common/half.h", [True, True, True]),
    ):
        with open(compiler.KERNELS / header, "a") as file:
            file.write("// other\n")
        found = names()
        assert [a != b for a, b in zip(first, found)] == fresh, header
        first = found


INCLUDES = [
    *('#define H "NAME"\n#include H', '#include /* c */ "NAME"', '/* c */ #include "NAME"'),
    *('#include \\\n"NAME"', '#inc\\\nlude "NAME"', '#import "NAME"', '%:include "NAME"'),
    *("#include <NAME>", '#include "NAME"'),  # the first lies in a folder of CPATH
    '#if __has_include("NAME")\n  #  include "NAME"\n#endif',
    "",  # by an option
]


def test_a_header_that_has_changed_is_read_again(fresh_compiler, monkeypatch, tmp_path):
    """However it is included: an object of the old one would give its numbers without a word."""
    folder, of_path = tmp_path / "headers", tmp_path / "path"
    for each in (folder, of_path):
        each.mkdir()
    monkeypatch.setenv("CPATH", str(of_path))

    def write(number, value):
        place = of_path if "<" in INCLUDES[number] else folder
        (place / f"value{number}.h").write_text(f"#define VALUE{number} {value}\n")

    lines = [line.replace("NAME", f"value{i}.h") for i, line in enumerate(INCLUDES)]
    values = [f"  x[{i}] = VALUE{i};" for i in range(len(INCLUDES))]
    text = "\n".join([*lines, "__global__ void f(float *x) {", *values, "}"])
    options = (f"-I{folder}", f"-includevalue{len(INCLUDES) - 1}.h")
    wanted = np.zeros(len(INCLUDES), "float32")
    for number in range(len(INCLUDES)):
        write(number, 0)
    for changed in [None, *range(len(INCLUDES)), 0]:  # and back: the first object is still there
        if changed is not None:
            wanted[changed] = 1 - wanted[changed]
            write(changed, int(wanted[changed]))
        found = np.zeros(len(INCLUDES), "float32")
        EmulatedModule(text, options=options).get("f").launch([found], 1, 1)
        np.testing.assert_array_equal(found, wanted)


def test_the_whole_command_of_the_compiler_counts(fresh_compiler, monkeypatch):
    text = "__global__ void f(float *x) { x[0] = VALUE; }"
    for value in (1, 2):
        monkeypatch.setenv("CXX", f"g++ -DVALUE={value}")
        compiler.host_compiler.cache_clear()
        compiler._compiler_identity.cache_clear()
        x = np.zeros(1, "float32")
        EmulatedModule(text).get("f").launch([x], 1, 1)
        assert x[0] == value


def test_objects_are_kept(fresh_compiler, monkeypatch):
    text = "__global__ void kept(float *x) { x[0] = VALUE; }"
    first = EmulatedModule(text, options=["-DVALUE=1"])
    calls = []
    monkeypatch.setattr(compiler, "_run_cc", lambda *args: calls.append(args))
    again = EmulatedModule(text, options=["-DVALUE=1"])
    assert again.path == first.path and not calls
    with pytest.raises(
        FileNotFoundError, match="No such file or directory"
    ):  # other options: other object, which _call did not make
        EmulatedModule(text, options=["-DVALUE=2"])
    assert calls
    assert [p.name for p in (fresh_compiler / "kernels").iterdir()] == [first.path.name]


def test_an_object_that_was_damaged_is_made_again(fresh_compiler):
    text = "__global__ void f(float *x) { x[0] = 3; }"
    code = f"from cynet_cuda_cpu import EmulatedModule; EmulatedModule({text!r})"
    subprocess.run([sys.executable, "-c", code], check=True)
    (path,) = (fresh_compiler / "kernels").iterdir()
    path.write_bytes(b"nothing of use")
    x = np.zeros(1, "f")
    EmulatedModule(text).get("f").launch([x], 1, 1)
    assert x[0] == 3


def test_a_compiler_that_says_nothing(fresh_compiler, monkeypatch):
    monkeypatch.setenv("CXX", "false")
    with pytest.raises(KernelError, match="false exits with 1"):
        EmulatedModule("__global__ void f(float *x) {}")


def test_a_folder_that_cannot_be_written(fresh_compiler, monkeypatch):
    (fresh_compiler / "file").write_text("")
    monkeypatch.setenv("CYNET_HOME", str(fresh_compiler / "file"))
    with pytest.raises(KernelError, match="set CYNET_HOME to a folder that can be written"):
        EmulatedModule("__global__ void f(float *x) {}")


def test_processes_compile_the_same_source_at_once(fresh_compiler):
    program = (
        "import numpy as np\n"
        "from cynet_cuda_cpu import EmulatedModule\n"
        "x = np.zeros(4, 'f')\n"
        "EmulatedModule('__global__ void f(float *x) { x[threadIdx.x] = 5; }')"
        ".get('f').launch([x], 1, 4)\n"
        "print(x.sum())\n"
    )
    workers = [
        subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    assert [w.communicate(timeout=120)[0].strip() for w in workers] == ["20.0"] * 3
    assert len(list((fresh_compiler / "kernels").iterdir())) == 1


def test_after_a_fork(fast):
    """The child of a fork launches kernels on threads of its own."""
    module = EmulatedModule("__global__ void f(float *x) { x[blockIdx.x] = 5; }")
    x = np.zeros(64, "f")
    module.get("f").launch([x], 64, 1, threads=1)
    if pid := os.fork():
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        return
    x[:] = 0
    module.get("f").launch([x], 64, 1, threads=1)
    os._exit(0 if (x == 5).all() else 1)


@pytest.mark.parametrize("checked", [False, True])
def test_null_stays_null(checked):
    source = """
    __global__ void choose(const float* x, float* y) { y[0] = x == nullptr ? 7.0f : x[0]; }
    """
    null = SimpleNamespace(
        flags=SimpleNamespace(c_contiguous=True), nbytes=0, ctypes=SimpleNamespace(data=0)
    )
    y = np.zeros(1, "f")
    EmulatedModule(source, checked=checked).get("choose").launch([null, y], grid=1, block=1)
    assert y[0] == 7
