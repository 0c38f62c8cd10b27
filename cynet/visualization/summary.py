"""print_summary: print a table of a network's layers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..base.errors import ArgumentError
from ..base.guard import guarded
from ..operator import get_operator
from ..symbol.node import fixed_arguments, topological_order
from .layers import WEIGHTS, infer_checked_shapes, input_layers, weight_and_label_ids

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..typing import Shape, Symbol


@guarded
def print_summary(
    symbol: Symbol,
    shape: Mapping[str, Shape] | None = None,
    line_length: int = 120,
    positions: Sequence[float] = (0.44, 0.64, 0.74, 1.0),
    fixed_param_names: Sequence[str] = (),
) -> None:
    """Print a table of the layers: output shape without the batch, parameters, previous layers;
    then the number of parameters, and of those that training does not change.

    Parameters
    ----------
    symbol : Symbol
        The network.
    shape : dict of str to tuple, optional
        Shapes of inputs; if they are not given, the columns of shapes and parameters stay empty.
    line_length : int
        Width of the table in characters.
    positions : sequence of float
        End of each of the four columns, as a share of the width (or as a column number).
    fixed_param_names : sequence of str
        Parameters that are frozen, as for ``Module``; also those with ``lr_mult=0``, those that no
        gradient reaches, and what an operator does not read (gamma under ``fix_gamma``).

    Raises
    ------
    ArgumentError
        Shapes that do not fit or do not suffice.

    Examples
    --------
    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    >>> mx.viz.print_summary(net, {"data": (2, 5)}, 60)  # doctest: +ELLIPSIS
    ____...
    Total params: 18
    Trainable params: 18
    Frozen params: 0
    ____________________________________________________________
    """
    shapes = infer_checked_shapes(symbol, shape)
    ends = [int(p * line_length) if p <= 1 else int(p) for p in positions]
    if len(ends) != 4:
        raise ArgumentError(f"positions must have 4 items, got {len(ends)}")
    order = topological_order(symbol.entries)
    aside = weight_and_label_ids(order)
    counted = set()
    frozen_names = _frozen_names(symbol, order, fixed_param_names)
    total = frozen = 0

    def print_row(fields):
        line = ""
        for field, end in zip(fields, ends):
            line = (line + str(field))[:end].ljust(end)
        print(line)

    print("_" * line_length)
    print_row(["Layer (type)", "Output Shape", "Param #", "Previous Layer"])
    print("=" * line_length)
    shown = [node for node in order if id(node) not in aside]
    for k, node in enumerate(shown):
        before = [source.name for source, _ in input_layers(node)] if node.op else []
        count = "" if node.op and not shapes else 0
        for key, source in zip(node.input_names(), node.inputs):
            if shapes and key in WEIGHTS and source[0].op is None and id(source[0]) not in counted:
                counted.add(id(source[0]))
                size = math.prod(shapes[source])
                count += size
                frozen += size if source[0].name in frozen_names else 0
        total += count or 0
        extent = "x".join(map(str, shapes[node, 0][1:])) if shapes else ""
        label = f"{node.name}({node.op.name if node.op else 'null'})"
        print_row([label, extent, count, before[0] if before else ""])
        for name in before[1:]:
            print_row(["", "", "", name])
        print(("=" if k == len(shown) - 1 else "_") * line_length)
    print(f"Total params: {total if shapes else 'unknown without shapes'}")
    if shapes:
        print(f"Trainable params: {total - frozen}")
        print(f"Frozen params: {frozen}")
    print("_" * line_length)


def _frozen_names(symbol, order, fixed_param_names):
    """Return the names of the variables that training does not change."""
    names = {node.name for node in order if node.op is None}
    for name in fixed_param_names:
        if name not in names:
            raise ArgumentError(f"print_summary: fixed_param_names has {name!r}, no parameter")
    reached, waiting = set(), [node for node, _ in symbol.entries]
    while waiting:
        node = waiting.pop()
        if id(node) not in reached:
            reached.add(id(node))
            if node.op is None or node.op is not get_operator("BlockGrad"):
                waiting.extend(source for source, _ in node.inputs)
    frozen = {node.name for node in order if node.op is None and id(node) not in reached}
    attrs = symbol.attr_dict()
    for name in names:
        own = attrs.get(name, {})
        rate = own.get("__lr_mult__", own.get("lr_mult"))
        if rate is not None and float(rate) == 0:
            frozen.add(name)
    return frozen | {*fixed_param_names} | {*fixed_arguments(order)}
