"""Modules of MXNet's NumPy face that its own tests import: lists of functions, signatures."""

import inspect

import numpy as np
import pytest

import cynet as mx
from cynet import _numpy_op_doc
from cynet.numpy_dispatch_protocol import (
    _NUMPY_ARRAY_FUNCTION_LIST,
    _NUMPY_ARRAY_UFUNC_LIST,
    with_array_function_protocol,
    with_array_ufunc_protocol,
)
from cynet.numpy_op_signature import _get_builtin_op
from cynet.operator import get_all_registered_operators
from cynet.test_utils import use_np

TWO = """
add arctan2 copysign hypot subtract multiply true_divide power mod remainder maximum minimum matmul
equal not_equal less less_equal greater greater_equal append dot inner tensordot vdot outer
linalg.solve
"""
CALLS = {  # arguments of those that do not take one matrix alone
    **dict.fromkeys(TWO.split(), (2, {})),
    **dict.fromkeys(["lcm", "bitwise_and", "bitwise_or", "bitwise_xor"], (2, {"dtype": "int32"})),
    **dict.fromkeys(["invert", "bitwise_not", "unravel_index"], (1, {"dtype": "int32"})),
}
REST = {
    "broadcast_to": ((2, 2, 2),),
    "clip": (1, 2),
    "expand_dims": (0,),
    "insert": (1, 5.0),
    "reshape": ((4,),),
    "repeat": (2,),
    "roll": (1,),
    "split": (2,),
    "array_split": (2,),
    "hsplit": (2,),
    "vsplit": (2,),
    "swapaxes": (0, 1),
    "take": ([0, 1],),
    "tile": (2,),
    "quantile": (0.5,),
    "percentile": (50,),
    "delete": (0,),
    "resize": ((3, 2),),
    "pad": (1,),
    "full_like": (2,),
    "polyval": ([1.0, 2.0],),
    "unravel_index": ((9, 9),),
    "linalg.tensorinv": (1,),
    "linalg.tensorsolve": ([[1.0, 2.0]],),
}
LISTED = ("concatenate", "stack", "vstack", "hstack", "dstack", "column_stack")


def _operands(name, make):
    count, kind = CALLS.get(name, (1, {}))
    values = np.array([[0.25, 0.5], [0.1, 0.75]])
    x = make((values * 8).astype("int32") if kind else values.astype("float32"))
    if name in LISTED:
        return ([x, x],)
    if name == "einsum":
        return "ij,jk->ik", x, x
    if name in ("bincount",):
        return (make(np.array([1, 0, 2], "int32")),)
    if name in ("shares_memory", "may_share_memory", "broadcast_arrays"):
        return x, x
    if name == "arccosh":
        return (x + 1,)
    if name == "dsplit":
        return x.reshape(1, 2, 2), 2
    if name == "linalg.cholesky":
        return (make(np.array([[2, 1], [1, 2]], "float32")),)
    if name == "linalg.tensorinv":
        return x, 1
    if name == "linalg.tensorsolve":
        return x, make(np.ones(2, "float32"))
    if name == "diag_indices_from":
        return (x,)
    return (x,) * count + REST.get(name, ())


def _compared(found, expected):
    if isinstance(expected, (list, tuple)):
        assert len(found) == len(expected)
        for pair in zip(found, expected):
            _compared(*pair)
        return
    if isinstance(expected, (np.ndarray, np.generic)):
        assert isinstance(found, (mx.np.ndarray, bool))
        np.testing.assert_allclose(np.asarray(found), expected, rtol=2e-4, atol=1e-5)
    else:
        assert found == expected


@pytest.mark.parametrize("name", [*_NUMPY_ARRAY_FUNCTION_LIST, *_NUMPY_ARRAY_UFUNC_LIST])
def test_functions_of_numpy_take_our_arrays(name):
    function = np
    for word in name.split("."):
        function = getattr(function, word)
    expected = function(*_operands(name, lambda x: x))
    found = function(*_operands(name, mx.np.array))
    if name in ("empty_like",):
        assert type(found) is mx.np.ndarray and found.shape == expected.shape
    elif name in ("linalg.eig", "linalg.eigh"):  # vectors have any sign
        _compared([abs(each) for each in found], [abs(each) for each in expected])
    else:
        _compared(found, expected)


def test_the_decorators_and_lists():
    assert len(_NUMPY_ARRAY_FUNCTION_LIST) > 100 and len(_NUMPY_ARRAY_UFUNC_LIST) == 57
    for decorate in (with_array_function_protocol, with_array_ufunc_protocol):
        assert decorate(len) is len
        with pytest.raises(TypeError, match="a function is decorated"):
            decorate(1)


def test_signatures_of_registered_operators():
    names = [each for each in get_all_registered_operators() if each.startswith("_np_")]
    assert "_np_sum" in names
    for name in names:
        documented = getattr(_numpy_op_doc, name)
        assert str(_get_builtin_op(name).__signature__) == str(inspect.signature(documented))
        assert documented.__doc__
    found = _get_builtin_op("_np_sum")(mx.np.ones((2, 3)), axis=(1,))
    assert type(found) is mx.np.ndarray and found.tolist() == [3, 3]
    with pytest.raises(AttributeError, match="begin with _np_"):
        _get_builtin_op("Convolution")


def test_what_mxnet_leaves_to_numpy_is_there():
    assert "trim_zeros" in mx.np.fallback.__all__ and "qr" in mx.np.fallback_linalg.__all__
    for name in mx.np.fallback.__all__:
        assert getattr(mx.np.fallback, name) is getattr(mx.np, name)
    for name in mx.np.fallback_linalg.__all__:
        assert getattr(mx.np.fallback_linalg, name) is getattr(mx.np.linalg, name)
    with pytest.raises(AttributeError, match="no attribute 'sum'"):
        mx.np.fallback.sum  # noqa: B018


@use_np
def test_use_np_decorates_tests():
    assert mx.util.is_np_array() and mx.util.is_np_shape()
