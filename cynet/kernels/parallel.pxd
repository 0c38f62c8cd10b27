"""The one guarded door to OpenMP: how many threads a kernel may use, and loops over ranges.

A kernel asks `threads_for(work)` once, then calls `parallel_ranges`, `parallel_for` of parallel.h
(C++) or `prange(n, num_threads=threads)`. Below GRAIN, inside a parallel region, and on a thread
that came through a fork after it had used OpenMP, the answer is 1.
"""

from libc.stdint cimport int64_t

cdef enum:
    GRAIN = 65536  # elements of work below which a second thread costs more than it gives
    AWAKE_GRAIN = 8192  # the same where the team's threads still look for work
    SPIN_NS = 150000    # how long they surely do (kernels/threads.py), nanoseconds

# `work`: about how many simple element operations the whole loop has.
cdef int threads_for(int64_t work) noexcept nogil

# For loops whose result no number of threads changes, bit for bit: as many as `work` is worth while
# this thread's team is awake, 1 when it sleeps or was never started. A sleeping thread takes 30 us
# to wake, half a millisecond on an idle virtual machine.
cdef int threads_awake(int64_t work) noexcept nogil
# Said after an operator: from here on the team's threads look for work until they fall asleep.
cdef void team_rests() noexcept nogil

# True on a thread whose OpenMP team stayed behind in the parent of a fork: a library that starts
# teams by itself must be called on another thread there (`call_elsewhere`, which waits).
cdef bint team_is_lost() noexcept nogil

cdef extern from "parallel.h" namespace "cynet" nogil:
    void call_elsewhere(void (*function)(void*) noexcept, void* arg) noexcept
    # the number of threads that libraries take from OpenMP on this thread
    void use_threads(int n) noexcept
    ctypedef void (*RangeFunction)(void* arg, int64_t begin, int64_t end) noexcept
    # function(arg, begin, end) over [0, n) in at most `threads` contiguous parts
    void parallel_ranges(int threads, int64_t n, RangeFunction function, void* arg) noexcept
