"""Waits for variables: release the GIL, spin, sleep, check for Ctrl-C, raise stored errors."""

from .records cimport Engine, Var

# Wait for the functions pushed so far that write `var` (`reads`: or read it); raise its error.
cdef int wait_var(Var* var, bint reads) except -1 nogil  # for writers, `reads`: and readers
# Wait for all functions pushed so far; raise the first error not raised yet and clear the others.
cdef int wait_all(Engine* e) except -1 nogil
