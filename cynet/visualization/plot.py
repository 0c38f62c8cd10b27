"""plot_network: draw a network's graph."""

from __future__ import annotations

import contextlib
import shutil
from typing import TYPE_CHECKING, Any

from ..base.compat import optional
from ..base.errors import CynetError
from ..base.files import file_name
from ..base.guard import guarded
from ..symbol.node import topological_order
from .drawing import Drawing
from .layers import infer_checked_shapes, weight_and_label_ids

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..typing import DTypeLike, Shape, Symbol

_COLORS = {  # kind of a node -> fill color
    "variable": "#8dd3c7",
    "weighted": "#fb8072",
    "norm": "#bebada",
    "activation": "#ffffb3",
    "pooling": "#80b1d3",
    "shape": "#fdb462",
    "loss": "#fccde5",
    "other": "#b3de69",
}


def _node_label(node):
    """Return the text in a node's box."""
    if node.op is None:
        return node.name
    name, prop = node.op.name, node.prop

    def dim_text(values):
        return "x".join(map(str, values or (1,)))

    if prop.drawn_as == "weighted" and hasattr(prop, "num_filter"):
        return f"{name}\n{dim_text(prop.kernel)}/{dim_text(prop.stride)}, {prop.num_filter}"
    if prop.drawn_as == "weighted" and hasattr(prop, "num_hidden"):
        return f"{name}\n{prop.num_hidden}"
    if prop.drawn_as == "activation" and hasattr(prop, "act_type"):
        return f"{name}\n{prop.act_type}"
    if prop.drawn_as == "pooling" and hasattr(prop, "pool_type"):
        where = "global" if prop.global_pool else f"{dim_text(prop.kernel)}/{dim_text(prop.stride)}"
        return f"{name}\n{prop.pool_type}, {where}"
    return node.name


@guarded
def plot_network(
    symbol: Symbol,
    title: str = "plot",
    save_format: str = "pdf",
    shape: Mapping[str, Shape] | None = None,
    dtype: Mapping[str, DTypeLike] | None = None,
    node_attrs: dict[str, str] | None = None,
    hide_weights: bool = True,
) -> Any:
    """Draw a network: by graphviz if its package and its program ``dot`` are installed, else as SVG
    with layout by the package grandalf; without grandalf, graphviz's object has the text for
    ``dot`` in its ``source``. ``pip install 'cynet-mx[viz]'`` installs both packages.

    Parameters
    ----------
    symbol : Symbol
        The network.
    title : str
        Name of the graph, and of the file that it is rendered to.
    save_format : str
        Format of the file: ``'pdf'``, ``'png'``, ``'svg'``, ...; without graphviz always SVG.
    shape : dict of str to tuple, optional
        Shapes of inputs; if they are given, edges are labelled with shapes.
    dtype : dict of str to dtype, optional
        Types of inputs, checked against the network.
    node_attrs : dict of str to str, optional
        Attributes of graphviz for all nodes, which take precedence over the default ones.
    hide_weights : bool
        Leave out weights, biases and auxiliary states.

    Returns
    -------
    graphviz.Digraph or Drawing
        Call its ``render()`` or ``view()``; notebooks show it.

    Raises
    ------
    CynetError
        When neither can be had.

    Examples
    --------
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=10, name="fc")
    >>> picture = mx.viz.plot_network(mx.sym.softmax(net), shape={"data": (8, 20)})
    >>> "FullyConnected" in picture.source, picture.source.count("->")
    (True, 2)
    """
    shapes = infer_checked_shapes(symbol, shape)
    if dtype is not None:
        symbol.infer_type_partial(**dtype)
    style = {
        "shape": "box",
        "fixedsize": "true",
        "width": "1.3",
        "height": "0.8034",
        "style": "filled",
        **(node_attrs or {}),
    }
    order = topological_order(symbol.entries)
    aside = weight_and_label_ids(order)
    labels = {
        id(source)
        for node in order
        if node.op
        for key, (source, _) in zip(node.input_names(), node.inputs)
        if key == "label"
    }
    hidden = aside - labels if hide_weights else set()
    numbers = {id(node): f"n{i}" for i, node in enumerate(order)}
    dot = _new_picture(file_name(title, "plot_network: title, a file name"), save_format)
    for node in order:
        if id(node) in hidden:
            continue
        kind = node.op.prop.drawn_as if node.op else "variable"
        attrs = {**style, "fillcolor": _COLORS[kind]}
        if node.op is None:
            attrs["shape"] = "oval"
        dot.node(numbers[id(node)], label=_node_label(node), **attrs)
    for node in order:
        for source in node.inputs:
            if id(source[0]) in hidden:
                continue
            extent = "x".join(map(str, shapes[source][1:])) if shapes else ""
            dot.edge(
                numbers[id(node)],
                numbers[id(source[0])],
                label=extent,
                dir="back",
                arrowtail="open",
            )
    return dot


def _new_picture(title, save_format):
    """Make an empty picture: graphviz's Digraph, or a Drawing."""
    found = {}
    for name in ("graphviz", "grandalf"):
        with contextlib.suppress(CynetError):
            found[name] = optional(name, "plot_network")
    if "graphviz" in found and ("grandalf" not in found or shutil.which("dot")):
        return found["graphviz"].Digraph(name=title, format=save_format)
    optional("grandalf", "plot_network without graphviz and its program dot")
    return Drawing(name=title, format=save_format)
