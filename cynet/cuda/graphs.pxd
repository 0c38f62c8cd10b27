"""CUDA graphs: a function's work on a GPU's stream, recorded once and replayed.

A function runs directly at first; then once on the side stream, so that libraries create what they
have for each stream; then it is recorded on the side stream, which nothing else uses, and replayed
in later runs. Memory allocated during the recording belongs to the graph.

A graph has the addresses of the arrays that it was recorded with. A function that gets other arrays
in each run (executor/rebind.pyx) has a graph for each set of addresses that comes again: memory is
pooled, so a loop that does the same in each turn meets a few sets.

Arguments of kernels stay as they were recorded. Numbers that differ from run to run (random
streams, learning rates) are read from a piece of the GPU's memory instead, that is written in front
of each replay, on the same stream.
"""

from libcpp.atomic cimport atomic
from libcpp.vector cimport vector

from .._resource cimport RetainedSpace
from .._typedefs cimport RunContext

cdef cppclass Recording:
    atomic[long] holders
    int runs           # number of runs before the recording
    bint never         # the function cannot be recorded as a CUDA graph
    void* executable   # the graph, after it was recorded
    void* numbers      # GPU memory of the scalars that the graph reads, or NULL
    vector[char] sent  # the values that `numbers` holds
    RetainedSpace own      # memory of this graph only
    RetainedSpace* spaces  # buffers that operators requested: `own`, or shared ones

cdef cppclass AddressedRecording:
    # The recording of a function whose arrays are at these addresses.
    vector[void*] at
    Recording recording
    long used  # index of the run that used this recording last

cdef cppclass Recordings:
    # Recordings of one function, at most MAX_ADDRESSES (graphs.pyx), with one owner. All
    # recordings of a GPU share their temporary memory, since they run one after the other.
    vector[AddressedRecording*] known
    long runs

# Queues the work of `arg` on run_ctx.stream. If `numbers` is NULL, the numbers are passed as
# arguments. Else a graph is being recorded, and its launches must read them from `numbers`.
ctypedef int (*QueueFn)(void* arg, RunContext* run_ctx, void* numbers) except -1 nogil

# Initialise a new recording, with a reference count of 1.
cdef void init_recording(Recording* recording, bint never) noexcept nogil
# Queue the function's work on the GPU's stream: by calling `put`, or by replaying its graph with
# `numbers`, nbytes on the host, which may be overwritten when this returns. Runs of one Recording
# must not overlap; the caller ensures that.
cdef int run(Recording* recording, RunContext* run_ctx, QueueFn put, void* arg, const void* numbers,
             size_t nbytes) except -1 nogil
# The recording for arrays at these addresses; NULL while all slots are in use.
cdef Recording* find_recording(Recordings* recordings, vector[void*]* at,
                               int dev_id) noexcept nogil
cdef void drop_graphs(Recordings* recordings, int dev_id) noexcept nogil
cdef void hold_recording(Recording* recording) noexcept nogil
# Drop one reference. True for the last one: the graph and its memory are freed when the GPU is done
# with them, and the object that contains the recording may be freed.
cdef bint release(Recording* recording, int dev_id) noexcept nogil

# The address of random stream bases for this thread's launches (RandomStream of kernels/random.cu);
# NULL unless a graph is being recorded.
cdef void* random_base() noexcept nogil  # address of a replay's seed and first stream
cdef void set_random_base(void* base) noexcept nogil  # of this thread's launches
