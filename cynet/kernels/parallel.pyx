"""The number of threads of one CPU kernel: setting and grain (contract in parallel.pxd)."""

from ..base.cores import usable_cores
from ..base import config
from ..base.errors import ArgumentError, CynetError, shown
from ..base.kinds import to_index

cdef extern from "threading/openmp_runtime.h" namespace "cynet" nogil:
    """
    extern "C" void cynet_run_parts(int parts, cynet::PartFunction function, void* arg) {
      cynet::run_parts(parts, function, arg);
    }
    """
    bint is_in_share() noexcept
    bint is_team_awake() noexcept
    void set_thread_limit(int threads) noexcept
    void watch_forks() noexcept
    const char* lend_team(void* library) noexcept
    bint can_run "cynet::openmp_can_run"(int parts) noexcept
    int size_now "cynet::openmp_threads"() noexcept
    void set_single_threaded(bint alone) noexcept

cdef int _threads = 1  # set_num_threads sets it


cdef int threads_for(int64_t work) noexcept nogil:
    if work < GRAIN or _threads < 2 or is_in_share():
        return 1
    return _limit_threads(work // (GRAIN // 2))


cdef inline int _limit_threads(int64_t maximum) noexcept nogil:
    return _threads if _threads < maximum else <int>maximum


cdef int threads_if_awake(int64_t work) noexcept nogil:
    if work < AWAKE_GRAIN or _threads < 2 or is_in_share() or not is_team_awake():
        return 1
    return _limit_threads(work // (AWAKE_GRAIN // 2))


cdef int lend_team_to(void* library, str name) except -1:  # its OpenMP loops
    # Returns 1 if its loops run on the team, 0 if on its own threads.
    cdef const char* missing
    if config.get("CYNET_ONEDNN_THREADS") == "openmp":
        return 0
    missing = lend_team(library)
    if missing != NULL and not missing[0]:
        return 1
    what = "its OpenMP functions could not be replaced"
    if missing != NULL:
        what = f"it needs {missing.decode()} of OpenMP, which cynet's threads do not have"
    raise CynetError(f"{name}: {what}; install the version that cynet asks for, or set "
                     "CYNET_ONEDNN_THREADS=openmp, which lets it have threads of its own")


cdef bint openmp_can_run(int threads) noexcept nogil:
    return can_run(threads)


cdef int openmp_threads() noexcept nogil:
    return size_now()


cdef void set_openmp_single_threaded(bint alone) noexcept nogil:
    set_single_threaded(alone)


def get_num_threads():
    """The number of threads one CPU kernel may use, an int."""
    return _threads


def set_num_threads(n, *, beyond_cores=False):
    """Let one CPU kernel use at most `n` threads from now on.

    Parameters
    ----------
    n : int
        At least 1; 0 means the number of cores that the process may use, and so does what is
        larger than that: threads that wait for a core make a kernel slower than one thread. The
        setting at import is ``CYNET_NUM_THREADS``.
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
    cdef object number = to_index("set_num_threads: n", n)
    if number < 0 or number > 4096:
        raise ArgumentError(f"set_num_threads takes 0 (all cores) to 4096, got {shown(number)}")
    before = _threads
    cores = usable_cores()
    _threads = number if 0 < number <= cores or number and beyond_cores else cores
    set_thread_limit(_threads)
    return before


watch_forks()
set_num_threads(config.get("CYNET_NUM_THREADS"))
