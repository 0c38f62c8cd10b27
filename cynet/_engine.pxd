"""The dependency engine: schedules functions by the variables they read and write.

This is the contract; docs/architecture/engine.md explains the implementation.

Order. Functions that write the same variable run in the order in which they were pushed. Functions
that only read it may run at the same time, between the write before them and the write after them.
Any thread may push at any time.

Threads. Native functions run without the GIL, on a pool of workers. Python functions
(kPython) have workers of their own, and the engine adds one when all of them wait, so a function
that waits cannot starve the others. Each GPU has a worker for its functions and a second one for
large copies (kCopy), so a busy CPU pool does not delay a GPU.

Locks. Every wait releases the GIL first. Code that holds a lock of the engine never asks for the
GIL, and callbacks run with no lock held: this is what rules out deadlocks.

Failures. When a function fails, its exception is stored on the variables that it should have
written, and every function that depends on them is skipped. A wait on one of these variables raises
the exception. The engine goes on.
"""

from ._typedefs cimport RunContext

ctypedef void* VarHandle
ctypedef void* OprHandle

# A function of the engine. Returns 0, or -1 with an exception set (by `with gil: raise ...`).
ctypedef int (*EngineFn)(void* arg, RunContext* run_ctx) except -1 nogil
# An EngineFn that counts as done only when some thread calls `complete(token, error)`.
ctypedef int (*EngineAsyncFn)(void* arg, RunContext* run_ctx, void* token) except -1 nogil
# Frees `arg` after the last run of the function. The GIL may or may not be held.
ctypedef void (*EngineDeleter)(void* arg) noexcept nogil

cdef enum PushFlag:  # how a pushed function runs
    kNormal = 0
    kPython = 1  # takes the GIL while it runs, so it runs on a Python worker
    kInline = 2  # runs at once on the caller's thread if all its variables are ready
    kCopy = 4    # copies much host memory to a GPU, which takes long to enqueue

cdef VarHandle new_variable() except NULL nogil
# Delete a variable: `on_delete(arg)` is called when all functions pushed on it so far are done.
cdef int delete_variable(VarHandle var, EngineDeleter on_delete, void* arg) except -1 nogil

# Return an operator: a function and its variables, checked once, to be pushed many times. A
# variable that appears twice in the two lists is an ArgumentError.
cdef OprHandle new_operator(
    EngineAsyncFn fn, void* arg, EngineDeleter deleter,
    const VarHandle* const_vars, int n_const, const VarHandle* mutable_vars, int n_mutable,
    int flags, const char* name) except NULL nogil
# `new_operator` for a function that is done when it returns.
cdef OprHandle new_sync_operator(
    EngineFn fn, void* arg, EngineDeleter deleter,
    const VarHandle* const_vars, int n_const, const VarHandle* mutable_vars, int n_mutable,
    int flags, const char* name) except NULL nogil
cdef int push(OprHandle opr, int dev_type, int dev_id, int priority) except -1 nogil
# Delete an operator; it is freed after its last pending run.
cdef int delete_operator(OprHandle opr) except -1 nogil

cdef int push_sync(
    EngineFn fn, void* arg, EngineDeleter deleter, int dev_type, int dev_id,
    const VarHandle* const_vars, int n_const, const VarHandle* mutable_vars, int n_mutable,
    int priority, int flags, const char* name) except -1 nogil
cdef int push_async(
    EngineAsyncFn fn, void* arg, EngineDeleter deleter, int dev_type, int dev_id,
    const VarHandle* const_vars, int n_const, const VarHandle* mutable_vars, int n_mutable,
    int priority, int flags, const char* name) except -1 nogil
# Report that an asynchronous function is done. `error` is NULL for success, or a borrowed exception
# (PyObject*; the caller holds the GIL).
cdef void complete(void* token, void* error) noexcept nogil  # ends an asynchronous function

# An asynchronous function may call this once, before it returns: its results are complete and
# others may read them, while it keeps reading its inputs until `complete`.
cdef void publish_results(void* token) noexcept nogil  # others may read them now

# Wait until the writes of `var` pushed so far are done; raise the exception stored on it, if any.
cdef int wait_for_var(VarHandle var) except -1 nogil
# Wait for every read and write of `var` pushed so far: call it before you write the data yourself.
cdef int wait_to_write(VarHandle var) except -1 nogil
cdef int wait_for_all() except -1 nogil
# Return whether no write of `var` is pending, so that its data may be read now.
cdef bint is_ready(VarHandle var) noexcept nogil
# Return whether `var` is ready and has no stored failure, which would make the engine skip readers.
cdef bint is_readable(VarHandle var) noexcept nogil

# ---- functions for an engine of your own; those above use the default engine
ctypedef void* EngineHandle

cdef EngineHandle default_engine() noexcept nogil
# Return a new engine. `workers`: maximum of its native threads, 0 for half of the cores; `naive`:
# every push runs at once, without threads.
cdef EngineHandle make_engine(bint naive, int workers) except NULL nogil
# Release an engine: its threads end when nothing is left to run, its memory is freed later.
cdef void drop_engine(EngineHandle engine) noexcept nogil
# At exit: ends all threads. Waits at most `seconds` for running functions; pending ones never
# start.
cdef void stop_engines(double seconds) noexcept nogil
# Return the next error that no wait has raised, or NULL. The caller owns the exception (PyObject*).
cdef void* next_unraised_error() noexcept nogil
# Set how many functions this thread pushes before sleeping workers are woken (0 or 1: every push
# wakes them; so does any wait). Returns the old value.
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

# Counts for tests: live variables and operators, pending runs, threads.
cdef struct EngineCounts:
    long long variables
    long long operators
    long long pending
    int native_threads
    int python_threads
    int gpu_threads

cdef EngineCounts count_engine_work(EngineHandle engine) noexcept nogil
cdef bint is_naive(EngineHandle engine) noexcept nogil
