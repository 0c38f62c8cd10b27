"""FoldedActivation (contract in fused_activation.pxd), and properties that fold one in."""

from cython.parallel cimport prange
from libc.stdint cimport int64_t
from libc.string cimport memset

from ...kernels.elementwise.elementwise cimport run_binary, run_unary
from ...kernels.parallel cimport threads_if_awake, threads_for
from ...kernels.reduce.row_sums cimport add_columns, sum_rows
from ...kernels.table cimport find_unary, find_unary_grad

from ...base.dtype import dtype_flag
from ..graph_hooks import ACTIVATION, GRAD_MASK, GRAD_MASKED, SUM, GraphHooks, LayerHooks
from .activation import FUNCTIONS

ctypedef void (*BinaryLoop)(const void*, int, const void*, int, void*, int64_t) noexcept nogil

cdef enum:
    PART_WIDTH = 64  # columns of a part


class TakesReluHooks(GraphHooks):  # graph hooks: the operator can apply relu
    """Hooks of a property whose operator applies relu to output 0 if its `relu` is set."""

    def epilogue(self, prop, in_shapes, in_types, kind, act_type=None):  # the fused property
        takes = kind == ACTIVATION and act_type == "relu" and not prop.relu
        return prop.changed(relu=True) if takes else None


class FoldsActivation:  # mixin: the operator applies `activation`
    """Mixin of a property whose operator applies the act_type `activation` to output 0: a linear
    map of data, weight and perhaps a bias.

    Where `gives_masked`, its gradient of the data has the gradient of the relu in it that gave the
    data; where `gets_masked`, the gradient of output 0 has that of `activation` in it already.
    Where `sums`, forward must add, and the activation is that of the sum: ``out =
    act(linear map + out)``. `FoldsActivationHooks` set them.
    """

    activation = None
    gives_masked = gets_masked = sums = False

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        needed = [out_grad[0], in_data[0], in_data[1]]
        applied = self.activation is not None and not self.gets_masked
        return [*needed, out_data[0]] if applied else needed


class FoldsActivationHooks(LayerHooks):  # graph hooks of FoldsActivation
    """Hooks of a FoldsActivation; subclasses define which activations and masks it supports."""

    def epilogue(self, prop, in_shapes, in_types, kind, act_type=None):  # the fused property
        if kind == ACTIVATION:
            applies = prop.activation is None and self.can_apply(
                prop, act_type, in_shapes, in_types)
            return prop.changed(activation=act_type) if applies else None
        if kind == SUM:
            adds = prop.activation is None and in_types[0] == "float32"
            if not adds or not (
                    act_type is None or self.can_apply(prop, act_type, in_shapes, in_types)):
                return None
            return prop.changed(activation=act_type, sums=True)
        if kind == GRAD_MASK:
            masks = self.can_mask_gradient(prop, in_shapes, in_types)
            return prop.changed(gives_masked=True) if masks else None
        if kind == GRAD_MASKED:
            return prop.changed(gets_masked=True) if prop.activation == "relu" else None
        return None

    def can_apply(self, prop, act_type, in_shapes, in_types):
        """True if kernels for these shapes and types apply that activation."""
        return False

    def can_mask_gradient(self, prop, in_shapes, in_types):
        """True if kernels for these shapes multiply the gradient of data by a mask."""
        return False


cdef class FoldedActivation:  # an activation applied to an output
    """The activation of `prop` (FoldsActivation), folded into an output of `size` elements."""

    def __init__(self, prop, int64_t size, dtype="float32"):
        cdef bytes functor, gradient
        cdef int flag = dtype_flag(dtype)
        activation = prop.activation
        self.size = size
        if activation is not None:
            functor = FUNCTIONS[activation].functor.encode()
            gradient = FUNCTIONS[activation].gradient.encode()
            self.function = find_unary(functor, flag, False)
            self.mask = find_unary_grad(gradient, flag, False)
            self.nbytes = 0 if prop.gets_masked else aligned_float_bytes(size)
        self.relu = activation == "relu"
        self.apart = activation is not None and not self.relu

    cdef void apply_in_place(self, void* out) noexcept nogil:  # out = act(out)
        run_unary(&self.function, out, out, self.size)

    cdef void* mask_gradient(self, void* grad, const void* out, void* space) noexcept nogil:
        if self.nbytes == 0:
            return grad
        run_binary(&self.mask, grad, 1, out, 1, space, self.size)
        return space

    cdef void* mask_and_sum_columns(self, void* grad, const void* out, void* space, int64_t columns,
                                    float* sums, bint add) noexcept nogil:
        cdef int64_t rows = self.size // columns
        cdef int64_t parts = (columns + PART_WIDTH - 1) // PART_WIDTH
        cdef int64_t part
        cdef int threads = threads_for(self.size)
        if self.nbytes == 0:
            sum_rows(<const float*>grad, rows, columns, sums, add)
            return grad
        if threads == 1:
            threads = threads_if_awake(self.size)
        # each part masks its columns and sums them while they are near
        threads = min(threads, <int>min(parts, 4096))
        for part in prange(parts, num_threads=threads, schedule="static"):
            self._mask_columns(<const float*>grad, <const float*>out, <float*>space, rows, columns,
                               part * PART_WIDTH, min(columns, (part + 1) * PART_WIDTH), sums, add)
        return space

    cdef void _mask_columns(self, const float* grad, const float* out, float* space, int64_t rows,
                            int64_t columns, int64_t begin, int64_t end, float* sums,
                            bint add) noexcept nogil:
        cdef BinaryLoop mask = <BinaryLoop>self.mask.loop
        cdef int64_t first, row, at, last
        if not add:
            memset(sums + begin, 0, (end - begin) * sizeof(float))
        for first in range(0, rows, 16):
            last = min(rows, first + 16)
            if end - begin == columns:  # all rows in one piece of memory
                at = first * columns
                mask(grad + at, 1, out + at, 1, space + at, (last - first) * columns)
            else:
                for row in range(first, last):
                    at = row * columns + begin
                    mask(grad + at, 1, out + at, 1, space + at, end - begin)
            add_columns(space + first * columns, last - first, columns, begin, end, sums)
