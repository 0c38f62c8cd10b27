# cython: wraparound=True
"""Stacks of recurrent layers by cuDNN (contract in cudnn_rnn.pxd).

Numbers of enumerations are those of cuDNN 9's documentation.
"""

from libc.stddef cimport size_t

from ..._typedefs cimport dtype_size, kFloat32, kFloat64
from .cudnn cimport CudnnTable, TensorDesc, check, handle_of, library, scalar

from ...base import config
from ...base.dtype import NAMES, dtype_flag
from .cudnn import cudnn_data_type

cdef enum:
    ALGO_STANDARD = 0  # CUDNN_RNN_ALGO_STANDARD
    BIDIRECTIONAL = 1  # code of two directions; one direction has 0
    PREDICTION = 0  # CUDNN_FWD_MODE_INFERENCE
    TRAINING = 1  # CUDNN_FWD_MODE_TRAINING
    DOUBLE_BIAS = 2  # CUDNN_RNN_DOUBLE_BIAS: of inputs and of states
    LINEAR_INPUT = 0  # CUDNN_LINEAR_INPUT: inputs are multiplied by weights
    NO_PADDED_IO = 0  # CUDNN_RNN_PADDED_IO_DISABLED
    PADDED_IO = 1  # CUDNN_RNN_PADDED_IO_ENABLED
    SEQ_MAJOR_UNPACKED = 0  # CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED
    CLIP_MINMAX = 1  # CUDNN_RNN_CLIP_MINMAX: clips an LSTM's cells
    NOT_PROPAGATE_NAN = 0  # CUDNN_NOT_PROPAGATE_NAN
    PROPAGATE_NAN = 1  # CUDNN_PROPAGATE_NAN
    WGRAD_ADD = 0  # the only mode that cuDNN's documentation says is supported
    DEFAULT_MATH = 0  # CUDNN_DEFAULT_MATH
    TENSOR_OP_MATH = 1  # CUDNN_TENSOR_OP_MATH: tensor cores
    FMA_MATH = 3  # CUDNN_FMA_MATH: no tensor cores

cdef dict _RNN_MODES = {"rnn_relu": 0, "rnn_tanh": 1, "lstm": 2, "gru": 3}  # cudnnRNNMode_t
cdef double _padding_value = 0  # the value of outputs behind a sequence's end, in any dtype


cdef class Recurrent:  # an RNN, LSTM or GRU of cuDNN
    """A stack of recurrent layers without dropout between them.

    dtype (str): 'float32', 'float64', or 'float16' or 'bfloat16' (both computed in float32).
    mode (str): 'rnn_relu', 'rnn_tanh', 'lstm' or 'gru'.
    steps, batch, inputs, hidden, layers, directions: int
    passes (list of Pass): Where MXNet's vector has the parameters of each layer and direction
        (operator/rnn/layout.py).
    gates (int): Of a cell.
    clip ((float, float, bool) or None): Least and largest value of an LSTM's cells, and whether NaN
        becomes the former.
    padded (bool): Sequences may be shorter than `steps`: set_lengths says so.
    projection (int or None): Size of an LSTM's states, less than `hidden`.
    """

    def __init__(self, dtype, mode, steps, batch, inputs, hidden, layers, directions, passes,
                 gates, clip=None, padded=False, projection=None):
        cdef CudnnTable* dnn
        cdef int math = DEFAULT_MATH
        cdef vector[int] lengths
        self.dtype, self.kind = dtype_flag(dtype), cudnn_data_type(dtype)
        self.item = <int>dtype_size(self.dtype)
        self.steps, self.batch, self.inputs = steps, batch, inputs
        self.hidden, self.width = hidden, projection or hidden
        self.layers, self.directions = layers, directions
        self.gates, self.passes, self.tensors = gates, list(passes), []
        self.what = (f"{layers} {mode} layers of {hidden} in {directions} directions over "
                     f"{(steps, batch, inputs)}, {dtype}")
        if projection is not None:
            self.what += f", projected to {projection}"
        shapes = [(layers * directions, batch, n) for n in (self.width, self.hidden)]
        self.state, self.cell = [TensorDesc(dtype, shape, 3) for shape in shapes]  # opens the door
        self.states, self.cells = [TensorDesc(dtype, shape) for shape in shapes]
        self.state_row, self.cell_row = [TensorDesc(dtype, (1, shape[2])) for shape in shapes]
        if self.dtype == kFloat64 or (self.dtype == kFloat32
                                      and config.get("CYNET_CUDA_TF32") != "all"):
            math = FMA_MATH
        elif self.dtype != kFloat32:
            math = TENSOR_OP_MATH
        dnn = library()
        check(dnn.rnn_create(&self.rnn), "CreateRNNDescriptor")
        check(dnn.rnn_set(
            self.rnn, ALGO_STANDARD, _RNN_MODES[mode], DOUBLE_BIAS,
            BIDIRECTIONAL if directions == 2 else 0, LINEAR_INPUT, self.kind,
            kFloat64 if self.dtype == kFloat64 else kFloat32, math, inputs, hidden, self.width,
            layers, NULL, PADDED_IO if padded else NO_PADDED_IO),
            "SetRNNDescriptor_v8", self.what)
        if clip is not None:
            check(dnn.rnn_clip(self.rnn, CLIP_MINMAX,
                               NOT_PROPAGATE_NAN if clip[2] else PROPAGATE_NAN, clip[0], clip[1]),
                  "RNNSetClip_v8", self.what)
        check(dnn.rnn_data_create(&self.x), "CreateRNNDataDescriptor")
        check(dnn.rnn_data_create(&self.y), "CreateRNNDataDescriptor")
        lengths.assign(self.batch, self.steps)
        self.set_lengths(lengths.data())

    def __dealloc__(self):
        cdef CudnnTable* dnn = library()
        if self.rnn != NULL:
            dnn.rnn_destroy(self.rnn)
        if self.x != NULL:
            dnn.rnn_data_destroy(self.x)
        if self.y != NULL:
            dnn.rnn_data_destroy(self.y)

    cdef int set_lengths(self, const int* lengths) except -1 nogil:
        cdef int status = library().rnn_data_set(
            self.x, self.kind, SEQ_MAJOR_UNPACKED, self.steps, self.batch, self.inputs, lengths,
            &_padding_value)
        if status == 0:
            status = library().rnn_data_set(
                self.y, self.kind, SEQ_MAJOR_UNPACKED, self.steps, self.batch,
                self.directions * self.width, lengths, &_padding_value)
        return _raise_rnn_error(self, status, "SetRNNDataDescriptor") if status != 0 else 0

    cdef int query_sizes(self, const RunContext* run, const void* parameters) except -1 nogil:
        if not self.prepared:
            with gil:
                _query_sizes(self, run, parameters)
        return 0

    cdef int gather_weights(self, const RunContext* run, const void* parameters,
                            void* space) except -1 nogil:
        cdef WeightPart piece
        for piece in self.pieces:
            _copy_tensor(self, run, piece.desc, <const char*>parameters + piece.flat,
                         <char*>space + piece.space, False)
        return 0

    cdef int scatter_weights(self, const RunContext* run, const void* space, void* gradient,
                             bint add) except -1 nogil:
        cdef WeightPart piece
        for piece in self.pieces:
            _copy_tensor(self, run, piece.desc, <const char*>space + piece.space,
                         <char*>gradient + piece.flat, add)
        return 0

    cdef int forward(self, const RunContext* run, bint training, const void* x, void* y,
                     States first, States last, const void* weights, void* work,
                     void* reserve) except -1 nogil:
        cdef int status = library().rnn_forward(
            handle_of(run), self.rnn, TRAINING if training else PREDICTION, NULL, self.x, x, self.y,
            y, self.state.desc, first.h, <void*>last.h, self.cell.desc, first.c, <void*>last.c,
            self.weights, weights, self.work[training], work, self.reserve if training else 0,
            reserve if training else NULL)
        return _raise_rnn_error(self, status, "RNNForward") if status != 0 else 0

    cdef int data_grads(self, const RunContext* run, const void* y, const void* dy, void* dx,
                        States first, States last_grad, States first_grad, const void* weights,
                        void* work, void* reserve) except -1 nogil:
        cdef int status = library().rnn_to_data(
            handle_of(run), self.rnn, NULL, self.y, y, dy, self.x, dx, self.state.desc, first.h,
            last_grad.h, <void*>first_grad.h, self.cell.desc, first.c, last_grad.c,
            <void*>first_grad.c, self.weights, weights, self.work[1], work, self.reserve, reserve)
        return _raise_rnn_error(self, status, "RNNBackwardData_v8") if status != 0 else 0

    cdef int weight_grads(self, const RunContext* run, const void* x, States first, const void* y,
                          void* gradient, void* work, void* reserve) except -1 nogil:
        cdef int status = library().rnn_to_weight(
            handle_of(run), self.rnn, WGRAD_ADD, NULL, self.x, x, self.state.desc, first.h, self.y,
            y, self.weights, gradient, self.work[1], work, self.reserve, reserve)
        return _raise_rnn_error(self, status, "RNNBackwardWeights_v8") if status != 0 else 0

    cdef int copy(self, const RunContext* run, void* desc, const void* source, void* to,
                  bint add) except -1 nogil:
        return _copy_tensor(self, run, desc, source, to, add)

    cdef int copy_states(self, const RunContext* run, int kind, bint row, const void* source,
                         void* to, bint add) except -1 nogil:
        cdef void* desc
        if row:
            desc = self.cell_row.desc if kind else self.state_row.desc
        else:
            desc = self.cells.desc if kind else self.states.desc
        return _copy_tensor(self, run, desc, source, to, add)


cdef int _raise_rnn_error(Recurrent self, int status, str call) except -1 with gil:
    return check(status, call, self.what)


cdef int _copy_tensor(Recurrent self, const RunContext* run, void* desc, const void* source,
                      void* to, bint add) except -1 nogil:
    cdef int status = library().add(handle_of(run), scalar(self.dtype, True), desc, source,
                                    scalar(self.dtype, add), desc, to)
    return _raise_rnn_error(self, status, "AddTensor") if status != 0 else 0


cdef int _query_sizes(Recurrent self, const RunContext* run, const void* parameters) except -1:
    cdef CudnnTable* dnn = library()
    cdef void* handle = handle_of(run)
    cdef void* at[2]
    cdef size_t unused
    cdef TensorDesc matrix = TensorDesc("float32", (1, 1, 1), 3)  # cuDNN overwrites their shapes
    cdef TensorDesc bias = TensorDesc("float32", (1, 1, 1), 3)
    cdef TensorDesc tensor
    cdef WeightPart piece
    cdef int hidden = self.hidden
    check(dnn.rnn_weight_size(handle, self.rnn, &self.weights), "GetRNNWeightSpaceSize", self.what)
    check(dnn.rnn_space(handle, self.rnn, PREDICTION, self.x, &self.work[0], &unused),
          "GetRNNTempSpaceSizes", self.what)
    check(dnn.rnn_space(handle, self.rnn, TRAINING, self.x, &self.work[1], &self.reserve),
          "GetRNNTempSpaceSizes", self.what)
    found = []  # (offset in the vector, offset in the weight space, elements)
    for number, one in enumerate(self.passes):
        for which in range(2 * self.gates):
            check(dnn.rnn_weight_place(handle, self.rnn, number, self.weights, parameters, which,
                                       matrix.desc, &at[0], bias.desc, &at[1]),
                  "GetRNNWeightParams", self.what)
            gate = which % self.gates * hidden
            recurrent = which >= self.gates
            columns = self.width if recurrent else one.inputs
            found.append(((one.h2h_weight if recurrent else one.i2h_weight) + gate * columns,
                          <size_t>at[0] - <size_t>parameters, hidden * columns))
            found.append(((one.h2h_bias if recurrent else one.i2h_bias) + gate,
                          <size_t>at[1] - <size_t>parameters, hidden))
        if self.width != hidden:
            check(dnn.rnn_weight_place(handle, self.rnn, number, self.weights, parameters,
                                       2 * self.gates, matrix.desc, &at[0], bias.desc, &at[1]),
                  "GetRNNWeightParams", self.what)
            found.append((one.projection, <size_t>at[0] - <size_t>parameters, self.width * hidden))
    joined = []
    for flat, space, n in sorted(found):
        flat *= self.item
        if joined and joined[-1][0] + joined[-1][2] * self.item == flat and (
                joined[-1][1] + joined[-1][2] * self.item == space):
            joined[-1][2] += n
        else:
            joined.append([flat, space, n])
    self.direct = len(joined) == 1 and joined[0][:2] == [0, 0] and (
        joined[0][2] * self.item == self.weights)
    for flat, space, n in joined:
        tensor = TensorDesc(NAMES[self.dtype], (1, n))
        self.tensors.append(tensor)
        piece.flat, piece.space, piece.desc = flat, space, tensor.desc
        self.pieces.push_back(piece)
    self.prepared = True
    return 0
