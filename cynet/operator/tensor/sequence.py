"""Operators on padded sequences: SequenceMask, SequenceLast, SequenceReverse.

Data is (time, batch, ...), or (batch, time, ...) with ``axis=1``; `sequence_length` has one length,
1 to time, for each of the batch, and no gradient.
"""

from math import prod

from ...base.errors import ArgumentError, ShapeError
from ..checks.index_dtype import IndexRead
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Bool, Float, Int
from ..property import infer_type_from_first, merge_shapes
from ..second_order import Linear


class SequenceProperty(KernelProperty):
    """Base class of the sequence operators."""

    inputs_doc = {
        "data": "Sequences, (time, batch, ...) or with axis=1 (batch, time, ...).",
        "sequence_length": "Length of each sequence; only with use_sequence_length.",
    }
    use_sequence_length = Bool(
        False, doc="Whether `sequence_length` is given; if not, all sequences are full."
    )
    takes_last = False
    value = 0.0
    zeros = ("d_sequence_length?",)
    floats = ()

    def list_arguments(self):
        return ["data", "sequence_length"] if self.use_sequence_length else ["data"]

    def out_shape(self, shape):
        """The output's shape."""
        return shape

    def infer_shape(self, in_shapes, out_shapes):
        shape = in_shapes[0]
        if shape is None and not self.takes_last:
            shape = out_shapes[0]
        if shape is None:
            return list(in_shapes), [out_shapes[0]], []
        if self.axis not in (0, 1):
            raise ArgumentError(f"{self.op_name}: parameter 'axis' takes 0 or 1, got {self.axis}")
        if len(shape) < 2:
            raise ShapeError(f"{self.op_name} takes data of at least 2 axes, got shape {shape}")
        ins = [shape]
        if not self.takes_last:
            ins = [merge_shapes(shape, out_shapes[0])]
        if self.use_sequence_length:
            ins.append(merge_shapes((shape[1 - self.axis],), in_shapes[1]))
        return ins, [merge_shapes(self.out_shape(shape), out_shapes[0])], []

    def arrays_read_by_index(self, in_shapes, in_types):
        maximum = in_shapes[0][self.axis] + 1
        return [IndexRead(("sequence_length", kind, maximum)) for kind in in_types[1:]]

    infer_type = infer_type_from_first

    def kernel_params(self, in_shapes):
        shape = in_shapes[0]
        found = {"time": shape[self.axis], "batch": shape[1 - self.axis], "inner": prod(shape[2:])}
        return {**found, "batch_first": self.axis == 1}

    def kernel_error(self, item, values):
        length, least, time = map(int, values)
        return ArgumentError(
            f"{self.op_name}: sequence_length {length} is outside of {least} to {time}"
        )


class SequenceMaskProperty(SequenceProperty, operator="SequenceMask"):
    """Sequences with `value` beyond their lengths, which are clipped to the axis."""

    value = Float(0.0, doc="Value of the elements beyond the lengths.")
    axis = Int(0, doc="The axis of time, 0 or 1.")
    forward = Kernel("sequence_mask", ("data", "sequence_length?"))
    backward = Kernel("sequence_mask_grad", ("d_output", "sequence_length?"), ("d_data",))
    second_order = Linear({0: ()}, affine=True)
    example = """
    >>> x = mx.nd.arange(6).reshape((3, 2, 1))  # three steps, two sequences
    >>> y = mx.nd.SequenceMask(x, mx.nd.array([1, 2]), use_sequence_length=True, value=-1)
    >>> y.reshape((3, 2))
    [[ 0.  1.]
     [-1.  3.]
     [-1. -1.]]
    <NDArray 3x2 @cpu(0)>
    """


class SequenceLastProperty(SequenceProperty, operator="SequenceLast"):
    """The last element of each sequence."""

    axis = Int(0, doc="The axis of time, 0 or 1.")
    takes_last = True
    forward = Kernel("sequence_last", ("data", "sequence_length?"))
    backward = Kernel("sequence_last_grad", ("d_output", "sequence_length?"), ("d_data",))
    second_order = Linear({0: ()})
    example = """
    >>> x = mx.nd.arange(6).reshape((3, 2, 1))  # three steps, two sequences
    >>> mx.nd.SequenceLast(x, mx.nd.array([1, 3]), use_sequence_length=True)
    [[0.]
     [5.]]
    <NDArray 2x1 @cpu(0)>
    """

    def out_shape(self, shape):
        return (shape[1 - self.axis], *shape[2:])


class SequenceReverseProperty(SequenceProperty, operator="SequenceReverse"):
    """Sequences reversed within their lengths, at most the axis' length; elements beyond stay."""

    axis = Int(0, doc="The axis of time; 0 alone.", low=0, high=0)
    forward = Kernel("sequence_reverse", ("data", "sequence_length?"))
    backward = Kernel("sequence_reverse_grad", ("d_output", "sequence_length?"), ("d_data",))
    second_order = Linear({0: ()})
    example = """
    >>> x = mx.nd.arange(6).reshape((3, 2, 1))  # three steps, two sequences
    >>> y = mx.nd.SequenceReverse(x, mx.nd.array([2, 3]), use_sequence_length=True)
    >>> y.reshape((3, 2))
    [[2. 5.]
     [0. 3.]
     [4. 1.]]
    <NDArray 3x2 @cpu(0)>
    """
