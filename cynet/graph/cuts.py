"""The points where backward is cut, so that readers of the first gradients need not wait for
all."""

_SMALLEST = 1 << 14  # bytes of gradients that a cut is worth
_parts = 1


def cut_gradients(parts):
    """Have plans that are made from now on give their gradients in so many parts, about."""
    global _parts
    _parts = parts


def gradient_cuts(graph):
    """The positions of steps behind which the backward of a Graph is cut."""
    if _parts == 1 or not graph.grads:
        return frozenset()
    total = sum(_size(value) for value in graph.grads.values())
    goal, made, cuts = max(total // _parts, _SMALLEST), 0, set()
    wanted = set(graph.grads.values())
    for i, step in enumerate(graph.steps):
        if i >= graph.n_forward:
            made += sum(_size(value) for _, value in step.written() if value.root in wanted)
        if made >= goal:
            made = 0
            cuts.add(i)
    return frozenset(cuts)


def _size(value):
    """About as many bytes as it has: what counts is the share of all."""
    size = 4
    for n in value.shape:
        size *= n
    return size
