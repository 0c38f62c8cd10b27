"""Calls that alternate between numbers, shapes and dtypes, each beside the same call repeated.

What alternates may cost 1.3 times what repeats: cynet keeps the last 12 calls of a function. Where
it costs more, three times in turn, the file ends with an error.
"""

import itertools
import operator
import time

from harness import Row, main

LIMIT = 1.3
NUMBER = 600  # calls that are measured at once
SIGNS = ("add", "sub", "mul", "truediv", "mod", "pow", "eq", "ne", "gt", "ge", "lt", "le")
WHOLE = [
    "abs",
    "arccosh",
    "arcsinh",
    "arctan",
    "argmax",
    "argmin",
    "argsort",
    "broadcast_like",
    "cbrt",
    "ceil",
    "cos",
    "degrees",
    "elemwise_add",
    "elemwise_mul",
    "erf",
    "exp",
    "expm1",
    "fix",
    "flatten",
    "floor",
    "identity",
    "log",
    "log10",
    "log1p",
    "log2",
    "log_softmax",
    "max",
    "mean",
    "min",
    "nansum",
    "negative",
    "norm",
    "ones_like",
    "prod",
    "radians",
    "reciprocal",
    "relu",
    "rint",
    "round",
    "rsqrt",
    "shape_array",
    "sigmoid",
    "sign",
    "sin",
    "softmax",
    "softsign",
    "sort",
    "sqrt",
    "square",
    "stack",
    "sum",
    "tan",
    "tanh",
    "topk",
    "transpose",
    "trunc",
    "zeros_like",
]
PAIRS = ("broadcast_like", "elemwise_add", "elemwise_mul", "stack")
BY_NUMBER = {
    "clip": lambda mx, x, n: mx.nd.clip(x, 0, n),
    "expand_dims": lambda mx, x, n: mx.nd.expand_dims(x, axis=n % 3),
    "LeakyReLU": lambda mx, x, n: mx.nd.LeakyReLU(x, slope=0.1 * n),
    "slice_axis": lambda mx, x, n: mx.nd.slice_axis(x, axis=0, begin=0, end=1 + n % 2),
}


def cases(mx):
    """Pairs (name, functions that alternate); the first function repeats."""
    x = mx.nd.ones((2, 5)) + 1
    shapes = [mx.nd.ones((2, size)) + 1 for size in range(3, 13)]
    dtypes = [x.astype(each) for each in ("float32", "float64", "float16", "int32", "int64")]
    for sign in SIGNS:
        call = getattr(operator, sign)
        for count in (2, 3, 10):
            yield f"{sign}, {count} numbers", [_bound(call, x, 0.5 + i) for i in range(count)]
        yield f"{sign}, 10 numbers in front", [_bound(call, 1.5 + i, x) for i in range(10)]
        yield f"{sign}, an int and a float", [_bound(call, x, 2), _bound(call, x, 2.0)]
        yield f"{sign} of 10 shapes", [_bound(call, each, each) for each in shapes]
        yield f"{sign} of a number, 10 shapes", [_bound(call, each, 2.0) for each in shapes]
    yield "add of 5 dtypes", [_bound(operator.add, each, each) for each in dtypes]
    for name in WHOLE:
        call = getattr(mx.nd, name)
        twice = name in PAIRS
        yield (
            f"{name} of 10 shapes",
            [_bound(call, *((each, each) if twice else (each,))) for each in shapes],
        )
    for name, call in BY_NUMBER.items():
        yield f"{name}, 10 numbers", [_bound(call, mx, x, 1 + i) for i in range(10)]


def _bound(call, *args):
    return lambda: call(*args)


def seconds(functions, repeat=7):
    """CPU seconds of a call: the least of `repeat` runs."""
    times = []
    calls = list(itertools.islice(itertools.cycle(functions), NUMBER))
    for _ in range(repeat):
        start = time.process_time()
        for call in calls:
            call()
        times.append((time.process_time() - start) / NUMBER)
    return min(times)


def rows(mx):
    """Print a row for each case, with the time of the functions in NumPy's place."""
    for name, functions in cases(mx):
        for _ in range(3):
            alone = sum(seconds([each]) for each in functions) / len(functions)
            mixed = seconds(functions)
            if mixed <= LIMIT * alone:
                break
        else:
            if mx.__name__ == "cynet":
                raise SystemExit(
                    f"{name}: {mixed * 1e6:.2f} us a call in turn, {alone * 1e6:.2f} by itself"
                )
        yield Row(name, mixed, alone)


if __name__ == "__main__":
    main(__doc__, rows)
