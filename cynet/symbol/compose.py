"""Composition: an operator applied to symbols, and variables replaced by other symbols."""

import numpy as np

from ..attribute import AttrScope, is_attribute_key, stored_key
from ..base.errors import ArgumentError, ArgumentTypeError, CynetError, shown, with_message
from ..name import NameManager
from ..operator.parameters import Bool, DType, Float, FloatTuple
from ..operator.signature import too_many_text
from .node import Node, topological_order


def parameter_text(field, value):
    """JSON's string for a parameter given as `value`; `field` is its Field, or None.

    >>> parameter_text(None, (np.int64(3), 3)), parameter_text(None, 1e-7)
    ('(3, 3)', '1e-07')
    """
    if isinstance(value, str):
        return value
    if isinstance(field, DType) and value is not None:
        return field.convert(value, "dtype")
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value)) if field is None or isinstance(field, Bool) else str(int(value))
    if isinstance(value, np.ndarray):
        value = tuple(value.tolist()) if value.ndim else value.item()
    if isinstance(value, (tuple, list)):
        try:
            items = [str(v) if isinstance(v, np.generic) else repr(v) for v in value]
        except RecursionError:
            raise ArgumentError(f"a parameter is too deeply nested: {shown(value)}") from None
        if isinstance(value, list):
            return "[" + ", ".join(items) + "]"
        return "(" + ", ".join(items) + (",)" if len(items) == 1 else ")")
    return str(value)


def parsable_text(field, value, where):
    """`parameter_text` of a value that `field` takes, in a form that `field` reads as that value.

    >>> from cynet.operator.parameters import Int
    >>> parsable_text(Int(), 4.0, "here")
    '4'
    """
    text = parameter_text(field, value)
    if text is value or type(value) is int or (type(value) is float and isinstance(field, Float)):
        return text
    meant = field.parse(value, where)
    try:
        read = field.parse(text, where)
    except CynetError:
        return field.text(meant)
    if isinstance(field, (Float, FloatTuple)):
        return text
    # "4.0" is not the text of an int
    exact = read == meant and not isinstance(value, (float, np.floating))
    return text if exact else field.text(meant)


def attribute_text(where, key, value, numbers=False):
    """`value` of attribute `key` as a node stores it, or an error that names `where`.

    An initializer is stored as the text that makes it again; a number only on request.
    """
    if not isinstance(key, str):
        raise ArgumentTypeError(f"{where}: attribute names must be str, got {shown(key)}")
    if isinstance(value, str):
        return value
    if hasattr(value, "_init_weight"):
        return value.dumps()
    if numbers and isinstance(value, (int, float, np.number)):
        return str(value)
    raise ArgumentTypeError(f"{where}: attribute {shown(key)} must be a str, got {shown(value)}")


def apply_operator(entry, hint, inputs, params, name=None, attr=None):
    """A new node: operator `entry` applied to `inputs`.

    entry: OpEntry
    hint (str): What automatic names start with.
    inputs (list of (node, index) or dict): By position, or by the operator's own input names; what
        is missing becomes a variable ``{name}_{input}``.
    params (dict): The operator's parameters, and attributes given as keywords (``lr_mult``,
        ``__mood__``).
    name: str, optional
    attr (dict of str to str, optional): Attributes, over those of the current AttrScope.

    Raises ArgumentError or ArgumentTypeError: what does not fit, with the operator and the
    argument.
    """
    if name is not None and not isinstance(name, str):
        raise ArgumentTypeError(f"operator {entry.name}: name must be a str, got {shown(name)}")
    name = NameManager.current.get(name, hint)
    where = f"operator {entry.name} (node {name})"
    fields = entry.prop.fields
    counter = entry.prop.key_var_num_args
    params = dict(params)
    if counter is not None and counter not in params:
        params[counter] = len(inputs)

    attrs = {}
    for key, value in AttrScope.current.get(attr).items():
        value = attribute_text(where, key, value, numbers=True)
        if key in fields:
            params.setdefault(key, value)
        elif is_attribute_key(key) or not fields:
            attrs[stored_key(key)] = value
        else:
            raise ArgumentError(
                f"{where}: attribute '{key}' must start and end with two underscores"
            )
    for key in [k for k in params if k not in fields and is_attribute_key(k)]:
        value = params.pop(key)
        known = hasattr(value, "_init_weight")
        attrs[stored_key(key)] = value.dumps() if known else parameter_text(None, value)

    try:
        prop = entry.prop(**entry.prop.accepted_params(params))
    except (ArgumentError, ArgumentTypeError) as error:
        raise with_message(error, f"{error} (node {name})") from error.__cause__
    if prop.reads_out:
        raise ArgumentError(f"{where} reads what is in `out`, and a symbol has none: use mx.nd")
    texts = {
        k: parsable_text(fields[k], v, where) if k in fields else parameter_text(None, v)
        for k, v in params.items()
    }
    node = Node(entry, name, attrs, texts, prop)
    node.inputs = _add_input_variables(node, where, inputs)
    return node


def _add_input_variables(node, where, inputs):
    """All inputs in order, variables made for the missing ones."""
    names = node.input_names()
    if isinstance(inputs, dict):
        known = set(names)
        strange = [key for key in inputs if key not in known]
        if strange:
            raise ArgumentTypeError(
                f"{where} has no input '{strange[0]}'; its inputs: {', '.join(names) or 'none'}"
            )
        given = inputs
    else:
        order = node.prop.list_inputs()
        if len(inputs) > len(order):
            raise ArgumentTypeError(too_many_text(where, node.op, order, len(inputs)))
        given = {n: entry for n, entry in zip(order, inputs) if entry is not None}
    out = []
    for key in names:
        entry = given.get(key)
        if entry is None:
            entry = (Node(None, f"{node.name}_{key}", {**node.params, **node.attrs}), 0)
        out.append(entry)
    set_variable_attrs(node.prop, names, out)
    return out


def set_variable_attrs(prop, names, entries):
    """Set attributes that an operator defines for its input variables, as the initializer of
    PReLU's gamma; existing ones stay."""
    for key, (source, _) in zip(names, entries):
        if source.op is None:
            for attribute, value in prop.variable_attrs.get(key, {}).items():
                source.attrs.setdefault(attribute, value)


def copy_graph(heads):
    """New nodes for what `heads` depend on: (new heads, dict of id of old node to new node)."""
    new = {}
    for node in topological_order(heads):
        inputs = [(new[id(source)], i) for source, i in node.inputs]
        new[id(node)] = Node(
            node.op, node.name, dict(node.attrs), dict(node.params), node.prop, inputs
        )
    return [(new[id(node)], i) for node, i in heads], new


def substitute_variables(heads, replacement):
    """Replace variables, by name, in the nodes of `heads` (which must be the caller's own copy).

    heads: list of (node, index)
    replacement: dict of str to (node, index)

    Returns list of (node, index): the new heads.
    """
    order = topological_order(heads)
    known = dict.fromkeys(node.name for node in order if node.op is None)
    for key in replacement:
        if key not in known:
            raise ArgumentTypeError(
                f"composition: no variable is named '{key}'; variables: {', '.join(known)}"
            )

    def replace_entry(entry):
        return replacement.get(entry[0].name, entry) if entry[0].op is None else entry

    for node in order:
        node.inputs = [replace_entry(entry) for entry in node.inputs]
    return [replace_entry(entry) for entry in heads]
