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

cdef struct Item:
    UpdateLoop loop
    UpdateArrays arrays
    int64_t size
    int width           # bytes of an element of weight, gradient and out
    int state_width[4]  # bytes of an element of each state
    int master    # index of the state that is a float32 copy of the weight; -1: none
    void* kernel  # kernel of a GPU, instead of `loop`
    bint skips_zero_gradient    # a row with gradient 0 is not updated, if the weight does not decay
    Chunk* grad   # memory of the gradient
    UpdateLoop first      # computes the step whose norm sets the rate (LAMB, LARS), or NULL
    int64_t blocks_before  # number of blocks of the items before this one
    int exact, dtype      # dtypes of the updated array (weight or float32 copy) and of the gradient

cdef cppclass FusedUpdate:
    # State that the runs of a JoinedUpdate share with it; each run holds the recording. Constant
    # except for the recording, which the weights' variables guard.
    vector[Item] items
    bint apart     # some lie in the same memory: one item after the other
    NormRate rate  # how learning rates follow from norms, or NULL
    vector[double] squares  # sums of squares, a block each: of the weight, of the gradient or step
    int dev_id
    Recording recording

cdef struct UpdateTask:  # arguments of one run; holds a reference to `joined`
    FusedUpdate* joined
    UpdateParams params[1]  # parameters of the update of each item

cdef class JoinedUpdate(UpdateStep):
    cdef FusedUpdate* joined
    cdef readonly tuple weights, grads, states
    cdef int _flags(self, const UpdateTask* task) noexcept nogil
    cdef UpdateTask* _task(self, list lrs, list wds, double rescale, double clip,
                           list numbers) except NULL
