"""When a function is worth another thread: below these sizes it is pushed kInline, so it runs on
the caller's thread if everything it reads and writes is ready.

A sleeping thread takes 10 us (a plain machine) to 100 us (a virtual one) to wake up.
"""

cdef enum:
    # touched by one operator: with the GIL held, and without (a worker's threads and a caller that
    # waits would want one core)
    INLINE_ELEMENTS = 1 << 14
    INLINE_NOGIL_ELEMENTS = 1 << 21
    INLINE_COPY_ELEMENTS = 1 << 20    # copied
    INLINE_UPDATE_ELEMENTS = 1 << 20  # weights of a joined optimizer step
    INLINE_SEGMENT_US = 2000          # estimated for a segment of a plan
