"""Checks of symbols: expected values, numeric gradients, and other contexts and dtypes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ndarray as nd
from ..base.dtype import is_floating, name_of
from ..base.errors import ArgumentError
from ..context import cpu, num_gpus
from .compare import assert_almost_equal, default_context, get_atol, get_rtol, to_numpy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..typing import (
        ArrayLike,
        ContextLike,
        DTypeLike,
        Executor,
        GradReq,
        Inputs,
        NamedArrays,
        NDArray,
        NumpyArray,
        Symbol,
    )

__all__ = ["check_consistency", "check_numeric_gradient", "check_symbolic_backward"]
__all__ += ["check_symbolic_forward", "list_gpus", "numeric_grad", "simple_forward"]

_NUMERIC_STEPS = {"float16": 1.0 / 2**6, "float32": 1.0 / 2**9, "float64": 1.0 / 2**14}  # eps


def list_gpus() -> Sequence[int]:
    """List the indices of available GPUs; empty without a GPU.

    Examples
    --------
    >>> len(mx.test_utils.list_gpus()) == mx.context.num_gpus()
    True
    """
    return range(num_gpus())


def simple_forward(
    sym: Symbol, ctx: ContextLike | None = None, is_train: bool = False, **inputs: ArrayLike
) -> Any:
    """Compute the outputs of a symbol for NumPy inputs.

    Parameters
    ----------
    sym : Symbol
        The network to compute.
    is_train : bool
        Whether forward runs in training mode.
    **inputs
        A NumPy array for each argument, by name.

    Returns
    -------
    numpy.ndarray or list of numpy.ndarray
        The array of a single output, else a list.

    Examples
    --------
    >>> net = mx.sym.var("a") * mx.sym.var("b")
    >>> mx.test_utils.simple_forward(net, a=np.array([1, 2]), b=np.array([3, 4]))
    array([3., 8.], dtype=float32)
    """
    ctx = ctx or default_context()
    arrays = {name: nd.array(value, ctx=ctx) for name, value in inputs.items()}
    executor = sym.bind(ctx, args=arrays)
    executor.forward(is_train=is_train)
    outputs = [output.asnumpy() for output in executor.outputs]
    return outputs[0] if len(outputs) == 1 else outputs


def _arrays_by_name(what, given, names, ctx, dtype):
    """Make a dict of name to NDArray from a list in the order of `names`, or a dict."""
    if given is None:
        return {}
    if isinstance(given, dict):
        if set(given) != set(names):
            raise ArgumentError(f"{what} names {sorted(given)}, the symbol has {sorted(names)}")
    elif len(given) != len(names):
        raise ArgumentError(f"{what} has {len(given)} arrays, the symbol takes {list(names)}")
    else:
        given = dict(zip(names, given))
    out = {}
    for name in names:
        value = to_numpy(given[name])
        kind = dtype if dtype is not None and value.dtype.kind == "f" else value.dtype
        out[name] = nd.array(value, ctx=ctx, dtype=kind)
    return out


def _prepare_inputs(sym, location, aux_states, ctx, dtype):
    """Return (arguments, states, dtype of floats); the dtype "asnumpy" leaves dtypes unchanged."""
    dtype = None if isinstance(dtype, str) and dtype == "asnumpy" else dtype
    args = _arrays_by_name("location", location, sym.list_arguments(), ctx, dtype)
    auxs = _arrays_by_name("aux_states", aux_states, sym.list_auxiliary_states(), ctx, dtype)
    own = (each.dtype for each in args.values() if is_floating(each.dtype))
    return args, auxs, next(own, np.float32) if dtype is None else dtype


def check_symbolic_forward(
    sym: Symbol,
    location: Inputs,
    expected: Inputs,
    rtol: float | None = None,
    atol: float | None = None,
    aux_states: Inputs | None = None,
    ctx: ContextLike | None = None,
    equal_nan: bool = False,
    dtype: DTypeLike = np.float32,
) -> list[NDArray]:
    """Compare the outputs of a symbol with expected values; returns the outputs.

    Parameters
    ----------
    sym : Symbol
        The symbol to check.
    expected : list or dict of array
        Expected outputs, in order or by name.
    dtype : numpy dtype
        Type of the arguments that have a floating type; ``'asnumpy'`` leaves each its own.

    Raises
    ------
    AssertionError
        If an output differs from what is expected.
    ArgumentError
        If `location` or `aux_states` do not fit the symbol.

    Examples
    --------
    >>> net = mx.sym.square(mx.sym.var("x"))
    >>> mx.test_utils.check_symbolic_forward(net, [np.array([1., 2.])], [np.array([1., 4.])])
    [
    [1. 4.]
    <NDArray 2 @cpu(0)>]
    """
    ctx = ctx or default_context()
    args, auxs, dtype = _prepare_inputs(sym, location, aux_states, ctx, dtype)
    names = sym.list_outputs()
    if isinstance(expected, dict):
        expected = [expected[name] for name in names]
    executor = sym.bind(ctx, args=args, grad_req="null", aux_states=auxs)
    outputs = executor.forward(is_train=False)
    for name, found, wanted in zip(names, outputs, expected):
        assert_almost_equal(
            wanted, found, rtol, atol, (f"EXPECTED_{name}", f"FORWARD_{name}"), equal_nan
        )
    return outputs


def check_symbolic_backward(
    sym: Symbol,
    location: Inputs,
    out_grads: Inputs | None,
    expected: Inputs,
    rtol: float | None = None,
    atol: float | None = None,
    aux_states: Inputs | None = None,
    grad_req: GradReq = "write",
    ctx: ContextLike | None = None,
    grad_stypes: Any = None,
    equal_nan: bool = False,
    dtype: DTypeLike = np.float32,
) -> NamedArrays:
    """Compare the gradients of a symbol's arguments with expected values; returns them.

    Parameters
    ----------
    sym : Symbol
        The symbol to check.
    out_grads : list or dict of array, or None
        Gradients of its outputs; None for ones.
    expected : list or dict of array
        Expected gradients of the arguments; a dict may leave some out.
    grad_req : str, list or dict
        What to do with gradients; with ``'add'`` the expected gradient is added to random values.
    grad_stypes : optional
        Part of MXNet's signature; matters for sparse gradients only.
    dtype : numpy dtype
        Type of the arguments that have a floating type; ``'asnumpy'`` leaves each its own.

    Raises
    ------
    AssertionError
        If a gradient differs from what is expected.
    ArgumentError
        If `location` or `aux_states` do not fit the symbol.

    Examples
    --------
    >>> net = mx.sym.square(mx.sym.var("x"))
    >>> x, ones = np.array([1., 2.]), np.ones(2)
    >>> found = mx.test_utils.check_symbolic_backward(net, {"x": x}, [ones], {"x": 2 * x})
    >>> found["x"].asnumpy()
    array([2., 4.], dtype=float32)
    """
    ctx = ctx or default_context()
    args, auxs, dtype = _prepare_inputs(sym, location, aux_states, ctx, dtype)
    names = sym.list_arguments()
    if not isinstance(expected, dict):
        expected = dict(zip(names, expected))
    if isinstance(grad_req, str):
        requests = dict.fromkeys(names, grad_req)
    else:
        requests = dict(grad_req) if isinstance(grad_req, dict) else dict(zip(names, grad_req))
    before = {
        name: np.random.normal(size=args[name].shape).astype(args[name].dtype) for name in expected
    }
    grads = {name: nd.array(value, ctx=ctx, dtype=value.dtype) for name, value in before.items()}
    requests = {name: requests.get(name, "null") if name in expected else "null" for name in names}
    executor = sym.bind(ctx, args=args, args_grad=grads, grad_req=requests, aux_states=auxs)
    executor.forward(is_train=True)
    if out_grads is not None:
        if isinstance(out_grads, dict):
            out_grads = [out_grads[name] for name in sym.list_outputs()]
        out_grads = [
            nd.array(to_numpy(each), ctx=ctx, dtype=output.dtype)
            for each, output in zip(out_grads, executor.outputs)
        ]
    if any(request != "null" for request in requests.values()):
        executor.backward(out_grads)
    for name, wanted in expected.items():
        if requests[name] == "add":
            wanted = to_numpy(wanted) + before[name]
        elif requests[name] == "null":
            wanted = before[name]
        assert_almost_equal(
            wanted, grads[name], rtol, atol, (f"EXPECTED_{name}", f"BACKWARD_{name}"), equal_nan
        )
    return grads


def numeric_grad(
    executor: Executor,
    location: NamedArrays,
    aux_states: NamedArrays | None = None,
    eps: float = 1e-4,
    use_forward_train: bool = True,
    dtype: DTypeLike = np.float32,
) -> dict[str, NumpyArray]:
    """Compute gradients of the sum of an executor's outputs by central differences.

    Parameters
    ----------
    executor : Executor
        Bound symbol whose arguments are varied.
    location : dict of str to numpy.ndarray
        Arguments to vary, and the values at which to do it.
    aux_states : dict of str to array, optional
        Auxiliary states, which are restored before every forward.
    eps : float
        Distance between the two points.
    dtype : numpy dtype
        Part of MXNet's signature; sums are taken in float64.

    Examples
    --------
    >>> net = mx.sym.square(mx.sym.var("x"))
    >>> executor = net.simple_bind(mx.cpu(), x=(2,))
    >>> found = mx.test_utils.numeric_grad(executor, {"x": np.float32([1, 2])}, eps=2**-7)
    >>> found["x"].round(2)
    array([2., 4.])
    """

    def sum_outputs():
        for name, value in (aux_states or {}).items():
            executor.aux_dict[name][:] = value
        outputs = executor.forward(is_train=use_forward_train)
        return sum(float(output.asnumpy().sum(dtype=np.float64)) for output in outputs)

    for name, value in location.items():
        executor.arg_dict[name][:] = value
    grads = {}
    for name, value in location.items():
        point = np.array(value)
        if point.dtype.kind != "f":
            continue
        grad = np.zeros(point.shape)
        for i in range(point.size):
            at = point.flat[i]
            point.flat[i] = at + eps / 2
            high = point.flat[i]
            executor.arg_dict[name][:] = point
            above = sum_outputs()
            point.flat[i] = at - eps / 2
            low = point.flat[i]
            executor.arg_dict[name][:] = point
            below = sum_outputs()
            point.flat[i] = at
            grad.flat[i] = (above - below) / (float(high) - float(low))
        executor.arg_dict[name][:] = point
        grads[name] = grad
    return grads


def check_numeric_gradient(
    sym: Symbol,
    location: Inputs,
    aux_states: Inputs | None = None,
    numeric_eps: float | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    grad_nodes: Sequence[str] | Mapping[str, str] | None = None,
    use_forward_train: bool = True,
    ctx: ContextLike | None = None,
    grad_stype_dict: Any = None,
    dtype: DTypeLike = np.float32,
) -> None:
    """Compare a symbol's gradients with central differences, along a random projection.

    Parameters
    ----------
    sym : Symbol
        A symbol with one output.
    numeric_eps : float, optional
        Distance between the two points; by default as the dtype allows.
    grad_nodes : list of str or dict of str to grad_req, optional
        Arguments to check; by default those of a floating type, or all where none is. Integers
        among them become `dtype`.
    grad_stype_dict : optional
        Part of MXNet's signature; matters for sparse gradients only.
    dtype : numpy dtype
        Type of the arguments that are checked.

    Raises
    ------
    AssertionError
        If a gradient differs from the differences.
    ArgumentError
        If the symbol has several outputs, or `location` or `aux_states` do not fit it.

    Examples
    --------
    >>> net = mx.sym.tanh(mx.sym.var("x") * mx.sym.var("y"))
    >>> point = {"x": np.array([0.5, -1]), "y": np.array([1, 0.25])}
    >>> mx.test_utils.check_numeric_gradient(net, point, dtype="float64")
    """
    ctx = ctx or default_context()
    args, auxs, dtype = _prepare_inputs(sym, location, aux_states, ctx, dtype)
    eps = _NUMERIC_STEPS[name_of(dtype)] if numeric_eps is None else numeric_eps
    atol = get_atol(atol, dtype)
    rtol = get_rtol(rtol, dtype)
    names = sym.list_arguments()
    if grad_nodes is None:
        floating = [n for n in names if is_floating(args[n].dtype)]
        requests = dict.fromkeys(floating or names, "write")
    elif isinstance(grad_nodes, dict):
        requests = dict(grad_nodes)
    else:
        requests = dict.fromkeys(grad_nodes, "write")
    requests = {name: requests.get(name, "null") for name in names}
    checked = [name for name in names if requests[name] != "null"]
    for name in checked:
        if not is_floating(args[name].dtype):
            args[name] = args[name].astype(dtype)

    _, out_shapes, _ = sym.infer_shape(**{name: value.shape for name, value in args.items()})
    if len(out_shapes) != 1:
        raise ArgumentError(f"check_numeric_gradient takes one output, found {sym.list_outputs()}")
    before = {
        name: np.random.normal(0, 0.01, args[name].shape).astype(args[name].dtype)
        for name in checked
    }
    grads = {name: nd.array(value, ctx=ctx, dtype=value.dtype) for name, value in before.items()}
    executor = sym.bind(ctx, args=dict(args), args_grad=grads, grad_req=requests, aux_states=auxs)
    states = {name: value.asnumpy() for name, value in auxs.items()}
    executor.forward(is_train=True)
    output = executor.outputs[0]
    # random weights, so that errors of two entries cannot cancel
    projection = np.random.normal(size=out_shapes[0]).astype(output.dtype)
    executor.backward([nd.array(projection, ctx=ctx, dtype=projection.dtype)])
    found = {name: grads[name].asnumpy() for name in checked}

    probe = _ScaledExecutor(sym.bind(ctx, args=args, grad_req="null", aux_states=auxs), projection)
    location = {name: args[name].asnumpy() for name in checked}
    numeric = numeric_grad(probe, location, states, eps, use_forward_train, dtype)
    for name in checked:
        wanted = numeric[name] + (before[name] if requests[name] == "add" else 0)
        assert_almost_equal(
            wanted, found[name], rtol, atol, (f"NUMERICAL_{name}", f"BACKWARD_{name}")
        )


class _ScaledExecutor:  # executor whose output is weighted
    """Wraps an executor: its output is multiplied by given weights."""

    def __init__(self, executor, weights):
        self.arg_dict, self.aux_dict = executor.arg_dict, executor.aux_dict
        self._executor, self._weights = executor, weights

    def forward(self, is_train):
        (output,) = self._executor.forward(is_train=is_train)
        return [_WeightedOutput(output.asnumpy(), self._weights)]


class _WeightedOutput:  # output times weights
    def __init__(self, values, weights):
        self._values = values.astype(np.float64) * weights

    def asnumpy(self):
        return self._values


def check_consistency(
    sym: Symbol | Sequence[Symbol],
    ctx_list: Sequence[dict[str, Any]],
    scale: float = 1.0,
    grad_req: GradReq = "write",
    arg_params: Any = None,
    aux_params: Any = None,
    rtol: Any = None,
    atol: Any = None,
    raise_on_err: bool = True,
    ground_truth: Any = None,
    equal_nan: bool = False,
    use_uniform: bool = False,
    rand_type: DTypeLike = np.float64,
) -> Any:
    """Compare a symbol's outputs and gradients over contexts and dtypes.

    Parameters
    ----------
    sym : Symbol or list of Symbol
        One symbol for all entries of `ctx_list`, or one for each.
    ctx_list : list of dict
        Devices, shapes and types: ``{'ctx': mx.cpu(), 'data': (2, 3), 'type_dict': {'data':
        np.float64}}``.
    scale : float
        Scale of the random arguments.
    grad_req : str or dict
        What to do with gradients: ``'write'``, ``'add'`` or ``'null'``, for all or by name.
    arg_params, aux_params : dict of array, optional
        Values of arguments and auxiliary states; random ones by default.
    rtol, atol : float or dict, optional
        Tolerances; by default as the coarsest dtype of an entry allows.
    raise_on_err : bool
        Whether to raise AssertionError; if False, only the return value tells.
    ground_truth : dict, optional
        Values to compare with; those of the finest dtype by default.
    use_uniform : bool
        Draw arguments from a uniform distribution instead of a normal one.
    rand_type : numpy dtype
        Type in which random arguments are drawn, before conversion.

    Returns
    -------
    dict of str to NDArray
        The ground truth.

    Raises
    ------
    AssertionError
        If two entries differ by more than the tolerances.
    ArgumentError
        If there is nothing to compare.

    Examples
    --------
    Is float16 near to float64?

    >>> net = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=3, name="fc")
    >>> kinds = [{"ctx": mx.cpu(), "x": (2, 4), "type_dict": {"x": kind}}
    ...          for kind in ("float64", "float16")]
    >>> truth = mx.test_utils.check_consistency(net, kinds, scale=0.5)
    >>> sorted(truth), truth["fc_output"].dtype
    (['fc_bias', 'fc_output', 'fc_weight', 'x'], <class 'numpy.float64'>)
    """
    if len(ctx_list) < 2 and ground_truth is None:
        raise ArgumentError("check_consistency compares two entries of ctx_list or more")
    symbols = sym if isinstance(sym, list) else [sym] * len(ctx_list)
    executors = [
        each.simple_bind(grad_req=grad_req, **entry) for each, entry in zip(symbols, ctx_list)
    ]
    draw = np.random.uniform if use_uniform else np.random.normal
    args, auxs = dict(arg_params or {}), dict(aux_params or {})
    for name, array in executors[0].arg_dict.items():
        if name not in args:
            low, high = (-scale, scale) if use_uniform else (0, scale)
            args[name] = draw(low, high, size=array.shape).astype(rand_type)
    for name in executors[0].aux_dict:
        auxs.setdefault(name, 0)
    dtypes = [np.dtype(each.outputs[0].dtype) for each in executors]
    results = [_run_executor(each, args, auxs, grad_req) for each in executors]
    best = int(np.argmax([dtype.itemsize for dtype in dtypes]))
    truth = ground_truth or results[best]
    for i, (dtype, found) in enumerate(zip(dtypes, results)):
        if ground_truth is None and i == best:
            continue
        r = get_rtol(rtol.get(dtype) if isinstance(rtol, dict) else rtol, dtype)
        a = get_atol(atol.get(dtype) if isinstance(atol, dict) else atol, dtype)
        for name, value in found.items():
            try:
                assert_almost_equal(
                    value, truth[name], r, a, (f"{ctx_list[i]} {name}", "truth"), equal_nan
                )
            except AssertionError:
                if raise_on_err:
                    raise
    return truth


def _run_executor(executor, args, auxs, grad_req):
    """Run an executor; return outputs and, unless grad_req is 'null', gradients on the CPU."""
    for name, value in args.items():
        array = executor.arg_dict[name]
        array[:] = to_numpy(value).astype(array.dtype)
    for name, value in auxs.items():
        executor.aux_dict[name][:] = to_numpy(value) if hasattr(value, "shape") else value
    for grad in executor.grad_dict.values():
        if grad is not None:
            grad[:] = 0
    executor.forward(is_train=grad_req != "null")
    named = dict(executor.output_dict)
    if grad_req != "null":
        executor.backward([output.copy() for output in executor.outputs])
        named.update({n: g for n, g in executor.grad_dict.items() if g is not None})
    return {name: array.as_in_context(cpu()).copy() for name, array in named.items()}
