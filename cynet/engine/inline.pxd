"""When a function is worth another thread: below these sizes it is pushed kInline, so it runs on
the caller's thread if everything it reads and writes is ready.

A sleeping thread takes 10 us (a plain machine) to 100 us (a virtual one) to wake up.
"""

cdef enum:
    # read and written by one operator: with the GIL held, and without (a worker's threads and a
    # caller that waits would want one core)
    INLINE_GIL_BYTES = 1 << 16
    INLINE_BYTES = 1 << 23
    INLINE_PASS_BYTES = 1 << 27       # bytes of one pass of simple operations: about 3 ms
    INLINE_COPY_BYTES = 1 << 22       # bytes written by a copy that wakes no other thread
    INLINE_UPDATE_ELEMENTS = 1 << 20  # weights of a joined optimizer step
    INLINE_SEGMENT_US = 2000          # estimated for a segment of a plan
