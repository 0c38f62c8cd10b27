"""Batches that a run reads where they lie (contract in batch_alias.pxd)."""

from libc.stdint cimport int64_t
from libc.string cimport memcpy

from .._core.copy import copy_into
from .._engine cimport is_settled
from ..engine.records cimport writes_of
from .._ndarray cimport same_shape
from .tables cimport Lent
from .._typedefs cimport TBlob, dtype_size, kCPU


cdef class Feed:
    """Which array of a plan is filled with a batch by the step that reads it."""

    cdef int build(self, graph, dict arrays, Tables* tables, size_t n_forward) except -1:
        cdef NDArrayBase array, bound
        cdef size_t step
        self.tables = tables
        self.readers.resize(2)
        if graph.fed is None:
            return 0
        bound, step = arrays[graph.fed[0]], graph.fed[1]
        for value, array in arrays.items():  # on one piece of memory, the last copy would count
            if value is not graph.fed[0] and array.chunk == bound.chunk:
                return 0
        if bound.blob.dev_type != kCPU or tables.steps[step].context.n_in > FED_INPUTS:
            return 0
        if not _find_reader(tables, step, 0, n_forward, &self.readers[0]):
            return 0
        self.bound = bound
        _exchange(&self.readers[0], bound.chunk.var)
        readers = [i for i, each in enumerate(graph.steps)
                   if graph.fed[0] in [value.root for value in each.read()]]
        if len(readers) == 2 and graph.steps[readers[1]].origin is graph.steps[step]:
            self.goes_back = _find_reader(tables, readers[1], n_forward, tables.segments.size(),
                                          &self.readers[1])
        self.alone = len(readers) == 1 + self.goes_back
        return 0

    cdef bint take(self, list sources, list targets, Fed* fed) except -1:
        cdef NDArrayBase source, target
        cdef Py_ssize_t i, n = len(sources)
        fed.data, self.batch = NULL, None
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
        self._lend(source, &self.readers[0], fed)
        self.n_fed += 1
        if self.goes_back and self._lends(source):
            self.batch = source
        fed.past = self.alone and not (self.goes_back and self.batch is None)
        return True

    cdef int take_back(self, NDArrayBase batch, Fed* fed) except -1:
        fed.data, self.batch = NULL, None
        if batch is not None and is_settled(batch.chunk.var) and self._lends(batch):
            self._lend(batch, &self.readers[1], fed)
            self.n_lent += 1
        return 0

    cdef bint _lends(self, NDArrayBase batch) noexcept:
        """Whether its variable tells if the batch has changed, and can be read backward."""
        cdef const Reader* reader = &self.readers[1]
        return not (batch.chunk.exposed.load() or self.bound.chunk.exposed.load()
                    or _holds(&reader.const_vars, batch.chunk.var)
                    or _holds(&reader.mutable_vars, batch.chunk.var))

    cdef int _lend(self, NDArrayBase batch, const Reader* reader, Fed* fed) except -1:
        fed.segment, fed.step, fed.data = reader.segment, reader.step, batch.blob.data
        fed.source, fed.target = batch.chunk.var, self.bound.chunk
        fed.backward, fed.past = reader == &self.readers[1], False
        return 0

    cdef bint is_fed(self, NDArrayBase source) except -1:
        """Whether the step may read `source`: what its bytes are now is what it will find then, and
        nothing that failed before can keep the segment from running."""
        cdef VarHandle var = source.chunk.var
        cdef Reader* reader = &self.readers[0]
        cdef size_t i
        if (source.blob.dtype != self.bound.blob.dtype or source.blob.dev_type != kCPU
                or <size_t>source.blob.data % dtype_size(source.blob.dtype)
                or not is_settled(var)):
            return False
        for i in range(reader.segment + 1):  # an output of the last run is written anew, say
            if _holds(&self.tables.segments[i].mutable_vars, var):
                return False
        for i in range(reader.const_vars.size()):
            if reader.const_vars[i] == var or not is_settled(reader.const_vars[i]):
                return False
        for i in range(reader.mutable_vars.size()):
            if not is_settled(reader.mutable_vars[i]):
                return False
        return True


cdef bint _find_reader(Tables* tables, size_t step, size_t first, size_t last, Reader* reader):
    """Fill in the reader for a step in one of the segments first .. last."""
    cdef size_t i
    for i in range(first, last):
        if tables.segments[i].first <= step < tables.segments[i].last:
            reader.segment, reader.step = i, step
            reader.const_vars = tables.segments[i].const_vars
            reader.mutable_vars = tables.segments[i].mutable_vars
            return reader.const_vars.size() < FED_VARS
    return False


cdef void _exchange(Reader* reader, VarHandle var):
    """What the segment reads it writes."""
    cdef vector[VarHandle] others
    cdef size_t i
    for i in range(reader.const_vars.size()):
        if reader.const_vars[i] != var:
            others.push_back(reader.const_vars[i])
    reader.const_vars = others
    reader.mutable_vars.push_back(var)


cdef bint _holds(const vector[VarHandle]* variables, VarHandle var) noexcept:
    cdef size_t i
    for i in range(variables.size()):
        if variables[0][i] == var:
            return True
    return False


cdef bint _apart(list sources, list targets) except -1:
    """Whether no source shares memory with a target: otherwise their order matters."""
    cdef NDArrayBase source, target
    if len(sources) > 8:
        chunks = {<size_t>(<NDArrayBase>each).chunk for each in targets}
        return chunks.isdisjoint([<size_t>(<NDArrayBase>each).chunk for each in sources])
    for source in sources:
        for target in targets:
            if source.chunk == target.chunk:
                return False
    return True


cdef void put_batch(Run* run, OpContext** context, TBlob** in_data, OpContext* own,
                    TBlob* inputs) noexcept nogil:
    own[0] = context[0][0]
    memcpy(inputs, in_data[0], own.n_in * sizeof(TBlob))
    if not run.fed.backward:
        own.copy, own.copy_past = inputs[0].data, run.fed.past
    inputs[0].data = run.fed.data
    context[0], in_data[0] = own, inputs


cdef void note_fed(Run* run) noexcept nogil:
    cdef Lent* lent = &run.tables.lent
    run.fed.target.written = True
    lent.data, lent.source_writes = run.fed.data, writes_of(run.fed.source)
    lent.target_writes = writes_of(run.fed.target.var) + 1  # when this run has ended


cdef bint is_lent(const Run* run) noexcept nogil:
    cdef const Lent* lent = &run.tables.lent
    return (lent.data == run.fed.data and lent.source_writes == writes_of(run.fed.source)
            and lent.target_writes == writes_of(run.fed.target.var))


cdef void copy_fed(Run* run) noexcept nogil:
    cdef TBlob* blob = &run.tables.blobs[run.tables.steps[run.fed.step].in_data]
    cdef int64_t nbytes = dtype_size(blob.dtype)
    cdef int i
    for i in range(blob.ndim):
        nbytes *= blob.shape[i]
    memcpy(blob.data, run.fed.data, nbytes)
    run.fed.target.written = True
