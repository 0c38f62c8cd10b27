"""Imperative calls: a resolved operator is pushed to the engine, and recorded where the thread
records.

Promises:
- What goes wrong while the operator runs is raised where the result is awaited and names operator,
  shapes and the user's line.
- An output that shares memory with an input is computed in place only where the operator allows it.
"""

from cpython.object cimport PyObject
from libcpp.vector cimport vector

from .._ndarray cimport NDArrayBase
from ._resolve cimport Call, State
from ._tape cimport Node

cdef enum:
    MAX_ARRAYS = 16  # maximum number of arrays, and of outputs, in run_arrays

# True if `set_call_observer` has set an observer of calls.
cdef bint has_call_observer() noexcept
# Runs a Call; returns a list of all visible outputs. `out` (or None) has NDArrayBase.
cdef list run(Call call, list given, list out)  # returns the visible outputs
# `run` for one or two inputs and one output, without making a list.
cdef NDArrayBase run_one_output(Call call, NDArrayBase lhs, NDArrayBase rhs, NDArrayBase out)
# `run` for `n` positional arrays, at most MAX_ARRAYS. Returns the array, or the list of visible
# outputs. `out` is None or the only visible output.
cdef object run_arrays(Call call, PyObject** arrays, int n, NDArrayBase out)

cdef struct Gradients:  # borrowed arrays of a backward call
    # Borrowed references to the arrays of a backward call; NULL for one that it does not use.
    PyObject** out_grad
    PyObject** in_data
    PyObject** out_data
    PyObject** in_grad
    PyObject** aux
    int* req

# Pushes backward of a Call's operator, which `origin` has recorded. The shapes are those the call
# was resolved for, whatever the arrays' own are.
cdef int push_backward(Call call, State* state, const vector[int]* resources, bint is_train,
                       const Gradients* arrays, Node origin) except -1
