"""Batches that a run reads where they lie (contract in _lending.pxd)."""

from ._copy import copy_into
from ._ndarray cimport same_shape
from ._plan_tables cimport NativeStep
from ._typedefs cimport TBlob, dtype_size, kCPU


cdef class Lending:
    """The bound arrays of a plan that one of its steps may fill with a batch that it reads."""

    cdef int build(self, graph, dict arrays, Tables* tables, size_t n_segments) except -1:
        cdef NDArrayBase array
        cdef size_t i
        self.tables, self.lendable, self.n_lent = tables, [], 0
        owners = {}  # arrays on one piece of memory are filled in the order of the copies
        for array in arrays.values():
            owners[<size_t>array.chunk] = owners.get(<size_t>array.chunk, 0) + 1
        for value, step in graph.lendable.items():
            array = arrays[value]
            if owners[<size_t>array.chunk] > 1 or array.blob.dev_type != kCPU:
                continue
            for i in range(n_segments):
                if tables.segments[i].first <= <size_t>step < tables.segments[i].last:
                    self.lendable.append((array, i, step))
        return 0

    cdef bint take(self, sources, targets, vector[Lent]* lent) except -1:
        cdef Lent each
        cdef NDArrayBase source, target
        cdef Py_ssize_t i, n = len(sources)
        if n != len(targets):
            return False
        for i in range(n):
            if not isinstance(sources[i], NDArrayBase):
                return False
            source, target = sources[i], targets[i]
            if not same_shape(&source.blob, &target.blob):
                return False
        lends = bool(self.lendable) and _apart(sources, targets)
        for i in range(n):
            source, target = sources[i], targets[i]
            if lends and self.lend(source, target, &each):
                lent.push_back(each)
                self.n_lent += 1
            elif source is not target:
                copy_into(source, target)
        return True

    cdef bint lend(self, NDArrayBase source, NDArrayBase target, Lent* lent) except -1:
        """Whether a step reads `source` itself; then `lent` says how."""
        if (source.blob.dtype != target.blob.dtype or source.blob.dev_type != kCPU
                or <size_t>source.blob.data % dtype_size(source.blob.dtype)):
            return False
        for bound, at, step in self.lendable:
            if bound is target:
                lent.segment, lent.step, lent.data = at, step, source.blob.data
                lent.source, lent.target = source.chunk.var, target.chunk
                return not self.writes(source.chunk.var, at)
        return False

    cdef bint writes(self, VarHandle var, size_t last) noexcept:
        """Whether a segment up to `last` writes what `var` guards: an output of the last run, say,
        that would no longer be what it was when the run was asked for."""
        cdef size_t i, j
        cdef Segment* segment
        for i in range(last + 1):
            segment = self.tables.segments[i]
            for j in range(segment.mutable_vars.size()):
                if segment.mutable_vars[j] == var:
                    return True
        return False


cdef bint _apart(sources, targets) except -1:
    """Whether no source shares memory with a target: otherwise their order matters."""
    cdef NDArrayBase source, target
    for source in sources:
        for target in targets:
            if source.chunk == target.chunk:
                return False
    return True


cdef void share_of(const Segment* segment, size_t at, const vector[Lent]* lent, vector[Lent]* own,
                   vector[VarHandle]* read, vector[VarHandle]* write) noexcept nogil:
    cdef size_t i
    for i in range(lent.size()):
        if lent[0][i].segment == at:
            own.push_back(lent[0][i])
    if own.empty():
        return
    write[0] = segment.mutable_vars
    for i in range(own.size()):
        write.push_back(own[0][i].target.var)
    for i in range(segment.const_vars.size()):
        _add_unless(read, write, segment.const_vars[i])
    for i in range(own.size()):
        _add_unless(read, read, own[0][i].source)


cdef void _add_unless(vector[VarHandle]* to, const vector[VarHandle]* known,
                      VarHandle var) noexcept nogil:
    """Append `var` unless `known` has it."""
    cdef size_t i
    for i in range(known.size()):
        if known[0][i] == var:
            return
    to.push_back(var)


cdef void lend_to(Run* run, size_t index) noexcept nogil:
    cdef NativeStep* step = &run.tables.steps[index]
    cdef TBlob* blob = &run.tables.blobs[step.in_data]
    cdef size_t i
    for i in range(run.n_lent):
        if run.lent[i].step == index:
            step.context.copy = blob.data
            blob.data = run.lent[i].data


cdef void take_back(Run* run) noexcept nogil:
    cdef NativeStep* step
    cdef size_t i
    for i in range(run.n_lent):
        step = &run.tables.steps[run.lent[i].step]
        if step.context.copy != NULL:
            run.tables.blobs[step.in_data].data = step.context.copy
            step.context.copy = NULL
            run.lent[i].target.written = True
