"""Arrays without elements: an operator computes what NumPy does, or refuses; it never reads or
leaves memory that is not its own."""

import numpy as np
import pytest

import cynet as mx
from cynet.operator.checks.shapes import EMPTY, known_shape, plain_shape, unify_shapes
from cynet.operator.property import is_known, merge_shapes
from tests.operator.sweeps import check_sweep

PARTS = 2


@pytest.mark.parametrize("part", range(PARTS))
def test_every_operator(part):
    check_sweep("empty_sweep", part, PARTS, "computed and refused")


def test_a_known_length_of_0_is_not_unknown():
    assert known_shape((2, 3)) == (2, 3) and known_shape((0, 3))[0] is EMPTY
    assert (
        plain_shape(known_shape((0, 3))) == (0, 3)
        and type(plain_shape(known_shape((0,)))[0]) is int
    )
    assert is_known(known_shape((0, 3))) and not is_known((0, 3))
    assert merge_shapes(known_shape((0, 3)), (0, 0))[0] is EMPTY
    assert unify_shapes("x", known_shape((0,)), (0,))[0] is EMPTY
    for other in ((2, 3), (0, 4)):
        with pytest.raises(mx.base.MXNetError, match="do not agree"):
            merge_shapes(known_shape((0, 3)), other)


def test_arithmetic_of_a_length_of_0():
    n = EMPTY
    for made in (n * 3, 3 * n, n + 0, 0 + n, n // 2, n - 0, -n, sum([n, n]), n * n):
        assert made is EMPTY
    assert (n + 3, 3 + n, 3 - n, n - 3, n % 2, max(n, 1)) == (3, 3, 3, -3, 0, 1)
    assert n != 0 and n == n and bool(n) and n < 1 and f"{n}" == "0"
    for division in (lambda: 3 // n, lambda: 3 % n, lambda: n // 0, lambda: n // n):
        with pytest.raises(mx.base.MXNetError, match="length of 0"):
            division()


ones, zeros = mx.nd.ones, mx.nd.zeros
REFUSED = {
    "a slice and more": lambda: ones((2, 3))[0:0] + ones((2, 3)),
    "product": lambda: zeros((0, 3)) * ones((2, 3)),
    "comparison": lambda: zeros((0, 3)) > ones((2, 3)),
    "broadcast": lambda: mx.nd.broadcast_add(zeros((0, 3)), ones((2, 3))),
    "dot": lambda: mx.nd.dot(ones((3, 4)), zeros((0, 5))),
    "batch_dot": lambda: mx.nd.batch_dot(ones((2, 3, 4)), zeros((2, 0, 5))),
    "FullyConnected": lambda: mx.nd.FullyConnected(
        zeros((4, 0, 3)), ones((3, 6)), zeros((3,)), num_hidden=3
    ),
    "Pooling": lambda: mx.nd.Pooling(
        zeros((2, 3, 0, 4)), global_pool=True, pool_type="avg", kernel=(1, 1)
    ),
    "UpSampling": lambda: mx.nd.UpSampling(
        ones((1, 1, 2, 2)), zeros((0, 1, 2, 2)), scale=2, sample_type="nearest", num_args=2
    ),
    "batch_take": lambda: mx.nd.batch_take(zeros((0, 4)), mx.nd.array([0, 1, 2])),
    "SliceChannel": lambda: mx.nd.SliceChannel(zeros((2, 0)), num_outputs=3, squeeze_axis=True),
    "where": lambda: mx.nd.where(zeros((0,)), ones((2, 3)), ones((2, 3))),
    "scatter_nd": lambda: mx.nd.scatter_nd(ones((3,)), zeros((0, 3)), shape=(3, 4)),
    "gather_nd": lambda: mx.nd.gather_nd(ones((3,)), zeros((0, 3))),
    "take": lambda: mx.nd.take(zeros((0, 3)), zeros((2,))),
    "take that wraps": lambda: mx.nd.take(zeros((0, 3)), zeros((2,)), mode="wrap"),
    "Embedding": lambda: mx.nd.Embedding(zeros((2,)), zeros((0, 3)), input_dim=4, output_dim=3),
    "max": lambda: mx.nd.max(zeros((0, 3)), axis=0),
    "argmax": lambda: mx.nd.argmax(zeros((3, 0)), axis=1),
    "mean of integers": lambda: mx.nd.mean(zeros((0,), dtype="int32")),
    "topk": lambda: mx.nd.topk(zeros((3, 0))),
    "softmax_cross_entropy": lambda: mx.nd.softmax_cross_entropy(zeros((2, 0)), zeros((2,))),
    "reshape to more": lambda: zeros((0, 3)).reshape((2, 3)),
    "reshape with the rest": lambda: zeros((0, 3)).reshape((0, -1)),
    "edge": lambda: mx.nd.Pad(zeros((1, 1, 0, 2)), mode="edge", pad_width=(0,) * 4 + (1, 1, 0, 0)),
    "out": lambda: mx.nd.elemwise_add(zeros((0, 3)), zeros((0, 3)), out=ones((2, 3))),
}


TOLD = (
    *4 * ["do not broadcast: 0 against 2"],
    *2 * ["sums over lengths 4 and 0"],
    "weight has shape .3, 6.",
    "has no elements",
    "arg1 has 0 images",
    "do not agree",
    "squeeze_axis needs axis 1",
    "chooses rows of",
    *2 * ["name no axis"],
    *2 * ["no index is within it"],
    "weight has shape .0, 3.",
    *3 * ["has no elements"],
    "the axis has 0 elements",
    "has no elements",
    "cannot take shape",
    "does not say what -1",
    "no element at its edge",
    "out has shape .2, 3., expected .0, 3.",
)


@pytest.mark.parametrize("name, told", [*zip(REFUSED, TOLD, strict=True)])
def test_refused(name, told):
    with pytest.raises(mx.base.MXNetError, match=told):
        REFUSED[name]()


def test_a_large_read_past_an_empty_array_is_refused():
    with pytest.raises(mx.base.MXNetError, match=r"\(0, 64\)"):
        zeros((0, 64)) + ones((1 << 20, 64))


COMPUTED = {
    "sum": (lambda x: mx.nd.sum(x, axis=0), lambda x: x.sum(0), (0, 3)),
    "sum of all": (mx.nd.sum, lambda x: x.sum(keepdims=True).reshape(1), (0, 3)),
    "prod": (lambda x: mx.nd.prod(x, axis=1), lambda x: x.prod(1), (3, 0)),
    "norm": (lambda x: mx.nd.norm(x, axis=0), lambda x: np.linalg.norm(x, axis=0), (0, 3)),
    "max over nothing": (lambda x: mx.nd.max(x, axis=1), lambda x: x.max(1), (0, 3)),
    "dot": (lambda x: mx.nd.dot(x, x.T), lambda x: x @ x.T, (4, 0)),
    "concat": (
        lambda x: mx.nd.concat(x, ones((2, 3)), dim=0),
        lambda x: np.concatenate([x, np.ones((2, 3))]),
        (0, 3),
    ),
    "tile": (lambda x: mx.nd.tile(x, reps=(2, 2)), lambda x: np.tile(x, (2, 2)), (0, 3)),
    "transpose": (mx.nd.transpose, np.transpose, (0, 3)),
    "flatten": (mx.nd.flatten, lambda x: x.reshape(0, 12), (0, 3, 4)),
    "reshape": (lambda x: x.reshape((-1, 6)), lambda x: x.reshape(-1, 6), (0, 3)),
    "split": (lambda x: mx.nd.split(x, 3)[1], lambda x: np.split(x, 3, 1)[1], (0, 3)),
    "slice": (lambda x: mx.nd.slice_axis(x, 1, 1, 2), lambda x: x[:, 1:2], (0, 3)),
    "expand": (lambda x: mx.nd.expand_dims(x, 0), lambda x: x[None], (0, 3)),
    "exp": (mx.nd.exp, np.exp, (0, 3)),
    "softmax": (mx.nd.softmax, lambda x: x, (0, 3)),
    "scalar": (lambda x: x + 1, lambda x: x + 1, (0, 3)),
    "broadcast": (lambda x: x + ones((1, 3)), lambda x: x + 1, (0, 3)),
    "one_hot": (lambda x: mx.nd.one_hot(x, 4), lambda x: np.zeros((0, 4)), (0,)),
    "take": (lambda x: mx.nd.take(ones((2, 3)), x), lambda x: np.ones((2, 3))[x.astype(int)], (0,)),
    "cumsum": (lambda x: mx.nd.cumsum(x, axis=0), lambda x: x.cumsum(0), (0, 3)),
    "sort": (mx.nd.sort, np.sort, (0, 3)),
    "pad": (
        lambda x: mx.nd.Pad(x, mode="constant", pad_width=(0,) * 4 + (1, 1), constant_value=5),
        lambda x: np.pad(x, ((0, 0), (0, 0), (1, 1)), constant_values=5),
        (1, 2, 0),
    ),
    "Convolution": (
        lambda x: mx.nd.Convolution(x, ones((4, 3, 2, 2)), kernel=(2, 2), num_filter=4, no_bias=1),
        lambda x: np.zeros((0, 4, 4, 4)),
        (0, 3, 5, 5),
    ),
}


@pytest.mark.parametrize("name", COMPUTED)
def test_as_numpy(name):
    ours, numpys, shape = COMPUTED[name]
    found, expected = ours(zeros(shape)).asnumpy(), numpys(np.zeros(shape, "float32"))
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found, expected)


def test_mean_of_nothing_is_no_number():
    assert np.isnan(mx.nd.mean(zeros((0, 3)), axis=0).asnumpy()).tolist() == [True] * 3


def test_gradients_of_a_batch_of_0_are_zeros():
    data = mx.sym.Variable("data")
    net = mx.sym.FullyConnected(data, num_hidden=4, name="fc")
    net = mx.sym.Activation(net * 2 + 1, act_type="relu")
    args = {"data": zeros((0, 3)), "fc_weight": ones((4, 3)), "fc_bias": ones((4,))}
    grads = {name: mx.nd.full(value.shape, 7) for name, value in args.items()}
    exe = net.bind(mx.cpu(), args, grads)
    (out,) = exe.forward(is_train=True)
    assert out.shape == (0, 4)
    exe.backward([zeros((0, 4))])
    assert not grads["fc_weight"].asnumpy().any() and not grads["fc_bias"].asnumpy().any()
    exe = net.bind(mx.cpu(), args, {"fc_weight": grads["fc_weight"]}, {"fc_weight": "add"})
    grads["fc_weight"][:] = 7
    exe.forward(is_train=True)
    exe.backward([zeros((0, 4))])
    assert (grads["fc_weight"].asnumpy() == 7).all()


def test_bind_takes_arrays_as_they_are():
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    with pytest.raises(mx.base.MXNetError, match=r"\(0, 3\) and \(2, 3\)"):
        (a + b).bind(mx.cpu(), {"a": zeros((0, 3)), "b": ones((2, 3))})
    (out,) = (a + b).bind(mx.cpu(), {"a": zeros((0, 3)), "b": zeros((0, 3))}).forward()
    assert out.shape == (0, 3)


def test_declared_zeros_stay_unknown():
    a, b = mx.sym.Variable("a", shape=(0, 3)), mx.sym.Variable("b")
    net = a + b
    assert net.infer_shape(b=(2, 3))[0] == [(2, 3), (2, 3)]
    assert net.simple_bind(mx.cpu(), b=(2, 3)).arg_dict["a"].shape == (2, 3)
    with pytest.raises(mx.base.MXNetError, match="'a'"):
        net.simple_bind(mx.cpu(), b=(0, 3))


def test_custom_operators_get_empty_arrays():
    @mx.operator.register("empty_twice")
    class Prop(mx.operator.CustomOpProp):
        def infer_shape(self, in_shape):
            return in_shape, [in_shape[0], [in_shape[0][1]]], []

        def list_outputs(self):
            return ["twice", "sums"]

        def create_operator(self, ctx, shapes, dtypes):
            class Op(mx.operator.CustomOp):
                def forward(self, is_train, req, in_data, out_data, aux):
                    self.assign(out_data[0], req[0], in_data[0] * 2)
                    self.assign(out_data[1], req[1], mx.nd.sum(in_data[0], axis=0) + 1)

                def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
                    self.assign(in_grad[0], req[0], out_grad[0] * 2)

            return Op()

    twice, sums = mx.nd.Custom(zeros((0, 3)), op_type="empty_twice")
    assert twice.shape == (0, 3) and sums.asnumpy().tolist() == [1, 1, 1]
    net = mx.sym.Custom(mx.sym.Variable("x") + 1, op_type="empty_twice")[0]
    net = mx.sym.Custom(net, op_type="empty_twice")  # between them, memory of the executor's
    exe = net.bind(mx.cpu(), {"x": zeros((0, 3))}, {"x": zeros((0, 3))})
    assert [o.shape for o in exe.forward(is_train=True)] == [(0, 3), (3,)]
    exe.backward([zeros((0, 3)), ones((3,))])
    mx.nd.waitall()


@pytest.mark.parametrize("name", ["uniform", "normal", "gamma", "exponential", "poisson"])
def test_random_numbers_like_an_empty_array(name):
    like = getattr(mx.nd._internal, f"_random_{name}_like")
    assert like(zeros((0, 3))).shape == (0, 3)


def test_a_shape_with_0_as_parameter_stays_unknown():
    with pytest.raises(mx.base.MXNetError, match="not determined"):
        mx.nd.random.uniform(shape=(0, 3))
    assert mx.nd.zeros((0, 3)).shape == mx.nd.full((0, 3), 2).shape == (0, 3)


def test_shuffle_of_nothing():
    assert mx.nd.random.shuffle(zeros((0, 3))).shape == (0, 3)
    with pytest.raises(
        mx.base.MXNetError, match="has no elements, of which its output could be made"
    ):
        mx.nd.random.multinomial(zeros((2, 0)))
