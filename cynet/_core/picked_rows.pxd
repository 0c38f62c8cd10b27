"""New arrays of some rows of an array, by a mask or by indices, as functions of the engine.

Promises:
- Both arrays are on the host, and what is picked is of array's face.
- The shape is known at once: a mask is waited for.
"""

from .._ndarray cimport NDArrayBase

# Return the rows of `array` whose byte in `marks` is not 0. A row has all axes but the first
# `axes`. The marks are those of `mask`, which is waited for, or, where that is None, memory that is
# read before this returns.
cdef NDArrayBase rows_by_mask(NDArrayBase array, int axes, NDArrayBase mask, const char* marks)

# Return the rows of `array` at the indices `numbers`, an int64 array whose values are within
# bounds. The engine reads the indices when it runs the function.
cdef NDArrayBase rows_by_index(NDArrayBase array, NDArrayBase numbers)
