"""cuBLAS's matrix products (contract in cublas.pxd).

Numbers of enumerations are those of cuBLAS's documentation (data types: cudaDataType).
"""

from ..._storage cimport Handle, alloc
from ..._typedefs cimport kBfloat16, kFloat32, kFloat64, kGPU
from .library cimport Handles, load_functions, store_handle

from ...base import config
from ...base.errors import CynetError
from .library import open_library

LIBRARY_FILES = ("libcublas.so.13", "libcublas.so.12")
PIP_PACKAGES = ("nvidia-cublas", "nvidia-cublas-cu12")

cdef enum:
    DEFAULT_ALGORITHM = -1  # CUBLAS_GEMM_DEFAULT
    COMPUTE_32F = 68  # CUBLAS_COMPUTE_32F: sums in float32
    CUDA_R_16BF = 14  # code of bfloat16
    COMPUTE_64F = 70  # CUBLAS_COMPUTE_64F: sums in float64
    COMPUTE_32F_FAST_TF32 = 77  # CUBLAS_COMPUTE_32F_FAST_TF32: float32 on TF32 tensor cores
    WORKSPACE_BYTES = 32 << 20  # bytes for each handle, cuBLAS's own default on its largest GPUs

cdef dict _STATUS_NAMES = {  # cublasStatus_t -> its name
    1: "NOT_INITIALIZED", 3: "ALLOC_FAILED", 7: "INVALID_VALUE", 8: "ARCH_MISMATCH",
    11: "MAPPING_ERROR", 13: "EXECUTION_FAILED", 14: "INTERNAL_ERROR", 15: "NOT_SUPPORTED",
    16: "LICENSE_ERROR"}

ctypedef int (*create_t)(void**) noexcept nogil
ctypedef int (*set_stream_t)(void*, void*) noexcept nogil
ctypedef int (*set_workspace_t)(void*, void*, size_t) noexcept nogil
# handle, transa, transb, m, n, k, alpha, A, type, ld, B, type, ld, beta, C, type, ld, compute, algo
ctypedef int (*gemm_t)(void*, int, int, int64_t, int64_t, int64_t, const void*, const void*, int,
                       int64_t, const void*, int, int64_t, const void*, void*, int, int64_t, int,
                       int) noexcept nogil
# the arguments of gemm_t, with a stride behind each ld, and the count before `compute`
ctypedef int (*gemm_strided_t)(void*, int, int, int64_t, int64_t, int64_t, const void*, const void*,
                               int, int64_t, long long, const void*, int, int64_t, long long,
                               const void*, void*, int, int64_t, long long, int64_t, int,
                               int) noexcept nogil

cdef struct CublasTable:  # functions of cuBLAS
    create_t create
    set_stream_t set_stream
    set_workspace_t set_workspace
    gemm_t gemm
    gemm_strided_t gemm_strided

# names of functions in the order of CublasTable
FUNCTION_NAMES = ("cublasCreate_v2", "cublasSetStream_v2", "cublasSetWorkspace_v2",
                  "cublasGemmEx_64", "cublasGemmStridedBatchedEx_64")

cdef CublasTable _blas
cdef Handles _handles
cdef int _float_compute = COMPUTE_32F  # mode of float32 products; may become TF32
cdef float _float_scale[2]
cdef double _double_scale[2]
_float_scale[0], _float_scale[1] = 0, 1
_double_scale[0], _double_scale[1] = 0, 1
_loaded_library = None  # the ctypes library, or None before it is opened


def open_cublas():
    """Open the library unless it is open; CynetError if it is missing."""
    global _loaded_library, _float_compute
    if _loaded_library is None:
        library = open_library("cuBLAS", LIBRARY_FILES, PIP_PACKAGES)
        load_functions(<void**>&_blas, library, FUNCTION_NAMES, "cuBLAS")
        if config.get("CYNET_CUDA_TF32") == "all":
            _float_compute = COMPUTE_32F_FAST_TF32
        _loaded_library = library


cdef int _check_status(int status, str call) except -1:
    if status != 0:
        name = _STATUS_NAMES.get(status)
        name = f"CUBLAS_STATUS_{name}" if name else "unknown status"
        raise CynetError(f"{call}: {name} ({status})")
    return 0


cdef void* _make_handle(const RunContext* run) except NULL with gil:
    cdef void* handle = NULL
    cdef Handle space  # the handle's workspace, never freed
    open_cublas()
    _check_status(_blas.create(&handle), f"cublasCreate_v2 on gpu({run.dev_id})")
    _check_status(_blas.set_stream(handle, run.stream), f"cublasSetStream_v2 on gpu({run.dev_id})")
    if run.stream != NULL:  # a graph can capture a handle that has its own workspace
        alloc(WORKSPACE_BYTES, kGPU, run.dev_id, &space)
        _check_status(_blas.set_workspace(handle, space.ptr, WORKSPACE_BYTES),
                      f"cublasSetWorkspace_v2 on gpu({run.dev_id})")
    store_handle(&_handles, run, handle, "cuBLAS")
    return handle


cdef int _raise_gemm_error(const RunContext* run, const Product* p, int status) except -1 with gil:
    call = "cublasGemmEx_64" if p.count == 1 else "cublasGemmStridedBatchedEx_64"
    return _check_status(status,
                         f"{call} of {p.count} products ({p.m} x {p.k}) by ({p.k} x {p.n}) on "
                         f"gpu({run.dev_id})")


cdef int matmul(const RunContext* run, const Product* p, const void* a, const void* b, void* c,
                bint add) except -1 nogil:
    cdef void* handle = _handles.find(run.dev_id, run.stream)
    cdef const void* one = &_float_scale[1]
    cdef const void* beta = &_float_scale[add]
    cdef int status, compute, kind = p.dtype
    cdef int64_t lda, ldb, ldc
    if p.m == 0 or p.n == 0 or p.count == 0:
        return 0
    if p.k == 0:  # nothing is read, but cuBLAS rejects NULL
        a = b = c
    if handle == NULL:
        handle = _make_handle(run)
    compute = _float_compute
    # a row-major matrix is a column-major one transposed: C' = op(B)' op(A)'
    lda = max(p.m if p.trans_a else p.k, <int64_t>1)
    ldb = max(p.k if p.trans_b else p.n, <int64_t>1)
    ldc = p.n
    if p.dtype == kFloat64:
        one, beta, compute = &_double_scale[1], &_double_scale[add], COMPUTE_64F
    elif p.dtype != kFloat32:
        compute = COMPUTE_32F
    if p.dtype == kBfloat16:
        kind = CUDA_R_16BF  # kFloat32, kFloat64, kFloat16 are CUDA_R_32F, CUDA_R_64F, CUDA_R_16F
    if p.count == 1:
        status = _blas.gemm(handle, p.trans_b, p.trans_a, p.n, p.m, p.k, one, b, kind, ldb, a,
                            kind, lda, beta, c, kind, ldc, compute, DEFAULT_ALGORITHM)
    else:
        status = _blas.gemm_strided(
            handle, p.trans_b, p.trans_a, p.n, p.m, p.k, one, b, kind, ldb, p.k * p.n, a,
            kind, lda, p.m * p.k, beta, c, kind, ldc, p.m * p.n, p.count, compute,
            DEFAULT_ALGORITHM)
    return _raise_gemm_error(run, p, status) if status != 0 else 0
