"""Each operator written to ONNX: onnxruntime computes what cynet does, and so does what is read."""

from functools import cache

import numpy as np
import pytest

import cynet as mx

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")
S = mx.sym
I4 = (2, 4, 7, 8)


@cache
def v(name="data"):
    return S.var(name)


def w(name, shape):
    return S.var(name, shape=shape)


def case(label, symbol, *shapes, low=None, high=1.0, ints=False):
    low = (0 if ints else -1.0) if low is None else low
    return pytest.param(symbol, shapes, low, high, ints, id=label)


def pooled(**kwargs):
    return S.Pooling(v(), **kwargs)


def conv(shape=I4, **kwargs):
    return S.Convolution(v(), **kwargs)


def rnn(mode, layers, both, width=3, hidden=4):
    states = [S.var(f"state_{i}") for i in range(2 if mode == "lstm" else 1)]
    return S.RNN(
        v(),
        S.var("flat"),
        *states,
        mode=mode,
        num_layers=layers,
        state_size=hidden,
        bidirectional=both,
        state_outputs=True,
    )


ELEMENTWISE = [
    "relu",
    "sigmoid",
    "tanh",
    "exp",
    "abs",
    "negative",
    "floor",
    "ceil",
    "rint",
    "round",
    "trunc",
    "fix",
    "sin",
    "cos",
    "arctan",
    "sinh",
    "cosh",
    "arcsinh",
    "erf",
    "sign",
    "softsign",
    "square",
    "cbrt",
    "expm1",
    "degrees",
    "radians",
    "logical_not",
    "hard_sigmoid",
]
POSITIVE = [
    "log",
    "sqrt",
    "rsqrt",
    "rcbrt",
    "reciprocal",
    "log2",
    "log10",
    "log1p",
    "arcsin",
    "arccos",
    "tan",
    "arctanh",
]
PAIRS = [
    "broadcast_add",
    "broadcast_sub",
    "broadcast_mul",
    "broadcast_div",
    "broadcast_maximum",
    "broadcast_minimum",
    "broadcast_equal",
    "broadcast_not_equal",
    "broadcast_greater",
    "broadcast_lesser_equal",
    "broadcast_logical_and",
    "broadcast_logical_or",
    "broadcast_logical_xor",
]

CASES = [
    *(case(f, getattr(S, f)(v()), (3, 4)) for f in ELEMENTWISE),
    *(case(f, getattr(S, f)(v()), (3, 4), low=0.1, high=0.9) for f in POSITIVE),
    *(case(f, getattr(S, f)(v(), v("b")), (2, 3, 4), (2, 1, 4)) for f in PAIRS),
    case("power", S.broadcast_power(v(), v("b")), (3, 4), (3, 1), low=0.5, high=2),
    case("scalars", (2 - v() * 3 + 1) / 4 - 5 / (v() + 9), (3, 4)),
    case("compared with numbers", (v() > 0.1) + (v() <= -0.2) + (v() != 0.5), (3, 4)),
    case("rpower", 2 ** v() + (v() + 3) ** 2, (3, 4)),
    case("clip", S.clip(v(), -0.5, 0.25), (3, 4)),
    case("add_n", S.add_n(v(), v("b"), v("c")), (2, 3), (2, 3), (2, 3)),
    case("smooth_l1", S.smooth_l1(v(), scalar=2.0), (3, 4)),
    case("where", S.where(v() > 0, v("b"), v("c")), (2, 3), (2, 3), (2, 3)),
    case("cast", S.Cast(v() * 5, dtype="int32"), (3, 4)),
    case("like", S.zeros_like(v()) + S.ones_like(v()), (3, 4)),
    *(
        case(f"Activation {k}", S.Activation(v(), act_type=k), (3, 4))
        for k in ("relu", "sigmoid", "tanh", "softrelu", "softsign")
    ),
    *(
        case(f"LeakyReLU {k}", S.LeakyReLU(v(), act_type=k, slope=0.3), (2, 3, 4))
        for k in ("leaky", "elu", "selu", "gelu")
    ),
    case("prelu", S.LeakyReLU(v(), w("slope", (4,)), act_type="prelu"), I4),
    case("conv", conv(kernel=(3, 3), num_filter=5, stride=(2, 1), pad=(1, 2), name="c"), I4),
    case(
        "conv groups",
        conv(kernel=(3, 2), num_filter=6, num_group=2, dilate=(2, 1), no_bias=True, name="c"),
        I4,
    ),
    case("conv 1d", conv(kernel=(3,), num_filter=5, name="c"), (2, 4, 9)),
    case("conv 3d", conv(kernel=(2, 3, 3), num_filter=2, name="c"), (1, 2, 4, 5, 6)),
    case(
        "deconv",
        S.Deconvolution(
            v(), kernel=(3, 3), num_filter=5, stride=(2, 2), pad=(1, 1), adj=(1, 0), name="c"
        ),
        I4,
    ),
    case(
        "deconv last",
        S.Deconvolution(
            v(), kernel=(3, 2), num_filter=6, num_group=2, stride=(2, 1), layout="NHWC", name="c"
        ),
        I4,
    ),
    case("conv last", conv(kernel=(3, 2), num_filter=5, layout="NHWC", name="c"), I4),
    case("pool last", pooled(kernel=(3, 2), stride=(2, 1), layout="NHWC"), I4),
    case(
        "deconv target",
        S.Deconvolution(
            v(), kernel=(4, 4), num_filter=2, stride=(2, 2), target_shape=(13, 16), name="c"
        ),
        I4,
    ),
    *(
        case(
            f"pool {k} {c}",
            pooled(kernel=(3, 2), stride=(2, 3), pad=(1, 0), pool_type=k, pooling_convention=c),
            I4,
        )
        for k in ("max", "avg")
        for c in ("valid", "full")
    ),
    case(
        "pool avg uncounted",
        pooled(
            kernel=(3, 3),
            stride=(2, 2),
            pad=(1, 1),
            pool_type="avg",
            count_include_pad=False,
            pooling_convention="full",
        ),
        I4,
    ),
    *(
        case(
            f"pool v1 {k} {c}",
            S.Pooling_v1(
                v(), kernel=(3, 2), stride=(2, 3), pad=(1, 1), pool_type=k, pooling_convention=c
            ),
            I4,
        )
        for k, c in (("max", "valid"), ("max", "full"), ("avg", "full"), ("sum", "full"))
    ),
    case("pool v1 global", S.Pooling_v1(v(), global_pool=True, pool_type="sum"), I4),
    case("pool sum", pooled(kernel=(2, 2), pool_type="sum"), I4),
    *(
        case(f"pool global {k}", pooled(global_pool=True, pool_type=k, kernel=(1, 1)), I4)
        for k in ("max", "avg", "sum")
    ),
    case("dense", S.FullyConnected(v(), num_hidden=3, name="f"), I4),
    case(
        "dense last axis", S.FullyConnected(v(), num_hidden=3, flatten=False, name="f"), (2, 5, 4)
    ),
    case("batchnorm", S.BatchNorm(v(), fix_gamma=False, name="b"), I4),
    case("batchnorm fixed", S.BatchNorm(v(), eps=0.1, name="b"), I4),
    case("batchnorm last", S.BatchNorm(v(), axis=-1, fix_gamma=False, name="b"), (2, 5, 3)),
    case("instancenorm", S.InstanceNorm(v(), name="n"), I4),
    case("layernorm", S.LayerNorm(v(), name="n"), (2, 3, 5)),
    case("layernorm axis", S.LayerNorm(v(), axis=1, name="n"), (2, 3, 5)),
    *(
        case(f"l2 {m}", S.L2Normalization(v(), mode=m), I4)
        for m in ("instance", "channel", "spatial")
    ),
    case("lrn", S.LRN(v(), nsize=3, alpha=0.1), I4),
    case("softmax", S.softmax(v(), axis=1), (2, 3, 4)),
    case("softmax cold", S.softmax(v(), temperature=2.0), (2, 3, 4)),
    case("log_softmax", S.log_softmax(v()), (2, 3)),
    case("softmin", S.softmin(v()), (2, 3)),
    case("SoftmaxOutput", S.SoftmaxOutput(v(), name="softmax"), (2, 3)),
    case("SoftmaxOutput multi", S.SoftmaxOutput(v(), multi_output=True, name="softmax"), (2, 3, 4)),
    case("SoftmaxActivation", S.SoftmaxActivation(v(), mode="channel"), I4),
    case("logistic", S.LogisticRegressionOutput(v(), name="out"), (2, 3)),
    case("linear", S.LinearRegressionOutput(v() * 2, name="out"), (2, 3)),
    case("dropout", S.Dropout(v(), p=0.5) + 1, (2, 3)),
    case("input is output", v(), (2, 3)),
    case(
        "twice an output",
        S.Group([S.relu(v("a"), name="r"), v("a") + 1, S.BlockGrad(v("a"))]),
        (2, 3),
    ),
    case("upsampling", S.UpSampling(v(), scale=2, sample_type="nearest"), I4),
    case("crop", S.Crop(v(), h_w=(3, 4), center_crop=True), I4),
    case("reshape", S.reshape(v(), shape=(0, -1, 2)), (3, 4, 2)),
    case("reshape special", S.reshape(v(), shape=(-3, -2)), (3, 4, 2)),
    case("flatten", S.Flatten(v()), (2, 3, 4)),
    case("transpose", S.transpose(v(), axes=(2, 0, 1)), (2, 3, 4)),
    case("transpose all", S.transpose(v()), (2, 3, 4)),
    case("swapaxes", S.SwapAxis(v(), dim1=0, dim2=2), (2, 3, 4)),
    case("expand", S.expand_dims(v(), axis=-1), (2, 3)),
    case("squeeze", S.squeeze(v(), axis=1), (2, 1, 3)),
    case("squeeze all", S.squeeze(v()), (2, 1, 3, 1)),
    case(
        "slice", S.slice(v(), begin=(1, None, -3), end=(None, 2, None), step=(1, 1, 2)), (3, 4, 5)
    ),
    case("slice_axis", S.slice_axis(v(), axis=1, begin=-3, end=None), (3, 4)),
    case("slice_like", S.slice_like(v(), v("b"), axes=(1,)), (3, 4), (2, 2)),
    case(
        "split",
        S.Group(list(S.SliceChannel(v(), num_outputs=2, axis=1, squeeze_axis=False))),
        (3, 4),
    ),
    case(
        "split squeezed",
        S.SliceChannel(v(), num_outputs=2, axis=1, squeeze_axis=True)[1],
        (3, 2, 4),
    ),
    case("concat", S.Concat(v(), v("b"), dim=1), (2, 3), (2, 1)),
    case("stack", S.stack(v(), v("b"), axis=1), (2, 3), (2, 3)),
    case("tile", S.tile(v(), reps=(2, 1, 3)), (2, 3)),
    case("repeat", S.repeat(v(), repeats=3, axis=1), (2, 3)),
    case("repeat flat", S.repeat(v(), repeats=2), (2, 3)),
    *(
        case(
            f"pad {m}",
            S.pad(v(), mode=m, pad_width=(0, 0, 0, 0, 1, 2, 3, 1), constant_value=0.5),
            I4,
        )
        for m in ("constant", "edge", "reflect")
    ),
    case("broadcast_to", S.broadcast_to(v(), shape=(2, 3, 4)), (2, 1, 4)),
    case("broadcast_axis", S.broadcast_axis(v(), axis=1, size=3), (2, 1, 4)),
    case("reverse", S.reverse(v(), axis=1), (2, 3)),
    case("depth_to_space", S.depth_to_space(v(), block_size=2), I4),
    case("space_to_depth", S.space_to_depth(v(), block_size=2), (2, 3, 4, 6)),
    *(
        case(f"{r} {a} {k}", getattr(S, r)(v(), axis=a, keepdims=k), (2, 3, 4))
        for r in ("sum", "mean", "max", "min", "prod")
        for a, k in ((1, False), ((0, 2), True))
    ),
    case("sum all", S.sum(v()), (2, 3)),
    case("sum but one", S.sum(v(), axis=1, exclude=True), (2, 3, 4)),
    case("norm", S.norm(v(), ord=1, axis=1), (2, 3)),
    case("norm all", S.norm(v()), (2, 3)),
    case("argmax", S.argmax(v(), axis=1), (2, 3)),
    case("argmin keep", S.argmin(v(), axis=0, keepdims=True), (2, 3)),
    case("topk", S.topk(v(), k=2, ret_typ="value"), (3, 5)),
    case(
        "topk both", S.Group(list(S.topk(v(), k=2, axis=0, ret_typ="both", is_ascend=True))), (3, 5)
    ),
    case(
        "embedding",
        S.Embedding(v(), input_dim=6, output_dim=3, name="e"),
        (2, 4),
        high=6,
        ints=True,
    ),
    case("take", S.take(w("table", (6, 3)), v(), mode="wrap"), (2, 4), low=-3, high=9, ints=True),
    case("pick", S.pick(w("table", (2, 6)), v(), keepdims=True), (2,), high=6, ints=True),
    case("gather_nd", S.gather_nd(w("table", (3, 4, 2)), v()), (2, 5), high=3, ints=True),
    case("one_hot", S.one_hot(v(), depth=5, on_value=2.0), (2, 3), high=5, ints=True),
    case("sequence_reverse", S.SequenceReverse(v()), (4, 2, 3)),
    case(
        "constants",
        v() + S.ones((2, 3)) + S.reshape(S.arange(6) * 2, shape=(2, 3)) + S.zeros((2, 3)),
        (2, 3),
    ),
    case("dot", S.dot(v(), v("b"), transpose_b=True), (2, 3), (4, 3)),
    case("dot t", S.dot(v(), w("b", (3, 4)), transpose_a=True), (3, 2)),
    case("batch_dot", S.batch_dot(v(), v("b"), transpose_b=True), (2, 3, 4), (2, 5, 4)),
    *(
        case(
            f"rnn {m} {n} {b}",
            rnn(m, n, b),
            (5, 2, 3),
            *[(n * (2 if b else 1), 2, 4)] * (2 if m == "lstm" else 1),
        )
        for m in ("lstm", "gru", "rnn_tanh", "rnn_relu")
        for n, b in ((1, False), (2, True))
    ),
]


def values(rng, shape, low, high, ints):
    if ints:
        return rng.randint(int(low), int(high), shape).astype("float32")
    return rng.uniform(low, high, shape).astype("float32")


@pytest.mark.parametrize(("symbol", "shapes", "low", "high", "ints"), CASES)
def test_operator(symbol, shapes, low, high, ints, tmp_path):
    rng = np.random.RandomState(7)
    args = symbol.list_arguments()
    inputs = [n for n in args if n in ("data", "a", "b", "c") or n.startswith("state_")]
    if "table" in args or "slope" in args:
        inputs = ["data"]
    if "transpose_a" in symbol.tojson() and shapes == ((3, 2),):
        inputs = ["data"]
    labels = {n: (shapes[0][0],) for n in args if n.endswith("label")}
    given = dict(zip(inputs, shapes))
    found, _, states = symbol.infer_shape_partial(**given)
    params = {
        n: mx.nd.array(rng.uniform(-0.5, 0.5, s))
        for n, s in zip(args, found)
        if n not in given and n not in labels
    }
    aux = {
        n: mx.nd.array(rng.uniform(0.5, 1.5, s))
        for n, s in zip(symbol.list_auxiliary_states(), states)
    }
    data = {n: values(rng, s, low, high, ints) for n, s in given.items()}
    arrays = {**{n: mx.nd.array(x) for n, x in data.items()}, **params}
    for n, s in zip(args, symbol.infer_shape(**given)[0]):
        if n in labels:
            arrays[n] = mx.nd.zeros(s)
    wanted = symbol.bind(mx.cpu(), arrays, grad_req="null", aux_states=aux).forward()
    path = mx.onnx.export_model(
        symbol, [params, aux], list(shapes), onnx_file_path=tmp_path / "x.onnx"
    )
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [each.name for each in session.get_inputs()]
    for y, made in zip(wanted, session.run(None, {n: data[n] for n in names})):
        assert made.shape == y.shape and made.dtype == y.dtype
        np.testing.assert_allclose(made, y.asnumpy(), rtol=1e-4, atol=1e-5)
    read, read_args, read_aux = mx.onnx.import_model(path)
    feeds = {n: mx.nd.array(data[n]) for n in names}
    bound = read.bind(mx.cpu(), {**feeds, **read_args}, grad_req="null", aux_states=read_aux)
    again = bound.forward()
    assert len(again) == len(wanted)
    for y, made in zip(wanted, again):
        assert made.shape == y.shape
        np.testing.assert_allclose(made.asnumpy(), y.asnumpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("place", ["constant", "input"])
def test_negative_lengths(tmp_path, place):
    """The onnx package's own inference would end the process over them."""
    helper = onnx.helper
    node = helper.make_node("Slice", ["x", "begin", "end"], ["y"])
    values = [
        helper.make_tensor(n, onnx.TensorProto.INT64, [1], [v])
        for n, v in (("begin", 0), ("end", 2))
    ]
    x = helper.make_tensor_value_info(
        "x", onnx.TensorProto.FLOAT, (-5 if place == "input" else 5, 2)
    )
    y = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
    model = helper.make_model(helper.make_graph([node], "g", [x], [y], values))
    if place == "constant":
        model.graph.initializer[0].dims[0] = -1
    path = tmp_path / "net.onnx"
    path.write_bytes(model.SerializeToString())
    with pytest.raises(mx.errors.FormatError, match=r"has the shape \[-"):
        mx.onnx.import_model(path)
