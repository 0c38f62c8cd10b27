"""Networks of the zoo that MXNet 1.9.1 lacks; what they compute is in tests/tools/test_convert.py,
with torchvision's weights, and in tests/onnx/test_models.py."""

import numpy as np
import pytest

import cynet as mx
from cynet.gluon.model_zoo import vision
from tests.fixtures import gluon_weights as weights

NUMBERS = {  # parameters that train, by torchvision's tables; vit_s_16: Touvron et al. 2021
    "convnext_base": 88591464,
    "convnext_small": 50223688,
    "convnext_tiny": 28589128,
    "efficientnet_b0": 5288548,
    "efficientnet_b1": 7794184,
    "efficientnet_b2": 9109994,
    "efficientnet_b3": 12233232,
    "efficientnet_b4": 19341616,
    "efficientnet_b5": 30389784,
    "efficientnet_b6": 43040704,
    "efficientnet_b7": 66347960,
    "resnet50_v1b": 25557032,
    "resnet101_v1b": 44549160,
    "resnet152_v1b": 60192808,
    "vit_b_16": 86567656,
    "vit_b_32": 88224232,
    "vit_l_16": 304326632,
    "vit_s_16": 22050664,
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_of_parameters(name):
    net = vision.get_model(name)
    net.infer_shape(mx.nd.zeros((1, 3, 224, 224)))
    params = [p for p in net.collect_params().values() if p.grad_req != "null"]
    assert sum(int(np.prod(p.shape)) for p in params) == NUMBERS[name]
    made = getattr(vision, name)(classes=3, prefix="m_")
    named = vision.get_model(name, classes=3, prefix="m_")
    assert type(made) is type(named) and type(made).__name__ in vision.__all__
    assert list(made.collect_params()) == list(named.collect_params())


def small(name, **more):
    """A network of one of the classes, of few weights, for images of 32x32."""
    if name == "VisionTransformer":
        more = {"patch_size": 8, "num_layers": 2, "units": 16, "num_heads": 4, **more}
        return vision.VisionTransformer(hidden_size=24, image_size=32, classes=5, **more)
    if name == "ConvNeXt":
        return vision.ConvNeXt((1, 2), (8, 16), classes=5, **more)
    if name == "EfficientNet":
        return vision.EfficientNet(0.25, 0.3, classes=5, **more)
    return vision.ResNetV1(vision.BottleneckV1b, (1, 1), (8, 16, 32), classes=5, **more)


CLASSES = ["ConvNeXt", "EfficientNet", "ResNetV1", "VisionTransformer"]


def filled(net):
    """The network with weights, and a batch."""
    net.initialize()
    x = mx.nd.array(weights.images((4, 3, 32, 32)))
    net(x)
    weights.fill(mx, net)
    return net, x


@pytest.mark.parametrize("name", CLASSES)
def test_ways_to_run(name, tmp_path):
    """By operators, as a graph, in other dtypes, from the files of `export`: the same scores."""
    net, x = filled(small(name))
    wanted = net(x).asnumpy()
    size = np.abs(wanted).max()
    net.hybridize()
    np.testing.assert_allclose(net(x).asnumpy(), wanted, rtol=0, atol=2e-5 * size)
    net.export(str(tmp_path / "net"))
    files = str(tmp_path / "net-symbol.json"), str(tmp_path / "net-0000.params")
    block = mx.gluon.SymbolBlock.imports(files[0], ["data"], files[1])
    np.testing.assert_allclose(block(x).asnumpy(), wanted, rtol=0, atol=2e-5 * size)
    for dtype, share in (("float64", 2e-5), ("float16", 0.02), ("bfloat16", 0.1)):
        net.cast(dtype)
        cast = x.astype(dtype)
        found = net(cast)
        assert found.dtype == cast.dtype
        found = found.astype("float32").asnumpy()
        np.testing.assert_allclose(found, wanted, rtol=0, atol=share * size)


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("name", CLASSES)
def test_training(name, hybrid, seed):
    """Every weight has a gradient, and the loss of a batch falls."""
    net, x = filled(small(name))
    if hybrid:
        net.hybridize()
    label = mx.nd.array([0, 1, 2, 3])
    loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = mx.gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.005})
    values = []
    for _ in range(12):
        with mx.autograd.record():
            value = loss(net(x), label)
        value.backward()
        if not values:
            params = net._collect_params_with_prefix().items()
            grads = {k: p.grad().asnumpy() for k, p in params if p.grad_req != "null"}
            without = [k for k, grad in grads.items() if not np.abs(grad).max() > 0]
            assert not without
        trainer.step(4)
        values.append(value.mean().asscalar())
    assert values[-1] < 0.6 * values[0]


@pytest.mark.parametrize("name", ["ConvNeXt", "EfficientNet"])
def test_blocks_are_left_out_for_whole_samples(name, seed):
    """In training a sample has a block's part times 1 / (1 - rate), or none; else all of it."""
    module = {"ConvNeXt": vision.convnext, "EfficientNet": vision.efficientnet}[name]
    rate = 0.3
    if name == "ConvNeXt":
        block = module._ConvNeXtBlock(6, rate)
    else:
        block = module._MobileBlock(6, 6, 2, 3, 1, rate, {"momentum": 1.0})
    block.initialize(mx.init.Xavier())
    for param in block.collect_params(".*scale").values():
        param.set_data(mx.nd.ones(param.shape))
    x = mx.nd.random.normal(shape=(200, 6, 4, 4))
    part = (block(x) - x).asnumpy()
    with mx.autograd.record(train_mode=True):
        if name == "EfficientNet":  # statistics as in prediction, so that parts are comparable
            for each in block.body:
                if isinstance(each, mx.gluon.nn.BatchNorm):
                    each._kwargs["use_global_stats"] = True
        found = (block(x) - x).asnumpy()
    left_out = np.abs(found).max(axis=(1, 2, 3)) == 0
    assert 30 <= left_out.sum() <= 90
    np.testing.assert_allclose(
        found[~left_out], part[~left_out] / (1 - rate), rtol=1e-4, atol=1e-5 * np.abs(part).max()
    )


def test_rates_of_blocks():
    """They rise evenly: to the share given at ConvNeXt's last block, behind EfficientNet's last."""
    net = vision.convnext_tiny(drop_path=0.17)
    blocks = [each for stage in net.features if hasattr(stage, "add") for each in stage]
    rates = [0.0 if b.drop_path is None else b.drop_path._rate for b in blocks]
    np.testing.assert_allclose(rates, np.linspace(0, 0.17, 18))
    net = vision.efficientnet_b0(drop_path=0.16)
    blocks = [each for stage in net.features if hasattr(stage, "add") for each in stage]
    assert len(blocks) == 16
    for i, block in enumerate(blocks):
        if block.drop_path is not None:
            np.testing.assert_allclose(block.drop_path._rate, 0.01 * i)
    assert sum(block.drop_path is not None for block in blocks) == 9


def test_images_that_a_vision_transformer_refuses():
    with pytest.raises(ValueError, match="image_size 225 is not a multiple of patch_size 16"):
        vision.vit_s_16(image_size=225)
    with pytest.raises(ValueError, match="units to be a multiple of num_heads 3, got 16"):
        small("VisionTransformer", num_heads=3)
    with pytest.raises(ValueError, match="patch_size.*-4"):
        small("VisionTransformer", patch_size=-4)
    net, _ = filled(small("VisionTransformer"))
    with pytest.raises(mx.MXNetError, match=r"\(1, 26, 16\)|\(1, 17, 16\)"):
        net(mx.nd.zeros((1, 3, 40, 40)))
    net.hybridize()
    with pytest.raises(mx.MXNetError, match=r"\(1, 26, 16\)|\(1, 17, 16\)"):
        net(mx.nd.zeros((1, 3, 40, 40)))


def test_strides_of_v1b():
    block = vision.BottleneckV1b(16, stride=2, downsample=True, in_channels=8)
    strides = [
        each._kwargs["stride"] for each in block.body if isinstance(each, mx.gluon.nn.Conv2D)
    ]
    assert strides == [(1, 1), (2, 2), (1, 1)]
    assert not any("bias" in name for name in block.collect_params())
