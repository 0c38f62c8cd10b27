"""Tools for tests: retries, environment variables, timing, comparing optimizers."""

from __future__ import annotations

import functools
import os
import platform
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import config
from ..base.config import getenv as variable
from ..base.errors import ArgumentError, ArgumentTypeError, shown
from ..executor.bind import simple_bind
from ..io import DataIter
from ..ndarray import waitall
from .compare import assert_almost_equal, default_context, rand_ndarray
from .tolerances import compare_ndarray_tuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..typing import ArrayLike, ContextLike, DataBatch, GradReq, Optimizer, Shape, Symbol

__all__ = ["DummyIter", "check_speed", "compare_optimizer", "discard_stderr", "environment"]
__all__ += ["has_tvm_ops", "is_aarch64_run", "is_cd_run", "is_op_runnable", "retry"]


def retry(n: int) -> Callable[..., Any]:
    """Decorator: try a test that may fail by chance up to `n` times.

    Parameters
    ----------
    n : int
        Largest number of attempts. The last failure, an AssertionError, is passed on.

    Returns
    -------
    callable
        Takes the test and returns one that repeats.

    Raises
    ------
    ArgumentError
        If `n` is less than 1.

    Examples
    --------
    >>> rolls = iter([3, 5, 6])
    >>> @mx.test_utils.retry(3)
    ... def test_six():
    ...     assert next(rolls) == 6
    >>> test_six()
    """
    if n < 1:
        raise ArgumentError(f"retry: n must be 1 or more, got {n}")

    def wrap(test):
        @functools.wraps(test)
        def test_with_retries(*args, **kwargs):
            for _ in range(n - 1):
                try:
                    return test(*args, **kwargs)
                except AssertionError:
                    continue
            return test(*args, **kwargs)

        return test_with_retries

    return wrap


@contextmanager
def environment(*args: Any) -> Any:
    """Set environment variables for a ``with`` statement.

    Parameters
    ----------
    *args : str and str or None, or dict of str to str or None
        A name and its value, or a dict of several. None removes one.

    Yields
    ------
    None

    Raises
    ------
    ArgumentTypeError
        If the arguments are something else.

    Examples
    --------
    >>> import os
    >>> with mx.test_utils.environment("CYNET_HOME", "elsewhere"):
    ...     os.path.expandvars("$CYNET_HOME")
    'elsewhere'
    >>> with mx.test_utils.environment({"OMP_NUM_THREADS": "1", "CYNET_HOME": None}):
    ...     os.path.expandvars("$OMP_NUM_THREADS $CYNET_HOME")
    '1 $CYNET_HOME'
    """
    if len(args) == 1 and isinstance(args[0], dict):
        wanted = args[0]
    elif len(args) == 2:
        wanted = {args[0]: args[1]}
    else:
        raise ArgumentTypeError("environment takes a name and a value, or a dict of them")
    with ExitStack() as stack:
        for name, value in wanted.items():
            stack.enter_context(config.environment(name, value))
        yield


@contextmanager
def discard_stderr() -> Any:
    """Discard output to stderr in a ``with`` statement, also that of C code.

    Yields
    ------
    None

    Examples
    --------
    >>> import os
    >>> with mx.test_utils.discard_stderr():
    ...     _ = os.write(2, b"not seen")
    """
    saved, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(saved, 2)
        os.close(nowhere)
        os.close(saved)


class DummyIter(DataIter):
    """Repeats the first batch of an iterator forever, to time training without reading.

    Parameters
    ----------
    real_iter : DataIter
        Its first batch is read at once.

    Raises
    ------
    ArgumentTypeError
        If it is not a DataIter.

    Examples
    --------
    >>> batches = mx.io.NDArrayIter(np.arange(6), batch_size=2)
    >>> same = mx.test_utils.DummyIter(batches)
    >>> same.next().data[0].asnumpy(), same.next().data[0].asnumpy()
    (array([0., 1.], dtype=float32), array([0., 1.], dtype=float32))
    """

    def __init__(self, real_iter: DataIter) -> None:
        if not isinstance(real_iter, DataIter):
            raise ArgumentTypeError(f"DummyIter takes a DataIter, got {shown(real_iter)}")
        super().__init__(real_iter.batch_size)
        self.real_iter = real_iter
        self.provide_data = real_iter.provide_data
        self.provide_label = real_iter.provide_label
        self.the_batch = next(real_iter)

    def next(self) -> DataBatch:
        """The batch."""
        return self.the_batch


def check_speed(
    sym: Symbol,
    location: dict[str, ArrayLike] | None = None,
    ctx: ContextLike | None = None,
    N: int = 20,
    grad_req: GradReq | None = None,
    typ: str = "whole",
    **kwargs: Any,
) -> float:
    """Measure the seconds of one run of a symbol: the mean of `N` runs.

    Parameters
    ----------
    sym : Symbol
        The symbol to time.
    location : dict of str to array, optional
        Values of arguments; drawn from a normal distribution by default.
    N : int
        Number of runs.
    grad_req : str, optional
        What to do with gradients; ``'write'`` by default.
    typ : str
        What to time: ``'whole'``, forward and backward, or ``'forward'``, prediction.
    **kwargs
        Shapes of arguments, if there is no `location`.

    Raises
    ------
    ArgumentError
        If `typ` is another word.

    Examples
    --------
    >>> net = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=10)
    >>> mx.test_utils.check_speed(net, N=2, x=(4, 8)) > 0
    True
    """
    if typ not in ("whole", "forward"):
        raise ArgumentError(f"check_speed: typ must be 'whole' or 'forward', got {shown(typ)}")
    ctx = default_context() if ctx is None else ctx
    shapes = {k: v.shape for k, v in location.items()} if location is not None else kwargs
    executor = simple_bind(sym, ctx, shapes, "write" if grad_req is None else grad_req)
    for name, array in executor.arg_dict.items():
        given = None if location is None else location.get(name)
        array[:] = np.random.normal(size=array.shape) if given is None else given

    def run_once():
        executor.forward(is_train=typ == "whole")
        if typ == "whole":
            executor.backward(executor.outputs)

    run_once()
    waitall()
    begin = time.perf_counter()
    for _ in range(N):
        run_once()
    waitall()
    return (time.perf_counter() - begin) / N


def compare_optimizer(
    opt1: Optimizer,
    opt2: Optimizer,
    shape: Shape | list[Shape],
    dtype: Any,
    w_stype: str = "default",
    g_stype: str = "default",
    rtol: float = 1e-4,
    atol: float = 1e-5,
    compare_states: bool = True,
    ntensors: int = 1,
) -> None:
    """Raise AssertionError unless two optimizers change random weights alike.

    Parameters
    ----------
    opt1, opt2 : Optimizer
        The optimizers to compare.
    shape : tuple of int, or a list of them
        Shape of the weight, or shapes of the weights.
    dtype : numpy dtype
        Type of the weights.
    w_stype, g_stype : str
        Storage types of the second optimizer's weights and gradients; those of the first are dense.
    rtol, atol : float
        Relative and absolute tolerance.
    compare_states : bool
        Whether to compare the states, too.
    ntensors : int
        Number of shapes in the list.

    Examples
    --------
    >>> a, b = (mx.optimizer.SGD(learning_rate=0.1, momentum=m) for m in (0.9, 0.9))
    >>> mx.test_utils.compare_optimizer(a, b, (3, 4), "float32")
    >>> other = mx.optimizer.SGD(learning_rate=0.2, momentum=0.9)
    >>> mx.test_utils.assert_exception(
    ...     mx.test_utils.compare_optimizer, AssertionError, a, other, (3, 4), "float32")
    """
    shapes = shape if isinstance(shape, list) else [shape]
    for i, each in enumerate(shapes):
        weight = rand_ndarray(each, w_stype, density=1, dtype=dtype)  # all rows
        grad = rand_ndarray(each, g_stype, dtype=dtype)
        weights = weight.copy().tostype("default"), weight
        grads = grad.copy().tostype("default"), grad
        states = []
        for optimizer, own, given in zip((opt1, opt2), weights, grads):
            state = optimizer.create_state_multi_precision(i, own)
            optimizer.update_multi_precision(i, own, given, state)
            states.append(state)
        if compare_states:
            compare_ndarray_tuple(*states, rtol=rtol, atol=atol)
        assert_almost_equal(*weights, rtol=rtol, atol=atol)


def is_cd_run() -> bool:
    """Return whether the variable CD_JOB is 1, as in MXNet's own continuous delivery.

    Examples
    --------
    >>> with mx.test_utils.environment("CD_JOB", "1"):
    ...     mx.test_utils.is_cd_run()
    True
    """
    return variable("CD_JOB") == "1"


def is_aarch64_run() -> bool:
    """Return whether this is a 64-bit ARM machine.

    Examples
    --------
    >>> import platform
    >>> mx.test_utils.is_aarch64_run() == (platform.machine() == "aarch64")
    True
    """
    return platform.machine() == "aarch64"


def has_tvm_ops() -> bool:
    """Return False: cynet has no operators of TVM.

    Examples
    --------
    >>> mx.test_utils.has_tvm_ops()
    False
    """
    return False


def is_op_runnable() -> bool:
    """Return True: in cynet all operators run on the default context.

    Examples
    --------
    >>> mx.test_utils.is_op_runnable()
    True
    """
    return True
