"""How a batch is cut up for several devices; scripts import these from mx.executor_manager."""

from collections import Counter

from ..base.errors import ArgumentError, shown
from ..ndarray import NDArray


def _split_input_slice(batch_size, work_load_list):
    """Slices of a batch, in proportion to the work loads.

    Parameters
    ----------
    batch_size : int
    work_load_list : list of number
        One a device.

    Returns
    -------
    list of slice

    Raises
    ------
    ArgumentError
        When a device would get nothing.

    Examples
    --------
    >>> _split_input_slice(6, [1, 2])
    [slice(0, 2, None), slice(2, 6, None)]
    """
    total = sum(work_load_list)
    if total <= 0:
        raise ArgumentError(f"work loads must add up to more than 0, got {work_load_list}")
    counts = [round(load * batch_size / total) for load in work_load_list]
    counts[-1] += max(batch_size - sum(counts), 0)
    slices, end = [], 0
    for count in counts:
        begin, end = min(end, batch_size), min(end + count, batch_size)
        if begin >= end:
            raise ArgumentError(
                f"Too many slices: a batch of {batch_size} cannot be split over"
                f" work loads {work_load_list}"
            )
        slices.append(slice(begin, end))
    return slices


def _check_arguments(symbol):
    """Refuse a symbol that has two arguments or auxiliary states of one name."""
    for kind, names in (
        ("argument", symbol.list_arguments()),
        ("auxiliary state", symbol.list_auxiliary_states()),
    ):
        twice = sorted(name for name, count in Counter(names).items() if count > 1)
        if twice:
            raise ArgumentError(
                f"{kind} {shown(twice[0])} comes twice; give each its own name. All: {names}"
            )


def _load_general(data, targets, major_axis=None):
    """Copy each source into its target: an NDArray, a list of them (from a list), or pairs of the
    slice of the first axis and the NDArray it goes to."""
    for source, target in zip(data, targets):
        if isinstance(target, NDArray):
            source.copyto(target)
        elif isinstance(source, (list, tuple)):
            for each, (_, array) in zip(source, target):
                each.copyto(array)
        else:
            for part, array in target:
                source[part].copyto(array)


def _load_data(batch, targets, major_axis=None):
    """Copy a batch's data into arrays; see `_load_general`."""
    _load_general(batch.data, targets, major_axis)


def _load_label(batch, targets, major_axis=None):
    """Copy a batch's labels into arrays; see `_load_general`."""
    _load_general(batch.label, targets, major_axis)
