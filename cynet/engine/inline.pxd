"""Sizes below which a function is pushed with kInline: it runs on the caller's thread if all that
it reads and writes is ready.

A sleeping thread takes 10 us (a plain machine) to 100 us (a virtual one) to wake up.
"""

cdef enum:
    # bytes read and written by one operator: with the GIL held, and without it (the caller would
    # spin on a core that the worker's threads need)
    MAX_INLINE_GIL_BYTES = 1 << 16  # bytes of an operator that holds the GIL
    MAX_INLINE_BYTES = 1 << 23  # bytes of an operator without the GIL
    MAX_INLINE_PASS_BYTES = 1 << 27       # bytes of one elementwise pass: about 3 ms
    MAX_INLINE_COPY_BYTES = 1 << 22       # bytes written by a copy that wakes no other thread
    MAX_INLINE_UPDATE_ELEMENTS = 1 << 20  # weights of a fused optimizer step
    MAX_INLINE_SEGMENT_US = 2000          # estimated time of a segment of a plan
