"""The profiler's records of each thread: which function ran when.

Promises:
- Where nothing is traced, `now_if_traced` is one look at a number.
- A record takes neither the GIL nor memory, but for the first one of a thread. Each thread has
  capacity for a number of them; older ones stay in the sums.
- Interned texts (`interned_text`) are never freed; only names in traces are interned.
"""

from libc.stdint cimport int64_t

from .native cimport now_ns
from .._typedefs cimport RunContext

cdef extern from *:
    """
    static inline int cynet_trace_load(const int* p) {
        return __atomic_load_n(p, __ATOMIC_RELAXED); }
    """
    int trace_load "cynet_trace_load" (const int* p) noexcept nogil

cdef enum:  # bits of the kinds of records that are traced
    SYMBOLIC = 1    # steps of plans
    IMPERATIVE = 2  # calls without a plan, other functions of the engine
    MEMORY = 4      # bytes in use on the device, in records of these kinds
    SPANS = 8       # parts of training loops, layers
    OBJECTS = 16    # the user's tasks, counters, frames, events, marks

cdef int tracing    # bits of the kinds that are traced now

# Return the time if one of the kinds `what` is traced, else 0.
cdef inline int64_t now_if_traced(int what) noexcept nogil:  # in ns, else 0
    if trace_load(&tracing) & what == 0:
        return 0
    return now_ns()

cdef const char* interned_text(const char* text) noexcept nogil
# Record an operator that ran from `begin` to now on the device of `context`. Texts are interned;
# `node` may be NULL.
cdef void note_operator(const char* name, const char* node, bint backward, int64_t begin,
                        const RunContext* context) noexcept nogil
# Return the time and intern `name` if functions of the engine are traced, else 0.
cdef int64_t now_if_function_traced(const char** name) noexcept nogil  # ns or 0
# Record a function of the engine; with `unless_noted` only if it has recorded nothing itself.
cdef void note_function(const char* name, bint unless_noted, int64_t begin,
                        const RunContext* context) noexcept nogil
# Record that this thread waited from `begin` to now.
cdef void note_wait(int64_t begin) noexcept nogil  # records a wait until now
# Set this thread's name in traces: `kind` and an index.
cdef void label_thread(const char* kind, int number) noexcept nogil
