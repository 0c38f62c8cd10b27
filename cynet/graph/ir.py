"""What the passes transform: steps over values, in the order they will run.

A `Graph` is made from a Symbol by `build`, extended by `gradient`, and given memory by `memory`;
the executor turns it into native tables. Every pass takes a Graph and returns one.
"""

from ..operator.property import ResourceRequest

FORWARD, BACKWARD = "forward", "backward"
NULL, WRITE, INPLACE, ADD = 0, 1, 2, 3  # OpReq, as _typedefs.pxd has it

# Kinds of values: who owns the memory and how long it must last.
ARG, AUX, GRAD, HEAD, OUTPUT, TEMP = "arg", "aux", "grad", "head", "output", "temp"
CONST, KEPT, SAVED = "const", "kept", "saved"


class Value:
    """One tensor of the graph.

    Attributes
    ----------
    name : str
        ``node_output`` for what a node computes, the variable's name for an argument.
    shape : tuple of int
    dtype : str
    ctx : Context
    kind : str
        ``arg``, ``aux``, ``grad``, ``head`` (a head gradient) and ``output`` live in arrays the
        user sees; ``temp`` lives in the executor's arena, where the memory pass puts it; ``const``
        is computed once, when the executor is bound; ``kept`` when what it is computed from was
        written; ``saved`` is a temporary of a body, of which each run has its own until it goes
        back (`plan_memory`).
    root : Value
        Whose memory this one is: itself, or the value it is a view of or computed in place of.
    channels_last : bool
        True: a value of shape (N, C, *size) lies in memory in the order (N, *size, C).
    offset : int or None
        Bytes from the start of the arena, for the root of a temp.
    """

    __slots__ = ("_root", "channels_last", "ctx", "dtype", "kind", "name", "offset", "shape")

    def __init__(self, name, shape, dtype, ctx, kind=TEMP, channels_last=False):
        self.name = name
        self.shape = shape
        self.dtype = dtype
        self.ctx = ctx
        self.kind = kind
        self.channels_last = channels_last
        self._root = None  # itself: a reference to it would leave it to the garbage collector
        self.offset = None

    @property
    def root(self):
        return self if self._root is None else self._root

    @root.setter
    def root(self, value):
        self._root = None if value is self else value

    def __repr__(self):
        return f"<{self.kind} {self.name} {self.shape} {self.dtype}>"


class CachedGroup:
    """Steps that run together, and only when one of the arrays they depend on was written since.

    Attributes
    ----------
    sources : list of Value
        Arguments and auxiliary states; what is constant is left out.
    """

    def __init__(self, sources):
        self.sources = list(dict.fromkeys(v for v in sources if v.kind != CONST))


class Step:
    """One run of an operator's forward or backward.

    The lists hold a Value or None (not given). Forward reads `in_data` and writes `out_data`;
    backward reads what it declared of `out_grad`, `in_data` and `out_data`, and writes `in_grad`.
    `req` says how each written one is written. `origin` of a backward step is the forward step
    whose Operator it shares. `attrs` are the node's. `kept` is the group of a step that need not
    run every time, else None. `members` are the steps that the chain pass has put into one.
    `algorithms` of a forward step on a CPU are those that its operator has chosen, once it is made
    (`GraphHooks.algorithms`).
    """

    __slots__ = (
        "algorithms",
        "attrs",
        "aux",
        "ctx",
        "direction",
        "in_data",
        "in_grad",
        "kept",
        "members",
        "name",
        "origin",
        "out_data",
        "out_grad",
        "prop",
        "req",
    )

    def __init__(
        self,
        name,
        prop,
        ctx,
        direction,
        in_data,
        out_data,
        aux,
        req,
        out_grad=(),
        in_grad=(),
        origin=None,
        attrs=None,
    ):
        self.name = name
        self.prop = prop
        self.ctx = ctx
        self.direction = direction
        self.in_data = list(in_data)
        self.out_data = list(out_data)
        self.aux = list(aux)
        self.req = list(req)
        self.out_grad = list(out_grad)
        self.in_grad = list(in_grad)
        self.origin = origin
        self.attrs = {} if attrs is None else attrs
        self.kept = None
        self.members = ()
        self.algorithms = {}

    def written(self):
        """Pairs (position, Value) of what the step writes, auxiliary states apart."""
        targets = self.out_data if self.direction == FORWARD else self.in_grad
        if len(targets) == 1:  # of most steps; every pass asks every step
            value = targets[0]
            return [(0, value)] if value is not None and self.req[0] != NULL else []
        pairs = enumerate(zip(targets, self.req))
        return [(i, v) for i, (v, req) in pairs if v is not None and req != NULL]

    def read(self):
        """Values the step reads, each once: also those it adds to."""
        if self.direction == FORWARD:
            values = self.in_data
        else:
            values = [*self.out_grad, *self.in_data, *self.out_data]
        if ADD in self.req:
            values = [*values, *(v for i, v in self.written() if self.req[i] == ADD)]
        if len(values) > 1:
            values = dict.fromkeys(values)
        return [v for v in values if v is not None]

    def touched(self):
        """What the step reads and writes; what it adds to stands twice."""
        return [*self.read(), *[v for _, v in self.written()]]

    def __repr__(self):
        return f"<{self.direction} {self.prop.op_name} {self.name}>"


def depends_on_inputs_only(step):
    """True when a forward step gives the same bytes for the same inputs, and does nothing else."""
    return not step.aux and repeatable(step)


def repeatable(step):
    """True when a forward step may be run again before backward: it gives the same bytes, and
    leaves its auxiliary states alone."""
    if not step.prop.pure or (step.aux and step.prop.graph.traits.moves_states):
        return False
    requests = step.prop.forward_resource([v.shape for v in step.in_data])
    return ResourceRequest.random not in requests


class Graph:
    """Steps and the values that users see.

    Attributes
    ----------
    steps : list of Step
        Forward steps first; `n_forward` of them.
    args, auxs, grads : dict of str to Value
        By name; `grads` only those asked for.
    outputs : list of Value
    heads : list of Value or None
        Gradients of the outputs that backward needs from outside, one an output.
    constant_steps : list of Step
        What is run once, before everything else; it makes the values of kind ``const``.
    memory : MemoryReport or None
        What the memory pass found.
    saved : int
        Bytes of the values of kind ``saved``.
    """

    def __init__(self, steps, args, auxs, outputs):
        self.steps = steps
        self.n_forward = len(steps)
        self.args = args
        self.auxs = auxs
        self.outputs = outputs
        self.grads = {}
        self.heads = [None] * len(outputs)
        self.constant_steps = []
        self.memory = None
        self.saved = 0

    def set_forward(self, steps):
        """Take `steps` for all there are: what a pass before the gradient pass has made."""
        self.steps = list(steps)
        self.n_forward = len(self.steps)

    def neighbours(self):
        """(readers, writer): value to the list of steps that read it, once a position, and value
        to the step whose output it is."""
        readers, writer = {}, {}
        for step in self.steps:
            for value in step.in_data:
                readers.setdefault(value, []).append(step)
            writer.update((value, step) for value in step.out_data)
        return readers, writer

    def moved_states(self):
        """The set of auxiliary states that running forward may write."""
        return {v for step in self.steps if step.prop.graph.traits.moves_states for v in step.aux}

    def kept_values(self):
        """Values that have memory of their own and stay from run to run, in the order of the steps
        that make them."""
        made = [v for step in self.steps if step.kept is not None for v in step.out_data]
        return [v for v in made if v.kind == KEPT]
