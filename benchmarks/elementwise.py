"""Functions of ten million floats."""

import numpy as np
from harness import Row, main, median_time


def rows(mx):
    """add, tanh, exp, sum and softmax, each to the end of its work."""
    x = np.random.RandomState(0).randn(10_000_000).astype(np.float32)
    square = x.reshape((10_000, 1000))
    a, matrix = mx.nd.array(x), mx.nd.array(square)

    def softmax():
        e = np.exp(square - square.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    cases = {
        "add": (lambda: a + a, lambda: x + x),
        "tanh": (lambda: mx.nd.tanh(a), lambda: np.tanh(x)),
        "exp": (lambda: mx.nd.exp(a), lambda: np.exp(x)),
        "sum": (lambda: mx.nd.sum(a), lambda: np.sum(x)),
        "softmax, rows of 1,000": (lambda: mx.nd.softmax(matrix), softmax),
    }
    for name, (function, reference) in cases.items():
        seconds = median_time(lambda function=function: function().wait_to_read(), repeat=9)
        yield Row(name, seconds, median_time(reference, repeat=5))


if __name__ == "__main__":
    main(__doc__, rows)
