"""CUDA graphs: what a function puts on a GPU's stream, recorded once and replayed.

A function is run as it is at first; then once on the side stream, so that libraries that keep
something for each stream have it; then recorded on the side stream, where nothing else is put, and
replayed from there on. What it allocates while it is recorded stays the graph's.

A graph has the addresses of the arrays that it was recorded with. A function that gets other arrays
in each run (executor/rebind.pyx) has a graph for each set of addresses that comes again: memory is
pooled, so a loop that does the same in each turn meets a few sets.

Arguments of kernels stay as they were recorded. Numbers that differ from run to run (random
streams, learning rates) are read from a piece of the GPU's memory instead, that is written in front
of each replay, on the same stream.
"""

from libcpp.atomic cimport atomic
from libcpp.vector cimport vector

from .._resource cimport KeptSpace
from .._typedefs cimport RunContext

cdef cppclass Recording:
    atomic[long] holders
    int runs           # so far, at most those before it is recorded
    bint never         # it cannot be recorded
    void* executable   # the graph, once there is one
    void* numbers      # of a graph that reads some: where, on the GPU
    vector[char] sent  # and what is there since the last replay
    KeptSpace own      # memory of this graph alone
    KeptSpace* spaces  # what operators asked for: `own`, or what others use, too

cdef cppclass Addressed:
    # The recording of a function with arrays at these addresses.
    vector[void*] at
    Recording recording
    long used  # in which run, the last time

cdef cppclass Recordings:
    # Those of one function, MAX_ADDRESSES of graphs.pyx at most; all have one holder. All of a GPU
    # use the same temporary memory, since they run one after the other.
    vector[Addressed*] known
    long runs

# Puts the work of `arg` on run_ctx.stream. Where `numbers` is NULL, its numbers are arguments as
# they are now. Else a graph is recorded, and what it launches has to read them from there.
ctypedef int (*Put)(void* arg, RunContext* run_ctx, void* numbers) except -1 nogil

# A new recording's members; it has one holder.
cdef void prepare(Recording* recording, bint never) noexcept nogil
# Put the function's work on the GPU's stream: by calling `put`, or by replaying its graph with
# `numbers`, nbytes on the host that have been read when this returns. Whoever calls keeps runs of
# one Recording apart.
cdef int run(Recording* recording, RunContext* run_ctx, Put put, void* arg, const void* numbers,
             size_t nbytes) except -1 nogil
# The recording for a run with arrays at these addresses; NULL while others take all room.
cdef Recording* recording_at(Recordings* recordings, vector[void*]* at,
                             int dev_id) noexcept nogil
cdef void release_all(Recordings* recordings, int dev_id) noexcept nogil
cdef void hold(Recording* recording) noexcept nogil
# One holder less. True for the last one: the graph and its memory are given up when the GPU is done
# with them, and what the recording is a part of may go.
cdef bint release(Recording* recording, int dev_id) noexcept nogil

# What this thread's launches take as `base` of their random numbers (RandomStream of
# kernels/random.cu): NULL but while a graph is recorded.
cdef void* random_base() noexcept nogil
cdef void set_random_base(void* base) noexcept nogil
