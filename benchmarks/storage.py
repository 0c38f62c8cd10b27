"""Allocation: blocks from the pool, arrays made and dropped, random arrays."""

import numpy as np
from harness import Row, main, median_time


def native_rows():
    """What a block costs in compiled code, which is where arrays and temporary space come from."""
    from cynet.storage.testing import seconds_per_allocation

    for text, nbytes in (("64 bytes", 64), ("4 KiB", 4096), ("64 MiB", 1 << 26)):
        seconds = min(seconds_per_allocation(nbytes, 200000) for _ in range(5))
        yield Row(f"pooled block of {text}, taken and given back", seconds)


def rows(mx):
    if mx.__name__ == "cynet":
        yield from native_rows()
    for text, shape in (("10 floats", (10,)), ("10 M floats", (10_000_000,))):
        yield Row(
            f"empty array of {text}, made and dropped",
            median_time(lambda shape=shape: mx.nd.empty(shape), 200),
            median_time(lambda shape=shape: np.empty(shape, "float32"), 200),
        )
    generator = np.random.default_rng(0)
    n = 1_000_000
    for name, theirs in (
        ("uniform", lambda: generator.random(n, "float32")),
        ("normal", lambda: generator.standard_normal(n, "float32")),
    ):
        draw = getattr(mx.nd.random, name)
        yield Row(
            f"random.{name} of 1 M floats",
            median_time(lambda draw=draw: draw(shape=n).wait_to_read(), 3),
            median_time(theirs, 3),
        )


if __name__ == "__main__":
    main(__doc__, rows)
