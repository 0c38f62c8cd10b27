"""Update operators with a row_sparse gradient: they change only the rows that it stores."""

import numpy as np

from ...base.errors import ArgumentTypeError
from ...operator.update.update import UpdateProperty
from . import arrays, convert
from .through_host import update_by_rows


def indices_and_values(grad):
    """The row indices of a gradient, all for a dense one, and their values."""
    if grad.stype == "row_sparse":
        values, (rows,) = grad.parts()
        return rows, values
    return np.arange(grad.shape[0], dtype=np.int64), grad


def array_to_update(weight, out):
    """The array that an update changes: `out`, after the weight is copied to it."""
    if out is None:
        return weight.copy()
    if out is not weight:
        weight.copyto(out)
    return out


def lazy_update(entry, given, names, params, out):
    """Run update `entry` for the rows of its gradient; None if it is no lazy update."""
    kind = entry.prop
    if not issubclass(kind, UpdateProperty):
        return None
    prop = kind(**kind.accepted_params(params))
    if not getattr(prop, "lazy_update", False):
        return None
    wanted = [*prop.list_arguments(), *prop.list_auxiliary_states()]
    found = dict(zip(wanted, given[: len(given) - len(names)]))
    found.update(zip(names, given[len(given) - len(names) :]))
    if [*found] != wanted and {*found} != {*wanted}:
        raise ArgumentTypeError(
            f"operator {entry.name} takes the inputs {', '.join(wanted)}; got {', '.join(found)}"
        )
    weight, grad, *states = (found[name] for name in wanted)
    if not isinstance(grad, arrays.RowSparseNDArray):
        return None
    out = array_to_update(weight, out[0] if isinstance(out, (list, tuple)) else out)
    states = [convert.values_of_all_rows(each) for each in states]
    master = states.pop() if prop.master else None
    (numbers,) = prop.update_numbers_per_weight()
    rows, values = indices_and_values(grad)
    update_by_rows(
        prop.rule,
        convert.values_of_all_rows(out),
        values,
        rows,
        tuple(states),
        master,
        *map(float, numbers[:4]),
        tuple(numbers[4:]),
    )
    return out
