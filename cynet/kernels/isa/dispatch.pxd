"""The level of CPU capability that kernels are picked for: 0 baseline; on x86-64
1 avx2, 2 avx512, 3 amx; on aarch64 1 neon (levels.h).

Chosen when cynet is imported, from what the machine has and CYNET_CPU_CAPABILITY.
"""

cdef int cpu_level() noexcept nogil
# Raises MissingLoop; callers use it when the table has no loop.
cdef int raise_missing_loop(const char* name, int dtype) except -1
