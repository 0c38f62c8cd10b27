"""BodyPlan: the plan of a graph that an operator runs, on memory that each run gives it.

Promises:
- A run calls no Python between native operators and allocates nothing.
- Whoever runs it sees to it that no two threads do at once.
"""

from libc.stdint cimport int64_t, uint64_t
from libcpp.vector cimport vector

from .._executor cimport Plan
from .._resource cimport Resource
from ..operator._base cimport OpContext
from .tables cimport PlanRun, Tables

cdef struct Spot:
    # The position of an address in the tables.
    size_t blob
    int64_t offset

cdef cppclass Spots:
    void* at              # the address that is used now
    vector[Spot] spots

cdef class BodyPlan:
    cdef readonly Plan plan
    cdef Tables* tables
    cdef readonly object body    # the Body (graph/subgraphs.py)
    cdef readonly bint runs_python
    # [(step, positions of its steps, an Operator for each run)], for steps that run Python
    cdef list python
    cdef size_t n_forward, n_steps, n_variables, n_outputs
    cdef vector[Spots] slots
    cdef PlanRun run             # the run's state, which its steps read

    # Set the address of variable, output, output gradient or gradient i, or of temporaries.
    cdef void put_variable(self, size_t i, void* at) noexcept nogil
    cdef void put_output(self, size_t i, void* at) noexcept nogil
    cdef void put_head(self, size_t i, void* at) noexcept nogil
    cdef void put_grad(self, size_t i, void* at) noexcept nogil
    cdef void put_arena(self, void* at) noexcept nogil
    cdef void put_saved(self, void* at) noexcept nogil
    cdef void _set_slot(self, size_t slot, void* at) noexcept nogil
    # Set which random numbers the runs draw, from those of the operator, or NULL.
    cdef void begin(self, OpContext* ctx) noexcept nogil
    # Run forward or backward of iteration t; `outer` is the Operator that does so.
    cdef int run_steps(self, OpContext* ctx, bint backward, int64_t t, void* outer) except -1 nogil
    cdef int _fail(self, int64_t t) except -1
    cdef int _keep_python(self, graph, dict operators) except -1
