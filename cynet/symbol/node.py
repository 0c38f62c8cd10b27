"""The graph behind a Symbol: Node, and the order in which nodes are visited.

An edge is a pair ``(node, output index)``, called an entry everywhere. A Symbol is a list of
entries (its heads); passes take such a list. Nodes are shared between symbols: only composition
replaces inputs, on a copy.
"""


class Node:
    """One operator or variable of a graph.

    op (OpEntry or None): The registered operator; None for a variable.
    name (str): Unique only by convention.
    attrs (dict of str to str): User attributes (``__lr_mult__``, ``__ctx_group__``, ``__shape__``,
        ...).
    params (dict of str to str): The operator's own parameters as they were given, as JSON writes
        them.
    prop (OperatorProperty or None): The parsed operator; None for a variable.
    inputs (list of (Node, int)): Arguments first, then auxiliary states.
    """

    __slots__ = ("_outputs", "attrs", "inputs", "name", "op", "params", "prop")

    def __init__(self, op, name, attrs=None, params=None, prop=None, inputs=()):
        self.op = op
        self.name = name
        self.attrs = {} if attrs is None else attrs
        self.params = {} if params is None else params
        self.prop = prop
        self.inputs = list(inputs)
        self._outputs = None

    def list_outputs(self):
        """The operator's own names of all outputs, hidden ones last; cached."""
        if self._outputs is None:
            self._outputs = self.prop.list_outputs()
        return self._outputs

    @property
    def is_variable(self):
        """True for a variable (argument or auxiliary state)."""
        return self.op is None

    @property
    def num_outputs(self):
        """The number of outputs, hidden ones included."""
        return 1 if self.op is None else len(self.list_outputs())

    @property
    def num_visible_outputs(self):
        """The number of outputs a user sees."""
        return 1 if self.op is None else self.prop.num_visible_outputs()

    @property
    def num_args(self):
        """The number of `inputs` that are arguments; the others are auxiliary states."""
        return 0 if self.op is None else len(self.inputs) - len(self.prop.list_auxiliary_states())

    def input_names(self):
        """The operator's own names of `inputs`: its arguments, then its auxiliary states."""
        return (
            []
            if self.op is None
            else [*self.prop.list_arguments(), *self.prop.list_auxiliary_states()]
        )

    def output_name(self, index):
        """The public name of one output: ``fc1_output``, or the variable's own name."""
        return self.name if self.op is None else f"{self.name}_{self.list_outputs()[index]}"

    def __repr__(self):
        return f"<variable {self.name}>" if self.op is None else f"<{self.op.name} {self.name}>"


def topological_order(heads):
    """Every node that the entries `heads` depend on, inputs before their users.

    The order is depth first, inputs in their order, and so decides the order of
    ``list_arguments``. Nothing recurses: a chain of any length is fine.
    """
    seen = set()
    order = []
    for head, _ in heads:
        if id(head) in seen:
            continue
        seen.add(id(head))
        stack = [(head, iter(head.inputs))]
        while stack:
            node, rest = stack[-1]
            for source, _ in rest:
                if id(source) not in seen:
                    seen.add(id(source))
                    stack.append((source, iter(source.inputs)))
                    break
            else:
                order.append(node)
                stack.pop()
    return order


def fixed_arguments(order):
    """Variable's name to the constant that operators of the nodes in `order` read instead of its
    value (``fixed_inputs``)."""
    fixed = {}
    for node in order:
        numbers = {} if node.op is None else node.prop.graph.fixed_inputs(node.prop)
        for name, (source, _) in zip(node.input_names() if numbers else (), node.inputs):
            if name in numbers and source.op is None:
                fixed[source.name] = numbers[name]
    return fixed


def auxiliary_nodes(order):
    """Ids of the variables in `order` that some operator uses as an auxiliary state."""
    return {
        id(source)
        for node in order
        if node.op is not None and len(node.inputs) > node.num_args
        for source, _ in node.inputs[node.num_args :]
        if source.op is None
    }


def variable_nodes(heads):
    """Lists of nodes, in topological order: arguments, auxiliary states, all variables."""
    return variables_in(topological_order(heads))


def variables_in(order):
    """The same lists of the nodes in `order`."""
    states = auxiliary_nodes(order)
    variables = [node for node in order if node.op is None]
    return (
        [node for node in variables if id(node) not in states],
        [node for node in variables if id(node) in states],
        variables,
    )
