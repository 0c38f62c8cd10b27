"""check_gluon_hybridize_consistency: compares a HybridBlock with its graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import autograd
from .. import ndarray as nd
from ..base.errors import ArgumentError
from .compare import assert_almost_equal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..typing import NDArray

__all__ = ["check_gluon_hybridize_consistency"]


def check_gluon_hybridize_consistency(
    net_builder: Callable[..., Any],
    data_l: Sequence[NDArray],
    numpy_func: Callable[..., Any] | None = None,
    test_grad: bool = True,
    rtol: float = 1e-4,
    atol: float = 1e-4,
) -> None:
    """Compare a HybridBlock before and after hybridize: outputs, and gradients.

    Parameters
    ----------
    net_builder : callable
        ``net_builder(prefix=...)`` makes the Block, whose output is one array.
    data_l : sequence of NDArray
        Inputs of the Block, of real numbers.
    numpy_func : callable, optional
        Computes the expected output from the inputs as NumPy arrays.
    test_grad : bool
        Whether to compare gradients, too.
    rtol, atol : float
        Relative and absolute tolerance.

    Raises
    ------
    AssertionError
        Something differs.

    Examples
    --------
    >>> check_gluon_hybridize_consistency(
    ...     lambda **names: mx.gluon.nn.Dense(3, **names), [mx.nd.ones((2, 4))]
    ... )
    """
    if not data_l:
        raise ArgumentError("check_gluon_hybridize_consistency: data_l has no input")
    values, found = None, []
    for hybridize in (False, True):
        net = net_builder(prefix="net_")
        net.initialize()
        inputs = [nd.array(each, dtype=each.dtype) for each in data_l]
        net(*inputs)  # inferred shapes are known after this call
        if values is None:
            values = {name: each.data().copy() for name, each in net.collect_params().items()}
        else:
            for name, each in net.collect_params().items():
                each.set_data(values[name])
        if hybridize:
            net.hybridize()
        for each in inputs:
            each.attach_grad()
        with autograd.record(train_mode=test_grad):
            output = net(*inputs)
        grads = {}
        if test_grad:
            output.backward()
            grads = {f"gradient of input {i}": each.grad for i, each in enumerate(inputs)}
            for name, each in net.collect_params().items():
                if each.grad_req != "null":
                    grads[f"gradient of {name}"] = each.grad()
        if numpy_func is not None:
            expected = numpy_func(*(each.asnumpy() for each in inputs))
            assert_almost_equal(output, np.asarray(expected), rtol, atol, ("output", "numpy_func"))
        found.append({"output": output, **grads})
    plain, hybridized = found
    for name, array in plain.items():
        assert_almost_equal(array, hybridized[name], rtol, atol, (name, f"{name}, hybridized"))
