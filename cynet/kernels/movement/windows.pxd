"""Windows that slide over images as columns, and back (windows.h)."""

from libc.stdint cimport int64_t

cdef extern from "movement/windows.h" namespace "cynet" nogil:
    # images (planes, size), columns (planes, taps of a window, places of windows)
    struct Windows:
        int64_t planes
        int64_t size[3]
        int64_t places[3]
        int64_t kernel[3]
        int64_t stride[3]
        int64_t pad[3]
        int64_t dilate[3]
    void windows_to_columns[T](const Windows& w, int threads, const T* images, T* columns,
                               bint add) noexcept
    void columns_to_windows[T](const Windows& w, int threads, const T* columns, T* images,
                               bint add) noexcept
