"""The gradient of a convolution's weight by oneDNN, the same for any number of threads.

With oneDNN's own threads, sums would depend on their number. Here
shapes alone say how the work is cut: the batch into slices, whose gradients are added in order, and
the filters, whose gradients lie side by side. Each part is a primitive of one thread.
"""

from cython.parallel cimport prange
from libc.stdint cimport int64_t

from ..._typedefs cimport aligned, kFloat32
from ..elementwise.elementwise cimport run_cast, run_unary
from ..parallel cimport threads_for
from ..table cimport find_unary
from .onednn cimport Layout, ReorderedPrimitive, onednn_runs_on_team

from math import prod

from ...base.dtype import dtype_flag
from ..parallel import get_num_threads
from .onednn import Convolution, as_channels_last, make_reorder, as_row_major
from .onednn_parts import row_image_shapes, images_per_slice, choose_slicing


cdef class WeightGradient:
    """Takes the arguments of a Convolution."""

    def __init__(self, data, weight, out, stride, dilate, pad, bias, dtype="float32", last=True):
        cdef ReorderedPrimitive chain
        cdef Layout found, wanted
        cdef int i, thread
        cdef int64_t item = 2 if dtype == "bfloat16" else sizeof(float)
        if last and data[0] == 1 and {*weight[-len(stride):], *stride} == {1} and not any(pad):
            data, out = row_image_shapes(data, out)
        self.dtype, self.has_bias = dtype_flag(dtype), bias
        self.add = find_unary(b"identity", self.dtype, True)
        self.add_slice = find_unary(b"identity", kFloat32, True)
        self.size, self.filters = prod(weight), out[1]
        self.products = self.size * out[0] * prod(out[2:])
        # oneDNN's own threads and the team's would be too many together
        threads = get_num_threads() if onednn_runs_on_team() else 1
        for self.slices, self.cuts in (choose_slicing(data, weight, out), (1, 1)):
            self.parts = self.slices * self.cuts
            self.threads, self._owned, self.space_bytes = min(self.parts, threads), [], 0
            part_weight = (weight[0] // self.cuts, *weight[1:])
            batch = images_per_slice(data[0], self.slices)
            rest = data[0] - (self.slices - 1) * batch
            for i, images in enumerate((rest,) if rest == batch else (rest, batch)):
                part_out, given = (images, out[1] // self.cuts, *out[2:]), None
                part = Convolution((images, *data[1:]), part_weight, part_out, stride, dilate, pad,
                                   bias, dtype, last)
                if self.cuts > 1:
                    given = (as_channels_last if last else as_row_major)(part_out, dtype, out)
                for thread in range(self.threads):
                    chain = part.make_backward_weight(given, self.slices == 1)
                    self._owned.append(chain)
                    self.chains[i][thread] = <void*>chain
                    self.space_bytes = max(self.space_bytes, aligned(chain.scratch_bytes))
            self.of_slices = rest != batch
            found, wanted = chain.main.layouts[chain.output], as_row_major(part_weight, dtype)
            chain = self._owned[0]
            if chain.main.layouts[chain.output] == found:
                break  # equal layouts: slices can be added
        self.cut_filters = self.filters // self.cuts
        self.cut_bytes = self.size // self.cuts * item
        self.cut_bias_bytes = self.cut_filters * item
        self.data_step = batch * prod(data[1:]) * item
        self.grad_step = batch * prod(out[1:]) * item
        self.grad_cut_step = self.cut_bias_bytes * (1 if last else prod(out[2:]))

        self.bias_at = aligned(self.size * item)
        self.slices_at = self.bias_at + aligned(self.filters * item)
        self.slice_bias_at = self.slices_at
        if self.slices > 1:
            self.slice_bytes = aligned(found.nbytes())
            self.slice_bias_bytes = aligned(self.cut_filters * sizeof(float)) if bias else 0
            self.finish = None if found == wanted else make_reorder(found, wanted)
            self.slice_bias_at += self.parts * self.slice_bytes
        self.space_at = self.slice_bias_at + self.parts * self.slice_bias_bytes
        spaces = self.threads * self.space_bytes
        if self.finish is not None:
            spaces = max(spaces, self.finish.scratch_bytes)
        self.scratch_bytes = self.space_at + spaces

    cdef int run(self, void* grad, void* data, void* weight, bint add_weight, void* bias,
                 bint add_bias, char* scratch) except -1 nogil:
        cdef bint keeps_weight = weight != NULL and not add_weight
        cdef bint keeps_bias = bias != NULL and not add_bias
        cdef char* to = <char*>weight if keeps_weight else scratch
        cdef char* to_bias = <char*>bias if keeps_bias else scratch + self.bias_at
        cdef int i, threads = min(self.threads, threads_for(self.products))
        for i in prange(threads, num_threads=threads, schedule="static"):
            self._run_parts(i, threads, <char*>grad, <char*>data, to, to_bias, scratch)
        if self.slices > 1:
            self._add_slices(to, to_bias, scratch)
        if add_weight:
            run_unary(&self.add, to, weight, self.size)
        if add_bias:
            run_unary(&self.add, to_bias, bias, self.filters)
        return 0

    cdef int _run_parts(self, int thread, int threads, char* grad, char* data, char* weight,
                        char* bias, char* scratch) except -1 nogil:
        """Run one thread's parts: each slice of a cut, then the next cut."""
        cdef void* tensors[4]
        cdef void* chain
        cdef int part, each, cut
        for part in range(self.parts * thread // threads, self.parts * (thread + 1) // threads):
            cut, each = part // self.slices, part % self.slices
            tensors[0] = grad + each * self.grad_step + cut * self.grad_cut_step
            tensors[1] = data + each * self.data_step
            if self.slices > 1:
                tensors[2] = scratch + self.slice_bias_at + part * self.slice_bias_bytes
                tensors[2 + self.has_bias] = scratch + self.slices_at + part * self.slice_bytes
            else:
                tensors[2] = bias + cut * self.cut_bias_bytes
                tensors[2 + self.has_bias] = weight + cut * self.cut_bytes
            chain = self.chains[self.of_slices and each + 1 < self.slices][thread]
            (<ReorderedPrimitive>chain).run(
                tensors, scratch + self.space_at + thread * self.space_bytes)
        return 0

    cdef int _add_slices(self, char* weight, char* bias, char* scratch) except -1 nogil:
        cdef void* pair[2]
        cdef char* sums
        cdef int cut, i
        cdef int64_t n = self.slice_bytes // <int64_t>sizeof(float)
        for cut in range(self.cuts):
            sums = scratch + self.slices_at + cut * self.slices * self.slice_bytes
            for i in range(1, self.slices):
                run_unary(&self.add_slice, sums + i * self.slice_bytes, sums, n)
            pair[0], pair[1] = sums, weight + cut * self.cut_bytes
            if self.finish is None:
                run_cast(kFloat32, kFloat32, pair[0], pair[1], self.size // self.cuts)
            else:
                self.finish.run(pair, scratch + self.space_at)
            if self.has_bias:
                sums = scratch + self.slice_bias_at + cut * self.slices * self.slice_bias_bytes
                for i in range(1, self.slices):
                    run_unary(&self.add_slice, sums + i * self.slice_bias_bytes, sums,
                              self.cut_filters)
                run_cast(kFloat32, self.dtype, sums, bias + cut * self.cut_bias_bytes,
                         self.cut_filters)
        return 0
