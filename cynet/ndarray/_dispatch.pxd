"""Imperative calls: an operator resolved once for one signature of inputs, then pushed to the
engine.

Promises:
- What is wrong with the arguments raises at once and names operator and argument; what goes wrong
  while the operator runs is raised where the result is awaited and names operator, shapes and the
  user's line.
- An output that shares memory with an input is computed in place only where the operator allows it.
"""

from cpython.object cimport PyObject
from libc.stdint cimport int64_t
from libcpp.vector cimport vector

from .._ndarray cimport NDArrayBase, same_shape
from .._typedefs cimport TBlob
from ..operator._base cimport OpEntry

cdef enum:
    MOST_KNOWN = 16  # arrays, outputs

cdef struct State:
    # What a run needs of its Call; alive while the Call is, and until the last run is done.
    int references     # guarded by the atomic functions of the C++ compiler
    void* op           # Operator, a reference is held
    const char* name   # the operator's, kept for ever

cdef class Call:
    cdef readonly OpEntry entry
    cdef readonly object prop
    cdef State* state          # NULL when every run makes an Operator of its own
    # for each input and state: its place among the arrays given; None: as given
    cdef list order
    cdef int n_in, n_aux, n_out, n_visible
    cdef bint python
    cdef bint used             # since `resolve` last thought of forgetting it
    cdef int dev_type, dev_id
    cdef int64_t nbytes        # of all arrays
    cdef bint quick            # not worth another thread
    cdef vector[TBlob] arrays  # what inputs and states look like; data == NULL
    cdef vector[TBlob] outs
    cdef vector[int] resources
    cdef vector[char] inplace  # [input * n_out + output]
    cdef list in_shapes, in_types
    cdef object context

# The Call for `given` (NDArrayBase, positional first, then those of `names`).
cdef Call resolve(OpEntry entry, list given, tuple names, dict params, object ctx)
cdef Call with_scalar(Call call, object number)
# Runs it: a list of all visible outputs. `out` (or None) has NDArrayBase.
cdef list run(Call call, list given, list out, bint is_train)
# The same for one or two inputs and one output, with no list made.
cdef NDArrayBase run_small(Call call, NDArrayBase lhs, NDArrayBase rhs, NDArrayBase out)
# The same for `n` arrays by place, no more than MOST_KNOWN: the array, or the list of visible
# outputs. `out` is None or the only visible output.
cdef object run_known(Call call, PyObject** arrays, int n, NDArrayBase out)
# Same device, dtype and shape.
cdef inline bint fits(const TBlob* pattern, const TBlob* blob) noexcept nogil:
    return (pattern.dtype == blob.dtype and pattern.dev_type == blob.dev_type
            and pattern.dev_id == blob.dev_id and same_shape(pattern, blob))
