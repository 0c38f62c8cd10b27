"""The operator of an imperative call, resolved once for one signature of inputs.

What is wrong with the arguments raises here, at once, and names operator and argument.
"""

from libc.stdint cimport int64_t
from libcpp.vector cimport vector

from .._core.sparse_kind cimport is_sparse
from .._core.face cimport Face
from .._ndarray cimport NDArrayBase, same_shape
from .._typedefs cimport TBlob
from ..operator._base cimport OpEntry, Operator

cdef extern from *:
    """
    static inline void cynet_state_hold(int* n) { __atomic_fetch_add(n, 1, __ATOMIC_RELAXED); }
    static inline int cynet_state_drop(int* n) {
        return __atomic_sub_fetch(n, 1, __ATOMIC_ACQ_REL); }
    """
    void state_hold "cynet_state_hold" (int* n) noexcept nogil
    int state_drop "cynet_state_drop" (int* n) noexcept nogil

cdef enum:
    RANDOM_IN_TRAINING = 2  # Call.resources: a random stream that only training uses

cdef struct State:  # an operator and names that a Call's runs need
    # Data of a Call that its runs need; alive while the Call is, and until the last run is done.
    int references     # guarded by the atomic functions of the C++ compiler
    void* op           # Operator, a reference is held
    void* node         # name of the graph node, or None; a reference is held
    const char* name   # the operator's, interned

cdef class Call:  # an operator with parameters, for given shapes and dtypes
    cdef readonly OpEntry entry
    cdef Face face             # class of the outputs (mx.nd or mx.np)
    cdef readonly object prop
    cdef object node           # name of the graph node that it runs, or None
    cdef State* state          # NULL when every run makes an Operator of its own
    # for each input and state: its index among the given arrays; None if they are in order
    cdef list order
    cdef int n_in, n_aux, n_out, n_visible
    cdef bint python
    cdef int dev_type, dev_id
    cdef int64_t nbytes        # bytes of all arrays together
    cdef bint quick            # too short to be worth another thread
    cdef vector[TBlob] arrays  # dtypes and shapes of inputs and states; data == NULL
    cdef vector[TBlob] outs
    cdef vector[int] resources
    cdef vector[char] inplace  # [input * n_out + output]
    cdef list in_shapes, in_types
    cdef object context
    cdef object backward       # a GradInfo (_tape.pxd), or None before its first use
    cdef object key            # key in the operator's cache of calls
    cdef bint used             # set by a lookup, cleared when an eviction spares it

# Device, dtypes and shapes of the arrays (NDArrayBase), as bytes.
cdef bytes pack_signature(list given, int dev_type, int dev_id)
# The Call for `given` (NDArrayBase, positional first, then those of `names`), whose outputs are
# arrays of `face`.
cdef Call resolve_call(Face face, OpEntry entry, list given, tuple names, dict params, object ctx)
# The Call of a node of a graph (symbol/node.py), with pairs (shape, dtype) for inputs and outputs;
# errors name the node.
cdef Call call_of_node(object node, Face face, object context, list ins, list outs)
# call_of_node for another node of the same operator, parameters, inputs and outputs.
cdef Call copy_call_for_node(Call call, object node)
# The Call that differs only in its parameter `scalar`, or None where the operator is made anew.
cdef Call with_scalar(Call call, object number)  # with another `scalar`
# An Operator for one run of a Call that has no State.
cdef Operator make_operator(Call call)  # for one run
# A State of one reference; `drop_state` gives one back, from any thread.
cdef State* new_state(object op, str name, object node=*) except NULL
cdef void drop_state(State* state) noexcept nogil
# Texts as C strings that are never freed, as engine functions hold them; beyond MAX_FILES, all
# names of files are one string.
cdef const char* intern_c_string(str text) except NULL
cdef const char* intern_file(str name) except NULL
# Run a call with a sparse array, by the function that `set_sparse_call` registered.
cdef object sparse_call(OpEntry entry, list given, tuple names, dict params, object out)
cdef inline bint any_sparse(list given) noexcept:
    for each in given:
        if isinstance(each, NDArrayBase) and is_sparse(&(<NDArrayBase>each).blob):
            return True
    return False
# True for the same device, dtype and shape.
cdef inline bint matches(const TBlob* pattern, const TBlob* blob) noexcept nogil:
    return (pattern.dtype == blob.dtype and pattern.dev_type == blob.dev_type
            and pattern.dev_id == blob.dev_id and same_shape(pattern, blob))
