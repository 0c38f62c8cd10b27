"""UpdateStep: a weight update (contract in update_step.pxd)."""

from ..base.errors import CynetError


cdef class UpdateStep:  # base of optimizers' weight updates
    """Base class of weight updates; a call pushes the update to the engine."""

    cdef void* new_task(self, tuple arguments, void** numbers, size_t* nbytes) except NULL:
        raise CynetError(f"{type(self).__name__} does not define new_task")
