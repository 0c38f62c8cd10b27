"""UpdateStep: the update that `Executor.step` runs with a plan's gradients.

The optimizers' updates, which know what is computed, are subclasses (optimizer/_joined.pxd).
"""

from libcpp.vector cimport vector

from .._engine cimport VarHandle
from .._typedefs cimport RunContext

cdef class UpdateStep:
    cdef vector[VarHandle] reads, writes
    cdef int dev_type, dev_id
    # Puts the launches of a task on run_ctx.stream (QueueFn of cuda/graphs.pxd); `numbers` are
    # the task's, or NULL. A subclass sets `put` and `free_task`, which frees a task.
    cdef int (*put)(void* task, RunContext* run_ctx, void* numbers) except -1 nogil
    cdef void (*free_task)(void* task) noexcept nogil
    # A run with the arguments of its call, passed to `free_task` at its end; `numbers` is set to
    # the nbytes that its launches read.
    cdef void* new_task(self, tuple arguments, void** numbers, size_t* nbytes) except NULL
