"""A face is a family of array functions with rules of its own: ``mx.nd`` is one, ``mx.np`` another.

A face stands between the calls that users write and the operators of the registry. Each array
knows its face; what is computed from the array belongs to the same one.
"""

cdef class Face:
    cdef readonly str name
    cdef readonly object array_class  # the Python class of its arrays
    # What Python's operators call (a Slot each, ndarray/_arithmetic.pyx), by number.
    cdef tuple slots
    cdef dict sites                   # OpEntry -> CallSite (ndarray/_call.pyx)
    # key_of(array, key): a key in which NumPy arrays of bool stand for masks; None: what is a mask
    # has dtype bool.
    cdef object key_of
    cdef object scalars               # True, or a function that says it at each call

    # Whether what has no axes left has the shape (): else it is (1,).
    cdef bint has_scalars(self) except -1

# The face of mx.nd, whose arrays are those of MXNet before NumPy's semantics.
cdef Face ND
