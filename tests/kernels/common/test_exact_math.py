"""Functions of exact_math.h: their error, and that no compiler, flag or vector changes a bit.

The reference values of fixtures/exact_math.npz are mpmath's (exact_math.py).
"""

import ctypes
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cynet.base.errors import KernelError
from cynet.cuda.sources import KERNELS
from cynet.kernels.isa.dispatch import cpu_capabilities
from cynet_cuda_cpu import EmulatedModule
from cynet_cuda_cpu.compiler import host_compiler

ROOT = Path(__file__).parents[3]
FUNCTIONS = {  # of one double each
    "log": "log_double(x)",
    "exp": "exact_exp_of_nonpositive(x)",
    "cos_turn": "cosine",
    "sin_turn": "sine",
    "log_factorial": "log_factorial(x)",
    "log_ratio": "log_ratio(x, 3.0)",
    "log_float": "log_float(static_cast<float>(x))",
    "normal": "first",
    "normal_float": "near",
    "gamma": "draw_one(kGamma, own, 3 * x, 0.7)",
    "poisson": "draw_one(kPoisson, own, 30 * x, 0)",
    "negative_binomial": "draw_one(kNegativeBinomial, own, 5 * x, 0.3)",
}
MAX_ULPS = {"log": 0.9, "exp": 0.9, "cos_turn": 1.4, "sin_turn": 1.4, "log_factorial": 1.7}
DRAWS = ("gamma", "poisson", "negative_binomial")
OWN_STREAM = "const Philox key(7, 5); ElementStream own(key, i);"
SETUP = {
    "cos_turn": "double cosine, sine; cos_sin_of_turn(x, &cosine, &sine);",
    "sin_turn": "double cosine, sine; cos_sin_of_turn(x, &cosine, &sine);",
    "normal": "double first, second; normal_doubles(x, 0.9 * x, &first, &second);",
    "normal_float": "float near, next; uint32_t w = static_cast<uint32_t>(x * 4294967296.0); "
    "normal_floats(w, 77 * w, &near, &next);",
    **dict.fromkeys(DRAWS, OWN_STREAM),
}
HEADER = '#include "rng/random_draw.h"\nusing namespace cynet;\n'


def one(name):
    """C++ that sets y[i] to a function of x[i]."""
    return f"const double x = xs[i]; {SETUP.get(name, '')} y[i] = {FUNCTIONS[name]};"


HOST = HEADER + "\n".join(
    f'extern "C" void host_{name}(const double* xs, double* y, long n) {{\n'
    f"  for (long i = 0; i < n; ++i) {{ {one(name)} }}\n}}"
    for name in FUNCTIONS
)
DEVICE = HEADER + "\n".join(
    f'extern "C" __global__ void device_{name}(const double* xs, double* y, long n) {{\n'
    f"  const long i = blockIdx.x * (long)blockDim.x + threadIdx.x;\n"
    f"  if (i < n) {{ {one(name)} }}\n}}"
    for name in FUNCTIONS
)


def flags():
    """Compilations of the host: none may change a bit."""
    found = {"O0": ["-O0"], "O3": ["-O3", "-ffp-contract=off"]}
    if "avx2" in cpu_capabilities():
        found["avx2"] = ["-O3", "-mavx2", "-mfma", "-ffp-contract=off"]
    if "avx512" in cpu_capabilities():
        wide = ["-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mprefer-vector-width=512"]
        found["avx512"] = ["-O3", "-mfma", *wide, "-ffp-contract=off"]
    return found


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    """Compile the functions for the host; gives call(name, x)."""
    try:
        compiler = host_compiler()
    except KernelError as error:
        pytest.skip(str(error))
    folder, libraries = tmp_path_factory.mktemp("exact_math"), {}

    def library(key):
        if key not in libraries:
            source, target = folder / "host.cpp", folder / f"{key}.so"
            source.write_text(HOST)
            command = [*compiler, "-std=c++17", "-shared", "-fPIC", *flags()[key]]
            command += ["-fno-math-errno", "-fno-trapping-math", f"-I{KERNELS}", str(source)]
            subprocess.run([*command, "-o", str(target)], check=True)
            libraries[key] = ctypes.CDLL(str(target))
        return libraries[key]

    def call(key, name, x):
        y = np.empty_like(x)
        places = (a.ctypes.data_as(ctypes.c_void_p) for a in (x, y))
        getattr(library(key), f"host_{name}")(*places, ctypes.c_long(x.size))
        return y

    return call


def arguments(name, rng, count):
    """Arguments all over what random numbers ask of a function."""
    grid = rng.integers(0, 2**53, count) * 2.0**-53
    if name == "log":
        return np.concatenate([1 - grid[::2], 2.0 ** rng.uniform(-1000, 1000, count // 2)])
    if name == "exp":
        return np.concatenate([-40 * grid[::2], -760 * grid[1::2]])
    if name == "log_factorial":
        return np.floor(2.0 ** rng.uniform(0, 50, count)) - 1
    if name == "log_ratio":
        return np.concatenate([grid[::2], 2.0 ** rng.uniform(-1074, -1000, count // 2)])
    return grid if name in SETUP and name not in DRAWS else 1 - grid


@pytest.mark.parametrize("name", MAX_ULPS)
def test_error(build, name):
    with np.load(ROOT / "tests" / "fixtures" / "exact_math.npz") as kept:
        x, (high, low) = kept[f"{name}_x"], kept[name]
    y = build("O3", name, x)
    assert (y[high == 0] == 0).all()
    unit = np.where(high == 0, 1, np.spacing(np.abs(high)))
    error = np.abs((y - high) - low) / unit
    assert error.max() < MAX_ULPS[name], (x[error.argmax()], y[error.argmax()])


@pytest.mark.parametrize("key", [key for key in flags() if key != "O0"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_flag_changes_a_bit(build, name, key, rng):
    x = arguments(name, rng, 20000 if name in DRAWS else 200000)
    plain, found = build("O0", name, x), build(key, name, x)
    differ = plain.view("q") != found.view("q")
    assert not differ.any(), (x[differ][0], plain[differ][0], found[differ][0])


@pytest.fixture(scope="module")
def module():
    return EmulatedModule(DEVICE, "exact_math", ["-ffp-contract=fast", "-O2"])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_cuda_where_products_and_sums_may_be_joined(build, module, name, rng):
    """CYNET_MUL and CYNET_ADD keep them apart whatever the compiler is allowed."""
    x = arguments(name, rng, 20000)
    plain, found = build("O0", name, x), np.empty_like(x)
    size = ctypes.c_long(x.size)
    module.get(f"device_{name}").launch([x, found, size], grid=-(-x.size // 256), block=256)
    differ = plain.view("q") != found.view("q")
    assert not differ.any(), (x[differ][0], plain[differ][0], found[differ][0])


def test_ends(build):
    exp = build("O3", "exp", np.array([0.0, -0.0, -745.1, -745.2, -1e300, -np.inf, -708.4]))
    assert exp[:6].tolist() == [1, 1, 5e-324, 0, 0, 0]
    assert exp[6] == pytest.approx(np.exp(-708.4), abs=1e-323)  # subnormal
    share = build("O3", "log_ratio", np.array([0.0, 5e-324, 3.0, 3e-310]))
    np.testing.assert_allclose(share, [-np.inf, -np.inf, 0, np.log(1e-310)], rtol=1e-12)
    assert build("O3", "log", np.array([1.0]))[0] == 0
    quarters = np.arange(4) / 4
    assert build("O3", "cos_turn", quarters).tolist() == [1, 0, -1, 0]
    assert build("O3", "sin_turn", quarters).tolist() == [0, 1, 0, -1]


DRAW_ALL = """
import hashlib, sys
import cynet as mx
mx.random.seed(int(sys.argv[1]))
found = hashlib.sha256()
draw = mx.nd.random
for dtype in "float16", "float32", "float64":
    for n in 1, 33, 5000:
        for name, params in (
            ("uniform", [(0, 1), (-3, 0.1)]), ("normal", [(0, 1), (1, 0.3)]),
            ("exponential", [(1,), (0.3,)]), ("gamma", [(0.02, 1), (0.7, 2), (9, 0.5)]),
            ("poisson", [(0,), (3,), (10,), (12.5,), (300,), (1e9,)]),
            ("negative_binomial", [(5, 0.3), (0, 0.5), (2, 1)]),
            ("generalized_negative_binomial", [(4, 0.25), (20, 0.4), (3, 0), (0, 1)]),
        ):
            for given in params:
                found.update(getattr(draw, name)(*given, shape=n, dtype=dtype).asnumpy().tobytes())
            arrays = [mx.nd.array(column) for column in zip(*params)]
            for shape in (), (3,), (50,):
                drawn = getattr(draw, name)(*arrays, shape=shape, dtype=dtype)
                found.update(drawn.asnumpy().tobytes())
for dtype in "int32", "int64":
    found.update(draw.randint(-7, 1000, shape=3000, dtype=dtype).asnumpy().tobytes())
print(found.hexdigest())
"""


def test_levels_give_the_same_bytes(seed):
    found = set()
    for level in cpu_capabilities():
        done = subprocess.run(
            [sys.executable, "-c", DRAW_ALL, str(seed)],
            capture_output=True,
            text=True,
            cwd=ROOT,
            env={**os.environ, "CYNET_CPU_CAPABILITY": level},
        )
        assert done.returncode == 0, done.stderr
        found.add(done.stdout)
    assert len(found) == 1
    assert len(found.pop().strip()) == 2 * hashlib.sha256().digest_size
