"""The dependency rules: which functions may run. Every function here wants the engine's lock
held."""

from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from .records cimport After, Engine, Failure, Operator, Pool, Run, Var, Waiter

cdef Var* make_var(Engine* e) noexcept nogil
cdef Run* make_run(Engine* e, int n_links) noexcept nogil
# Give back the memory kept for new runs and variables.
cdef void free_blocks(Engine* e) noexcept nogil
# Forget what a parent process left in flight on `var`.
cdef void refresh(Engine* e, Var* var) noexcept nogil
# True when no variable appears twice in the two lists, which is what a run may ask for.
cdef bint are_distinct(
    Engine* e, Var* const* const_vars, int n_const, Var* const* mutable_vars,
    int n_mutable) noexcept nogil
# Append to the queues of all variables; true when everything was granted at once.
cdef bint enqueue_run(
    Engine* e, Run* run, Var* const* const_vars, int n_const, Var* const* mutable_vars,
    int n_mutable) noexcept nogil
# The failure `run` inherits from its variables, or NULL.
cdef Failure* inherited_failure(Engine* e, Run* run) noexcept nogil
# The failure that keeps functions which take `var` from running, or NULL: none, or raised already.
cdef Failure* failure_on(Var* var) noexcept nogil
# A run that was granted everything: to its ready queue, or skipped because of a failure.
cdef void settle(Engine* e, Run* run, After* after) noexcept nogil
# A run is done: give back its variables, settle what becomes ready.
cdef void finish(Engine* e, Run* run, Failure* failure, After* after) noexcept nogil
# Give back the variables that a run writes, for good, before it is done.
cdef void leave_writes(Engine* e, Run* run, After* after) noexcept nogil
# One run fewer is pending: tell those who wait for all.
cdef void count_down(Engine* e, uint64_t seq) noexcept nogil
cdef void release_operator(Engine* e, Operator* opr, After* after) noexcept nogil
cdef Run* take(Pool* pool) noexcept nogil
# The error on `var`, now owned by the caller and cleared everywhere; NULL for none.
cdef PyObject* take_error(Engine* e, Var* var) noexcept nogil
# The oldest failure of this process on any variable, with the same ownership as take_error's; NULL
# for none.
cdef PyObject* take_oldest(Engine* e) noexcept nogil
