"""Which argument a forward run may read in place, in the caller's batch.

Normally a batch is copied into the bound arrays before a run. If the first step that reads such an
array can copy what it reads (``Operator.copies_input``), it does so on the way: it reads the batch
and writes the bound array, which all later steps read.
"""

from math import prod

from .ir import ARG, NULL


def fed_input(graph, operators):
    """The largest argument that a step may copy.

    Parameters
    ----------
    graph : Graph
        After the memory pass.
    operators : dict of Step to Operator

    Returns
    -------
    (Value, int) or None
        The argument, and the position of the forward step that reads it first, as its first input.
    """
    found, seen = {}, set()
    for step in graph.steps:
        if step.kept is not None:  # made of these, they stay until one is written
            seen.update(step.kept.sources)
    for index, step in enumerate(graph.steps[: graph.n_forward]):
        roots = [None if value is None else value.root for value in step.in_data]
        root = roots[0] if roots else None
        if (
            root is not None
            and root.kind == ARG
            and root not in seen
            and roots.count(root) == 1
            and operators[step.origin or step].copies_input
            and step.kept is None
            and step.req[0] != NULL
        ):
            found[root] = index
        seen.update(roots)
        seen.update(value.root for _, value in step.written())
    return max(found.items(), key=lambda each: prod(each[0].shape), default=None)
