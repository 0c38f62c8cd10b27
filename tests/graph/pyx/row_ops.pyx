"""An operator that treats rows apart, and refuses some: compiled by
tests/graph/passes/test_batch_split.py."""

from libc.stdint cimport int64_t

from cynet._typedefs cimport TBlob, kAddTo, kNullOp
from cynet.operator._base cimport Operator, OpContext

import cynet as mx


class RowScaleHooks(mx.operator.GraphHooks):
    """Rows of data are apart."""

    def row_inputs(self, prop, in_shapes, in_types):
        return (0,)


@mx.operator.register("row_scale")
class RowScaleProperty(mx.operator.OperatorProperty):
    """out = data * weight; data (N, C), weight (C,). ValueError where data is above `most`."""

    most = mx.operator.Float(default=1e30, doc="Largest number that is taken.")
    inputs_doc = {"data": "Rows, float32.", "weight": "Factors of columns."}
    pure = True
    graph = RowScaleHooks()

    def list_arguments(self):
        return ["data", "weight"]

    def infer_shape(self, in_shapes, out_shapes):
        data = in_shapes[0]
        return [data, None if data is None else data[1:]], [data], []

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [out_grad[0], in_data[0], in_data[1]]

    def create_operator(self, ctx, in_shapes, in_types):
        return RowScale(*in_shapes[0], self.most)


cdef class RowScale(Operator):
    cdef int64_t rows, columns
    cdef float most

    def __init__(self, rows, columns, most):
        self.rows, self.columns, self.most = rows, columns, most

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef const float* x = <const float*>in_data[0].data
        cdef const float* w = <const float*>in_data[1].data
        cdef float* y = <float*>out_data[0].data
        cdef int64_t i
        if in_data[0].shape[0] != self.rows or out_data[0].size != self.rows * self.columns:
            with gil:
                raise AssertionError("not the rows it was made for")
        for i in range(self.rows * self.columns):
            if x[i] > self.most:
                with gil:
                    raise ValueError(f"{x[i]} is more than {self.most}")
            y[i] = x[i] * w[i % self.columns]
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef const float* dy = <const float*>out_grad[0].data
        cdef const float* x = <const float*>in_data[0].data
        cdef const float* w = <const float*>in_data[1].data
        cdef float* dx = <float*>in_grad[0].data
        cdef float* dw = <float*>in_grad[1].data
        cdef int64_t i, j
        if req[0] != kNullOp:
            for i in range(self.rows * self.columns):
                dx[i] = dy[i] * w[i % self.columns] + (dx[i] if req[0] == kAddTo else 0)
        if req[1] != kNullOp:
            for j in range(self.columns):
                if req[1] != kAddTo:
                    dw[j] = 0
                for i in range(self.rows):
                    dw[j] += dy[i * self.columns + j] * x[i * self.columns + j]
        return 0
