"""The fuse pass: what follows a step element by element is computed inside it.

- BatchNorm, then relu: one step
- BatchNorm, then the sum with another value, then relu: one step
- Convolution or FullyConnected, then an activation: one step

A step takes over another only when nobody else reads what lies between. Runs after the layout pass
and before the gradient pass, so the backward of the joined step is its operator's own.
"""

from .graph import OUTPUT

_SUMS = ("elemwise_add", "_plus", "broadcast_add")


def fuse(graph):
    """Join steps of `graph`.

    Parameters
    ----------
    graph : Graph
        Forward steps only, after the layout pass.

    Returns
    -------
    Graph
        The same graph with fewer steps.
    """
    return _Fuse(graph).run()


class _Fuse:
    """State of one run of the pass."""

    def __init__(self, graph):
        self.graph = graph
        self.readers = {}  # value -> steps that read it
        self.writer = {}
        self.position = {step: i for i, step in enumerate(graph.steps)}
        for step in graph.steps:
            for value in step.in_data:
                self.readers.setdefault(value, []).append(step)
            for value in step.out_data:
                self.writer[value] = step
        self.gone = set()

    def run(self):
        for step in list(self.graph.steps):
            if step.prop.op_name == "Activation" and step not in self.gone:
                self._take_activation(step)
        self.graph.steps = sorted(
            (s for s in self.graph.steps if s not in self.gone), key=self.position.__getitem__
        )
        self.graph.n_forward = len(self.graph.steps)
        return self.graph

    def _only_reader(self, value):
        """The one step that reads `value`, or None when others or the user see it."""
        readers = self.readers.get(value, ())
        return readers[0] if len(readers) == 1 and value.kind != OUTPUT else None

    def _take_activation(self, step):
        before = self.writer.get(step.in_data[0])
        if before is None or self._only_reader(step.in_data[0]) is not step:
            return
        if before.ctx != step.ctx or before.out_data[0] is not step.in_data[0]:
            return
        if before.prop.op_name in _SUMS and before.prop.elementwise:
            self._take_sum(before, step)
            return
        joined = before.prop.with_activation(
            step.prop.act_type, [v.dtype for v in before.in_data]
        )
        if joined is not None:
            self._join(before, joined, step)

    def _take_sum(self, add, step):
        """BatchNorm, add, relu: the later of the two summands' steps takes the other summand."""
        norms = []
        for value, other in (add.in_data, add.in_data[::-1]):
            norm = self.writer.get(value)
            if norm is None or self._only_reader(value) is not add or value is other:
                continue
            if norm.out_data[0] is value and norm.ctx == add.ctx:
                norms.append((self.position[norm], norm, other))
        for _, norm, other in sorted(norms, key=lambda each: -each[0]):
            joined = norm.prop.with_residual(step.prop.act_type)
            if joined is None or value_order(norm.out_data[0]) != value_order(other):
                continue
            norm.in_data.append(other)
            # it now waits for the other summand
            self.position[norm] = self.position[add]
            self.gone.add(add)
            self._join(norm, joined, step)
            return

    def _join(self, step, prop, follower):
        step.prop = prop
        step.out_data[0] = follower.out_data[0]
        self.writer[step.out_data[0]] = step
        self.gone.add(follower)


def value_order(value):
    """What two values must have in common to be added element by element."""
    return value.channels_last, value.shape, value.dtype
