"""UpdateStep: the weight update that `Executor.step` runs after backward.

The optimizers' updates, which know what is computed, are subclasses (optimizer/_joined.pxd).
"""

from libcpp.vector cimport vector

from .._engine cimport VarHandle
from .._typedefs cimport RunContext

cdef class UpdateStep:  # base of optimizers' weight updates
    cdef vector[VarHandle] reads, writes
    cdef int dev_type, dev_id
    # Puts the launches of a task on run_ctx.stream (QueueFn of cuda/graphs.pxd); `numbers` are
    # the task's, or NULL. A subclass sets `queue_launches` and `free_task`, which frees a task.
    cdef int (*queue_launches)(void* task, RunContext* run_ctx, void* numbers) except -1 nogil
    cdef void (*free_task)(void* task) noexcept nogil  # frees what new_task made
    # Return a task for a call's arguments, to be freed by `free_task`; sets `numbers` to the nbytes
    # of scalars that its kernels read.
    cdef void* new_task(self, tuple arguments, void** numbers, size_t* nbytes) except NULL
