"""Methods of NDArray that change the shape or assign parts: reshape, transpose, squeeze, ..."""

import math

from ...base.errors import ArgumentError, ArgumentTypeError, ShapeError, shown
from ...base.guard import guarded
from ...base.kinds import check_flag, is_single_int
from ...base.other_names import refuse_keywords
from ...operator import get_operator
from ...operator.checks.shapes import require_shape_tuple
from .. import _tape
from .._call import invoke
from .._indexing import recorded_reshape

_EXPAND_DIMS, _SQUEEZE = get_operator("expand_dims"), get_operator("squeeze")
_FLATTEN = get_operator("Flatten")


class ShapeMethods:
    """Base of NDArray: methods that reshape or rearrange elements."""

    __slots__ = ()

    def reshape(self, *shape, **kwargs):
        """A view of the same memory under another shape.

        Parameters
        ----------
        *shape : tuple of int, or ints
            New lengths of the axes, with MXNet's codes: 0 keeps the length, -1 is inferred, -2
            keeps all that remain, -3 joins two axes, -4 splits one into the two lengths that
            follow.
        reverse : bool
            Read the codes from the last axis to the first.

        Raises
        ------
        ShapeError
            When the sizes do not fit.

        Examples
        --------
        >>> mx.nd.zeros((2, 3, 4)).reshape((0, -1)).shape
        (2, 12)
        """
        if not kwargs:
            try:
                out = self._plain_reshape(shape)
            except OverflowError:
                out = None  # the operator's error tells more
            if out is not None:
                return self._reshape_to(out.shape) if _tape.is_tracked(self) else out
        reverse = kwargs.pop("reverse", False)
        if "shape" in kwargs:
            if shape:
                raise ArgumentTypeError("reshape: the shape is given twice")
            shape = (kwargs.pop("shape"),)
        if kwargs:
            raise ArgumentTypeError(f"reshape takes shape and reverse, got {', '.join(kwargs)}")
        if not shape:
            raise ArgumentTypeError("reshape: the shape is missing")
        if len(shape) == 1 and not is_single_int(shape[0]):
            shape = shape[0]
        try:
            sizes = tuple(n.__index__() for n in shape)
        except (AttributeError, TypeError):
            raise ArgumentTypeError(
                f"reshape: a shape is a tuple of ints, got {shown(shape)}"
            ) from None
        if not sizes or min(sizes) <= 0:
            sizes = self._infer_new_shape(sizes, reverse)
        if math.prod(sizes) != self.size:
            raise ShapeError(
                f"reshape: an array of shape {self.shape} cannot take shape {shown(sizes)}"
            )
        return self._reshape_to(sizes)

    def _reshape_to(self, sizes):
        if _tape.is_tracked(self) and self.size:
            return recorded_reshape(self, sizes)
        return self._view(sizes)

    def _infer_new_shape(self, sizes, reverse):
        if not sizes:
            return ()
        prop = get_operator("Reshape").prop(shape=sizes, reverse=reverse)
        return prop.output_shapes([self.shape])[0]

    def transpose(self, *order, axes=None, **others):
        """A copy with the axes in the given order, or by default reversed.

        Parameters
        ----------
        *order : int, or one tuple of int
            Axis of this array for each axis of the result.
        axes : tuple of int, optional
            The same by name.
        **others
            Refused, with what was meant.

        Raises
        ------
        ArgumentError
            The axes are given twice, or are not those of the array.

        Examples
        --------
        >>> mx.nd.zeros((2, 3, 4)).transpose(2, 0, 1).shape
        (4, 2, 3)
        """
        if others:
            refuse_keywords("transpose", others, ("axes",))
        if order and axes is not None:
            raise ArgumentTypeError("transpose: the axes are given twice")
        if len(order) == 1 and not is_single_int(order[0]):
            order = order[0]
        given = order if axes is None else axes
        if hasattr(given, "__len__"):
            given = tuple(given) or None
        params = {} if given is None else {"axes": given}
        return invoke(get_operator("transpose"), (self,), params)

    @guarded
    def slice_assign(self, rhs, begin, end, step):
        """Write `rhs` to the part of this array that ``mx.nd.slice`` selects; return this array.

        Parameters
        ----------
        rhs : NDArray
            The values, of the slice's shape.

        Examples
        --------
        >>> x = mx.nd.zeros((2, 3))
        >>> x.slice_assign(mx.nd.array([[1, 2]]), begin=(0, 1), end=(1, 3), step=(1, 1))
        [[0. 1. 2.]
         [0. 0. 0.]]
        <NDArray 2x3 @cpu(0)>
        """
        self[_slice_tuple(begin, end, step)] = rhs
        return self

    @guarded
    def slice_assign_scalar(self, value, begin, end, step):
        """Write a number to the part of this array that ``mx.nd.slice`` selects; return this array.

        Parameters
        ----------
        value : number
            Written to each element of the slice.

        Examples
        --------
        >>> x = mx.nd.zeros((2, 3))
        >>> x.slice_assign_scalar(7, begin=(0, 1), end=(2, 2), step=(1, 1))
        [[0. 7. 0.]
         [0. 7. 0.]]
        <NDArray 2x3 @cpu(0)>
        """
        self[_slice_tuple(begin, end, step)] = value
        return self

    def _apply_reshaping(self, entry, inplace, params):
        """Apply operator `entry`, which changes only the shape, as a copy or as a view."""
        if inplace is False:  # the most frequent case: no other checks
            return invoke(entry, (self,), params)
        check_flag(entry.name, "inplace", inplace)
        if not inplace:
            return invoke(entry, (self,), params)
        return self._reshape_to(entry.prop(**params).infer_shape([self.shape], [None])[1][0])

    def expand_dims(self, axis, inplace=False):
        """A copy with an axis of length 1 at index `axis`; with `inplace` a view of the same
        memory.

        Parameters
        ----------
        axis : int
            Position of the new axis.

        Examples
        --------
        >>> mx.nd.zeros((2, 3)).expand_dims(0).shape
        (1, 2, 3)
        """
        return self._apply_reshaping(_EXPAND_DIMS, inplace, {"axis": axis})

    def squeeze(self, axis=None, inplace=False, **others):
        """A copy without axes of length 1, or without the axes in `axis`; with `inplace` a view of
        the array's memory.

        Parameters
        ----------
        axis : int or tuple of int, optional
            Axes of length 1 to remove; all of them by default.
        **others
            Refused, with what was meant.

        Examples
        --------
        >>> mx.nd.zeros((1, 2, 1)).squeeze().shape
        (2,)
        """
        if others:
            refuse_keywords("squeeze", others, ("axis", "inplace"))
        return self._apply_reshaping(_SQUEEZE, inplace, {} if axis is None else {"axis": axis})

    def flatten(self, inplace=False):
        """A copy with two axes, the first axis and all others joined; with `inplace` a view of the
        same memory.

        Examples
        --------
        >>> mx.nd.zeros((2, 3, 4)).flatten().shape
        (2, 12)
        """
        return self._apply_reshaping(_FLATTEN, inplace, {})

    def split_v2(self, indices_or_sections, axis=0, squeeze_axis=False):
        """See ``mx.nd.split_v2``.

        Parameters
        ----------
        indices_or_sections : int or tuple of int
            Number of equal parts, or indices at which the parts after the first begin.
        axis : int
            The axis to split along.
        squeeze_axis : bool
            Remove the axis from the parts, which must have length 1 along it.

        Examples
        --------
        >>> [part.shape for part in mx.nd.zeros((5, 2)).split_v2((1, 3))]
        [(1, 2), (2, 2), (2, 2)]
        """
        from ..composed import split_v2

        return split_v2(self, indices_or_sections, axis, squeeze_axis)

    def broadcast_to(self, shape, *more):
        """A copy whose axes of size 1 are repeated up to `shape`; missing leading axes are added.

        Parameters
        ----------
        shape : tuple of int
            The new shape; an axis of 0 keeps its length.
        *more
            Refused: the shape is one tuple.

        Examples
        --------
        >>> mx.nd.array([[1], [2]]).broadcast_to((2, 3))
        [[1. 1. 1.]
         [2. 2. 2.]]
        <NDArray 2x3 @cpu(0)>
        """
        if more:
            require_shape_tuple("NDArray.broadcast_to", shape, *more)
        try:
            shape = tuple(shape)
        except TypeError:  # a number
            shape = (shape,)
        array = self
        if len(shape) > self.ndim:
            array = self._reshape_to((1,) * (len(shape) - self.ndim) + self.shape)
        return invoke(get_operator("broadcast_to"), (array,), {"shape": shape})


def _slice_tuple(begin, end, step):
    """The slices of ``mx.nd.slice``'s parameters; a `step` of () or None means 1."""
    steps = step or (None,) * len(begin)
    if not len(begin) == len(end) == len(steps):
        raise ArgumentError(
            f"slice_assign: begin {begin}, end {end} and step {step} must be as long as each other"
        )
    return tuple(map(slice, begin, end, steps))
