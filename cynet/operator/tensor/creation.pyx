"""Operators that make arrays from parameters: _zeros, _ones, _full, _arange, _eye, _linspace."""

from libc.stdint cimport int64_t
from libc.string cimport memset

from ..._typedefs cimport TBlob, dtype_size, kAddTo, kFloat64, kInt64, kNullOp
from ...kernels.elementwise.elementwise cimport Kernel, run_cast, run_cast_add
from ...kernels.movement.strided_copy cimport StridedCopy, copy_strided
from ...kernels.table cimport find_unary
from .._base cimport Operator, OpContext

import math

from ...base.dtype import dtype_flag
from ...base.errors import ArgumentError
from ..graph_hooks import GraphHooks
from ..parameters import Bool, Double, DType, Int, Shape, Str
from ..checks.shapes import known_shape, declared_shape
from ..property import OperatorProperty, ShapesFromInput, merge_shapes
from .axes import axis_of


class CreationProperty(OperatorProperty):
    """Base: no inputs, one output of given shape and dtype."""

    differentiable = False
    ctx = Str("", doc="Device of the output; '' for the current one.")
    dtype = DType("float32", doc="Type of the output.")

    def list_arguments(self):
        return []

    def out_shape(self):
        """The output's shape, 0 or None where unknown."""
        return declared_shape(self.shape)

    def infer_shape(self, in_shapes, out_shapes):
        return [], [merge_shapes(self.out_shape(), out_shapes[0])], []

    def infer_type(self, in_types, out_types):
        return [], [self.dtype], []

    def start_step_repeat(self):
        """(start, step, repeat) of the values in row-major order."""
        raise AttributeError(f"{type(self).__name__} defines no progression")

    def create_operator(self, ctx, in_shapes, in_types):
        return ProgressionOperator(self.dtype, *self.start_step_repeat())


cdef class ProgressionOperator(Operator):  # start, start + step, ...
    """output[i] = start + step * (i // repeat)."""

    cdef double start, step
    cdef int64_t repeat
    cdef int dtype
    cdef Kernel add

    def __init__(self, dtype, start, step=0.0, repeat=1):
        self.dtype = dtype_flag(dtype)
        self.start, self.step, self.repeat = start, step, repeat
        self.add = find_unary(b"identity", self.dtype, True)

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef double chunk[512]
        cdef int64_t i, k, n, size = out_data[0].size
        cdef char* to
        if self.step == 0 and req[0] != kAddTo:
            if req[0] != kNullOp:
                self._fill_with_start(&out_data[0])
            return 0
        for i in range(0, size, 512):
            n = min(size - i, 512)
            if self.repeat == 1:
                for k in range(n):
                    chunk[k] = self.start + self.step * (i + k)
            else:
                for k in range(n):
                    chunk[k] = self.start + self.step * ((i + k) // self.repeat)
            to = <char*>out_data[0].data + i * <int64_t>dtype_size(self.dtype)
            _cast_to(self.dtype, &self.add, req[0], kFloat64, chunk, to, n)
        return 0

    cdef void _fill_with_start(self, TBlob* out) noexcept nogil:
        cdef StridedCopy what
        what.dst, what.dst_type = out.data, out.dtype
        what.src, what.src_type = &self.start, kFloat64
        what.ndim, what.shape[0], what.dst_stride[0], what.src_stride[0] = 1, out.size, 1, 0
        copy_strided(&what, False)


cdef void _cast_to(int dtype, const Kernel* add, int req, int source, const void* values, void* to,
                   int64_t n) noexcept nogil:
    if req == kAddTo:
        run_cast_add(add, source, values, to, n)
    elif req != kNullOp:
        run_cast(source, dtype, values, to, n)


class ZerosProperty(CreationProperty, operator="_zeros"):
    """An array of zeros."""

    parameter_order = ("shape",)
    shape = Shape((), doc="Shape of the output.", low=-1)
    example = """
    >>> mx.nd.op._zeros(shape=(2, 2))
    [[0. 0.]
     [0. 0.]]
    <NDArray 2x2 @cpu(0)>
    """

    def start_step_repeat(self):  # start alone: a constant
        return (0.0,)


class OnesProperty(CreationProperty, operator="_ones"):
    """An array of ones."""

    parameter_order = ("shape",)
    shape = Shape((), doc="Shape of the output.", low=-1)
    example = """
    >>> mx.nd.op._ones(shape=(2, 2), dtype="int32")
    [[1 1]
     [1 1]]
    <NDArray 2x2 @cpu(0)>
    """

    def start_step_repeat(self):  # start alone: a constant
        return (1.0,)


class FullProperty(CreationProperty, operator="_full"):
    """An array filled with one value."""

    parameter_order = ("shape",)
    shape = Shape((), doc="Shape of the output.", low=-1)
    value = Double(doc="The value.")
    example = """
    >>> mx.nd.op._full(shape=(2, 2), value=7)
    [[7. 7.]
     [7. 7.]]
    <NDArray 2x2 @cpu(0)>
    """

    def start_step_repeat(self):  # start alone: a constant
        return (self.value,)


class ZerosWithoutDtypeProperty(OperatorProperty, operator="_zeros_without_dtype"):
    """An array of zeros whose dtype is inferred from its use."""

    shape = Shape((), doc="Shape of the output.", low=-1)
    ctx = Str("", doc="Device of the output; '' for the current one.")
    dtype = Int(-1, doc="MXNet's type flag, or -1: inferred.")
    differentiable = False
    example = """
    >>> mx.nd.op._zeros_without_dtype(shape=(2, 2))
    [[0. 0.]
     [0. 0.]]
    <NDArray 2x2 @cpu(0)>
    """

    def list_arguments(self):
        return []

    def infer_shape(self, in_shapes, out_shapes):
        return [], [merge_shapes(declared_shape(self.shape), out_shapes[0])], []

    def infer_type(self, in_types, out_types):
        return [], [out_types[0] or "float32"], []

    def create_operator(self, ctx, in_shapes, in_types):
        return ZeroBytesOperator()


cdef class ZeroBytesOperator(Operator):  # zeros of any dtype
    """Zeros of whatever dtype the output has."""

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        if req[0] != kNullOp and req[0] != kAddTo:
            memset(out_data[0].data, 0, out_data[0].size * dtype_size(out_data[0].dtype))
        return 0


class ArangeProperty(CreationProperty, operator="_arange"):
    """Values from `start` up to `stop`, without it, by `step`; each `repeat` times."""

    parameter_order = ("start", "stop", "step", "repeat", "infer_range")
    start = Double(doc="First value; with no `stop` the range is from 0 to this.")
    stop = Double(None, doc="Value before which the range ends.")
    step = Double(1.0, doc="Distance of two values.")
    repeat = Int(1, doc="How often each value is repeated.", low=1)
    infer_range = Bool(False,
                       doc="With no `stop`: start at `start`, as long as the output must be.")
    example = """
    >>> mx.nd.arange(1, 7, step=2)
    [1. 3. 5.]
    <NDArray 3 @cpu(0)>
    >>> mx.nd.arange(3, repeat=2)
    [0. 0. 1. 1. 2. 2.]
    <NDArray 6 @cpu(0)>
    """

    def start_and_stop(self):
        """(start, stop or None)."""
        if self.stop is None and not self.infer_range:
            return 0.0, self.start
        return self.start, self.stop

    def out_shape(self):
        start, stop = self.start_and_stop()
        if stop is None:
            return None
        steps = (stop - start) / self.step if self.step else 0.0
        if not 0 < steps < math.inf:
            raise ArgumentError(
                f"_arange: from {start} to {stop} by {self.step} there is no value, or no end")
        return (math.ceil(steps) * self.repeat,)

    def start_step_repeat(self):
        return self.start_and_stop()[0], self.step, self.repeat


class LinspaceProperty(CreationProperty, operator="_linspace"):
    """Evenly spaced values from `start` to `stop`."""

    parameter_order = ("start", "stop", "step", "repeat", "infer_range")
    unlisted = ("num", "endpoint")
    start = Double(doc="First value.")
    stop = Double(None, doc="Last value, or the first one left out without `endpoint`.")
    num = Int(doc="Number of values.", low=1)
    step = Double(1.0, doc="Part of MXNet's signature; not used.")
    repeat = Int(1, doc="Part of MXNet's signature; not used.")
    infer_range = Bool(False, doc="Part of MXNet's signature; not used.")
    endpoint = Bool(True, doc="Whether `stop` is the last value.")
    example = """
    >>> mx.nd.linspace(0, 1, num=5)
    [0.   0.25 0.5  0.75 1.  ]
    <NDArray 5 @cpu(0)>
    """

    def out_shape(self):
        return (self.num,)

    def start_step_repeat(self):
        stop = self.start if self.stop is None else self.stop
        gaps = self.num - 1 if self.endpoint else self.num
        return self.start, (stop - self.start) / gaps if gaps else 0.0


class EyeProperty(CreationProperty, operator="_eye"):
    """A matrix with ones on a diagonal and zeros elsewhere."""

    parameter_order = ("N", "M", "k")
    N = Int(doc="Number of rows.", low=1)
    M = Int(0, doc="Number of columns; 0: as many as rows.", low=0)
    k = Int(0, doc="Which diagonal: above 0 to the right of the main one, below 0 to the left.")
    example = """
    >>> mx.nd.eye(2, 3, k=1)
    [[0. 1. 0.]
     [0. 0. 1.]]
    <NDArray 2x3 @cpu(0)>
    """

    def out_shape(self):
        return (self.N, self.M or self.N)

    def create_operator(self, ctx, in_shapes, in_types):
        return EyeOperator(self.dtype, self.M or self.N, self.k)


cdef class EyeOperator(Operator):
    """Rows of zeros with one 1."""

    cdef int64_t columns, k
    cdef int dtype
    cdef Kernel add

    def __init__(self, dtype, columns, k):
        self.dtype = dtype_flag(dtype)
        self.columns, self.k = columns, k
        self.add = find_unary(b"identity", self.dtype, True)

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef double chunk[512]
        cdef int64_t i, c, n, size = out_data[0].size
        for i in range(0, size, 512):
            n = min(size - i, 512)
            for c in range(n):
                chunk[c] = (i + c) % self.columns - (i + c) // self.columns == self.k
            _cast_to(self.dtype, &self.add, req[0], kFloat64, chunk,
                     <char*>out_data[0].data + i * <int64_t>dtype_size(self.dtype), n)
        return 0


class ArangeLikeProperty(ShapesFromInput, OperatorProperty, operator="_contrib_arange_like"):
    """Values from `start` by `step`, as many as the input or one of its axes has elements."""

    inputs_doc = {"data": "The array whose lengths are taken."}
    start = Double(0.0, doc="First value.")
    step = Double(1.0, doc="Distance of two values.")
    repeat = Int(1, doc="How often each value is repeated.", low=1)
    ctx = Str("", doc="Part of MXNet's signature; not used.")
    axis = Int(None, doc="Axis whose length is taken; None: the shape of the input.")
    differentiable = False
    example = """
    >>> mx.nd.contrib.arange_like(mx.nd.zeros((2, 3)))
    [[0. 1. 2.]
     [3. 4. 5.]]
    <NDArray 2x3 @cpu(0)>
    >>> mx.nd.contrib.arange_like(mx.nd.zeros((2, 3)), axis=1, start=1)
    [1. 2. 3.]
    <NDArray 3 @cpu(0)>
    """

    def shapes_from(self, shape):
        axis = self.axis
        return shape, shape if axis is None else (shape[axis_of(axis, len(shape))],)

    def create_operator(self, ctx, in_shapes, in_types):
        return ProgressionOperator(in_types[0], self.start, self.step, self.repeat)


class ShapeArrayProperty(ShapesFromInput, OperatorProperty, operator="shape_array"):
    """The shape of the input, as an array of int64."""

    inputs_doc = {"data": "The input, any shape."}
    differentiable = False
    graph = GraphHooks(takes_empty=True)
    methods = ("shape_array",)
    example = """
    >>> mx.nd.shape_array(mx.nd.zeros((2, 3)))
    [2 3]
    <NDArray 2 @cpu(0)>
    """

    def output_values(self, shape):
        """The numbers in the output."""
        return shape

    def shapes_from(self, shape):
        return shape, known_shape((len(self.output_values(shape)),))

    def infer_type(self, in_types, out_types):
        return [in_types[0]], ["int64"], []

    def create_operator(self, ctx, in_shapes, in_types):
        return ConstantOperator(self.output_values(in_shapes[0]))


class SizeArrayProperty(ShapeArrayProperty, operator="size_array"):
    """The number of elements of the input, as an array of one int64."""

    methods = ("size_array",)
    example = """
    >>> mx.nd.size_array(mx.nd.zeros((2, 3)))
    [6]
    <NDArray 1 @cpu(0)>
    """

    def output_values(self, shape):
        return (math.prod(shape),)


cdef class ConstantOperator(Operator):  # a few int64 numbers
    """A few int64 numbers."""

    cdef int64_t values[8]
    cdef Kernel add

    def __init__(self, values):
        cdef int i
        for i, value in enumerate(values):
            self.values[i] = value
        self.add = find_unary(b"identity", kInt64, True)

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        _cast_to(kInt64, &self.add, req[0], kInt64, self.values, out_data[0].data, out_data[0].size)
        return 0
