"""The CPU level of this process: the instructions kernels may use (contract in dispatch.pxd)."""

from ...base import config
from ...base.dtype import NAMES
from ...base.errors import ArgumentError

cdef extern from "isa/level_names.h" namespace "cynet" nogil:
    int machine_level() noexcept
    int N_LEVEL
    const char* const* level_names

cdef int _level = 0  # the CPU level in use
_LEVELS = tuple([level_names[i].decode() for i in range(N_LEVEL)])  # names of the levels


cdef int cpu_level() noexcept nogil:
    return _level


class MissingLoop(ArgumentError):
    """Raised if a table has no loop for a dtype; `OperatorProperty.operator_on` names the operator.

    dtype : str
    """

    def __init__(self, loop, dtype):
        super().__init__(f"there is no loop '{loop}' for arrays of {dtype}")
        self.dtype = dtype


cdef int raise_missing_loop(const char* name, int dtype) except -1:
    raise MissingLoop((<bytes>name).decode(), NAMES[dtype])


def cpu_capabilities():
    """The levels that this build and this machine have, lowest first.

    ``'baseline'`` is what every processor of the architecture has: SSE2 on x86-64, NEON on
    aarch64. On x86-64, ``'avx2'`` (with FMA) and ``'avx512'`` (F, BW, DQ and VL) follow where the
    processor and the operating system have them. On aarch64, ``'neon'`` follows, which every
    processor has: with it products and convolutions are cynet's own and not a library's.

    >>> cpu_capabilities()[0]
    'baseline'
    """
    return _LEVELS[:machine_level() + 1]


def cpu_capability():
    """The level in use: the highest one, unless ``CYNET_CPU_CAPABILITY`` named another at import.

    >>> cpu_capability() in cpu_capabilities()
    True
    """
    return _LEVELS[_level]


def level_number(name):
    """The index of a level of this architecture, by its name.

    Raises ArgumentError when the architecture has no such level. Raises >>>
    level_number("baseline"). Raises 0.
    """
    if name not in _LEVELS:
        raise ArgumentError(f"a CPU capability of this architecture, one of {', '.join(_LEVELS)}, "
                            f"got {name!r}")
    return _LEVELS.index(name)


def parse_level(name, highest):
    """Return the level that ``CYNET_CPU_CAPABILITY`` names; `highest` is the machine's.

    Raises ArgumentError when the machine lacks it. Raises >>> parse_level("auto" or 1) or
    parse_level("baseline" or 1). Raises (1 or 0).
    """
    level = highest if name == "auto" else level_number(name)
    if level > highest:
        raise ArgumentError(f"CYNET_CPU_CAPABILITY={name}: this machine and this build of cynet "
                            f"have {_LEVELS[highest]} at most")
    return level


_level = parse_level(config.get("CYNET_CPU_CAPABILITY"), machine_level())
