"""_sample_unique_zipfian: rows of different numbers, small ones more likely."""

from libc.stdint cimport int64_t

from ..._resource cimport get_space
from ..._typedefs cimport TBlob, kAddTo
from ...kernels.parallel cimport parallel_ranges
from ...kernels.rng.zipfian cimport unique_zipfian
from .._base cimport Operator, OpContext
from ..results cimport deliver, parts_of, room_for

from ...base.errors import ArgumentError, ShapeError
from .._base import register_operator
from ..parameters import Int, Shape
from ..property import OperatorProperty, ResourceRequest, merge_shapes


class UniqueZipfianProperty(OperatorProperty):
    """Rows of different numbers below `range_max`, x with probability about 1 / (x + 1).

    Two outputs, int64: the numbers (rows, count), and how many draws each row took until it had as
    many different ones. ``P(x) = log((x + 2) / (x + 1)) / log(range_max + 1)``.
    """

    differentiable = False
    range_max = Int(doc="The numbers are below it.", low=1, high=2**53)
    shape = Shape(None, doc="(rows, count) of the numbers.", low=1)

    def list_arguments(self):
        return []

    def list_outputs(self):
        return ["output0", "output1"]

    def infer_shape(self, in_shapes, out_shapes):
        shape = merge_shapes(self.shape, out_shapes[0])
        if shape is None:
            return [], list(out_shapes), []
        if len(shape) != 2:
            raise ShapeError(f"operator {self.op_name}: parameter 'shape' is (rows, count), got "
                             f"{tuple(shape)}")
        if shape[1] > self.range_max:
            raise ArgumentError(f"operator {self.op_name}: there are no {shape[1]} different "
                                f"numbers below {self.range_max}, which 'shape' {shape} asks for")
        return [], [shape, merge_shapes(shape[:1], out_shapes[1])], []

    def infer_type(self, in_types, out_types):
        return [], ["int64", "int64"], []

    def forward_resource(self, in_shapes):
        temp = ResourceRequest.temp_space
        return [temp, temp, temp, ResourceRequest.random]

    def create_operator(self, ctx, in_shapes, in_types):
        return UniqueZipfianOperator(self.range_max)


cdef struct Rows:
    unsigned long long seed, stream
    int64_t range, rows, count
    int64_t* numbers
    int64_t* tries
    int64_t* tables
    int bits, parts


cdef class UniqueZipfianOperator(Operator):
    cdef int64_t range

    def __init__(self, range):
        self.range = range

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef Rows r
        cdef int wanted[2]
        wanted[0], wanted[1] = kAddTo if req[0] == 0 else req[0], kAddTo if req[1] == 0 else req[1]
        r.seed, r.stream = ctx.requested[3].seed, ctx.requested[3].stream
        r.range, r.rows, r.count = self.range, out_data[0].shape[0], out_data[0].shape[1]
        r.numbers = <int64_t*>room_for(ctx, out_data, wanted, 0)
        r.tries = <int64_t*>room_for(ctx, out_data, wanted, 1)
        r.bits = 2
        while (<int64_t>1 << r.bits) < 2 * r.count:
            r.bits += 1
        r.parts = parts_of(r.rows, r.rows * r.count * 64)
        r.tables = <int64_t*>get_space(&ctx.requested[2],
                                       r.parts * (<size_t>1 << r.bits) * sizeof(int64_t))
        parallel_ranges(r.parts, r.parts, _some, &r)
        deliver(out_data, req, 0, r.numbers)
        deliver(out_data, req, 1, r.tries)
        return 0


cdef void _some(void* arg, int64_t begin, int64_t end) noexcept nogil:
    cdef Rows* r = <Rows*>arg
    cdef int64_t part, row
    for part in range(begin, end):
        for row in range(r.rows * part // r.parts, r.rows * (part + 1) // r.parts):
            r.tries[row] = unique_zipfian(r.seed, r.stream, row, r.range, r.count,
                                          r.numbers + row * r.count,
                                          r.tables + (part << r.bits), r.bits)


register_operator("_sample_unique_zipfian", UniqueZipfianProperty)
