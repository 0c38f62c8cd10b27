"""Slicing of a batch for several devices; scripts import it from mx.executor_manager."""

from collections import Counter

from .. import ndarray as nd
from ..base.errors import ArgumentError, ArgumentTypeError, shown
from ..context import Context
from ..ndarray import NDArray


def _split_input_slice(batch_size, work_load_list):
    """Return slices of a batch, in proportion to the work loads.

    batch_size: int
    work_load_list (list of number): One a device.

    Returns list of slice. Raises ArgumentError when a device would get nothing.

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
    """Refuse a symbol with duplicate names of arguments or auxiliary states."""
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
    """Copy each source into its target: an NDArray, a list of them (from a list), or pairs (slice
    of the batch axis, NDArray). `major_axis` has the batch axis of each source, the first one by
    default; below 0 each NDArray gets all of it."""
    axes = [0] * len(data) if major_axis is None else major_axis
    for source, target, axis in zip(data, targets, axes):
        if isinstance(target, NDArray):
            source.copyto(target)
        elif isinstance(source, (list, tuple)):
            for each, (_, array) in zip(source, target):
                each.copyto(array)
        else:
            for part, array in target:
                (source if axis < 0 else _slice_batch(source, axis, part)).copyto(array)


def _slice_batch(array, axis, part):
    """Return a slice of an array along its batch axis."""
    if axis == 0:
        return array[part.start : part.stop]
    return array[(slice(None),) * axis + (part,)]


def _merge_multi_context(outputs, major_axis):
    """Concatenate each output over the devices, on the first device.

    outputs: list of list of NDArray
    major_axis (list of int): The batch axis of each; below 0 the first device's array is taken.

    Examples
    --------
    >>> _merge_multi_context([[nd.ones((2, 3)), nd.ones((1, 3))]], [0])[0].shape
    (3, 3)
    """
    merged = []
    for arrays, axis in zip(outputs, major_axis):
        if axis < 0 or len(arrays) == 1:
            merged.append(arrays[0])
        else:
            home = arrays[0].context
            merged.append(nd.concat(*(each.as_in_context(home) for each in arrays), dim=axis))
    return merged


def _prepare_group2ctxs(group2ctxs, ctx_len):
    """Return a dict of context group to Context, or None, for each of `ctx_len` devices.

    >>> _prepare_group2ctxs({"a": [Context("cpu", 0), Context("cpu", 1)]}, 2)
    [{'a': cpu(0)}, {'a': cpu(1)}]
    """
    if group2ctxs is None:
        return [None] * ctx_len
    if isinstance(group2ctxs, (list, tuple)):
        if len(group2ctxs) != ctx_len:
            raise ArgumentError(f"group2ctxs has {len(group2ctxs)} entries for {ctx_len} contexts")
        return list(group2ctxs)
    if not isinstance(group2ctxs, dict):
        raise ArgumentTypeError(
            f"group2ctxs must be a dict or a list of dicts, got {shown(group2ctxs)}"
        )
    split = [{} for _ in range(ctx_len)]
    for group, contexts in group2ctxs.items():
        contexts = [contexts] * ctx_len if isinstance(contexts, Context) else list(contexts)
        if len(contexts) == 1:
            contexts *= ctx_len
        if len(contexts) != ctx_len:
            raise ArgumentError(f"group2ctxs['{group}'] has {len(contexts)} contexts for {ctx_len}")
        for each, context in zip(split, contexts):
            each[group] = context
    return split


def _load_data(batch, targets, major_axis=None):
    """Copy a batch's data into arrays; see `_load_general`."""
    _load_general(batch.data, targets, major_axis)


def _load_label(batch, targets, major_axis=None):
    """Copy a batch's labels into arrays; see `_load_general`."""
    _load_general(batch.label, targets, major_axis)
