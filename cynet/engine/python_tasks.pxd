"""Python functions that the engine runs, for Cython code that pushes them."""

from libc.stdint cimport int64_t

from .._typedefs cimport RunContext

cdef class PyRunContext:
    cdef readonly int dev_type, dev_id, worker
    cdef readonly size_t stream

    @staticmethod
    cdef PyRunContext wrap_context(const RunContext* context)

cdef class PythonTask:  # a Python function that the engine runs
    cdef object fn
    cdef str name
    cdef tuple pushed_at

    cdef str label(self)
    cdef int record_run(self, int64_t begin, const RunContext* context) except -1
    cdef object annotate_error(self, error)

cdef class OnComplete:  # callback that ends an asynchronous function
    cdef PythonTask task
    cdef void* token

    cdef int complete_task(self, error) except -1

cdef PythonTask new_task(fn, name)
cdef int run_task(void* arg, RunContext* context) except -1 with gil
cdef int run_async_task(void* arg, RunContext* context, void* token) except -1 with gil
cdef void drop_task(void* arg) noexcept with gil
cdef void write_unraisable(error, source) noexcept
cdef void call_on_delete(void* arg) noexcept with gil
