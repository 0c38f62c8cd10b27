"""Records of each thread for the profiler: which function ran when.

Promises:
- Where nothing is traced, `begun` is one look at a number.
- A record takes neither the GIL nor memory, but for the first one of a thread. Each thread has
  capacity for a number of them; older ones stay in the sums.
- Interned texts (`interned_text`) are never freed: there are some of traced things alone.
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
    IMPERATIVE = 2  # other calls of operators, and the engine's other functions
    MEMORY = 4      # bytes in use on the device, beside each of these
    SPANS = 8       # parts of training loops, layers
    OBJECTS = 16    # tasks, counters, ... of the user

cdef int tracing    # bits of the kinds that are traced now

# The time where one of these is traced, else 0.
cdef inline int64_t begun(int what) noexcept nogil:
    if trace_load(&tracing) & what == 0:
        return 0
    return now_ns()

cdef const char* interned_text(const char* text) noexcept nogil
# An operator has run since `begin` on the device that `context` names. Texts are interned; `node`
# may be NULL.
cdef void note_operator(const char* name, const char* node, bint backward, int64_t begin,
                        const RunContext* context) noexcept nogil
# The time, if functions of the engine are traced; `name` is interned then.
cdef int64_t begun_function(const char** name) noexcept nogil
# A function of the engine has run; `unless_noted`: not where it has noted its work itself.
cdef void note_function(const char* name, bint unless_noted, int64_t begin,
                        const RunContext* context) noexcept nogil
# Note that this thread has waited for others since `begin`.
cdef void note_wait(int64_t begin) noexcept nogil
# Set this thread's name in traces: `kind` and an index.
cdef void label_thread(const char* kind, int number) noexcept nogil
