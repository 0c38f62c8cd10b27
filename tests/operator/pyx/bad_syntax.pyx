"""Does not compile: tests/operator/custom/test_build.py looks at what is said."""

from cynet.operator._base cimport Operator

cdef class Broken(Operator):
    cdef int no_such_type_follows(self, NoSuchType x):
        return 0
