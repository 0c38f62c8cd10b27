"""Steps of a plan that run in parts, each a thread's (graph/split.py says which).

Promises:
- A part runs its rows through all of the steps; then what each has summed over its rows is added,
  in the order of the parts.
- How many threads run the parts changes no result.
"""

from ._plan_tables cimport Run, Tables
from ._typedefs cimport RunContext

# Add the parts of a Split to tables that have all steps; `operators` and `arrays` as Plan has them.
cdef int add_parts(Tables* tables, split, list steps, dict operators, dict arrays) except -1
# Run the steps that begin at run.current. -1: one failed, which is run.current then, and its
# exception is pending.
cdef int run_parts(Run* run, RunContext* run_ctx) noexcept nogil
