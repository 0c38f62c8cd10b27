"""Batches that a run reads where they lie (contract in _feed.pxd)."""

from libc.stdint cimport int64_t
from libc.string cimport memcpy

from ._copy import copy_into
from ._engine cimport is_settled
from ._ndarray cimport same_shape
from ._typedefs cimport TBlob, dtype_size, kCPU


cdef class Feed:
    """Which array of a plan is filled with a batch by the step that reads it."""

    cdef int build(self, graph, dict arrays, Tables* tables, size_t n_segments) except -1:
        cdef NDArrayBase array, bound
        cdef Segment* segment
        cdef size_t i, k
        self.tables = tables
        if graph.fed is None:
            return 0
        bound, self.step = arrays[graph.fed[0]], graph.fed[1]
        for value, array in arrays.items():  # on one piece of memory, the last copy would count
            if value is not graph.fed[0] and array.chunk == bound.chunk:
                return 0
        if bound.blob.dev_type != kCPU or tables.steps[self.step].context.n_in > FED_INPUTS:
            return 0
        for i in range(n_segments):
            segment = tables.segments[i]
            if segment.first <= self.step < segment.last and segment.const_vars.size() < FED_VARS:
                self.bound, self.segment = bound, i
                self.mutable_vars = segment.mutable_vars
                self.mutable_vars.push_back(bound.chunk.var)
                for k in range(segment.const_vars.size()):
                    if segment.const_vars[k] != bound.chunk.var:
                        self.const_vars.push_back(segment.const_vars[k])
        return 0

    cdef bint take(self, list sources, list targets, Fed* fed) except -1:
        cdef NDArrayBase source, target
        cdef Py_ssize_t i, n = len(sources)
        fed.data = NULL
        if n != len(targets):
            return False
        for i in range(n):
            if not isinstance(sources[i], NDArrayBase):
                return False
            source, target = sources[i], targets[i]
            if not same_shape(&source.blob, &target.blob):
                return False
        apart = self.bound is not None and _apart(sources, targets)
        batch = None
        for i in range(n):
            source, target = sources[i], targets[i]
            if apart and target is self.bound:
                batch = source
            elif source is not target:
                copy_into(source, target)
        if batch is None:
            return True
        source = batch  # last: what the others may have failed at is known
        if not self.is_fed(source):
            copy_into(source, self.bound)
            return True
        fed.segment, fed.step, fed.data = self.segment, self.step, source.blob.data
        fed.source, fed.target = source.chunk.var, self.bound.chunk
        self.n_fed += 1
        return True

    cdef bint is_fed(self, NDArrayBase source) except -1:
        """Whether the step may read `source`: what its bytes are now is what it will find then, and
        nothing that failed before can keep the segment from running."""
        cdef VarHandle var = source.chunk.var
        cdef Segment* segment
        cdef size_t i, k
        if (source.blob.dtype != self.bound.blob.dtype or source.blob.dev_type != kCPU
                or <size_t>source.blob.data % dtype_size(source.blob.dtype)
                or not is_settled(var)):
            return False
        for i in range(self.segment + 1):  # an output of the last run is written anew, say
            segment = self.tables.segments[i]
            for k in range(segment.mutable_vars.size()):
                if segment.mutable_vars[k] == var:
                    return False
        for k in range(self.const_vars.size()):
            if self.const_vars[k] == var or not is_settled(self.const_vars[k]):
                return False
        for k in range(self.mutable_vars.size()):
            if not is_settled(self.mutable_vars[k]):
                return False
        return True


cdef bint _apart(list sources, list targets) except -1:
    """Whether no source shares memory with a target: otherwise their order matters."""
    cdef NDArrayBase source, target
    for source in sources:
        for target in targets:
            if source.chunk == target.chunk:
                return False
    return True


cdef void put_batch(Run* run, OpContext** context, TBlob** in_data, OpContext* own,
                    TBlob* inputs) noexcept nogil:
    own[0] = context[0][0]
    memcpy(inputs, in_data[0], own.n_in * sizeof(TBlob))
    own.copy, inputs[0].data = inputs[0].data, run.fed.data
    context[0], in_data[0] = own, inputs


cdef void copy_fed(Run* run) noexcept nogil:
    cdef TBlob* blob = &run.tables.blobs[run.tables.steps[run.fed.step].in_data]
    cdef int64_t nbytes = dtype_size(blob.dtype)
    cdef int i
    for i in range(blob.ndim):
        nbytes *= blob.shape[i]
    memcpy(blob.data, run.fed.data, nbytes)
    run.fed.target.written = True
