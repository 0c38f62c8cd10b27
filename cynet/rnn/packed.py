"""The layout of the RNN operator's packed parameter array, by the names of an unfused stack.

First the weights of all layers and directions, those of the input before those of the state, then
all biases in the same order; each has the gates one after another.
"""

GATES = {  # name suffixes by mode
    "rnn_relu": [""],
    "rnn_tanh": [""],
    "lstm": ["_i", "_f", "_c", "_o"],
    "gru": ["_r", "_z", "_o"],
}


def split_parameters(array, mode, num_layers, directions, num_input, num_hidden, prefix=""):
    """Split an NDArray of packed parameters into views: a dict of name to NDArray."""
    found, begin = {}, 0

    def add_parameter(name, *shape):
        nonlocal begin
        size = shape[0] * (shape[1] if len(shape) > 1 else 1)
        found[f"{prefix}{name}"] = array[begin : begin + size].reshape(shape)
        begin += size

    for layer in range(num_layers):
        width = num_input if layer == 0 else len(directions) * num_hidden
        for side in directions:
            for group, columns in (("i2h", width), ("h2h", num_hidden)):
                for gate in GATES[mode]:
                    add_parameter(f"{side}{layer}_{group}{gate}_weight", num_hidden, columns)
    for layer in range(num_layers):
        for side in directions:
            for group in ("i2h", "h2h"):
                for gate in GATES[mode]:
                    add_parameter(f"{side}{layer}_{group}{gate}_bias", num_hidden)
    return found


def parameter_count(mode, num_layers, directions, num_input, num_hidden):
    """Return the length of the packed parameter array."""
    sides, gates = len(directions), len(GATES[mode])
    first = (num_input + num_hidden + 2) * num_hidden * gates * sides
    rest = (num_hidden + sides * num_hidden + 2) * num_hidden * gates * sides
    return first + (num_layers - 1) * rest


def infer_input_size(size, mode, num_layers, directions, num_hidden):
    """Return the size of the input, from the length of the packed parameter array."""
    rows = len(directions) * num_hidden * len(GATES[mode])
    rest = (num_layers - 1) * (num_hidden + len(directions) * num_hidden + 2)
    return size // rows - rest - num_hidden - 2
