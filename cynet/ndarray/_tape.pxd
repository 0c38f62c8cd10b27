"""The tape: the graph of nodes that imperative calls record for autograd.

An array's `grad_entry` is None, or says which output of which Node it is: the Node itself where it
has one output, else an Output. Nodes hold their inputs' entries, never their own outputs, so that
a graph goes when the arrays that were computed with it go. `cynet.autograd` walks it.

Promises:
- A thread that does not record pays one look at `n_flagged` for a call.
- A node keeps only arrays that backward reads, and knows whether they were written since.
"""

from cpython.object cimport PyObject
from libc.stdint cimport uint64_t
from libcpp.vector cimport vector

from .._core.face cimport Face
from .._ndarray cimport NDArrayBase
from .._typedefs cimport TBlob
from ._resolve cimport Call, State

cdef int n_flagged                     # number of threads that record or train
cdef bint is_recording() noexcept         # whether this thread records
cdef bint is_training() noexcept
# Set the flags of this thread (bit 0: records, bit 1: trains); returns the old flags.
cdef int set_flags(int flags) noexcept  # RECORDING, TRAINING; returns the old flags

cdef class Node:  # a recorded step of autograd's graph
    cdef Face face         # class of arrays (mx.nd or mx.np) of the outputs
    cdef list inputs       # entries of the inputs, None where no gradient flows; None: freed
    cdef readonly int n_out
    cdef uint64_t scope    # id of the record scope in which it was made
    # the user's line that recorded the node: a code object and an offset, or None and the line
    cdef object code
    cdef int place
    # State of the last walk (autograd/_walk.pyx) that visited the node.
    cdef uint64_t walk
    cdef int at            # inputs looked at
    cdef bint needed       # the walk passes this node on its way to a wanted gradient
    cdef list grads        # gradients of the outputs
    cdef uint64_t shared_grads     # bit i: another object shares grads[i]
    cdef dict hooks        # index of an output -> functions that take its gradient; or None
    # Raises when an array that backward reads was written after the recording.
    cdef int check_saved_arrays(self) except -1
    # Release all references after the node's backward.
    cdef int release(self) except -1
    # The inputs' gradients (NDArray or None) from `grads`, those of the outputs; CallNodes do not
    # have it.
    cdef list input_gradients(self, list grads, bint recorded)

cdef class Output:  # graph entry: output `index` of a node
    cdef readonly Node node
    cdef readonly int index

cdef class Leaf(Node):  # graph entry of an array with a gradient
    # An array that has a gradient.
    cdef TBlob like        # shape, dtype and device of the array; data == NULL
    cdef readonly NDArrayBase grad
    cdef int req           # OpReq
    cdef public bint fresh

cdef class GradInfo:  # what a Call's backward reads and writes
    # Properties of a Call's gradient, computed at its first use.
    cdef bint differentiable
    cdef bint honours_req
    cdef bint moves_states  # backward updates states, so it runs without a gradient
    cdef bint takes_grad    # backward reads the gradient of an output
    cdef bint view          # the gradient is that of the output, reshaped
    cdef bint passes        # each input's gradient is the gradient of output 0
    cdef vector[char] reads      # 1 for each array of out_grad, in_data, out_data that is read
    cdef vector[char] flows      # 1 for each input that gets a gradient
    cdef vector[char] fixed      # 1 for each input that backward never reads
    cdef vector[int] resources

cdef class SavingNode(Node):  # a node that keeps arrays for backward
    # A node with arrays.
    cdef list arrays             # for each input and output; None if backward does not read it
    cdef vector[unsigned] writes  # count of writes to each array before the recording
    cdef dict marks              # array whose memory is exposed -> the values it held
    cdef bint open               # the node still has arrays: `release` has not released them
    cdef void end_saving(self) noexcept
    cdef int save(self, NDArrayBase array) except -1
    # Array i was written after the recording: restore its old values, if they are known.
    cdef int restore_old_values(self, size_t i) except -1
    cdef bint ignores_writes_to(self, size_t i) noexcept  # array i is never read

cdef class CallNode(SavingNode):  # a recorded Call
    # `arrays` are inputs, then outputs.
    cdef Call call
    cdef GradInfo info
    cdef State* state
    cdef bint is_train
    cdef list aux

cdef class CopyNode(Node):  # a recorded copy
    # A copy of an array to another dtype or device.
    cdef TBlob like

cdef class StepNode(SavingNode):  # a node whose backward is Python
    # A node whose backward is written in Python.
    cdef vector[TBlob] likes  # shapes and dtypes of the inputs

# Fill in the GradInfo of a Call.
cdef int fill_grad_info(Call call) except -1

# The entry of an array that was recorded but needs no gradient.
cdef Node DETACHED
cdef inline Node node_of(object entry):
    return <Node>entry if isinstance(entry, Node) else (<Output>entry).node

cdef inline int out_index(object entry) noexcept:
    return 0 if isinstance(entry, Node) else (<Output>entry).index

# The entry of an array in a graph. None, too, where an earlier backward has freed a graph of
# another record scope: the array is a constant from then on.
cdef object live_graph_entry(NDArrayBase array)

# True if one of `n` arrays belongs to a graph.
cdef inline bint any_tracked(PyObject** arrays, int n) noexcept:
    cdef int i
    for i in range(n):
        if (<NDArrayBase>arrays[i]).grad_entry is not None:
            return True
    return False

# Record a call that was pushed: its outputs belong to the graph. `state` comes with a reference.
cdef int record_call(Call call, PyObject** arrays, PyObject** outs, State* state,
                     bint is_train) except -1
# Record a view of `source`'s memory that `call` would compute.
cdef int record_view(Call call, NDArrayBase source, NDArrayBase view) except -1
# Record a copy of `source` to `target`.
cdef int record_copy(NDArrayBase source, NDArrayBase target) except -1
# The gradient request of an array: its leaf's, kWriteTo for another array of a graph, or kNullOp.
cdef int gradient_request(NDArrayBase array) noexcept
# Raise when this thread records and the array belongs to a graph: it must not be written.
cdef int refuse_write(NDArrayBase array) except -1
# Raise when this thread records and `value`, which belongs to a graph, is to be written into a
# part of another array.
cdef int refuse_part_write(NDArrayBase value) except -1
