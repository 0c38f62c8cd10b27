# distutils: extra_compile_args = -O3
"""Operators that replace a part of an array: _slice_assign, _slice_assign_scalar."""


from ..._typedefs cimport TBlob, dtype_size, kAddTo, kFloat64, kNullOp
from ...kernels.elementwise.elementwise cimport run_cast
from ...kernels.movement.strided cimport (
    STRIDED_ADD, STRIDED_SUBTRACT, STRIDED_WRITE, StridedSpace, run_strided, merge_space_axes
)
from .._base cimport Operator, OpContext

from ...base.dtype import dtype_flag
from ..parameters import Double, Shape
from ..property import OperatorProperty, is_known, merge_shapes
from ..second_order import Linear
from .strided_moves import whole_view, subview
from .slicing import slice_ranges


class AssignProperty(OperatorProperty):  # base of assignments to a slice
    """Base: the part is given as in slice."""

    begin = Shape(doc="First index of each axis; None for the outermost.", allow_none=True)
    end = Shape(doc="Index after the last of each axis; None for the end.", allow_none=True)
    step = Shape((), doc="Step of each axis, also negative; () for 1.", allow_none=True)
    backward_reads = ("out_grad",)

    def part_range(self, shape):
        """Return (first indices, steps, counts) of the part."""
        return slice_ranges(shape, self.begin, self.end, self.step, self.op_name)

    def forward_inplace_option(self, in_data, out_data):
        return [(in_data[0], out_data[0])]


class SliceAssignProperty(AssignProperty, operator="_slice_assign", aliases=("_crop_assign",)):
    """The left input with a part replaced by the right one, which has the part's shape."""

    inputs_doc = {"lhs": "The array.", "rhs": "New values of the part."}
    second_order = Linear()
    example = """
    >>> x = mx.nd.arange(6).reshape((2, 3))
    >>> mx.nd.op._slice_assign(x, mx.nd.array([[9, 8]]), begin=(1, 0), end=(2, 2))
    [[0. 1. 2.]
     [9. 8. 5.]]
    <NDArray 2x3 @cpu(0)>
    """

    def infer_shape(self, in_shapes, out_shapes):
        shape = merge_shapes(in_shapes[0], out_shapes[0])
        part = in_shapes[1]
        if is_known(shape):
            part = merge_shapes(self.part_range(shape)[2], part)
        return [shape, part], [shape], []

    def create_operator(self, ctx, in_shapes, in_types):
        return AssignOperator(in_types[0], in_shapes[0], self.part_range(in_shapes[0]), None)


class SliceAssignScalarProperty(
    AssignProperty, operator="_slice_assign_scalar", aliases=("_crop_assign_scalar",)
):
    """The input with a part filled with a number."""

    parameter_order = ("scalar",)
    inputs_doc = {"data": "The array."}
    scalar = Double(0.0, doc="Value that the part is filled with.")
    second_order = Linear(affine=True)
    example = """
    >>> x = mx.nd.arange(6).reshape((2, 3))
    >>> mx.nd.op._slice_assign_scalar(x, scalar=9, begin=(0, 1), end=(2, 2))
    [[0. 9. 2.]
     [3. 9. 5.]]
    <NDArray 2x3 @cpu(0)>
    """

    def create_operator(self, ctx, in_shapes, in_types):
        return AssignOperator(in_types[0], in_shapes[0], self.part_range(in_shapes[0]), self.scalar)


cdef class AssignOperator(Operator):
    """A whole array and a part of it."""

    cdef StridedSpace whole
    cdef StridedSpace part      # strides of the part and of rhs
    cdef StridedSpace constant  # strides of the part and of one number
    cdef Py_ssize_t offset
    cdef int dtype
    cdef bint fills
    cdef char value[8]

    def __init__(self, dtype, shape, ranges, number):
        cdef double value = 0.0 if number is None else number
        self.dtype = dtype_flag(dtype)
        everything = whole_view(shape)
        view = subview(everything, *ranges)
        rhs = whole_view(view.shape)
        zeros = (0,) * len(shape)
        _fill_strided_space(&self.whole, everything.shape, everything.strides, everything.strides)
        _fill_strided_space(&self.part, view.shape, view.strides, rhs.strides)
        _fill_strided_space(&self.constant, view.shape, view.strides, zeros)
        self.offset = view.offset * <Py_ssize_t>dtype_size(self.dtype)
        self.fills = number is not None
        run_cast(kFloat64, self.dtype, &value, self.value, 1)

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef int mode = STRIDED_ADD if req[0] == kAddTo else STRIDED_WRITE
        cdef char* y = <char*>out_data[0].data
        cdef StridedSpace back
        cdef int i
        if req[0] == kNullOp:
            return 0
        run_strided(&self.whole, self.dtype, mode, y, in_data[0].data)
        if mode == STRIDED_ADD:  # the amount that the array has added in that part is subtracted
            back = self.constant
            for i in range(back.ndim):
                back.src_stride[i] = back.dst_stride[i]
            run_strided(&back, self.dtype, STRIDED_SUBTRACT, y + self.offset,
                        <char*>in_data[0].data + self.offset)
        if self.fills:
            run_strided(&self.constant, self.dtype, mode, y + self.offset, self.value)
        else:
            run_strided(&self.part, self.dtype, mode, y + self.offset, in_data[1].data)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef char* g = <char*>out_grad[0].data
        cdef char* x = <char*>in_grad[0].data
        cdef StridedSpace space
        cdef double zero = 0.0
        cdef int i
        if req[0] != kNullOp:
            run_strided(&self.whole, self.dtype, STRIDED_ADD if req[0] == kAddTo else STRIDED_WRITE,
                        x, g)
            space = self.constant
            if req[0] == kAddTo:
                for i in range(space.ndim):
                    space.src_stride[i] = space.dst_stride[i]
                run_strided(&space, self.dtype, STRIDED_SUBTRACT, x + self.offset, g + self.offset)
            else:
                run_strided(&space, self.dtype, STRIDED_WRITE, x + self.offset, &zero)
        if not self.fills and req[1] != kNullOp:
            space = self.part
            for i in range(space.ndim):
                space.dst_stride[i], space.src_stride[i] = space.src_stride[i], space.dst_stride[i]
            run_strided(&space, self.dtype, STRIDED_ADD if req[1] == kAddTo else STRIDED_WRITE,
                        in_grad[1].data, g + self.offset)
        return 0


cdef int _fill_strided_space(StridedSpace* space, shape, dst, src) except -1:
    cdef int i
    space.ndim = len(shape)
    for i in range(space.ndim):
        space.shape[i], space.dst_stride[i], space.src_stride[i] = shape[i], dst[i], src[i]
    merge_space_axes(space)
    return 0
