# distutils: extra_compile_args = -Os
"""Records and spans of the profiler's trace (contract in trace.pxd)."""

from cpython.bytes cimport PyBytes_AS_STRING
from libc.stdint cimport int16_t, int64_t, uint64_t
from libcpp.map cimport map
from libcpp.string cimport string
from libcpp.vector cimport vector

from .native cimport at_fork, now_ns
from .._storage cimport bytes_in_use
from .._typedefs cimport RunContext

cdef extern from "trace.h" namespace "cynet_trace" nogil:
    struct Record:
        int64_t begin, end, value
        const char* name
        const char* node
        const char* category
        int16_t dev_type, dev_id, kind, backward
    cppclass ThreadRecords:
        int64_t thread
        string label
        uint64_t lost
        vector[Record] records
    cppclass RecordTotal:
        int64_t count, sum, least, maximum
    cppclass Key:
        pass
    void append_record(const Record& record, int counter)
    int64_t last_device_end()
    const char* intern_text(const char* text)
    void c_label_thread "cynet_trace::label_thread" (const char* kind, int number)
    void c_set_capacity "cynet_trace::set_capacity" (size_t n)
    void c_clear "cynet_trace::clear_records" (bint all)
    void c_read "cynet_trace::copy_records" (vector[ThreadRecords]* out) except +
    void read_totals(map[Key, RecordTotal]* out, int counter) except +
    int64_t c_dropped "cynet_trace::dropped_records" ()
    void before_fork()
    void after_fork_parent()
    void after_fork_child()

cdef extern from *:
    """
    #include <utility>
    using cynet_trace_name = const char*;
    template <int i, class K> static inline auto part_of(const K& key) { return std::get<i>(key); }
    """
    const char* name_of "part_of<0>" (const Key& key) nogil
    const char* node_of "part_of<1>" (const Key& key) nogil
    const char* category_of "part_of<2>" (const Key& key) nogil
    int kind_of "part_of<3>" (const Key& key) nogil
    int backward_of "part_of<4>" (const Key& key) nogil
    void trace_store "__atomic_store_n" (int* p, int value, int order) nogil
    int RELAXED "__ATOMIC_RELAXED"

cdef enum:  # kinds of records
    NESTED_SPAN = 0    # a span that nests in the other spans of its thread
    FREE_SPAN = 1      # a span that may overlap other spans
    MARK = 2  # a point in time
    COUNTER = 3  # a counter's value

cdef int tracing = 0  # bits of the kinds that are traced now
cdef int _chosen_kinds = SYMBOLIC | IMPERATIVE | MEMORY | SPANS | OBJECTS  # traced while on

SPANS_TRACED = []  # not empty while spans are traced; saves the making of names otherwise

kinds = {"lasts": NESTED_SPAN, "along": FREE_SPAN, "mark": MARK, "counter": COUNTER}  # by name


# --- natively -------------------------------------------------------------------------------------
cdef const char* interned_text(const char* text) noexcept nogil:
    return intern_text(text)


cdef inline void _note_record(int kind, const char* name, const char* node, const char* category,
                              bint backward, int64_t begin, int64_t end, int64_t value,
                              int dev_type, int dev_id) noexcept nogil:
    cdef Record record
    record.begin, record.end, record.value = begin, end, value
    record.name, record.node, record.category = name, node, category
    record.dev_type, record.dev_id = dev_type, dev_id
    record.kind, record.backward = kind, backward
    append_record(record, COUNTER)


cdef inline void _note_run(const char* name, const char* node, const char* category, bint backward,
                           int64_t begin, const RunContext* context) noexcept nogil:
    cdef int64_t end = now_ns(), used = -1
    if name == NULL:
        return
    if trace_load(&tracing) & MEMORY:
        used = bytes_in_use(context.dev_type, context.dev_id)
    _note_record(NESTED_SPAN, name, node, category, backward, begin, end, used, context.dev_type,
                 context.dev_id)


cdef void note_operator(const char* name, const char* node, bint backward, int64_t begin,
                        const RunContext* context) noexcept nogil:
    _note_run(name, node, b"operator", backward, begin, context)


cdef int64_t now_if_function_traced(const char** name) noexcept nogil:  # ns or 0
    if trace_load(&tracing) & IMPERATIVE == 0:
        return 0
    if name[0] == NULL:
        name[0] = b"function"
    name[0] = intern_text(name[0])
    return now_ns()


cdef void note_function(const char* name, bint unless_noted, int64_t begin,
                        const RunContext* context) noexcept nogil:
    if not unless_noted or last_device_end() < begin:
        _note_run(name, NULL, b"engine", False, begin, context)


cdef void note_wait(int64_t begin) noexcept nogil:  # records a wait until now
    _note_record(NESTED_SPAN, b"wait", NULL, b"engine", False, begin, now_ns(), -1, -1, 0)


cdef void label_thread(const char* kind, int number) noexcept nogil:
    c_label_thread(kind, number)


# --- spans ----------------------------------------------------------------------------------------
cdef extern from *:
    """
    namespace {
    struct cynet_open_span { const void* owner; const char* name; const char* category;
                             long long begin; };
    thread_local std::vector<cynet_open_span> cynet_open_spans;
    }
    """
    struct OpenSpan "cynet_open_span":
        const void* owner
        const char* name
        const char* category
        int64_t begin
    vector[OpenSpan] open_spans "cynet_open_spans"


cdef int _open_span(const void* owner, const char* name, const char* category) except -1:
    cdef OpenSpan span
    span.owner, span.name, span.category, span.begin = owner, name, category, now_ns()
    open_spans.push_back(span)
    return 0


cdef int _close_span(const void* owner) noexcept:
    cdef OpenSpan span
    if open_spans.empty() or open_spans.back().owner != owner:
        return 0  # the span was opened before the trace was started
    span = open_spans.back()
    open_spans.pop_back()
    _note_record(
        NESTED_SPAN, span.name, NULL, span.category, False, span.begin, now_ns(), -1, -1, 0)
    return 0


cdef const char* _c_text(str text) except NULL:
    cdef bytes encoded = text.encode("utf-8", "replace")
    cdef const char* interned = intern_text(PyBytes_AS_STRING(encoded))
    if interned == NULL:
        raise MemoryError()
    return interned


cdef class Span:  # a named time range of a thread
    """A named part of a program in traces: ``with span:``.

    name, category: str
    """

    cdef const char* name
    cdef const char* category

    def __init__(self, str name not None, str category not None):
        self.name, self.category = _c_text(name), _c_text(category)

    def __enter__(self):
        if trace_load(&tracing) & SPANS:
            _open_span(<void*>self, self.name, self.category)
        return self

    def __exit__(self, kind, error, trace):
        if not open_spans.empty():
            _close_span(<void*>self)


# --- the profiler's side --------------------------------------------------------------------------
def now():  # ns, of the records' clock
    """Return the nanoseconds of the clock of records."""
    return now_ns()


def choose_traced_kinds(bint symbolic, bint imperative, bint memory, bint spans):
    """Choose the kinds of records that are traced."""
    global _chosen_kinds
    _chosen_kinds = (SYMBOLIC * symbolic | IMPERATIVE * imperative | MEMORY * memory | SPANS * spans
                     | OBJECTS)
    if trace_load(&tracing):
        switch_tracing(True)


def switch_tracing(bint on):
    """Start or stop tracing."""
    trace_store(&tracing, _chosen_kinds if on else 0, RELAXED)
    SPANS_TRACED[:] = [True] if on and _chosen_kinds & SPANS else []


def is_running():
    """Return whether any kind is traced now."""
    return trace_load(&tracing) != 0


def record(int kind, str name not None, str category not None, int64_t begin, int64_t end,
           int64_t value, str node=None):
    """Add a record of this thread if the user's objects are traced."""
    cdef const char* node_text = NULL
    if trace_load(&tracing) & OBJECTS:
        if node is not None:
            node_text = _c_text(node)
        _note_record(kind, _c_text(name), node_text, _c_text(category), False, begin, end, value,
                     -1, 0)


def set_capacity(size_t n):
    """Set the capacity to `n` records a thread, from the next `clear` on and in new threads."""
    c_set_capacity(n)


def clear(bint all):  # drops records, or resets sums alone
    """Drop all records, or only reset the sums."""
    c_clear(all)


def dropped_records():
    """Return the number of records that were dropped for lack of memory."""
    return c_dropped()


cdef str _to_str(const char* text):
    return None if text == NULL else (<bytes>text).decode("utf-8", "replace")


def records():  # as tuples, for each thread
    """Return the records of each thread.

    Returns list of (int, str, int, list): the system's id of the thread, its label, the number of
    overwritten records, and the others: (kind, name, node, category, backward, begin, end, value,
    device type or -1, device id).
    """
    cdef vector[ThreadRecords] threads
    cdef Record* each
    cdef size_t i, k
    with nogil:
        c_read(&threads)
    found = []
    for i in range(threads.size()):
        rows = []
        for k in range(threads[i].records.size()):
            each = &threads[i].records[k]
            rows.append((each.kind, _to_str(each.name), _to_str(each.node), _to_str(each.category),
                         bool(each.backward), each.begin, each.end, each.value, each.dev_type,
                         each.dev_id))
        found.append((threads[i].thread, threads[i].label.decode(), threads[i].lost, rows))
    return found


def record_totals():  # sums, of equal records
    """Return the sums of all records since the sums were reset.

    Returns list of tuple: (kind, name, node, category, backward, count, sum, least, most):
    nanoseconds, of counters their values.
    """
    cdef map[Key, RecordTotal] sums
    with nogil:
        read_totals(&sums, COUNTER)
    return [(kind_of(pair.first), _to_str(name_of(pair.first)), _to_str(node_of(pair.first)),
             _to_str(category_of(pair.first)), bool(backward_of(pair.first)), pair.second.count,
             pair.second.sum, pair.second.least, pair.second.maximum) for pair in sums]


cdef void _after_fork_child() noexcept nogil:
    trace_store(&tracing, 0, RELAXED)
    open_spans.clear()
    after_fork_child()


if at_fork(before_fork, after_fork_parent, _after_fork_child):
    raise MemoryError()
