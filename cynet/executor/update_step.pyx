"""UpdateStep (contract in update_step.pxd)."""


cdef class UpdateStep:
    """An update of weights, which a call pushes."""

    cdef void* new_task(self, tuple arguments, void** numbers, size_t* nbytes) except NULL:
        raise NotImplementedError
