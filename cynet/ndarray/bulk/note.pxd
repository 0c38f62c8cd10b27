"""Bulks: elementwise calls that are noted, and pushed together as one function of the engine.

There is one program of noted calls, guarded by the GIL. All its arrays have one dtype and one
number of elements. It is pushed when somebody looks at a variable that it writes, or writes one
that it reads (engine/deferred.pxd), when a call does not fit it, and when its thread's limit is
reached.

Promises:
- The loops are those of the calls, in their order, each over a block of the arrays (the chains of
  the executor, kernels/elementwise/fused.h): the same bytes.
- What nobody but the program holds when it is pushed is not written: it stays in registers.
- A failure of one input reaches what was computed from it, and nothing else.
"""

from cpython.object cimport PyObject

from ..._ndarray cimport NDArrayBase
from .._resolve cimport Call

# Note a call on `arrays` that writes `out`; False: it cannot be, and has to be run.
cdef bint note(Call call, PyObject** arrays, NDArrayBase out) except -1
# Note `out[...] = source`, all of it; False: it cannot be noted.
cdef bint note_copy(NDArrayBase source, NDArrayBase out) except -1
