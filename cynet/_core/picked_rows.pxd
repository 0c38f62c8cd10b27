"""New arrays of some rows of an array, by a mask or by indices, as functions of the engine.

Promises:
- Both arrays are on the host, and what is picked is of array's face.
- The shape is known at once: a mask is waited for.
"""

from .._ndarray cimport NDArrayBase

# The rows of `array` whose byte of `marks` is not 0; a row has the axes behind the first `axes`.
# The marks are those of `mask`, which is waited for, or, where that is None, memory that is read
# before this returns.
cdef NDArrayBase marked_rows(NDArrayBase array, int axes, NDArrayBase mask, const char* marks)

# The rows of `array` at the indices `numbers`, int64 and all of them within bounds, which are read
# when the engine runs this.
cdef NDArrayBase numbered_rows(NDArrayBase array, NDArrayBase numbers)
