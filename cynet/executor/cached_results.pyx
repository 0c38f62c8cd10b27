"""CachedResult: an array computed from weights (contract in cached_results.pxd)."""

from libcpp.atomic cimport memory_order_relaxed

from ..engine.deferred cimport may_be_deferred
from ..engine.records cimport Var, lock, unlock, write_count
from .._ndarray cimport NDArrayBase
from .._typedefs cimport dtype_size
from .tables cimport CachedState

import itertools
import weakref

from ..graph.ir import CACHED
from ..ndarray import empty
from .arena_pool import allocate_for_use

cdef object _shared_results = weakref.WeakValueDictionary()  # (how, arrays) -> CachedResult
cdef size_t _cached_bytes = 0  # bytes of all cached results


def cached_bytes():
    """Return the bytes of all cached results."""
    return _cached_bytes


cdef class CachedResult:  # the stored result of cached steps
    """The result of cached steps: its memory, and the versions of the sources.

    value (Value): Its shape, dtype and context.
    sources: list of NDArray

    Attributes:
    nbytes: int
    """

    def __init__(self, value, list sources not None):
        global _cached_bytes
        cdef NDArrayBase array
        what = f"{value.name!r} of shape {value.shape}"
        self.array = allocate_for_use(what, empty, value.shape, ctx=value.ctx, dtype=value.dtype)
        self.sources = sources
        self.state = new CachedState()
        self.state.references.store(1)
        self.state.valid = False
        self.state.var = self.array.chunk.var
        for array in sources:
            self.state.sources.push_back(array.chunk)
        self.state.seen.resize(len(sources))
        self.nbytes = self.array.blob.size * dtype_size(self.array.blob.dtype)
        _cached_bytes += self.nbytes

    def __dealloc__(self):
        global _cached_bytes
        if self.state != NULL:
            _cached_bytes -= self.nbytes
            release_state(self.state)


cdef bint is_fresh(const CachedState* state) noexcept nogil:  # whether no source was written since
    cdef size_t i
    if not state.valid:
        return False
    for i in range(state.sources.size()):
        if state.sources[i].exposed.load() or write_count(state.sources[i].var) != state.seen[i]:
            return False
    return True


cdef void record_source_versions(CachedState* state) noexcept nogil:
    cdef size_t i
    for i in range(state.sources.size()):
        state.seen[i] = write_count(state.sources[i].var)
    state.valid = True


cdef bint is_current(const CachedState* state) noexcept nogil:  # no source was or will be written
    cdef Var* var = <Var*>state.var
    cdef Var* source
    cdef bint same
    cdef size_t i
    lock(var.engine)
    # a pending write means that a queued function computes the result
    same = var.pending_writes.load(memory_order_relaxed) == 0 and state.valid
    for i in range(state.sources.size()):
        source = <Var*>state.sources[i].var
        same = (same and not may_be_deferred(source, False)
                and not state.sources[i].exposed.load()
                and source.pending_writes.load(memory_order_relaxed) == 0
                and source.writes == state.seen[i])
    unlock(var.engine)
    return same


cdef void hold_state(CachedState* state) noexcept nogil:  # adds a reference
    state.references.fetch_add(1)


cdef void release_state(CachedState* state) noexcept nogil:
    if state.references.fetch_sub(1) == 1:
        del state


# --- results that several plans share -------------------------------------------------------------
class ResultGroup:  # the cached steps that compute one value
    """A group of cached steps of a Graph, which compute one value.

    value (Value): The computed value, which stays from run to run.
    sources (list of Value): The values that it is computed from.
    form (tuple or None): A key of the steps: equal keys give the same bytes from the same sources;
        None: the result is not shared.
    """

    def __init__(self, steps):
        self.value, = [v for step in steps for v in step.out_data if v.kind == CACHED]
        self.sources = steps[0].cached.sources
        self.form = _steps_key(steps, self.sources)

    def result(self, list arrays):  # a shared or new CachedResult
        """Return the CachedResult of these arrays, another plan's or a new one."""
        cdef NDArrayBase array
        if self.form is None:
            return CachedResult(self.value, arrays)
        addresses = [(<size_t>array.chunk, <size_t>array.blob.data) for array in arrays]
        key = self.form, tuple(addresses)
        found = _shared_results.get(key)
        if found is None:
            found = _shared_results.setdefault(key, CachedResult(self.value, arrays))
        return found


def cached_groups(graph):  # its ResultGroups
    """Return a ResultGroup for each group of cached steps, in the order of their first steps."""
    steps = {}
    for step in graph.steps:
        if step.cached is not None:
            steps.setdefault(step.cached, []).append(step)
    return [ResultGroup(each) for each in steps.values()]


def _steps_key(list steps, list sources):
    names = itertools.count()  # ids of the values that an address holds in turn
    value_names = {id(value): next(names) for value in sources}
    form = []
    for step in steps:
        how = _property_key(step.prop)
        if how is None or any(id(value.root) not in value_names for value in step.in_data):
            return None  # the step reads a constant that each plan computes for itself
        reads = [(value_names[id(value.root)], _value_key(value)) for value in step.in_data]
        value_names.update((id(value.root), next(names)) for value in step.out_data)
        form.append((how, step.ctx, *reads, *map(_value_key, step.out_data)))
    return tuple(form)


def _value_key(value):
    return value.shape, value.dtype, value.channels_last


def _property_key(prop):
    """Return a key of what an operator computes; None if its attributes do not determine it."""
    packs_as = getattr(prop, "packs_as", None)
    if packs_as is not None:
        return type(prop), packs_as
    if prop.users or not type(prop).__module__.startswith("cynet."):
        return None
    attributes = sorted(vars(prop).items())
    if all(_has_exact_repr(value) for _, value in attributes):
        return type(prop), repr(attributes)  # repr distinguishes 1, 1.0 and True
    return None


def _has_exact_repr(value):
    if type(value) in (tuple, list):
        return all(map(_has_exact_repr, value))
    return value is None or type(value) in (int, float, bool, str)
