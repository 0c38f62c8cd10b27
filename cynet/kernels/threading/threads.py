"""The threads of CPU kernels: loads parallel.pyx so that all compiled modules find its team."""

import os
import sys

_dlopen_flags = sys.getdlopenflags()  # flags before the import below
sys.setdlopenflags(_dlopen_flags | os.RTLD_GLOBAL)  # cynet_run_parts (parallel.h)
try:
    from ..parallel import get_num_threads, set_num_threads
finally:
    sys.setdlopenflags(_dlopen_flags)

__all__ = ["get_num_threads", "set_num_threads"]
