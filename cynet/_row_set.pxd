"""Rows that are not zero: what a backward that fills a gradient row by row leaves to the next one,
which clears these alone, and to the update of the weight.

A RowSet belongs to the memory, not to who fills it, and holds until anything else writes there.
"""

from ._engine_core cimport writes_of
from ._ndarray cimport Chunk, NDArrayBase, RowSet

# The set of an array's rows, made unless there is one; NULL where that is another array's that lies
# in the same memory, or there are no rows.
cdef RowSet* watch_rows(NDArrayBase array) except? NULL

cdef inline bint rows_hold(Chunk* chunk) noexcept nogil:
    """Whether rows that are not in the set are zeros; to be asked by a function of the engine that
    reads or writes the array."""
    cdef RowSet* rows = chunk.rows.load()
    return (rows != NULL and rows.known and not chunk.exposed.load()
            and rows.writes == writes_of(chunk.var))

cdef inline void rows_end(Chunk* chunk, bint done) noexcept nogil:
    """The function that runs has written the rows of the set, and zeros to all others, if `done`:
    so it is when it has ended."""
    cdef RowSet* rows = chunk.rows.load()
    rows.known, rows.writes = done, writes_of(chunk.var) + 1
    if not done:
        rows.most.store(rows.n)
