"""Bulks: elementwise calls that are collected, and pushed together as one engine function.

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

# Add a call on `arrays` that writes `out` to the program; False if the caller has to run it.
cdef bint defer_call(Call call, PyObject** arrays, NDArrayBase out) except -1
# Add a copy of all of `source` to `out`; False if the caller has to run it.
cdef bint defer_copy(NDArrayBase source, NDArrayBase out) except -1
