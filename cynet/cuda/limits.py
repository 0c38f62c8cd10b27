"""Limits of a launch: sizes of grids, blocks and shared memory."""

from typing import NamedTuple

from ..base.errors import ArgumentError, ArgumentTypeError
from ..base.kinds import to_index


class Limits(NamedTuple):  # of kernel launches
    """The launch limits of a device; the defaults are those of all current GPUs."""

    threads: int = 1024  # maximum number of threads of a block
    block: tuple = (1024, 1024, 64)
    grid: tuple = (2**31 - 1, 65535, 65535)
    shared: int = 48 << 10  # bytes of a block


_UNKNOWN_LIMITS = Limits()  # of every GPU, for an unknown one


def as_three_ints(name, what, value):
    """Check a grid or block size, and return it as three positive ints."""
    if type(value) is tuple and [type(n) for n in value] == [int, int, int]:
        return value
    sizes = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    good = 1 <= len(sizes) <= 3 and all(
        not isinstance(n, bool) and hasattr(n, "__index__") for n in sizes
    )
    if not good:
        raise ArgumentTypeError(f"kernel {name}: {what} takes 1 to 3 ints, got {value!r}")
    return tuple(int(n) for n in sizes) + (1,) * (3 - len(sizes))


def check_launch_limits(name, grid, block, shared, threads_limit=None, limits=None):
    """Refuse a launch that no device accepts; returns (grid, block) as three ints each.

    Raises ArgumentError or ArgumentTypeError: the message names the kernel, what was requested and
    the limit.
    """
    limits = limits or _UNKNOWN_LIMITS
    grid, block = as_three_ints(name, "grid_dims", grid), as_three_ints(name, "block_dims", block)
    for what, sizes, maximum in (("grid", grid, limits.grid), ("block", block, limits.block)):
        x, y, z = sizes
        if min(sizes) < 1 or x > maximum[0] or y > maximum[1] or z > maximum[2]:
            raise ArgumentError(
                f"kernel {name}: a {what} of {sizes} is not within (1, 1, 1) and {maximum}"
            )
    count = block[0] * block[1] * block[2]
    if count > limits.threads:
        raise ArgumentError(
            f"kernel {name}: a block of {block} has {count} threads, {limits.threads} is the most"
        )
    if threads_limit is not None and count > threads_limit:
        raise ArgumentError(
            f"kernel {name}: a block of {block} has {count} threads, its __launch_bounds__ allow "
            f"{threads_limit}"
        )
    if not 0 <= to_index(f"kernel {name}: shared_mem", shared) <= limits.shared:
        raise ArgumentError(
            f"kernel {name}: {shared} bytes of shared memory were asked for, a block has 0 to "
            f"{limits.shared}"
        )
    return grid, block
