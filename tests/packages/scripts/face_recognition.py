"""A training in the manner of insightface's recognition/: records of small faces, a network built
of symbols by helper functions, margins on the angle between embeddings and classes, Module with
parameters that stay fixed, float16 beside float32 weights, several devices, verification."""

import logging
import os

import mxnet as mx
import numpy as np
import pytest
from mxnet import ndarray as nd

CLASSES, PER_CLASS, SIZE = 4, 12, 24


def face(label, i):
    rng = np.random.RandomState(label * 100 + i)
    picture = (rng.rand(SIZE, SIZE, 3) * 80).astype("uint8")
    x, y = 4 + 8 * (label % 2), 4 + 8 * (label // 2)
    picture[y : y + 8, x : x + 8, label % 3] = 240
    return picture


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    """train.rec and train.idx as face2rec2.py writes them: record 0 says which ids there are."""
    prefix = str(tmp_path_factory.mktemp("faces") / "train")
    writer = mx.recordio.MXIndexedRecordIO(prefix + ".idx", prefix + ".rec", "w")
    count = CLASSES * PER_CLASS
    header = mx.recordio.IRHeader(2, np.array([count + 1, count + 1 + CLASSES], "float32"), 0, 0)
    writer.write_idx(0, mx.recordio.pack(header, b""))
    for i in range(count):
        head = mx.recordio.IRHeader(0, float(i // PER_CLASS), i + 1, 0)
        packed = mx.recordio.pack_img(head, face(i // PER_CLASS, i), quality=95, img_fmt=".jpg")
        writer.write_idx(i + 1, packed)
    for label in range(CLASSES):
        ids = np.array([1 + label * PER_CLASS, 1 + (label + 1) * PER_CLASS], "float32")
        head = mx.recordio.IRHeader(2, ids, count + 1 + label, 0)
        writer.write_idx(count + 1 + label, mx.recordio.pack(head, b""))
    writer.close()
    with open(os.path.join(os.path.dirname(prefix), "property"), "w") as file:
        file.write(f"{CLASSES},{SIZE},{SIZE}\n")
    return prefix


class FaceImageIter(mx.io.DataIter):
    """Images of an indexed record file, in an order of its own, mirrored by chance."""

    def __init__(self, batch_size, data_shape, path_imgrec, shuffle=True, rand_mirror=True):
        super().__init__()
        index = path_imgrec[: path_imgrec.rfind(".")] + ".idx"
        self.imgrec = mx.recordio.MXIndexedRecordIO(index, path_imgrec, "r")
        header, _ = mx.recordio.unpack(self.imgrec.read_idx(0))
        assert header.flag > 0
        self.header0 = (int(header.label[0]), int(header.label[1]))
        self.id2range, self.seq = {}, []
        for identity in range(*self.header0):
            header, _ = mx.recordio.unpack(self.imgrec.read_idx(identity))
            first, last = int(header.label[0]), int(header.label[1])
            self.id2range[identity] = (first, last)
            self.seq += range(first, last)
        self.batch_size, self.data_shape = batch_size, data_shape
        self.shuffle, self.rand_mirror, self.cur = shuffle, rand_mirror, 0
        self.provide_data = [("data", (batch_size, *data_shape))]
        self.provide_label = [("softmax_label", (batch_size,))]
        self.reset()

    def reset(self):
        self.cur = 0
        if self.shuffle:
            np.random.shuffle(self.seq)

    def next_sample(self):
        if self.cur >= len(self.seq):
            raise StopIteration
        header, packed = mx.recordio.unpack(self.imgrec.read_idx(self.seq[self.cur]))
        self.cur += 1
        label = header.label if isinstance(header.label, float) else header.label[0]
        return label, mx.image.imdecode(packed)

    def next(self):
        data = nd.empty((self.batch_size, *self.data_shape))
        label = nd.empty((self.batch_size,))
        for i in range(self.batch_size):
            each, picture = self.next_sample()
            if self.rand_mirror and np.random.randint(2):
                picture = mx.ndarray.flip(data=picture, axis=1)
            data[i][:] = nd.transpose(picture, axes=(2, 0, 1))
            label[i][:] = each
        return mx.io.DataBatch([data], [label], 0)


def unit(data, filters, name, stride=(1, 1)):
    x = mx.sym.Convolution(
        data=data,
        num_filter=filters,
        kernel=(3, 3),
        stride=stride,
        pad=(1, 1),
        no_bias=True,
        name=name + "_conv",
    )
    x = mx.sym.BatchNorm(x, fix_gamma=False, eps=2e-5, momentum=0.9, name=name + "_bn")
    return mx.sym.LeakyReLU(data=x, act_type="prelu", name=name + "_relu")


def embedding(half):
    data = mx.sym.Variable(name="data")
    data = mx.sym.identity(data=data, name="id")
    x = (data - 127.5) * 0.0078125
    if half:
        x = mx.sym.Cast(data=x, dtype=np.float16)
    x = unit(x, 8, "conv0")
    x = unit(x, 8, "conv1", (2, 2)) + unit(unit(x, 8, "side0", (2, 2)), 8, "side1")
    if half:
        x = mx.sym.Cast(data=x, dtype=np.float32)
    x = mx.sym.BatchNorm(x, fix_gamma=False, eps=2e-5, momentum=0.9, name="bn1")
    x = mx.sym.FullyConnected(data=x, num_hidden=16, name="pre_fc1")
    return mx.sym.BatchNorm(x, fix_gamma=True, eps=2e-5, momentum=0.9, name="fc1")


def network(kind, half=False, scale=16.0, margin=0.2):
    """[embedding, softmax without gradient of its own, loss], as train.py groups them."""
    fc1, label = embedding(half), mx.sym.Variable("softmax_label")
    weight = mx.sym.Variable("fc7_weight", shape=(CLASSES, 16), lr_mult=1.0, wd_mult=1.0)
    if kind == "softmax":
        bias = mx.sym.Variable("fc7_bias", lr_mult=2.0, wd_mult=0.0)
        fc7 = mx.sym.FullyConnected(
            data=fc1, weight=weight, bias=bias, num_hidden=CLASSES, name="fc7"
        )
    else:
        unit_weight = mx.sym.L2Normalization(weight, mode="instance")
        unit_fc1 = mx.sym.L2Normalization(fc1, mode="instance", name="fc1n") * scale
        fc7 = mx.sym.FullyConnected(
            data=unit_fc1, weight=unit_weight, no_bias=True, num_hidden=CLASSES, name="fc7"
        )
        chosen = mx.sym.pick(fc7, label, axis=1)
        cosine = chosen / scale
        if kind == "arc":
            angle = mx.sym.arccos(mx.sym.clip(cosine, -0.9999, 0.9999))
            moved = mx.sym.cos(angle + margin) * scale
        else:
            moved = chosen - scale * margin
        gap = mx.sym.expand_dims(moved - chosen, 1)
        one_hot = mx.sym.one_hot(label, depth=CLASSES, on_value=1.0, off_value=0.0)
        fc7 = fc7 + mx.sym.broadcast_mul(one_hot, gap)
    softmax = mx.sym.SoftmaxOutput(data=fc7, label=label, name="softmax", normalization="valid")
    log = mx.sym.log(mx.sym.SoftmaxActivation(data=fc7) + 1e-10)
    entropy = mx.sym.sum(mx.sym.one_hot(label, depth=CLASSES) * log) / (-8.0)
    return mx.sym.Group([mx.sym.BlockGrad(fc1), softmax, mx.sym.BlockGrad(entropy)])


class AccMetric(mx.metric.EvalMetric):
    def __init__(self):
        self.axis = 1
        super().__init__("acc", axis=self.axis, output_names=None, label_names=None)

    def update(self, labels, preds):
        label, pred = labels[0], preds[1]
        if pred.shape != label.shape:
            pred = mx.ndarray.argmax(pred, axis=self.axis)
        self.sum_metric += (pred.asnumpy().astype("int32") == label.asnumpy().astype("int32")).sum()
        self.num_inst += label.size


class LossMetric(mx.metric.EvalMetric):
    def __init__(self):
        super().__init__("lossvalue", output_names=None, label_names=None)

    def update(self, labels, preds):
        self.sum_metric += preds[-1].asnumpy()[0]
        self.num_inst += 1.0


def train(records, kind, half, fixed, devices, tmp_path):
    mx.random.seed(1)
    np.random.seed(1)
    data = FaceImageIter(8, (3, SIZE, SIZE), records + ".rec")
    module = mx.mod.Module(
        context=[mx.cpu(i) for i in range(devices)],
        symbol=network(kind, half),
        fixed_param_names=[n for n in network(kind).list_arguments() if n.startswith(fixed)]
        if fixed
        else None,
    )
    initializer = mx.init.Xavier(rnd_type="gaussian", factor_type="out", magnitude=2)
    optimizer = mx.optimizer.SGD(
        learning_rate=0.05, momentum=0.9, wd=5e-4, rescale_grad=1.0 / devices, multi_precision=half
    )
    losses, steps = [], [0]

    def each_batch(param):
        steps[0] += 1
        losses.append(dict(param.eval_metric.get_name_value())["lossvalue"])
        if steps[0] == 12:
            optimizer.lr *= 0.1

    module.fit(
        mx.io.PrefetchingIter(data),
        begin_epoch=0,
        num_epoch=8,
        eval_metric=mx.metric.CompositeEvalMetric([AccMetric(), LossMetric()]),
        kvstore="local" if devices == 1 else "device",
        optimizer=optimizer,
        initializer=initializer,
        arg_params=None,
        aux_params=None,
        allow_missing=True,
        batch_end_callback=[mx.callback.Speedometer(8, 20), each_batch],
        epoch_end_callback=mx.callback.do_checkpoint(str(tmp_path / "model"), 4),
    )
    return module, losses


@pytest.mark.parametrize("kind", ["softmax", "cosine", "arc"])
@pytest.mark.parametrize("devices", [1, 2])
def test_training(records, kind, devices, tmp_path):
    logging.disable(logging.INFO)
    module, losses = train(records, kind, False, "", devices, tmp_path)
    assert np.isfinite(losses).all() and losses[-1] < losses[0]
    accuracy = AccMetric()
    module.score(FaceImageIter(8, (3, SIZE, SIZE), records + ".rec", False, False), accuracy)
    assert accuracy.get()[1] > 0.5
    assert (tmp_path / "model-0008.params").exists()


def test_half_precision(records, tmp_path):
    module, losses = train(records, "arc", True, "", 1, tmp_path)
    assert np.isfinite(losses).all() and losses[-1] < losses[0]
    arguments, _ = module.get_params()
    assert arguments["conv1_conv_weight"].dtype in (np.float16, np.float32)


def test_fixed_parameters(records, tmp_path):
    """What is fixed stays as it was drawn."""
    module, _ = train(records, "softmax", False, "conv0", 1, tmp_path)
    _, first, _ = mx.model.load_checkpoint(str(tmp_path / "model"), 4)
    _, last, _ = mx.model.load_checkpoint(str(tmp_path / "model"), 8)
    for name in first:
        same = (first[name].asnumpy() == last[name].asnumpy()).all()
        assert same == name.startswith("conv0") or name.endswith("gamma"), name
    assert module._fixed_param_names


def test_verification(records, tmp_path):
    """The embedding alone, of a checkpoint: pictures of one face lie nearer than those of two."""
    train(records, "arc", False, "", 1, tmp_path)
    symbol, arguments, auxiliary = mx.model.load_checkpoint(str(tmp_path / "model"), 8)
    symbol = symbol.get_internals()["fc1_output"]
    module = mx.mod.Module(symbol=symbol, context=mx.cpu(), label_names=None)
    module.bind(data_shapes=[("data", (8, 3, SIZE, SIZE))], for_training=False)
    module.set_params(arguments, auxiliary)
    pictures = [face(label, i + 50) for label in range(CLASSES) for i in range(2)]
    data = mx.nd.array(np.stack(pictures).transpose(0, 3, 1, 2))
    module.forward(mx.io.DataBatch(data=(data,)), is_train=False)
    found = module.get_outputs()[0].asnumpy()
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    near = found @ found.T
    same = np.mean([near[2 * i, 2 * i + 1] for i in range(CLASSES)])
    other = np.mean([near[2 * i, j] for i in range(CLASSES) for j in range(8) if j // 2 != i])
    assert same > other


def test_fine_tuning(records, tmp_path):
    """From a checkpoint whose last layer has another number of classes."""
    train(records, "softmax", False, "", 1, tmp_path)
    _, arguments, auxiliary = mx.model.load_checkpoint(str(tmp_path / "model"), 8)
    arguments = {k: v for k, v in arguments.items() if not k.startswith("fc7")}
    module = mx.mod.Module(network("softmax"), context=mx.cpu())
    module.fit(
        FaceImageIter(8, (3, SIZE, SIZE), records + ".rec"),
        num_epoch=2,
        arg_params=arguments,
        aux_params=auxiliary,
        allow_missing=True,
        eval_metric=AccMetric(),
        optimizer="sgd",
        optimizer_params={"learning_rate": 0.01, "momentum": 0.9},
        initializer=mx.init.Xavier(),
    )
    assert all(np.isfinite(v.asnumpy()).all() for v in module.get_params()[0].values())
