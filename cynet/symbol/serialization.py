"""Symbols as JSON: written as MXNet 1.9.1 writes them, read from every dialect up to it."""

import json

from ..attribute import is_attribute_key, split_suffixed_key, stored_key
from ..base.errors import ArgumentTypeError, CynetError, FormatError, NotFoundError, shown
from ..base.kinds import read_json
from ..base.np_shape import is_np_shape
from ..operator._base import get_operator
from ..operator.checks.values import read_shape
from ..operator.tensor.cast import AmpCastProperty, AmpMulticastProperty
from .compose import set_variable_attrs
from .node import Node, topological_order
from .subgraph import Subgraph, mutable_inputs

_MXNET_VERSION = 10901  # the MXNet version whose format is written
# The MXNet versions since which files list all inputs of operators; hold initializers of variables;
# mean the last axis by axis -1 of argmax.
_LISTED_INPUTS_SINCE, _INITIALIZERS_SINCE, _LAST_AXIS_SINCE = 900, 904, 905  # MXNet versions
_INDEX_OPERATORS = ("argmax", "argmin")  # operators that return indices
_LINALG_PREFIX = "_linalg_"  # prefix of operators whose outputs may have no axes
MAX_NESTED_GRAPHS = 64  # limit of nested subgraphs when reading


def _quote_json(text):
    """A JSON string with a minimum of escapes."""
    out = json.dumps(text, ensure_ascii=False)
    return out.replace("\x7f", "\\u007f")


def _dict_text(values, indent):
    """The JSON text of a dict of strings; a single pair stays on one line."""
    pairs = [f"{_quote_json(key)}: {_quote_json(values[key])}" for key in sorted(values)]
    if len(pairs) < 2:
        return "{" + "".join(pairs) + "}"
    space = "\n" + " " * (indent + 2)
    return "{" + space + (", " + space).join(pairs) + "\n" + " " * indent + "}"


def _list_text(items, indent):
    """The JSON text of a list of texts; up to ten items stay on one line."""
    if len(items) <= 10:
        return "[" + ", ".join(items) + "]"
    space = "\n" + " " * (indent + 2)
    return "[" + space + (", " + space).join(items) + "\n" + " " * indent + "]"


def _numbers_text(values, indent):  # JSON list of numbers
    return _list_text([str(value) for value in values], indent)


def _index_lists_text(values, indent):
    return _list_text(["[" + ", ".join(map(str, value)) + "]" for value in values], indent)


def count_state_writes(order):
    """Return how often each state was written before: per node, a count for each input."""
    current = {}
    out = []
    for node in order:
        versions, mutable = [], mutable_inputs(node)
        for k, (source, _) in enumerate(node.inputs):
            if source.op is None and (k >= node.num_args or k in mutable):
                current[id(source)] = current.get(id(source), 0) + 1
            versions.append(current.get(id(source), 0))
        out.append(versions)
    return out, current


def without_amp_casts(heads):
    """The graph under `heads` without casts of automatic mixed precision, as MXNet saves it.

    A cast that is a head itself stays. Nodes that read a cast are copied.
    """
    new = {}

    def skip_casts(entry):
        node, i = entry
        while isinstance(node.prop, (AmpCastProperty, AmpMulticastProperty)):
            node, i = node.inputs[i]
        return new.get(id(node), node), i

    for node in topological_order(heads):
        inputs = [skip_casts(entry) for entry in node.inputs]
        if any(a is not b for (a, _), (b, _) in zip(inputs, node.inputs)):
            new[id(node)] = Node(node.op, node.name, node.attrs, node.params, node.prop, inputs)
    return [(new.get(id(node), node), i) for node, i in heads]


def to_json(heads):
    """The JSON text of the graph with the outputs `heads`."""
    numpy = '"is_np_shape": ["int", 1], ' if is_np_shape() else ""
    return _graph_text(heads, 0, f'"attrs": {{{numpy}"mxnet_version": ["int", {_MXNET_VERSION}]}}')


def _graph_text(heads, indent, *more):
    """A graph as a JSON object; `more` are lines at its end. Inner graphs are indented."""
    order = topological_order(heads)
    number = {id(node): i for i, node in enumerate(order)}
    versions, final = count_state_writes(order)
    margin = " " * indent
    nodes = []
    rows = [0]
    for node, version in zip(order, versions):
        lines = [
            f'"op": {_quote_json(node.op.name if node.op else "null")}',
            f'"name": {_quote_json(node.name)}',
        ]
        attrs = {**node.params, **node.attrs}
        if attrs:
            lines.append(f'"attrs": {_dict_text(attrs, indent + 6)}')
        inputs = [(number[id(source)], i, v) for (source, i), v in zip(node.inputs, version)]
        lines.append(f'"inputs": {_index_lists_text(inputs, indent + 6)}')
        held = getattr(node.prop, "subgraphs", ())
        if held:
            graphs = f", \n{margin}        ".join(_graph_text(g.heads, indent + 8) for g in held)
            lines.append(f'"subgraphs": [\n{margin}        {graphs}\n{margin}      ]')
        between = f", \n{margin}      "
        nodes.append(f"{margin}    {{\n{margin}      {between.join(lines)}\n{margin}    }}")
        rows.append(rows[-1] + node.num_outputs)
    arguments = [i for i, node in enumerate(order) if node.op is None]
    ends = [(number[id(node)], i, final.get(id(node), 0)) for node, i in heads]
    between = ", \n"
    lines = [
        f'"nodes": [\n{between.join(nodes)}\n{margin}  ]',
        f'"arg_nodes": {_numbers_text(arguments, indent + 2)}',
        f'"node_row_ptr": {_numbers_text(rows, indent + 2)}',
        f'"heads": {_index_lists_text(ends, indent + 2)}',
        *more,
    ]
    return "{\n" + ", \n".join(f"{margin}  {line}" for line in lines) + f"\n{margin}}}"


def from_json(text, source="symbol JSON"):
    """The outputs of the graph in the JSON text `text`.

    Raises FormatError: Text that is no JSON, or a graph that does not hold together; the message
    names the node. Raises NotFoundError: an operator that is not registered.
    """
    if not isinstance(text, str):
        raise ArgumentTypeError(f"{source}: expected a str, got {type(text).__name__}")
    try:
        graph = read_json(text, strict=False)
    except ValueError as error:
        raise FormatError(f"{source}: not valid JSON: {error}") from None
    heads = _read_graph(graph, source, _mxnet_version(graph), 0)
    if is_np_shape() and not _has_np_shapes(graph):  # the file's 0 is an unknown size, here -1
        for node in topological_order(heads):
            shape = read_shape(node.attrs.get("__shape__", ""))
            if shape and 0 in shape:
                node.attrs["__shape__"] = str(tuple(n or -1 for n in shape))
    return heads


def _read_graph(graph, source, version, depth):
    """The outputs of a graph from parsed JSON; `depth` is its nesting level."""
    if not isinstance(graph, dict):
        raise FormatError(
            f"{source}: expected an object with 'nodes' and 'heads', got a {_json_type(graph)}"
        )
    if depth > MAX_NESTED_GRAPHS:
        raise FormatError(f"{source}: subgraphs are nested more than {MAX_NESTED_GRAPHS} deep")
    nodes = []
    for number, record in enumerate(_require_list(graph, "nodes", source)):
        nodes.append(_read_node(record, nodes, f"{source}: node {number}", version, depth))
    for number in (
        [] if graph.get("arg_nodes") is None else _require_list(graph, "arg_nodes", source)
    ):
        if not _is_index(number, len(nodes)) or nodes[number].op is not None:
            raise FormatError(
                f"{source}: 'arg_nodes': expected numbers of variables, got {shown(number)}"
            )
    heads = [
        _read_entry(entry, nodes, f"{source}: heads")
        for entry in _require_list(graph, "heads", source)
    ]
    if not heads:
        raise FormatError(f"{source}: 'heads' is empty")
    return heads


def _has_np_shapes(graph):
    """Return whether a graph was written under NumPy's shapes."""
    attrs = graph.get("attrs")
    mark = attrs.get("is_np_shape") if isinstance(attrs, dict) else None
    return isinstance(mark, list) and len(mark) == 2 and mark[1] == 1


def _mxnet_version(graph):
    """The version of MXNet that wrote a graph: 904 is 0.9.4; 0 if it is not in the file."""
    try:
        number = graph["attrs"]["mxnet_version"][1]
    except (KeyError, TypeError, IndexError):
        return 0
    return number if isinstance(number, int) else 0


def _json_type(value):
    return {dict: "object", list: "list", str: "string", type(None): "null"}.get(
        type(value), "number"
    )


def _require_list(record, key, where):
    value = record.get(key)
    if not isinstance(value, list):
        raise FormatError(
            f"{where}: '{key}' must be a list, "
            + (f"got a {_json_type(value)}" if key in record else "but is missing")
        )
    return value


def _is_index(value, end):
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < end


def _read_entry(entry, nodes, where):
    """An edge: [node, output] or [node, output, version]."""
    if not isinstance(entry, list) or len(entry) not in (2, 3):
        raise FormatError(f"{where}: expected [node, output, version], got {shown(entry)}")
    if not _is_index(entry[0], len(nodes)):
        raise FormatError(
            f"{where}: {shown(entry)} refers to node {shown(entry[0])}, but only {len(nodes)} come"
            " before"
        )
    node = nodes[entry[0]]
    if not _is_index(entry[1], node.num_outputs):
        raise FormatError(
            f"{where}: {shown(entry)} refers to output {shown(entry[1])} of node"
            f" {shown(node.name)}, which has {node.num_outputs}"
        )
    return node, entry[1]


def _require_strings(record, key, where):
    values = record.get(key)
    if values is None:
        return {}
    if not isinstance(values, dict) or not all(isinstance(v, str) for v in values.values()):
        raise FormatError(f"{where}: '{key}' must map names to strings")
    return values


def _import_numpy_names():
    """MXNet's names for functions of mx.np, which few files hold and which are slow to import."""
    from ..operator.numpy import named

    return named


def _read_node(record, nodes, where, version, depth):
    if not isinstance(record, dict):
        raise FormatError(f"{where}: expected an object, got a {_json_type(record)}")
    kind, name = record.get("op"), record.get("name")
    if not isinstance(kind, str) or not isinstance(name, str):
        raise FormatError(
            f"{where}: 'op' and 'name' must be strings, got {shown(kind)} and {shown(name)}"
        )
    where = f"{where} ({shown(name)})"
    given = {**_require_strings(record, "param", where), **_require_strings(record, "attrs", where)}
    loose = _require_strings(record, "attr", where)
    if kind == "null":
        if record.get("inputs"):
            raise FormatError(
                f"{where}: expected no inputs of a variable, got {shown(record['inputs'])}"
            )
        return Node(None, name, {stored_key(k): v for k, v in {**given, **loose}.items()})
    of_numpy = kind.startswith("_np") or given.get("step") == "None"
    named = _import_numpy_names() if of_numpy else None
    try:
        entry = get_operator(kind) if named is None else named.find_operator(kind)
    except NotFoundError as error:
        raise NotFoundError(f"{where}: {error}") from None
    edges = [] if record.get("inputs") is None else _require_list(record, "inputs", where)
    inputs = [_read_entry(edge, nodes, f"{where}: inputs") for edge in edges]
    params, attrs, suffixed = _separate_attributes(entry, given, loose, "param" in record)
    if version < _LAST_AXIS_SINCE and entry.name in _INDEX_OPERATORS and params.get("axis") == "-1":
        del params["axis"]  # means all axes in such a file
    try:
        if named is not None:
            params = named.supported_params(entry, params)
        prop = entry.prop(**entry.prop.accepted_params(params))
    except NotFoundError as error:
        raise NotFoundError(f"{where}: {error}") from None
    except CynetError as error:
        raise FormatError(f"{where}: {error}") from error
    _read_subgraphs(prop, record, where, version, depth)
    node = Node(entry, name, attrs, params, prop, inputs)
    if prop.decomposed:
        prop.n_inputs = len(inputs)
    elif entry.name.startswith(_LINALG_PREFIX) and is_np_shape():
        node.prop = prop.changed(no_axes=())
    names = node.input_names()
    known = len(inputs) in (len(names), len(prop.list_arguments()))
    if not known and (version >= _LISTED_INPUTS_SINCE or len(inputs) > len(names)):
        raise FormatError(
            f"{where}: operator {entry.name} takes {len(names)} inputs "
            f"({', '.join(names[:8])}{', ...' * (len(names) > 8)}), got {len(inputs)}"
        )
    _add_missing_inputs(node, names, version)
    by_name = dict(zip(names, node.inputs)) if suffixed else {}
    for (key, stored), value in suffixed.items():
        target = by_name.get(key)
        if target is None or target[0].op is not None:
            raise FormatError(
                f"{where}: the attribute '{key}_{stored.strip('_')}' is for an input of operator "
                f"{entry.name} that is called '{key}' and is a variable; there is none"
            )
        target[0].attrs[stored] = value
    return node


def _read_subgraphs(prop, record, where, version, depth):
    """Set the subgraphs of a control flow operator from its JSON record."""
    held = [] if record.get("subgraphs") is None else _require_list(record, "subgraphs", where)
    if not hasattr(prop, "set_subgraphs"):
        if held:
            raise FormatError(f"{where}: subgraphs, which operator {prop.op_name} does not hold")
        return
    graphs = [
        Subgraph(_read_graph(graph, f"{where}: subgraph {i}", version, depth + 1))
        for i, graph in enumerate(held)
    ]
    try:
        prop.set_subgraphs(graphs)
    except CynetError as error:
        raise FormatError(f"{where}: {error}") from error


def _separate_attributes(entry, given, loose, has_param):
    """Separate parameters, attributes and attributes meant for an input (``weight_lr_mult``)."""
    params, attrs, suffixed = {}, {}, {}
    fields = entry.prop.fields
    for values, may_be_param in ((given, True), (loose, not has_param)):
        for key, value in values.items():
            if may_be_param and key in fields:
                params[key] = value
            elif is_attribute_key(key):
                attrs[stored_key(key)] = value
            elif split_suffixed_key(key):
                suffixed[split_suffixed_key(key)] = value
            elif may_be_param and (fields or entry.prop.any_parameters):
                params[key] = value  # the property checks the value
            else:
                attrs[key] = value
    return params, attrs, suffixed


def _add_missing_inputs(node, names, version):
    """Make variables for inputs that a file does not list, states included, and give the listed
    ones the initializers that operators define for them."""
    for key in names[len(node.inputs) :]:
        attrs = {**node.params, **node.attrs, **node.prop.variable_attrs.get(key, {})}
        node.inputs.append((Node(None, f"{node.name}_{key}", attrs), 0))
    if version < _INITIALIZERS_SINCE:
        set_variable_attrs(node.prop, names, node.inputs)


def debug_text(heads):
    """A text that describes the graph, one paragraph per node."""
    order = topological_order(heads)
    versions, _ = count_state_writes(order)
    lines = ["Symbol Outputs:"]
    lines += [f"\toutput[{k}]={node.name}({i})" for k, (node, i) in enumerate(heads)]
    for node, version in zip(order, versions):
        if node.op is None:
            lines.append(f"Variable:{node.name}")
            continue
        lines += ["--------------------", f"Op:{node.op.name}, Name={node.name}", "Inputs:"]
        for k, (source, i) in enumerate(node.inputs):
            suffix = f" version={version[k]}" if source.op is None else ""
            lines.append(f"\targ[{k}]={source.name}({i}){suffix}")
        attrs = {**node.params, **node.attrs}
        if attrs:
            lines.append("Attrs:")
            lines += [f"\t{key}={attrs[key]}" for key in sorted(attrs)]
    return "\n".join(lines) + "\n"
