"""Keywords of other packages: each entry of the table is said by a call of cynet's own, and what it
says is there."""

import inspect
import re

import numpy as np
import pytest

import cynet as mx
from cynet import gluon
from cynet.base.errors import ArgumentTypeError
from cynet.base.other_names import OTHER_KEYWORDS, keyword_hint
from cynet.operator import OPERATORS

nn, nd = gluon.nn, mx.nd
X = nd.ones((2, 3, 4))
NET = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2), name="softmax")
LOSS = gluon.loss.SoftmaxCrossEntropyLoss
PARAMS = nn.Dense(1, in_units=1).collect_params()


def fit(**words):
    mx.mod.Module(NET).fit((X, X), **words)


def trainer(**words):
    gluon.Trainer(PARAMS, "sgd", **words)


# (keyword there, what is said) -> a call to which the keyword is given
CALLS = {
    ("affine", "scale"): lambda **w: nn.BatchNorm(**w),
    ("axis", "dim"): lambda **w: nd.concat(X, X, **w),
    ("batch_first", "layout"): lambda **w: gluon.rnn.LSTM(3, **w),
    ("betas", "beta1"): lambda **w: mx.optimizer.Adam(**w),
    ("bias", "use_bias"): lambda **w: nn.Dense(2, **w),
    ("callbacks", "batch_end_callback"): lambda **w: mx.model.FeedForward.fit(None, X, X, **w),
    ("class_weight", "eval_metric"): fit,
    ("class_weight", "sparse_label"): lambda **w: LOSS(**w),
    ("collate_fn", "batchify_fn"): lambda **w: gluon.data.DataLoader([1], 1, **w),
    ("data_format", "layout"): lambda **w: nn.Conv2D(2, 3, **w),
    ("decay", "wd"): lambda **w: mx.optimizer.SGD(**w),
    ("descending", "is_ascend"): lambda **w: nd.sort(X, **w),
    ("device", "ctx"): lambda **w: nd.random.normal(shape=(2,), **w),
    ("device", "context"): lambda **w: mx.mod.Module(NET, **w),
    ("dilation", "dilate"): lambda **w: nd.Convolution(X, **w),
    ("dilation_rate", "dilation"): lambda **w: nn.Conv2D(2, 3, **w),
    ("dilation_rate", "dilate"): lambda **w: nd.Convolution(X, **w),
    ("dim", "axis"): lambda **w: X.sum(**w),
    ("dims", "axes"): lambda **w: X.transpose(**w),
    ("dims", "axis"): lambda **w: nd.flip(X, **w),
    ("drop_last", "last_batch"): lambda **w: gluon.data.DataLoader([1], 1, **w),
    ("drop_last", "last_batch_handle"): lambda **w: mx.io.NDArrayIter(X, **w),
    ("embedding_dim", "output_dim"): lambda **w: nn.Embedding(3, **w),
    ("epochs", "num_epoch"): fit,
    ("eps", "epsilon"): lambda **w: nn.BatchNorm(**w),
    ("epsilon", "eps"): lambda **w: nd.LayerNorm(X, X, X, **w),
    ("filters", "channels"): lambda **w: nn.Conv2D(kernel_size=3, **w),
    ("filters", "num_filter"): lambda **w: nd.Convolution(X, **w),
    ("from_logits", "from_sigmoid"): lambda **w: gluon.loss.SigmoidBCELoss(**w),
    ("grad_clip", "clip_gradient"): lambda **w: mx.optimizer.SGD(**w),
    ("groups", "num_group"): lambda **w: nd.Convolution(X, **w),
    ("ignore_index", "ignore_label"): lambda **w: nd.SoftmaxOutput(X, X, **w),
    ("ignore_index", "sparse_label"): lambda **w: LOSS(**w),
    ("in_features", "in_units"): lambda **w: nn.Dense(2, **w),
    ("in_features", "in_channels"): lambda **w: nn.Conv2D(2, 3, **w),
    ("input", "data"): lambda **w: nd.softmax(**w),
    ("input_shape", "in_units"): lambda **w: nn.Dense(2, **w),
    ("input_shape", "in_channels"): lambda **w: nn.Conv2D(2, 3, **w),
    ("keepdim", "keepdims"): lambda **w: X.sum(**w),
    ("kernel_initializer", "weight_initializer"): lambda **w: nn.Dense(2, **w),
    ("kernel_size", "kernel"): lambda **w: nd.Pooling(X, **w),
    ("kernel_size", "pool_size"): lambda **w: nn.MaxPool2D(**w),
    ("largest", "is_ascend"): lambda **w: nd.topk(X, **w),
    ("learning_rate", "optimizer_params"): fit,
    ("loss", "eval_metric"): fit,
    ("lr", "learning_rate"): lambda **w: mx.optimizer.SGD(**w),
    ("lr", "optimizer_params"): trainer,
    ("max_iter", "num_epoch"): fit,
    ("metrics", "eval_metric"): fit,
    ("mom", "momentum"): lambda **w: mx.optimizer.SGD(**w),
    ("n_epochs", "num_epoch"): fit,
    ("negative_slope", "alpha"): lambda **w: nn.LeakyReLU(**w),
    ("negative_slope", "slope"): lambda **w: nd.LeakyReLU(X, **w),
    ("nonlinearity", "activation"): lambda **w: gluon.rnn.RNN(3, **w),
    ("num_classes", "depth"): lambda **w: nd.one_hot(X, **w),
    ("num_embeddings", "input_dim"): lambda **w: nn.Embedding(**w),
    ("num_features", "in_channels"): lambda **w: nn.BatchNorm(**w),
    ("out_channels", "channels"): lambda **w: nn.Conv2D(kernel_size=3, **w),
    ("out_channels", "num_filter"): lambda **w: nd.Convolution(X, **w),
    ("out_features", "units"): lambda **w: nn.Dense(**w),
    ("out_features", "num_hidden"): lambda **w: nd.FullyConnected(X, **w),
    ("output_dim", "units"): lambda **w: nn.Dense(3, **w),
    ("p", "rate"): lambda **w: nn.Dropout(**w),
    ("p", "ord"): lambda **w: nd.norm(X, **w),
    ("padding", "pad"): lambda **w: nd.Convolution(X, **w),
    ("padding_idx", "input_dim"): lambda **w: nn.Embedding(3, 2, **w),
    ("persistent_workers", "num_workers"): lambda **w: gluon.data.DataLoader([1], 1, **w),
    ("random_state", "shuffle"): lambda **w: mx.io.NDArrayIter(X, **w),
    ("rate", "p"): lambda **w: nd.Dropout(X, **w),
    ("rate", "learning_rate"): lambda **w: mx.optimizer.SGD(**w),
    ("reduction", "batch_axis"): lambda **w: LOSS(**w),
    ("return_sequences", "layout"): lambda **w: gluon.rnn.LSTM(3, **w),
    ("sample_weight", "eval_metric"): fit,
    ("scheduler", "lr_scheduler"): lambda **w: mx.optimizer.SGD(**w),
    ("shuffle", "eval_metric"): fit,
    ("size", "shape"): lambda **w: nd.random.uniform(**w),
    ("steps_per_epoch", "eval_metric"): fit,
    ("stride", "strides"): lambda **w: nn.Conv2D(2, 3, **w),
    ("strides", "stride"): lambda **w: nd.Pooling(X, **w),
    ("track_running_stats", "use_global_stats"): lambda **w: nn.BatchNorm(**w),
    ("validation_data", "eval_data"): fit,
    ("validation_split", "eval_data"): fit,
    ("weight_decay", "wd"): lambda **w: mx.optimizer.SGD(**w),
    ("weight_decay", "optimizer_params"): trainer,
    ("worker_init_fn", "num_workers"): lambda **w: gluon.data.DataLoader([1], 1, **w),
    ("x", "train_data"): lambda **w: fit(**w),
    ("y", "label"): lambda **w: mx.io.NDArrayIter(X, **w),
}
ENTRIES = [(name, *way) for name, ways in OTHER_KEYWORDS.items() for way in ways]


@pytest.mark.parametrize("name, needed, said", ENTRIES, ids=[f"{e[0]}-{e[1]}" for e in ENTRIES])
def test_each_is_said_by_a_call(name, needed, said):
    """Where the call has what is said: the call itself is in CALLS."""
    with pytest.raises(ArgumentTypeError, match="did you mean") as caught:
        CALLS[name, needed](**{name: 1})
    text = str(caught.value)
    assert f"did you mean {repr(said) if said == needed else said}?" in text, text
    assert f"'{name}'" in text or f"; {name}: " in text


def test_no_call_is_left_over():
    assert set(CALLS) == {entry[:2] for entry in ENTRIES}


SPACE = {
    "mx": mx,
    "data": X.asnumpy(),
    "label": np.zeros(2),
    "batch_size": 1,
    "iterator": mx.io.NDArrayIter(X),
    "size": 2,
    "x": X,
    "y": X,
    "result": X,
    "out": X,
}


def test_what_they_say_runs():
    """Calls and settings in the sentences are evaluated."""
    for name, needed, said in ENTRIES:
        for call in re.findall(r"mx\.[\w.]+(?:\([^.)]*\))?", said):
            eval(call, dict(SPACE))
        for setting in re.findall(r"^(\w+)=(.+?)(?: or .*| of .*)?$", said):
            assert setting[0] == needed, name
            eval(setting[1].replace("...", "0.1"), dict(SPACE))


@pytest.mark.parametrize("settings", [{"last_batch": "discard"}, {"last_batch_handle": "discard"}])
def test_what_is_said_of_the_last_batch(settings):
    if "last_batch" in settings:
        assert len(gluon.data.DataLoader([1, 2, 3], 2, **settings)) == 1
    else:
        assert len(list(mx.io.NDArrayIter(np.ones((3, 1)), None, 2, **settings))) == 1


def test_near_names():
    assert keyword_hint("kernal", ["kernel", "pad"]) == "; did you mean 'kernel'?"
    assert keyword_hint("nothing_like_it", ["kernel"]) == ""
    assert keyword_hint("x" * 10**6, ["kernel"]) == ""
    for call in (
        lambda: nd.Convolution(X, kernal=(3, 3)),
        lambda: mx.sym.Convolution(mx.sym.var("a"), kernal=(3, 3)),
        lambda: nd.contrib.ROIAlign(X, X, pooled_sise=(1, 1)),
    ):
        with pytest.raises(ArgumentTypeError, match=r"did you mean '(kernel|pooled_size)'"):
            call()
    with pytest.raises(ArgumentTypeError, match="did you mean 'num_epoch'"):
        fit(num_epochs=1)


def test_what_a_user_raises_stays():
    class Net(gluon.HybridBlock):
        def __init__(self, width):
            super().__init__()

    with pytest.raises(TypeError, match=r"unexpected keyword argument 'dim'$"):
        Net(2, dim=3)


def test_operators_say_theirs():
    """Every operator with parameters refuses a keyword that is near one of them, and names it."""
    for _, entry in OPERATORS.items():
        fields = [name for name in entry.prop.fields if len(name) > 5]
        if not fields or entry.prop.any_parameters:
            continue
        wrong = fields[0][:-1] + "zz"
        with pytest.raises(ArgumentTypeError, match=f"'{fields[0]}'") as caught:
            entry.prop._refuse_keyword(wrong)
        assert "did you mean" in str(caught.value), entry.name


# --- other mistakes of people who come from elsewhere ---------------------------------------------
@pytest.mark.parametrize("space", [mx.nd, mx.sym])  # mx.sym has no empty
@pytest.mark.parametrize("name", ["zeros", "ones", "empty", "full"])
@pytest.mark.parametrize("given", [(2, 3), (2, 3, 4), (0, 1)])
def test_a_shape_of_several_ints(space, name, given):
    function = getattr(space, "zeros" if (space, name) == (mx.sym, "empty") else name)
    name = function.__name__
    if name == "full" and len(given) == 2:
        assert function(*given).shape == (2,) if space is mx.nd and given[0] else True
        return
    with pytest.raises(
        ArgumentTypeError, match=rf"{name}: the shape is one tuple, {re.escape(str(given))}"
    ):
        function(*given)


def test_other_ints_one_by_one():
    with pytest.raises(
        ArgumentTypeError, match=r"broadcast_to: the shape is one tuple, \(2, 3, 4\)"
    ):
        X.broadcast_to(2, 3, 4)
    for call in (lambda: nd.tile(X, 2, 2), lambda: nd.transpose(X, 0, 2, 1)):
        with pytest.raises(ArgumentTypeError, match="ints that belong together are one tuple"):
            call()


@pytest.mark.parametrize("kind", [nn.Sequential, nn.HybridSequential])
@pytest.mark.parametrize("listed", [False, True])
def test_layers_given_to_a_container(kind, listed):
    layers = [nn.Dense(2), nn.Dense(3)]
    with pytest.raises(ArgumentTypeError, match=rf"net = nn\.{kind.__name__}\(\); net\.add\("):
        kind(layers) if listed else kind(*layers)
    with pytest.raises(ArgumentTypeError, match=r"prefix must be a str, got \[\]$"):
        kind([])


def test_signatures_have_what_is_needed():
    """The parameters that a hint needs are there: of fit, as it has most of them."""
    assert {"eval_metric", "num_epoch", "optimizer_params"} <= set(
        inspect.signature(mx.mod.Module.fit).parameters
    )
