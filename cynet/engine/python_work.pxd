"""The engine's Python classes, for Cython code that takes them as arguments."""

from .._engine cimport EngineHandle, VarHandle

cdef class Engine:
    cdef EngineHandle handle
    cdef bint owned  # the engine ends with this object

cdef class Variable:
    cdef VarHandle handle  # NULL once deleted
    cdef readonly Engine engine
    cdef object __weakref__
