"""Exact limits of parameters and shapes: the largest that is allowed, and one more; and settings
beside the usual ones."""

import numpy as np
import pytest

import cynet as mx
from cynet import nd
from cynet.base.errors import CynetError, ShapeError
from cynet.operator import get_operator

LOW, HIGH = -(2**63), 2**63 - 1


@pytest.mark.parametrize("number", [HIGH, HIGH - 1, LOW, LOW + 1, 2**53 + 1, -(2**53) - 1])
def test_integers_of_64_bits_beside_an_array_are_exact(number):
    zeros = nd.zeros(2, dtype="int64")
    assert (zeros + number).asnumpy().tolist() == [number] * 2
    assert (nd.ones(2, dtype="int64") * number).asnumpy().tolist() == [number] * 2
    assert nd._internal._plus_scalar(zeros, scalar=number).asnumpy().tolist() == [number] * 2
    net = mx.sym.Variable("x") + number
    for each in (net, mx.sym.load_json(net.tojson())):
        (found,) = each.eval(x=zeros)
        assert found.asnumpy().tolist() == [number] * 2


@pytest.mark.parametrize("repeat", [0, -1, -(2**63)])
def test_arange_repeats_once_at_least(repeat):
    for call in (
        lambda: nd.arange(3, repeat=repeat),
        lambda: nd._internal._arange(start=0, stop=3, repeat=repeat),
        lambda: mx.sym.arange(0, 3, repeat=repeat).eval(),
    ):
        with pytest.raises(CynetError, match="repeat"):
            call()
    assert nd.arange(2, repeat=1).asnumpy().tolist() == [0, 1]
    found = nd._internal._arange(start=0, stop=2, repeat=2)
    assert found.asnumpy().tolist() == [0, 0, 1, 1]


def test_an_index_gives_eight_axes_and_no_more():
    x = nd.arange(6).reshape((2, 3))
    got = x[None, None, :, None, None, :, None, None]
    assert got.shape == (1, 1, 2, 1, 1, 3, 1, 1)
    np.testing.assert_array_equal(got.asnumpy().ravel(), np.arange(6))
    rows = nd.zeros((3,) + (1,) * 6)  # 7 axes; an index of two axes gives 8
    assert rows[np.zeros((2, 2), "int64")].shape == (2, 2) + (1,) * 6
    for wrong in (lambda: x[(None,) * 7], lambda: rows[np.zeros((2, 2, 2), "int64")]):
        with pytest.raises(CynetError, match="8 axes"):
            wrong()


@pytest.mark.parametrize("op", ["broadcast_add", "broadcast_mul", "broadcast_maximum"])
def test_an_output_of_another_shape_than_the_broadcast_one(op):
    a, b = mx.sym.Variable("a", shape=(2, 1)), mx.sym.Variable("b", shape=(1, 3))
    prop = get_operator(op).prop()
    assert prop.infer_shape([(2, 1), (1, 3)], [(2, 3)])[1] == [(2, 3)]
    assert prop.infer_shape([(2, 1), (1, 3)], [(0, 3)])[1] == [(2, 3)]
    for wrong in ((2, 4), (1, 3), (2, 3, 1), (6,)):
        with pytest.raises(ShapeError, match=r"broadcast to \(2, 3\), the output is"):
            prop.infer_shape([(2, 1), (1, 3)], [wrong])
    net = mx.sym.elemwise_add(getattr(mx.sym, op)(a, b), mx.sym.Variable("c"))
    assert net.infer_shape(c=(2, 3))[1] == [(2, 3)]
    with pytest.raises(CynetError, match="the output is|do not agree"):
        net.infer_shape(c=(2, 4))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("alpha, beta", [(1, 0), (0, 1), (0, 0), (2, 0.5)])
def test_what_gemm_multiplies_by_0_is_not_looked_at(dtype, alpha, beta, rng):
    a, b, c = rng.random((2, 3)), rng.random((3, 4)), rng.random((2, 4))
    if alpha == 0:
        a[0, 0] = np.nan
    if beta == 0:
        c[:] = [[np.nan, np.inf, 1, 2]] * 2
    got = nd.linalg.gemm(
        *(nd.array(each, dtype=dtype) for each in (a, b, c)), alpha=alpha, beta=beta
    )
    want = (alpha * a @ b if alpha else 0) + (beta * c if beta else np.zeros((2, 4)))
    np.testing.assert_allclose(got.asnumpy(), want, 1e-5)


def test_types_of_two_outputs_tell_the_data():
    """Of the two dtypes of outputs the second is data's."""
    prop = get_operator("_sample_multinomial").prop(get_prob=True)
    assert prop.infer_type([None], ["int32", "float64"]) == (["float64"], ["int32", "float64"], [])
    assert prop.infer_type([None], [None, None]) == (["float32"], ["int32", "float32"], [])


def test_the_output_of_embedding_tells_its_indices():
    net = mx.sym.Embedding(mx.sym.var("a"), input_dim=6, output_dim=4, name="e")
    shapes, _, _ = (net + mx.sym.var("b")).infer_shape_partial(b=(2, 5, 4))
    assert shapes == [(2, 5), (6, 4), (2, 5, 4)]
    prop = get_operator("Embedding").prop(input_dim=6, output_dim=4)
    assert prop.infer_shape([None, None], [(2, 5, 4)])[0] == [(2, 5), (6, 4)]
    with pytest.raises(ShapeError, match="output has shape"):
        prop.infer_shape([(2, 5), None], [(2, 5, 3)])


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_sparse_indices_up_to_the_last(stype):
    """The last index is taken, the one after it refused, wherever indices come in."""

    def made(i):
        if stype == "csr":
            return nd.sparse.csr_matrix(([1.0], [i], [0, 1]), shape=(1, 5))
        return nd.sparse.row_sparse_array(([[1.0]], [i]), shape=(5, 1))

    assert made(4).asnumpy().ravel().tolist() == [0, 0, 0, 0, 1]
    rows = nd.ones((5, 1)).tostype("row_sparse")
    matrix = nd.ones((3, 5)).tostype("csr")
    one = nd.array([1])
    ways = {
        "used": lambda i: made(i).asnumpy(),
        "checked": lambda i: made(i).check_format(),
        "row": lambda i: nd.sparse.csr_matrix(([1.0], ([i], [0])), shape=(5, 2)),
        "column": lambda i: nd.sparse.csr_matrix(([1.0], ([0], [i])), shape=(2, 5)),
        "retain": lambda i: nd.sparse.retain(rows, nd.array([i])),
        "edge_id": lambda i: nd.contrib.edge_id(matrix, one, nd.array([i])),
    }
    for name, way in ways.items():
        way(4)
        for wrong in (5, -1):
            with pytest.raises(CynetError, match="expected .* 0 to 4.* found|which has 5"):
                way(wrong)
                pytest.fail(name)


def test_as_many_steps_as_a_narrow_length_counts():
    def ran(steps):
        return nd.RNN(
            nd.ones((steps, 1, 1)),
            nd.ones(4),
            nd.zeros((1, 1, 1)),
            nd.array([256], dtype="bfloat16"),
            mode="rnn_relu",
            state_size=1,
            num_layers=1,
            use_sequence_length=True,
        )

    assert ran(256).shape == (256, 1, 1)
    with pytest.raises(CynetError, match="258 places in 'sequence_length', of bfloat16"):
        ran(257)


def test_messages_name_the_input_that_does_not_fit():
    data, good, wrong = nd.ones((2, 4, 3)), nd.ones(2), nd.ones(3)
    for gamma, beta, name in ((wrong, good, "gamma"), (good, wrong, "beta")):
        with pytest.raises(ShapeError, match=rf": {name} has shape \(3,\)"):
            nd.GroupNorm(data, gamma, beta, num_groups=2)
    for h, s, name in (
        (nd.ones((1, 1, 4)), nd.ones((1, 4)), "h"),
        (nd.ones((1, 4)), nd.ones((1, 1, 4)), "s"),
    ):
        with pytest.raises(ShapeError, match=rf"'{name}' has shape \(1, 1, 4\)"):
            nd.contrib.count_sketch(nd.ones((2, 4)), h, s, out_dim=3)


def test_dtypes_of_indices_that_nothing_tells():
    names = {
        "_contrib_index_copy": (["float64", None, None], "int32"),
        "_sparse_retain": (["float64", None], "int64"),
        "take": (["float64", None], "float64"),
    }
    for name, (given, wanted) in names.items():
        params = {}
        assert get_operator(name).prop(**params).infer_type(given, [None])[0][1] == wanted
