"""Consecutive steps of a plan that run by parts of the batch (graph/passes/batch_split.py).

Each part takes its rows through all of the steps, so threads meet once instead of once per step.
Sums over rows (gradients of weights) are made per part and added in the order of the parts, so the
result does not depend on the number of threads that run them.
"""

from .tables cimport Run, Tables
from .._typedefs cimport RunContext

# Adds the parts of a Split to tables that hold all steps; `operators` and `arrays` are the Plan's.
cdef int add_parts(Tables* tables, split, list steps, dict operators, dict arrays) except -1
# Runs the steps from run.current on. -1: a step failed, run.current is its number, and its
# exception is set.
cdef int run_parts(Run* run, RunContext* run_ctx) noexcept nogil
