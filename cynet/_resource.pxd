"""Resources that operators request beyond their arrays: temporary space and random streams.

Temporary space belongs to the thread that runs the operator and is reused by the next one there:
valid until the operator returns. A random stream is a pair of numbers, drawn when the operator is
pushed, so the bytes it yields depend on the seed and the order of pushes, never on workers, engine
or device. A thread may have CPU streams of its own (`use_own_streams`), as one that makes batches
of data does.
"""

from libc.stdint cimport uint64_t
from libcpp.vector cimport vector

from ._storage cimport Handle

cdef enum ResourceType:
    kRandom = 0
    kTempSpace = 1

cdef struct Resource:
    int type         # ResourceType
    int index        # index of the operator's request
    uint64_t seed    # kRandom: key of the Philox generator
    uint64_t stream  # kRandom: upper half of its counter; the lower half is the operator's to count

# At least nbytes of 64-byte aligned memory of this thread; a second call with the same resource may
# move it.
cdef void* get_space(Resource* resource, size_t nbytes) except NULL nogil
# Memory of a GPU for work that is put on its stream before the operator returns.
cdef void* get_device_workspace(int dev_id, int index, size_t nbytes) except NULL nogil
cdef cppclass RetainedSpace:
    # Memory of a GPU that captured graphs use for as long as they live.
    vector[Handle] handles
    size_t newest[64]  # newest handle of each index, counted from 1; 0: none

# While `keep` is not NULL, this thread's memory from get_device_workspace is found or put there
# instead
# of being reused.
cdef void retain_device_workspace(RetainedSpace* keep) noexcept nogil
# Fill in the resources that a request asks for, in push order: called once per run, by the thread
# that pushes.
cdef void draw(Resource* resource, int dev_type, int dev_id) noexcept nogil
# Move the streams on by n at once; returns the first of them (a plan draws for all its steps so).
cdef uint64_t draw_many(uint64_t n, int dev_type, int dev_id, uint64_t* seed) noexcept nogil
