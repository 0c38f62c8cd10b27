"""Compiles leaky.pyx, checks the operator in it, and compares its speed with built-in ones."""

import argparse
import statistics
import time
from pathlib import Path

import numpy as np

import cynet as mx

HERE = Path(__file__).parent


def check(seed):
    """Values, gradient, gradients added up, names and JSON of ``mx.sym.leaky``."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.1, 2, (4, 5)).astype(np.float32) * rng.choice([-1, 1], (4, 5))
    expected = np.where(x > 0, x, 0.1 * x)
    net = mx.sym.leaky(mx.sym.Variable("data"), slope=0.1, name="leaky")
    mx.test_utils.check_symbolic_forward(net, [x], [expected])
    mx.test_utils.check_numeric_gradient(net, [x], numeric_eps=1e-2, rtol=1e-2)
    slope = np.where(x > 0, 1, 0.1)
    for grad_req in ("write", "add"):
        ones = [np.ones((4, 5))]
        mx.test_utils.check_symbolic_backward(net, [x], ones, [slope], grad_req=grad_req)
    assert mx.sym.load_json(net.tojson()).list_outputs() == ["leaky_output"]
    np.testing.assert_allclose(mx.nd.leaky(mx.nd.array(x), slope=0.1).asnumpy(), expected, 1e-6)


def turn_about(functions, number, repeat=25):
    """Median seconds of one call of each function, taken in turns so that all see the same load."""
    times = [[] for _ in functions]
    for round_ in range(repeat + 3):
        for function, seconds in zip(functions, times):
            start = time.perf_counter()
            for _ in range(number):
                function()
            if round_ >= 3:  # the first rounds warm up
                seconds.append((time.perf_counter() - start) / number)
    return [statistics.median(seconds) for seconds in times]


def step(net, size):
    """A function that runs `net` on `size` numbers, forward and backward."""
    executor = net.simple_bind(mx.cpu(), data=(size,))
    executor.arg_dict["data"][:] = np.random.default_rng(0).normal(size=size)
    ones = mx.nd.ones((size,))

    def run():
        executor.forward(is_train=True)
        executor.backward(ones)
        executor.grad_dict["data"].wait_to_read()

    return run


def compare():
    """Rows (what, seconds of leaky, seconds of the built-in, ratio).

    The built-in is `square`, which reads and writes the same arrays.
    """
    data = mx.sym.Variable("data")
    for size, number in ((10, 1000), (10_000, 200), (1_000_000, 5)):
        x, out = mx.nd.array(np.random.default_rng(0).normal(size=size)), mx.nd.zeros((size,))

        def call(function, x=x, out=out):
            function(x, out=out)
            out.wait_to_read()

        cases = {
            f"one call, {size:,} numbers": (
                lambda call=call: call(mx.nd.leaky),
                lambda call=call: call(mx.nd.square),
            ),
            f"forward and backward, {size:,} numbers": (
                step(mx.sym.leaky(data), size),
                step(mx.sym.square(data), size),
            ),
        }
        for name, functions in cases.items():
            mine, built_in = turn_about(functions, number)
            yield name, mine, built_in, mine / built_in


def main(argv=None):
    """Check, and unless told otherwise compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="seed of the random inputs")
    parser.add_argument("--no-timing", action="store_true", help="check only")
    args = parser.parse_args(argv)
    print("compiling leaky.pyx, which takes some seconds the first time ...", flush=True)
    mx.operator.compile_pyx(HERE / "leaky.pyx")
    check(args.seed)
    print("leaky: values, gradients and requests are right", flush=True)
    if args.no_timing:
        return
    print(f"{'':<44}{'leaky':>12}{'square':>12}{'ratio':>8}")
    for name, mine, built_in, ratio in compare():
        print(f"{name:<44}{mine * 1e6:>9.2f} us{built_in * 1e6:>9.2f} us{ratio:>8.2f}")


if __name__ == "__main__":
    main()
