"""`vmap`: apply a function of one sample to all samples of a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.errors import ArgumentError, ArgumentTypeError, ShapeError, shown
from ..base.guard import guarded
from ..base.kinds import to_index
from ..ndarray import NDArray, stack

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["vmap"]


def _batch_axes(in_axes, inputs):
    """The axis of each input, counted from the front; None for an input that all samples share."""
    if isinstance(in_axes, (list, tuple)):
        if len(in_axes) != len(inputs):
            raise ArgumentError(f"vmap: in_axes has {len(in_axes)} axes for {len(inputs)} inputs")
        given = list(in_axes)
    else:
        given = [in_axes if isinstance(x, NDArray) else None for x in inputs]
    for i, (axis, x) in enumerate(zip(given, inputs)):
        if axis is None:
            continue
        if not isinstance(x, NDArray):
            raise ArgumentTypeError(f"vmap: input {i} must be an NDArray, got {shown(x)}")
        axis = to_index(f"vmap: the axis of input {i}", axis)
        if not -x.ndim <= axis < x.ndim:
            raise ShapeError(f"vmap: input {i} of shape {x.shape} has no axis {axis}")
        given[i] = axis % x.ndim
    return given


def _batch_length(axes, inputs):
    lengths = {
        i: x.shape[axis] for i, (axis, x) in enumerate(zip(axes, inputs)) if axis is not None
    }
    if not lengths:
        raise ArgumentError("vmap: no input has an axis to go through")
    if len({*lengths.values()}) > 1:
        listed = ", ".join(f"{n} in input {i}" for i, n in lengths.items())
        raise ShapeError(f"vmap: the inputs have different numbers of samples: {listed}")
    count = next(iter(lengths.values()))
    if not count:
        raise ShapeError("vmap: the inputs have no samples")
    return count


def _stack_outputs(outputs, axis):
    """The samples' outputs stacked into one array along `axis`."""
    first = outputs[0]
    for i, each in enumerate(outputs):
        if not isinstance(each, NDArray):
            raise ArgumentTypeError(f"vmap: the function gave {shown(each)}, expected an NDArray")
        if each.shape != first.shape:
            raise ShapeError(
                f"vmap: the function gave shape {first.shape} for the first sample and"
                f" {each.shape} for sample {i}"
            )
    axis = to_index("vmap: out_axes", axis)
    if not -first.ndim - 1 <= axis <= first.ndim:
        raise ShapeError(f"vmap: an output of shape {first.shape} takes no axis {axis} more")
    axis %= first.ndim + 1
    return stack(*outputs, axis=axis)


@guarded
def vmap(
    function: Callable[..., Any], in_axes: int | Sequence[int | None] = 0, out_axes: int = 0
) -> Callable[..., Any]:
    """Turn a function of one sample into a function of batches.

    The function is called once for each sample; the samples run in the background side by side, and
    gradients flow through. A function that takes batches already is faster.

    Parameters
    ----------
    function : callable
        Takes NDArrays (and anything else), and returns an NDArray, or a list or tuple of them, of
        the same shapes for all samples.
    in_axes : int, or tuple of int and None
        The axis of the samples in each NDArray; None for an input that all samples share.
    out_axes : int
        The axis of the samples in the outputs.

    Returns
    -------
    callable
        Gives what `function` gives, with an axis more. A sample of an ``mx.nd`` array of one axis
        has the shape (1,), as ``x[0]`` has; of an ``mx.np`` array it has the shape ().

    Raises
    ------
    ShapeError
        The inputs have different numbers of samples, or none, or the outputs different shapes.

    Examples
    --------
    >>> weight, rows = mx.nd.array([[1, 2], [3, 4]]), mx.nd.array([[1, 0], [0, 1], [1, 1]])
    >>> product = mx.autograd.vmap(lambda w, row: mx.nd.dot(w, row), in_axes=(None, 0))
    >>> product(weight, rows).asnumpy().tolist()
    [[1.0, 3.0], [2.0, 4.0], [3.0, 7.0]]
    >>> slope = mx.autograd.value_and_grad(lambda row: (row**2).sum())
    >>> mx.autograd.vmap(lambda row: slope(row)[1])(rows).asnumpy().tolist()  # each sample's slope
    [[2.0, 0.0], [0.0, 2.0], [2.0, 2.0]]
    """

    def apply_to_batches(*inputs):
        axes = _batch_axes(in_axes, inputs)
        results = []
        for i in range(_batch_length(axes, inputs)):
            sample = [
                x if axis is None else x[(slice(None),) * axis + (i,)]
                for axis, x in zip(axes, inputs)
            ]
            results.append(function(*sample))
        if not isinstance(results[0], (list, tuple)):
            return _stack_outputs(results, out_axes)
        parts = [_stack_outputs(each, out_axes) for each in zip(*results, strict=True)]
        return type(results[0])(parts)

    return apply_to_batches
