"""The split pass: runs consecutive small steps by parts of the batch, one per thread.

If threads share a step of some microseconds, the result changes cores for the next step, which
costs as much as computing it. Where steps treat the rows of a batch independently
(GraphHooks.row_inputs), each thread takes its rows through all of them before the threads
meet. Sums over rows (gradients of weights) are made per part and added at the end.

There are as many parts as threads when the plan is made; how many threads run them later does not
change the result. Runs after all passes that make or join steps.
"""

from itertools import pairwise
from math import prod

from ...kernels.parallel import get_num_threads
from ..cost import flops
from ..ir import ARG, AUX, BACKWARD, CONST, KEPT, Value, depends_on_inputs_only
from ..memory_plan import nbytes

LEAST_ROWS = 32  # of a part
BLOCK = 16  # rows that kernels have at a time: parts begin at a multiple of it
LEAST_WORK = 1 << 15  # in the mean of a group; a kernel with less is better one thread's
MOST_WHOLE = 24576  # elements of weights, which all threads read
MOST_BYTES = 1 << 20  # of what a part touches, to stay in a core's cache


class Split:
    """Steps of a graph that run in parts.

    Attributes
    ----------
    first, last : int
        They are ``graph.steps[first:last]``.
    rows : tuple of int
        How many each part has.
    work : int
        Of all parts together, as kernels/parallel.pxd counts it.
    sums : dict of Value to list of Value
        What is summed over the rows, to the sums of all parts but the first, whose go there.
    """

    def __init__(self, first, last, rows, work, sums):
        self.first, self.last, self.rows, self.work, self.sums = first, last, rows, work, sums


def split(graph):
    """Find the steps of `graph` that run in parts.

    Parameters
    ----------
    graph : Graph
        With its backward steps, if any.

    Returns
    -------
    Graph
        The same graph with `splits`.
    """
    graph.splits = []
    if get_num_threads() < 2:
        return graph
    for begin, end in ((0, graph.n_forward), (graph.n_forward, len(graph.steps))):
        group = None
        for i in range(begin, end):
            step, rows = graph.steps[i], _rows_of(graph.steps[i])
            if group is not None and not (rows == group.rows and group.takes(step)):
                _close(graph, group)
                group = None
            if rows is not None and group is None and _Group(i, rows).takes(step):
                group = _Group(i, rows)
            if group is not None:
                group.add(step)
        if group is not None:
            _close(graph, group)
    return graph


def parts_of(rows, threads):
    """Rows of each part of so many: whole blocks, nearly as many each.

    >>> parts_of(128, 2), parts_of(100, 16), parts_of(300, 4)
    ((64, 64), (32, 32, 36), (64, 80, 80, 76))
    """
    parts, blocks = max(min(threads, rows // LEAST_ROWS), 1), -(-rows // BLOCK)
    cuts = [blocks * i // parts * BLOCK for i in range(parts)] + [rows]
    return tuple(end - begin for begin, end in pairwise(cuts))


def row_positions(step):
    """The inputs of a step that are cut by rows, or None where it cannot run in parts."""
    inputs = (step.origin or step).in_data
    return step.prop.graph.row_inputs(
        step.prop, [v.shape for v in inputs], [v.dtype for v in inputs]
    )


def _rows_of(step):
    """How many rows a step treats apart; None where it does not, or where it would not pay."""
    forward = step.origin or step
    if step.kept is not None:
        return None
    positions = row_positions(step) if depends_on_inputs_only(forward) else None
    if not positions:
        return None
    inputs = forward.in_data
    rows = inputs[positions[0]].shape[0]
    by_rows = [*(inputs[i] for i in positions), *forward.out_data]
    positions = set(positions)
    whole = [v for i, v in enumerate(inputs) if i not in positions]
    if rows < 2 * LEAST_ROWS or any(v.shape[:1] != (rows,) or v.channels_last for v in by_rows):
        return None
    if any(v.dtype != "float32" for v in (*by_rows, *whole)):
        return None
    if any(v.kind not in (ARG, AUX, CONST, KEPT) for v in whole):
        return None
    # each thread reads these, brings them into its kernels' order, and sums their gradients
    size = sum(prod(v.shape) for v in whole)
    if size > MOST_WHOLE or size > sum(prod(v.shape) for v in by_rows):
        return None
    return rows


class _Group:
    """Steps that may run in parts together; `by_rows` are the roots that are cut."""

    def __init__(self, first, rows):
        self.first, self.rows = first, rows
        self.steps, self.by_rows, self.whole, self.summed = [], {}, set(), {}
        self.sums = set()  # roots of what is summed
        self.values, self.size = set(), 0  # what is touched, and its bytes
        self.most = MOST_BYTES * len(parts_of(rows, get_num_threads()))

    def add(self, step):
        by_rows, whole, summed = _touched(step)
        self.steps.append(step)
        self.size += self._more(step)
        self.values |= _values(step)
        self.by_rows.update((v.root, nbytes(v)) for v in by_rows)
        self.whole.update(v.root for v in whole)
        self.summed.update((v, None) for v in summed)
        self.sums.update(v.root for v in summed)

    def takes(self, step):
        """Whether there is room, no part reads what another one writes, and rows lie alike in what
        is shared."""
        by_rows, whole, summed = _touched(step)
        cut, apart = {v.root for v in by_rows}, {v.root for v in (*whole, *summed)}
        return (
            self.size + self._more(step) <= self.most
            and all(self.by_rows.get(v.root, nbytes(v)) == nbytes(v) for v in by_rows)
            and self.by_rows.keys().isdisjoint(apart)
            and all(map(cut.isdisjoint, (apart, self.whole, self.sums)))
            and self.sums.isdisjoint(v.root for v in whole)
            and self.whole.isdisjoint(v.root for v in summed)
        )

    def _more(self, step):
        """Bytes that a step touches and the others do not."""
        return sum(map(nbytes, _values(step) - self.values))


def _values(step):
    """What a step touches."""
    return {*step.read(), *(v for _, v in step.written())}


def _touched(step):
    """(by rows, whole, summed): values that are cut, read whole, and written as sums over rows."""
    positions = set(row_positions(step))
    by_rows = [v for v in (*step.out_grad, *step.out_data) if v is not None]
    whole, summed = [], []
    for i, value in enumerate(step.in_data):
        if value is not None:
            (by_rows if i in positions else whole).append(value)
    if step.direction == BACKWARD:
        for i, value in step.written():
            (by_rows if i in positions else summed).append(value)
    return by_rows, whole, summed


def _close(graph, group):
    """Note a group as a Split of the graph, if it is worth it."""
    steps, rows = group.steps, parts_of(group.rows, get_num_threads())
    work = sum(map(_work, steps))
    if len(steps) < 2 or work < LEAST_WORK * len(steps):
        return
    sums = {
        value: [
            Value(f"{value.name}_part{i}", value.shape, value.dtype, value.ctx, KEPT)
            for i in range(1, len(rows))
        ]
        for value in group.summed
    }
    last = group.first + len(steps)
    graph.splits.append(Split(group.first, last, rows, work, sums))


def _work(step):
    """A step's work as kernels/parallel.pxd counts it: of one product, if it has several."""
    forward = step.origin or step
    elements = sum(prod(v.shape) for v in (*forward.in_data, *forward.out_data))
    return flops(forward) // 16 or elements
