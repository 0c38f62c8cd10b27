"""Operators that name or count places give right numbers, or refuse a dtype that cannot hold them,
naming it and the length."""

import numpy as np
import pytest

import cynet as mx
from cynet import nd
from cynet.base.errors import CynetError
from cynet.operator.checks.index_dtype import MAX_EXACT_INTS

N = 5000  # places; the one looked at names none of float16 (2048), bfloat16 (256) or of a byte
PLACE = 4097
NARROW = ("float16", "bfloat16", "uint8", "int8")
WIDE = ("float32", "float64", "int32", "int64")


FLOATS = ("float16", "bfloat16", "float32", "float64")


def t16(dtype):
    """What operators of float32 and narrow floats take."""
    return dtype if dtype in ("float16", "bfloat16") else "float32"


def peak(dtype, shape=(1, N)):
    """Zeros with one 1, at the place."""
    host = np.zeros(shape, "float32")
    host[..., PLACE] = 1
    return nd.array(host, dtype=dtype)


def place(dtype, shape=(1,)):
    return nd.array(np.full(shape, PLACE), dtype=dtype)


def class_of(loss):
    """Which class a loss trains."""

    def call(dtype):
        scores = nd.zeros((1, N))
        scores.attach_grad()
        with mx.autograd.record():
            out = loss(scores, place(dtype))
        out.backward()
        return scores.grad.argmin(axis=1)

    return call


def ctc(scores, label):
    # class N - 1 is the blank
    return nd.CTCLoss(scores.reshape((1, 1, N)), label.reshape((1, 1)), blank_label="last")


# Places that are written: the dtype is that of the data, or of the parameter.
WRITTEN = {
    "argmax": lambda t: nd.argmax(peak(t), axis=1),
    "argmax of all": lambda t: nd.argmax(peak(t), axis=None),
    "argmax keepdims": lambda t: nd.argmax(peak(t), axis=1, keepdims=True),
    "argmax of columns": lambda t: nd.argmax(peak(t).T, axis=0),
    "argmin": lambda t: nd.argmin(1 - peak(t), axis=1),
    "argmin of columns": lambda t: nd.argmin(1 - peak(t).T, axis=0),
    "argmax_channel": lambda t: nd.argmax_channel(peak(t)),
    "argmax method": lambda t: peak(t).argmax(axis=1),
    "topk": lambda t: nd.topk(peak("float32"), dtype=t),
    "topk of it": lambda t: nd.topk(peak(t)),
    "topk both": lambda t: nd.topk(peak("float32"), ret_typ="both", dtype=t)[1],
    "topk of columns": lambda t: nd.topk(peak("float32").T, axis=0, dtype=t),
    "argsort": lambda t: nd.argsort(peak("float32"), is_ascend=False, dtype=t)[:, 0],
    "argsort of it": lambda t: nd.argsort(peak(t), is_ascend=False)[:, 0],
    "bipartite_matching": lambda t: nd.contrib.bipartite_matching(
        peak(t if t in FLOATS else "float32"), threshold=0.5, is_ascend=False
    )[0],
    "MultiBoxTarget": lambda t: nd.contrib.MultiBoxTarget(
        nd.array([[[0, 0, 1, 1]]], dtype=t16(t)),
        nd.array([[[PLACE - 1, 0, 0, 1, 1]]]).astype(t16(t)),
        nd.zeros((1, N, 1), dtype=t16(t)),
    )[2],
    "MultiBoxDetection": lambda t: (
        nd.contrib.MultiBoxDetection(
            peak(t16(t)).reshape((1, N, 1)),
            nd.zeros((1, 4), dtype=t16(t)),
            nd.array([[[0, 0, 1, 1]]], dtype=t16(t)),
        )[0, 0, 0].astype("float32")
        + 1
    ),
    "ravel_multi_index": lambda t: nd.ravel_multi_index(
        nd.array([[4], [97]], dtype=t), shape=(50, 1000)
    ),
    "sample_multinomial": lambda t: nd.random.multinomial(peak("float32"), dtype=t),
    "shape_array": lambda t: nd.shape_array(nd.zeros((PLACE,), dtype=t)),
    "size_array": lambda t: nd.size_array(nd.zeros((PLACE,), dtype=t)),
    "index_array": lambda t: nd.contrib.index_array(nd.zeros((N,), dtype=t))[PLACE],
    "histogram": lambda t: nd.histogram(nd.zeros((PLACE,), dtype=t), bins=1, range=(-1, 1))[0],
    "mask": lambda t: nd.contrib.boolean_mask(nd.arange(N), peak(t)[0]),
}
# Places that are read, of which an index of that dtype may be another one.
READ = {
    "take": lambda t: nd.take(nd.arange(N), place(t)),
    "take of columns": lambda t: nd.take(nd.arange(N).reshape((1, N)), place(t), axis=1),
    "pick": lambda t: nd.pick(nd.arange(N).reshape((1, N)), place(t)),
    "batch_take": lambda t: nd.batch_take(nd.arange(N).reshape((1, N)), place(t)),
    "gather_nd": lambda t: nd.gather_nd(nd.arange(N), place(t, (1, 1))),
    "scatter_nd": lambda t: nd.scatter_nd(nd.ones(1), place(t, (1, 1)), shape=(N,)).argmax(axis=0),
    "one_hot": lambda t: nd.one_hot(place(t), N).argmax(axis=1),
    "Embedding": lambda t: nd.Embedding(
        place(t), nd.arange(N).reshape((N, 1)), input_dim=N, output_dim=1
    ),
    "fill_element_0index": lambda t: nd.fill_element_0index(
        nd.zeros((1, N), dtype=t), nd.ones(1, dtype=t), place(t)
    ).argmax(axis=1),
    "index_copy": lambda t: nd.contrib.index_copy(
        nd.zeros((N, 1)), place(t), nd.ones((1, 1))
    ).argmax(axis=0),
    "retain": lambda t: (
        nd.sparse.retain(nd.arange(N).reshape((N, 1)).tostype("row_sparse"), place(t))
        .tostype("default")
        .max(axis=0)
    ),
    "unravel_index": lambda t: nd.unravel_index(place(t), shape=(N,)),
    "SequenceMask": lambda t: nd.SequenceMask(
        nd.ones((N, 1)), place(t), use_sequence_length=True
    ).sum(axis=0),
    "SequenceLast": lambda t: nd.SequenceLast(
        nd.arange(N).reshape((N, 1)) + 1, place(t), use_sequence_length=True
    ),
    "SequenceReverse": lambda t: nd.SequenceReverse(
        nd.arange(N).reshape((N, 1)) + 1, place(t), use_sequence_length=True
    )[0],
    "SoftmaxOutput": class_of(lambda x, y: nd.SoftmaxOutput(x, y)),
    "SoftmaxOutput multi_output": class_of(
        lambda x, y: nd.SoftmaxOutput(x.reshape((1, N, 1)), y.reshape((1, 1)), multi_output=True)
    ),
    "SoftmaxOutput preserve_shape": class_of(
        lambda x, y: nd.SoftmaxOutput(x, y, preserve_shape=True, use_ignore=True)
    ),
    "SVMOutput": class_of(lambda x, y: nd.SVMOutput(x, y)),
    "softmax_cross_entropy": class_of(lambda x, y: nd.softmax_cross_entropy(x, y)),
    "CTCLoss": class_of(ctc),
    "SoftmaxCELoss": class_of(lambda x, y: mx.gluon.loss.SoftmaxCELoss()(x, y)),
    "RNN": lambda t: (
        nd.RNN(
            nd.ones((N, 1, 1)),
            nd.ones(4),
            nd.zeros((1, 1, 1)),
            place(t),
            mode="rnn_relu",
            state_size=1,
            num_layers=1,
            use_sequence_length=True,
        )
        .sign()
        .sum(axis=0)
    ),
    "ROIPooling": lambda t: nd.ROIPooling(
        nd.arange(N).reshape((N, 1, 1, 1)),
        nd.array([[PLACE, 0, 0, 0, 0]], dtype=t16(t)).astype(
            "float32" if t not in ("float16", "bfloat16") else t
        ),
        pooled_size=(1, 1),
        spatial_scale=1,
    ),
    "x[index]": lambda t: nd.arange(N)[place(t)],
}


def outcome(call, dtype):
    try:
        out = call(dtype)
        return float(out.asnumpy().ravel()[0])
    except CynetError as error:
        return error


def right_or_refused(name, call, dtype):
    found = outcome(call, dtype)
    if isinstance(found, CynetError):
        assert dtype in NARROW, (name, found)
        text = str(found)
        assert dtype in text, text
        return
    assert found == PLACE, f"{name} of {dtype}: {found}, expected {PLACE}"


@pytest.mark.parametrize("dtype", NARROW + WIDE)
@pytest.mark.parametrize("name", WRITTEN)
def test_places_that_are_written(name, dtype):
    right_or_refused(name, WRITTEN[name], dtype)


@pytest.mark.parametrize("dtype", ("float16", "bfloat16", *WIDE))
@pytest.mark.parametrize("name", READ)
def test_places_that_are_read(name, dtype):
    right_or_refused(name, READ[name], dtype)


@pytest.mark.parametrize("dtype", ("float16", "bfloat16"))
@pytest.mark.parametrize("name", ["argmax", "topk of it", "argsort of it"])
def test_wide_places_of_narrow_data(name, dtype):
    assert outcome(WRITTEN[name], dtype) == PLACE


@pytest.mark.parametrize("dtype", ["uint8", "int8", "float16", "bfloat16"])
def test_as_many_as_a_dtype_names_and_one_more(dtype):
    n = MAX_EXACT_INTS[dtype] + 1
    host = np.zeros(n, "float32")
    host[-1] = 1
    assert nd.topk(nd.array(host), dtype=dtype).asnumpy().astype("int64").tolist() == [n - 1]
    with pytest.raises(CynetError, match=f"{n + 1} places in 'indices', of {dtype}"):
        nd.topk(nd.zeros(n + 1), dtype=dtype)
    if dtype in ("uint8", "int8"):
        return
    last = nd.array([n - 1], dtype=dtype)
    assert nd.take(nd.arange(n), last).asnumpy().tolist() == [n - 1]
    with pytest.raises(CynetError, match=f"{n + 1} places in 'indices', of {dtype}"):
        nd.take(nd.arange(n + 1), last)
    ends = nd.SequenceMask(nd.ones((n - 1, 1)), last, use_sequence_length=True)
    assert float(ends.sum().asscalar()) == n - 1
    with pytest.raises(CynetError, match=f"{n + 1} places in 'sequence_length', of {dtype}"):
        nd.SequenceMask(nd.ones((n, 1)), last, use_sequence_length=True)


def test_float32_names_places_up_to_2_24():
    n = (1 << 24) + 1
    host = np.zeros(n, "uint8")
    host[-1] = 1
    x = nd.array(host, dtype="uint8")
    assert nd.argmax(x, axis=0).asnumpy().tolist() == [n - 1]
    more = nd.zeros(n + 1, dtype="uint8")
    with pytest.raises(CynetError, match=f"{n + 1} places in 'output', of float32"):
        nd.argmax(more, axis=0)
    with pytest.raises(CynetError, match=f"{n + 1} places in 'indices', of float32"):
        nd.take(more, nd.zeros(1))
    assert nd.take(more, nd.array([n], dtype="int32")).asnumpy().tolist() == [0]


@pytest.mark.parametrize("data", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("label", [None, "float32", "float64", "int32", "int64", "uint8"])
@pytest.mark.parametrize("op", ["SoftmaxOutput", "SVMOutput", "softmax_cross_entropy"])
def test_labels_of_any_dtype(op, data, label):
    """In graphs: an unknown dtype of labels is one that names the classes, others are taken."""
    symbol = getattr(mx.sym, op)(mx.sym.Variable("data"), mx.sym.Variable("label"))
    types = {"data": data, **({} if label is None else {"label": label})}
    found, _, _ = symbol.infer_type(**types)
    wide = "float32" if data in ("float16", "bfloat16") else data
    assert [mx.base.dtype.name_of(each) for each in found] == [data, label or wide]
    n, wanted = 200, 130
    args = {"data": nd.zeros((2, n), dtype=data)}
    args["label"] = nd.array([wanted, 3], dtype=label or wide)
    grads = {"data": nd.zeros((2, n), dtype=data), "label": nd.ones(2, dtype=label or wide)}
    bound = symbol.bind(mx.cpu(), args, grads)
    bound.forward(is_train=True)
    bound.backward(*([nd.ones(1, dtype=data)] if op == "softmax_cross_entropy" else []))
    assert bound.grad_dict["data"].asnumpy().argmin(axis=1).tolist() == [wanted, 3]
    assert not bound.grad_dict["label"].asnumpy().any()


def test_labels_that_are_probabilities_of_another_dtype(rng):
    scores = nd.array(rng.standard_normal((3, 4)))
    labels = rng.random((3, 4))
    scores.attach_grad()
    for dtype in ("float32", "float64", "float16"):
        with mx.autograd.record():
            out = nd.SoftmaxOutput(scores, nd.array(labels, dtype=dtype))
        out.backward()
        wanted = out.asnumpy() - labels.astype(dtype)
        np.testing.assert_allclose(scores.grad.asnumpy(), wanted, 1e-5, 1e-6)
