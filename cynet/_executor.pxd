"""The loop that runs a plan: steps over fixed TBlobs, cut into segments that the engine schedules.

Promises:
- Between two steps of a segment no Python runs and nothing is allocated.
- A segment is one function of the engine. Segments that touch a common byte run in plan order;
  others may run together.
- Runs already pushed finish on valid memory even when the Plan and its arrays are dropped
  meanwhile.
"""

from libc.stdint cimport uint64_t

from ._ndarray cimport NDArrayBase
from .executor.tables cimport CachedStepGroup, NativeStep, PlanRun, Segment, Tables
from ._typedefs cimport RunContext

cdef class Plan:  # a graph as native tables that the engine runs
    cdef Tables* tables
    cdef size_t n_forward_segments
    cdef uint64_t n_random[2]  # random streams of a forward run, of a backward run
    cdef bint draws_in_prediction  # whether prediction draws random numbers
    cdef int dev_type, dev_id
    cdef readonly list labels   # labels in errors: "operator Convolution (node 'conv0')"
    cdef readonly list cached     # the present CachedResult of each group of cached steps
    cdef list _origins
    cdef dict _origin_index
    cdef list _texts  # bytes objects that own the steps' C strings
    cdef int _add_steps(self, graph, dict operators, dict arrays, NDArrayBase arena) except -1
    cdef size_t _add_value_blobs(self, list values, dict arrays, NDArrayBase arena) except? 0
    cdef const char* _c_string(self, str text) except NULL
    cdef CachedStepGroup* _get_or_add_cached_group(self, group, dict known) except? NULL
    cdef int _add_step_resources(self, step, NativeStep* native, bint in_backward) except -1
    cdef int _add_segments(self, graph, dict operators, dict arrays, NDArrayBase guard) except -1
    cdef bint _can_record_as_graph(self, dict operators, list steps, Segment* segment) except -1
    cdef int _add_variables(self, Segment* segment, tuple reached, list earlier,
                            dict arrays) except -1
    cdef int _push_segments(self, size_t first, size_t last, bint is_train) except -1
    # Draw the random streams of a run and set its seed; return the stream of the plan's step 0.
    cdef uint64_t draw_streams_of_run(self, bint backward, uint64_t* seed) noexcept nogil
    cdef bint _can_skip_segment(self, const Segment* segment) noexcept
    # Push one segment of a run; `stream` is the run's first random stream.
    cdef int push_segment(self, size_t i, bint is_train, uint64_t seed, uint64_t stream,
                          size_t origin) except -1 nogil
    # Index, in the plan's `_origins`, of the user's source line that started the run; HERE
    # (tables.pxd) means that this line is still on the stack.
    cdef size_t index_of_user_line(self) except? 0

# Run one step, and time it if profiling is on; -1 with an exception pending when it fails.
cdef int run_step(Tables* tables, size_t index, PlanRun* run, RunContext* run_ctx) noexcept nogil
# Return the label of a failed step with the shapes of its arrays.
cdef str failed_step_text(Tables* tables, size_t index)
# Drop one reference to a Plan's tables; the last one frees them.
cdef void release_tables(Tables* tables) noexcept nogil
# Return a new run of a segment; it holds a reference to the tables until `free_run`.
cdef PlanRun* new_run(Tables* tables, Segment* segment, bint is_train, uint64_t seed,
                      uint64_t stream,
                      size_t origin) except NULL nogil
cdef void free_run(void* arg) noexcept nogil
# Put a PlanRun's steps on a GPU's stream (QueueFn of cuda/graphs.pxd); `numbers` are the seed and
# the first stream of its random numbers, which a graph's kernels count from.
cdef int enqueue_segment(void* arg, RunContext* run_ctx, void* numbers) except -1 nogil
