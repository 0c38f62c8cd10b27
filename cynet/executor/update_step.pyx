"""UpdateStep (contract in update_step.pxd)."""

from ..base.errors import CynetError


cdef class UpdateStep:
    """Base of updates of weights; calling one pushes it to the engine."""

    cdef void* new_task(self, tuple arguments, void** numbers, size_t* nbytes) except NULL:
        raise CynetError(f"{type(self).__name__} does not define new_task")
