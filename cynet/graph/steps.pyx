"""Step and Value, the elements of a Graph (ir.py): compiled, as all passes read them."""


cdef class Value:  # a tensor of a graph: shape, dtype, kind, place in memory
    """One tensor of the graph.

    name (str): ``node_output`` for what a node computes, the variable's name for an argument.
    shape: tuple of int
    dtype: str
    ctx: Context
    kind (str): ``arg``, ``aux``, ``grad``, ``head`` (a head gradient) and ``output`` live in arrays
        the user sees; ``temp`` lives in the executor's arena, where the memory pass puts it;
        ``const`` is computed once, when the executor is bound; ``cached`` when what it is computed
        from was written; ``saved`` is a temporary of a body, of which each run has its own until it
        goes back (`plan_memory`).
    root (Value): Whose memory this one is: itself, or the value it is a view of or computed in
        place of.
    channels_last (bool): True: a value of shape (N, C, *size) lies in memory in the order (N,
        *size, C).
    offset (int or None): Bytes from the start of the arena, for the root of a temp.
    """

    cdef public object name, shape, dtype, ctx, kind, offset
    cdef public bint channels_last
    cdef Value _root

    def __init__(self, name, shape, dtype, ctx, kind="temp", channels_last=False):
        self.name = name
        self.shape = shape
        self.dtype = dtype
        self.ctx = ctx
        self.kind = kind
        self.channels_last = channels_last
        self._root = None  # None means itself: a self-reference would need the garbage collector
        self.offset = None

    @property
    def root(self):  # the value whose memory this one shares
        return self if self._root is None else self._root

    @root.setter
    def root(self, Value value not None):  # the value whose memory this one shares
        self._root = None if value is self else value

    def __copy__(self):
        made = Value(self.name, self.shape, self.dtype, self.ctx, self.kind, self.channels_last)
        made._root, made.offset = self._root, self.offset
        return made

    def __repr__(self):
        return f"<{self.kind} {self.name} {self.shape} {self.dtype}>"


cdef class Step:  # a call of an operator's forward or backward in a graph
    """A call of an operator's forward or backward in a Graph.

    The lists hold a Value or None (not given). Forward reads `in_data` and writes `out_data`;
    backward reads what it declared of `out_grad`, `in_data` and `out_data`, and writes `in_grad`.
    `req` says how each written one is written. `origin` of a backward step is the forward step
    whose Operator it shares. `attrs` are the node's. `cached` is the group of a step that need not
    run every time, else None. `members` are the steps that the chain pass has put into one.
    `algorithms` of a forward step on a CPU are those that its operator has chosen, once it is made
    (`GraphHooks.algorithms`).
    """

    cdef public object name, prop, ctx, attrs, cached, members, algorithms
    cdef public str direction
    cdef public list in_data, out_data, aux, req, out_grad, in_grad
    cdef public Step origin

    def __init__(self, name, prop, ctx, direction, in_data, out_data, aux, req, out_grad=(),
                 in_grad=(), origin=None, attrs=None):
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
        self.cached = None
        self.members = ()
        self.algorithms = {}

    def __copy__(self):
        cdef Step made = Step.__new__(Step)
        made.name, made.prop, made.ctx = self.name, self.prop, self.ctx
        made.direction, made.origin, made.attrs = self.direction, self.origin, self.attrs
        made.in_data, made.out_data, made.aux = self.in_data, self.out_data, self.aux
        made.req, made.out_grad, made.in_grad = self.req, self.out_grad, self.in_grad
        made.cached, made.members, made.algorithms = self.cached, self.members, self.algorithms
        return made

    cpdef list written(self):
        """Return pairs (index, Value) of the step's outputs, without auxiliary states."""
        cdef list targets = self.out_data if self.direction == "forward" else self.in_grad
        cdef Py_ssize_t i
        cdef list found = []
        for i in range(len(targets)):
            if targets[i] is not None and <int>self.req[i] != 0:
                found.append((i, targets[i]))
        return found

    cpdef list read(self):
        """Return the values that the step reads, each once, with the values that it adds to."""
        cdef list found = []
        if self.direction == "forward":
            _append_non_none(found, self.in_data)
        else:
            _append_non_none(found, self.out_grad)
            _append_non_none(found, self.in_data)
            _append_non_none(found, self.out_data)
        if 3 in self.req:
            _append_non_none(found, [value for i, value in self.written() if self.req[i] == 3])
        if len(found) > 1:
            return list(dict.fromkeys(found))
        return found

    def touched_values(self):
        """Return the values that the step reads, then those it writes; an added-to value twice."""
        cdef list found = self.read()
        for _, value in self.written():
            found.append(value)
        return found

    def __repr__(self):
        return f"<{self.direction} {self.prop.op_name} {self.name}>"


cdef int _append_non_none(list found, list values) except -1:
    for value in values:
        if value is not None:
            found.append(value)
    return 0
