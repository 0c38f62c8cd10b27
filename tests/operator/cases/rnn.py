"""Cases of RNN: each mode in one direction and two, states, lengths, clipping."""

from tests.operator.rnn.reference import GATES, rnn

from .case import Case, Input, ints


def case(mode, layers=1, both=False, lengths=None, steps=3, batch=2, inputs=3, hidden=2, **params):
    """A Case whose shapes follow from the numbers; `lengths` is a dtype."""
    directions, rows = 2 if both else 1, GATES[mode] * hidden
    projection = params.get("projection_size", 0)
    out = projection or hidden
    size = sum(
        directions * rows * ((inputs if k == 0 else directions * out) + out + 2)
        for k in range(layers)
    )
    size += layers * directions * projection * hidden
    state = Input((layers * directions, batch, out))
    given = [Input((steps, batch, inputs)), Input((size,)), state]
    given += [Input((layers * directions, batch, hidden))] * (mode == "lstm")
    params = {"state_size": hidden, "num_layers": layers, "mode": mode, **params}
    if both:
        params["bidirectional"] = True
    if lengths:
        params["use_sequence_length"] = True
        given.append(Input((batch,), ints(0, steps + 1), lengths))
    smooth = tuple(range(len(given) - bool(lengths)))
    if params.get("p"):  # what is dropped: tests/gluon/rnn/test_rnn.py
        return Case("RNN", given, None, params, grad=smooth, infers=smooth[1:])
    # states and parameters follow from data; from outputs and parameters nothing is missing
    return Case("RNN", given, rnn, params, grad=smooth, infers=smooth[1:])


CASES = [
    *(case(mode, state_outputs=True) for mode in GATES),
    *(case(mode, 2, True, state_outputs=True) for mode in GATES),
    case("rnn_tanh", 3, steps=1, batch=1),
    case("lstm", 2, p=0.0, steps=4),
    case("gru", 2, steps=4, batch=5, hidden=3),
    *(case(mode, 2, True, "int32", state_outputs=True, steps=4, batch=3) for mode in GATES),
    case("lstm", 1, lengths="float32", steps=4, batch=4),
    case("rnn_tanh", 2, p=0.4),
    case("gru", 3, True, p=0.3, state_outputs=True),
    case("lstm", hidden=4, projection_size=3),
    case("lstm", 2, True, hidden=3, projection_size=2, state_outputs=True),
    case("lstm", 2, True, "int32", hidden=2, projection_size=3, state_outputs=True, batch=3),
    case("lstm", 2, p=0.0, projection_size=1, lstm_state_clip_min=-0.1, lstm_state_clip_max=0.1),
    case(
        "lstm",
        2,
        state_outputs=True,
        lstm_state_clip_min=-0.11,
        lstm_state_clip_max=0.07,
        lstm_state_clip_nan=True,
    ),
]
