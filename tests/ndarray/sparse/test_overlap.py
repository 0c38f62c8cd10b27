"""Outputs and states that share memory with inputs: computed as if they did not, or refused."""

import numpy as np
import pytest

from cynet import nd
from cynet.base.errors import ArgumentError


@pytest.fixture
def rows():
    return nd.sparse.row_sparse_array((nd.array([[1.0, 2], [3, 4]]), [0, 2]), shape=(4, 2))


@pytest.mark.parametrize("name", ["square", "negative", "elemwise_add", "elemwise_mul"])
@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_an_input_as_output(rows, name, stype):
    array = rows.tostype("default").tostype(stype)
    given = [array] * (2 if "elemwise" in name else 1)
    want = getattr(np, {"elemwise_add": "add", "elemwise_mul": "multiply"}.get(name, name))
    want = want(*[array.asnumpy()] * len(given))
    getattr(nd.sparse, name)(*given, out=array)
    np.testing.assert_array_equal(array.asnumpy(), want)
    array.check_format()


def test_retain_in_place(rows):
    nd.sparse.retain(rows, nd.array([2, 3]), out=rows)
    assert rows.indices.asnumpy().tolist() == [2]


@pytest.mark.parametrize("whole", [True, False])
def test_a_product_over_its_operand(whole):
    matrix, dense = np.array([[1, 2], [0, 1]], "f"), nd.array([[1, 2], [3, 4]])
    want = matrix @ dense.asnumpy()
    out, part = (dense, slice(None)) if whole else (dense[0:1], slice(1))
    nd.sparse.dot(nd.array(matrix[part]).tostype("csr"), dense, out=out)
    np.testing.assert_array_equal(out.asnumpy(), want[part])


def test_a_gradient_within_the_weight():
    weight = nd.ones((3, 2))
    grad = nd.sparse.row_sparse_array((weight[0:1], [1]), shape=(3, 2))
    nd.sparse.sgd_update(weight, grad, lr=0.5, out=weight)
    assert weight.asnumpy().tolist() == [[1, 1], [0.5, 0.5], [1, 1]]


def test_states_of_one_memory_are_refused(rows):
    weight, state = nd.ones((4, 2)), nd.zeros((4, 2))
    for states in ((state, state), (weight, state), (state, state[:])):
        with pytest.raises(ArgumentError, match="share memory"):
            nd.sparse.adam_update(weight, rows, *states, lr=0.1, out=weight)
