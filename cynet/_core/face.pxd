"""A face is a family of array functions with rules of its own: ``mx.nd`` is one, ``mx.np`` another.

A face stands between the calls that users write and the operators of the registry. Each array
knows its face; what is computed from the array belongs to the same one.
"""

cdef class Face:  # rules of a family of array functions, as mx.nd
    cdef readonly str name
    cdef readonly object array_class  # Python class of the face's arrays
    # One OpSlot for each arithmetic operator of Python (ndarray/_arithmetic.pyx).
    cdef tuple slots
    cdef dict sites                   # OpEntry -> its CallSite (ndarray/_call.pyx)
    # read_masks(array, key) returns the key of an index with each mask as a NumPy array of bool.
    # None: only arrays of dtype bool are masks.
    cdef object read_masks
    cdef object scalars               # True, or a function that returns a bool

    # Return whether a result without axes has the shape (); otherwise its shape is (1,).
    cdef bint has_0d_results(self) except -1

# The face of mx.nd: arrays of MXNet as they were before NumPy's semantics.
cdef Face ND
