"""ArgumentSlots: exchanges the arrays of a Plan before each run, so that nothing is copied.

The plan is built on placeholders, arrays at addresses that no memory has. Before a run `bind` sets
real arrays. It exchanges the variables of the plan's functions at once. A function of the engine
exchanges the addresses in the tables, after the runs that were pushed before.
"""

from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc
from libcpp.unordered_set cimport unordered_set
from libcpp.vector cimport vector

from .._core.face cimport ND, Face
from .._core.touched_rows cimport nonzero_row_set
from .._engine cimport VarHandle, kInline, push_sync
from .._executor cimport Plan, release_tables
from .._core.sparse_kind cimport refuse_sparse
from .._ndarray cimport Chunk, NDArrayBase, RowSet, is_on_host, new_array, wrap_memory
from .._typedefs cimport RunContext, kCPU, kGPU
from ..ndarray._resolve cimport pack_signature
from ..ndarray._tape cimport n_flagged, is_recording, gradient_request
from .cached_results cimport CachedResult, hold_state, release_state
from .placeholders cimport placeholder_address, placeholder_number
from .tables cimport CachedState, Segment, Tables

from ..base.dtype import dtype_flag
from ..base.errors import ArgumentError, OutOfMemoryError


def placeholder(size_t number, value):
    """Return an array without memory for a Value, with a unique address."""
    cdef int64_t shape[8]
    for i, n in enumerate(value.shape):
        shape[i] = n
    return wrap_memory(ND, placeholder_address(number), shape, len(value.shape),
                       dtype_flag(value.dtype), value.ctx.device_typeid, value.ctx.device_id, None)


def unwritten_arrays(list values, dict placeholders, list inputs):
    """Return new arrays, without values until a run has written them: mx.nd's if all inputs are,
    else mx.np's."""
    cdef NDArrayBase like, out
    cdef Face face = ND
    for out in inputs:
        if out.face is not ND:
            face = out.face
            break
    cdef list made = []
    for value in values:
        like = placeholders[value]
        out = new_array(face, like.blob.shape, like.blob.ndim, like.blob.dtype,
                        like.blob.dev_type, like.blob.dev_id)
        out.chunk.written = out.blob.size == 0
        made.append(out)
    return made


cdef enum UseKind:  # what a place in a plan's tables holds of an argument
    BLOB = 0     # the address of an array
    STATE = 1     # the state of a CachedStepGroup
    WATCHED = 2   # the chunk of a gradient and its nonzero rows
    PROMISED = 3  # a chunk without values until a segment has run

cdef struct SlotUse:  # a place in a plan's tables that depends on an argument
    # A place in the tables that holds the address, state or chunk of a slot.
    UseKind kind
    size_t slot, index, position
    int64_t offset          # offset from the array's first byte

cdef struct SlotChange:  # a new value for one such place
    SlotUse use
    void* value             # an address, Chunk*, or CachedState* (a reference)
    RowSet* rows

cdef struct TablePatch:  # all changes of a plan's tables for one call
    Tables* tables
    size_t n                # number of changes, which follow the struct
    bint full               # the patch replaces all slots
    bint applied


cdef cppclass Slot:
    void* data              # address of the slot's present array
    VarHandle var
    Chunk* chunk
    bint watched
    bint is_source          # groups of cached steps read the slot
    RowSet* rows
    vector[SlotUse] uses
    vector[size_t] segments  # segments that use the slot's variable

ctypedef Slot* SlotPointer


cdef int _apply_patch(void* arg, RunContext* run_ctx) except -1 nogil:
    cdef TablePatch* patch = <TablePatch*>arg
    cdef SlotChange* change = <SlotChange*>(patch + 1)
    cdef Tables* tables = patch.tables
    cdef size_t k
    if patch.full:
        tables.stale.store(False)
    elif tables.stale.load():
        return 0  # the next run raises the error
    patch.applied = True
    for _ in range(patch.n):
        k = change.use.index
        if change.use.kind == BLOB:
            tables.blobs[k].data = <char*>change.value + change.use.offset
            tables.slot_addresses[change.use.slot] = change.value
        elif change.use.kind == STATE:
            if tables.cached[k].state != NULL:
                release_state(tables.cached[k].state)
            tables.cached[k].state = <CachedState*>change.value
        elif change.use.kind == PROMISED:
            tables.segments[k].promised[change.use.position] = <Chunk*>change.value
        else:
            tables.steps[k].watched = <Chunk*>change.value if change.rows != NULL else NULL
            tables.steps[k].context.rows = change.rows
        change += 1
    return 0


cdef void _append_changes(const Slot* slot, vector[SlotChange]* changes) noexcept nogil:
    cdef SlotChange change
    cdef size_t i
    for i in range(slot.uses.size()):
        change.use, change.rows = slot.uses[i], slot.rows
        change.value = slot.data if change.use.kind == BLOB else slot.chunk
        changes.push_back(change)


cdef void _free_patch(void* arg) noexcept nogil:
    cdef TablePatch* patch = <TablePatch*>arg
    cdef SlotChange* change = <SlotChange*>(patch + 1)
    if not patch.applied:  # an earlier function has failed
        patch.tables.stale.store(True)
        for _ in range(patch.n):
            if change.use.kind == STATE:
                release_state(<CachedState*>change.value)
            change += 1
    release_tables(patch.tables)
    free(arg)


cdef class ArgumentSlots:  # exchanges the argument arrays of a plan
    """The uses of a Plan's placeholders in its tables; `bind` replaces them by arrays.

    plan: Plan
    arrays (list of NDArray): The placeholders; the index of each is its slot.
    new (set of int): The slots whose arrays may have no values until a run has written them.
    sources (collection of int): The slots that groups of cached steps read.
    """

    cdef Plan plan
    cdef vector[SlotPointer] slots
    # for each segment: the indices of its slots, and its other variables
    cdef vector[vector[size_t]] const_slots
    cdef vector[vector[size_t]] mutable_slots
    cdef vector[vector[VarHandle]] const_vars
    cdef vector[vector[VarHandle]] mutable_vars

    @property
    def has_stale_tables(self):
        """Whether the tables lack the arrays of the last `bind`, as an earlier run failed."""
        return self.plan.tables.stale.load()

    def __init__(self, Plan plan not None, list arrays, set new, sources=()):
        cdef NDArrayBase array
        cdef Slot* slot
        cdef Tables* tables = plan.tables
        cdef Segment* segment
        cdef size_t i, k, n_segments = tables.segments.size()
        self.plan = plan
        by_var = {}
        for array in arrays:
            slot = new Slot()
            slot.data, slot.var, slot.chunk = array.blob.data, array.chunk.var, array.chunk
            slot.watched = False
            slot.is_source = self.slots.size() in sources
            slot.rows = NULL
            by_var[<size_t>slot.var] = self.slots.size()
            self.slots.push_back(slot)
            tables.slot_addresses.push_back(slot.data)
        for i in range(tables.blobs.size()):
            self._add_slot_use(BLOB, i, tables.blobs[i].data)
        for i in range(tables.steps.size()):
            if tables.steps[i].watched != NULL:
                self._note_chunk(WATCHED, i, 0, tables.steps[i].watched)
        self.const_slots.resize(n_segments)
        self.mutable_slots.resize(n_segments)
        self.const_vars.resize(n_segments)
        self.mutable_vars.resize(n_segments)
        for i in range(n_segments):
            segment = tables.segments[i]
            self._find_slot_vars(by_var, i, &segment.const_vars, &self.const_slots[i],
                                 &self.const_vars[i])
            self._find_slot_vars(by_var, i, &segment.mutable_vars, &self.mutable_slots[i],
                                 &self.mutable_vars[i])
            for k in self.mutable_slots[i]:
                if k in new:
                    self._note_chunk(PROMISED, i, segment.promised.size(), self.slots[k].chunk)
                    segment.promised.push_back(NULL)
            if segment.dev_type == kGPU and not segment.recordings[1].never:
                self._allow_recordings_by_address(i)

    def __dealloc__(self):
        cdef size_t i
        for i in range(self.slots.size()):
            del self.slots[i]

    cdef int _allow_recordings_by_address(self, size_t number) except -1:
        """Let a segment on a GPU be recorded for each combination of its slots' addresses."""
        cdef Tables* tables = self.plan.tables
        cdef Segment* segment = tables.segments[number]
        cdef unordered_set[size_t] seen
        cdef size_t i, slot, end = tables.blobs.size()
        if segment.last < tables.steps.size():
            end = tables.steps[segment.last].in_data
        for i in range(tables.steps[segment.first].in_data, end):
            slot = placeholder_number(tables.blobs[i].data)
            if slot < self.slots.size() and seen.insert(slot).second:
                segment.slots.push_back(slot)
        segment.rebinds = True
        segment.recordings[0].never = segment.recordings[1].never = True
        return 0

    cdef int _add_slot_use(self, UseKind kind, size_t index, void* data) except -1:
        cdef size_t number = placeholder_number(data)
        cdef SlotUse use
        if number >= self.slots.size():
            return 0
        use.kind, use.slot, use.index, use.position = kind, number, index, 0
        use.offset = <char*>data - <char*>self.slots[number].data
        self.slots[number].uses.push_back(use)
        return 0

    cdef int _note_chunk(self, UseKind kind, size_t index, size_t position, Chunk* chunk) except -1:
        cdef size_t i
        cdef SlotUse use
        use.kind, use.index, use.position, use.offset = kind, index, position, 0
        for i in range(self.slots.size()):
            if self.slots[i].chunk == chunk:
                use.slot = i
                self.slots[i].uses.push_back(use)
                self.slots[i].watched = self.slots[i].watched or kind == WATCHED
        return 0

    cdef int _find_slot_vars(self, dict by_var, size_t segment, vector[VarHandle]* found,
                             vector[size_t]* slots, vector[VarHandle]* others) except -1:
        cdef VarHandle var
        for var in found[0]:
            number = by_var.get(<size_t>var)
            if number is None:
                others.push_back(var)
            else:
                slots.push_back(number)
                self.slots[<size_t>number].segments.push_back(segment)
        return 0

    def bind(self, size_t first, list arrays):  # gives slots from `first` on arrays
        """Set the arrays of the slots from `first` on, of the placeholders' shapes and dtypes.

        Returns bool: whether a source of what the plan keeps is another one than before: then
        `bind_cached` comes next.
        """
        cdef vector[SlotChange] changes
        return self._bind_arrays(first, arrays, &changes)

    def bind_cached(self, size_t first, list cached):  # the same for CachedResults
        """Set the CachedResult of each slot from `first` on, and of each group of cached steps."""
        cdef vector[SlotChange] changes
        self.plan.cached[:] = cached  # pushed functions hold their own references
        self._append_state_changes(&changes)
        self._bind_arrays(first, [(<CachedResult>each).array for each in cached], &changes)

    cdef int _append_state_changes(self, vector[SlotChange]* changes) except -1:
        """Append the states of the plan's cached results to `changes`."""
        cdef SlotChange change
        cdef size_t i
        change.rows = NULL
        change.use.kind, change.use.position, change.use.offset = STATE, 0, 0
        for i, each in enumerate(self.plan.cached):
            if each is not None:
                change.use.index, change.value = i, (<CachedResult>each).state
                hold_state((<CachedResult>each).state)
                changes.push_back(change)
        return 0

    cdef bint _bind_arrays(self, size_t first, list arrays, vector[SlotChange]* changes) except -1:
        cdef unordered_set[size_t] segments
        cdef size_t i, k
        cdef Slot* slot
        cdef RowSet* rows
        cdef NDArrayBase array
        cdef bint full = self.plan.tables.stale.load(), exchanged = False
        for i, array in enumerate(arrays):
            slot = self.slots[first + i]
            rows = NULL
            if slot.watched and array.blob.dev_type == kCPU:
                rows = nonzero_row_set(array)
            # a new array may have the chunk, variable and memory of a freed one, but has other rows
            if slot.data == array.blob.data and slot.var == array.chunk.var and (
                    slot.chunk == array.chunk and slot.rows == rows):
                continue
            slot.data, slot.chunk, slot.rows = array.blob.data, array.chunk, rows
            exchanged = exchanged or slot.is_source
            if not full:
                _append_changes(slot, changes)
            if slot.var != array.chunk.var:
                slot.var = array.chunk.var
                for k in slot.segments:
                    segments.insert(k)
        if full:
            if not changes.size():
                self._append_state_changes(changes)
            for i in range(self.slots.size()):
                _append_changes(self.slots[i], changes)
        if changes.size():
            self._push_changes(changes, full)
        for k in segments:
            self._rebuild_variables(k)
        return exchanged

    cdef int _push_changes(self, vector[SlotChange]* changes, bint full) except -1:
        cdef Tables* tables = self.plan.tables
        cdef size_t n = changes.size(), i
        cdef TablePatch* patch = <TablePatch*>malloc(sizeof(TablePatch) + n * sizeof(SlotChange))
        cdef SlotChange* to
        cdef vector[VarHandle] vars
        if patch == NULL:
            raise OutOfMemoryError("no memory to give a plan its arrays")
        tables.references.fetch_add(1)
        patch.tables, patch.n, patch.full, patch.applied = tables, n, full, False
        to = <SlotChange*>(patch + 1)
        for i in range(n):
            to[i] = changes[0][i]
        for i in range(tables.segments.size()):
            vars.push_back(tables.segments[i].var)
        return push_sync(_apply_patch, patch, _free_patch, kCPU, 0, NULL, 0, vars.data(),
                         <int>vars.size(), 0, kInline, b"executor")

    cdef int _rebuild_variables(self, size_t segment) except -1:  # that it locks
        # Rebuild the variables of a segment, each once: an array may be in several slots.
        cdef Segment* native = self.plan.tables.segments[segment]
        cdef unordered_set[size_t] seen
        cdef VarHandle var
        cdef size_t k
        native.mutable_vars = self.mutable_vars[segment]
        native.const_vars = self.const_vars[segment]
        for k in self.mutable_slots[segment]:
            var = self.slots[k].var
            if seen.insert(<size_t>var).second:
                native.mutable_vars.push_back(var)
        for k in self.const_slots[segment]:
            var = self.slots[k].var
            if seen.insert(<size_t>var).second:
                native.const_vars.push_back(var)
        return 0


cdef class PlanLease:  # returns a plan instance to the idle ones when dropped
    """The right to use an instance and its arena. When it is dropped they return to the idle lists;
    the arena stays with the instance if `arenas` is None."""

    cdef readonly object instance
    cdef list idle, arenas

    def __init__(self, list idle not None, instance, list arenas):
        self.idle, self.instance, self.arenas = idle, instance, arenas

    def __del__(self):
        if self.arenas is not None:
            self.arenas.append(self.instance.release_arena())
        self.idle.append(self.instance)


# --- the choice of a call's program ---------------------------------------------------------------
def call_signature(list arrays, Py_ssize_t n_args):  # key of the choice of a plan
    """Return what the choice of a call's program depends on.

    Returns (bytes, bytes): Device, dtypes and shapes of all arrays; for each of the first `n_args`
    0, or the request of the gradient that it wants, since this thread records.
    """
    cdef NDArrayBase array, first
    cdef Py_ssize_t i
    cdef bint recording = n_flagged and is_recording()
    if not arrays:
        raise ArgumentError("a CachedOp takes at least one array")
    first = arrays[0]
    wants = bytearray(n_args)
    for i, array in enumerate(arrays):
        refuse_sparse(array, "a graph")
        # Pinned and shared host memory go with either; CPU indices stand for slices of a batch.
        if array.blob.dev_type != kCPU and first.blob.dev_type != kGPU and is_on_host(&array.blob):
            pass
        elif first.blob.dev_type != kCPU and array.blob.dev_type == kCPU and (
                is_on_host(&first.blob)):
            first = array  # the outputs get ordinary memory
        elif array.blob.dev_type != first.blob.dev_type or array.blob.dev_id != first.blob.dev_id:
            raise ArgumentError(f"the inputs of a CachedOp are on {first.context} and "
                                f"{array.context}; copy them to one device (as_in_context)")
        if recording and i < n_args and array.grad_entry is not None:
            wants[i] = gradient_request(array)
    return pack_signature(arrays, first.blob.dev_type, first.blob.dev_id), bytes(wants)
