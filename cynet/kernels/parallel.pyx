"""The number of threads of one CPU kernel: setting and grain (contract in parallel.pxd)."""

from .._engine_threads cimport set_long_sleep

from .. import config
from ..errors import ArgumentError, ArgumentTypeError

cdef extern from "parallel.h" namespace "cynet" nogil:
    int omp_cores() noexcept
    bint omp_inside() noexcept
    void watch_forks() noexcept
    bint team_is_here() noexcept
    void note_team_works() noexcept
    void note_team_rests() noexcept
    bint team_is_awake(int64_t spin_ns) noexcept
    void release_team() noexcept

cdef int _threads = 1


cdef int threads_for(int64_t work) noexcept nogil:
    if work < GRAIN or _threads < 2 or omp_inside() or not team_is_here():
        return 1
    note_team_works()
    return _at_most(work // (GRAIN // 2))


cdef inline int _at_most(int64_t most) noexcept nogil:
    return _threads if _threads < most else <int>most


cdef int threads_awake(int64_t work) noexcept nogil:
    if work < AWAKE_GRAIN or _threads < 2 or not team_is_awake(SPIN_NS):
        return 1
    if omp_inside() or not team_is_here():
        return 1
    note_team_works()
    return _at_most(work // (AWAKE_GRAIN // 2))


cdef void team_rests() noexcept nogil:
    note_team_rests()


cdef bint team_is_lost() noexcept nogil:
    return not team_is_here()


def get_num_threads():
    """How many threads one CPU kernel may use, an int."""
    return _threads


def set_num_threads(n, *, beyond_cores=False):
    """Let one CPU kernel use at most `n` threads from now on.

    Parameters
    ----------
    n : int
        At least 1; 0 means the number of cores, and so does what is larger than that: threads
        that wait for a core make a kernel slower than one thread. The setting at import is
        ``CYNET_NUM_THREADS``.
    beyond_cores : bool
        True: `n` threads even so, to see whether a result depends on their number.

    Returns
    -------
    int
        The setting before.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        When `n` is negative or no int.

    Examples
    --------
    >>> before = set_num_threads(1)
    >>> get_num_threads()
    1
    >>> set_num_threads(before)
    1
    """
    global _threads
    if isinstance(n, bool) or not hasattr(n, "__index__"):
        raise ArgumentTypeError(f"set_num_threads takes an int, got {n!r}")
    cdef object number = n.__index__()
    if number < 0 or number > 4096:
        raise ArgumentError(f"set_num_threads takes 0 (all cores) to 4096, got {number}")
    before = _threads
    cores = max(omp_cores(), 1)
    _threads = number if 0 < number <= cores or number and beyond_cores else cores
    return before


watch_forks()
set_long_sleep(release_team)
set_num_threads(config.get("CYNET_NUM_THREADS"))
