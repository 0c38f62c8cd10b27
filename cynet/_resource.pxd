"""Resources that operators request beyond their arrays: temporary space and random streams.

Temporary space belongs to the thread that runs the operator and is reused by the next one there:
valid until the operator returns. A random stream is a pair of numbers, drawn when the operator is
pushed, so the bytes it yields depend on the seed and the order of pushes, never on workers, engine
or device. A thread that makes batches of data may have CPU streams of its own
(`use_own_random_streams`).
"""

from libc.stdint cimport uint64_t
from libcpp.vector cimport vector

from ._storage cimport Handle

cdef enum ResourceType:  # what an operator may request
    kRandom = 0
    kTempSpace = 1

cdef struct Resource:  # random stream or workspace of an operator
    int type         # ResourceType
    int index        # index among the resources that the operator requests
    uint64_t seed    # kRandom: key of the Philox generator
    uint64_t stream  # kRandom: upper half of its counter; the lower half is the operator's to count

# Return at least nbytes of this thread's temporary memory, 64-byte aligned; a second call for the
# same resource may move it.
cdef void* get_space(Resource* resource, size_t nbytes) except NULL nogil  # temporary memory
# Return memory of a GPU for work that the operator enqueues before it returns.
cdef void* get_device_workspace(int dev_id, int index, size_t nbytes) except NULL nogil
cdef cppclass RetainedSpace:
    # Memory of a GPU that captured graphs use for as long as they live.
    vector[Handle] handles
    size_t newest[64]  # for each index: 1 + index of its newest handle, or 0

# While `keep` is not NULL, get_device_workspace of this thread uses the memory in `keep`, which is
# not reused.
cdef void retain_device_workspace(RetainedSpace* keep) noexcept nogil
# Assign the device's next random stream to a resource. Called once per run, in push order.
cdef void draw_rng_stream(Resource* resource, int dev_type, int dev_id) noexcept nogil
# Take the device's next n random streams, for all steps of a plan; returns the index of the first.
cdef uint64_t draw_rng_streams(uint64_t n, int dev_type, int dev_id, uint64_t* seed) noexcept nogil
