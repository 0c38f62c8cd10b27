"""UpdateStep: what becomes of the gradients of a plan, as `Executor.step` puts it behind a run.

The optimizers' updates, which know what is computed, are subclasses (optimizer/_joined.pxd).
"""

from libcpp.vector cimport vector

from .._engine cimport VarHandle
from .._typedefs cimport RunContext

cdef class UpdateStep:
    cdef vector[VarHandle] reads, writes
    cdef int dev_type, dev_id
    # Puts the launches of a task on run_ctx.stream (Put of cuda/graphs.pxd); `numbers` are those of
    # the task, or NULL. Set by the subclass, as is what frees a task.
    cdef int (*put)(void* task, RunContext* run_ctx, void* numbers) except -1 nogil
    cdef void (*free_task)(void* task) noexcept nogil
    # A run with the arguments of its call, to be given to `free_task` once it is over; `numbers` is
    # set to what its launches read, of `nbytes`.
    cdef void* new_task(self, tuple arguments, void** numbers, size_t* nbytes) except NULL
