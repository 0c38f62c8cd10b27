"""Programs in the manner of MXNet's example/: what each of its folders does, on small data."""

import argparse
import logging

import mxnet as mx
import numpy as np
import pytest
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn, rnn

logging.disable(logging.INFO)


@pytest.fixture(autouse=True)
def seeds():
    mx.random.seed(1)
    np.random.seed(1)


def pictures(count=64, size=12):
    y = np.random.RandomState(0).randint(0, 2, count)
    x = np.random.RandomState(1).rand(count, 1, size, size) * 0.3
    x[y == 1, :, : size // 2] += 0.7
    return x.astype("float32"), y.astype("float32")


def iterator(batch=16):
    x, y = pictures()
    return mx.io.NDArrayIter(x, y, batch, shuffle=True, label_name="softmax_label")


def lenet():
    data = mx.sym.var("data")
    conv = mx.sym.Convolution(data, kernel=(3, 3), num_filter=4)
    pool = mx.sym.Pooling(
        mx.sym.Activation(conv, act_type="tanh"), pool_type="max", kernel=(2, 2), stride=(2, 2)
    )
    fc = mx.sym.FullyConnected(mx.sym.flatten(pool), num_hidden=2)
    return mx.sym.SoftmaxOutput(fc, name="softmax")


def accurate(module, least=0.9):
    assert dict(module.score(iterator(), "acc"))["accuracy"] >= least


@pytest.mark.parametrize("optimizer", ["sgd", "adam", "nag", "rmsprop", "signum", "ftrl"])
def test_image_classification(optimizer, tmp_path):
    """fit.py: a schedule, weights loaded on, top k accuracy, checkpoints, a monitor."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=0.01 if optimizer == "signum" else 0.1)
    args = parser.parse_args([])
    module = mx.mod.Module(lenet(), context=[mx.cpu()])
    settings = {"learning_rate": args.lr, "wd": 1e-4}
    if optimizer in ("sgd", "nag"):
        settings["lr_scheduler"] = mx.lr_scheduler.MultiFactorScheduler(step=[20], factor=0.1)
        settings["momentum"] = 0.9
    if optimizer in ("adam", "rmsprop"):
        settings["learning_rate"] = 0.01
    module.fit(
        iterator(),
        eval_data=iterator(),
        num_epoch=6,
        eval_metric=["accuracy", "ce"],
        kvstore=mx.kvstore.create("local"),
        optimizer=optimizer,
        optimizer_params=settings,
        initializer=mx.init.Xavier(rnd_type="gaussian", factor_type="in", magnitude=2),
        batch_end_callback=[mx.callback.Speedometer(16, 2)],
        epoch_end_callback=mx.callback.do_checkpoint(str(tmp_path / "net")),
        allow_missing=True,
        monitor=mx.mon.Monitor(10, pattern=".*weight"),
    )
    accurate(module)
    symbol, arguments, auxiliary = mx.model.load_checkpoint(str(tmp_path / "net"), 6)
    again = mx.mod.Module(symbol)
    again.fit(iterator(), num_epoch=7, begin_epoch=6, arg_params=arguments, aux_params=auxiliary)
    accurate(again)


def test_model_parallel():
    """Groups of a network on devices of their own."""
    with mx.AttrScope(ctx_group="one"):
        x = mx.sym.FullyConnected(mx.sym.flatten(mx.sym.var("data")), num_hidden=8, name="a")
        x = mx.sym.Activation(x, act_type="relu")
    with mx.AttrScope(ctx_group="two"):
        x = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(x, num_hidden=2, name="b"), name="softmax")
    module = mx.mod.Module(x, group2ctxs={"one": mx.cpu(0), "two": mx.cpu(1)})
    module.fit(
        iterator(),
        num_epoch=10,
        optimizer_params={"learning_rate": 0.5},
        initializer=mx.init.Xavier(),
    )
    accurate(module)


def test_bucketing():
    """Language models of sentences of several lengths, in cells that are unrolled."""
    rng = np.random.RandomState(0)
    sentences = [
        [(start + i) % 9 + 1 for i in range(rng.randint(3, 9))] for start in rng.randint(0, 9, 80)
    ]
    data = mx.rnn.BucketSentenceIter(sentences, 8, buckets=[4, 8], invalid_label=0)
    stack = mx.rnn.SequentialRNNCell()
    for i in range(2):
        stack.add(mx.rnn.LSTMCell(16, prefix=f"lstm_l{i}_"))

    def sym_gen(length):
        words, label = mx.sym.Variable("data"), mx.sym.Variable("softmax_label")
        embed = mx.sym.Embedding(words, input_dim=10, output_dim=8, name="embed")
        stack.reset()
        outputs, _ = stack.unroll(length, inputs=embed, merge_outputs=True)
        pred = mx.sym.FullyConnected(
            mx.sym.Reshape(outputs, shape=(-1, 16)), num_hidden=10, name="pred"
        )
        label = mx.sym.Reshape(label, shape=(-1,))
        return mx.sym.SoftmaxOutput(pred, label, name="softmax"), ("data",), ("softmax_label",)

    module = mx.mod.BucketingModule(sym_gen, default_bucket_key=data.default_bucket_key)
    metric = mx.metric.Perplexity(0)
    module.fit(
        data,
        num_epoch=12,
        eval_metric=metric,
        optimizer="adam",
        optimizer_params={"learning_rate": 0.02},
        initializer=mx.init.Xavier(factor_type="in", magnitude=2.34),
    )
    data.reset()
    assert dict(module.score(data, mx.metric.Perplexity(0)))["perplexity"] < 4


def test_fused_rnn_unfused():
    """cudnn_rnn_bucketing.py: trained as one operator, tried as cells."""
    cell = mx.rnn.FusedRNNCell(8, num_layers=2, mode="lstm", prefix="lstm_")
    outputs, _ = cell.unroll(5, mx.sym.var("data"), layout="TNC", merge_outputs=True)
    shapes = {"data": (5, 2, 3)}
    executor = outputs.simple_bind(mx.cpu(), **shapes)
    x = np.random.RandomState(0).randn(5, 2, 3)
    for name, each in executor.arg_dict.items():
        each[:] = x if name == "data" else np.random.RandomState(1).uniform(-0.2, 0.2, each.shape)
    wanted = executor.forward()[0].asnumpy()
    weights = {k: v for k, v in executor.arg_dict.items() if k != "data"}
    plain = cell.unfuse()
    outputs, _ = plain.unroll(5, mx.sym.var("data"), layout="TNC", merge_outputs=True)
    args = plain.pack_weights(cell.unpack_weights(weights))
    again = outputs.bind(mx.cpu(), {"data": mx.nd.array(x), **args})
    np.testing.assert_allclose(again.forward()[0].asnumpy(), wanted, 1e-4, 1e-5)


def test_matrix_factorization():
    rng = np.random.RandomState(0)
    users, items = rng.randint(0, 20, 400), rng.randint(0, 15, 400)
    score = (rng.randn(20, 3)[users] * rng.randn(15, 3)[items]).sum(1)
    data = mx.io.NDArrayIter({"user": users, "item": items}, {"score": score}, 40, shuffle=True)
    user = mx.sym.Embedding(mx.sym.var("user"), input_dim=20, output_dim=6)
    item = mx.sym.Embedding(mx.sym.var("item"), input_dim=15, output_dim=6)
    pred = mx.sym.Flatten(mx.sym.sum(user * item, axis=1, keepdims=True))
    net = mx.sym.LinearRegressionOutput(pred, mx.sym.var("score"))
    module = mx.mod.Module(net, data_names=["user", "item"], label_names=["score"])

    def rmse(label, pred):
        return ((label - pred.flatten()) ** 2).mean() ** 0.5

    metric = mx.metric.np(rmse)
    before = []
    module.fit(
        data,
        num_epoch=20,
        eval_metric=metric,
        optimizer="adam",
        optimizer_params={"learning_rate": 0.03},
        initializer=mx.init.Normal(0.1),
        epoch_end_callback=lambda *_: before.append(metric.get()[1]),
    )
    assert before[-1] < 0.6 * before[0]


def test_autoencoder_with_custom_operator():
    class Sigmoid(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            y = 1.0 / (1.0 + np.exp(-in_data[0].asnumpy()))
            self.assign(out_data[0], req[0], mx.nd.array(y))

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            y = out_data[0]
            self.assign(in_grad[0], req[0], out_grad[0] * y * (1 - y))

    @mx.operator.register("sigmoid_of_numpy")
    class SigmoidProp(mx.operator.CustomOpProp):
        def list_arguments(self):
            return ["data"]

        def list_outputs(self):
            return ["output"]

        def infer_shape(self, in_shape):
            return in_shape, [in_shape[0]], []

        def create_operator(self, ctx, shapes, dtypes):
            return Sigmoid()

    x, _ = pictures()
    x = x.reshape(64, -1)
    data = mx.sym.var("data")
    code = mx.sym.Custom(mx.sym.FullyConnected(data, num_hidden=8), op_type="sigmoid_of_numpy")
    net = mx.sym.LinearRegressionOutput(
        mx.sym.FullyConnected(code, num_hidden=144), mx.sym.var("softmax_label")
    )
    module = mx.mod.Module(net)
    errors = []
    metric = mx.metric.MSE()
    module.fit(
        mx.io.NDArrayIter(x, x, 16),
        num_epoch=15,
        eval_metric=metric,
        optimizer="adam",
        optimizer_params={"learning_rate": 0.01},
        initializer=mx.init.Xavier(),
        epoch_end_callback=lambda *_: errors.append(metric.get()[1]),
    )
    assert errors[-1] < 0.5 * errors[0]


@pytest.mark.parametrize("hybridize", [False, True])
def test_dcgan(hybridize):
    generator, judge = nn.HybridSequential(), nn.HybridSequential()
    generator.add(
        nn.Conv2DTranspose(8, 3),
        nn.BatchNorm(),
        nn.Activation("relu"),
        nn.Conv2DTranspose(1, 4, 2, 1),
        nn.Activation("tanh"),
    )
    judge.add(nn.Conv2D(8, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2D(1, 3))
    for net in (generator, judge):
        net.initialize(mx.init.Normal(0.02))
        if hybridize:
            net.hybridize()
    loss_fn = gluon.loss.SigmoidBinaryCrossEntropyLoss()
    trainers = [
        gluon.Trainer(n.collect_params(), "adam", {"learning_rate": 1e-3, "beta1": 0.5})
        for n in (generator, judge)
    ]
    real = nd.array(np.random.RandomState(0).rand(8, 1, 6, 6)) * 0.1 + 0.5
    one, zero, losses = nd.ones((8,)), nd.zeros((8,)), []
    for _ in range(20):
        noise = nd.random.normal(shape=(8, 4, 1, 1))
        with autograd.record():
            true = loss_fn(judge(real).reshape((-1, 1)), one)
            fake = generator(noise)
            false = loss_fn(judge(fake.detach()).reshape((-1, 1)), zero)
            judged = true + false
        judged.backward()
        trainers[1].step(8)
        with autograd.record():
            fooled = loss_fn(judge(generator(noise)).reshape((-1, 1)), one)
        fooled.backward()
        trainers[0].step(8)
        losses.append(judged.mean().asscalar())
    assert np.isfinite(losses).all() and losses[-1] < losses[0]


def test_word_language_model():
    net = nn.HybridSequential()
    words = nd.array(np.arange(200) % 8).reshape((4, 50)).T
    embed, lstm, out = nn.Embedding(8, 8), rnn.LSTM(16, 2, dropout=0.1), nn.Dense(8, flatten=False)
    net.add(embed, lstm, out)
    net.initialize(mx.init.Xavier())
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1, "momentum": 0})
    loss_fn, losses, state = gluon.loss.SoftmaxCrossEntropyLoss(), [], lstm.begin_state(4)
    for _ in range(12):
        for i in range(0, 45, 5):
            state = [each.detach() for each in state]
            with autograd.record():
                x, state = lstm(embed(words[i : i + 5]), state)
                loss = loss_fn(out(x).reshape((-1, 8)), words[i + 1 : i + 6].reshape((-1,)))
            loss.backward()
            gluon.utils.clip_global_norm([p.grad() for p in net.collect_params().values()], 5)
            trainer.step(1)
            losses.append(loss.mean().asscalar())
    assert losses[-1] < 0.5 * losses[0]


def test_spectral_normalization():
    """A power iteration writes its vector between record and backward."""

    class SNDense(nn.Block):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.weight = self.params.get("weight", shape=(6, 5))
                self.u = self.params.get("u", init=mx.init.Normal(), shape=(1, 6))

        def forward(self, x):
            w, u = self.weight.data(), self.u.data()
            v = nd.L2Normalization(nd.dot(u, w))
            fresh = nd.L2Normalization(nd.dot(v, w.T))
            self.params.setattr("grad_req", "null")
            self.u.set_data(fresh)
            self.params.setattr("grad_req", "write")
            sigma = nd.sum(nd.dot(fresh, w) * v)
            return nd.dot(x, (w / sigma).T)

    net = SNDense()
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01})
    for _ in range(5):
        with autograd.record():
            loss = (net(nd.ones((2, 5))) ** 2).sum()
        loss.backward()
        trainer.step(1, ignore_stale_grad=True)
    assert np.isfinite(loss.asscalar())


def test_super_resolution(tmp_path):
    class Net(nn.HybridBlock):
        def __init__(self, factor):
            super().__init__()
            self.factor = factor
            with self.name_scope():
                self.first = nn.Conv2D(8, 3, padding=1, activation="relu")
                self.last = nn.Conv2D(factor**2, 3, padding=1)

        def hybrid_forward(self, F, x):
            x = self.last(self.first(x))
            x = F.reshape(x, (0, -4, -1, self.factor**2, 0, 0))
            x = F.reshape(x, (0, 0, -4, self.factor, self.factor, 0, 0))
            x = F.transpose(x, (0, 1, 4, 2, 5, 3))
            return F.reshape(x, (0, 0, -3, -3))

    net = Net(2)
    net.initialize(mx.init.Orthogonal())
    net.hybridize()
    x = nd.array(pictures()[0][:4])
    y = net(x)
    assert y.shape == (4, 1, 24, 24)
    net.export(str(tmp_path / "net"))
    again = gluon.SymbolBlock.imports(
        str(tmp_path / "net-symbol.json"), ["data"], str(tmp_path / "net-0000.params")
    )
    np.testing.assert_allclose(again(x).asnumpy(), y.asnumpy(), 1e-5, 1e-6)


def test_multi_task():
    data = mx.sym.flatten(mx.sym.var("data"))
    heads = [
        mx.sym.SoftmaxOutput(
            mx.sym.FullyConnected(data, num_hidden=2, name=f"fc{i}"), name=f"softmax{i}"
        )
        for i in (1, 2)
    ]
    x, y = pictures()
    labels = {"softmax1_label": y, "softmax2_label": 1 - y}
    iterator = mx.io.NDArrayIter(x, labels, 16)

    class Each(mx.metric.EvalMetric):
        def __init__(self):
            super().__init__("each")

        def update(self, labels, preds):
            mx.metric.check_label_shapes(labels, preds)
            for label, pred in zip(labels, preds):
                found = pred.asnumpy().argmax(1)
                self.sum_metric += (found == label.asnumpy()).sum()
                self.num_inst += len(found)

    module = mx.mod.Module(mx.sym.Group(heads), label_names=list(labels))
    module.fit(iterator, num_epoch=10, eval_metric=Each(), optimizer_params={"learning_rate": 0.5})
    assert module.score(iterator, Each())[0][1] > 0.9


def test_reinforce():
    """gluon/actor_critic: rewards of a bandit move its policy."""
    net = nn.Dense(3)
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.1})
    state = nd.ones((1, 2))
    for _ in range(60):
        with autograd.record():
            probs = nd.softmax(net(state))
            action, logp = nd.sample_multinomial(probs, get_prob=True)
            loss = -logp * (1.0 if int(action.asscalar()) == 1 else -0.2)
        autograd.backward([loss])
        trainer.step(1)
    assert nd.softmax(net(state))[0, 1].asscalar() > 0.6


def test_svm_and_profiler(tmp_path):
    mx.profiler.set_config(profile_all=True, filename=str(tmp_path / "profile.json"))
    mx.profiler.set_state("run")
    fc = mx.sym.FullyConnected(mx.sym.flatten(mx.sym.var("data")), num_hidden=2)
    module = mx.mod.Module(mx.sym.SVMOutput(fc, name="svm"), label_names=["svm_label"])
    x, y = pictures()
    data = mx.io.NDArrayIter(x, y, 16, label_name="svm_label")
    module.fit(data, num_epoch=8, optimizer_params={"learning_rate": 0.05})
    mx.profiler.set_state("stop")
    mx.profiler.dump()
    assert dict(module.score(data, "acc"))["accuracy"] > 0.9
    assert (tmp_path / "profile.json").stat().st_size > 100


def test_ctc():
    """Letters of a line, read by CTC."""
    loss_fn = gluon.loss.CTCLoss(layout="NTC", label_layout="NT")
    net = nn.HybridSequential()
    net.add(rnn.LSTM(16, layout="NTC", bidirectional=True), nn.Dense(4, flatten=False))
    net.initialize(mx.init.Xavier())
    x = nd.array(np.eye(3)[np.random.RandomState(0).randint(0, 3, (8, 6))])
    label = x.argmax(axis=2)[:, ::2]
    trainer, losses = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.02}), []
    for _ in range(15):
        with autograd.record():
            loss = loss_fn(net(x), label)
        loss.backward()
        trainer.step(8)
        losses.append(loss.mean().asscalar())
    assert losses[-1] < losses[0]


def test_quantities_of_a_bayesian_net():
    """sgld: noise of its own in the updates."""
    x, y = pictures()
    module = mx.mod.Module(lenet())
    module.bind([("data", (64, 1, 12, 12))], [("softmax_label", (64,))])
    module.init_params(mx.init.Xavier())
    module.init_optimizer(optimizer="sgld", optimizer_params={"learning_rate": 0.001})
    batch = mx.io.DataBatch([nd.array(x)], [nd.array(y)])
    for _ in range(5):
        module.forward_backward(batch)
        module.update()
    assert all(np.isfinite(v.asnumpy()).all() for v in module.get_params()[0].values())


def test_neural_style():
    """The input learns: bind with args_grad."""
    content = mx.sym.Convolution(mx.sym.var("img"), kernel=(3, 3), num_filter=4, name="conv")
    loss = mx.sym.sum(mx.sym.square(content - mx.sym.var("target")))
    shapes = {"img": (1, 1, 8, 8), "target": (1, 4, 6, 6)}
    arg_shapes, _, _ = loss.infer_shape(**shapes)
    args = {n: mx.nd.random.uniform(shape=s) for n, s in zip(loss.list_arguments(), arg_shapes)}
    grads = {"img": mx.nd.zeros(shapes["img"])}
    executor = mx.sym.MakeLoss(loss).bind(
        ctx=mx.cpu(), args=args, args_grad=grads, grad_req={"img": "write"}
    )
    optimizer = mx.optimizer.SGD(learning_rate=0.001, wd=0.0)
    state, losses = optimizer.create_state(0, args["img"]), []
    for _ in range(20):
        losses.append(executor.forward(is_train=True)[0].asnumpy().sum())
        executor.backward()
        optimizer.update(0, args["img"], grads["img"], state)
    assert losses[-1] < losses[0]
