"""Module: weights of MXNet 1.9.1 after training, states, shapes, checkpoints, errors."""

import json
import logging
import warnings
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentError, ArgumentTypeError, CynetError, ShapeError
from cynet.module import parameter_update
from tests.fixtures import training as given

EXPECTED = json.loads(Path(given.__file__).with_name("training.json").read_text())["module"]


@pytest.mark.parametrize("contexts", [1, 2])
@pytest.mark.parametrize("name", given.MODULES)
def test_training_gives_the_weights_of_mxnet(name, contexts):
    params, outputs, metric, score = given.train(mx, *given.MODULES[name], contexts)
    expected = EXPECTED[f"{name} {contexts}"]
    assert set(params) == set(expected["params"])
    for key, value in params.items():
        np.testing.assert_allclose(
            value, expected["params"][key], rtol=2e-4, atol=2e-5, err_msg=key
        )
    np.testing.assert_allclose(outputs, expected["outputs"], rtol=2e-4, atol=2e-5)
    assert metric[0] == expected["metric"][0]
    np.testing.assert_allclose(metric[1], expected["metric"][1], rtol=1e-4)
    assert score == pytest.approx(expected["score"], rel=1e-4)


def mlp(hidden=16, classes=3):
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=hidden, name="fc1")
    net = mx.sym.Activation(net, act_type="relu", name="relu1")
    net = mx.sym.FullyConnected(net, num_hidden=classes, name="fc2")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def problem(rng, rows=64):
    """Data of two features in three classes."""
    data = rng.standard_normal((rows, 4)).astype("float32")
    return data, ((data[:, 0] > 0).astype("float32") + (data[:, 1] > 0))


def trained(rng, contexts=None, **options):
    data, label = problem(rng)
    mod = mx.mod.Module(mlp(), context=contexts)
    it = mx.io.NDArrayIter(data, label, 16, shuffle=True)
    settings = {
        "optimizer_params": {"learning_rate": 0.5},
        "initializer": mx.init.Xavier(),
        "num_epoch": 15,
        **options,
    }
    mod.fit(it, **settings)
    return mod, mx.io.NDArrayIter(data, label, 16)


def bound(batch=4, **options):
    mod = mx.mod.Module(mlp())
    mod.bind([("data", (batch, 4))], [("softmax_label", (batch,))], **options)
    return mod


def batch_of(rows, width=4, label=True):
    return mx.io.DataBatch([mx.nd.ones((rows, width))], [mx.nd.zeros(rows)] if label else None)


@pytest.fixture(autouse=True)
def seeded(seed):
    np.random.seed(seed)
    mx.random.seed(seed)


@pytest.mark.parametrize(
    "optimizer, settings",
    [
        ("sgd", {"learning_rate": 0.5}),
        ("sgd", {"learning_rate": 0.1, "momentum": 0.9}),
        ("adam", {"learning_rate": 0.05}),
    ],
)
def test_fit_learns(rng, optimizer, settings):
    mod, it = trained(rng, optimizer=optimizer, optimizer_params=settings)
    assert dict(mod.score(it, "acc"))["accuracy"] > 0.75


@pytest.mark.parametrize("kvstore", ["local", "device", None])
def test_fit_on_two_contexts(rng, kvstore):
    mod, it = trained(rng, [mx.cpu(0), mx.cpu(1)], kvstore=kvstore)
    assert dict(mod.score(it, "acc"))["accuracy"] > 0.75
    assert mod.output_shapes == [("softmax_output", (16, 3))]
    assert mod.get_outputs()[0].shape == (16, 3)
    parts = mod.get_outputs(merge_multi_context=False)
    assert [each.shape for each in parts[0]] == [(8, 3), (8, 3)]


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_multipliers_hold_on_every_device(count, optimizer):
    """Without a KVStore each device has an index of its own for a weight; biases do not decay on
    any of them, and factors of the symbol's variables count."""
    weight = mx.sym.var("fc_weight", lr_mult=0.5)
    net = mx.sym.FullyConnected(mx.sym.var("data"), weight, num_hidden=2, name="fc")
    contexts = [mx.cpu(i) for i in range(count)]
    module = mx.mod.Module(net, label_names=None, context=contexts)
    module.bind([("data", (6, 3))])
    module.init_params(mx.init.One())
    module.set_params({"fc_weight": mx.nd.ones((2, 3)), "fc_bias": mx.nd.ones(2)}, {})
    settings = {"learning_rate": 0.1, "wd": 0.5, "rescale_grad": 1.0}
    module.init_optimizer(kvstore=None, optimizer=optimizer, optimizer_params=settings)
    for _ in range(2):
        module.forward(mx.io.DataBatch([mx.nd.ones((6, 3))], None), is_train=True)
        module.backward([mx.nd.zeros((6, 2))])
        module.update()
    want = 1.0 if optimizer == "sgd" else 0.9  # SGD: 1 - lr * wd each time; Adam: a step of lr
    want = (1 - 0.1 * 0.5 * 0.5) ** 2 if optimizer == "sgd" else want
    names = module._exec_group.param_names
    for name, arrays in zip(names, module._exec_group.param_arrays):
        assert len(arrays) == count
        for each in arrays:
            expected = want if name == "fc_weight" else 1.0
            np.testing.assert_allclose(each.asnumpy(), expected, rtol=1e-4, err_msg=name)


def test_a_layout_whose_batch_axis_is_not_there():
    module = mx.mod.Module(mlp())
    for layout, axis in (("CN", 1), ("HWCN", 3)):
        data = [mx.io.DataDesc("data", (4,), layout=layout)]
        with pytest.raises(ShapeError, match=rf"'data' of shape \(4,\) has no batch axis {axis}"):
            module.bind(data, [("softmax_label", (4,))])


def test_the_logs_of_fit(rng, caplog):
    caplog.set_level(logging.INFO)
    data, label = problem(rng)
    it = mx.io.NDArrayIter(data, label, 16)
    mx.mod.Module(mlp()).fit(it, eval_data=it, num_epoch=2)
    lines = [record.getMessage().split("=")[0] for record in caplog.records]
    assert lines == [
        "Epoch[0] Train-accuracy",
        "Epoch[0] Time cost",
        "Epoch[0] Validation-accuracy",
        "Epoch[1] Train-accuracy",
        "Epoch[1] Time cost",
        "Epoch[1] Validation-accuracy",
    ]


def test_callbacks_of_fit(rng):
    data, label = problem(rng)
    it = mx.io.NDArrayIter(data, label, 16)
    seen = []
    mx.mod.Module(mlp()).fit(
        it,
        eval_data=it,
        num_epoch=1,
        begin_epoch=0,
        batch_end_callback=lambda p: seen.append(("batch", p.epoch, p.nbatch)),
        epoch_end_callback=[lambda e, s, a, x: seen.append(("epoch", e, sorted(a)))],
        eval_end_callback=lambda p: seen.append(("eval", p.nbatch)),
        eval_batch_end_callback=lambda p: seen.append(("eval batch", p.nbatch)),
    )
    assert seen[:4] == [("batch", 0, i) for i in range(4)]
    assert seen[4] == ("epoch", 0, ["fc1_bias", "fc1_weight", "fc2_bias", "fc2_weight"])
    assert seen[5:] == [("eval batch", i) for i in range(4)] + [("eval", 4)]


def test_interrupt_ends_fit_at_once(rng):
    def interrupt(param):
        if param.nbatch == 1:
            raise KeyboardInterrupt

    data, label = problem(rng)
    seen = []
    with pytest.raises(KeyboardInterrupt):
        mx.mod.Module(mlp()).fit(
            mx.io.NDArrayIter(data, label, 16),
            num_epoch=5,
            batch_end_callback=[lambda p: seen.append(p.nbatch), interrupt],
        )
    assert seen == [0, 1]


def test_predict_and_score(rng):
    mod, it = trained(rng)
    data = it.data[0][1].asnumpy()
    odd = mx.io.NDArrayIter(data[:50], None, 16)  # the last batch is padded
    outputs = mod.predict(odd)
    assert outputs.shape == (50, 3)
    np.testing.assert_allclose(outputs.asnumpy().sum(1), 1, rtol=1e-5)
    np.testing.assert_allclose(
        mod.predict(data).asnumpy()[:50], outputs.asnumpy(), rtol=1e-5, atol=1e-6
    )
    assert isinstance(mod.predict(odd, always_output_list=True), list)
    assert [each[0].shape for each in mod.predict(odd, merge_batches=False)] == [
        (16, 3),
        (16, 3),
        (16, 3),
        (2, 3),
    ]
    assert mod.predict(odd, num_batch=2).shape == (32, 3)
    turns = [(outs[0].shape[0], n) for outs, n, _ in mod.iter_predict(odd)]
    assert turns == [(16, 0), (16, 1), (16, 2), (2, 3)]
    assert [name for name, _ in mod.score(it, ["acc", "ce"])] == ["accuracy", "cross-entropy"]
    with pytest.raises(ArgumentTypeError, match="predict"):
        mod.predict(["1", "2"])


def test_a_walk_by_hand():
    mod = bound()
    assert mod.data_names == ["data"] and mod.label_names == ["softmax_label"]
    assert mod.output_names == ["softmax_output"]
    assert mod.data_shapes == [("data", (4, 4))] and mod.label_shapes == [("softmax_label", (4,))]
    assert mod.output_shapes == [("softmax_output", (4, 3))]
    mod.init_params(mx.init.One())
    mod.init_optimizer(optimizer_params={"learning_rate": 1.0})
    mod.forward(batch_of(4), is_train=True)
    np.testing.assert_allclose(mod.get_outputs()[0].asnumpy(), 1 / 3, rtol=1e-5)
    mod.backward()
    mod.update()
    bias = mod.get_params()[0]["fc2_bias"].asnumpy()
    np.testing.assert_allclose(bias, [2 / 3, -1 / 3, -1 / 3], rtol=1e-5)


def test_states_in_their_order():
    mod = mx.mod.Module(mlp())
    with pytest.raises(CynetError, match="bind first"):
        mod.init_params()
    with pytest.raises(CynetError, match="bind first"):
        mod.forward(batch_of(4))
    mod = bound()
    with pytest.raises(CynetError, match="init_params first"):
        mod.forward(batch_of(4))
    with pytest.raises(CynetError, match="init_params first"):
        mod.init_optimizer()
    mod.init_params()
    mod.forward_backward(batch_of(4))
    with pytest.raises(CynetError, match="init_optimizer first"):
        mod.update()


def test_other_batch_sizes():
    mod = bound()
    mod.init_params(mx.init.Xavier())
    for rows in (4, 7, 2, 4, 7, 16):
        for label in (True, False):
            mod.forward(batch_of(rows, label=label), is_train=label)
            assert mod.get_outputs()[0].shape == (rows, 3)
            if label:
                mod.backward()
    before = mod.get_params()[0]["fc1_weight"].asnumpy()
    mod.reshape([("data", (5, 4))], [("softmax_label", (5,))])
    assert mod.data_shapes == [("data", (5, 4))]
    np.testing.assert_array_equal(mod.get_params()[0]["fc1_weight"].asnumpy(), before)


def test_updates_reach_every_shape():
    mod = bound()
    mod.init_params(mx.init.Xavier())
    mod.init_optimizer(optimizer_params={"learning_rate": 0.1})
    results = {}
    for rows in (4, 2, 4, 2):
        mod.forward_backward(batch_of(rows))
        results.setdefault(rows, []).append(mod.get_outputs()[0].asnumpy())
        mod.update()
    for rows, (early, late) in results.items():
        assert abs(early - late).max() > 1e-3, rows


def test_shapes_that_do_not_fit():
    mod = bound()
    mod.init_params()
    with pytest.raises(ShapeError, match="fc1"):
        mod.forward(batch_of(4, width=5))
    with pytest.raises(ShapeError, match="'data'"):
        mod.forward(mx.io.DataBatch([mx.nd.ones((4, 2, 2))], [mx.nd.zeros(4)]))
    with pytest.raises(ShapeError, match="softmax_label"):
        mod.forward(mx.io.DataBatch([mx.nd.ones((4, 4))], [mx.nd.zeros(3)]))
    with pytest.raises(ArgumentError, match="2 data arrays"):
        mod.forward(mx.io.DataBatch([mx.nd.ones((4, 4))] * 2, [mx.nd.zeros(4)]))
    mod.forward(batch_of(4))  # nothing is broken


def test_an_iterator_of_the_wrong_shape(rng):
    data, label = problem(rng)
    mod = mx.mod.Module(mlp())
    mod.fit(mx.io.NDArrayIter(data, label, 16), num_epoch=1)
    with pytest.raises(ShapeError, match="bind a module of the new one with parameters of its own"):
        mod.score(mx.io.NDArrayIter(data[:, :3], label, 16), "acc")
    with pytest.raises(ArgumentError, match=r"'data'.*'odd'|'odd'.*'data'"):
        mx.mod.Module(mlp()).fit(mx.io.NDArrayIter(data, label, 16, data_name="odd"), num_epoch=1)
    with pytest.raises(ArgumentError, match="num_epoch"):
        mod.fit(mx.io.NDArrayIter(data, label, 16))


def test_names_that_do_not_fit():
    with pytest.raises(ArgumentError, match=r"input.*'input'.*data"):
        mx.mod.Module(mlp(), data_names=["input"])
    with pytest.raises(ArgumentError, match="odd"):
        mx.mod.Module(mlp(), fixed_param_names=["odd"])
    with pytest.warns(UserWarning, match="softmax_label"):
        mx.mod.Module(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2))
    with pytest.raises(ArgumentTypeError, match="data_shapes"):
        mx.mod.Module(mlp()).bind("data")
    with pytest.raises(ArgumentTypeError, match="data_shapes"):
        mx.mod.Module(mlp()).bind([("data", 4)])
    with pytest.raises(ArgumentError, match="inputs_need_grad"):
        bound(for_training=False, inputs_need_grad=True)


def test_parameters_by_name(rng):
    mod, _ = trained(rng)
    args, auxs = mod.get_params()
    other = bound()
    other.set_params(args, auxs)
    np.testing.assert_array_equal(
        other.get_params()[0]["fc1_weight"].asnumpy(), args["fc1_weight"].asnumpy()
    )
    some = {"fc1_bias": args["fc1_bias"]}
    with pytest.raises(ArgumentError, match="fc1_weight"):
        bound().init_params(arg_params=some)
    other.set_params({"fc1_bias": mx.nd.full((16,), 9)}, {}, allow_missing=True)
    assert (other.get_params()[0]["fc1_bias"].asnumpy() == 9).all()
    np.testing.assert_array_equal(
        other.get_params()[0]["fc1_weight"].asnumpy(), args["fc1_weight"].asnumpy()
    )
    more = {**args, "odd": mx.nd.ones(1)}
    with pytest.raises(ArgumentError, match="odd"):
        other.set_params(more, auxs, allow_missing=True)
    other.set_params(more, auxs, allow_missing=True, allow_extra=True)
    other.set_params(more, auxs)  # as in MXNet: a part of a network takes the whole one's
    with pytest.raises(ShapeError, match="fc1_bias"):
        other.set_params({**args, "fc1_bias": mx.nd.ones(3)}, auxs)
    mixed = bound()
    mixed.init_params(mx.init.One(), arg_params=some, allow_missing=True)
    assert (mixed.get_params()[0]["fc1_weight"].asnumpy() == 1).all()
    with pytest.warns(UserWarning, match="force_init"):
        mixed.init_params(arg_params=args)


def test_checkpoints(rng, tmp_path):
    mod, it = trained(rng, optimizer_params={"learning_rate": 0.1, "momentum": 0.9})
    prefix = str(tmp_path / "net")
    mod.save_checkpoint(prefix, 3, save_optimizer_states=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "net-0003.params",
        "net-0003.states",
        "net-symbol.json",
    ]
    again = mx.mod.Module.load(prefix, 3, load_optimizer_states=True)
    again.bind(it.provide_data, it.provide_label)
    assert again.score(it, "acc") == mod.score(it, "acc")
    for each in (mod, again):
        each.init_optimizer(optimizer_params={"learning_rate": 0.1, "momentum": 0.9})
    it.reset()
    for batch in it:
        for each in (mod, again):
            each.forward_backward(batch)
            each.update()
    for name, value in mod.get_params()[0].items():
        np.testing.assert_array_equal(value.asnumpy(), again.get_params()[0][name].asnumpy())
    mod.save_params(str(tmp_path / "p.params"))
    fresh = bound(16)
    fresh.load_params(str(tmp_path / "p.params"))
    assert fresh.score(it, "acc") == mod.score(it, "acc")


def test_fit_goes_on_from_a_checkpoint(rng, tmp_path):
    prefix = str(tmp_path / "net")
    _, it = trained(rng, num_epoch=2, epoch_end_callback=mx.callback.do_checkpoint(prefix))
    symbol, args, auxs = mx.model.load_checkpoint(prefix, 2)
    again = mx.mod.Module(symbol)
    again.fit(
        it,
        num_epoch=20,
        begin_epoch=2,
        arg_params=args,
        aux_params=auxs,
        optimizer_params={"learning_rate": 0.5},
    )
    assert dict(again.score(it, "acc"))["accuracy"] > 0.75


def test_fixed_parameters(rng):
    data, label = problem(rng)
    mod = mx.mod.Module(mlp(), fixed_param_names=["fc1_weight"])
    it = mx.io.NDArrayIter(data, label, 16)
    mod.bind(it.provide_data, it.provide_label)
    mod.init_params(mx.init.Xavier())
    before = {name: value.asnumpy() for name, value in mod.get_params()[0].items()}
    mod.fit(it, num_epoch=1)
    after = mod.get_params()[0]
    assert (after["fc1_weight"].asnumpy() == before["fc1_weight"]).all()
    assert (after["fc2_weight"].asnumpy() != before["fc2_weight"]).any()


def test_input_gradients():
    net = mx.sym.var("data") * mx.sym.var("scale")
    mod = mx.mod.Module(net, data_names=["data", "scale"], label_names=None)
    mod.bind([("data", (2, 3)), ("scale", (2, 3))], inputs_need_grad=True)
    mod.init_params()
    mod.forward(mx.io.DataBatch([mx.nd.full((2, 3), 2), mx.nd.full((2, 3), 5)]))
    mod.backward([mx.nd.ones((2, 3))])
    data, scale = mod.get_input_grads()
    assert (data.asnumpy() == 5).all() and (scale.asnumpy() == 2).all()
    mod.backward(mx.nd.full((2, 3), 3))
    assert (mod.get_input_grads()[0].asnumpy() == 15).all()
    with pytest.raises(ArgumentError, match="inputs_need_grad"):
        plain = bound()
        plain.init_params()
        plain.get_input_grads()


def test_out_grads_on_two_contexts():
    net = mx.sym.var("data") * 3
    mod = mx.mod.Module(net, label_names=None, context=[mx.cpu(0), mx.cpu(1)])
    mod.bind([("data", (4, 2))], inputs_need_grad=True)
    mod.init_params()
    mod.forward(mx.io.DataBatch([mx.nd.ones((4, 2))]))
    grad = np.arange(8).reshape(4, 2)
    mod.backward([mx.nd.array(grad)])
    np.testing.assert_array_equal(mod.get_input_grads()[0].asnumpy(), 3 * grad)


def test_gradients_add_up():
    mod = bound(grad_req="add")
    mod.init_params(mx.init.Xavier())
    grads = mod._exec_group.execs[0].grad_dict
    mod.forward_backward(batch_of(4))
    once = grads["fc1_weight"].asnumpy()
    mod.forward_backward(batch_of(4))
    np.testing.assert_allclose(grads["fc1_weight"].asnumpy(), 2 * once, rtol=1e-5)
    assert grads["data"] is None and grads["softmax_label"] is None


def test_shared_module():
    owner = bound()
    owner.init_params(mx.init.Xavier())
    owner.init_optimizer(optimizer_params={"learning_rate": 0.5})
    other = mx.mod.Module(mlp())
    other.bind([("data", (2, 4))], [("softmax_label", (2,))], shared_module=owner)
    assert other.params_initialized and other.optimizer_initialized
    other.forward_backward(batch_of(2))
    other.update()
    owner._params_dirty = True
    np.testing.assert_array_equal(
        owner.get_params()[0]["fc2_bias"].asnumpy(), other.get_params()[0]["fc2_bias"].asnumpy()
    )


def test_states():
    net = mx.sym.var("data") + mx.sym.var("memory")
    mod = mx.mod.Module(net, label_names=None, state_names=["memory"])
    mod.bind([("data", (2, 3))], for_training=False)
    mod.init_params()
    mod.set_states(value=4)
    mod.forward(mx.io.DataBatch([mx.nd.ones((2, 3))]))
    assert (mod.get_outputs()[0].asnumpy() == 5).all()
    mod.set_states(states=mod.get_outputs(merge_multi_context=False))
    assert (mod.get_states()[0].asnumpy() == 5).all()
    with pytest.raises(ArgumentError, match="set_states takes either states or value"):
        mod.set_states()


def test_rebind(rng):
    mod, it = trained(rng)
    before = mod.score(it, "acc")
    mod.bind([("data", (32, 4))], [("softmax_label", (32,))], force_rebind=True)
    it = mx.io.NDArrayIter(it.data[0][1], it.label[0][1], 32)
    assert dict(mod.score(it, "acc")) == pytest.approx(dict(before))


def test_an_optimizer_object():
    mod = bound()
    mod.init_params()
    with pytest.warns(UserWarning, match="rescale_grad"):
        mod.init_optimizer(optimizer=mx.optimizer.SGD(learning_rate=0.1))
    mod.init_optimizer(optimizer=mx.optimizer.Adam(rescale_grad=0.25), force_init=True)
    assert mod._optimizer.idx2name == {
        0: "fc1_weight",
        1: "fc1_bias",
        2: "fc2_weight",
        3: "fc2_bias",
    }
    with pytest.raises(ArgumentTypeError, match="optimizer"):
        mod.init_optimizer(optimizer=3, force_init=True)


def test_batches_from_numpy():
    mod = bound()
    mod.init_params(mx.init.Xavier())
    mod.forward(mx.io.DataBatch([np.ones((4, 4), "float32")], [np.zeros(4, "float32")]))
    first = mod.get_outputs()[0].asnumpy()
    mod.forward(batch_of(4))
    np.testing.assert_array_equal(mod.get_outputs()[0].asnumpy(), first)


def test_monitor(rng, caplog):
    caplog.set_level(logging.INFO)
    data, label = problem(rng)
    monitor = mx.mon.Monitor(2, pattern=".*fc1.*", sort=True)
    mx.mod.Module(mlp()).fit(mx.io.NDArrayIter(data, label, 16), num_epoch=1, monitor=monitor)
    lines = [r.getMessage() for r in caplog.records if r.getMessage().startswith("Batch:")]
    assert [line.split()[2] for line in lines] == 2 * [  # batches 0 and 2
        "fc1_backward_output0",
        "fc1_backward_output1",
        "fc1_backward_output2",
        "fc1_bias",
        "fc1_output",
        "fc1_weight",
    ]


def test_two_losses(rng):
    data, label = problem(rng)
    fc = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    net = mx.sym.Group(
        [
            mx.sym.SoftmaxOutput(fc, name="softmax"),
            mx.sym.MakeLoss(mx.sym.mean(mx.sym.square(fc)), name="size"),
        ]
    )
    mod = mx.mod.Module(net)
    metric = mx.metric.CompositeEvalMetric(
        [
            mx.metric.Accuracy(output_names=["softmax_output"], label_names=["softmax_label"]),
            mx.metric.Loss(output_names=["size_output"], label_names=[]),
        ]
    )
    mod.fit(mx.io.NDArrayIter(data, label, 16), num_epoch=1, eval_metric=metric)
    assert metric.get()[0] == ["accuracy", "loss"] and np.isfinite(metric.get()[1]).all()


@pytest.mark.parametrize("call", ["forward", "forward_backward", "train_step"])
@pytest.mark.parametrize("batch", [None, [1.0, 2.0]])
def test_what_is_no_batch_is_refused(call, batch):
    module = mx.mod.Module(mx.sym.SoftmaxOutput(mx.sym.var("data"), name="softmax"))
    module.bind([("data", (2, 3))], [("softmax_label", (2,))])
    module.init_params()
    module.init_optimizer()
    with pytest.raises(ArgumentTypeError, match=f"a DataBatch, got {type(batch).__name__}"):
        getattr(module, call)(batch)


def test_a_batch_of_mixed_arrays():
    """NDArrays and NumPy arrays side by side, other dtypes, the bound array itself."""
    module = mx.mod.Module(
        mx.sym.broadcast_add(mx.sym.var("a"), mx.sym.var("b")), ["a", "b"], label_names=None
    )
    module.bind([("a", (2, 3)), ("b", (2, 3))], for_training=False)
    module.init_params()
    bound = module._exec_group.execs[0].arg_dict["a"]
    for a, b in (
        (mx.nd.ones((2, 3)), np.full((2, 3), 2.0)),
        (np.ones((2, 3), "int32"), mx.nd.full((2, 3), 2, dtype="int32")),
        (bound, mx.nd.full((2, 3), 2)),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # an array copied to itself
            module.forward(mx.io.DataBatch([a, b]), is_train=False)
        np.testing.assert_array_equal(module.get_outputs()[0].asnumpy(), np.full((2, 3), 3.0))


def test_large_batches_are_copied_in_parts(rng):
    """A batch large enough for two threads, after a product that has woken them."""
    data = rng.random((128, 1000), "f")
    module = mx.mod.Module(
        mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=64, name="fc"), label_names=None
    )
    module.bind([("data", data.shape)], for_training=False)
    module.init_params()
    weight = module.get_params()[0]["fc_weight"].asnumpy()
    for k in range(4):
        module.forward(mx.io.DataBatch([mx.nd.array(data + k)]), is_train=False)
        bound = module._exec_group.execs[0].arg_dict["data"].asnumpy()
        np.testing.assert_array_equal(bound, data + np.float32(k))
        np.testing.assert_allclose(
            module.get_outputs()[0].asnumpy(), (data + k) @ weight.T, rtol=1e-4, atol=1e-4
        )


@pytest.mark.parametrize(
    "kind, size, updates",
    [("local", 6, True), ("local", 7, False), ("device", 7, True), ("dist_sync", 6, False)],
)
def test_the_largest_weight_that_a_store_updates(monkeypatch, kind, size, updates):
    """A local store keeps no further copy of weights that are larger than that."""
    monkeypatch.setattr(parameter_update, "_LARGE_PARAMETER_SIZE", 6)
    values = {"small": mx.nd.zeros(2), "large": mx.nd.zeros(size)}
    store, found = parameter_update._create_kvstore(kind, 2, values)
    assert store.type == kind and found is updates
    assert parameter_update._create_kvstore("local", 1, values) == (None, False)
