"""The algorithms of a product of two matrices, and the choice among them: for dot, batch_dot, RNN
and, with one more algorithm, FullyConnected (``nn/fully_connected/select.py``)."""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

from ..kernels.gemm.small import KERNELS, is_narrow_chosen
from ..kernels.isa.dispatch import cpu_capability
from .algorithms import NEVER, Algorithm, Algorithms, Choice

ENV_VAR = "CYNET_GEMM_ALGORITHM"  # setting that forces an algorithm
LANES = {"baseline": 4, "neon": 4, "avx2": 8, "avx512": 16, "amx": 16}  # float32s of a vector
# costs in cycles of one core
OWN_COST = 0.6  # cycles of a vector multiply-add in our own loops
LIBRARY_COST = 0.8  # cycles of a vector multiply-add in a library
COPY_COST = 2  # cycles to copy one number of the matrix b
# Above this many multiply-adds a library, which copies both matrices in blocks, is faster, unless
# the shortest side is at most MAX_SHORT_SIDE.
MIN_LIBRARY_MULTIPLY_ADDS = 1 << 30  # work above which a library is faster
MAX_SHORT_SIDE = 256  # longest short side for which our own loops still win
# If b is not a weight: minimum of multiply-adds for which copying b pays, and minimum of rows and
# columns for which our own loops are faster than a library.
MIN_COPY_MULTIPLY_ADDS = 1000000  # multiply-adds from which copying b, if no weight, pays
MIN_SIDE = 16  # rows and columns from which our own loops beat a library


class ProductDesc(NamedTuple):  # sizes and dtype of c = a b
    """c (m, n) = a (m, k) b (k, n); each operand may be transposed."""

    m: int
    n: int
    k: int
    dtype: str
    a_transposed: bool = False
    b_transposed: bool = False
    packed: bool = False  # True: b is packed for AMX
    weight: bool = False  # b is a layer's weight, or the product is one of its gradients
    level: str = cpu_capability()

    @property
    def multiply_adds(self) -> int:
        """Multiply-adds."""
        return self.m * self.n * self.k


def library_cycles(desc: ProductDesc) -> float:
    """Return the estimated cycles of a library."""
    return LIBRARY_COST * desc.multiply_adds / LANES[desc.level] + COPY_COST * desc.n * desc.k


def panels_cycles(desc: ProductDesc) -> float:
    """Return the estimated cycles of own loops with b copied to panels."""
    return _loop_cost(desc) + COPY_COST * desc.n * desc.k if _is_own_loop_faster(desc) else NEVER


def narrow_cycles(desc: ProductDesc) -> float:
    """Return the estimated cycles of own loops with b read in place."""
    narrow = is_narrow_chosen(desc.level, desc.m, desc.n, desc.k, desc.b_transposed)
    tiled = _amx_relative_time(desc) < 1
    return _loop_cost(desc) if narrow and not tiled and _is_own_loop_faster(desc) else NEVER


def amx_cycles(desc: ProductDesc) -> float:
    """Return the estimated cycles with AMX, as a multiple of those of the loops."""
    share = _amx_relative_time(desc)
    return share * _loop_cost(desc) if share < 1 and _is_own_loop_faster(desc) else NEVER


def _loop_cost(desc: ProductDesc) -> float:
    return OWN_COST * desc.multiply_adds / LANES[desc.level]


def _is_own_loop_faster(desc: ProductDesc) -> bool:
    """Return whether kernels of our own are faster than a library."""
    if desc.level == "baseline":
        return False
    if not desc.weight:
        large = desc.multiply_adds >= MIN_COPY_MULTIPLY_ADDS or (
            desc.b_transposed and not desc.a_transposed
        )
        # an outer product (sums of one term) goes to BLAS, which reads b as if not transposed
        if not large or min(desc.m, desc.n) < MIN_SIDE or desc.k < 2:
            return False
    short = min(desc.m, desc.n, desc.k) <= MAX_SHORT_SIDE
    return desc.multiply_adds <= MIN_LIBRARY_MULTIPLY_ADDS or short or _amx_relative_time(desc) < 1


def _amx_relative_time(desc: ProductDesc) -> float:
    """Return the time with AMX relative to the loops for AVX-512. AMX lowers the clock by a seventh
    for a while, which slows other code and is counted as well. In ns of one thread: of a product of
    tiles, of splitting, of a block of the result, of a call, of reading a packed b, and of
    multiply-adds of those loops."""
    if desc.level != "amx" or desc.m < 16 or not desc.multiply_adds:
        return NEVER
    rows, columns, chunks = ceil(desc.m / 16), ceil(desc.n / 16), ceil(desc.k / 32)
    blocks = ceil(desc.m / 32) * ceil(desc.n / 32)
    own: float = 43 * rows * columns * chunks + 230 * blocks + 6000
    own += 92 * (rows + (0 if desc.packed else columns)) * chunks
    own += 0.5 * desc.n * desc.k if desc.packed else 0
    return own * (95 if desc.packed else 120) / desc.multiply_adds


def has_own_loop(desc: ProductDesc) -> bool:
    """Return whether kernels of our own compute the product."""
    return desc.dtype == "float32" and not desc.packed


# Kernels of our own (kernels/gemm/small.h).
OWN_ALGORITHMS = (  # kernels of our own
    # b copied to panels that the loops read in order
    Algorithm("panels", has_own_loop, panels_cycles),
    # few rows or columns: b is read in place
    Algorithm("narrow", lambda desc: has_own_loop(desc) and not desc.a_transposed, narrow_cycles),
    # bfloat16 tiles: three bfloat16 products for one of float32
    Algorithm("amx", lambda desc: desc.dtype == "float32" and desc.level == "amx", amx_cycles),
)
_OWN_KERNELS = Algorithms(ENV_VAR, *OWN_ALGORITHMS, names=["blas", "onednn"])  # without libraries
PRODUCTS = Algorithms(  # our own loops, and BLAS
    ENV_VAR, *OWN_ALGORITHMS, Algorithm("blas", lambda desc: True, library_cycles), names=["onednn"]
)


def is_own_kernel(choice: Choice) -> bool:
    """Return whether the choice is one of OWN_ALGORITHMS."""
    return choice.name in KERNELS


def choose_own_loop(desc: ProductDesc) -> Choice | None:
    """Choose our own kernels for a product of a layer; None if none supports it."""
    return _OWN_KERNELS.choose(desc)


def kernel_code(choice: Choice) -> int:
    """Return the value of `ProductKernel` (kernels/gemm/small.pxd), or -1 for a library."""
    return KERNELS.index(choice.name) if is_own_kernel(choice) else -1
