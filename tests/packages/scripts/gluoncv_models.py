"""The model zoo of gluoncv, forward, and small trainings of a classifier and of detectors."""

import random

import gluoncv as gcv
import mxnet as mx
import numpy as np
import pytest
from gluoncv import model_zoo, utils
from gluoncv.data.batchify import Stack, Tuple
from gluoncv.data.transforms import presets
from gluoncv.model_zoo.ssd.ssd import get_ssd
from mxnet import autograd, gluon


@pytest.fixture(autouse=True)
def seeds():
    mx.random.seed(1)
    np.random.seed(1)
    random.seed(1)


CLASSIFIERS = [
    "resnet18_v1",
    "resnet18_v1b",
    "resnet50_v1c",
    "resnet50_v1d",
    "resnet18_v2",
    "resnext50_32x4d",
    "se_resnext50_32x4d",
    "densenet121",
    "mobilenet0.25",
    "mobilenetv2_0.25",
    "mobilenetv3_small",
    "squeezenet1.0",
    "vgg11",
    "vgg11_bn",
    "alexnet",
    "darknet53",
    "googlenet",
    "xception",
    "nasnet_4_1056",
    "senet_154",
    "residualattentionnet56",
    "resnest14",
    "hrnet_w18_small_v1_c",
    "cifar_resnet20_v1",
    "cifar_resnet20_v2",
    "cifar_wideresnet16_10",
    "cifar_resnext29_16x64d",
]
SIZES = {"xception": 299, "googlenet": 299, "cifar": 32}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifier(name):
    net = model_zoo.get_model(name, pretrained=False)
    net.initialize(mx.init.Xavier())
    net.hybridize()
    size = next((size for start, size in SIZES.items() if name.startswith(start)), 224)
    found = net(mx.nd.random.uniform(shape=(1, 3, size, size)))
    found = found[0] if isinstance(found, (list, tuple)) else found  # some have more
    assert found.shape in ((1, 1000), (1, 10)) and np.isfinite(found.asnumpy()).all()


DETECTORS = [
    "ssd_300_vgg16_atrous_voc",
    "ssd_512_mobilenet1.0_voc",
    "yolo3_darknet53_voc",
    "yolo3_mobilenet1.0_voc",
    "center_net_resnet18_v1b_voc",
]


@pytest.mark.parametrize("name", DETECTORS)
def test_detector(name):
    net = model_zoo.get_model(name, pretrained=False, pretrained_base=False)
    net.initialize()
    size = 300 if "300" in name else 320
    found = net(mx.nd.random.uniform(shape=(1, 3, size, size)))
    assert len(found) == 3 and found[2].shape[-1] == 4


def test_faster_rcnn():
    net = model_zoo.get_model(
        "faster_rcnn_resnet50_v1b_voc", pretrained=False, pretrained_base=False
    )
    net.initialize(mx.init.Xavier())
    found = net(mx.nd.random.uniform(shape=(1, 3, 224, 288)))
    assert len(found) == 3 and found[2].shape[-1] == 4


@pytest.mark.parametrize("name", ["FCN", "PSPNet", "DeepLabV3", "DeepLabV3Plus"])
def test_segmentation(name):
    if name == "DeepLabV3Plus":
        net = gcv.model_zoo.DeepLabV3Plus(
            4, backbone="xception", pretrained_base=False, crop_size=128, aux=False, ctx=mx.cpu()
        )
    else:
        net = getattr(gcv.model_zoo, name)(
            4, backbone="resnet50", pretrained_base=False, crop_size=128, ctx=mx.cpu()
        )
    net.initialize(mx.init.Xavier())
    found = net(mx.nd.random.uniform(shape=(1, 3, 128, 128)))
    assert found[0].shape[:2] == (1, 4)


POSES = ["simple_pose_resnet18_v1b", "mobile_pose_mobilenet1.0"]


@pytest.mark.parametrize("name", POSES)
def test_pose(name):
    net = model_zoo.get_model(name, pretrained=False, pretrained_base=False)
    net.initialize(mx.init.Xavier())
    found = net(mx.nd.random.uniform(shape=(1, 3, 128, 96)))
    assert found.shape[:2] == (1, 17)


VIDEOS = {
    "c3d_kinetics400": (1, 3, 16, 112, 112),
    "p3d_resnet50_kinetics400": (1, 3, 16, 112, 112),
    "r2plus1d_resnet18_kinetics400": (1, 3, 8, 112, 112),
    "i3d_resnet50_v1_kinetics400": (1, 3, 8, 112, 112),
    "slowfast_4x16_resnet50_kinetics400": (1, 3, 36, 64, 64),
}


@pytest.mark.parametrize("name", VIDEOS)
def test_video(name):
    net = model_zoo.get_model(name, pretrained=False, pretrained_base=False)
    net.initialize(mx.init.Xavier())
    found = net(mx.nd.random.uniform(shape=VIDEOS[name]))
    assert found.shape == (1, 400) and np.isfinite(found.asnumpy()).all()


def test_siamese():
    net = model_zoo.get_model("siamrpn_alexnet_v2_otb15", pretrained=False)
    net.initialize(mx.init.Xavier())
    classes, places = net(
        mx.nd.random.uniform(shape=(1, 3, 127, 127)), mx.nd.random.uniform(shape=(1, 3, 287, 287))
    )
    assert classes.shape[2:] == places.shape[2:]


def test_classifier_learns():
    """As train_cifar10.py: a schedule of LRScheduler, label smoothing and mixup."""
    net = model_zoo.get_model("cifar_resnet20_v1", classes=2)
    net.initialize(mx.init.Xavier())
    net.hybridize(static_alloc=True)
    schedule = utils.LRSequential(
        [
            utils.LRScheduler("linear", base_lr=0, target_lr=0.1, nepochs=1, iters_per_epoch=4),
            utils.LRScheduler("cosine", base_lr=0.1, target_lr=0, nepochs=3, iters_per_epoch=4),
        ]
    )
    trainer = gluon.Trainer(
        net.collect_params(), "nag", {"lr_scheduler": schedule, "momentum": 0.9, "wd": 1e-4}
    )
    loss_fn, metric = gluon.loss.SoftmaxCrossEntropyLoss(), mx.metric.Accuracy()
    y = mx.nd.array([0, 1] * 16)
    x = mx.nd.random.normal(shape=(32, 3, 32, 32)) + y.reshape((-1, 1, 1, 1)) * 2
    history = utils.TrainingHistory(["training-error"])
    losses = []
    for _ in range(10):
        with autograd.record():
            out = net(x)
            loss = loss_fn(out, y)
        loss.backward()
        trainer.step(32)
        metric.update([y], [out])
        history.update([1 - metric.get()[1]])
        losses.append(loss.mean().asscalar())
    assert losses[-1] < losses[0]


class Squares(gluon.data.Dataset):
    """Pictures with one bright square: its corners and its class."""

    CLASSES = ("square",)
    classes = CLASSES

    def __len__(self):
        return 8

    def __getitem__(self, i):
        rng = np.random.RandomState(i)
        picture = (rng.rand(320, 320, 3) * 60).astype("uint8")
        x, y, size = rng.randint(0, 150), rng.randint(0, 150), rng.randint(80, 150)
        picture[y : y + size, x : x + size] = 250
        return mx.nd.array(picture, dtype="uint8"), np.array([[x, y, x + size, y + size, 0.0]])


def test_ssd_learns():
    """As train_ssd.py: targets made by workers, SSDMultiBoxLoss."""
    net = get_ssd(
        "mobilenet0.25",
        300,
        features=["relu22_fwd", "relu26_fwd"],
        filters=[64],
        sizes=[60, 120, 180, 240],
        ratios=[[1, 2, 0.5]] * 3,
        steps=[16, 32, 64],
        classes=["square"],
        dataset="",
        pretrained=False,
        pretrained_base=False,
    )
    net.initialize()
    with autograd.train_mode():
        _, _, anchors = net(mx.nd.zeros((1, 3, 300, 300)))
    transform = presets.ssd.SSDDefaultTrainTransform(300, 300, anchors)
    batchify = Tuple(Stack(), Stack(), Stack())
    data = gluon.data.DataLoader(
        Squares().transform(transform), 4, batchify_fn=batchify, num_workers=2, last_batch="discard"
    )
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1e-3, "momentum": 0.9})
    criterion, losses = gcv.loss.SSDMultiBoxLoss(), []
    for _ in range(8):
        for batch in data:
            image, class_target, box_target = (each.as_in_context(mx.cpu()) for each in batch)
            with autograd.record():
                classes, boxes, _ = net(image)
                total, _, _ = criterion(classes, boxes, class_target, box_target)
            autograd.backward(total)
            trainer.step(1)
            losses.append(float(total[0].mean().asscalar()))
    assert np.isfinite(losses).all() and np.mean(losses[-4:]) < np.mean(losses[:4]), losses


def test_yolo_learns():
    net = model_zoo.yolo3_mobilenet1_0_custom(["square"], pretrained_base=False)
    net.initialize(mx.init.Xavier())
    transform = presets.yolo.YOLO3DefaultTrainTransform(320, 320, net)
    data = gluon.data.DataLoader(
        Squares().transform(transform),
        4,
        last_batch="discard",
        batchify_fn=Tuple(*([Stack() for _ in range(6)] + [gcv.data.batchify.Pad(0, -1)])),
    )
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1e-3})
    losses = []
    for _ in range(2):
        for batch in data:
            with autograd.record():
                parts = net(batch[0], batch[6], *batch[1:6])
                loss = sum(part.sum() for part in parts)
            loss.backward()
            trainer.step(4)
            losses.append(loss.asscalar())
    assert np.isfinite(losses).all() and losses[-1] < losses[0]


def test_exported(tmp_path):
    net = model_zoo.get_model("cifar_resnet20_v1")
    net.initialize(mx.init.Xavier())
    x = mx.nd.random.uniform(0, 255, shape=(1, 32, 32, 3))
    utils.export_block(
        str(tmp_path / "net"), net, data_shape=(32, 32, 3), layout="HWC", preprocess=True
    )
    read = gluon.SymbolBlock.imports(
        str(tmp_path / "net-symbol.json"), ["data"], str(tmp_path / "net-0000.params")
    )
    assert read(x[0]).shape in ((1, 10), (10,))


def test_metrics():
    metric = utils.metrics.voc_detection.VOC07MApMetric(iou_thresh=0.5, class_names=["a"])
    box = mx.nd.array([[[1, 1, 20, 20]]])
    one = mx.nd.array([[0]])
    metric.update(box, one, mx.nd.array([[0.9]]), box, one, mx.nd.array([[0]]))
    np.testing.assert_allclose(metric.get()[1], 1)
    segmentation = utils.metrics.SegmentationMetric(3)
    labels = mx.nd.array(np.random.RandomState(0).randint(0, 3, (1, 4, 4)))
    scores = mx.nd.one_hot(labels, 3).transpose((0, 3, 1, 2))
    segmentation.update(labels, scores)
    np.testing.assert_allclose(segmentation.get(), 1, 1e-6)
