"""_sample_unique_zipfian: rows of different numbers, small ones more likely."""

from ...base.errors import ArgumentError, ShapeError
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Int, Shape
from ..property import merge_shapes


class UniqueZipfianProperty(KernelProperty, operator="_sample_unique_zipfian"):
    """Rows of different numbers below `range_max`, x with probability about 1 / (x + 1).

    Two outputs, int64: the numbers (rows, count), and how many draws each row took until it had as
    many different ones. ``P(x) = log((x + 2) / (x + 1)) / log(range_max + 1)``.
    """

    differentiable = False
    range_max = Int(doc="The numbers are below it.", low=1, high=2**53)
    shape = Shape(None, doc="(rows, count) of the numbers.", low=1)
    floats = ()
    forward = Kernel("unique_zipfian", (), ("output0", "output1"), whole=True, draws=True)
    output_names = ("output0", "output1")
    example = """
    >>> samples, tries = mx.nd.op._sample_unique_zipfian(range_max=1000, shape=(2, 5))
    >>> samples.shape, tries.shape
    ((2, 5), (2,))
    >>> len(set(samples[0].asnumpy().tolist()))
    5
    """

    def list_arguments(self):
        return []

    def infer_shape(self, in_shapes, out_shapes):
        shape = merge_shapes(self.shape, out_shapes[0])
        if shape is None:
            return [], list(out_shapes), []
        if len(shape) != 2:
            raise ShapeError(
                f"operator {self.op_name}: parameter 'shape' is (rows, count), got {tuple(shape)}"
            )
        if shape[1] > self.range_max:
            raise ArgumentError(
                f"operator {self.op_name}: there are no {shape[1]} different "
                f"numbers below {self.range_max}, which 'shape' {shape} asks for"
            )
        return [], [shape, merge_shapes(shape[:1], out_shapes[1])], []

    def infer_type(self, in_types, out_types):
        return [], ["int64", "int64"], []

    def kernel_dtype(self, in_types):
        return "int64"
