"""Numbers of places may have any dtype: the result is that of int64, or the dtype is refused."""

import numpy as np
import pytest

from cynet import nd
from cynet.base.errors import CynetError

DTYPES = ["float16", "float32", "float64", "int8", "uint8", "int32", "bool", "bfloat16"]
X = np.arange(24, dtype="float32").reshape(2, 3, 4) * 1.5 - 7
ONES = np.array([1, 0])  # what bool holds, too
# a call of an operator by its data and its places, and the places
CALLS = {
    "Embedding": (lambda x, i: nd.Embedding(i, x[0], input_dim=3, output_dim=4), ONES),
    "take": (lambda x, i: nd.take(x, i, axis=1), ONES),
    "take wrap": (lambda x, i: nd.take(x, i, axis=2, mode="wrap"), ONES),
    "pick": (lambda x, i: nd.pick(x[:, 0], i), ONES),
    "batch_take": (lambda x, i: nd.batch_take(x[:, 0], i), ONES),
    "gather_nd": (lambda x, i: nd.gather_nd(x, i), ONES[:, None]),
    "scatter_nd": (lambda x, i: nd.scatter_nd(x[:, 0, 0], i, shape=(3,)), ONES[None]),
    "one_hot": (lambda x, i: nd.one_hot(i, depth=3), ONES),
    "index_copy": (lambda x, i: nd.contrib.index_copy(x[0], i, x[1, :2]), ONES),
    "SequenceMask": (lambda x, i: nd.SequenceMask(x, i, True, axis=1), ONES),
    "SequenceLast": (lambda x, i: nd.SequenceLast(x, i, True), np.array([1, 1, 1])),
    "SequenceReverse": (lambda x, i: nd.SequenceReverse(x, i, True), np.array([1, 1, 1])),
    "ravel": (lambda x, i: nd.ravel_multi_index(i, shape=(2, 3)), np.array([[1, 0], [1, 1]])),
    "unravel": (lambda x, i: nd.unravel_index(i, shape=(2, 3)), ONES),
    "x[i]": (lambda x, i: x[i], ONES),
    "x[i] = 1": (lambda x, i: assigned(x, i), ONES),
    "choose": (lambda x, i: nd.choose_element_0index(x[:, 0], i), ONES),
    "embedding of bytes": (lambda x, i: nd.Embedding(i, x[0].astype("float64"), 3, 4), ONES),
}


def assigned(x, i):
    x[i] = 1
    return x


@pytest.mark.parametrize("name", CALLS)
def test_any_dtype_is_as_int64(name):
    call, places = CALLS[name]
    if name.startswith("x[") and places is ONES:  # a bool array is a mask, as in NumPy
        dtypes = [dtype for dtype in DTYPES if dtype != "bool"]
    else:
        dtypes = DTYPES
    want, given = call(nd.array(X), nd.array(places, dtype="int64")).asnumpy(), 0
    for dtype in dtypes:
        try:
            got = call(nd.array(X), nd.array(places).astype(dtype)).astype("float64").asnumpy()
        except CynetError as error:
            assert dtype in str(error), error
            continue
        given += 1
        np.testing.assert_array_equal(got, want, err_msg=dtype)
    assert given, f"{name} takes no dtype but int64"
