"""RNN in NumPy, step by step and one sequence after another: slow, and nothing of cynet's."""

import numpy as np

GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def split(flat, mode, layers, directions, inputs, hidden, projection=None):
    """[(W, R, P or None, b, d)] of each layer and direction."""
    rows, at, weights, biases = GATES[mode] * hidden, 0, [], []
    out = projection or hidden

    def take(*shape):
        nonlocal at
        at += int(np.prod(shape))
        return flat[at - int(np.prod(shape)) : at].reshape(shape)

    for layer in range(layers):
        size = inputs if layer == 0 else directions * out
        for _ in range(directions):
            pair = take(rows, size), take(rows, out)
            weights.append((*pair, take(out, hidden) if projection else None))
    biases = [(take(rows), take(rows)) for _ in weights]
    assert at == flat.size
    return [(*w, *b) for w, b in zip(weights, biases)]


def step(mode, parts, x, h, c, clip):
    w, r, p, b, d = parts
    a, e = w @ x + b, r @ h + d
    if mode == "rnn_relu":
        return np.maximum(a + e, 0), c
    if mode == "rnn_tanh":
        return np.tanh(a + e), c
    a, e = np.split(a, GATES[mode]), np.split(e, GATES[mode])
    if mode == "gru":
        reset, z = sigmoid(a[0] + e[0]), sigmoid(a[1] + e[1])
        return (1 - z) * np.tanh(a[2] + reset * e[2]) + z * h, c
    i, f, g, o = (left + right for left, right in zip(a, e))
    used = (lambda cells: cells) if clip is None else (lambda cells: np.clip(cells, *clip))
    c = sigmoid(f) * used(c) + sigmoid(i) * np.tanh(g)
    h = sigmoid(o) * np.tanh(used(c))
    return h if p is None else p @ h, c


def rnn(
    data,
    parameters,
    state,
    *rest,
    state_size,
    num_layers,
    mode,
    bidirectional=False,
    state_outputs=False,
    lstm_state_clip_min=None,
    lstm_state_clip_max=None,
    use_sequence_length=False,
    p=0.0,
    lstm_state_clip_nan=False,
    factors=None,
    projection_size=None,
):
    """The visible outputs; `factors` multiply the inputs of the layers from the second on."""
    steps, batch, inputs = data.shape
    directions = 2 if bidirectional else 1
    cells = rest[0] if mode == "lstm" else np.zeros_like(state)
    lengths = rest[-1].astype(int) if use_sequence_length else [steps] * batch
    clip = None if lstm_state_clip_min is None else (lstm_state_clip_min, lstm_state_clip_max)
    parts = split(parameters, mode, num_layers, directions, inputs, state_size, projection_size)
    out_size = projection_size or state_size
    last_h, last_c, x = np.array(state), np.array(cells), data
    for layer in range(num_layers):
        if layer and factors is not None:
            x = x * factors[layer - 1]
        y = np.zeros((steps, batch, directions * out_size), data.dtype)
        for direction in range(directions):
            number = layer * directions + direction
            columns = slice(direction * out_size, (direction + 1) * out_size)
            for n in range(batch):
                h, c = state[number, n], cells[number, n]
                order = range(lengths[n])
                for t in order if direction == 0 else reversed(order):
                    h, c = step(mode, parts[number], x[t, n], h, c, clip)
                    y[t, n, columns] = h
                last_h[number, n], last_c[number, n] = h, c
        x = y
    states = (last_h, last_c) if mode == "lstm" else (last_h,)
    return (x, *states) if state_outputs else x
