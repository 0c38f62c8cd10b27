"""ravel_multi_index: from indices along axes to row-major positions; unravel_index: the inverse."""

from math import prod

from ...base.errors import ArgumentError, ShapeError
from ..checks.index_dtype import IndexRead, IndexWrite
from ..checks.shapes import check_elements
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Shape
from ..property import is_known, merge_shapes


class _IndexProperty(KernelProperty):  # base of ravel and unravel
    """Base of ravel and unravel: integer indices, in any dtype, and the shape that they index."""

    differentiable = False
    floats = ()
    shape = Shape(None, doc="Shape of the array; the first length may be -1: any.")

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        if (
            not self.shape
            or any(n < 1 for n in self.shape[1:])
            or not (self.shape[0] == -1 or self.shape[0] > 0)
        ):
            raise ArgumentError(
                f"operator {self.op_name}: parameter 'shape' takes lengths of at least 1, of which "
                f"the first may be -1, got {self.shape}"
            )
        check_elements(self.shape[1:], f"operator {self.op_name}: the array of parameter 'shape'")

    def kernel_params(self, in_shapes):
        if len(self.shape) > 8:
            raise ArgumentError(f"parameter 'shape' has at most 8 axes, got {self.shape}")
        return {"ndim": len(self.shape), "shape": self.shape}


class RavelProperty(_IndexProperty, operator="_ravel_multi_index", aliases=("ravel_multi_index",)):
    """Row-major indices from indices along axes: (ndim, ...) gives (...).

    ``output[j] = data[0][j] * shape[1] + data[1][j]`` for two axes, and so on.
    """

    inputs_doc = {"data": "Indices along each axis of `shape`, in its first axis."}
    forward = Kernel("ravel_index")
    example = """
    >>> mx.nd.ravel_multi_index(mx.nd.array([[0, 1], [2, 0]]), shape=(2, 3))
    [2. 3.]
    <NDArray 2 @cpu(0)>
    """

    def arrays_read_by_index(self, in_shapes, in_types):
        return [IndexWrite(("output", in_types[0], prod(self.shape)))]

    def infer_shape(self, in_shapes, out_shapes):
        data, out = in_shapes[0], out_shapes[0]
        if data is None and out not in (None, (1,)):  # 1-d data gives one index, of shape (1,)
            data = (0, *out)
        if data is None:
            return [None], [out], []
        if data[0] and data[0] != len(self.shape):
            raise ShapeError(
                f"operator {self.op_name}: 'data' has shape {tuple(data)}, expected "
                f"{len(self.shape)} rows, one for each axis of {self.shape}"
            )
        out = merge_shapes(data[1:] or self.no_axes, out)
        return [(len(self.shape), *(out if len(data) > 1 else ()))], [out], []


class UnravelProperty(_IndexProperty, operator="_unravel_index", aliases=("unravel_index",)):
    """Indices along axes from row-major indices: (...) gives (ndim, ...).

    What is beyond `shape` is left to the first axis.
    """

    inputs_doc = {"data": "Row-major places in an array of shape `shape`."}
    forward = Kernel("unravel_index")
    example = """
    >>> mx.nd.unravel_index(mx.nd.array([2, 3]), shape=(2, 3))
    [[0. 1.]
     [2. 0.]]
    <NDArray 2x2 @cpu(0)>
    """

    def arrays_read_by_index(self, in_shapes, in_types):
        return [IndexRead(("data", in_types[0], prod(self.shape)))]

    def infer_shape(self, in_shapes, out_shapes):
        data, out = in_shapes[0], out_shapes[0]
        if out is not None:
            if out[0] and out[0] != len(self.shape):
                raise ShapeError(
                    f"operator {self.op_name}: its output has {len(self.shape)} rows, "
                    f"one for each axis of {self.shape}, not {tuple(out)}"
                )
            data = merge_shapes(data, out[1:]) if len(out) > 1 else data
        if data is None:
            return [None], [out], []
        out = (len(self.shape), *data)
        if is_known(out):
            check_elements(out, f"the output of {self.op_name}")
        return [data], [out], []
