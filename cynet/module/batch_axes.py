"""The batch axis of each array, and the removal of padding examples."""

import operator

from ..base.errors import ArgumentError, ArgumentTypeError, CynetError, shown
from ..io import DataDesc
from .slicing import _slice_batch


def checked_pad(pad, size):
    """Return the checked `pad` of a batch of `size`: its number of padding examples."""
    try:
        pad = operator.index(0 if pad is None else pad)
    except TypeError:
        raise ArgumentTypeError(f"pad of a batch must be an int, got {shown(pad)}") from None
    if not 0 <= pad <= size:
        raise ArgumentError(
            f"the batch has pad={shown(pad)}: of its {size} examples 0 to {size} can be padding"
        )
    return pad


def output_batch_axes(symbol, inputs, size, order):
    """Return the position of the batch axis of each output.

    Shapes are inferred for a batch with one example more: what grows holds the examples.

    symbol: Symbol
    inputs (list of DataDesc): Data and labels.
    size (int): Examples in a batch.
    order (int): The batch axis of labels, in whose order an output has its rows that has joined
        several axes to one, as metrics do it with labels.

    Returns list of (int, int) or None: of each output the axis, and 1 where examples are joined
    with axes before them, so that one is ``axis[i::size]``; 0 where those of each stand side by
    side. None: it has none.
    """
    found = []
    small = _output_shapes(symbol, inputs, size, size)
    large = _output_shapes(symbol, inputs, size, size + 1)
    for i, shape in enumerate(small):
        grown = large[i] if large is not None else None
        if grown is None or len(grown) != len(shape):  # the network fits only this batch size
            axes = [0] if shape and shape[0] and shape[0] % size == 0 else []
        else:
            axes = [k for k, (a, b) in enumerate(zip(shape, grown)) if a != b]
        if not axes or shape[axes[0]] % size:
            found.append(None)
        else:
            axis = axes[0]
            found.append((axis, int(order > 0 and shape[axis] != size)))
    return found


def _output_shapes(symbol, inputs, size, wanted):
    """Infer the shapes of the outputs for a batch of `wanted` examples; None if that fails."""
    shapes = {}
    for desc in inputs:
        shape, axis = list(desc.shape), DataDesc.get_batch_axis(desc.layout)
        if 0 <= axis < len(shape) and shape[axis] % size == 0:
            shape[axis] = shape[axis] // size * wanted
        shapes[desc.name] = tuple(shape)
    try:
        return symbol.infer_shape(**shapes)[1]
    except CynetError:
        return None


def slice_examples(array, place, size, begin, end):
    """Slice the examples `begin` to `end` from an array of `size` examples.

    array: NDArray or numpy.ndarray
    place ((int, int) or None): As `output_batch_axes` gives it; None leaves the array as it is.
    """
    if place is None or not 0 <= place[0] < len(array.shape):
        return array
    axis, within = place
    length = array.shape[axis]
    if length == 0 or length % size:  # cut already, or without examples
        return array
    times = length // size
    if within and times > 1:
        shape = tuple(array.shape)
        split = array.reshape((*shape[:axis], times, size, *shape[axis + 1 :]))
        part = _slice_batch(split, axis + 1, slice(begin, end))
        return part.reshape((*shape[:axis], times * (end - begin), *shape[axis + 1 :]))
    return _slice_batch(array, axis, slice(begin * times, end * times))
