"""The threads of one CPU kernel: loads parallel.pyx, and OpenMP with it, with OpenMP's settings.

GNU OpenMP reads its settings when the first extension that uses it loads, which is parallel.pyx.
Its threads are to look for the next loop for a fraction of a millisecond before they sleep. By
itself it has them look for some milliseconds, in the way of the engine's threads. Beyond that, it
hardly has them look at all where the teams of the process have more threads than there are cores,
so a thread that sleeps for long gives up its team (parallel.h).
"""

from .. import config

with config.suggestions({"OMP_WAIT_POLICY": "active", "GOMP_SPINCOUNT": "10000"}):
    from .parallel import get_num_threads, set_num_threads

__all__ = ["get_num_threads", "set_num_threads"]
