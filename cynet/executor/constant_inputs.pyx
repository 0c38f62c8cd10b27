"""ConstantInputs: arguments with a fixed value (a BatchNorm's fixed gamma), restored after writes.

An input that its operator does not read (gamma of ``BatchNorm(fix_gamma=True)``) would be shrunk by
weight decay without end. A forward restores the constant, as in MXNet, if the array was written
since the last forward; else it only looks at the count of writes and pushes nothing.
"""

from ..engine.records cimport pushed_write_count
from .._ndarray cimport NDArrayBase
from ..ndarray._tape cimport set_flags


cdef class ConstantInput:  # an array and the number that it always holds
    """An array, and the number that it always holds."""

    cdef NDArrayBase array
    cdef object number
    cdef bint held      # once
    cdef unsigned seen  # the array's version at the last restore

    cdef int restore(self) except -1:  # fills the array again
        if (self.held and pushed_write_count(self.array.chunk.var) == self.seen
                and not self.array.chunk.exposed.load()):
            return 0
        self.array[:] = self.number
        self.seen = pushed_write_count(self.array.chunk.var)
        self.held = True
        return 0


cdef class ConstantInputs:  # arrays and the numbers that they always hold
    """Inputs of an executor that hold one number each, which is restored after a write.

    pairs (list of (NDArray, float)): Arrays and the numbers they are to hold.
    other (ConstantInputs, optional): Those of an executor that may share arrays, which are not
        checked twice.
    """

    cdef list inputs

    def __init__(self, list pairs, ConstantInputs other=None):
        cdef ConstantInput each
        known = {}
        if other is not None:
            known = {id((<ConstantInput>each).array): each for each in other.inputs}
        self.inputs = []
        for array, number in pairs:
            each = known.get(id(array))
            if each is None:
                each = ConstantInput.__new__(ConstantInput)
                each.array, each.number, each.held = array, number, False
            self.inputs.append(each)

    def restore(self):  # fills changed arrays again
        """Write the constants into arrays that may have changed, without recording by autograd."""
        cdef int flags = set_flags(0)
        try:
            for each in self.inputs:
                (<ConstantInput>each).restore()
        finally:
            set_flags(flags)
