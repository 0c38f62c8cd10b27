"""Importers of recurrent layers: they become cynet's fused RNN operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import symbol as sym
from .importers import imports
from .recurrent import GATE_ORDERS

if TYPE_CHECKING:
    from ..symbol import Symbol
    from .importers import Node, Reader

_MODE_BY_KIND = {"LSTM": "lstm", "GRU": "gru", "RNN": "rnn_tanh"}  # kind of node -> mode of RNN
_USUAL_ACTIVATIONS = {  # of each mode of RNN
    "lstm": ["Sigmoid", "Tanh", "Tanh"],
    "gru": ["Sigmoid", "Tanh"],
    "rnn_tanh": ["Tanh"],
    "rnn_relu": ["Relu"],
}


@imports("LSTM", "GRU", "RNN")
def recurrent(reader: Reader, node: Node) -> list[Symbol]:
    mode = _rnn_mode(node)
    direction = node.choice("direction", "forward", "reverse", "bidirectional")
    if mode == "gru" and not node.get("linear_before_reset", 0):
        node.refuse("linear_before_reset=0")
    if mode == "lstm":
        node.require_value("input_forget", 0)
    if node.get("clip") is not None:
        node.refuse("clip")
    if node.has_input(4):
        node.refuse("sequence lengths")
    if node.has_input(7):
        node.refuse("peepholes")
    w, r = node.constant(1), node.constant(2)
    directions, hidden = w.shape[0], r.shape[2]
    if node.get("hidden_size", hidden) != hidden:
        node.refuse(f"hidden_size={node.get('hidden_size')} for weights of {hidden}")
    if directions != (2 if direction == "bidirectional" else 1):
        node.refuse(f"weights of {directions} directions for direction={direction}")
    node.ignore("output_sequence")  # opsets below 7: whether the first output is used
    by_batch = node.get("layout", 0)
    data = node.symbol(0)
    if by_batch:
        data = sym.SwapAxis(data, dim1=0, dim2=1)
    if direction == "reverse":
        data = sym.reverse(data, axis=0)
    flat = _flat_parameters(node, mode, w, r, hidden)
    states: list[Any] = []
    for i, word in ((5, "h"), (6, "c"))[: 2 if mode == "lstm" else 1]:
        if node.has_input(i):
            state = node.symbol(i)
            states.append(sym.SwapAxis(state, dim1=0, dim2=1) if by_batch else state)
            continue
        shape = node.shape(0)
        if shape is None:
            node.refuse("without a first state the file must tell the batch")
        zeros = np.zeros((directions, shape[0 if by_batch else 1], hidden), w.dtype)
        states.append(reader.frozen_var(f"{node.name}_{word}0", zeros))
    how: dict[str, Any] = {"mode": mode, "state_size": hidden, "num_layers": 1}
    how |= {"bidirectional": directions == 2, "state_outputs": True}
    made = sym.RNN(data, reader.add_parameter(f"{node.name}_parameters", flat), *states, **how)
    out = sym.reverse(made[0], axis=0) if direction == "reverse" else made[0]
    ends = [made[i] for i in range(1, 1 + len(states))]
    # (steps, batch, directions * h) to (steps, directions, batch, h), or to batch first
    if by_batch:
        out = sym.SwapAxis(out, dim1=0, dim2=1)
        out = sym.reshape(out, shape=(0, 0, directions, hidden))
        ends = [sym.SwapAxis(each, dim1=0, dim2=1) for each in ends]
    elif directions == 2:
        out = sym.transpose(sym.reshape(out, shape=(0, 0, 2, hidden)), axes=(0, 2, 1, 3))
    else:
        out = sym.expand_dims(out, axis=1)
    return [out, *ends]


def _rnn_mode(node: Node) -> Any:
    mode = _MODE_BY_KIND[node.kind]
    names = [a.decode() if isinstance(a, bytes) else a for a in node.get("activations", [])]
    if mode == "rnn_tanh" and names and names[0] == "Relu":
        mode = "rnn_relu"
    if names and names != _USUAL_ACTIVATIONS[mode] * (len(names) // len(_USUAL_ACTIVATIONS[mode])):
        node.refuse(f"activations {names}")
    for name in ("activation_alpha", "activation_beta"):
        if node.get(name):
            node.refuse(f"{name}={node.get(name)}")
    return mode


def _flat_parameters(
    node: Node, mode: str, w: np.ndarray[Any, Any], r: np.ndarray[Any, Any], hidden: int
) -> np.ndarray[Any, Any]:
    """Return the weights and biases of all directions as one vector, in cynet's gate order."""
    b = node.constant(3, np.zeros((w.shape[0], 2 * w.shape[1]), w.dtype))
    back = np.argsort(GATE_ORDERS[mode])

    def reorder_gates(part: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        shape = part.shape
        return part.reshape(len(back), hidden, *shape[1:])[back].reshape(shape)

    weights, biases = [], []
    for k in range(w.shape[0]):
        weights += [reorder_gates(w[k]), reorder_gates(r[k])]
        biases += [reorder_gates(each) for each in np.split(b[k], 2)]
    return np.concatenate([each.ravel() for each in (*weights, *biases)])
