"""im2col: windows that slide over images as columns; col2im: columns summed into images.

Images (N, C, *size) and columns (N, C * prod(kernel), L), L places of windows; the gradient of each
is the other.
"""

from ..._typedefs cimport TBlob, kAddTo, kFloat32, kNullOp
from ...kernels.movement.windows cimport Windows, columns_to_windows, windows_to_columns
from ...kernels.parallel cimport threads_for
from .._base cimport Operator, OpContext

from math import prod

from ...base.errors import ArgumentError, ShapeError
from .._base import register_operator
from ..checks.dtypes import require_float_cpu
from ..checks.shapes import check_elements
from ..graph_hooks import GraphHooks
from ..parameters import Shape
from ..property import OperatorProperty, is_known, merge_shapes
from .spatial_window import check_rank, check_window, pad3


class _WindowsProperty(OperatorProperty):
    """Base: windows of one size over images."""

    graph = GraphHooks(float32_beside_half=())
    kernel = Shape(doc="Size of a window, 1 to 3 numbers.")
    stride = Shape((), doc="Steps of windows; () for 1.")
    dilate = Shape((), doc="Distances of a window's elements; () for 1.")
    pad = Shape((), doc="Zeros before and after each axis; () for 0.")

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.windows = check_window(
            f"operator {self.op_name}", self.kernel, None, stride=(self.stride, 1, 1),
            dilate=(self.dilate, 1, 1), pad=(self.pad, 0, 0))

    def places(self, size):
        """Places of windows along each axis, 0 where a length is not known."""
        found = []
        for n, k, stride, dilate, pad in zip(size, self.kernel, *self.windows):
            span = (k - 1) * dilate + 1
            if n and n + 2 * pad < span:
                raise ShapeError(f"operator {self.op_name}: a window of {self.kernel} with dilate "
                                 f"{self.windows[1]} is larger than an image of {tuple(size)} "
                                 f"with pad {self.windows[2]}")
            found.append((n + 2 * pad - span) // stride + 1 if n else 0)
        return tuple(found)

    def columns_shape(self, image):
        """Shape of the columns of images (N, C, *size)."""
        places = self.places(image[2:])
        return (image[0], image[1] * prod(self.kernel), prod(places) if all(places) else 0)

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return out_grad

    def operator(self, ctx, image, types, back):
        require_float_cpu(self, ctx, self.list_arguments(), types)
        stride, dilate, pad = self.windows
        return WindowsOperator(
            image[0] * image[1], pad3(image[2:], 1), pad3(self.places(image[2:]), 1),
            pad3(self.kernel, 1), pad3(stride, 1), pad3(pad, 0), pad3(dilate, 1), back)


class Im2colProperty(_WindowsProperty):
    """Windows that slide over images, each a column: (N, C, *size) gives (N, C * prod(kernel), L).

    L is the number of places of a window; beside the image are zeros.
    """

    inputs_doc = {"data": "Images (N, C, *size) with as many spatial axes as `kernel`."}

    def infer_shape(self, in_shapes, out_shapes):
        data = in_shapes[0]
        check_rank(f"operator {self.op_name}: 'data'", data, self.kernel)
        if data is None:
            return [None], list(out_shapes), []
        out = merge_shapes(self.columns_shape(data), out_shapes[0])
        if is_known(out):
            check_elements(out, f"the output of {self.op_name}")
        return [(out[0], *data[1:])], [out], []

    def create_operator(self, ctx, in_shapes, in_types):
        return self.operator(ctx, in_shapes[0], in_types, False)


class Col2imProperty(_WindowsProperty):
    """Columns summed into images, where windows overlap: what im2col's gradient does.

    (N, C * prod(kernel), L) gives (N, C, *output_size).
    """

    parameter_order = ("output_size",)
    inputs_doc = {"data": "Columns (N, C * prod(kernel), L)."}
    output_size = Shape(doc="Spatial size of the images.", low=1)

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        if len(self.output_size) != len(self.kernel):
            raise ArgumentError(f"operator {self.op_name}: parameter 'output_size' must have "
                                f"{len(self.kernel)} numbers like kernel {self.kernel}, got "
                                f"{self.output_size}")

    def infer_shape(self, in_shapes, out_shapes):
        data, out = in_shapes[0], out_shapes[0]
        places = prod(self.places(self.output_size))
        taps = prod(self.kernel)
        if data is None:
            return [None], [out], []
        if len(data) != 3 or data[1] % taps or data[2] not in (0, places):
            raise ShapeError(f"operator {self.op_name}: 'data' has shape {tuple(data)}, expected "
                             f"(N, C * {taps}, {places}) for kernel {self.kernel} and output_size "
                             f"{self.output_size}")
        out = merge_shapes((data[0], data[1] // taps, *self.output_size), out)
        if is_known(out):
            check_elements(out, f"the output of {self.op_name}")
        return [(out[0], out[1] * taps, places)], [out], []

    def create_operator(self, ctx, in_shapes, in_types):
        return self.operator(ctx, self.output_shapes(in_shapes)[0], in_types, True)


cdef class WindowsOperator(Operator):
    """`back`: forward sums columns into images."""

    cdef Windows windows
    cdef bint back

    def __init__(self, planes, size, places, kernel, stride, pad, dilate, back):
        self.windows.planes, self.back = planes, back
        for i in range(3):
            self.windows.size[i], self.windows.places[i] = size[i], places[i]
            self.windows.kernel[i], self.windows.stride[i] = kernel[i], stride[i]
            self.windows.pad[i], self.windows.dilate[i] = pad[i], dilate[i]

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        _move(self, self.back, req[0], &in_data[0], &out_data[0])
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        _move(self, not self.back, req[0], &out_grad[0], &in_grad[0])
        return 0


cdef void _move(WindowsOperator self, bint back, int req, const TBlob* x, TBlob* y) noexcept nogil:
    cdef bint add = req == kAddTo
    cdef int threads
    if req == kNullOp:
        return
    threads = threads_for((x.size if back else y.size) * (4 if back else 1))
    if x.dtype == kFloat32 and back:
        columns_to_windows[float](self.windows, threads, <const float*>x.data, <float*>y.data, add)
    elif x.dtype == kFloat32:
        windows_to_columns[float](self.windows, threads, <const float*>x.data, <float*>y.data, add)
    elif back:
        columns_to_windows[double](self.windows, threads, <const double*>x.data, <double*>y.data,
                                   add)
    else:
        windows_to_columns[double](self.windows, threads, <const double*>x.data, <double*>y.data,
                                   add)


register_operator("im2col", Im2colProperty)
register_operator("col2im", Col2imProperty)
