"""im2col: windows that slide over images as columns; col2im: columns summed into images.

Images (N, C, *size) and columns (N, C * prod(kernel), L), L places of windows; the gradient of each
is the other.
"""

from math import prod

from ...base.errors import ArgumentError, ShapeError
from ..checks.shapes import check_elements
from ..graph_hooks import GraphHooks
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Shape
from ..property import is_known, merge_shapes
from ..second_order import Linear
from .spatial_window import check_rank, check_window, to_3d


class _WindowsProperty(KernelProperty):  # base: windows of one size over images
    """Base: windows of one size over images."""

    graph = GraphHooks(float32_beside_half=())
    kernel = Shape(doc="Size of a window, 1 to 3 numbers.")
    stride = Shape((), doc="Steps of windows; () for 1.")
    dilate = Shape((), doc="Distances of a window's elements; () for 1.")
    pad = Shape((), doc="Zeros before and after each axis; () for 0.")

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.windows = check_window(
            f"operator {self.op_name}",
            self.kernel,
            None,
            stride=(self.stride, 1, 1),
            dilate=(self.dilate, 1, 1),
            pad=(self.pad, 0, 0),
        )

    def window_counts(self, size):
        """The number of windows along each axis, 0 if a length is unknown."""
        found = []
        for n, k, stride, dilate, pad in zip(size, self.kernel, *self.windows):
            span = (k - 1) * dilate + 1
            if n and n + 2 * pad < span:
                raise ShapeError(
                    f"operator {self.op_name}: a window of {self.kernel} with dilate "
                    f"{self.windows[1]} is larger than an image of {tuple(size)} "
                    f"with pad {self.windows[2]}"
                )
            found.append((n + 2 * pad - span) // stride + 1 if n else 0)
        return tuple(found)

    def columns_shape(self, image):
        """Shape of the columns of images (N, C, *size)."""
        counts = self.window_counts(image[2:])
        return (image[0], image[1] * prod(self.kernel), prod(counts) if all(counts) else 0)

    def image_shape(self, in_shapes):
        """Shape of the images."""
        return in_shapes[0]

    def kernel_params(self, in_shapes):
        batch, channels, *size = self.image_shape(in_shapes)
        stride, dilate, pad = self.windows
        return {
            "planes": batch * channels,
            "size": to_3d(size, 1),
            "out_size": to_3d(self.window_counts(size), 1),
            "kernel": to_3d(self.kernel, 1),
            "stride": to_3d(stride, 1),
            "pad": to_3d(pad, 0),
            "dilate": to_3d(dilate, 1),
        }


class Im2colProperty(_WindowsProperty, operator="im2col"):
    """Windows that slide over images, each a column: (N, C, *size) gives (N, C * prod(kernel), L).

    L is the number of places of a window; beside the image are zeros.
    """

    inputs_doc = {"data": "Images (N, C, *size) with as many spatial axes as `kernel`."}
    forward = Kernel("windows_to_columns")
    backward = Kernel("columns_to_windows", ("d_output",), ("d_data",))
    second_order = Linear()
    example = """
    >>> x = mx.nd.arange(9).reshape((1, 1, 3, 3))
    >>> mx.nd.im2col(x, kernel=(2, 2))
    [[[0. 1. 3. 4.]
      [1. 2. 4. 5.]
      [3. 4. 6. 7.]
      [4. 5. 7. 8.]]]
    <NDArray 1x4x4 @cpu(0)>
    """

    def infer_shape(self, in_shapes, out_shapes):
        data = in_shapes[0]
        check_rank(f"operator {self.op_name}: 'data'", data, self.kernel)
        if data is None:
            return [None], list(out_shapes), []
        out = merge_shapes(self.columns_shape(data), out_shapes[0])
        if is_known(out):
            check_elements(out, f"the output of {self.op_name}")
        return [(out[0], *data[1:])], [out], []


class Col2imProperty(_WindowsProperty, operator="col2im"):
    """Columns summed into images, where windows overlap: the gradient of im2col.

    (N, C * prod(kernel), L) gives (N, C, *output_size).
    """

    parameter_order = ("output_size",)
    inputs_doc = {"data": "Columns (N, C * prod(kernel), L)."}
    forward = Kernel("columns_to_windows")
    backward = Kernel("windows_to_columns", ("d_output",), ("d_data",))
    output_size = Shape(doc="Spatial size of the images.", low=1)
    second_order = Linear()
    example = """
    >>> columns = mx.nd.ones((1, 4, 4))
    >>> mx.nd.col2im(columns, output_size=(3, 3), kernel=(2, 2))
    [[[[1. 2. 1.]
       [2. 4. 2.]
       [1. 2. 1.]]]]
    <NDArray 1x1x3x3 @cpu(0)>
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        if len(self.output_size) != len(self.kernel):
            raise ArgumentError(
                f"operator {self.op_name}: parameter 'output_size' must have "
                f"{len(self.kernel)} numbers like kernel {self.kernel}, got "
                f"{self.output_size}"
            )

    def infer_shape(self, in_shapes, out_shapes):
        data, out = in_shapes[0], out_shapes[0]
        count = prod(self.window_counts(self.output_size))
        taps = prod(self.kernel)
        if data is None:
            return [None], [out], []
        if len(data) != 3 or data[1] % taps or data[2] not in (0, count):
            raise ShapeError(
                f"operator {self.op_name}: 'data' has shape {tuple(data)}, expected "
                f"(N, C * {taps}, {count}) for kernel {self.kernel} and output_size "
                f"{self.output_size}"
            )
        out = merge_shapes((data[0], data[1] // taps, *self.output_size), out)
        if is_known(out):
            check_elements(out, f"the output of {self.op_name}")
        return [(out[0], out[1] * taps, count)], [out], []

    def image_shape(self, in_shapes):
        return self.output_shapes(in_shapes)[0]
