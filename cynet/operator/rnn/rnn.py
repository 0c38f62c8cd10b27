"""RNN: stacked recurrent layers over all steps of a batch of sequences in one operator."""

from ...base.errors import ArgumentError, ShapeError
from ...kernels.gemm.blas import check_sizes
from ..checks.dtypes import NARROW_FLOATS, require_float_cpu
from ..checks.index_dtype import IndexRead
from ..graph_hooks import GraphHooks
from ..parameters import MAX_ARRAYS, Bool, Double, Enum, Float, Int
from ..precision import LOW, Precision
from ..property import OperatorProperty, ResourceRequest, is_known, merge_shapes
from .layers import LayersOperator
from .layout import GATES, parameter_layout, saved_values_layout


class RNNProperty(OperatorProperty, operator="RNN"):
    """Recurrent layers, of one direction or two, over sequences (steps, batch, input size).

    Each step takes the state h of the step before and gives the next (W are weights of the input
    x, R of the state, b and d biases; `*` is elementwise):

    - rnn_relu, rnn_tanh: ``h = f(W x + b + R h + d)``
    - lstm: ``i, f, o = sigmoid(...)``, ``g = tanh(...)`` of such sums, ``c = f * c + i * g``,
      ``h = o * tanh(c)``
    - gru: ``r, z = sigmoid(...)`` of such sums, ``n = tanh(W x + b + r * (R h + d))``,
      ``h = (1 - z) * n + z * h``

    `parameters` is one vector, in the order that MXNet and cuDNN have: of each layer and direction
    W and R of all gates (in the order i, f, g, o, or r, z, n) and the matrix of `projection_size`,
    then of each b and d. The output is (steps, batch, out_size), of two directions (steps, batch, 2
    * out_size), where out_size is state_size or projection_size; with `state_outputs` the states
    (and cells) after each sequence's last step follow.

    With `use_sequence_length`, steps after a sequence's length give 0 and change no state, and the
    second direction begins at a sequence's own last step; the states of one of length 0 stay what
    they were. (MXNet does so on GPUs, and computes all steps on the CPU.) The same holds for
    clipping: MXNet does neither on the CPU, cynet does both.
    """

    state_size = Int(doc="Size of the state of each layer and direction.", low=1)
    num_layers = Int(
        doc="Number of layers, each over the output of the one below.", low=1, high=MAX_ARRAYS
    )
    bidirectional = Bool(False, doc="Whether each layer runs over the sequences backwards, too.")
    mode = Enum(("rnn_relu", "rnn_tanh", "lstm", "gru"), doc="Kind of the cells.")
    p = Float(
        0.0,
        doc="Probability of an element of a layer's output, the last layer's apart, to be dropped "
        "in training; the others are divided by 1 - p.",
        low=0.0,
        high=1.0,
    )
    state_outputs = Bool(False, doc="Whether the last states are outputs, too.")
    projection_size = Int(
        None,
        doc="Length of an LSTM's states, each the product of a matrix by ``o * tanh(c)``; None "
        "leaves that out.",
        low=1,
    )
    lstm_state_clip_min = Double(
        None,
        doc="Least value of an LSTM's cells where they are used (the cell that comes out is not "
        "clipped); only together with lstm_state_clip_max.",
    )
    lstm_state_clip_max = Double(None, doc="Largest value of an LSTM's cells.")
    lstm_state_clip_nan = Bool(False, doc="Whether clipping turns NaN into lstm_state_clip_min.")
    use_sequence_length = Bool(
        False, doc="Whether `sequence_length` is given; if not, all sequences are full."
    )

    inputs_doc = {
        "data": "Sequences, (steps, batch, input size).",
        "parameters": "All weights and biases, a vector.",
        "state": "States before the first step, (num_layers * directions, batch, out_size).",
        "state_cell": "An LSTM's cells before the first step, (..., state_size).",
        "sequence_length": "Length of each sequence, 0 to steps, (batch,), any number; only "
        "with use_sequence_length. It has no gradient.",
    }

    graph = GraphHooks(
        private_outputs=True, float32_beside_half=("sequence_length",), draws_in_training_alone=True
    )
    amp = Precision(LOW)
    drawn_as = "weighted"
    example = """
    >>> data = mx.nd.random.uniform(shape=(5, 2, 3))  # length 5, batch of 2, 3 features
    >>> size = 4 * 8 * (3 + 8 + 2)  # four gates: their two weights and two biases
    >>> state, cell = mx.nd.zeros((1, 2, 8)), mx.nd.zeros((1, 2, 8))
    >>> weights = mx.nd.ones(size)
    >>> out = mx.nd.RNN(data, weights, state, cell, mode="lstm", state_size=8, num_layers=1)
    >>> out.shape
    (5, 2, 8)
    """

    @property
    def second_order(self):
        """Written as steps."""
        from .stepwise import STEPWISE  # imported late: few programs use second gradients

        return STEPWISE

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        low, high = self.lstm_state_clip_min, self.lstm_state_clip_max
        where = f"operator {self.op_name}"
        if self.projection_size is not None and self.mode != "lstm":
            raise ArgumentError(
                f"{where}: projection_size={self.projection_size} takes mode='lstm', got "
                f"'{self.mode}'"
            )
        if (low is None) != (high is None):
            raise ArgumentError(
                f"{where}: lstm_state_clip_min and lstm_state_clip_max go together, got {low} and "
                f"{high}"
            )
        if low is not None and (self.mode != "lstm" or not low <= high):
            raise ArgumentError(
                f"{where}: lstm_state_clip_min={low} and lstm_state_clip_max={high} take mode="
                f"'lstm', got '{self.mode}', and the least value first"
            )

    @classmethod
    def with_defaults(cls):
        return cls(mode="lstm", state_size=1, num_layers=1)

    @property
    def direction_count(self):
        """The number of directions: 1, or 2 if it is bidirectional."""
        return 2 if self.bidirectional else 1

    @property
    def out_size(self):
        """Length of a state of one layer and direction, after an optional projection."""
        return self.projection_size or self.state_size

    @property
    def has_dropout(self):
        """True if there is dropout between layers."""
        return self.p > 0 and self.num_layers > 1

    def list_arguments(self):
        names = ["data", "parameters", "state"]
        if self.mode == "lstm":
            names.append("state_cell")
        return [*names, "sequence_length"] if self.use_sequence_length else names

    def list_outputs(self):
        names = ["output"]
        if self.state_outputs:
            names += ["state_output", "statecell_output"][: self._count_states()]
        return [*names, "reserve"]

    def num_visible_outputs(self):
        return len(self.list_outputs()) - 1

    def _count_states(self):
        """Return the number of kinds of state."""
        return 2 if self.mode == "lstm" else 1

    def infer_shape(self, in_shapes, out_shapes):
        n, hidden, both = self._count_states(), self.out_size, self.direction_count
        rows = self.num_layers * both
        for name, shape in zip(self.list_arguments(), in_shapes[:3]):
            wanted = 1 if name == "parameters" else 3
            if shape is not None and len(shape) != wanted:
                raise ShapeError(f"{name} must have {wanted} axes, got shape {tuple(shape)}")
        data = merge_shapes((0, 0, 0), in_shapes[0])
        out = merge_shapes((data[0], data[1], both * hidden), out_shapes[0])
        state = merge_shapes((rows, out[1], hidden), in_shapes[2], *out_shapes[1:-1][:1])
        states = [state]
        if n == 2:
            cell = (rows, state[1], self.state_size)
            states.append(merge_shapes(cell, in_shapes[3], *out_shapes[2:-1]))
        batch = states[-1][1]
        if self.use_sequence_length and in_shapes[-1] is not None:
            batch = merge_shapes((batch,), in_shapes[-1])[0]
        data = (out[0], batch, data[2] or self._input_size(in_shapes[1]))
        weights = in_shapes[1]
        if data[2]:
            weights = merge_shapes((parameter_layout(self, data[2])[1],), weights)
        states = [(rows, batch, shape[2]) for shape in states]
        ins = [data, weights, *states]
        if self.use_sequence_length:
            ins.append((batch,))
        memory = (max(saved_values_layout(self, data)[3], 1),) if is_known(data) else None
        outs = [(data[0], batch, both * hidden), *states[: len(out_shapes) - 2]]
        return ins, [*outs, memory], []

    def _input_size(self, shape):
        """Return the input size that a vector of parameters of this shape is for; 0 if unknown."""
        if not is_known(shape):
            return 0
        each = GATES[self.mode] * self.state_size * self.direction_count
        size, rest = divmod(shape[0] - parameter_layout(self, 0)[1], each)
        if rest or size < 1:
            raise ShapeError(f"parameters of shape {tuple(shape)} fit no input size")
        return size

    def infer_type(self, in_types, out_types):
        counted = in_types[-1] if self.use_sequence_length else None
        others = in_types[:-1] if self.use_sequence_length else in_types
        ins, outs, _ = super().infer_type(others, out_types[:-1])
        memory = "float32" if ins[0] in NARROW_FLOATS else ins[0]
        return [*ins, *[counted or ins[0]] * self.use_sequence_length], [*outs, memory], []

    def arrays_read_by_index(self, in_shapes, in_types):
        lengths = in_types[-1:] if self.use_sequence_length else ()
        return [IndexRead(("sequence_length", kind, in_shapes[0][0] + 1)) for kind in lengths]

    def forward_resource(self, in_shapes):
        return [ResourceRequest.temp_space, *[ResourceRequest.random] * self.has_dropout]

    def backward_resource(self, in_shapes):
        return [ResourceRequest.temp_space]

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        visible = self.num_visible_outputs()
        return [*out_grad[:visible], *in_data, out_data[visible]]

    def create_operator(self, ctx, in_shapes, in_types):
        n = 2 + self._count_states()
        require_float_cpu(self, ctx, self.list_arguments()[:n], in_types[:n])
        steps, batch, size = in_shapes[0]
        check_sizes(
            f"operator {self.op_name}", steps * batch, size, GATES[self.mode] * self.state_size
        )
        return LayersOperator(self, in_shapes[0], in_types[0])
