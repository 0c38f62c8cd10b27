"""Imperative calls on 10 floats."""

import numpy as np
from harness import Row, main, median_time


def rows(mx):
    """One call on 10 floats, and the wait for a thousand of them shared among them."""
    a, b, total = mx.nd.ones(10), mx.nd.ones(10), mx.nd.zeros(10)
    x, y, numpy_total = np.ones(10, np.float32), np.ones(10, np.float32), np.zeros(10, np.float32)
    weight = mx.nd.ones((10, 10))
    cases = {
        "a + b": (lambda: a + b, lambda: x + y),
        "a * 2": (lambda: a * 2, lambda: x * 2),
        "a += b": (lambda: total.__iadd__(b), lambda: numpy_total.__iadd__(y)),
        "exp(a)": (lambda: mx.nd.exp(a), lambda: np.exp(x)),
        "sum(a)": (lambda: mx.nd.sum(a), lambda: np.sum(x)),
        "a.reshape((2, 5))": (lambda: a.reshape((2, 5)), lambda: x.reshape((2, 5))),
        "FullyConnected, 10 rows": (
            lambda: mx.nd.FullyConnected(weight, weight, num_hidden=10, no_bias=True),
            None,
        ),
        "a.asnumpy()": (a.asnumpy, x.copy),
    }
    for name, (function, reference) in cases.items():

        def thousand(function=function):
            for _ in range(1000):
                function()
            mx.nd.waitall()

        numpy_time = reference and median_time(reference, number=1000)
        yield Row(name, median_time(thousand) / 1000, numpy_time)


if __name__ == "__main__":
    main(__doc__, rows)
