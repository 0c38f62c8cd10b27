"""The fuse pass: what follows a step element by element is computed inside it.

- BatchNorm, then relu: one step
- BatchNorm, then the sum with another value, then relu: one step
- Convolution or FullyConnected, then an activation: one step

A step takes over another only when nobody else reads what lies between. Runs after the layout pass
and before the gradient pass, so the backward of the joined step is its operator's own.
"""

from .graph import OUTPUT


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
        self.readers, self.writer = graph.neighbours()
        self.position = {step: i for i, step in enumerate(graph.steps)}
        self.gone = set()

    def run(self):
        for step in self.graph.steps:
            if step.prop.op_name == "Activation" and step not in self.gone:
                self._take_activation(step)
        left = [step for step in self.graph.steps if step not in self.gone]
        self.graph.set_forward(sorted(left, key=self.position.__getitem__))
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
        if step.ctx.device_type == "gpu":  # the GPU forms of operators have nothing folded in
            return
        if before.prop.op_name == "elemwise_add":
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
            if joined is None or norm.out_data[0].channels_last != other.channels_last:
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
