"""Recorded steps, forward and backward (``--torch PYTHON``: beside PyTorch)."""

import functools

from harness import Row, main, median_time

SMALL = "recorded a * b + c on 10 floats"
LONG = "recorded chain of 100 products of 10 floats"


def rows(package):
    """The rows of measurements in cynet or MXNet, or in PyTorch."""
    return torch_rows(package) if package.__name__ == "torch" else mx_rows(package)


def mx_rows(mx):
    """Recorded steps; each waits for its gradients once in a hundred."""
    nd, autograd = mx.nd, mx.autograd
    arrays = [nd.ones(10) for _ in range(3)]
    for array in arrays:
        array.attach_grad()
    a, b, c = arrays

    def small():
        for _ in range(100):
            with autograd.record():
                y = a * b + c
            y.backward()
        nd.waitall()

    def long():
        with autograd.record():
            y = a
            for _ in range(100):
                y = y * b
        y.backward()
        nd.waitall()

    yield Row(SMALL, median_time(small) / 100)
    yield Row(LONG, median_time(long))


def torch_rows(torch):
    """The same in PyTorch, with gradients set to None between two steps."""
    torch.set_num_threads(1)
    arrays = [torch.ones(10, requires_grad=True) for _ in range(3)]
    a, b, c = arrays
    ones = torch.ones(10)

    def forget():
        for array in arrays:
            array.grad = None

    def small():
        for _ in range(100):
            forget()
            (a * b + c).backward(ones)

    def long():
        forget()
        functools.reduce(lambda y, _: y * b, range(100), a).backward(ones)

    yield Row(SMALL, median_time(small) / 100)
    yield Row(LONG, median_time(long))


if __name__ == "__main__":
    main(__doc__, rows)
