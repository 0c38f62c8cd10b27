"""Code as users write it, with types: pyright and mypy find nothing wrong with it.

It is checked, not run.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import cynet as mx
from cynet.numpy_extension import relu


# --- symbols --------------------------------------------------------------------------------------
def lenet(num_classes: int = 10) -> mx.sym.Symbol:
    data = mx.sym.Variable("data")
    net = mx.sym.Convolution(data, kernel=(5, 5), num_filter=20, name="conv1")
    net = mx.sym.Activation(net, act_type="tanh")
    net = mx.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="max")
    net = mx.sym.BatchNorm(net, fix_gamma=False)
    net = mx.sym.Dropout(mx.sym.Flatten(net), p=0.5)
    left, right = mx.sym.split(net, num_outputs=2, axis=1)
    net = mx.sym.Concat(left, right * 2 + 1, dim=1, num_args=2)
    net = mx.sym.FullyConnected(data=net, num_hidden=num_classes, name="fc")
    assert net.list_arguments()[0] == "data"
    return mx.sym.SoftmaxOutput(net, name="softmax")


def inspect(net: mx.sym.Symbol) -> None:
    arg_shapes, out_shapes, aux_shapes = net.infer_shape(data=(32, 1, 28, 28))
    assert arg_shapes is not None and out_shapes is not None and aux_shapes is not None
    batch: int = out_shapes[0][0]
    both = mx.sym.Group([net, mx.sym.BlockGrad(net.get_internals()["fc_output"])])
    text: str = both.tojson()
    net.save("net.json")
    print(batch, text, mx.sym.load("net.json").attr_dict(), net.name)
    relu = mx.sym.maximum(mx.sym.var("x", shape=(2, 3), lr_mult=2.0), 0)
    print(relu.sum(axis=1).reshape(shape=(-1,)), -relu, 1 / relu**2, net[0])
    with mx.AttrScope(ctx_group="one"), mx.name.Prefix("left_"):
        mx.sym.random.uniform(0, 1, shape=(2, 3), name="noise")


# --- arrays ---------------------------------------------------------------------------------------
def imperative(ctx: mx.Context) -> float:
    x = mx.nd.array([[1, 2], [3, 4]], ctx=ctx, dtype="float32")
    y = mx.nd.ones((2, 2), dtype=np.float32) * 2 - x / 3 + np.float32(1)
    y += x
    y[0, 1:] = 5
    y[:] = np.zeros((2, 2))
    z = mx.nd.dot(x, y.T).reshape((-1, 4)).astype("float64")
    image, weight = mx.nd.zeros((1, 3, 8, 8)), mx.nd.zeros((4, 3, 3, 3))
    w = mx.nd.Convolution(image, weight, no_bias=True, kernel=(3, 3), num_filter=4)
    parts = mx.nd.split(w, num_outputs=2, axis=1)
    joined = mx.nd.concat(*parts, dim=1)
    values, places = mx.nd.topk(z, k=2, ret_typ="both")
    mask: mx.nd.NDArray = (z > 1) * (z == z)
    rows: int = joined.shape[0] + len(values) + places.size
    host: np.ndarray[Any, np.dtype[Any]] = mask.asnumpy()
    noise = mx.nd.random.normal(0, 1, shape=(2, 3), ctx=ctx)
    mx.nd.save("arrays.params", {"noise": noise, "z": z})
    mx.nd.waitall()
    with mx.Context("cpu", 0):
        total = mx.nd.add(noise, 1).sum() + mx.nd.maximum(noise, noise).mean(axis=0).max()
    copy = noise.copyto(mx.cpu()).as_in_context(ctx).clip(0, 1)
    for row in copy:
        print(rows, row.norm().asscalar(), host.mean(), row.dtype, row.context.device_type)
    return float(total)


# --- an operator in Python ------------------------------------------------------------------------
class Scale(mx.operator.CustomOp):
    def __init__(self, factor: float) -> None:
        self.factor = factor

    def forward(
        self,
        is_train: bool,
        req: list[str],
        in_data: list[mx.nd.NDArray],
        out_data: list[mx.nd.NDArray],
        aux: list[mx.nd.NDArray],
    ) -> None:
        self.assign(out_data[0], req[0], in_data[0] * self.factor)

    def backward(
        self,
        req: list[str],
        out_grad: list[mx.nd.NDArray],
        in_data: list[mx.nd.NDArray],
        out_data: list[mx.nd.NDArray],
        in_grad: list[mx.nd.NDArray],
        aux: list[mx.nd.NDArray],
    ) -> None:
        self.assign(in_grad[0], req[0], out_grad[0] * self.factor)


@mx.operator.register("scale_by")
class ScaleProp(mx.operator.CustomOpProp):
    def __init__(self, factor: str = "2") -> None:
        super().__init__(need_top_grad=True)
        self.factor = float(factor)

    def list_arguments(self) -> list[str]:
        return ["data"]

    def infer_shape(self, shapes: list[list[int]]) -> tuple[Sequence[Any], ...]:
        return shapes, [shapes[0]], []

    def create_operator(self, ctx: Any, shapes: list[list[int]], dtypes: list[type]) -> Scale:
        return Scale(self.factor)


def scaled(x: mx.sym.Symbol) -> mx.sym.Symbol:
    return mx.sym.Custom(data=x, op_type="scale_by", factor=3, name="scaled")


# --- training -------------------------------------------------------------------------------------
class Confidence(mx.metric.EvalMetric):
    def __init__(self) -> None:
        super().__init__("confidence")

    def update(self, labels: Sequence[mx.nd.NDArray], preds: Sequence[mx.nd.NDArray]) -> None:
        self.sum_metric += float(preds[0].max(axis=1).mean())
        self.num_inst += 1


def log_epoch(epoch: int, symbol: mx.sym.Symbol, args: dict[str, mx.nd.NDArray], aux: Any) -> None:
    logging.info("%d: %d parameters of %s", epoch, len(args), symbol.name)


def log_batch(param: mx.callback.BatchEndParam) -> None:
    if param.nbatch % 10 == 0 and param.eval_metric is not None:
        print(param.epoch, param.eval_metric.get())


def train(images: np.ndarray[Any, Any], labels: np.ndarray[Any, Any]) -> mx.mod.Module:
    train_iter = mx.io.NDArrayIter(images, labels, batch_size=32, shuffle=True)
    val_iter = mx.io.NDArrayIter({"data": images}, {"softmax_label": labels}, 32)
    ctx = [mx.gpu(i) for i in range(mx.context.num_gpus())] or [mx.cpu()]
    module = mx.mod.Module(lenet(), context=ctx, label_names=["softmax_label"])
    monitor = mx.mon.Monitor(100, stat_func=lambda x: x.abs().mean(), pattern=".*weight")
    history = module.fit(
        train_iter,
        eval_data=val_iter,
        eval_metric=["acc", "ce", mx.metric.TopKAccuracy(top_k=5)],
        optimizer="sgd",
        optimizer_params={"learning_rate": 0.1, "momentum": 0.9, "wd": 1e-4},
        initializer=mx.init.Xavier(rnd_type="gaussian", magnitude=2),
        batch_end_callback=[mx.callback.Speedometer(32, 50), log_batch],
        epoch_end_callback=[mx.callback.do_checkpoint("lenet"), log_epoch],
        monitor=monitor,
        num_epoch=2,
    )
    print(history.metrics["Train-accuracy"][-1], history.times)
    name, value = module.score(val_iter, "acc")[0]
    print(name, value, module.predict(val_iter), module.get_outputs()[0].shape)
    return module


def by_hand(module: mx.mod.Module, data: mx.io.DataIter) -> None:
    module.bind(data.provide_data, data.provide_label, inputs_need_grad=True)
    module.init_params(mx.init.Mixed(["bias", ".*"], [mx.init.Zero(), mx.init.Normal(0.01)]))
    schedule = mx.lr_scheduler.MultiFactorScheduler(step=[100, 200], factor=0.1, base_lr=0.1)
    module.init_optimizer(
        optimizer=mx.opt.Adam(learning_rate=1e-3, lr_scheduler=schedule, rescale_grad=1 / 32),
        kvstore=mx.kv.create("device"),
    )
    metric = mx.metric.create(["acc", Confidence()])
    for batch in data:
        module.forward(batch, is_train=True)
        module.backward()
        module.update()
        module.update_metric(metric, batch.label)
        metric.update(None, module.get_outputs())
        metric.update(batch.label[0], module.get_outputs()[0].asnumpy())
    for name, value in metric.get_name_value():
        print(f"{name}={value:.3f}")
    arg_params, aux_params = module.get_params()
    module.set_params({k: v * 2 for k, v in arg_params.items()}, aux_params)
    module.save_checkpoint("lenet", 2, save_optimizer_states=True)
    symbol, arg_params, aux_params = mx.model.load_checkpoint("lenet", 2)
    print(symbol.list_outputs(), sorted(arg_params))


class Batch(NamedTuple):
    data: list[mx.nd.NDArray]


def predictor(net: mx.sym.Symbol) -> list[mx.nd.NDArray]:
    module = mx.mod.Module(net, data_names=["data"], label_names=None)
    module.bind([("data", (1, 3, 8, 8))], for_training=False)
    module.forward(Batch([mx.nd.zeros((1, 3, 8, 8))]), is_train=False)
    store = mx.kv.create("local")
    store.init(0, mx.nd.zeros(3))
    mx.init.Constant(mx.nd.ones(3))
    mx.mod.BucketingModule(lambda key: (net, ("data",), None), default_bucket_key=1)
    outputs: list[mx.nd.NDArray] = module.get_outputs()
    return outputs


def with_executor(net: mx.sym.Symbol) -> mx.nd.NDArray:
    exe = net.simple_bind(mx.cpu(), grad_req="write", data=(4, 1, 28, 28))
    exe.arg_dict["data"][:] = 1
    exe.copy_params_from({"fc_bias": mx.nd.zeros(10)}, allow_extra_params=True)
    outputs = exe.forward(is_train=True)
    exe.backward()
    updater = mx.opt.get_updater(mx.opt.create("sgd", learning_rate=0.1))
    for i, name in enumerate(net.list_arguments()):
        updater(i, exe.grad_dict[name], exe.arg_dict[name])
    engine = mx.engine.get()
    seen = engine.new_variable()
    engine.push_sync(lambda run_ctx: print(run_ctx.ctx), mx.cpu(), (), (seen,))
    engine.wait_for_var(seen)
    print(mx.storage.stats(mx.cpu())["used_bytes"], exe.debug_str(), mx.__version__)
    try:
        mx.test_utils.assert_almost_equal(outputs[0], outputs[0].asnumpy(), rtol=1e-3)
    except mx.MXNetError as error:
        raise mx.base.MXNetError("no") from error
    mx.random.seed(7)
    mx.viz.print_summary(net, shape={"data": (1, 1, 28, 28)})
    return outputs[0]


# --- autograd and Gluon ---------------------------------------------------------------------------
class Residual(mx.gluon.HybridBlock):
    def __init__(self, channels: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.body = mx.gluon.nn.HybridSequential()
            self.body.add(mx.gluon.nn.Conv2D(channels, 3, padding=1), mx.gluon.nn.BatchNorm())

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.relu(self.body(x) + x)


def train_block(net: mx.gluon.Block, samples: mx.gluon.data.Dataset) -> float:
    net.initialize(mx.init.Xavier(), ctx=[mx.cpu()])
    net.hybridize()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    loader = mx.gluon.data.DataLoader(samples, batch_size=32, shuffle=True, num_workers=2)
    loss_of = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    total = 0.0
    for x, y in loader:
        with mx.autograd.record():
            loss = loss_of(net(x), y)
        loss.backward()
        trainer.step(x.shape[0])
        total += float(loss.mean().asscalar())
    net.save_parameters("net.params")
    return total / len(loader)


def outputs(net: mx.gluon.Block, x: mx.nd.NDArray) -> tuple[mx.nd.NDArray, mx.nd.NDArray]:
    output, _states = mx.gluon.rnn.LSTM(3)(x, [x, x])
    first, second = net(x)
    return mx.gluon.nn.Dense(3)(output).asnumpy().sum() + first, second


def gradients(x: mx.nd.NDArray) -> mx.nd.NDArray:
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.linalg.gemm2(x, x, transpose_b=True)
        z = mx.nd.contrib.boolean_mask(y, mx.nd.array([1, 0]))
    mx.autograd.backward([z])
    (second,) = mx.autograd.grad(y, [x], create_graph=True)
    print(x.grad.asnumpy(), mx.autograd.is_recording())
    return second


def loops(data: mx.sym.Symbol, state: mx.sym.Symbol) -> mx.sym.Symbol:
    outs, last = mx.sym.contrib.foreach(lambda row, h: (row + h, row + h), data, state)
    with mx.np_shape(True):
        print(mx.is_np_shape(), mx.img.ImageIter, mx.compile)
    return mx.sym.Group([outs, last, mx.sym.linalg.potrf(data), mx.sym.image.to_tensor(data)])


# --- arrays of mx.np ------------------------------------------------------------------------------
def numpy_arrays(x: mx.np.ndarray) -> mx.sym.Symbol:
    print(
        relu(data=x),
        mx.npx.softmax(x, axis=-1, out=x),
        mx.np.exp(x, out=x) + mx.np.pi,
        mx.np.newaxis,
    )
    print(mx.np.random.normal(size=(2,)), mx.np.linalg.norm(x), mx.nd.np.stack([x], axis=1))
    print(mx.npx.image.resize(x, 3), mx.npx.random.bernoulli(0.5), mx.np.ones(2, mx.np.float32))
    node: mx.sym.Symbol = mx.sym.np.add(mx.sym.npx.relu(mx.sym.var("x")), 1)
    return node


# --- files, images, the profiler ------------------------------------------------------------------
def files(net: mx.sym.Symbol, params: dict[str, mx.nd.NDArray]) -> None:
    path = mx.onnx.export_model(net, params, [(1, 3, 224, 224)], onnx_file_path="net.onnx")
    symbol, arg_params, aux_params = mx.onnx.import_model(path)
    print(mx.onnx.get_model_metadata(path), symbol.name, len(arg_params), len(aux_params))
    record = mx.recordio.MXIndexedRecordIO("data.idx", "data.rec", "w")
    header = mx.recordio.IRHeader(0, 1.0, 7, 0)
    record.write_idx(7, mx.recordio.pack(header, b"bytes"))
    record.close()
    image = mx.image.imresize(mx.image.imread("cat.jpg"), 224, 224)
    batches = mx.io.ImageRecordIter(
        path_imgrec="data.rec", data_shape=(3, 224, 224), batch_size=32, shuffle=True
    )
    print(image.shape, batches.batch_size, mx.nd.image.to_tensor(image))
    mx.profiler.set_config(filename="profile.json", profile_all=True)
    mx.profiler.set_state("run")
    print(mx.profiler.dumps(), mx.runtime.Features().is_enabled("OPENMP"))


def mixed(net: mx.sym.Symbol, params: dict[str, mx.nd.NDArray]) -> mx.sym.Symbol:
    half, _, _ = mx.contrib.amp.convert_model(net, params, {}, target_dtype="float16")
    vocabulary = mx.contrib.text.vocab.Vocabulary(unknown_token="<unk>")
    print(len(vocabulary))
    return half
