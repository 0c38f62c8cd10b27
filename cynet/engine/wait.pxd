"""Waits: release the GIL, spin, sleep, look for Ctrl-C, raise what is stored."""

from .records cimport Engine, Var

# Until everything pushed so far that writes `var` is done, or reads it too; raise what is stored.
cdef int wait_var(Var* var, bint reads) except -1 nogil
# Until everything pushed so far is done; raise the first failure nobody has waited for, clear all.
cdef int wait_all(Engine* e) except -1 nogil
