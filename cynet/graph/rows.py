"""Which gradients are filled row by row, so that the rows that are not zero can be known.

A run of an Embedding touches few rows of its table. Where its gradient lies in an array of its own,
the executor keeps the set of those rows (``_row_set.pxd``): the next backward clears these and no
others, and an update passes over the rest.
"""

from .graph import BACKWARD, GRAD, WRITE
from .touched import touched


def gradient_by_rows(graph, step, operator):
    """The gradient of which a step writes some rows, and zeros to all others.

    Parameters
    ----------
    graph : Graph
        After the memory pass.
    step : Step
    operator : Operator
        The step's.

    Returns
    -------
    Value or None
        None, too, where another step writes or reads it in the same run, or it is added to.
    """
    index = operator.rows_of
    if not index or step.direction != BACKWARD or step.req[index] != WRITE:
        return None
    value = step.in_grad[index]
    if value.kind != GRAD or value.root is not value:
        return None
    users = [s for s in graph.steps if any(value in roots for roots in touched([s])[:2])]
    return value if users == [step] else None
