"""Pictures and tables of networks: print_summary and plot_network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .base.compat import optional
from .base.errors import ArgumentError, ArgumentTypeError
from .base.guard import guarded
from .graph.infer import infer_shapes
from .symbol import Symbol
from .symbol.node import topological_order

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .base.typing import DTypeLike, Shape

_WEIGHTS = {"weight", "bias", "gamma", "beta", "parameters"}  # an operator's own names for them
_ASIDE = _WEIGHTS | {"label"}  # inputs that are no layer before this one
_COLORS = {
    "variable": "#8dd3c7",
    "weighted": "#fb8072",
    "norm": "#bebada",
    "activation": "#ffffb3",
    "pooling": "#80b1d3",
    "shape": "#fdb462",
    "loss": "#fccde5",
    "other": "#b3de69",
}
_KINDS = {
    "weighted": "Convolution Deconvolution FullyConnected Embedding RNN",
    "norm": "BatchNorm InstanceNorm LayerNorm GroupNorm L2Normalization LRN Dropout",
    "activation": "Activation LeakyReLU relu sigmoid tanh softsign",
    "pooling": "Pooling ROIPooling UpSampling",
    "shape": "Concat Flatten Reshape SliceChannel transpose SwapAxis expand_dims slice slice_axis",
    "loss": "SoftmaxOutput softmax log_softmax SoftmaxActivation MakeLoss make_loss "
    "LinearRegressionOutput LogisticRegressionOutput MAERegressionOutput",
}
_KIND_OF = {name: kind for kind, names in _KINDS.items() for name in names.split()}


def _check(symbol, shape):
    """The shapes of all entries, or an empty dict when `shape` is None."""
    if not isinstance(symbol, Symbol):
        raise ArgumentTypeError(f"symbol must be a Symbol, got {type(symbol).__name__}")
    if shape is None:
        return {}
    names = dict.fromkeys(symbol.list_inputs())
    for name in shape:
        if name not in names:
            raise ArgumentError(f"shape: no argument '{name}'; arguments: {', '.join(names)}")
    found = infer_shapes(symbol.entries, shape)
    unknown = [node.name for (node, _), value in found.items() if value is None or not all(value)]
    if unknown:
        raise ArgumentError(f"shape: input shapes are incomplete, '{unknown[0]}' stays unknown")
    return found


def _layers_before(node):
    """The inputs of an operator that are layers: (node, output), without weights and labels."""
    return [
        (source, i)
        for key, (source, i) in list(zip(node.input_names(), node.inputs))[: node.num_args]
        if source.op is not None or key not in _ASIDE
    ]


def _is_aside(order):
    """Ids of variables that are only weights, labels or states."""
    shown = {id(source) for node in order if node.op for source, _ in _layers_before(node)}
    return {id(node) for node in order if node.op is None and id(node) not in shown}


@guarded
def print_summary(
    symbol: Symbol,
    shape: Mapping[str, Shape] | None = None,
    line_length: int = 120,
    positions: Sequence[float] = (0.44, 0.64, 0.74, 1.0),
) -> Any:
    """Print a table of the layers: output shape without the batch, parameters, layers before.

    Parameters
    ----------
    symbol : Symbol
    shape : dict of str to tuple, optional
        Shapes of inputs; without it shapes and parameter counts stay empty.
    line_length : int
        Width of the table in characters.
    positions : sequence of float
        Where each of the four columns ends, as a part of the width (or as a column number).

    Raises
    ------
    ArgumentError
        Shapes that do not fit or do not suffice.

    Examples
    --------
    >>> import cynet as mx
    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    >>> mx.viz.print_summary(net, {"data": (2, 5)}, 60)  # doctest: +ELLIPSIS
    ____...
    Total params: 18
    ____________________________________________________________
    """
    shapes = _check(symbol, shape)
    ends = [int(p * line_length) if p <= 1 else int(p) for p in positions]
    if len(ends) != 4:
        raise ArgumentError(f"positions must have 4 items, got {len(ends)}")
    order = topological_order(symbol.entries)
    aside = _is_aside(order)
    counted = set()
    total = 0

    def row(fields):
        line = ""
        for field, end in zip(fields, ends):
            line = (line + str(field))[:end].ljust(end)
        print(line)

    print("_" * line_length)
    row(["Layer (type)", "Output Shape", "Param #", "Previous Layer"])
    print("=" * line_length)
    shown = [node for node in order if id(node) not in aside]
    for k, node in enumerate(shown):
        before = [source.name for source, _ in _layers_before(node)] if node.op else []
        count = "" if node.op and not shapes else 0
        for key, source in zip(node.input_names(), node.inputs):
            if shapes and key in _WEIGHTS and source[0].op is None and id(source[0]) not in counted:
                counted.add(id(source[0]))
                count += _size(shapes[source])
        total += count or 0
        extent = "x".join(map(str, shapes[node, 0][1:])) if shapes else ""
        label = f"{node.name}({node.op.name if node.op else 'null'})"
        row([label, extent, count, before[0] if before else ""])
        for name in before[1:]:
            row(["", "", "", name])
        print(("=" if k == len(shown) - 1 else "_") * line_length)
    print(f"Total params: {total if shapes else 'unknown without shapes'}")
    print("_" * line_length)


def _size(shape):
    out = 1
    for n in shape:
        out *= n
    return out


def _label(node):
    """What stands in a node's box."""
    if node.op is None:
        return node.name
    name, prop = node.op.name, node.prop

    def extent(values):
        return "x".join(map(str, values or (1,)))

    if name in ("Convolution", "Deconvolution"):
        return f"{name}\n{extent(prop.kernel)}/{extent(prop.stride)}, {prop.num_filter}"
    if name == "FullyConnected":
        return f"{name}\n{prop.num_hidden}"
    if name in ("Activation", "LeakyReLU"):
        return f"{name}\n{prop.act_type}"
    if name == "Pooling":
        where = "global" if prop.global_pool else f"{extent(prop.kernel)}/{extent(prop.stride)}"
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
    """Draw the network with graphviz.

    Parameters
    ----------
    symbol : Symbol
    title : str
        Name of the graph and of the file it renders to.
    save_format : str
        ``'pdf'``, ``'png'``, ``'svg'``, ...
    shape : dict of str to tuple, optional
        Shapes of inputs; edges are then labelled with shapes.
    dtype : dict of str to dtype, optional
        Types of inputs, checked against the network.
    node_attrs : dict of str to str, optional
        Graphviz attributes of all nodes, over the default ones.
    hide_weights : bool
        Leave out weights, biases and auxiliary states.

    Returns
    -------
    graphviz.Digraph
        Call its ``render()`` or ``view()``.

    Raises
    ------
    CynetError
        When the package graphviz is not installed.
    """
    shapes = _check(symbol, shape)
    if dtype is not None:
        symbol.infer_type_partial(**dtype)
    graphviz = optional("graphviz", "plot_network")
    style = {
        "shape": "box",
        "fixedsize": "true",
        "width": "1.3",
        "height": "0.8034",
        "style": "filled",
        **(node_attrs or {}),
    }
    order = topological_order(symbol.entries)
    aside = _is_aside(order)
    labels = {
        id(source)
        for node in order
        if node.op
        for key, (source, _) in zip(node.input_names(), node.inputs)
        if key == "label"
    }
    hidden = aside - labels if hide_weights else set()
    numbers = {id(node): f"n{i}" for i, node in enumerate(order)}
    dot = graphviz.Digraph(name=title, format=save_format)
    for node in order:
        if id(node) in hidden:
            continue
        kind = _KIND_OF.get(node.op.name, "other") if node.op else "variable"
        attrs = {**style, "fillcolor": _COLORS[kind]}
        if node.op is None:
            attrs["shape"] = "oval"
        dot.node(numbers[id(node)], label=_label(node), **attrs)
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
