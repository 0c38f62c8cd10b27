"""cuDNN's stack of recurrent layers over fixed shapes; its work is queued on run.stream.

x (steps, batch, inputs), y (steps, batch, directions * state), states (layers * directions, batch,
state), where `state` is the projection's size or `hidden`, cells (layers * directions, batch,
hidden). Weights are given as cuDNN's weight space, which `gather_weights` fills from MXNet's vector
and `scatter_weights` brings back into it; where `direct`, the vector is the weight space.
"""

from libc.stdint cimport int64_t
from libcpp.vector cimport vector

from ..._typedefs cimport RunContext
from .cudnn cimport TensorDesc

cdef struct WeightPart:  # offsets in bytes in the vector and in the weight space
    int64_t flat
    int64_t space
    void* desc

cdef struct States:  # addresses of the states and of an LSTM's cells, or NULL
    const void* h
    const void* c


cdef class Recurrent:  # an RNN, LSTM or GRU of cuDNN
    cdef void* rnn     # cudnnRNNDescriptor_t
    cdef void* x       # cudnnRNNDataDescriptor_t
    cdef void* y
    cdef TensorDesc state, cell    # descriptors of the states for the layers
    cdef TensorDesc states, cells  # descriptors of the states for copies
    cdef TensorDesc state_row, cell_row  # descriptors of one sequence in one layer and direction
    cdef int dtype, kind  # cynet's DType and cudnnDataType_t
    cdef int item, steps, batch, inputs, hidden, width, layers, directions, gates
    cdef list passes, tensors
    cdef vector[WeightPart] pieces
    cdef str what
    cdef bint prepared
    # bytes of cuDNN's buffers, known once the network is prepared
    cdef readonly size_t weights, reserve
    cdef readonly size_t[2] work  # bytes of workspace for prediction and for training
    cdef readonly bint direct
    # Query sizes and offsets from cuDNN. `parameters` is the vector.
    cdef int query_sizes(self, const RunContext* run, const void* parameters) except -1 nogil
    # Set the lengths of the sequences for the following calls.
    cdef int set_lengths(self, const int* lengths) except -1 nogil
    cdef int gather_weights(self, const RunContext* run, const void* parameters,
                            void* space) except -1 nogil
    cdef int scatter_weights(self, const RunContext* run, const void* space, void* gradient,
                             bint add) except -1 nogil
    # In training `reserve` holds data for backward; else it may be NULL.
    cdef int forward(self, const RunContext* run, bint training, const void* x, void* y,
                     States first, States last, const void* weights, void* work,
                     void* reserve) except -1 nogil
    # Data gradient: overwrites dx and, unless NULL, first_grad.h and .c; changes `reserve`.
    cdef int data_grads(self, const RunContext* run, const void* y, const void* dy, void* dx,
                        States first, States last_grad, States first_grad, const void* weights,
                        void* work, void* reserve) except -1 nogil
    # Weight gradient, added to `gradient`; follows data_grads, with the same work and reserve.
    cdef int weight_grads(self, const RunContext* run, const void* x, States first, const void* y,
                          void* gradient, void* work, void* reserve) except -1 nogil
    # Copy (or add) source to `to`; both have the layout of `desc`, a cudnnTensorDescriptor_t.
    cdef int copy(self, const RunContext* run, void* desc, const void* source, void* to,
                  bint add) except -1 nogil
    # Copy (or add) all states (kind 0) or cells (kind 1), or with `row` those of one sequence in
    # one layer and direction.
    cdef int copy_states(self, const RunContext* run, int kind, bint row, const void* source,
                         void* to, bint add) except -1 nogil
