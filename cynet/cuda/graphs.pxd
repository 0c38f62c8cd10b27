"""CUDA graphs: what a function puts on a GPU's stream, recorded once and replayed.

A function is run as it is at first; then once on the side stream, so that libraries that keep
something for each stream have it; then recorded on the side stream, where nothing else is put, and
replayed from there on. What it allocates while it is recorded stays the graph's.
"""

from libcpp.vector cimport vector

from .._storage cimport Handle

cdef cppclass Recording:
    int runs           # so far, at most those before it is recorded
    bint never         # it cannot be recorded
    void* executable   # the graph, once there is one
    vector[Handle] spaces

cdef enum How:
    kPlain = 0     # run the function on the computing stream
    kWarm = 1      # on the side stream
    kRecord = 2    # on the side stream; nothing happens on the GPU yet
    kReplay = 3    # launch the graph instead

# What is to be done with the function this time, and the stream to run it on. kWarm and kRecord
# hold the GPU's side stream until `finish`. Whoever calls keeps runs of one Recording apart.
cdef int begin(Recording* recording, int dev_id, void** stream) except -1 nogil
# After the function: `failed`, it left an exception (which stays). Returns 1 when the function has
# to run once more, on the computing stream: what was to be recorded could not be.
cdef int finish(Recording* recording, int dev_id, int how, bint failed) noexcept nogil
# Launch the graph on the computing stream.
cdef int replay(Recording* recording, int dev_id) except -1 nogil
# Give up the graph and its memory, when the GPU is done with it.
cdef void discard(Recording* recording, int dev_id) noexcept nogil
