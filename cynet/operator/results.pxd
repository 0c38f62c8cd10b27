"""Where an operator puts what it computes in one go: outputs that are asked to be added to are
computed beside them first."""

from .._typedefs cimport TBlob
from ._base cimport OpContext

# The memory for output i: its own if it is to be written, else that of request i of the operator,
# which is temporary space.
cdef void* room_for(OpContext* ctx, const TBlob* out_data, const int* req, int i) except NULL nogil
# Adds what was computed beside output i to it, where that is its request.
cdef void deliver(const TBlob* out_data, const int* req, int i, const void* made) noexcept nogil
