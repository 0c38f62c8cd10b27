"""The set of rows of a gradient that are not zero.

The backward of Embedding writes few rows of a large gradient and records them here. The next
backward then clears only these rows, and the optimizer updates only these. The set belongs to the
memory and is valid until some other function writes there.
"""

from ..engine.records cimport write_count
from .._ndarray cimport Chunk, NDArrayBase, RowSet

# Return the set of an array's nonzero rows, created on the first call. NULL if the array has no
# rows, or if another view of the same memory has a set already.
cdef RowSet* nonzero_row_set(NDArrayBase array) except? NULL

cdef inline bint are_rows_known(Chunk* chunk) noexcept nogil:
    """Return whether every row outside the set is zero. Only a function of the engine that reads or
    writes the array may call it: otherwise the answer may change meanwhile."""
    cdef RowSet* rows = chunk.rows.load()
    return (rows != NULL and rows.known and not chunk.exposed.load()
            and rows.writes == write_count(chunk.var))

cdef inline void note_rows_written(Chunk* chunk, bint done) noexcept nogil:
    """A function that wrote the array calls this at its end. `done`: it wrote the rows of the set
    and zeros everywhere else, so the set is valid; otherwise the set is dropped."""
    cdef RowSet* rows = chunk.rows.load()
    rows.known, rows.writes = done, write_count(chunk.var) + 1
    if not done:
        rows.maximum.store(rows.n)
