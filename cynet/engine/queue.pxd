"""The dependency rules: which functions may run. Every function here wants the engine's lock
held."""

from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from .records cimport UnlockActions, Engine, Failure, Operator, Pool, Run, Var, Waiter

cdef Var* make_var(Engine* e) noexcept nogil
cdef Run* make_run(Engine* e, int n_links) noexcept nogil
# Free the memory that is reserved for new runs and variables.
cdef void free_recycled_blocks(Engine* e) noexcept nogil
# Reset the state that a parent process left in `var` before a fork.
cdef void reset_var_after_fork(Engine* e, Var* var) noexcept nogil
# Return whether no variable appears twice in the two lists.
cdef bint are_distinct(
    Engine* e, Var* const* const_vars, int n_const, Var* const* mutable_vars,
    int n_mutable) noexcept nogil
# Append a run to the queues of its variables; return whether all of them are granted at once.
cdef bint enqueue_run(
    Engine* e, Run* run, Var* const* const_vars, int n_const, Var* const* mutable_vars,
    int n_mutable) noexcept nogil
# Return the first failure stored on the variables of `run`, or NULL.
cdef Failure* inherited_failure(Engine* e, Run* run) noexcept nogil
# Return the failure stored on `var`, or NULL if there is none or its error was raised already.
cdef Failure* failure_of_var(Var* var) noexcept nogil
# Put a run whose variables are granted into its ready queue, or skip it because of a failure.
cdef void enqueue_or_skip_run(Engine* e, Run* run, UnlockActions* after) noexcept nogil
# End a run: release its variables and enqueue the runs that become ready.
cdef void finish_run(Engine* e, Run* run, Failure* failure, UnlockActions* after) noexcept nogil
# Release the variables that a run writes before the run is done.
cdef void release_writes(Engine* e, Run* run, UnlockActions* after) noexcept nogil
# Count the end of a run; signal threads that wait for all runs.
cdef void count_run_end(Engine* e, uint64_t seq) noexcept nogil
cdef void release_operator(Engine* e, Operator* opr, UnlockActions* after) noexcept nogil
cdef Run* pop_ready_run(Pool* pool) noexcept nogil
# Return the error stored on `var`, owned by the caller, and clear it everywhere; NULL for none.
cdef PyObject* take_var_error(Engine* e, Var* var) noexcept nogil
# Return the oldest error of this process that no wait has raised, owned by the caller; NULL for
# none.
cdef PyObject* take_oldest_error(Engine* e) noexcept nogil
