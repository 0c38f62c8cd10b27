"""Linear algebra on stacks of matrices (contract in linalg.pxd): the routines' addresses."""

from ..gemm.blas cimport gemm

from ..gemm.blas import blas_address_of

cdef extern from "linalg/stack.h" namespace "cynet::linalg" nogil:
    void set_lapack_routine[T](int which, size_t address)
    int64_t part_workspace_elements[T](const Stack& s, const Arrays[T]& a) noexcept
    int64_t run_stack[T](const Stack& s, const Arrays[T]& a, bint back, int64_t batch, int parts,
                         T* space, int64_t* info) noexcept

ctypedef void (*sgemm_t)(bint, bint, int64_t, int64_t, int64_t, float, const float*, int64_t,
                         const float*, int64_t, float, float*, int64_t) noexcept nogil
ctypedef void (*dgemm_t)(bint, bint, int64_t, int64_t, int64_t, double, const double*, int64_t,
                         const double*, int64_t, double, double*, int64_t) noexcept nogil

# names of routines in the order of LapackRoutines in lapack.h, behind gemm
_NAME_FORMATS = ("cblas_{}trsm", "cblas_{}trmm", "cblas_{}syrk", "{}potrf_", "{}potri_", "{}getrf_",
                 "{}getri_", "{}geqrf_", "{}orgqr_", "{}syevd_", "{}gesdd_", "{}getrs_", "{}geev_")


def _load_lapack():
    cdef sgemm_t single = gemm
    cdef dgemm_t double_ = gemm
    set_lapack_routine[float](0, <size_t>single)
    set_lapack_routine[double](0, <size_t>double_)
    for i, name in enumerate(_NAME_FORMATS):
        set_lapack_routine[float](i + 1, <size_t>blas_address_of(name.format("s")))
        set_lapack_routine[double](i + 1, <size_t>blas_address_of(name.format("d")))


cdef int64_t part_workspace_elements_float(const Stack* s, const Arrays[float]* a) noexcept nogil:
    return part_workspace_elements[float](s[0], a[0])


cdef int64_t part_workspace_elements_double(const Stack* s, const Arrays[double]* a) noexcept nogil:
    return part_workspace_elements[double](s[0], a[0])


cdef int64_t run_float(const Stack* s, const Arrays[float]* a, bint back, int64_t batch, int parts,
                       float* space, int64_t* info) noexcept nogil:
    return run_stack[float](s[0], a[0], back, batch, parts, space, info)


cdef int64_t run_double(const Stack* s, const Arrays[double]* a, bint back, int64_t batch,
                        int parts, double* space, int64_t* info) noexcept nogil:
    return run_stack[double](s[0], a[0], back, batch, parts, space, info)


_load_lapack()
