# distutils: extra_compile_args = -O3
"""Operators that only move elements (contract in strided_moves.pxd).

Transposition, slicing, reversal, tiling, joining, splitting, padding with a constant: each says in
Python, once, when the operator is made, which strided piece of which input becomes which strided
piece of which output; the same description, read backwards, is the gradient.
"""

from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from ..._typedefs cimport TBlob, dtype_size, kAddTo, kFloat64, kNullOp
from ...kernels.elementwise.elementwise cimport run_cast
from ...kernels.reduce.reduce cimport make_reduce_space, run_reduce
from ...kernels.movement.strided cimport (
    STRIDED_ADD, STRIDED_SUBTRACT, STRIDED_WRITE, run_strided, set_copy_space
)
from ...kernels.table cimport find_reduce
from .._base cimport Operator, OpContext

from typing import NamedTuple

from ...base.dtype import dtype_flag
from ...base.errors import ArgumentError


class View(NamedTuple):  # strided view of an array, in elements
    """A strided view of an array, in elements."""

    shape: tuple
    strides: tuple
    offset: int = 0


class StridedPart(NamedTuple):  # copy of a view of an input to one of an output
    """View `source` of input `index` becomes view `target` of output `to`."""

    source: View
    target: View
    index: int = 0
    to: int = 0


def whole_view(shape):
    """The View of a whole array of `shape`.

    >>> whole_view((2, 3))
    View(shape=(2, 3), strides=(3, 1), offset=0)
    """
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return View(tuple(shape), tuple(reversed(strides)))


def subview(view, begin, step, shape):
    """The View that starts at index `begin` of `view` and goes by `step`, `shape` long."""
    offset = view.offset + sum(b * s for b, s in zip(begin, view.strides))
    return View(tuple(shape), tuple(s * k for s, k in zip(view.strides, step)), offset)


cdef class StridedCopyOperator(Operator):
    """Copies strided pieces of inputs into outputs.

    Parameters
    ----------
    dtype : str
        Of all arrays.
    pieces : list of StridedPart
        They cover the outputs unless `fill` is given; none overlap in the outputs. Where a source
        view repeats (stride 0) the target is a whole output and the other axes run through the
        whole input.
    uncovered : tuple of int
        Inputs whose elements are not all moved.
    fill : float or None
        What the gaps in the outputs hold.
    """

    def __cinit__(self, dtype, list pieces, tuple uncovered=(), fill=None):
        cdef StridedMove* piece
        cdef int i
        cdef double value
        pieces = [each for each in pieces if 0 not in each.target.shape]
        self.dtype = dtype_flag(dtype)
        self.n_pieces = len(pieces)
        self.pieces = <StridedMove*>calloc(max(self.n_pieces, 1), sizeof(StridedMove))
        if self.pieces == NULL:
            raise MemoryError()
        self.sum = find_reduce(b"sum", self.dtype)
        self.uncovered = uncovered
        self.described = dtype, pieces, fill
        for index in uncovered:
            if index >= 64:
                raise ArgumentError("at most 64 inputs may be taken in part")
            self.misses[index] = True
        self.fills_output = fill is not None
        if fill is not None:
            value = fill
            run_cast(kFloat64, self.dtype, &value, self.fill, 1)
        for i, each in enumerate(pieces):
            piece = &self.pieces[i]
            piece.source_index, piece.target_index = each.index, each.to
            piece.source_offset, piece.target_offset = each.source.offset, each.target.offset
            set_copy_space(&piece.forward, each.target, each.source)
            set_copy_space(&piece.backward, each.source, each.target)
            set_copy_space(&piece.unfill, each.target,
                           View(each.target.shape, (0,) * len(each.target.shape)))
            piece.folds = _find_sum_over_repeats(&piece.fold, each.source)

    def __dealloc__(self):
        free(self.pieces)

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef size_t size = dtype_size(self.dtype)
        cdef const StridedMove* p
        cdef char* y
        cdef int i
        if self.fills_output:
            for i in range(ctx.n_out):
                _fill_output_gaps(self, &out_data[i], req[i])
        for i in range(self.n_pieces):
            p = &self.pieces[i]
            if req[p.target_index] == kNullOp:
                continue
            y = <char*>out_data[p.target_index].data + p.target_offset * <int64_t>size
            if req[p.target_index] == kAddTo and self.fills_output:
                run_strided(&p.unfill, self.dtype, STRIDED_SUBTRACT, y, self.fill)
            run_strided(&p.forward, self.dtype,
                        STRIDED_ADD if req[p.target_index] == kAddTo else STRIDED_WRITE, y,
                        <char*>in_data[p.source_index].data + p.source_offset * <int64_t>size)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef size_t size = dtype_size(self.dtype)
        cdef const StridedMove* p
        cdef char* g
        cdef char* x
        cdef int i
        for i in range(ctx.n_in):
            # an input without a piece (only its shape is read) has a gradient of zeros
            if req[i] != kNullOp and req[i] != kAddTo and (
                    i >= 64 or self.misses[i] or not _is_input_moved(self, i)):
                memset(in_grad[i].data, 0, in_grad[i].size * dtype_size(in_grad[i].dtype))
        for i in range(self.n_pieces):
            p = &self.pieces[i]
            if req[p.source_index] == kNullOp:
                continue
            g = <char*>out_grad[p.target_index].data + p.target_offset * <int64_t>size
            x = <char*>in_grad[p.source_index].data + p.source_offset * <int64_t>size
            if p.folds:
                run_reduce(self.sum, &p.fold, g, x, req[p.source_index] == kAddTo, 1.0)
            else:
                run_strided(&p.backward, self.dtype,
                            STRIDED_ADD if req[p.source_index] == kAddTo else STRIDED_WRITE, x, g)
        return 0


cdef bint _is_input_moved(StridedCopyOperator self, int index) noexcept nogil:
    cdef int i
    for i in range(self.n_pieces):
        if self.pieces[i].source_index == index:
            return True
    return False


cdef bint _find_sum_over_repeats(ReduceSpace* fold, source) except -1:
    """Describe the sum that undoes a repetition; False where nothing repeats."""
    cdef bint repeats[8]
    cdef int64_t shape[8]
    cdef int n = 0
    if not any(s == 0 and d > 1 for s, d in zip(source.strides, source.shape)):
        return False
    # neighbors of one kind are joined first: 8 axes are enough for any tiling of 4 or fewer
    for stride, length in zip(source.strides, source.shape):
        if length == 1:
            continue
        if n and repeats[n - 1] == (stride == 0):
            shape[n - 1] *= length
            continue
        if n == 8:
            raise ArgumentError("the input repeats along too many separate axes")
        repeats[n] = stride == 0
        shape[n] = length
        n += 1
    make_reduce_space(fold, n, shape, repeats)
    return True


cdef void _fill_output_gaps(StridedCopyOperator self, const TBlob* out, int req) noexcept nogil:
    cdef StridedSpace space
    if req == kNullOp:
        return
    space.ndim = 1
    space.shape[0] = out.size
    space.dst_stride[0] = 1
    space.src_stride[0] = 0
    # where a piece is added the constant is subtracted, so that only the gaps get it
    run_strided(&space, self.dtype, STRIDED_ADD if req == kAddTo else STRIDED_WRITE, out.data,
                self.fill)
