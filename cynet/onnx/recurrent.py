"""Exporter of the fused RNN operator: one node for each layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..operator.rnn.layout import GATES, parameter_layout
from ..operator.rnn.rnn import RNNProperty
from .graph import exports

if TYPE_CHECKING:
    from .graph import Graph, OpNode

# indices of ONNX's gates in MXNet's order: iofc in ifco, zrh in rzn
GATE_ORDERS = {"lstm": (0, 3, 1, 2), "gru": (1, 0, 2), "rnn_tanh": (0,), "rnn_relu": (0,)}
KIND_BY_MODE = {"lstm": "LSTM", "gru": "GRU", "rnn_tanh": "RNN", "rnn_relu": "RNN"}  # mode -> node


def _reorder_gates(
    g: Graph, value: str, rows: int, hidden: int, mode: str, back: bool = False
) -> str:
    """Reorder the rows of a matrix or vector to ONNX's gate order."""
    order = GATE_ORDERS[mode]
    if len(order) == 1:
        return value
    pieces = g.emit_several("Split", [value], len(order), axis=0)
    return g.emit("Concat", [pieces[i] for i in order], axis=0)


@exports(RNNProperty)
def rnn(g: Graph, c: OpNode) -> list[str]:
    p = c.prop
    if getattr(p, "projection_size", None) or getattr(p, "use_sequence_length", False):
        c.refuse("projection_size and use_sequence_length are not written")
    passes, _ = parameter_layout(p, c.shapes[0][-1])
    d, h = p.direction_count, p.state_size
    rows = GATES[p.mode] * h
    data, flat = c.inputs[:2]
    states = c.inputs[2:4] if p.mode == "lstm" else c.inputs[2:3]
    lasts: list[list[str]] = [[] for _ in states]
    for layer in range(p.num_layers):
        weights: list[list[str]] = [[], [], []]
        for each in passes[layer * d : (layer + 1) * d]:
            w = g.reshape(
                _slice_parameters(g, flat, each.i2h_weight, rows * each.inputs), (rows, each.inputs)
            )
            r = g.reshape(_slice_parameters(g, flat, each.h2h_weight, rows * h), (rows, h))
            b = [_slice_parameters(g, flat, at, rows) for at in (each.i2h_bias, each.h2h_bias)]
            w, r, *b = (_reorder_gates(g, v, rows, h, p.mode) for v in (w, r, *b))
            for where, value in zip(weights, (w, r, g.emit("Concat", b, axis=0))):
                where.append(g.unsqueeze(value, 0))
        made = [v[0] if d == 1 else g.emit("Concat", v, axis=0) for v in weights]
        begin = [g.emit_slice(s, 0, layer * d, (layer + 1) * d) for s in states]
        more = {"hidden_size": h, "direction": "bidirectional" if d == 2 else "forward"}
        if p.mode == "gru":
            more["linear_before_reset"] = 1
        if p.mode == "rnn_relu":
            more["activations"] = ["Relu"] * d
        given = [data, *made, "", *begin]
        out, *ends = g.emit_several(KIND_BY_MODE[p.mode], given, 1 + len(states), **more)
        # (steps, directions, batch, h) to (steps, batch, directions * h)
        data = (
            g.squeeze(out, 1)
            if d == 1
            else g.reshape(g.transpose(out, (0, 2, 1, 3)), (0, 0, d * h))
        )
        for finals, end in zip(lasts, ends):
            finals.append(end)
    if not p.state_outputs:
        return [data]
    return [data, *(v[0] if len(v) == 1 else g.emit("Concat", v, axis=0) for v in lasts)]


def _slice_parameters(g: Graph, flat: str, offset: int, size: int) -> str:
    return g.emit_slice(flat, 0, offset, offset + size)
