"""Functions of mx.np that NumPy computes on the host, as MXNet has it."""

import numpy as onp

from .dispatch import on_host

NAMES = ("array_repr", "fill_diagonal", "genfromtxt", "tril_indices", "triu_indices")


def _made(name):
    host = getattr(onp, name)

    def function(*args, **kwargs):
        return on_host(host, args, kwargs)

    function.__name__ = function.__qualname__ = name
    function.__module__ = "cynet.numpy"
    function.__doc__ = f"``numpy.{name}``, computed by NumPy on the host; no gradient flows."
    return function


FUNCTIONS = {name: _made(name) for name in NAMES if hasattr(onp, name)}


globals().update(FUNCTIONS)
__all__ = list(FUNCTIONS)
