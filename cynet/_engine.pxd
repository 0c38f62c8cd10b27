"""The dependency engine: schedules functions by the variables they read and write.

Promises (docs/architecture/engine.md tells how they are kept):
- Two functions that write one variable run in the order they were pushed; readers between two
writers may
  run together. `push` may be called by any thread at once.
- Native functions run without the GIL. Python functions (kPython) run on workers of their own that
grow as
  needed, so one that waits never starves the pool. Those of a GPU run on a worker of that GPU,
those that
  copy (kCopy) on a second one: what keeps the CPU's workers busy does not hold them up.
- Every wait releases the GIL first. No lock of the engine is taken while the GIL is held by code
that then
  asks for the GIL again; callbacks run with no lock held.
- A failure stays on the variables that its function was to write, spreads to what depends on them,
and is
  raised by the wait on one of them. The engine goes on.
"""

from ._typedefs cimport RunContext

ctypedef void* VarHandle
ctypedef void* OprHandle

# Returns 0, or -1 with a Python exception set in the running thread (`with gil: raise ...` does
# that).
ctypedef int (*EngineFn)(void* arg, RunContext* run_ctx) except -1 nogil
# The same, but done only when somebody calls `complete(token, error)`, from any thread.
ctypedef int (*EngineAsyncFn)(void* arg, RunContext* run_ctx, void* token) except -1 nogil
# Frees `arg` once the engine will not run the function (again). Called with or without the GIL
# held.
ctypedef void (*EngineDeleter)(void* arg) noexcept nogil

cdef enum PushFlag:
    kNormal = 0
    kPython = 1  # the function takes the GIL while it runs: use the Python workers
    kInline = 2  # when all variables are ready, run at once on the caller's thread
    kCopy = 4    # of a GPU: reads or writes much of the host's memory, so it takes long to enqueue

cdef VarHandle new_variable() except NULL nogil
# Runs on_delete(arg) when everything pushed on `var` before is done: at once, on this thread, if it
# is idle.
cdef int delete_variable(VarHandle var, EngineDeleter on_delete, void* arg) except -1 nogil

# A function with its variables, checked once and pushed many times. Duplicates within or between
# the two lists are refused (ArgumentError).
cdef OprHandle new_operator(
    EngineAsyncFn fn, void* arg, EngineDeleter deleter,
    const VarHandle* const_vars, int n_const, const VarHandle* mutable_vars, int n_mutable,
    int flags, const char* name) except NULL nogil
# The same of a function that is done when it returns.
cdef OprHandle new_sync_operator(
    EngineFn fn, void* arg, EngineDeleter deleter,
    const VarHandle* const_vars, int n_const, const VarHandle* mutable_vars, int n_mutable,
    int flags, const char* name) except NULL nogil
cdef int push(OprHandle opr, int dev_type, int dev_id, int priority) except -1 nogil
# May be called while runs are pending; the operator goes after the last one.
cdef int delete_operator(OprHandle opr) except -1 nogil

cdef int push_sync(
    EngineFn fn, void* arg, EngineDeleter deleter, int dev_type, int dev_id,
    const VarHandle* const_vars, int n_const, const VarHandle* mutable_vars, int n_mutable,
    int priority, int flags, const char* name) except -1 nogil
cdef int push_async(
    EngineAsyncFn fn, void* arg, EngineDeleter deleter, int dev_type, int dev_id,
    const VarHandle* const_vars, int n_const, const VarHandle* mutable_vars, int n_mutable,
    int priority, int flags, const char* name) except -1 nogil
# `error`: a borrowed exception instance (PyObject*, GIL held by the caller then), or NULL for
# success.
cdef void complete(void* token, void* error) noexcept nogil

# For the asynchronous function itself, before it returns, at most once: what it writes is there for
# all who come after, while what it reads it goes on reading until `complete`.
cdef void written(void* token) noexcept nogil

# Wait until everything pushed so far that writes `var` is done; raise what is stored on it.
cdef int wait_for_var(VarHandle var) except -1 nogil
# Wait until everything pushed so far that reads or writes `var` is done (before writing it from
# outside).
cdef int wait_to_write(VarHandle var) except -1 nogil
cdef int wait_for_all() except -1 nogil
# No function that writes `var` is pending: its data may be read now.
cdef bint is_ready(VarHandle var) noexcept nogil
# The same, and no failure is on it that would keep a function that takes it from running.
cdef bint is_settled(VarHandle var) noexcept nogil

# ---- engines beside the default one (which everything above uses)
ctypedef void* EngineHandle

cdef EngineHandle default_engine() noexcept nogil
# workers: most native functions at once; 0 means one a core. naive: no threads at all.
cdef EngineHandle make_engine(bint naive, int workers) except NULL nogil
# Its owner needs it no more: threads end when nothing is left to run, memory is freed some day.
cdef void drop_engine(EngineHandle engine) noexcept nogil
# At exit. Ends all threads, waiting at most so long for functions that run; what did not start
# never does.
cdef void stop_engines(double seconds) noexcept nogil
# Failures of this process that nobody has waited for, one a call: the exception (PyObject*), owned
# by the caller; NULL when there is none left.
cdef void* next_failure() noexcept nogil
# Pushes of this thread between two times that sleeping workers are woken (0 or 1: each). A wait of
# anybody wakes them too. Returns what it was.
cdef int set_bulk_size(int size) noexcept nogil
cdef VarHandle new_variable_on(EngineHandle engine) except NULL nogil
cdef OprHandle new_operator_on(
    EngineHandle engine, EngineAsyncFn fn, void* arg, EngineDeleter deleter,
    const VarHandle* const_vars, int n_const, const VarHandle* mutable_vars, int n_mutable,
    int flags, const char* name) except NULL nogil
cdef OprHandle new_sync_operator_on(
    EngineHandle engine, EngineFn fn, void* arg, EngineDeleter deleter,
    const VarHandle* const_vars, int n_const, const VarHandle* mutable_vars, int n_mutable,
    int flags, const char* name) except NULL nogil
cdef int push_sync_on(
    EngineHandle engine, EngineFn fn, void* arg, EngineDeleter deleter, int dev_type, int dev_id,
    const VarHandle* const_vars, int n_const, const VarHandle* mutable_vars, int n_mutable,
    int priority, int flags, const char* name) except -1 nogil
cdef int push_async_on(
    EngineHandle engine, EngineAsyncFn fn, void* arg, EngineDeleter deleter, int dev_type,
    int dev_id,
    const VarHandle* const_vars, int n_const, const VarHandle* mutable_vars, int n_mutable,
    int priority, int flags, const char* name) except -1 nogil
cdef int wait_for_all_on(EngineHandle engine) except -1 nogil

# Figures for tests: live variables and operators, runs not done, threads.
cdef struct Census:
    long long variables
    long long operators
    long long pending
    int native_threads
    int python_threads
    int gpu_threads

cdef Census census(EngineHandle engine) noexcept nogil
cdef bint is_naive(EngineHandle engine) noexcept nogil
