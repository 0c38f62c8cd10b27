"""Engine: native empty functions, pushed and waited for (peer: MXNet 1.9.1's figures)."""

import statistics
import sys

from harness import Row, main, table

# Seconds a function in MXNet 1.9.1 on the reference machine of 2 cores, by its C interface.
MXNET = {"chain": 0.75e-6, "independent": 0.75e-6, "random": 2.2e-6, "wait": 2.7e-6}
PATTERNS = {
    "chain": ("a chain on one variable", 100000),
    "independent": ("over 100 independent variables", 100000),
    "random": ("random graph, 10.8 dependencies a function", 50000),
    "wait": ("push and wait", 30000),
}


def rows(mx):
    """Each pattern on the threads of an engine, then allowed to run on the thread that pushes."""
    if mx.__name__ == "mxnet":
        yield from peer_rows()
        return
    from cynet.engine.testing import microseconds_per_push

    engine = mx.engine.ThreadedEngine()
    for inline in (False, True):
        for pattern, (name, n) in PATTERNS.items():
            times = [
                microseconds_per_push(engine, pattern, n, inline=inline) * 1e-6 for _ in range(11)
            ]
            yield Row(name + (", inline" if inline else ""), statistics.median(times))


def peer_rows():
    """The same rows with MXNet's figures."""
    for inline in ("", ", inline"):
        for pattern, (name, _) in PATTERNS.items():
            yield Row(name + inline, MXNET[pattern])


if __name__ == "__main__":
    if "--json" in sys.argv:
        main(__doc__, rows)
    else:
        import cynet

        print(table(__doc__.rstrip("."), list(rows(cynet)), peer_rows()))
