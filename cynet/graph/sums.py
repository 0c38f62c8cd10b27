"""The sum pass: at prediction a layer adds what it computes to the other summand.

A sum goes once more through what a convolution has just written, and through what it is added to.
Kernels that add to their output as they write it spare that: the layer writes into the other
summand's memory, if nobody reads that afterwards, and an activation behind the sum is the layer's,
too. In training the summand is mostly what a gradient waits for.
"""

from .graph import ADD, OUTPUT, TEMP, WRITE


def sums(graph):
    """Let the layers of `graph` compute the sums behind them.

    Parameters
    ----------
    graph : Graph
        Forward steps only, after the fuse pass, of a plan without gradients.

    Returns
    -------
    Graph
        The same graph with fewer steps. A summand that a layer adds to is written more than once.
    """
    return _Sums(graph).run()


class _Sums:
    """State of one run of the pass."""

    def __init__(self, graph):
        self.graph = graph
        self.readers, self.writer = graph.neighbours()
        self.position = {step: i for i, step in enumerate(graph.steps)}
        self.gone = set()

    def run(self):
        for step in self.graph.steps:
            if step.prop.op_name == "elemwise_add" and step.ctx.device_type == "cpu":
                self._take(step)
        left = [step for step in self.graph.steps if step not in self.gone]
        self.graph.set_forward(sorted(left, key=self.position.__getitem__))
        return self.graph

    def _take(self, add):
        """Let the later of the two steps that can compute the sum do so, if one of them can."""
        found = []
        for value, other in (add.in_data, add.in_data[::-1]):
            layer = self.writer.get(value)
            if layer is not None and self._fits(layer, value, other, add):
                found.append((self.position[layer], layer, other))
        if found:
            _, layer, other = max(found, key=lambda each: each[0])
            self._join(layer, other, add)

    def _fits(self, layer, value, other, add):
        """Whether `layer`, which computes `value`, may run where `add` does and write `other`."""
        out, at = add.out_data[0], self.position[layer]
        if layer.prop.with_sum(None, [v.dtype for v in layer.in_data]) is None:
            return False
        if layer.req[0] != WRITE or value.kind != TEMP or self.readers[value] != [add]:
            return False
        if any(self.position[self.writer[v]] > at for v in layer.in_data if v in self.writer):
            return False  # what it reads is added to before the sum
        made = self.writer.get(other)
        return (
            out.kind == other.kind == TEMP
            and out.channels_last == other.channels_last == value.channels_last
            and layer.ctx == add.ctx == other.ctx
            and made is not None
            and not made.prop.identity  # it may have the memory of what is read elsewhere
            and all(  # the last, which most often stands behind the sum, first
                each is not layer and self.position[each] < self.position[add]
                for each in reversed(self.readers[other])
                if each is not add
            )
        )

    def _join(self, layer, target, add):
        types = [v.dtype for v in layer.in_data]
        out, joined = add.out_data[0], None
        behind = self.readers.get(out, ())
        if len(behind) == 1 and self._is_activation(behind[0], add):
            joined = layer.prop.with_sum(behind[0].prop.act_type, types)
        if joined is None:
            joined = layer.prop.with_sum(None, types)
        else:
            out = behind[0].out_data[0]
            self.gone.add(behind[0])
        self.gone.add(add)
        layer.prop, layer.out_data[0], layer.req[0] = joined, target, ADD
        self.position[layer] = self.position[add]
        self.writer[target] = layer
        for step in self.readers.get(out, ()):
            step.in_data = [target if v is out else v for v in step.in_data]
        # those that read it before the sum keep their places: what they read is written behind them
        self.readers[target] = self.readers.get(out, [])

    def _is_activation(self, step, add):
        return (
            step.prop.op_name == "Activation"
            and step.ctx == add.ctx
            and step.out_data[0].kind != OUTPUT
            and step not in self.gone
        )
