"""The only interface to BLAS (contract in blas.pxd)."""

from cython.parallel cimport prange

from ..parallel cimport threads_for
from .small cimport Product, run_narrow_product, product_is_narrow
from ..reduce.row_sums cimport dot_line

import ctypes
import os
import sys
from importlib.util import find_spec

from ...base import config
from ...base.errors import ArgumentError

cdef enum:
    ROW_MAJOR = 101  # CblasRowMajor
    NO_TRANS = 111  # CblasNoTrans
    TRANS = 112  # CblasTrans
    MIN_VECTOR_ELEMENTS = 1 << 18  # from here on, copying a matrix is slower than dot products
    MAX_DOT_PARTS = 64     # maximum partial sums of a dot product
    MIN_DOT_PART = 1 << 14  # elements of a part
    # maximum blocks of a product, and minimum multiplications of one, which pay for packing
    MAX_BLOCKS = 64, MIN_BLOCK_WORK = 1 << 20  # of a product that threads compute
    MAX_DOUBLE_BLOCKS = 8, MIN_DOUBLE_WORK = 1 << 21  # the same two for products summed in double

ctypedef void (*sgemm_t)(int, int, int, int, int, int, float, const float*, int, const float*, int,
                         float, float*, int) noexcept nogil
ctypedef void (*dgemm_t)(int, int, int, int, int, int, double, const double*, int, const double*,
                         int, double, double*, int) noexcept nogil

cdef sgemm_t _sgemm = NULL
cdef dgemm_t _dgemm = NULL
_library = None  # keeps the library open


def _blas_library_path():
    """The path of the shared library in the scipy_openblas32 wheel."""
    spec = find_spec("scipy_openblas32")
    if spec is None or not spec.submodule_search_locations:
        raise ImportError("cynet needs the wheel scipy-openblas32 for matrix products: "
                          "pip install scipy-openblas32")
    folder = os.path.join(spec.submodule_search_locations[0], "lib")
    suffix = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
    names = os.listdir(folder) if os.path.isdir(folder) else ()
    found = sorted(n for n in names if n.startswith("libscipy_openblas") and n.endswith(suffix))
    if not found:
        raise ImportError(f"scipy-openblas32 has no libscipy_openblas*{suffix} in {folder}; "
                          "reinstall it: pip install --force-reinstall scipy-openblas32")
    return os.path.join(folder, found[0])


def _open_library():
    """Open the library without threads of its own, and look up its functions."""
    global _library, _sgemm, _dgemm
    # The library reads the variable while it loads; without it BLAS starts a thread per core.
    with config.environment("OPENBLAS_NUM_THREADS", "1"):
        _library = ctypes.CDLL(_blas_library_path())
    _library.scipy_openblas_set_num_threads(1)
    _sgemm = <sgemm_t><size_t>blas_address_of("cblas_sgemm")
    _dgemm = <dgemm_t><size_t>blas_address_of("cblas_dgemm")


def blas_address_of(name):
    """Address of the library's function ``scipy_NAME`` (a routine of LAPACK ends with "_")."""
    function = getattr(_library, f"scipy_{name}")
    return ctypes.cast(function, ctypes.c_void_p).value


def check_sizes(where, *sizes):
    """Raise ArgumentError naming `where` when a size exceeds BLAS's 32-bit int."""
    for size in sizes:
        if size >= 1 << 31:
            raise ArgumentError(
                f"{where}: a matrix of size {size} is too large; at most {(1 << 31) - 1}")


cdef void _multiply_block(bint trans_a, bint trans_b, int64_t m, int64_t n, int64_t k,
                          floating alpha, const floating* a, int64_t lda,
                          const floating* b, int64_t ldb, floating beta, floating* c,
                          int64_t ldc) noexcept nogil:
    cdef int ta = TRANS if trans_a else NO_TRANS
    cdef int tb = TRANS if trans_b else NO_TRANS
    if floating is float:
        _sgemm(ROW_MAJOR, ta, tb, <int>m, <int>n, <int>k, alpha, a, <int>lda, b, <int>ldb,
               beta, c, <int>ldc)
    else:
        _dgemm(ROW_MAJOR, ta, tb, <int>m, <int>n, <int>k, alpha, a, <int>lda, b, <int>ldb,
               beta, c, <int>ldc)


cdef int64_t _cut_position(int64_t size, int64_t parts, int64_t part) noexcept nogil:
    """Return the start of a part: a multiple of 16 (the kernels' widest tile), or `size`."""
    cdef int64_t tiles = (size + 15) // 16
    cdef int64_t start = (tiles * part // parts) * 16
    return start if start < size else size


cdef void _matrix_by_vector(int64_t m, int64_t k, floating alpha, const floating* a, int64_t lda,
                            const floating* x, floating beta, floating* y) noexcept nogil:
    """y = alpha a x + beta y; BLAS's matrix product would copy all of a first."""
    cdef int threads = threads_for(m * k // 2)
    cdef double total
    cdef int64_t i
    for i in prange(m, num_threads=threads, schedule="static"):
        total = alpha * dot_line(a + i * lda, x, k, 0)
        if beta != 0:
            total = total + beta * y[i]
        y[i] = <floating>total


cdef double _vector_by_vector(int64_t k, const floating* a, const floating* b) noexcept nogil:
    """Return the inner product; its partial sums depend on k alone, not on threads."""
    cdef double parts[MAX_DOT_PARTS]
    cdef double total = 0
    cdef int64_t each = (k + MAX_DOT_PARTS - 1) // MAX_DOT_PARTS
    cdef int64_t i, n
    cdef int threads = threads_for(k)
    if each < MIN_DOT_PART:
        each = MIN_DOT_PART
    n = (k + each - 1) // each
    if n == 1:
        return dot_line(a, b, k, 0)
    for i in prange(n, num_threads=threads, schedule="static"):
        parts[i] = dot_line(a + i * each, b + i * each, each if i + 1 < n else k - i * each, 0)
    for i in range(n):
        total += parts[i]
    return total


cdef void _narrow_gemm(bint b_transposed, int64_t m, int64_t n, int64_t k, const float* a,
                       int64_t lda, const float* b, int64_t ldb, bint add, float* c, int64_t ldc,
                       int threads) noexcept nogil:
    """c = a b or c += a b with so few rows that BLAS's copy of b would be expensive."""
    cdef Product p
    p.m, p.n, p.k = m, n, k
    p.a, p.a_row, p.a_transposed = a, lda, False
    p.b, p.b_row, p.b_transposed = b, ldb, b_transposed
    p.c, p.c_row, p.relu, p.add = c, ldc, False, add
    p.bias = NULL
    run_narrow_product(&p, threads)


cdef void gemm(bint trans_a, bint trans_b, int64_t m, int64_t n, int64_t k,
               floating alpha, const floating* a, int64_t lda, const floating* b, int64_t ldb,
               floating beta, floating* c, int64_t ldc) noexcept nogil:
    cdef int rows = 1, threads, cols, tm, i, parts = 1, maximum = MAX_BLOCKS, work = MIN_BLOCK_WORK
    cdef int64_t m0, m1, n0, n1, cost, best = -1
    cdef bint straight
    if m <= 0 or n <= 0:
        return
    if k == 1 and trans_a:  # a column has the memory layout of a row
        trans_a, lda = False, 1
    if k == 1 and trans_b and ldb == 1:
        trans_b, ldb = False, n
    if n == 1 and m > 1 and ldc == 1 and (
            floating is float or (not trans_a and m * k >= MIN_VECTOR_ELEMENTS)):
        # a column: compute the row of the transposed product
        gemm(not trans_b, not trans_a, 1, m, k, alpha, b, ldb, a, lda, beta, c, m)
        return
    straight = not trans_a or (m == 1 and lda == 1)
    if m == 1 and n == 1 and k > 0 and straight and (trans_b or ldb == 1):
        c[0] = <floating>(alpha * _vector_by_vector(k, a, b) + (beta * c[0] if beta != 0 else 0.0))
        return
    if m == 1 and trans_b and straight and n * k >= MIN_VECTOR_ELEMENTS:
        _matrix_by_vector(n, k, alpha, b, ldb, a, beta, c)
        return
    threads = threads_for(m * n * k // 8)
    if floating is float:
        if (straight and alpha == 1 and (beta == 0 or beta == 1)
                and product_is_narrow(m, n, k, trans_b)):
            _narrow_gemm(trans_b, m, n, k, a, lda, b, ldb, beta == 1, c, ldc, threads)
            return
    if floating is double:
        maximum, work = MAX_DOUBLE_BLOCKS, MIN_DOUBLE_WORK
    # this BLAS rounds differently at block ends, so the grid depends on sizes alone
    while parts < maximum and m * n * k >= parts * work * 2:
        parts *= 2
    if parts == 1:
        _multiply_block(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
        return
    # choose the grid with the smallest operands to pack
    for tm in range(1, parts + 1):
        if parts % tm == 0:
            cost = (m + tm - 1) // tm + (n + parts // tm - 1) // (parts // tm)
            if best < 0 or cost < best:
                best = cost
                rows = tm
    cols = parts // rows
    for i in prange(parts, num_threads=threads, schedule="static"):
        m0 = _cut_position(m, rows, i // cols)
        m1 = _cut_position(m, rows, i // cols + 1)
        n0 = _cut_position(n, cols, i % cols)
        n1 = _cut_position(n, cols, i % cols + 1)
        if m1 > m0 and n1 > n0:
            _multiply_block(trans_a, trans_b, m1 - m0, n1 - n0, k, alpha,
                            a + (m0 if trans_a else m0 * lda), lda,
                            b + (n0 * ldb if trans_b else n0), ldb,
                            beta, c + m0 * ldc + n0, ldc)


def _run_gemm(a, b, c, bint trans_a, bint trans_b, double alpha, double beta):
    """gemm on NumPy matrices of one dtype with contiguous rows, for tests and benchmarks."""
    cdef int64_t m = c.shape[0], n = c.shape[1]
    cdef int64_t k = a.shape[0] if trans_a else a.shape[1]
    cdef int64_t lda = a.strides[0] // a.itemsize, ldb = b.strides[0] // b.itemsize
    cdef int64_t ldc = c.strides[0] // c.itemsize
    cdef size_t pa = a.ctypes.data, pb = b.ctypes.data, pc = c.ctypes.data
    if a.dtype == "float32":
        with nogil:
            gemm[float](trans_a, trans_b, m, n, k, <float>alpha, <float*>pa, lda, <float*>pb, ldb,
                        <float>beta, <float*>pc, ldc)
    else:
        with nogil:
            gemm[double](trans_a, trans_b, m, n, k, alpha, <double*>pa, lda, <double*>pb, ldb,
                         beta, <double*>pc, ldc)


_open_library()
