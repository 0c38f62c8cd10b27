"""The interface to threads: the number that a kernel may use, and loops over ranges.

A kernel asks `threads_for(work)` once, then calls `parallel_ranges`, `parallel_for` of parallel.h
(C++) or `prange(n, num_threads=threads)`. Below GRAIN and inside a loop that is shared out the
answer is 1.
"""

from libc.stdint cimport int64_t

cdef enum:
    GRAIN = 65536  # elements of work below which a second thread does not pay
    AWAKE_GRAIN = 8192  # GRAIN where a helper is awake and looks for work

# `work`: about how many simple element operations the whole loop has.
cdef int threads_for(int64_t work) noexcept nogil

# The number of threads for loops whose result is the same for any number: as `work` is worth if a
# helper is awake, 1 if all sleep or none was started. A sleeping thread takes 30 us to wake, half a
# millisecond on an idle virtual machine.
cdef int threads_if_awake(int64_t work) noexcept nogil

# Lets the OpenMP regions of a loaded library run on the team, before it has run any. Raises
# CynetError when the library needs functions of OpenMP that the team does not have.
cdef int lend_team_to(void* library, str name) except -1
# True if a region of such a library can have this many threads.
cdef bint openmp_can_run(int threads) noexcept nogil
# The number of threads that its regions may have now.
cdef int openmp_threads() noexcept nogil
# Makes regions of the calling thread single-threaded if `alone`, until the next call.
cdef void set_openmp_single_threaded(bint alone) noexcept nogil

cdef extern from "parallel.h" namespace "cynet" nogil:
    ctypedef void (*RangeFunction)(void* arg, int64_t begin, int64_t end) noexcept
    # Calls function(arg, begin, end) for at most `threads` contiguous parts of [0, n)
    void parallel_ranges(int threads, int64_t n, RangeFunction function, void* arg) noexcept
