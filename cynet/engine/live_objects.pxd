"""Counts of live objects of the module that cimports this file, for tests (live_objects.h)."""

cdef extern from "../engine/live_objects.h":
    void count_live "cynet_count_live"(int more) noexcept nogil
    object live_counter "cynet_live_counter"()
