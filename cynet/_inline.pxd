"""When a function is worth another thread: below these sizes it is pushed kInline, so it runs on
the caller's thread if everything it reads and writes is ready.

A sleeping thread takes 10 us (a plain machine) to 100 us (a virtual one) to wake up.
"""

cdef enum:
    INLINE_ELEMENTS = 1 << 16         # touched by one operator
    INLINE_COPY_ELEMENTS = 1 << 20    # copied
    INLINE_UPDATE_ELEMENTS = 1 << 18  # weights of a joined optimizer step
    INLINE_SEGMENT_US = 2000          # estimated for a segment of a plan
