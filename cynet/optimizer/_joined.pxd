"""JoinedUpdate: one engine function that runs an update rule on several weights.

A training step pushes one function instead of one for each weight, and rates that change with every
step (Adam's bias correction, schedules) cost no operator made anew. On a GPU its launches are
recorded as a graph, which reads those numbers anew in each replay.
"""

from libc.stdint cimport int64_t
from libcpp.vector cimport vector

from .._ndarray cimport Chunk
from ..cuda.graphs cimport Recording
from ..executor.update_step cimport UpdateStep
from ..kernels.update.update cimport UpdateArrays, UpdateLoop, UpdateParams

cdef extern from "update/norms.h" namespace "cynet" nogil:
    ctypedef double (*NormRate)(const UpdateParams& params, double weight, double other) noexcept

cdef struct UpdateItem:  # one weight of a joint update
    UpdateLoop loop
    UpdateArrays arrays
    int64_t size
    int width           # bytes per element of weight, gradient and out
    int state_width[4]  # bytes per element of each state
    int master    # index of the state that is a float32 copy of the weight; -1: none
    void* kernel  # GPU kernel, instead of `loop`
    bint skips_zero_gradient    # skip rows of gradient 0 if wd is 0
    Chunk* grad   # memory of the gradient
    UpdateLoop first      # computes the step, for its norm (LAMB, LARS), or NULL
    int64_t blocks_before  # sum of block counts of earlier items
    int exact, dtype      # dtypes of the updated array (weight or float32 copy) and of the gradient

cdef cppclass FusedUpdate:
    # State that a JoinedUpdate shares with its runs, by reference counts in `recording`. Constant
    # except for the recording, which the weights' variables guard.
    vector[UpdateItem] items
    bint apart     # items overlap in memory: run one by one
    NormRate rate  # computes a rate from norms, or NULL
    vector[double] squares  # partial sums (weight, gradient or step) per block
    int dev_id
    Recording recording

cdef struct UpdateTask:  # arguments of one run; owns a reference to `joined`
    FusedUpdate* joined
    UpdateParams params[1]  # one for each item

cdef class JoinedUpdate(UpdateStep):  # one update of several weights by one kernel
    cdef FusedUpdate* joined
    cdef readonly tuple weights, grads, states
    cdef int _engine_push_flags(self, const UpdateTask* task) noexcept nogil
    cdef UpdateTask* _make_task(self, list lrs, list wds, double rescale, double clip,
                                list numbers) except NULL
