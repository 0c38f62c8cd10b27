"""A face is a family of array functions with rules of its own: ``mx.nd`` is one, ``mx.np`` another.

A face stands between the calls that users write and the operators of the registry. Each array
knows its face; what is computed from the array belongs to the same one.
"""

cdef class Face:
    cdef readonly str name
    cdef readonly object array_class  # Python class of the face's arrays
    # A Slot (ndarray/_arithmetic.pyx) for each of Python's operators.
    cdef tuple slots
    cdef dict sites                   # OpEntry -> CallSite (ndarray/_call.pyx)
    # key_of(array, key): the key with its masks turned into NumPy arrays of bool; None where a mask
    # is an array of dtype bool.
    cdef object key_of
    cdef object scalars               # True, or a function that says it at each call

    # Whether a result without axes has the shape (); else it is (1,).
    cdef bint has_scalars(self) except -1

# The face of mx.nd: arrays of MXNet as they were before NumPy's semantics.
cdef Face ND
