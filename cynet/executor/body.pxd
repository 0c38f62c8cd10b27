"""BodyPlan: the plan of a body, a control flow operator's inner graph; each run sets its memory.

Promises:
- A run calls no Python between native operators and allocates nothing.
- The caller ensures that only one thread runs it at a time.
"""

from libc.stdint cimport int64_t, uint64_t
from libcpp.vector cimport vector

from .._executor cimport Plan
from .._resource cimport Resource
from ..operator._base cimport OpContext
from .tables cimport PlanRun, Tables

cdef struct AddressSlot:  # where a blob's address is set
    # The index of a blob in the plan's tables, and its offset from the slot's address.
    size_t blob
    int64_t offset

cdef cppclass AddressSlots:
    void* at              # the present address
    vector[AddressSlot] spots

cdef class BodyPlan:  # plan of the body of a loop or branch
    cdef readonly Plan plan
    cdef Tables* tables
    cdef readonly object body    # the Body (graph/subgraphs.py)
    cdef readonly bint runs_python
    # for steps that run Python: [(forward step, indices of its steps, list of an Operator per run)]
    cdef list python
    cdef size_t n_forward, n_steps, n_variables, n_outputs
    cdef vector[AddressSlots] slots
    cdef PlanRun run             # state of the present run, which its steps read

    # Set the address of a variable, output, output gradient, gradient, or of other values.
    cdef void set_variable_address(self, size_t i, void* at) noexcept nogil
    cdef void set_output_address(self, size_t i, void* at) noexcept nogil
    cdef void set_head_address(self, size_t i, void* at) noexcept nogil
    cdef void set_grad_address(self, size_t i, void* at) noexcept nogil
    cdef void set_arena_address(self, void* at) noexcept nogil
    cdef void set_saved_address(self, void* at) noexcept nogil
    cdef void _set_slot_address(self, size_t slot, void* at) noexcept nogil
    # Prepare a run of the operator: derive the seed of the body's random numbers.
    cdef void begin_run(self, OpContext* ctx) noexcept nogil  # seeds its random numbers
    # Run forward or backward of iteration t; `outer` is the Operator that does so.
    cdef int run_steps(self, OpContext* ctx, bint backward, int64_t t, void* outer) except -1 nogil
    cdef int _raise_run_error(self, int64_t t) except -1
    cdef int _add_python_operators(self, graph, dict operators) except -1
