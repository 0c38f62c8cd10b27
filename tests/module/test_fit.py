"""Module.fit and its sisters: labels, iterators, callbacks, what they return and refuse."""

import logging
import weakref

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import (
    ArgumentError,
    ArgumentTypeError,
    CynetError,
    NotFoundError,
    ShapeError,
)

X = np.random.RandomState(0).rand(12, 3).astype("float32")
Y = (np.arange(12) % 2).astype("float32")


def mlp(classes=2):
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=classes, name="fc")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def iterator(label=Y, batch=4, **options):
    return mx.io.NDArrayIter(X, label, batch, **options)


def bound(**options):
    module = mx.mod.Module(mlp())
    module.bind([("data", (4, 3))], [("softmax_label", (4,))], **options)
    module.init_params(mx.init.Xavier())
    return module


def batch(rows=4, label=True, width=3):
    return mx.io.DataBatch([mx.nd.ones((rows, width))], [mx.nd.zeros(rows)] if label else None)


# --- labels ---


def test_training_without_labels_is_refused():
    for metric in ("acc", mx.metric.Loss()):
        with pytest.raises(ArgumentError, match="'softmax_label'.*NDArrayIter"):
            mx.mod.Module(mlp()).fit(iterator(None), num_epoch=1, eval_metric=metric)
    module = mx.mod.Module(mlp())
    module.bind([("data", (4, 3))])
    module.init_params()
    module.init_optimizer()
    for each in (module, bound()):
        before = each.get_params()[0]["fc_weight"].asnumpy()
        each.forward(batch(label=False), is_train=True)  # a forward alone needs none
        with pytest.raises(ArgumentError, match="'softmax_label'"):
            each.backward()
        with pytest.raises(ArgumentError, match="'softmax_label'"):
            each.forward_backward(batch(label=False))
        np.testing.assert_array_equal(each.get_params()[0]["fc_weight"].asnumpy(), before)
    with pytest.raises(ArgumentError, match="'softmax_label'"):
        mx.mod.Module(mlp(), label_names=None).fit(iterator(None), num_epoch=1)
    with pytest.warns(UserWarning, match="label_names"):  # not listed, but there
        mx.mod.Module(mlp(), label_names=None).fit(iterator(), num_epoch=1)
    module = bound()
    module.forward_backward(batch())
    with pytest.raises(ArgumentError, match="no labels"):
        module.forward_backward(batch(label=False))  # those of the batch before do not count


def test_labels_of_another_name():
    with (
        pytest.warns(UserWarning, match="softmax_label"),
        pytest.raises(ArgumentError, match="'softmax_label'.*'odd'"),
    ):
        mx.mod.Module(mlp()).fit(iterator(label_name="odd"), num_epoch=1)


def test_one_label_of_two():
    fc = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    net = mx.sym.Group([mx.sym.SoftmaxOutput(fc, name="a"), mx.sym.SoftmaxOutput(fc, name="b")])
    module = mx.mod.Module(net, label_names=["a_label", "b_label"])
    with (
        pytest.warns(UserWarning, match="label_shapes"),
        pytest.raises(ArgumentError, match="'b_label'"),
    ):
        module.fit(iterator(label_name="a_label"), num_epoch=1)


def test_labels_for_the_metric_alone():
    """The symbol has no label; the iterator's goes to the metric."""
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    net = mx.sym.Group([mx.sym.BlockGrad(net), mx.sym.MakeLoss(mx.sym.sum(net * net))])
    with pytest.warns(UserWarning, match="softmax_label"):
        module = mx.mod.Module(net)
    metric = mx.metric.Accuracy(output_names=["blockgrad0_output"])
    metric.output_names = [net.list_outputs()[0]]
    history = module.fit(iterator(), num_epoch=1, eval_metric=metric)
    assert 0 <= history.metrics["Train-accuracy"][0] <= 1


def test_scores_without_labels():
    module = bound()
    with pytest.raises(ArgumentError, match=r"metric needs labels \('softmax_label'\)"):
        module.score(iterator(None), "acc")
    assert module.score(iterator(None), mx.metric.Loss()) == [("loss", pytest.approx(0.5))]
    served = mx.mod.Module(mlp())
    served.bind([("data", (4, 3))], for_training=False)
    served.set_params(*module.get_params())
    assert served.score(iterator(), "acc") == module.score(iterator(), "acc")
    scores = mx.mod.Module(mlp().get_internals()["fc_output"], label_names=None)
    scores.bind([("data", (4, 3))], for_training=False)
    scores.set_params(*module.get_params())
    assert scores.score(iterator(), "acc") == module.score(iterator(), "acc")


def test_labels_beyond_the_classes():
    three = np.arange(12) % 3
    for data in (iterator(three), mx.io.ResizeIter(iterator(three), 3)):
        module = mx.mod.Module(mlp())
        with pytest.raises(ArgumentError, match=r"up to 2.*2 classes, 0 to 1.*3 outputs"):
            module.fit(data, num_epoch=1)
    net = mx.sym.SoftmaxOutput(
        mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2),
        use_ignore=True,
        ignore_label=255,
        name="softmax",
    )
    ignored = np.where(three == 2, 255, three)
    mx.mod.Module(net).fit(iterator(ignored), num_epoch=1)
    mx.mod.Module(mlp()).fit(iterator(three - 1), num_epoch=1)  # padding is often -1
    with pytest.raises(ArgumentError, match="up to 255"):
        mx.mod.Module(mlp()).fit(iterator(ignored), num_epoch=1)
    shape = {"data": (4, 3), "softmax_label": (4, 2)}  # labels that are probabilities
    assert mlp().infer_shape(**shape)[1] == [(4, 2)]
    mx.mod.Module(mlp()).fit(iterator(np.full((12, 2), 7.0)), num_epoch=1)


# --- nothing to do ---


def test_backward_with_nothing_to_do():
    mx.mod.Module(mlp(), fixed_param_names=["fc_weight", "fc_bias"]).fit(iterator(), num_epoch=1)
    module = bound(grad_req="null")
    before = module.get_params()[0]["fc_weight"].asnumpy()
    module.init_optimizer()
    module.forward_backward(batch())
    module.update()
    np.testing.assert_array_equal(module.get_params()[0]["fc_weight"].asnumpy(), before)
    bare = mx.mod.Module(mx.sym.SoftmaxOutput(mx.sym.var("data"), name="softmax"))
    bare.fit(iterator(np.arange(12) % 3), num_epoch=1)
    for net in (mlp(), mx.sym.var("data") * 2):
        executor = net.simple_bind(mx.cpu(), grad_req="null", data=(4, 3))
        executor.forward(is_train=True)
        executor.backward()
        executor.backward([mx.nd.ones(executor.outputs[0].shape)])


# --- before the first forward ---


def test_outputs_that_are_not_there_yet():
    module = bound(inputs_need_grad=True)
    for call in (
        module.get_outputs,
        lambda: module.update_metric(mx.metric.create("acc"), [mx.nd.zeros(4)]),
        lambda: module.get_outputs(merge_multi_context=False),
    ):
        with pytest.raises(CynetError, match="call forward first"):
            call()
    module.forward(batch(), is_train=True)
    assert module.get_outputs()[0].shape == (4, 2)
    with pytest.raises(CynetError, match="backward first"):
        module.get_input_grads()
    module.backward()
    assert module.get_input_grads()[0].shape == (4, 3)
    module.reshape([("data", (2, 3))], [("softmax_label", (2,))])
    with pytest.raises(CynetError, match="call forward first"):
        module.get_outputs()
    loss = mx.mod.PythonLossModule()
    with pytest.raises(CynetError, match="call forward first"):
        loss.get_outputs()


# --- what is handed over ---


def test_a_batch_of_another_width():
    module = bound()
    with pytest.raises(ShapeError, match=r"'data' has shape \(4, 5\), bound was \(4, 3\).*fc"):
        module.forward(batch(width=5))
    module.forward(batch())


@pytest.mark.parametrize("wrong", [[X, Y, Y], X, (X,), None, "data", [["1", "2"]], [], 3])
def test_what_is_no_iterator(wrong):
    module = bound()
    calls = {
        "fit: train_data": lambda: module.fit(wrong, num_epoch=1),
        "fit: eval_data": lambda: module.fit(iterator(), eval_data=wrong, num_epoch=1),
        "score: eval_data": lambda: module.score(wrong, "acc"),
        "iter_predict: eval_data": lambda: list(module.iter_predict(wrong)),
        "predict: eval_data": lambda: module.predict(wrong),
    }
    for where, call in calls.items():
        if (wrong is None and "fit: eval" in where) or (wrong is X and where.startswith("predict")):
            continue
        with pytest.raises(ArgumentTypeError, match=f"{where} must be a DataIter.*NDArrayIter"):
            call()
    assert not module.optimizer_initialized


def test_iterators_need_not_be_of_a_class():
    class Loose:
        """Has what fit asks for."""

        provide_data, provide_label = iterator().provide_data, iterator().provide_label

        def __iter__(self):
            return iter(list(iterator()))

        def reset(self):
            pass

    module = mx.mod.Module(mlp())
    module.fit(Loose(), eval_data=Loose(), num_epoch=2)
    assert module.predict(Loose()).shape == (12, 2)


def test_words_for_objects():
    module = mx.mod.Module(mlp(), context="cpu")
    assert module._context == [mx.cpu()]
    assert mx.mod.Module(mlp(), context=["cpu(0)", mx.cpu(1)])._context == [mx.cpu(0), mx.cpu(1)]
    module.fit(iterator(), num_epoch=1, initializer="xavier")
    net = mlp()
    for make, error, word in (
        (lambda: mx.mod.Module(mlp(), context="cpus"), ArgumentError, "'cpus'"),
        (lambda: mx.mod.Module(mlp(), context=0), ArgumentTypeError, "Context"),
        (
            lambda: mx.mod.Module(mlp()).fit(iterator(), num_epoch="3"),
            ArgumentTypeError,
            r"num_epoch must be a whole number, got '3' \(str\)",
        ),
        (
            lambda: mx.mod.Module(mlp()).fit(iterator(), num_epoch=1, monitor=3),
            ArgumentTypeError,
            "monitor must be a Monitor",
        ),
        (
            lambda: mx.mod.Module(mlp()).fit(iterator(), num_epoch=1, initializer=mx.init.Xavier),
            ArgumentTypeError,
            "initializer must be an Initializer",
        ),
        (
            lambda: bound().init_optimizer(optimizer=mx.optimizer.SGD),
            ArgumentTypeError,
            r"SGD\(\) makes one",
        ),
        (lambda: bound().set_params([1], {}), ArgumentTypeError, "arg_params must be a dict"),
        (lambda: bound().forward(X), ArgumentTypeError, "lists of arrays, as a DataBatch"),
        (
            lambda: bound().forward(mx.io.DataBatch([X[:4].tolist()])),
            ArgumentTypeError,
            "'data'.*NumPy array, got list",
        ),
        (lambda: bound().backward(), CynetError, "backward: call forward first"),
        (
            lambda: mx.mod.Module(mlp(), fixed_param_names=["fc_weigth"]),
            ArgumentError,
            "did you mean 'fc_weight'",
        ),
        (
            lambda: mx.mod.Module(mx.sym.Group([net, mx.sym.BlockGrad(net)])).fit(
                iterator(), num_epoch=1
            ),
            ShapeError,
            "output_names and label_names",
        ),
        (
            lambda: mx.mod.Module(
                mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2), label_names=None
            ).fit(iterator(None), num_epoch=1, eval_metric=mx.metric.Loss()),
            ArgumentError,
            "not a loss.*SoftmaxOutput",
        ),
        (lambda: mx.callback.Speedometer("16"), ArgumentTypeError, "batch_size must be a number"),
        (lambda: mx.metric.create("acc", odd=3), ArgumentTypeError, "metric 'acc'.*odd"),
        (lambda: mx.metric.create("top_k_accuracy", top_k="5"), ArgumentTypeError, "top_k"),
        (lambda: mx.mod.Module(X), ArgumentTypeError, "symbol must be a Symbol.*ndarray"),
        (lambda: mx.mod.Module(mlp(), data_names="data"), ArgumentTypeError, "data_names"),
        (lambda: mx.mod.SequentialModule().add(mlp()), ArgumentTypeError, "Symbol"),
        (lambda: mx.mod.BucketingModule(mlp(), 3), ArgumentTypeError, "sym_gen"),
        (lambda: mx.mod.BucketingModule(lambda k: mlp(), 3), ArgumentTypeError, "must return"),
        (
            lambda: mx.mod.Module(mlp()).fit(iterator(), num_epoch=1, kvstore="locall"),
            ArgumentError,
            "'locall'.*'local'",
        ),
        (
            lambda: mx.mod.Module(mlp()).fit(iterator(), num_epoch=1, initializer="xaver"),
            NotFoundError,
            "xavier",
        ),
        (
            lambda: mx.mod.Module(mlp()).fit(iterator(), num_epoch=1, eval_metric="acuracy"),
            NotFoundError,
            "accuracy",
        ),
        (
            lambda: mx.mod.Module(mlp()).fit(iterator(), num_epoch=1, batch_end_callback=[3]),
            ArgumentTypeError,
            "batch_end_callback",
        ),
        (
            lambda: bound(for_training=False).fit(iterator(), num_epoch=1),
            ArgumentError,
            "force_rebind",
        ),
    ):
        with pytest.raises(error, match=word):
            make()


def test_messages_are_short():
    long = "x" * 5000
    for call in (
        lambda: mx.mod.Module(mlp(), data_names=[long]),
        lambda: mx.mod.Module(mlp(), fixed_param_names=[f"p{i}" for i in range(5000)]),
        lambda: mx.mod.Module(mlp()).bind([(long, (4, 3))]),
        lambda: mx.mod.Module(mlp()).bind([3] * 5000),
        lambda: mx.mod.Module(mlp(), data_names=long),
        lambda: mx.mod.Module(mlp(), context=long),
        lambda: bound().init_optimizer(optimizer=long),
        lambda: bound().init_optimizer(optimizer_params={long: 1}),
        lambda: bound().init_optimizer(optimizer_params=long),
        lambda: bound().init_optimizer(kvstore=long),
        lambda: mx.mod.Module(mlp()).fit(iterator(), num_epoch=long),
        lambda: mx.mod.Module(mlp()).fit(iterator(), num_epoch=1, eval_metric=long),
        lambda: mx.mod.Module(mlp()).fit(iterator(), num_epoch=1, initializer=long),
    ):
        with pytest.raises(CynetError, match="xxx|'p0', 'p1'|found 3") as caught:  # the value
            call()
        assert len(str(caught.value)) < 1000


# --- again, and what comes back ---


def test_fit_again(caplog):
    module, data = mx.mod.Module(mlp()), iterator()
    options = {"num_epoch": 1, "optimizer_params": {"learning_rate": 0.1}}
    module.fit(data, **options)
    first = module.get_params()[0]["fc_weight"].asnumpy()
    module.score(data, "acc")  # leaves the iterator at its end
    module.fit(data, **options)
    module.predict(data)
    module.fit(data, **options)
    assert (module.get_params()[0]["fc_weight"].asnumpy() != first).any()
    assert not [r for r in caplog.records if r.levelno >= logging.WARNING]
    module.fit(data, num_epoch=1, optimizer="adam")
    assert "ignoring ('adam'" in caplog.text
    with pytest.raises(ArgumentError, match="no batch"):

        class Empty(mx.io.DataIter):
            """Gives nothing."""

            provide_data, provide_label = data.provide_data, data.provide_label

        module.fit(Empty(), num_epoch=1)


def test_the_history_of_fit():
    history = mx.mod.Module(mlp()).fit(
        iterator(), eval_data=iterator(), num_epoch=4, begin_epoch=2, eval_metric=["acc", "ce"]
    )
    assert history.epochs == [2, 3] and len(history) == len(history.times) == 2
    assert set(history.metrics) == {
        f"{part}-{name}"
        for part in ("Train", "Validation")
        for name in ("accuracy", "cross-entropy")
    }
    assert all(len(values) == 2 for values in history.metrics.values())


def test_the_variables_that_callbacks_see():
    """The names that MXNet 1.9.1 has in `fit` and `score` when a callback looks."""
    seen = {}
    fit, score = (
        "allow_missing arg_params aux_params batch_end_callback begin_epoch data_batch data_iter"
        " end_of_batch epoch epoch_end_callback eval_batch_end_callback eval_data eval_end_callback"
        " eval_metric force_init force_rebind initializer kvstore monitor nbatch next_data_batch"
        " num_epoch optimizer optimizer_params self sparse_row_id_fn tic train_data"
        " validation_metric",
        "actual_num_batch batch_end_callback epoch eval_batch eval_data eval_metric nbatch"
        " num_batch reset score_end_callback self sparse_row_id_fn",
    )
    rows = []

    def at_batch(param):
        seen["fit"] = set(param.locals)
        values = param.locals
        rows.append((param.nbatch, values["end_of_batch"], values["data_batch"].label[0].shape))
        if values["end_of_batch"]:
            assert values["eval_name_vals"][0][0] == "accuracy"

    module = mx.mod.Module(mlp())
    module.fit(
        iterator(),
        eval_data=iterator(),
        num_epoch=1,
        batch_end_callback=at_batch,
        eval_batch_end_callback=lambda p: seen.update(batch=set(p.locals)),
        eval_end_callback=lambda p: seen.update(end=set(p.locals)),
    )
    assert seen["fit"] >= set(fit.split())
    assert seen["batch"] >= set(score.split()) and seen["end"] >= set(score.split())
    assert rows == [(0, False, (4,)), (1, False, (4,)), (2, True, (4,))]


@pytest.mark.parametrize("kind", ["do_checkpoint", "module_checkpoint"])
def test_the_folder_of_checkpoints_is_looked_for_first(tmp_path, kind):
    module, steps = mx.mod.Module(mlp()), []
    prefix = str(tmp_path / "missing" / "net")
    args = (prefix,) if kind == "do_checkpoint" else (module, prefix)
    callback = getattr(mx.callback, kind)(*args)

    def fit():
        module.fit(
            iterator(),
            num_epoch=1,
            epoch_end_callback=[callback],
            batch_end_callback=lambda p: steps.append(p.nbatch),
        )

    with pytest.raises(ArgumentError, match=r"missing.*does not exist.*makedirs"):
        fit()
    assert steps == [] and not module.binded
    (tmp_path / "missing").mkdir()
    fit()
    assert (tmp_path / "missing" / "net-0001.params").exists()


@pytest.mark.filterwarnings("ignore:fit. Train-accuracy is nan")
def test_any_object_that_gives_batches():
    """Its shapes may be None where the module does not need them; one batch is held at a time."""

    class Batches:
        provide_data = provide_label = None

        def __init__(self):
            self.left, self.alive = 3, weakref.WeakSet()

        def reset(self):
            self.left = 3

        def __iter__(self):
            return self

        def __next__(self):
            if not self.left:
                raise StopIteration
            assert len(self.alive) <= 1
            self.left -= 1
            batch = mx.io.DataBatch([mx.nd.ones(1)], [mx.nd.ones(1)])
            self.alive.add(batch)
            return batch

        next = __next__

    steps = []
    module = mx.mod.BaseModule()
    nothing = {"get_params": lambda: (None, None)}
    for name in (
        "bind",
        "init_params",
        "init_optimizer",
        "forward_backward",
        "update",
        "update_metric",
        "get_params",
        "set_params",
    ):
        setattr(module, name, nothing.get(name, lambda *args, **kwargs: None))
    module.forward_backward = lambda batch: steps.append(id(batch))
    module.fit(Batches(), num_epoch=2)
    assert len(steps) == 6
