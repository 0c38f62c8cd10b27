"""For operators outside the package: a loop compiled for SSE2, AVX2 and AVX-512 at once.

    cdef cloned add(const float* x, float* y, int64_t n) noexcept nogil:
        cdef int64_t i
        for i in range(n):
            y[i] += x[i]

The loader picks one when the module is loaded (x86-64 Linux with GCC; elsewhere there is one
version). What such a function calls must be inlined into it to gain. cynet's own loops are picked
by levels.h, which obeys CYNET_CPU_CAPABILITY and works with every compiler.
"""

cdef extern from "clones.h" nogil:
    ctypedef int cloned "CYNET_CLONES int"
